//! Follows the blocks directory: walks what has changed, chooses the best chain, remembers both in the index.
//!
//! One thread does all of it, so that there is one writer. Readers see a chain from the first walked file on: files are
//! walked newest first, and while the directory is still being read the leading island is published again and again.
//! What cannot be read is tried again and said meanwhile; nothing that was known is forgotten for it. A commit that fails
//! keeps its rows and is tried again later; serving does not depend on it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hindsight_shared::api::Progress;
use parking_lot::RwLock;

use crate::chain::{Best, Chain, NeedsPair, Node, Undo};
use crate::index::Index;
use crate::source::{BlockFile, CoreFiles, FileStamp, ListedFile, SourceError, UndoFile, Watcher};
use crate::undo::UndoMap;

mod accelerator;
mod filler;
mod indexer;
mod keeper;
mod merger;
mod misses;
mod pace;
mod report;
mod statistics;

use accelerator::Accelerator;
pub use filler::Filler;
pub use indexer::{Indexer, gathered, is_of_chain};
pub use keeper::Keeper;
pub use merger::{Merger, is_behind, next_merge};
pub use report::Report;
use report::Subject;
pub use statistics::Statistics;

/// How long the thread sleeps before it looks whether it should stop.
const WAKE_UP: Duration = Duration::from_millis(100);

/// Heights that one look for what is missing goes through: the map's lock is held meanwhile.
const LOOK: usize = 4096;

/// How long what could not be read is left alone before the next try.
const RETRY: Duration = Duration::from_secs(5);

/// While the directory is being read, publishing takes at most this share of the time.
const PUBLISHING_SHARE: u32 = 10;

/// The follower and everything it writes to.
#[derive(Debug)]
pub struct Ingest {
    files: Arc<CoreFiles>,
    chain: Arc<RwLock<Chain>>,
    undo: Arc<UndoMap>,
    report: Arc<Report>,
    keeper: Keeper,
    /// Files as they were when they were last read.
    seen: BTreeMap<u32, ListedFile>,
    /// Files of which a stamp was too young at the last look to tell the next change: they are read again until it is.
    unsettled: BTreeSet<u32>,
    /// Why the last look at the directory failed; lifted by one that does not.
    failed: Option<String>,
    /// Files that could not be walked, and why.
    unread: BTreeMap<u32, String>,
    /// Files whose undo could not be paired with them, and why.
    unpaired: BTreeMap<u32, String>,
    /// When what could not be read is due again.
    retry_at: Option<Instant>,
    published: Instant,
    publishing_took: Duration,
}

impl Ingest {
    /// A follower that writes to these.
    pub fn new(
        files: Arc<CoreFiles>,
        (chain, undo): (Arc<RwLock<Chain>>, Arc<UndoMap>),
        report: Arc<Report>,
        index: Arc<Index>,
    ) -> Self {
        Self {
            keeper: Keeper::new(index, report.clone()),
            files,
            chain,
            undo,
            report,
            seen: BTreeMap::new(),
            unsettled: BTreeSet::new(),
            failed: None,
            unread: BTreeMap::new(),
            unpaired: BTreeMap::new(),
            retry_at: None,
            published: Instant::now(),
            publishing_took: Duration::ZERO,
        }
    }

    /// Follows the directory until `stop` is set.
    pub fn run(mut self, stop: &AtomicBool) {
        let mut watcher = None;
        let mut recalled = false;
        while !stop.load(Ordering::Relaxed) {
            if let Err(error) = self.step(&mut watcher, &mut recalled, stop) {
                self.failed = Some(error.to_string());
                thread::sleep(WAKE_UP);
            }
            let source = self.failed.as_ref().or(self.unread.values().next()).cloned();
            self.report.warn(Subject::Source, source);
            self.report.warn(Subject::Undo, self.unpaired.values().next().cloned());
        }
        self.commit(true);
    }

    fn step(
        &mut self,
        watcher: &mut Option<Watcher>,
        recalled: &mut bool,
        stop: &AtomicBool,
    ) -> Result<(), SourceError> {
        // Watching starts before the first look, so that nothing falls between the two.
        let first = watcher.is_none();
        if first {
            *watcher = Some(Watcher::new(&self.files.datadir().blocks_dir)?);
        }
        if !*recalled {
            self.recall()?;
            *recalled = true;
        }
        let changed = match watcher {
            Some(watcher) if !first => watcher.wait(WAKE_UP)?,
            _ => Default::default(),
        };
        let due = self.retry_at.is_some_and(|at| Instant::now() >= at);
        if first || due || !changed.is_empty() || !self.unsettled.is_empty() {
            self.retry_at = Some(Instant::now() + RETRY);
            self.follow_key()?;
            self.catch_up(stop)?;
            self.failed = None;
            if self.unread.is_empty() && self.unpaired.is_empty() {
                self.retry_at = None;
            }
        }
        self.commit(false);
        Ok(())
    }

