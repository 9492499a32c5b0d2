//! Which blocks of the best chain have no statistics yet, newest first, and what becomes of those that are computed.
//!
//! A row that is missing, or that a reorg has left to another block, is computed from the block and its undo; blocks
//! whose undo is absent have none.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bitcoin::BlockHash;
use hindsight_shared::Height;
use hindsight_shared::search::ListStart;
use hindsight_shared::stats::row::Summary;

use super::LOOK;
use super::misses::{Misses, NEAR};
use crate::chain::{Chain, Node};
use crate::index::Summaries;

/// Rows that wait in memory at most.
const ROWS_PER_COMMIT: usize = 8192;

/// Rows wait at most this long.
const COMMIT_EVERY: Duration = Duration::from_secs(30);

/// The same when there is nothing else to do.
const COMMIT_AT_REST: Duration = Duration::from_secs(2);

/// Statistics that are missing.
#[derive(Debug)]
pub struct Statistics {
    summaries: Arc<Summaries>,
    done: Arc<AtomicU32>,
    /// Of the index, whose rows may all be gone at any time; `None` before the first look.
    generation: Option<u32>,
    /// The block that each height's row is of, or for which there can be none now.
    settled: HashMap<Height, BlockHash>,
    missed: Misses,
    /// The map's changes when the last look began; `None` before the first one.
    looked: Option<u64>,
    /// Where the look goes on; `None` when everything has been looked at.
    below: Option<Height>,
    committed: Instant,
}

impl Statistics {
    /// Nothing has been looked at yet. `done` counts the blocks of the best chain that are settled.
    pub fn new(summaries: Arc<Summaries>, done: Arc<AtomicU32>) -> Self {
        Self {
            summaries,
            done,
            generation: None,
            settled: HashMap::new(),
            missed: Misses::default(),
            looked: None,
            below: None,
            committed: Instant::now(),
        }
    }

    /// Whether the last look did not come to an end: there may be more.
    pub const fn looks_on(&self) -> bool {
        self.below.is_some()
    }

    /// Up to `most` blocks that are not settled: of the newest ones first, then further down from where the last look
    /// ended. Each look is short, because the map's lock is held for it.
    pub fn wanted(&mut self, chain: &Chain, most: usize) -> Vec<(Height, Node)> {
        if self.generation != Some(self.summaries.generation()) {
            self.recall();
        }
        let Some(tip) = chain.tip().and_then(|tip| tip.height) else { return Vec::new() };
        // A reorg or a file that has been read may have left gaps anywhere below.
        if self.below.is_none() && self.looked != Some(chain.changes()) {
            (self.below, self.looked) = (Some(tip), Some(chain.changes()));
        }
        for (height, block) in self.missed.due(tip) {
            if self.settled.get(&height) == Some(&block) {
                self.settled.remove(&height);
            }
        }
        let newest =
            chain.downwards(Some(ListStart::Height(tip))).take_while(|height| height.0.saturating_add(NEAR) > tip.0);
        let mut wanted: Vec<_> = newest.filter_map(|height| self.unsettled(chain, height)).take(most).collect();
        if let Some(below) = self.below.filter(|_| wanted.is_empty()) {
            let mut last = None;
            for height in chain.downwards(Some(ListStart::Height(below))).take(LOOK) {
                last = Some(height);
                wanted.extend(self.unsettled(chain, height));
                if wanted.len() == most {
                    break;
                }
            }
            self.below = last.and_then(Height::previous);
        }
        self.done.store(u32::try_from(self.settled.len()).unwrap_or(u32::MAX), Ordering::Relaxed);
        wanted
    }

    /// Takes over what was computed of blocks; nothing of those that cannot be.
    pub fn take(&mut self, rows: impl Iterator<Item = (Height, BlockHash, Option<Summary>)>) {
        let mut found = Vec::new();
        for (height, block, row) in rows {
            self.settled.insert(height, block);
            match row {
                Some(row) => {
                    self.missed.lift(&block);
                    found.push(row);
                }
                None => self.missed.note(height, block),
            }
        }
        let waiting = self.summaries.insert(found);
        self.commit_if(if waiting >= ROWS_PER_COMMIT { Duration::ZERO } else { COMMIT_EVERY });
    }

