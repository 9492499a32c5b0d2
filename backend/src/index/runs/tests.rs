//! Runs in a real index, held against a plain map of what was put into them.

use std::collections::BTreeMap;
use std::path::Path;

use bitcoin::BlockHash;
use bitcoin::hashes::Hash;
use hindsight_shared::Height;

use redb::WriteTransaction;

use super::*;
use crate::index::Identity;
use crate::runs::hashes::{MAX_PREFIX, Prefix};
use crate::runs::rows::{BlockRows, Paid, Spent};
use crate::runs::run::TxPosition;
use crate::runs::seal::seal;
use crate::runs::sizes::TxSize;

/// A generator of numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % most
    }
}

/// A block of a few dozen transactions. Scripts are few, so that some are spent from often, and prefixes of all kinds
/// collide here and there.
fn block(height: u32) -> BlockRows {
    let mut random = Random(height.into());
    let transactions = 1 + random.below(60);
    let prefix = |random: &mut Random| match random.below(4) {
        0 => random.below(3),
        _ => random.below(MAX_PREFIX + 1),
    };
    let script = |random: &mut Random| match random.below(3) {
        0 => MAX_PREFIX / 2 + random.below(2),
        _ => random.below(MAX_PREFIX + 1),
    };
    let mut rows = BlockRows {
        block: hash(height),
        sizes: Vec::new(),
        txids: Vec::new(),
        outputs: Vec::new(),
        inputs: Vec::new(),
    };
    for index in 0..u32::try_from(transactions).unwrap() {
        let [tx, undo] = [60 + random.below(500), random.below(100)].map(|size| u32::try_from(size).unwrap());
        rows.sizes.push(TxSize { tx, undo });
        rows.txids.push(prefix(&mut random));
        for _ in 0..random.below(4) {
            rows.outputs.push(Paid { script: script(&mut random), index });
        }
        for _ in 0..random.below(16) {
            rows.inputs.push(Spent { script: script(&mut random), outpoint: prefix(&mut random), index });
        }
    }
    rows
}

fn hash(height: u32) -> BlockHash {
    BlockHash::hash(&height.to_le_bytes())
}

fn identity() -> Identity {
    Identity { magic: [1, 2, 3, 4], blocks_dir: "/nowhere".into(), key: [0; 8] }
}

fn open(dir: &Path) -> Runs {
    let index = Arc::new(Index::open(dir, &identity(), 4 << 20).unwrap());
    Runs { slice: 150, ..Runs::new(index).unwrap() }
}

fn add(runs: &Runs, heights: std::ops::Range<u32>) {
    let blocks: Vec<BlockRows> = heights.clone().map(block).collect();
    for level in IndexLevel::ALL {
        runs.add(seal(level, Height(heights.start), &blocks).unwrap());
    }
}

type Positions = Vec<(u32, u32)>;

/// To ask for all would take minutes: those that several have, and some of the others.
fn is_asked_for(prefix: Prefix) -> bool {
    prefix < 3 || prefix.abs_diff(MAX_PREFIX / 2) < 3 || prefix.is_multiple_of(31)
}

/// Who touches what, as it was put in.
#[derive(Debug, Default, PartialEq)]
struct Plain {
    txids: BTreeMap<Prefix, Positions>,
    pays: BTreeMap<Prefix, Positions>,
    spends: BTreeMap<Prefix, Positions>,
}

fn plain(heights: impl Iterator<Item = u32>) -> Plain {
    let mut plain = Plain::default();
    let put = |map: &mut BTreeMap<Prefix, Positions>, prefix, position| {
        if !is_asked_for(prefix) {
            return;
        }
        let positions = map.entry(prefix).or_default();
        if positions.last() != Some(&position) {
            positions.push(position);
        }
    };
    for height in heights {
        let block = block(height);
        (0..).zip(&block.txids).for_each(|(index, txid)| put(&mut plain.txids, *txid, (height, index)));
        block.outputs.iter().for_each(|paid| put(&mut plain.pays, paid.script, (height, paid.index)));
        block.inputs.iter().for_each(|spent| put(&mut plain.spends, spent.script, (height, spent.index)));
    }
    plain
}