    /// Believes the rows of files that have not changed since; the others are walked as any changed file.
    fn recall(&mut self) -> Result<(), SourceError> {
        let listed: BTreeMap<u32, ListedFile> =
            self.files.list()?.into_iter().map(|file| (file.number, file)).collect();
        let Self { keeper, chain, undo, seen, .. } = self;
        let blk = |file: BlockFile| match listed.get(&file.number) {
            Some(now) if now.blk == file.stamp => {
                chain.write().set_file(&file);
                seen.insert(file.number, *now);
            }
            Some(_) => {}
            // The headers of pruned blocks are worth keeping.
            None => {
                let mut chain = chain.write();
                chain.set_file(&file);
                chain.remove_file(file.number);
            }
        };
        let rev = |file: UndoFile| {
            if listed.get(&file.number).is_some_and(|now| now.blk == file.blk && now.rev == file.rev) {
                undo.insert(file);
            }
        };
        keeper.load(blk, rev);
        Ok(())
    }

    /// Starts over where `xor.dat` has been replaced: the same bytes on disk mean something else now.
    fn follow_key(&mut self) -> Result<(), SourceError> {
        if !self.files.reread_key()? {
            return Ok(());
        }
        tracing::warn!("xor.dat holds another key: reading the whole directory anew");
        let mut chain = self.chain.write();
        *chain = Chain::new(chain.network());
        drop(chain);
        self.undo.forget_all();
        self.seen.clear();
        self.unsettled.clear();
        self.unread.clear();
        self.unpaired.clear();
        // What is not found now has not been read yet.
        self.report.advance(|progress| *progress = Progress::default());
        self.keeper.start_over(&self.files);
        Ok(())
    }