    /// There is nothing to compute now: what waits is written soon.
    pub fn rest(&mut self) {
        self.commit_if(COMMIT_AT_REST);
    }

    /// Writes what waits.
    pub fn stop(&mut self) {
        self.commit_if(Duration::ZERO);
    }

    /// Starts from what the index remembers.
    fn recall(&mut self) {
        self.generation = Some(self.summaries.generation());
        let stored = self.summaries.stored().unwrap_or_else(|error| {
            tracing::warn!(%error, "remembered statistics cannot be read and are computed anew");
            Vec::new()
        });
        self.settled = stored.into_iter().collect();
        self.looked = None;
    }

    fn unsettled(&self, chain: &Chain, height: Height) -> Option<(Height, Node)> {
        let node = chain.by_height(height).filter(|node| !node.is_hinted())?;
        (self.settled.get(&height) != Some(&node.hash)).then(|| (height, node.clone()))
    }

    fn commit_if(&mut self, after: Duration) {
        if self.committed.elapsed() < after {
            return;
        }
        self.committed = Instant::now();
        if let Err(error) = self.summaries.commit() {
            tracing::warn!(%error, "statistics could not be written; they are kept and tried again");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use parking_lot::RwLock;

    use super::*;
    use crate::chain::Undo;
    use crate::index::Index;
    use crate::ingest::Keeper;
    use crate::source::{BlockFile, BlockRecord, CoreFiles, Datadir, DatadirOptions, Position};

    fn blocks_in(number: u32, records: &[BlockRecord]) -> BlockFile {
        let position = |record: &BlockRecord| Position { file: number, ..record.position };
        let records = records.iter().map(|record| BlockRecord { position: position(record), ..*record }).collect();
        BlockFile { number, stamp: Default::default(), records }
    }

    /// Heights that are looked for, until there are no more.
    fn looked_for(statistics: &mut Statistics, chain: &Chain) -> Vec<Height> {
        let mut all = Vec::new();
        loop {
            let wanted = statistics.wanted(chain, 64);
            if wanted.is_empty() && !statistics.looks_on() {
                return all;
            }
            all.extend(wanted.iter().map(|(height, _)| *height));
            statistics.take(wanted.into_iter().map(|(height, node)| (height, node.hash, None)));
        }
    }

    #[test]
    fn files_that_are_read_after_the_newest_are_looked_at_without_a_new_block() {
        let dir = tempfile::tempdir().unwrap();
        let datadir = crate::demo::DemoChain::Showcase.unpack(dir.path()).unwrap();
        let options = DatadirOptions { datadir, ..Default::default() };
        let files = CoreFiles::open(Datadir::open(&options).unwrap()).unwrap();
        let index = Arc::new(Index::in_memory(&Keeper::identity(&files)).unwrap());
        let mut statistics = Statistics::new(Arc::new(Summaries::new(index)), Arc::default());

        let chain = RwLock::new(Chain::new(files.datadir().network));
        let records: Vec<_> =
            files.list().unwrap().iter().flat_map(|file| files.walk(file.number, None).unwrap().records).collect();
        let (lower, upper) = records.split_at(records.len() / 2);
        let mut read = |number, records: &[BlockRecord]| {
            let mut chain = chain.write();
            chain.set_file(&blocks_in(number, records));
            chain.link();
            let best = chain.choose(true, &|_| Undo::At(Position { file: 0, offset: 0 })).unwrap();
            chain.set_best(best);
            (chain.tip().unwrap().height.unwrap(), looked_for(&mut statistics, &chain))
        };
        let (tip, first) = read(1, upper);
        assert!(first.len() > 100 && first.iter().all(|height| height.0 > 100));
        let (same_tip, then) = read(0, lower);
        assert_eq!(tip, same_tip);
        let all: BTreeSet<Height> = first.into_iter().chain(then).collect();
        assert!(all.into_iter().eq((0..=tip.0).map(Height)));
    }
}
