//! Writes runs as they are made, and merges those of the same size, so that a question has few to look through.
//!
//! It has a thread of its own, so that rows are gathered while others are written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hindsight_shared::Height;
use hindsight_shared::api::IndexLevel;
use parking_lot::RwLock;

use super::report::{Report, Subject};
use crate::chain::Chain;
use crate::index::{IndexError, Runs};
use crate::runs::run::Run;
use crate::source::lower_priority;

/// So many runs that follow each other become one, those of small sizes before those of large ones. More would mean fewer
/// bytes written and more runs to look through.
const AT_ONCE: usize = 4;

/// Runs of a level, beyond which no more are made while there are some to merge: a question looks through all of them.
const MOST_RUNS: usize = 24;

/// A run near the tip has at most so many blocks for each one above it: so many are indexed anew in a reorg of one block,
/// and fewer would mean more runs.
pub const BLOCKS_PER_DEPTH: u32 = 8;

/// How long the thread sleeps when there is nothing to do.
const WAKE_UP: Duration = Duration::from_millis(50);

/// How long a failed commit waits for the next try.
const RETRY: Duration = Duration::from_secs(10);

/// Writes and merges.
#[derive(Debug)]
pub struct Merger {
    runs: Arc<Runs>,
    chain: Arc<RwLock<Chain>>,
    report: Arc<Report>,
}

impl Merger {
    /// A merger of these runs.
    pub const fn new(runs: Arc<Runs>, chain: Arc<RwLock<Chain>>, report: Arc<Report>) -> Self {
        Self { runs, chain, report }
    }

    /// Works until `stop` is set.
    pub fn run(self, stop: &AtomicBool) {
        lower_priority();
        let mut failed = false;
        while !stop.load(Ordering::Relaxed) {
            match self.step() {
                Ok(true) => {}
                Ok(false) => std::thread::sleep(WAKE_UP),
                Err(error) => {
                    failed = true;
                    let text = format!("{error}; what is new stays in memory, and it is tried again");
                    self.report.warn(Subject::Runs, Some(text));
                    self.sleep(RETRY, stop);
                    continue;
                }
            }
            if std::mem::take(&mut failed) {
                self.report.warn(Subject::Runs, None);
            }
        }
    }

    fn step(&self) -> Result<bool, IndexError> {
        Ok(self.runs.commit()? || self.runs.merge(|runs| next_merge(runs, self.tip()))?)
    }

    fn tip(&self) -> Height {
        self.chain.read().tip().and_then(|tip| tip.height).unwrap_or(Height(0))
    }

    fn sleep(&self, time: Duration, stop: &AtomicBool) {
        let mut left = time;
        while !left.is_zero() && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(WAKE_UP);
            left = left.saturating_sub(WAKE_UP);
        }
    }
}