    /// Reads every file that is not as it was when it was last read, and publishes the chain.
    fn catch_up(&mut self, stop: &AtomicBool) -> Result<(), SourceError> {
        let listed = self.files.list()?;
        self.drop_vanished(&listed);
        self.outdate_undo(&listed);
        let unread: Vec<ListedFile> = listed.iter().filter(|file| self.must_walk(file)).copied().collect();
        self.begin(listed.len(), unread.len());
        let known: Vec<Option<BlockFile>> = {
            let chain = self.chain.read();
            unread.iter().map(|file| chain.file(file.number)).collect()
        };
        let jobs = unread.iter().copied().zip(known.iter().map(Option::as_ref)).collect();
        let (files, accelerator) = (self.files.clone(), Accelerator::default());
        thread::scope(|scope| {
            if !self.report.progress().complete && unread.len() > listed.len() / 2 {
                accelerator.start(scope, &files);
            }
            files.walk_all(jobs, |(number, walked)| {
                self.take(number, walked);
                self.publish_now_and_then(&accelerator);
                if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            accelerator.stop();
        });
        let young = |file: &&ListedFile| !file.is_settled();
        self.unsettled = listed.iter().filter(young).map(|file| file.number).collect();
        for file in listed {
            self.seen.entry(file.number).and_modify(|seen| seen.rev = file.rev);
        }
        if !stop.load(Ordering::Relaxed) {
            self.forget_hinted();
            self.publish(self.unread.is_empty());
        }
        Ok(())
    }

    fn must_walk(&self, file: &ListedFile) -> bool {
        self.unsettled.contains(&file.number)
            || self.unread.contains_key(&file.number)
            || self.seen.get(&file.number).is_none_or(|seen| seen.blk != file.blk)
    }

    fn outdate_undo(&self, listed: &[ListedFile]) {
        for file in listed {
            let seen = self.seen.get(&file.number);
            let changed = seen.is_none_or(|seen| seen.blk != file.blk || seen.rev != file.rev);
            if changed || self.unsettled.contains(&file.number) {
                self.undo.outdate(file.number);
            }
            if file.rev.is_none() {
                // Nothing to pair: the choice of the chain need not ask.
                self.undo.insert(UndoFile { number: file.number, blk: file.blk, ..UndoFile::default() });
            }
        }
    }

    fn begin(&self, files: usize, unread: usize) {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        self.report.advance(|progress| {
            progress.files = count(files);
            progress.files_read = count(files.saturating_sub(unread));
        });
    }

    fn drop_vanished(&mut self, listed: &[ListedFile]) {
        let there: BTreeSet<u32> = listed.iter().map(|file| file.number).collect();
        let gone: Vec<u32> = self.seen.keys().copied().filter(|number| !there.contains(number)).collect();
        for number in gone {
            tracing::info!(file = number, "a block file is gone: pruned");
            self.chain.write().remove_file(number);
            self.undo.forget(number);
            self.seen.remove(&number);
        }
        self.unread.retain(|number, _| there.contains(number));
        self.unpaired.retain(|number, _| there.contains(number));
    }

    /// Takes over one walked file.
    fn take(&mut self, number: u32, walked: Result<BlockFile, SourceError>) {
        let file = match walked {
            Ok(file) => file,
            // A file that was pruned in between is dropped by the next look.
            Err(SourceError::Pruned { .. }) => return,
            Err(error) => {
                self.unread.insert(number, error.to_string());
                return;
            }
        };
        self.unread.remove(&number);
        let seen = self.seen.entry(number).or_insert(ListedFile { number, blk: file.stamp, rev: None });
        seen.blk = file.stamp;
        self.chain.write().set_file(&file);
        // A reader may have paired the file as it was walked before.
        self.undo.outdate(number);
        // A row is believed as long as its stamp is the file's: only a settled stamp can say that.
        if file.stamp.is_settled() {
            self.keeper.keep_blocks(file);
        }
        let blocks = self.blocks();
        self.report.advance(|progress| {
            progress.files_read = progress.files_read.saturating_add(1).min(progress.files);
            progress.blocks = blocks;
        });
    }

    /// While the directory is being read, what has been found is published again and again.
    fn publish_now_and_then(&mut self, accelerator: &Accelerator) {
        let reading = !self.report.progress().complete;
        if reading && self.published.elapsed() > self.publishing_took * PUBLISHING_SHARE {
            let started = Instant::now();
            self.publish(false);
            if accelerator.take(&self.chain) {
                self.publish(false);
            }
            self.publishing_took = started.elapsed();
            self.commit(false);
        }
    }

    /// All files have been read, as far as they can be: what only a hint has told of is in none of them.
    fn forget_hinted(&mut self) {
        if !self.chain.read().has_hinted() {
            return;
        }
        let map = RwLock::new(self.chain.read().without_hinted());
        map.write().link();
        let best = self.choose(&map, !self.unread.is_empty());
        let mut map = map.into_inner();
        if let Some(best) = best {
            map.set_best(best);
        }
        *self.chain.write() = map;
    }

    fn blocks(&self) -> u32 {
        u32::try_from(self.chain.read().len()).unwrap_or(u32::MAX)
    }

    /// Chooses the best chain and puts it in force. While the directory is being read only the leading island is
    /// looked at, since each of the others would cost reading a file.
    fn publish(&mut self, complete: bool) {
        let started = Instant::now();
        let chain = self.chain.clone();
        chain.write().link();
        if let Some(best) = self.choose(&chain, !complete) {
            let mut chain = self.chain.write();
            if chain.set_best(best)
                && let Some(tip) = chain.tip()
            {
                let height = tip.height.unwrap_or_default();
                tracing::info!(%height, hash = %tip.hash, "best chain");
            }
        }
        if complete {
            let blocks = self.blocks();
            self.report.advance(|progress| {
                progress.complete = true;
                progress.files_read = progress.files;
                progress.blocks = blocks;
            });
        }
        self.published = Instant::now();
        self.publishing_took = started.elapsed();
    }

    /// The best chain of a map. Where undo that it depends on cannot be read, the last choice stays in force, if there is
    /// one.
    fn choose(&mut self, map: &RwLock<Chain>, leading: bool) -> Option<Best> {
        self.unpaired.clear();
        loop {
            let known = |node: &Node| match self.undo.known(node) {
                Undo::Unpaired(file) if self.unpaired.contains_key(&file) => Undo::None,
                undo => undo,
            };
            let choice = map.read().choose(leading, &known);
            match choice {
                Ok(best) => return Some(best),
                Err(NeedsPair(file)) => {
                    let Err(error) = self.undo.pair(file) else { continue };
                    self.unpaired.insert(file, error);
                    self.retry_at = self.retry_at.or(Some(Instant::now() + RETRY));
                    if map.read().tip().is_some() {
                        return None;
                    }
                }
            }
        }
    }

    fn commit(&mut self, last: bool) {
        let settled = |file: &UndoFile| file.rev.is_none_or(FileStamp::is_settled);
        self.keeper.keep_undo(self.undo.take_fresh().into_iter().filter(settled));
        self.keeper.commit(last, &self.chain, &self.undo);
    }
}
