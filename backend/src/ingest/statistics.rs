//! Fills in the statistics of the best chain behind the running server, newest blocks first, on all cores.
//!
//! A row that is missing, or that a reorg has left to another block, is computed from the block and its undo; blocks
//! whose undo is absent have none. The thread runs at low priority and reads past the cache of what people ask for.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bitcoin::BlockHash;
use hindsight_shared::Height;
use hindsight_shared::block::BlockView;
use hindsight_shared::payload::Prevouts;
use hindsight_shared::search::ListStart;
use hindsight_shared::stats::row::Summary;
use hindsight_shared::verify::check_whole;
use parking_lot::RwLock;
use rayon::prelude::*;

use crate::chain::{Chain, Node};
use crate::index::Summaries;
use crate::source::{BlockSource, CoreFiles, lower_priority};
use crate::undo::UndoMap;

/// Blocks computed between two looks at what is wanted: the newest come first, soon after they arrive.
const AT_ONCE: usize = 128;

/// Blocks below the tip that every look goes through: reorgs happen here.
const NEWEST: usize = 512;

/// Blocks that one look goes through further down.
const LOOK: usize = 4096;

/// Rows that wait in memory at most.
const ROWS_PER_COMMIT: usize = 8192;

/// Rows wait at most this long.
const COMMIT_EVERY: Duration = Duration::from_secs(30);

/// How long a block near the tip waits for its second try, and four times as long for each one after.
const FIRST_RETRY: Duration = Duration::from_secs(1);

/// A minute after it was written a file is complete: by the last of these tries, more than that has passed.
const MOST_TRIES: u32 = 5;

/// How long the thread sleeps when there is nothing to do.
const WAKE_UP: Duration = Duration::from_millis(100);

/// Computes what is missing.
#[derive(Debug)]
pub struct Statistician {
    files: Arc<CoreFiles>,
    chain: Arc<RwLock<Chain>>,
    undo: Arc<UndoMap>,
    summaries: Arc<Summaries>,
    done: Arc<AtomicU32>,
    /// Of the index, whose rows may all be gone at any time.
    generation: u32,
    /// The block that each height's row is of, or for which there can be none now.
    settled: HashMap<Height, BlockHash>,
    /// Blocks near the tip that could not be computed: the node may not have written all that it takes.
    missed: HashMap<BlockHash, Miss>,
    /// The tip at the last look.
    tip: Option<Height>,
    /// Where the next look goes on; `None` when everything has been looked at.
    below: Option<Height>,
    committed: Instant,
}

/// A block that is tried again.
#[derive(Debug)]
struct Miss {
    height: Height,
    tries: u32,
    due: Instant,
}

impl Statistician {
    /// A statistician that has not started yet. `done` counts the blocks of the best chain that are settled.
    pub fn new(
        files: Arc<CoreFiles>,
        (chain, undo): (Arc<RwLock<Chain>>, Arc<UndoMap>),
        summaries: Arc<Summaries>,
        done: Arc<AtomicU32>,
    ) -> Self {
        Self {
            files,
            chain,
            undo,
            summaries,
            done,
            generation: 0,
            settled: HashMap::new(),
            missed: HashMap::new(),
            tip: None,
            below: None,
            committed: Instant::now(),
        }
    }

    /// Works until `stop` is set.
    pub fn run(mut self, stop: &AtomicBool) {
        lower_priority();
        self.recall();
        while !stop.load(Ordering::Relaxed) {
            if self.generation != self.summaries.generation() {
                self.recall();
            }
            self.retry();
            let wanted = self.wanted();
            if wanted.is_empty() && self.below.is_some() {
                continue;
            }
            if wanted.is_empty() {
                self.commit_if(Duration::from_secs(2));
                std::thread::sleep(WAKE_UP);
                continue;
            }
            let rows: Vec<(Height, BlockHash, Option<Summary>)> =
                wanted.par_iter().map(|(height, node)| (*height, node.hash, self.compute(*height, node))).collect();
            let waiting = self.summaries.insert(rows.iter().filter_map(|(_, _, row)| *row));
            self.settled.extend(rows.iter().map(|&(height, hash, _)| (height, hash)));
            self.remember_misses(&rows);
            self.commit_if(if waiting >= ROWS_PER_COMMIT { Duration::ZERO } else { COMMIT_EVERY });
        }
        self.commit_if(Duration::ZERO);
    }

