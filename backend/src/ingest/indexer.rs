//! Which blocks of the best chain are in no run yet, newest first, and how their rows become runs.
//!
//! Rows are gathered downwards until they fill their share of memory. Near the tip runs stay small: a run has at most
//! four times as many blocks as there are above it, so that a reorg costs little more than what it replaces.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bitcoin::BlockHash;
use hindsight_shared::Height;
use hindsight_shared::api::IndexProgress;
use hindsight_shared::search::ListStart;
use parking_lot::RwLock;

use super::LOOK;
use super::filler::{Lacking, Rows};
use super::merger::{BLOCKS_PER_DEPTH, is_behind};
use super::misses::Misses;
use super::pace::{Pace, begun};
use super::report::Report;
use crate::chain::Chain;
use crate::index::{IndexError, Runs};
use crate::runs::hashes::Secret;
use crate::runs::rows::BlockRows;
use crate::runs::run::Run;
use crate::runs::seal::seal;
use hindsight_shared::api::IndexLevel;

/// Rows are gathered at most this long: a kill costs no more.
const GATHER: Duration = Duration::from_secs(300);

/// Rows that become one run take this part of the memory: two more while they are sorted and packed, one waits as runs to
/// be written, a merge takes up to two, and the allocator keeps what lies between.
const PARTS: usize = 8;

/// Bytes of rows that become one run, where there is so much memory.
pub const fn gathered(memory: usize) -> usize {
    memory / PARTS
}

/// How long a look at the runs waits where the index cannot be read.
const PAUSE: Duration = Duration::from_millis(50);

/// Rows that are missing.
#[derive(Debug)]
pub struct Indexer {
    runs: Arc<Runs>,
    report: Arc<Report>,
    /// Bytes for rows that are gathered, sorted, or wait to be written.
    memory: usize,
    levels: Vec<Covered>,
    /// The tip that `levels` and `gathered` are of; `None` before the first look, and where they have to be looked at anew.
    tip: Option<(Height, BlockHash)>,
    generation: u32,
    /// Whether all files had been read at the last look.
    complete: bool,
    /// The map's changes when the last look began.
    looked: u64,
    /// Where the look goes on; `None` when everything has been looked at.
    below: Option<Height>,
    missed: Misses,
    gathered: Gathered,
    pace: Pace,
}

/// What a level's runs cover, lowest first.
#[derive(Debug)]
struct Covered {
    level: IndexLevel,
    ranges: Vec<RangeInclusive<Height>>,
}

impl Covered {
    fn has(&self, height: Height) -> bool {
        let behind = self.ranges.partition_point(|range| *range.start() <= height);
        behind > 0 && self.ranges[behind - 1].contains(&height)
    }

    fn add(&mut self, range: RangeInclusive<Height>) {
        let at = self.ranges.partition_point(|other| other.start() < range.start());
        self.ranges.insert(at, range);
    }
}

/// Rows of consecutive blocks, highest first.
#[derive(Debug)]
struct Gathered {
    levels: Vec<IndexLevel>,
    /// The highest block's.
    to: Height,
    blocks: Vec<BlockRows>,
    bytes: usize,
    since: Instant,
}

impl Default for Gathered {
    fn default() -> Self {
        Self { levels: Vec::new(), to: Height(0), blocks: Vec::new(), bytes: 0, since: Instant::now() }
    }
}

impl Gathered {
    /// The height that the next block has to have.
    fn next(&self) -> Option<Height> {
        let count = u32::try_from(self.blocks.len()).ok()?;
        self.to.0.checked_sub(count).map(Height)
    }

    fn is_full(&self, tip: Height, memory: usize) -> bool {
        let most = tip.0.saturating_sub(self.to.0).saturating_mul(BLOCKS_PER_DEPTH).max(1);
        let blocks = u32::try_from(self.blocks.len()).unwrap_or(u32::MAX);
        blocks >= most || self.bytes >= gathered(memory) || self.since.elapsed() >= GATHER
    }
}

