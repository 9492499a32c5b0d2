//! Follows the blocks directory: walks what has changed, chooses the best chain, remembers both in the index.
//!
//! One thread does all of it, so that there is one writer. Readers see a chain from the first walked file on: files are
//! walked newest first, and while the directory is still being read the leading island is published again and again. A
//! commit that fails keeps its rows and is tried again later; serving does not depend on it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hindsight_shared::api::Progress;
use parking_lot::{Mutex, RwLock};

use crate::chain::{Chain, NeedsPair};
use crate::index::{Batch, Identity, Index, Stored};
use crate::source::{BlockFile, CoreFiles, FileStamp, ListedFile, SourceError, Watcher};
use crate::undo::UndoMap;

mod statistics;

pub use statistics::Statistician;

/// How long the thread sleeps before it looks whether it should stop.
const WAKE_UP: Duration = Duration::from_millis(500);

/// A file this young may change again without its time of change telling.
const UNSETTLED: Duration = Duration::from_secs(2);

/// While the directory is being read, publishing takes at most this share of the time.
const PUBLISHING_SHARE: u32 = 10;

/// At most this many rows wait for a commit while the directory is being read.
const ROWS_PER_COMMIT: usize = 256;

/// How long a failed commit waits for the next try.
const RETRY_COMMIT: Duration = Duration::from_secs(10);

/// What ingest tells of itself.
#[derive(Debug, Default)]
pub struct Report {
    progress: Mutex<Progress>,
    /// Blocks of the best chain whose statistics are settled.
    statistics: Arc<AtomicU32>,
    /// What is wrong with the source, and with the index, if anything.
    warnings: Mutex<BTreeMap<&'static str, String>>,
}

impl Report {
    /// How much of the directory has been read.
    pub fn progress(&self) -> Progress {
        Progress { statistics: self.statistics.load(Ordering::Relaxed), ..*self.progress.lock() }
    }

    /// Where the number of blocks with settled statistics is kept.
    pub fn statistics(&self) -> Arc<AtomicU32> {
        self.statistics.clone()
    }

    /// What is wrong and what to do about it.
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.lock().values().cloned().collect()
    }

    /// Whether the blocks directory can be read.
    pub fn reads_source(&self) -> bool {
        !self.warnings.lock().contains_key("source")
    }

    /// Sets or, with nothing to say, lifts the warning about a subject.
    fn warn(&self, subject: &'static str, text: Option<String>) {
        let mut warnings = self.warnings.lock();
        match text {
            Some(text) if warnings.get(subject) != Some(&text) => {
                tracing::warn!("{text}");
                warnings.insert(subject, text);
            }
            Some(_) => {}
            None => {
                warnings.remove(subject);
            }
        }
    }
}

/// The follower and everything it writes to.
#[derive(Debug)]
pub struct Ingest {
    files: Arc<CoreFiles>,
    chain: Arc<RwLock<Chain>>,
    undo: Arc<UndoMap>,
    report: Arc<Report>,
    index: Arc<Index>,
    batch: Batch,
    commit_after: Option<Instant>,
    /// Files as they were when they were last read.
    seen: BTreeMap<u32, ListedFile>,
    /// Files of which a stamp was too young at the last look to tell the next change: they are read again until it is.
    unsettled: BTreeSet<u32>,
    published: Instant,
    publishing_took: Duration,
}

impl Ingest {
    /// A follower that starts from what the index remembers.
    pub fn new(
        files: Arc<CoreFiles>,
        chain: Arc<RwLock<Chain>>,
        undo: Arc<UndoMap>,
        report: Arc<Report>,
        (index, stored): (Arc<Index>, Stored),
    ) -> Self {
        let now = Instant::now();
        let mut ingest = Self {
            files,
            chain,
            undo,
            report,
            index,
            batch: Batch::default(),
            commit_after: None,
            seen: BTreeMap::new(),
            unsettled: BTreeSet::new(),
            published: now,
            publishing_took: Duration::ZERO,
        };
        // It stays until the next start: what was set aside is still there to be looked at.
        ingest.report.warn("damaged index", stored.damage.clone());
        if let Err(error) = ingest.recall(stored) {
            ingest.report.warn("source", Some(error.to_string()));
        }
        ingest
    }

