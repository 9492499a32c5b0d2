//! The history of a script added up, and kept: to add what is new takes a moment where to add everything takes seconds.

use std::sync::Arc;

use bitcoin::hashes::Hash;
use bitcoin::{Amount, BlockHash, Script, ScriptBuf};
use hindsight_shared::Height;
use hindsight_shared::address::{BalanceAt, Totals};
use parking_lot::Mutex;
use quick_cache::sync::Cache;

use super::address::Movement;
use super::lookup::{Gap, heights};
use crate::chain::Chain;

/// Scripts whose sums are kept.
const KEPT: usize = 256;

/// Points of a balance that are kept: beyond twice as many, every second one goes.
const POINTS: usize = 512;

/// Sums of the scripts that were asked for lately.
#[derive(Debug)]
pub struct Folds(Cache<ScriptBuf, Arc<Mutex<Fold>>>);

impl Default for Folds {
    fn default() -> Self {
        Self(Cache::new(KEPT))
    }
}

impl Folds {
    /// What is known of a script, for one at a time to add to: who asks for the same meanwhile waits for it instead of
    /// adding it up once more.
    pub fn of(&self, script: &Script) -> Arc<Mutex<Fold>> {
        if let Some(fold) = self.0.get(script) {
            return fold;
        }
        let Ok(fold) =
            self.0.get_or_insert_with(&script.to_owned(), || Ok::<_, std::convert::Infallible>(Arc::default()));
        fold
    }
}

/// Sums up to a block, and the balance on the way.
#[derive(Clone, Debug)]
pub struct Fold {
    /// The sums.
    pub totals: Totals,
    /// Heights up to the last block's whose blocks are not in them.
    gaps: Vec<Gap>,
    points: Vec<BalanceAt>,
    /// The balance after the last block that changed it.
    last: Option<BalanceAt>,
    /// Changes that one point stands for.
    stride: usize,
    skipped: usize,
    ended: bool,
}

impl Default for Fold {
    fn default() -> Self {
        let totals = Totals {
            tip: BlockHash::all_zeros(),
            height: Height(0),
            transactions: 0,
            outputs: 0,
            spent_outputs: 0,
            received: Amount::ZERO,
            spent: Amount::ZERO,
            lost: Amount::ZERO,
            missing: 0,
            lost_outputs: 0,
        };
        Self { totals, gaps: Vec::new(), points: Vec::new(), last: None, stride: 1, skipped: 0, ended: false }
    }
}

impl Fold {
    /// Whether it was made of blocks of this chain.
    pub fn is_of(&self, chain: &Chain) -> bool {
        chain.by_height(self.totals.height).is_some_and(|node| node.hash == self.totals.tip)
    }

    /// Whether it leaves out just what these gaps do, as far as it goes: nothing has been indexed below its end since.
    pub fn leaves_out(&self, gaps: &[Gap]) -> bool {
        let end = self.totals.height;
        let up_to_end = gaps.iter().filter(|gap| *gap.start() <= end);
        up_to_end.map(|gap| *gap.start()..=end.min(*gap.end())).eq(self.gaps.iter().cloned())
    }

    /// Whether the block at a height is in the sums.
    pub fn has(&self, height: Height) -> bool {
        self.ended && height <= self.totals.height
    }

    /// Adds a transaction: those before it have been added.
    pub(super) fn add(&mut self, movement: &Movement) {
        let count = |list: usize| u32::try_from(list).unwrap_or(u32::MAX);
        let totals = &mut self.totals;
        totals.transactions += 1;
        totals.outputs += movement.outputs;
        totals.spent_outputs += count(movement.spent.len());
        add(&mut totals.received, movement.row.received);
        add(&mut totals.spent, movement.row.spent);
        if movement.is_lost {
            totals.lost_outputs += movement.outputs;
            add(&mut totals.lost, movement.row.received);
        }
        let balance = totals.balance().unwrap_or(Amount::ZERO);
        let point = BalanceAt { height: movement.row.height, time: movement.row.time, balance };
        if let Some(before) = self.last.replace(point).filter(|before| before.height != point.height) {
            self.keep(before);
        }
    }

    fn keep(&mut self, point: BalanceAt) {
        self.skipped += 1;
        if self.skipped < self.stride {
            return;
        }
        self.skipped = 0;
        self.points.push(point);
        if self.points.len() == 2 * POINTS {
            let mut at = 0;
            self.points.retain(|_| {
                at += 1;
                at % 2 == 0
            });
            self.stride *= 2;
        }
    }

    /// Everything up to a block has been added, but for the blocks in gaps and so many that could not be read.
    pub fn end(&mut self, (tip, height): (BlockHash, Height), gaps: Vec<Gap>, unread: u32) {
        let totals = &mut self.totals;
        (totals.tip, totals.height, totals.missing) = (tip, height, heights(&gaps).saturating_add(unread));
        (self.gaps, self.ended) = (gaps, true);
    }

    /// The balance over time, lowest first.
    pub fn points(&self) -> Vec<BalanceAt> {
        self.points.iter().copied().chain(self.last).collect()
    }
}

fn add(sum: &mut Amount, amount: Amount) {
    *sum = sum.checked_add(amount).unwrap_or(Amount::MAX);
}

#[cfg(test)]
mod tests {
    use bitcoin::Txid;
    use hindsight_shared::address::Touched;

    use super::*;

    fn paid(height: u32) -> Movement {
        let row = Touched {
            txid: Txid::all_zeros(),
            height: Height(height),
            index: 1,
            time: height,
            received: Amount::from_sat(1),
            spent: Amount::ZERO,
        };
        Movement { row, outputs: 1, is_lost: false, made: Vec::new(), spent: Vec::new() }
    }

    #[test]
    fn points_are_few_and_the_last_is_exact() {
        let mut fold = Fold::default();
        for height in 0..10_000 {
            fold.add(&paid(height));
            fold.add(&paid(height));
            let points = fold.points();
            assert!(points.len() <= 2 * POINTS);
            assert_eq!(points.last().map(|point| point.balance.to_sat()), Some(2 * u64::from(height) + 2));
            assert!(points.is_sorted_by(|a, b| a.height < b.height));
            // Each point is the balance after all of its block.
            assert!(points.iter().all(|point| point.balance.to_sat() == 2 * u64::from(point.height.0) + 2));
        }
        assert!(fold.points().len() > POINTS / 2);
    }
}