impl Indexer {
    /// An indexer of these levels with so many bytes of memory.
    pub fn new(runs: Arc<Runs>, report: Arc<Report>, levels: &[IndexLevel], memory: usize) -> Self {
        report.tell_index(levels.iter().copied().map(begun).collect());
        let covered = |level: &IndexLevel| Covered { level: *level, ranges: Vec::new() };
        Self {
            generation: runs.generation(),
            complete: false,
            runs,
            report,
            memory,
            levels: levels.iter().map(covered).collect(),
            tip: None,
            looked: 0,
            below: None,
            missed: Misses::default(),
            gathered: Gathered::default(),
            pace: Pace::default(),
        }
    }

    /// What scripts are hashed with.
    pub fn secret(&self) -> &Secret {
        self.runs.secret()
    }

    /// Whether the last look did not come to an end: there may be more.
    pub const fn looks_on(&self) -> bool {
        self.below.is_some()
    }

    /// Removes runs that are of another chain by now, and looks at what the others cover.
    pub fn refresh(&mut self, chain: &RwLock<Chain>) {
        self.look_for_changes(chain);
        self.tell(chain);
    }

    fn look_for_changes(&mut self, chain: &RwLock<Chain>) {
        let complete = self.report.progress().complete;
        let (tip, changes) = {
            let chain = chain.read();
            (tip_of(&chain), chain.changes())
        };
        let as_before = tip == self.tip && complete == self.complete && self.generation == self.runs.generation();
        if tip.is_none() || (as_before && !self.runs.has_damage()) {
            return;
        }
        // While files are being read, a run may be of blocks that have not been found yet.
        let keep =
            |run: &Run| if complete { is_of_chain(&chain.read(), run) } else { !is_of_another(&chain.read(), run) };
        (self.generation, self.complete) = (self.runs.generation(), complete);
        if let Err(error) = self.runs.retain(keep).and_then(|()| self.look_at_runs()) {
            tracing::warn!(%error, "the index of transactions cannot be read: it is tried again");
            std::thread::sleep(PAUSE);
            return;
        }
        let gathered = self.gathered.blocks.first().map(|rows| rows.block);
        let still = |block| chain.read().by_height(self.gathered.to).is_some_and(|node| node.hash == block);
        if !gathered.is_none_or(still) {
            self.gathered = Gathered::default();
        }
        (self.tip, self.below, self.looked) = (tip, tip.map(|(height, _)| height), changes);
        self.pace.wake();
    }

    fn look_at_runs(&mut self) -> Result<(), IndexError> {
        for covered in &mut self.levels {
            covered.ranges = self.runs.all(covered.level)?.iter().map(|run| run.from..=run.to()).collect();
        }
        Ok(())
    }

    /// Up to `most` blocks that lack rows, highest first. Each look is short, because the map's lock is held for it.
    pub fn wanted(&mut self, chain: &Chain, most: usize) -> Vec<Lacking> {
        let mut wanted = Vec::new();
        // What is gathered is of the chain that was there at the last refresh.
        let Some((tip, _)) = self.tip.filter(|_| tip_of(chain) == self.tip) else { return wanted };
        if self.below.is_none() && (self.missed.due(tip).next().is_some() || self.looked != chain.changes()) {
            (self.below, self.looked) = (Some(tip), chain.changes());
        }
        let Some(below) = self.below else { return wanted };
        let mut next = None;
        for height in chain.downwards(Some(ListStart::Height(below))).take(LOOK) {
            if wanted.len() == most {
                self.below = Some(height);
                return wanted;
            }
            next = height.previous();
            let levels = self.lacking(height);
            let node = chain.by_height(height).filter(|node| !levels.is_empty() && node.is_stored());
            if let Some(node) = node.filter(|node| !self.missed.has(&node.hash, tip)) {
                wanted.push((height, node.clone(), levels));
            }
        }
        self.below = next;
        wanted
    }

    fn lacking(&self, height: Height) -> Vec<IndexLevel> {
        let gathered = !self.gathered.blocks.is_empty()
            && height <= self.gathered.to
            && self.gathered.next().is_none_or(|next| height > next);
        let lacks =
            |covered: &&Covered| !(covered.has(height) || gathered && self.gathered.levels.contains(&covered.level));
        self.levels.iter().filter(lacks).map(|covered| covered.level).collect()
    }