    /// Unsettles the blocks whose next try is due.
    fn retry(&mut self) {
        let now = Instant::now();
        for (hash, miss) in self.missed.iter().filter(|(_, miss)| miss.tries < MOST_TRIES && miss.due <= now) {
            if self.settled.get(&miss.height) == Some(hash) {
                self.settled.remove(&miss.height);
            }
        }
    }

    /// Further down files are complete: what is missing there stays missing.
    fn remember_misses(&mut self, rows: &[(Height, BlockHash, Option<Summary>)]) {
        let tip = self.tip;
        let is_near = |height: Height| tip.is_some_and(|tip| height.0 as usize + NEWEST > tip.0 as usize);
        for &(height, hash, row) in rows {
            if row.is_some() {
                self.missed.remove(&hash);
            } else if is_near(height) {
                let miss = self.missed.entry(hash).or_insert(Miss { height, tries: 0, due: Instant::now() });
                miss.due = Instant::now() + FIRST_RETRY * 4_u32.pow(miss.tries);
                miss.tries += 1;
            }
        }
        self.missed.retain(|_, miss| is_near(miss.height));
    }

    /// Starts from what the index remembers.
    fn recall(&mut self) {
        self.generation = self.summaries.generation();
        let stored = self.summaries.stored().unwrap_or_else(|error| {
            tracing::warn!(%error, "remembered statistics cannot be read and are computed anew");
            Vec::new()
        });
        self.settled = stored.into_iter().collect();
        self.tip = None;
    }

    /// Blocks that are not settled: of the newest ones first, then further down from where the last look ended. Each
    /// look is short, because the map's lock is held for it.
    fn wanted(&mut self) -> Vec<(Height, Node)> {
        let chain = self.chain.read();
        let tip = chain.tip().and_then(|tip| tip.height);
        if self.tip != tip {
            self.tip = tip;
            // A reorg or a new island may have left gaps anywhere below.
            self.below = self.below.or(tip);
        }
        let Some(tip) = tip else { return Vec::new() };
        let newest = chain.downwards(Some(ListStart::Height(tip))).take(NEWEST);
        let mut wanted: Vec<_> = newest.filter_map(|height| self.unsettled(&chain, height)).take(AT_ONCE).collect();
        if let Some(below) = self.below.filter(|_| wanted.is_empty()) {
            let mut last = None;
            for height in chain.downwards(Some(ListStart::Height(below))).take(LOOK) {
                last = Some(height);
                wanted.extend(self.unsettled(&chain, height));
                if wanted.len() == AT_ONCE {
                    break;
                }
            }
            self.below = last.and_then(Height::previous);
        }
        self.done.store(u32::try_from(self.settled.len()).unwrap_or(u32::MAX), Ordering::Relaxed);
        wanted
    }

    fn unsettled(&self, chain: &Chain, height: Height) -> Option<(Height, Node)> {
        let node = chain.by_height(height)?;
        (self.settled.get(&height) != Some(&node.hash)).then(|| (height, node.clone()))
    }

    fn compute(&self, height: Height, node: &Node) -> Option<Summary> {
        let (network, genesis) = {
            let chain = self.chain.read();
            (chain.network(), chain.is_genesis(&node.hash))
        };
        let bytes = node.records().find_map(|record| self.files.bulk_block(&record).ok())?;
        let block = BlockView::parse(&bytes).ok()?;
        check_whole(&block).ok()?;
        let undo = if genesis { Vec::new() } else { self.files.undo(&self.undo.find(node).ok()??).ok()? };
        let prevouts = if genesis { Prevouts::Absent } else { Prevouts::Undo(&undo) };
        let view = prevouts.view_of(&block).ok()?;
        Summary::compute(network, height, &block, view.as_ref()).ok()
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