    /// What an index of these files calls itself.
    pub fn identity(files: &CoreFiles) -> Identity {
        let datadir = files.datadir();
        let blocks_dir = datadir.blocks_dir.canonicalize().unwrap_or_else(|_| datadir.blocks_dir.clone());
        Identity { magic: datadir.magic.to_bytes(), blocks_dir, key: files.obfuscation().key() }
    }

    /// Believes the rows of files that have not changed since; the others are walked as any changed file.
    fn recall(&mut self, stored: Stored) -> Result<(), SourceError> {
        let listed: BTreeMap<u32, ListedFile> =
            self.files.list()?.into_iter().map(|file| (file.number, file)).collect();
        let mut chain = self.chain.write();
        for file in &stored.blk {
            match listed.get(&file.number) {
                Some(now) if now.blk == file.stamp => {
                    chain.set_file(file);
                    self.seen.insert(file.number, *now);
                }
                Some(_) => {}
                // The headers of pruned blocks are worth keeping.
                None => {
                    chain.set_file(file);
                    chain.remove_file(file.number);
                }
            }
        }
        drop(chain);
        for file in stored.rev {
            if listed.get(&file.number).is_some_and(|now| now.blk == file.blk && now.rev == file.rev) {
                self.undo.insert(file);
            }
        }
        Ok(())
    }

    /// Follows the directory until `stop` is set.
    pub fn run(mut self, stop: &AtomicBool) {
        let mut watcher = None;
        while !stop.load(Ordering::Relaxed) {
            let outcome = self.step(&mut watcher, stop);
            self.report.warn("source", outcome.as_ref().err().map(SourceError::to_string));
            if outcome.is_err() {
                std::thread::sleep(WAKE_UP);
            }
        }
        self.commit(true);
    }

    fn step(&mut self, watcher: &mut Option<Watcher>, stop: &AtomicBool) -> Result<(), SourceError> {
        // Watching starts before the first look, so that nothing falls between the two.
        let first = watcher.is_none();
        if first {
            *watcher = Some(Watcher::new(&self.files.datadir().blocks_dir)?);
        }
        let changed = match watcher {
            Some(watcher) if !first => watcher.wait(WAKE_UP)?,
            _ => Default::default(),
        };
        if first || !changed.is_empty() || !self.unsettled.is_empty() {
            if changed.key {
                self.follow_key()?;
            }
            self.catch_up(stop)?;
        }
        self.commit(false);
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
        self.batch = Batch::default();
        // What is not found now has not been read yet.
        *self.report.progress.lock() = Progress::default();
        let outcome = self.index.start_over(&Self::identity(&self.files));
        self.report.warn("index", outcome.err().map(|error| error.to_string()));
        Ok(())
    }