    /// Takes over the rows of a block that was wanted for these levels: those above it have been taken before.
    pub fn take(&mut self, height: Height, block: BlockHash, wanted: &[IndexLevel], rows: Rows, stop: &AtomicBool) {
        let Some((levels, rows)) = rows else { return self.missed.note(height, block) };
        if levels == wanted {
            self.missed.lift(&block);
        } else {
            self.missed.note(height, block);
        }
        if levels.is_empty() {
            return;
        }
        if !self.gathered.blocks.is_empty() && (self.gathered.next() != Some(height) || self.gathered.levels != levels)
        {
            self.flush();
        }
        if self.gathered.blocks.is_empty() {
            self.gathered = Gathered { levels, to: height, ..Gathered::default() };
        }
        self.pace.count(rows.tx_count());
        self.gathered.bytes += rows.bytes();
        self.gathered.blocks.push(rows);
        if self.tip.is_none_or(|(tip, _)| self.gathered.is_full(tip, self.memory)) {
            self.flush();
        }
        while self.has_to_wait() && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(PAUSE);
        }
    }

    /// Whether the other thread is behind: with writing, or with merging. What is damaged is removed by this one first.
    fn has_to_wait(&self) -> bool {
        let tip = self.tip.map_or(Height(0), |(tip, _)| tip);
        self.runs.waiting_bytes() > gathered(self.memory)
            || !self.runs.has_damage() && is_behind(&self.runs, tip).unwrap_or(false)
    }

    /// There is nothing to add now: what was gathered becomes a run.
    pub fn rest(&mut self) {
        self.flush();
        self.pace.hurry();
    }

    /// What was gathered is written: nobody adds anything behind it.
    pub fn stop(&mut self) {
        self.flush();
        if let Err(error) = self.runs.commit() {
            tracing::warn!(%error, "the last runs could not be written; they are made anew at the next start");
        }
    }

    fn flush(&mut self) {
        let Gathered { levels, to, mut blocks, .. } = std::mem::take(&mut self.gathered);
        let Some(below) = u32::try_from(blocks.len()).ok().and_then(|count| count.checked_sub(1)) else { return };
        blocks.reverse();
        let from = Height(to.0.saturating_sub(below));
        for level in levels {
            let Some(packed) = seal(level, from, &blocks) else { continue };
            self.runs.add(packed);
            if let Some(covered) = self.levels.iter_mut().find(|covered| covered.level == level) {
                covered.add(from..=to);
            }
        }
    }

    /// Tells progress, now and then and when all is done. The map's lock is held for a moment at a time.
    fn tell(&mut self, chain: &RwLock<Chain>) {
        if !self.pace.is_due() {
            return;
        }
        let mut left = 0_u64;
        let mut progress: Vec<IndexProgress> = self.levels.iter().map(|covered| begun(covered.level)).collect();
        let mut next = self.tip.map(|(height, _)| height);
        while let Some(from) = next.take() {
            let chain = chain.read();
            for height in chain.downwards(Some(ListStart::Height(from))).take(LOOK) {
                next = height.previous();
                let Some(node) = chain.by_height(height).filter(|node| node.is_stored()) else { continue };
                let mut lacks = false;
                for (covered, progress) in self.levels.iter().zip(&mut progress) {
                    let has = covered.has(height);
                    progress.of += 1;
                    progress.blocks += u32::from(has);
                    lacks |= !has;
                }
                left += if lacks { u64::from(node.tx_count()) } else { 0 };
            }
        }
        self.pace.tell(left, &mut progress);
        self.report.tell_index(progress);
    }
}

fn tip_of(chain: &Chain) -> Option<(Height, BlockHash)> {
    chain.tip().and_then(|tip| Some((tip.height?, tip.hash)))
}

/// Whether a run's blocks are those of the best chain: its last one says so for all.
pub fn is_of_chain(chain: &Chain, run: &Run) -> bool {
    chain.by_height(run.to()).is_some_and(|node| node.hash == run.last)
}

fn is_of_another(chain: &Chain, run: &Run) -> bool {
    chain.by_height(run.to()).is_some_and(|node| node.hash != run.last)
}
