//! Fee rates of in-block packages: what a miner was paid for taking a transaction in, children that pay for their
//! parents included.
//!
//! Transactions that spend one another within the block form a cluster. From each cluster the set of a transaction and
//! its ancestors with the best rate is taken, then the best of what is left, as Bitcoin Core builds blocks (ancestor fee
//! rates); a transaction's package rate is that of the set it is taken with.

use std::collections::HashMap;

use bitcoin::Txid;

use super::exact::FeeRate;
use crate::block::BlockView;
use crate::summary::TxRow;

/// The package rate of every row; `None` for a coinbase and where the fee is unknown.
pub fn rates(block: &BlockView<'_>, rows: &[TxRow]) -> Vec<Option<FeeRate>> {
    let parents = parents(block, rows);
    let mut rates: Vec<Option<FeeRate>> = rows.iter().map(FeeRate::of).collect();
    for cluster in clusters(&parents) {
        let own: Option<Vec<FeeRate>> = cluster.iter().map(|&at| rates[at]).collect();
        let Some(own) = own else { continue };
        // A cluster is in block order, and a parent is in its child's.
        let place = |parent| cluster.binary_search(parent).ok();
        let within = cluster.iter().map(|&at| parents[at].iter().filter_map(place).collect()).collect();
        for (&at, rate) in cluster.iter().zip(take_in(&own, within)) {
            rates[at] = Some(rate);
        }
    }
    rates
}

/// Of each row the rows before it that it spends from, as often as it does.
fn parents(block: &BlockView<'_>, rows: &[TxRow]) -> Vec<Vec<usize>> {
    let mut places: HashMap<Txid, usize> = HashMap::with_capacity(rows.len());
    let mut parents = Vec::with_capacity(rows.len());
    for (at, (tx, row)) in block.txs().zip(rows).enumerate() {
        parents.push(tx.inputs().filter_map(|input| places.get(&input.txid).copied()).collect());
        places.insert(row.txid, at);
    }
    parents
}

/// Rows that hang together, of two and more, in block order.
fn clusters(parents: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut root: Vec<usize> = (0..parents.len()).collect();
    let find = |root: &mut Vec<usize>, mut at: usize| {
        while root[at] != at {
            root[at] = root[root[at]];
            at = root[at];
        }
        at
    };
    for (at, own) in parents.iter().enumerate() {
        for &parent in own {
            let (a, b) = (find(&mut root, at), find(&mut root, parent));
            root[a.max(b)] = a.min(b);
        }
    }
    let mut clusters = vec![Vec::new(); parents.len()];
    for at in 0..parents.len() {
        clusters[find(&mut root, at)].push(at);
    }
    clusters.retain(|cluster| cluster.len() > 1);
    clusters
}

/// The rate that each member of a cluster is taken in with. Parents come before their children.
fn take_in(own: &[FeeRate], parents: Vec<Vec<usize>>) -> Vec<FeeRate> {
    let ancestors = Ancestors::new(parents);
    let mut left: Vec<bool> = vec![true; own.len()];
    let mut sets: Vec<FeeRate> =
        (0..own.len()).map(|at| ancestors.of(at).fold(own[at], |sum, ancestor| sum.plus(own[ancestor]))).collect();
    let mut rates = own.to_vec();
    // Of equal rates the first in the block is taken first.
    while let Some(best) = (0..own.len()).rev().filter(|&at| left[at]).max_by_key(|&at| sets[at]) {
        let rate = sets[best];
        let taken: Vec<usize> = ancestors.of(best).filter(|&at| left[at]).chain([best]).collect();
        for &member in &taken {
            rates[member] = rate;
            left[member] = false;
        }
        for at in (0..own.len()).filter(|&at| left[at]) {
            let gone = taken.iter().filter(|&&member| ancestors.has(at, member));
            sets[at] = gone.fold(sets[at], |set, &member| set.minus(own[member]));
        }
    }
    rates
}

/// Who descends from whom, one bit a pair: a block has at most some 16,000 transactions, mostly in small clusters.
struct Ancestors {
    words: usize,
    bits: Vec<u64>,
}

impl Ancestors {
    fn new(parents: Vec<Vec<usize>>) -> Self {
        let words = parents.len().div_ceil(64);
        let mut all = Self { words, bits: vec![0; words * parents.len()] };
        for (at, own) in parents.into_iter().enumerate() {
            for parent in own {
                let (before, row) = all.bits.split_at_mut(at * words);
                for (word, inherited) in row.iter_mut().zip(&before[parent * words..(parent + 1) * words]) {
                    *word |= inherited;
                }
                row[parent / 64] |= 1 << (parent % 64);
            }
        }
        all
    }

    fn has(&self, at: usize, ancestor: usize) -> bool {
        self.bits[at * self.words + ancestor / 64] >> (ancestor % 64) & 1 == 1
    }

    fn of(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        (0..at).filter(move |&ancestor| self.has(at, ancestor))
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[track_caller]
    fn check(own: &[(u64, u64)], parents: &[&[usize]], expect: &[(u64, u64)]) {
        let rate = |&(fee, weight): &(u64, u64)| FeeRate { fee, weight };
        let own: Vec<FeeRate> = own.iter().map(rate).collect();
        let rates = take_in(&own, parents.iter().map(|own| own.to_vec()).collect());
        assert_eq!(rates, expect.iter().map(rate).collect::<Vec<_>>());
    }

    #[test]
    fn a_child_pays_for_its_parent() {
        check(&[(100, 400), (1900, 400)], &[&[], &[0]], &[(2000, 800), (2000, 800)]);
    }

    #[test]
    fn a_child_that_pays_less_leaves_its_parent_alone() {
        check(&[(1000, 400), (100, 400)], &[&[], &[0]], &[(1000, 400), (100, 400)]);
    }

    #[test]
    fn of_two_children_the_better_one_pays_and_the_other_stands_for_itself() {
        check(&[(0, 400), (4000, 400), (800, 400)], &[&[], &[0], &[0]], &[(4000, 800), (4000, 800), (800, 400)]);
    }

    #[test]
    fn a_grandchild_pays_for_all_it_needs() {
        check(
            &[(10, 100), (0, 100), (0, 100), (990, 100)],
            &[&[], &[0], &[0], &[1, 2]],
            &[(1000, 400), (1000, 400), (1000, 400), (1000, 400)],
        );
    }

    #[test]
    fn clusters_are_what_hangs_together() {
        let mut found = clusters(&[vec![], vec![0], vec![], vec![], vec![3], vec![4, 1], vec![]]);
        found.sort();
        assert_eq!(found, [vec![0, 1, 3, 4, 5]]);
    }
}