/// Everything that the runs hold, asked for prefix by prefix.
fn answered(runs: &Runs, prefixes: &Plain) -> Plain {
    let mut answered = Plain::default();
    let put = |map: &mut BTreeMap<Prefix, Positions>, prefix, mut positions: Positions| {
        positions.sort_unstable();
        if !positions.is_empty() {
            map.insert(prefix, positions);
        }
    };
    let of = |live: &Live, number| {
        let position = live.run.position(number).unwrap();
        (position.height.0, position.index)
    };
    runs.look(|view| {
        for prefix in prefixes.txids.keys().copied() {
            let mut found = Vec::new();
            for live in view.runs(IndexLevel::Transactions) {
                let entries = view.entries(live, Kind::Txids, prefix..=prefix)?;
                found.extend(entries.iter().map(|entry| of(live, entry.number)));
            }
            put(&mut answered.txids, prefix, found);
        }
        for prefix in prefixes.pays.keys().chain(prefixes.spends.keys()).copied() {
            let (mut pays, mut spends) = (Vec::new(), Vec::new());
            for live in view.runs(IndexLevel::Addresses) {
                for posting in view.postings(live, prefix..=prefix)? {
                    let position = of(live, posting.number);
                    pays.extend(posting.role.pays.then_some(position));
                    spends.extend(posting.role.spends.then_some(position));
                }
            }
            put(&mut answered.pays, prefix, pays);
            put(&mut answered.spends, prefix, spends);
        }
        Ok(())
    })
    .unwrap();
    answered
}

/// Every spend of a script that says that its spends are named is found by its outpoint.
fn named_spends(runs: &Runs, heights: impl Iterator<Item = u32>) -> usize {
    let blocks: Vec<(u32, BlockRows)> = heights.map(|height| (height, block(height))).collect();
    let spends = blocks.iter().flat_map(|(height, block)| block.inputs.iter().map(move |spent| (*height, spent)));
    let spends = spends.filter(|(_, spent)| is_asked_for(spent.outpoint));
    let mut named = 0;
    runs.look(|view| {
        for (height, spent) in spends.clone() {
            let live = view.runs(IndexLevel::Addresses).filter(|live| live.run.covers(Height(height)));
            let mut says_so = false;
            let mut found = false;
            for live in live {
                let here = |number| {
                    live.run.position(number) == Some(TxPosition { height: Height(height), index: spent.index })
                };
                let postings = view.postings(live, spent.script..=spent.script)?;
                says_so |= postings.iter().any(|posting| here(posting.number) && posting.role.named);
                let entries = view.entries(live, Kind::Spends, spent.outpoint..=spent.outpoint)?;
                found |= entries.iter().any(|entry| here(entry.number));
            }
            assert!(found || !says_so, "{spent:?} at {height}");
            named += usize::from(says_so);
        }
        Ok(())
    })
    .unwrap();
    named
}

#[track_caller]
fn places_are_right(runs: &Runs, heights: std::ops::Range<u32>) {
    runs.look(|view| {
        for height in heights.clone() {
            let block = block(height);
            let mut offset = 80 + 1;
            for (index, size) in (0..).zip(&block.sizes) {
                let place = view.place(TxPosition { height: Height(height), index }).unwrap();
                assert_eq!(place.tx, offset..offset + size.tx, "{height}:{index}");
                offset += size.tx;
            }
        }
        Ok(())
    })
    .unwrap();
}

fn any_four(runs: &[Arc<Run>]) -> Option<Vec<u32>> {
    (runs.len() >= 4).then(|| runs.iter().map(|run| run.id).collect())
}

