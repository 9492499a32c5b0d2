//! Fills in what is computed from blocks behind the running server, newest first, on all cores: statistics, and the
//! rows of every level of the index that is wanted. A block is read once for all of them.
//!
//! All of it runs at low priority on threads of its own, and reads past the cache of what people ask for.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hindsight_shared::Height;
use hindsight_shared::block::BlockView;
use hindsight_shared::payload::Prevouts;
use hindsight_shared::stats::row::Summary;
use hindsight_shared::verify::whole_txids;
use parking_lot::RwLock;
use rayon::prelude::*;

use super::indexer::Indexer;
use super::statistics::Statistics;
use crate::chain::{Chain, Node};
use crate::runs::rows::BlockRows;
use crate::source::{CoreFiles, in_the_background};
use crate::undo::UndoMap;
use hindsight_shared::api::IndexLevel;

/// Blocks computed between two looks at what is wanted: the newest come first, soon after they arrive.
const AT_ONCE: usize = 128;

/// How long the thread sleeps when there is nothing to do.
const WAKE_UP: Duration = Duration::from_millis(100);

/// Computes what is missing.
#[derive(Debug)]
pub struct Filler {
    files: Arc<CoreFiles>,
    chain: Arc<RwLock<Chain>>,
    undo: Arc<UndoMap>,
    statistics: Statistics,
    indexer: Option<Indexer>,
}

/// A block and what is wanted of it.
#[derive(Debug)]
struct Wanted {
    node: Node,
    statistics: bool,
    levels: Vec<IndexLevel>,
}

/// What was computed of a block.
#[derive(Debug, Default)]
struct Filled {
    statistics: Option<Summary>,
    rows: Rows,
}

impl Filler {
    /// A filler that has not started yet.
    pub fn new(
        files: Arc<CoreFiles>,
        (chain, undo): (Arc<RwLock<Chain>>, Arc<UndoMap>),
        statistics: Statistics,
        indexer: Option<Indexer>,
    ) -> Self {
        Self { files, chain, undo, statistics, indexer }
    }

    /// Works until `stop` is set.
    pub fn run(self, stop: &AtomicBool) {
        in_the_background(|| self.fill(stop));
    }

    fn fill(mut self, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            let wanted = self.wanted();
            if wanted.is_empty() {
                if let Some(indexer) = self.indexer.as_mut().filter(|indexer| !indexer.looks_on()) {
                    indexer.rest();
                }
                if !self.looks_on() {
                    self.statistics.rest();
                    std::thread::sleep(WAKE_UP);
                }
                continue;
            }
            let filled: Vec<(Height, Filled)> =
                wanted.par_iter().map(|(height, wanted)| (*height, self.compute(*height, wanted))).collect();
            self.take(&wanted, filled, stop);
        }
        self.statistics.stop();
        if let Some(indexer) = &mut self.indexer {
            indexer.stop();
        }
    }

    fn looks_on(&self) -> bool {
        self.statistics.looks_on() || self.indexer.as_ref().is_some_and(Indexer::looks_on)
    }

    fn wanted(&mut self) -> BTreeMap<Height, Wanted> {
        let mut all = BTreeMap::new();
        if let Some(indexer) = &mut self.indexer {
            indexer.refresh(&self.chain);
        }
        let chain = self.chain.read();
        for (height, node) in self.statistics.wanted(&chain, AT_ONCE) {
            all.insert(height, Wanted { node, statistics: true, levels: Vec::new() });
        }
        if let Some(indexer) = &mut self.indexer {
            for (height, node, levels) in indexer.wanted(&chain, AT_ONCE) {
                all.entry(height).or_insert(Wanted { node, statistics: false, levels: Vec::new() }).levels = levels;
            }
        }
        all
    }

    fn take(&mut self, wanted: &BTreeMap<Height, Wanted>, filled: Vec<(Height, Filled)>, stop: &AtomicBool) {
        let (mut statistics, mut rows) = (Vec::new(), Vec::new());
        for ((height, filled), wanted) in filled.into_iter().zip(wanted.values()) {
            let block = wanted.node.hash;
            if wanted.statistics {
                statistics.push((height, block, filled.statistics));
            }
            if !wanted.levels.is_empty() {
                rows.push((height, block, wanted.levels.clone(), filled.rows));
            }
        }
        self.statistics.take(statistics.into_iter());
        if let Some(indexer) = &mut self.indexer {
            // Highest first, as they were asked for.
            for (height, block, levels, rows) in rows.into_iter().rev() {
                indexer.take(height, block, &levels, rows, stop);
            }
        }
    }

    fn compute(&self, height: Height, wanted: &Wanted) -> Filled {
        let bytes = wanted.node.records().find_map(|record| self.files.bulk_block(&record).ok());
        bytes.and_then(|bytes| self.compute_of(height, wanted, &bytes)).unwrap_or_default()
    }

    fn compute_of(&self, height: Height, wanted: &Wanted, bytes: &[u8]) -> Option<Filled> {
        let (network, genesis) = {
            let chain = self.chain.read();
            (chain.network(), chain.is_genesis(&wanted.node.hash))
        };
        let block = BlockView::parse(bytes).ok()?;
        let txids = whole_txids(&block).ok()?;
        let undo = if genesis { None } else { self.undo_of(&wanted.node) };
        let prevouts = undo.as_deref().map_or(Prevouts::Absent, Prevouts::Undo).view_of(&block);
        // Undo of another block is none.
        let view = prevouts.unwrap_or_default();
        let complete = genesis || view.is_some();
        let statistics = if wanted.statistics && complete {
            Summary::compute(network, height, &block, view.as_ref()).ok()
        } else {
            None
        };
        let levels: Vec<IndexLevel> =
            wanted.levels.iter().copied().filter(|level| complete || *level == IndexLevel::Transactions).collect();
        let rows =
            levels.iter().max().copied().zip(self.indexer.as_ref()).map(|(level, indexer)| {
                (levels, BlockRows::new(level, indexer.secret(), &block, &txids, view.as_ref()))
            });
        Some(Filled { statistics, rows })
    }

    fn undo_of(&self, node: &Node) -> Option<Vec<u8>> {
        self.files.bulk_undo(&self.undo.find(node).ok()??).ok()
    }
}

/// A block's rows on their way to the index, with the levels that they are complete for; nothing where it could not be
/// read.
pub type Rows = Option<(Vec<IndexLevel>, BlockRows)>;

/// A block that lacks rows of some levels.
pub type Lacking = (Height, Node, Vec<IndexLevel>);
