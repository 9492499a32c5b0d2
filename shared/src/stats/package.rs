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
use crate::summary::{Flags, TxRow};

/// No valid block has more transactions: 4,000,000 weight units, and 240 in the smallest with an input and an output.
/// What takes the square of their number is not done for bytes that claim more.
const MOST_MEMBERS: usize = 4_000_000 / 240;

/// The package rate of every row, which in a cluster that no valid block holds is its own; `None` for a coinbase and where the fee is unknown.
pub fn rates(block: &BlockView<'_>, rows: &[TxRow]) -> Vec<Option<FeeRate>> {
    let parents = parents(block, rows);
    let mut rates: Vec<Option<FeeRate>> = rows.iter().map(FeeRate::of).collect();
    for cluster in clusters(&parents).into_iter().filter(|cluster| cluster.len() <= MOST_MEMBERS) {
        let own: Option<Vec<FeeRate>> = cluster.iter().map(|&at| rates[at]).collect();
        let Some(own) = own else { continue };
        // A cluster is in block order, and a parent is in its child's.
        let place = |parent| cluster.binary_search(parent).ok();
        let within: Vec<_> = cluster.iter().map(|&at| parents[at].iter().filter_map(place).collect()).collect();
        for (&at, rate) in cluster.iter().zip(take_in(&own, &within)) {
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
        // Most transactions spend nothing of their block, and their rows say so.
        let inputs = tx.inputs().filter(|_| row.flags.contains(Flags::SPENDS_IN_BLOCK));
        parents.push(inputs.filter_map(|input| places.get(&input.txid).copied()).collect());
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
fn take_in(own: &[FeeRate], parents: &[Vec<usize>]) -> Vec<FeeRate> {
    let descendants = Descendants::new(parents);
    let mut sets = own.to_vec();
    for (at, rate) in own.iter().enumerate() {
        descendants.of(at).for_each(|below| sets[below] = sets[below].plus(*rate));
    }
    let mut left = vec![true; own.len()];
    let mut rates = own.to_vec();
    // Of equal rates the first in the block is taken first.
    while let Some(best) = (0..own.len()).rev().filter(|&at| left[at]).max_by_key(|&at| sets[at]) {
        let rate = sets[best];
        for member in take(best, parents, &mut left) {
            rates[member] = rate;
            descendants.of(member).for_each(|below| sets[below] = sets[below].minus(own[member]));
        }
    }
    rates
}

/// Takes out a member and its ancestors. Where one is gone already, so are its own.
fn take(best: usize, parents: &[Vec<usize>], left: &mut [bool]) -> Vec<usize> {
    let (mut taken, mut next) = (Vec::new(), vec![best]);
    while let Some(at) = next.pop() {
        if std::mem::take(&mut left[at]) {
            taken.push(at);
            next.extend(&parents[at]);
        }
    }
    taken
}

/// Who descends from whom, one bit a pair; mostly of small clusters, and of at most [`MOST_MEMBERS`].
struct Descendants {
    words: usize,
    bits: Vec<u64>,
}

impl Descendants {
    fn new(parents: &[Vec<usize>]) -> Self {
        let words = parents.len().div_ceil(64);
        let mut bits = vec![0; words * parents.len()];
        // The last one has none, and everybody's are known before they are handed on to the parents.
        for (at, own) in parents.iter().enumerate().rev() {
            for parent in own {
                let (before, row) = bits.split_at_mut(at * words);
                let inherits = &mut before[parent * words..(parent + 1) * words];
                inherits.iter_mut().zip(&row[..words]).for_each(|(word, below)| *word |= below);
                inherits[at / 64] |= 1 << (at % 64);
            }
        }
        Self { words, bits }
    }

    fn of(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        let row = self.bits[at * self.words..(at + 1) * self.words].iter().enumerate();
        let bits = |word: u64| (0..64).filter(move |bit| word >> bit & 1 == 1);
        row.filter(|(_, word)| **word != 0).flat_map(move |(place, &word)| bits(word).map(move |bit| place * 64 + bit))
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
        let parents: Vec<_> = parents.iter().map(|own| own.to_vec()).collect();
        let rates = take_in(&own, &parents);
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

    /// A coinbase and a chain of as many transactions, each spending the one before it, with ever smaller fees.
    fn chain(length: usize) -> (Vec<u8>, Vec<u8>) {
        use bitcoin::hashes::Hash;
        use bitcoin::{Amount, OutPoint, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Txid, VarInt, Witness};
        let genesis = bitcoin::blockdata::constants::genesis_block(bitcoin::Network::Regtest);
        let (mut block, mut spent) = (genesis, Vec::new());
        let mut outpoint = OutPoint { txid: Txid::from_byte_array([1; 32]), vout: 0 };
        let mut value = u64::MAX >> 1;
        spent.extend(bitcoin::consensus::serialize(&VarInt((length + 1) as u64)));
        spent.push(0);
        for fee in (0..length as u64).rev() {
            let coin = TxOut { value: Amount::from_sat(value), script_pubkey: ScriptBuf::new() };
            value -= fee;
            let input = TxIn {
                previous_output: outpoint,
                script_sig: ScriptBuf::new(),
                sequence: Sequence::MAX,
                witness: Witness::new(),
            };
            let output = TxOut { value: Amount::from_sat(value), script_pubkey: ScriptBuf::new() };
            let tx = Transaction {
                version: bitcoin::transaction::Version::ONE,
                lock_time: bitcoin::absolute::LockTime::ZERO,
                input: vec![input],
                output: vec![output],
            };
            outpoint = OutPoint { txid: tx.compute_txid(), vout: 0 };
            spent.extend(bitcoin::consensus::serialize(&vec![coin]));
            block.txdata.push(tx);
        }
        (bitcoin::consensus::serialize(&block), spent)
    }

    #[test]
    fn a_cluster_that_no_block_holds_is_left_alone() {
        let (block, spent) = chain(MOST_MEMBERS + 1);
        let block = BlockView::parse(&block).unwrap();
        let prevouts = crate::prevouts::PrevoutsView::from_spent_txouts(&spent).unwrap();
        let rows = crate::summary::rows(&block, Some(&prevouts)).unwrap();
        assert_eq!(rates(&block, &rows), rows.iter().map(FeeRate::of).collect::<Vec<_>>());
    }

    #[test]
    fn clusters_are_what_hangs_together() {
        let mut found = clusters(&[vec![], vec![0], vec![], vec![], vec![3], vec![4, 1], vec![]]);
        found.sort();
        assert_eq!(found, [vec![0, 1, 3, 4, 5]]);
    }
}