/// Whether there are so many runs that making more has to wait for those that are to be merged.
///
/// # Errors
/// As the index fails.
pub fn is_behind(runs: &Runs, tip: Height) -> Result<bool, IndexError> {
    for level in IndexLevel::ALL {
        let all = runs.all(level)?;
        if all.len() > MOST_RUNS && next_merge(&all, tip).is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Which of a level's runs, lowest first, to merge: small ones before large ones, and none that is too large for where it
/// lies.
pub fn next_merge(runs: &[Arc<Run>], tip: Height) -> Option<Vec<u32>> {
    let largest = runs.iter().map(|run| tier(run)).max()?;
    (0..=largest)
        .find_map(|most| {
            let small = runs
                .chunk_by(|below, above| below.to().next() == Some(above.from) && tier(below).max(tier(above)) <= most);
            small.filter(|group| tier(&group[0]) <= most).find_map(|group| {
                let ends = (AT_ONCE..=group.len()).rev();
                ends.map(|end| &group[..end]).find(|group| may_be_one(group, tip))
            })
        })
        .map(|group| group.iter().map(|run| run.id).collect())
}

/// Runs whose transactions are about as many to the power of four.
fn tier(run: &Run) -> u32 {
    run.transactions().max(1).ilog2() / 2
}

fn may_be_one(group: &[Arc<Run>], tip: Height) -> bool {
    let blocks: u32 = group.iter().map(|run| run.blocks()).sum();
    let transactions = group.iter().try_fold(0_u32, |sum, run| sum.checked_add(run.transactions()));
    let above = group.last().map_or(0, |run| tip.0.saturating_sub(run.to().0));
    transactions.is_some() && blocks <= above.saturating_mul(BLOCKS_PER_DEPTH)
}

#[cfg(test)]
mod tests {
    use bitcoin::BlockHash;
    use bitcoin::hashes::Hash;

    use super::*;

    /// Runs of consecutive blocks from a height on, with so many transactions in each block.
    fn runs(from: u32, blocks: &[u32], transactions: u32) -> Vec<Arc<Run>> {
        let mut next = from;
        let run = |(id, blocks): (u32, &u32)| {
            let run = Run {
                id,
                level: IndexLevel::Transactions,
                from: Height(next),
                last: BlockHash::all_zeros(),
                firsts: (0..=*blocks).map(|block| block * transactions).collect(),
                scripts: 0,
                spends: 0,
            };
            next += blocks;
            Arc::new(run)
        };
        (0..).zip(blocks).map(run).collect()
    }

    #[test]
    fn four_become_one_small_ones_first() {
        assert_eq!(next_merge(&runs(0, &[64, 16, 16, 16, 16, 4], 100), Height(10_000)), Some(vec![1, 2, 3, 4, 5]));
        assert_eq!(next_merge(&runs(0, &[16, 16, 16], 100), Height(10_000)), None);
        assert_eq!(next_merge(&[], Height(0)), None);
    }

    #[test]
    fn smaller_ones_between_them_join() {
        assert_eq!(next_merge(&runs(0, &[16, 2, 16, 1, 16], 100), Height(10_000)), Some(vec![0, 1, 2, 3, 4]));
    }

    #[test]
    fn a_gap_parts_them() {
        let mut two = runs(0, &[4, 4], 100);
        two.extend(runs(9, &[4, 4], 100));
        assert_eq!(next_merge(&two, Height(10_000)), None);
    }

    #[test]
    fn near_the_tip_runs_stay_small() {
        let four = runs(0, &[1, 1, 1, 1], 100);
        assert_eq!(next_merge(&four, Height(3)), None);
        assert_eq!(next_merge(&four, Height(4)), Some(vec![0, 1, 2, 3]));
        // The highest wait until they lie deeper.
        assert_eq!(next_merge(&runs(0, &[1; 6], 100), Height(5)), Some(vec![0, 1, 2, 3, 4]));
    }

    #[test]
    fn at_mainnets_size_runs_stay_few() {
        let (mut all, mut id, mut written) = (Vec::<Arc<Run>>::new(), 0, 0_u64);
        for height in 0..300_000_u32 {
            let [run] = &runs(height, &[1], 4000)[..] else { unreachable!() };
            id += 1;
            all.push(Arc::new(Run { id, ..Run::clone(run) }));
            while let Some(ids) = next_merge(&all, Height(height)) {
                let at = all.iter().position(|run| run.id == ids[0]).unwrap();
                let parts: Vec<_> = all.drain(at..at + ids.len()).collect();
                let mut firsts = vec![0];
                for part in &parts {
                    let before = *firsts.last().unwrap();
                    firsts.extend(part.firsts[1..].iter().map(|first| before + first));
                }
                written += u64::from(*firsts.last().unwrap());
                id += 1;
                all.insert(at, Arc::new(Run { id, firsts, ..Run::clone(&parts[0]) }));
            }
            assert!(all.len() <= 25, "{} runs at {height}", all.len());
        }
        // Each transaction is written once for each size that its run has had.
        assert!(written <= 10 * 300_000 * 4000, "{written}");
    }
}