    /// Reads every file that is not as it was when it was last read, and publishes the chain.
    pub fn catch_up(&mut self, stop: &AtomicBool) -> Result<(), SourceError> {
        let listed = self.files.list()?;
        self.drop_vanished(&listed);
        for file in &listed {
            let seen = self.seen.get(&file.number);
            let changed = seen.is_none_or(|seen| seen.blk != file.blk || seen.rev != file.rev);
            if changed || self.unsettled.contains(&file.number) {
                self.undo.outdate(file.number);
            }
        }
        let unread: Vec<ListedFile> = listed.iter().filter(|file| self.must_walk(file)).copied().collect();
        self.begin(listed.len(), unread.len());
        let known: Vec<Option<BlockFile>> = {
            let chain = self.chain.read();
            unread.iter().map(|file| chain.file(file.number)).collect()
        };
        let jobs = unread.iter().copied().zip(known.iter().map(Option::as_ref)).collect();
        let files = self.files.clone();
        let mut failed = None;
        files.walk_all(jobs, |(number, walked)| {
            match walked {
                Ok(file) => self.take(file),
                // A file that was pruned in between is dropped by the next look.
                Err(SourceError::Pruned { .. }) => {}
                Err(error) => failed = Some((number, error)),
            }
            if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let young = |file: &&ListedFile| !is_settled(file.blk) || file.rev.is_some_and(|rev| !is_settled(rev));
        self.unsettled = listed.iter().filter(young).map(|file| file.number).collect();
        for file in listed {
            self.seen.entry(file.number).and_modify(|seen| seen.rev = file.rev);
        }
        self.publish(failed.is_none() && !stop.load(Ordering::Relaxed));
        failed.map_or(Ok(()), |(_, error)| Err(error))
    }

    fn must_walk(&self, file: &ListedFile) -> bool {
        self.unsettled.contains(&file.number) || self.seen.get(&file.number).is_none_or(|seen| seen.blk != file.blk)
    }

    fn begin(&self, files: usize, unread: usize) {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let mut progress = self.report.progress.lock();
        progress.files = count(files);
        progress.files_read = count(files.saturating_sub(unread));
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
    }

    /// Takes over one walked file.
    fn take(&mut self, file: BlockFile) {
        let number = file.number;
        let seen = self.seen.entry(number).or_insert(ListedFile { number, blk: file.stamp, rev: None });
        seen.blk = file.stamp;
        self.chain.write().set_file(&file);
        self.batch.blk.retain(|waiting| waiting.number != number);
        // A row is believed as long as its stamp is the file's: only a settled stamp can say that.
        if is_settled(file.stamp) {
            self.batch.blk.push(file);
        }
        {
            let mut progress = self.report.progress.lock();
            progress.files_read = progress.files_read.saturating_add(1).min(progress.files);
            progress.blocks = u32::try_from(self.chain.read().len()).unwrap_or(u32::MAX);
        }
        if self.batch.blk.len() >= ROWS_PER_COMMIT {
            self.commit(false);
        }
        let complete = self.report.progress().complete;
        if !complete && self.published.elapsed() > self.publishing_took * PUBLISHING_SHARE {
            self.publish(false);
        }
    }

    /// Chooses the best chain and puts it in force. While the directory is being read only the leading island is
    /// looked at, since each of the others would cost reading a file.
    fn publish(&mut self, complete: bool) {
        let started = Instant::now();
        self.chain.write().link();
        let best = loop {
            let choice = self.chain.read().choose(!complete, &|node| self.undo.known(node));
            match choice {
                Ok(best) => break best,
                Err(NeedsPair(file)) => self.undo.pair_or_give_up(file),
            }
        };
        let mut chain = self.chain.write();
        if chain.set_best(best)
            && let Some(tip) = chain.tip()
        {
            let height = tip.height.unwrap_or_default();
            tracing::info!(%height, hash = %tip.hash, "best chain");
        }
        drop(chain);
        if complete {
            let mut progress = self.report.progress.lock();
            progress.complete = true;
            progress.files_read = progress.files;
            progress.blocks = u32::try_from(self.chain.read().len()).unwrap_or(u32::MAX);
        }
        self.published = Instant::now();
        self.publishing_took = started.elapsed();
    }

    /// Writes what has been found since the last commit. Rows of a commit that fails are kept for the next try.
    fn commit(&mut self, last: bool) {
        if !last && self.commit_after.is_some_and(|after| Instant::now() < after) {
            return;
        }
        for file in self.undo.take_fresh() {
            self.batch.rev.retain(|waiting| waiting.number != file.number);
            self.batch.rev.push(file);
        }
        if self.batch.is_empty() {
            return;
        }
        match self.index.commit(&self.batch) {
            Ok(()) => {
                self.batch = Batch::default();
                self.commit_after = None;
                self.report.warn("index", None);
            }
            Err(error) => {
                self.commit_after = Some(Instant::now() + RETRY_COMMIT);
                self.report.warn(
                    "index",
                    Some(format!("{error}; it is tried again, and nothing depends on it until the next start")),
                );
            }
        }
    }
}

/// Whether a file's last change is long enough ago for its stamp to tell the next one.
fn is_settled(stamp: FileStamp) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(stamp.mtime).is_ok_and(|changed| changed + UNSETTLED.as_secs() < now.as_secs())
}