#[test]
fn answers_are_the_same_at_every_step() {
    let dir = tempfile::tempdir().unwrap();
    let mut runs = open(dir.path());
    // Newest first, in pieces of all sizes.
    for heights in [16..30, 15..16, 8..15, 3..8, 0..3] {
        add(&runs, heights.clone());
        let expected = plain(heights.start..30);
        assert!(answered(&runs, &expected) == expected, "waiting, from {}", heights.start);
        assert!(runs.commit().unwrap());
        assert!(answered(&runs, &expected) == expected, "written, from {}", heights.start);
    }
    let expected = plain(0..30);
    let named = named_spends(&runs, 0..30);
    assert!(named > 100, "{named}");
    // Slice by slice, with a new start after each.
    let mut slices = 0;
    while runs.merge(any_four).unwrap() {
        assert!(answered(&runs, &expected) == expected, "after {slices} slices");
        places_are_right(&runs, 0..30);
        assert_eq!(named_spends(&runs, 0..30), named);
        drop(runs);
        runs = open(dir.path());
        assert!(answered(&runs, &expected) == expected, "after {slices} slices and a new start");
        slices += 1;
    }
    assert!(slices > 10, "{slices}");
    for level in IndexLevel::ALL {
        let all = runs.all(level).unwrap();
        assert_eq!(all.iter().map(|run| (run.from.0, run.to().0)).collect::<Vec<_>>(), [(0, 29)]);
        assert_eq!(all[0].last, hash(29));
    }
}

#[test]
fn what_is_of_another_chain_goes_and_the_rest_stays() {
    let dir = tempfile::tempdir().unwrap();
    let runs = open(dir.path());
    for heights in [0..20, 20..30, 30..31] {
        add(&runs, heights);
    }
    runs.commit().unwrap();
    add(&runs, 31..32);
    runs.retain(|run| run.to().0 < 30).unwrap();
    let expected = plain(0..30);
    assert!(answered(&runs, &plain(0..32)) == expected);
    places_are_right(&runs, 0..30);
    // In the middle of a merge all that takes part in it goes.
    add(&runs, 30..40);
    add(&runs, 40..41);
    runs.commit().unwrap();
    assert!(runs.merge(any_four).unwrap());
    assert!(answered(&runs, &plain(0..41)) == plain(0..41));
    runs.retain(|run| run.level == IndexLevel::Addresses || run.to().0 < 40).unwrap();
    assert!(answered(&runs, &plain(0..41)).txids.is_empty());
    assert_eq!(answered(&runs, &plain(0..41)).pays, plain(0..41).pays);
}

#[test]
fn a_damaged_page_costs_its_run() {
    let dir = tempfile::tempdir().unwrap();
    let runs = open(dir.path());
    add(&runs, 0..20);
    add(&runs, 20..30);
    runs.commit().unwrap();
    let damaged = runs.all(IndexLevel::Transactions).unwrap()[0].clone();
    let flip = |transaction: &WriteTransaction| {
        let mut table = transaction.open_table(page_table(Kind::Txids))?;
        let key = (damaged.id, 0, 0)..=(damaged.id, Prefix::MAX, u32::MAX);
        let (key, mut page) =
            table.range(key)?.next_back().unwrap().map(|(key, page)| (key.value(), page.value().to_vec()))?;
        page[30] ^= 1;
        table.insert(key, &page[..])?;
        Ok(())
    };
    runs.store().write(flip).unwrap();
    runs.changed();
    let look = || {
        runs.look(|view| {
            view.runs(IndexLevel::Transactions)
                .map(|live| view.entries(live, Kind::Txids, 0..=MAX_PREFIX))
                .collect::<Result<Vec<_>, _>>()
        })
    };
    // The run is left out, until it is removed and made anew.
    assert!(look().is_ok());
    assert!(runs.has_damage());
    assert!(answered(&runs, &plain(0..30)).txids == plain(20..30).txids);
    runs.retain(|_| true).unwrap();
    assert!(!runs.has_damage());
    let blocks: Vec<BlockRows> = (0..20).map(block).collect();
    runs.add(seal(IndexLevel::Transactions, Height(0), &blocks).unwrap());
    assert!(answered(&runs, &plain(0..30)) == plain(0..30));
}
