//! Pairing: undo records to blocks, in any order, with anything missing or damaged.

use std::fs;

use bitcoin::BlockHash;
use bitcoin::consensus::deserialize;
use hindsight_shared::payload::Prevouts;

use super::support::*;
use crate::source::{BlockSource, UndoFile};

/// Blocks that have undo, in the order of the undo file.
fn undone(file: &UndoFile) -> Vec<BlockHash> {
    file.records.iter().map(|record| record.block).collect()
}

/// Core connects in order of height, and genesis has no undo: record k belongs to height k + 1, at about a hash each.
#[track_caller]
fn check_fixture(fixture: &Fixture) {
    let dir = Dir::of(fixture);
    let files = dir.open();
    let paired = files.pair(&files.walk(0, None).unwrap()).unwrap();
    assert_eq!(undone(&paired), hashes(&fixture.blocks[1..]));
    assert_eq!(paired.leftovers, 0);
    assert_hashes(&paired, 100);
    let mut offset = 8;
    for ((record, bytes), block) in paired.records.iter().zip(&fixture.undos).zip(&fixture.blocks[1..]) {
        assert_eq!((record.position.file, record.position.offset), (0, offset));
        assert_eq!(record.size as usize, bytes.len() - 32);
        assert_eq!(&files.undo(record).unwrap(), bytes);
        let prev = deserialize::<bitcoin::Block>(block).unwrap().header.prev_blockhash;
        assert_eq!(Prevouts::Undo(bytes).checksum_holds(&prev), Some(true));
        offset += record.size + 40;
    }
}

/// At most so many checksums a hundred records, and a handful to begin with.
#[track_caller]
fn assert_hashes(paired: &UndoFile, percent: u64) {
    let most = paired.records.len() as u64 * percent / 100 + 8;
    assert!(paired.hashes <= most, "{} hashes for {} records", paired.hashes, paired.records.len());
}

#[test]
fn regtest_is_paired_as_core_connected_it() {
    check_fixture(regtest());
}

#[test]
fn testnet3_is_paired_as_core_connected_it() {
    check_fixture(testnet3());
}

/// Blocks arrive in a window of 1,024, undo is written in order of height.
#[test]
fn blocks_in_another_order_than_their_undo_take_no_more_hashes() {
    let real = testnet3();
    let dir = Dir::new(real.network);
    dir.blk(0, &blocks(&shuffled(real.blocks.clone(), 3, 1024)));
    dir.rev(0, &undos(&real.undos));
    let paired = dir.pair(0);
    assert_eq!(undone(&paired), hashes(&real.blocks[1..]));
    assert_hashes(&paired, 100);
}

/// Each undo file holds the undo of the blocks in its own block file, wherever their parents are.
#[test]
fn a_chain_scattered_over_files_takes_few_hashes_more() {
    let real = testnet3();
    let dir = Dir::new(real.network);
    let order = shuffled((0..real.blocks.len()).collect(), 5, 300);
    for (number, chunk) in (0..).zip(order.chunks(500)) {
        dir.blk(number, &blocks(chunk.iter().map(|height| &real.blocks[*height])));
        let mut heights: Vec<_> = chunk.iter().copied().filter(|height| *height > 0).collect();
        heights.sort_unstable();
        dir.rev(number, &undos(heights.iter().map(|height| &real.undos[height - 1])));
        let paired = dir.pair(number);
        assert_eq!(undone(&paired), hashes(heights.iter().map(|height| &real.blocks[*height])));
        assert_eq!(paired.leftovers, 0);
        assert_hashes(&paired, 200);
    }
}

#[test]
fn undo_in_any_order_finds_its_block() {
    let real = regtest();
    let dir = Dir::regtest();
    dir.blk(0, &blocks(&real.blocks));
    let order = shuffled((0..206).collect::<Vec<usize>>(), 9, 1024);
    dir.rev(0, &undos(order.iter().map(|k| &real.undos[*k])));
    let paired = dir.pair(0);
    assert_eq!(undone(&paired), hashes(order.iter().map(|k| &real.blocks[k + 1])));
    assert_eq!(paired.leftovers, 0);
}

/// Blocks that were never connected, or whose undo is not written yet.
#[test]
fn blocks_without_undo_have_none() {
    let real = regtest();
    let dir = Dir::regtest();
    let stale = mine(hash(&real.blocks[150]), 1, &[spend(2, 1)]);
    dir.blk(0, &[blocks(&real.blocks), blocks([&stale])].concat());
    dir.rev(0, &[undos(&real.undos[..180]), vec![Piece::Zeros(1 << 20)]].concat());
    let paired = dir.pair(0);
    assert_eq!(undone(&paired), hashes(&real.blocks[1..=180]));
    fs::remove_file(dir.path("rev", 0)).unwrap();
    let paired = dir.pair(0);
    assert_eq!((paired.rev, paired.records.len(), paired.leftovers), (None, 0, 0));
}

/// The undo of blocks that are gone, or that has been written twice, serves nobody.
#[test]
fn undo_that_fits_no_block_is_counted() {
    let real = regtest();
    let dir = Dir::regtest();
    dir.blk(0, &blocks(real.blocks.iter().enumerate().filter(|(k, _)| k % 10 != 5).map(|(_, block)| block)));
    dir.rev(0, &[undos(&real.undos), undos(&real.undos[200..])].concat());
    let paired = dir.pair(0);
    let expected = real.blocks.iter().enumerate().skip(1).filter(|(k, _)| k % 10 != 5).map(|(_, block)| block);
    assert_eq!(undone(&paired), hashes(expected));
    assert_eq!(paired.leftovers, 21 + 6);
}

/// The undo file of another node, put back from the wrong copy: nothing fits, and that is found out soon.
#[test]
fn undo_of_other_blocks_serves_nobody() {
    let real = testnet3();
    let dir = Dir::new(real.network);
    dir.blk(0, &blocks(&real.blocks));
    let foreign: Vec<_> =
        real.undos.iter().map(|undo| [&undo[..undo.len() - 1], &[undo[undo.len() - 1] ^ 1]].concat()).collect();
    dir.rev(0, &undos(&foreign));
    let paired = dir.pair(0);
    assert_eq!((paired.records.len(), paired.leftovers), (0, 2016));
}

/// One flipped bit anywhere in a record costs that record alone.
#[test]
fn damage_in_mid_file_costs_one_record() {
    let real = regtest();
    let dir = Dir::regtest();
    dir.blk(0, &blocks(&real.blocks));
    let raw = dir.rev(0, &[undos(&real.undos), vec![Piece::Zeros(1 << 20)]].concat());
    let start: usize = real.undos[..120].iter().map(|undo| undo.len() + 8).sum();
    let expected: Vec<_> = hashes(real.blocks[1..].iter().filter(|block| hash(block) != hash(&real.blocks[121])));
    for byte in 0..real.undos[120].len() + 8 {
        for bit in [0, 3, 7] {
            let mut damaged = raw.clone();
            damaged[start + byte] ^= 1 << bit;
            fs::write(dir.path("rev", 0), damaged).unwrap();
            let paired = dir.pair(0);
            assert!(undone(&paired) == expected, "bit {bit} of byte {byte}");
            assert!(paired.leftovers <= 1, "bit {bit} of byte {byte}: {}", paired.leftovers);
            // Where the order is lost the coinbase-only blocks that are left are hashed once more.
            assert_hashes(&paired, 200);
        }
    }
}

/// A reindex overwrites undo from the start of the file: what was there before goes on behind the new end, in mid-record.
#[test]
fn what_a_reindex_left_behind_is_read_too_and_does_no_harm() {
    let real = regtest();
    let dir = Dir::regtest();
    dir.blk(0, &blocks(&real.blocks));
    let old = dir.rev(0, &undos(real.undos.iter().rev()));
    let new = dir.rev(0, &undos(&real.undos[..150]));
    let mut file = new.clone();
    file.extend(&old[new.len()..]);
    fs::write(dir.path("rev", 0), &file).unwrap();
    let paired = dir.pair(0);
    assert_eq!(undone(&paired), hashes(&real.blocks[1..=150]));
    assert!(paired.leftovers > 40);
    let (short, long) = (new.len() - 20, new.len() + 5000);
    let mut file = new[..short].to_vec();
    file.extend(&old[short..long.min(old.len())]);
    fs::write(dir.path("rev", 0), &file).unwrap();
    assert_eq!(undone(&dir.pair(0)), hashes(&real.blocks[1..150]));
}

#[test]
fn a_cut_undo_file_ends_with_its_last_whole_record() {
    let real = regtest();
    let dir = Dir::regtest();
    dir.blk(0, &blocks(&real.blocks[..10]));
    let raw = dir.rev(0, &undos(&real.undos[..9]));
    let ends: Vec<_> = real.undos[..9]
        .iter()
        .scan(0, |end, undo| {
            Some({
                *end += 8 + undo.len();
                *end
            })
        })
        .collect();
    for len in ends[6]..=raw.len() {
        fs::write(dir.path("rev", 0), &raw[..len]).unwrap();
        let whole = ends.iter().filter(|end| **end <= len).count();
        let paired = dir.pair(0);
        assert_eq!(undone(&paired), hashes(&real.blocks[1..=whole]), "cut at {len}");
        assert_eq!(paired.leftovers, 0);
    }
}

/// Core preallocates undo files as well: the record's place is there before its checksum is.
#[test]
fn undo_that_is_being_written_is_no_leftover() {
    let real = regtest();
    let dir = Dir::regtest();
    dir.blk(0, &blocks(&real.blocks[..10]));
    let raw = dir.rev(0, &[undos(&real.undos[..9]), vec![Piece::Zeros(1000)]].concat());
    let end = raw.len() - 1000;
    for missing in 32..real.undos[8].len() + 8 {
        let mut file = raw.clone();
        file[end - missing..].fill(0);
        fs::write(dir.path("rev", 0), file).unwrap();
        let paired = dir.pair(0);
        assert_eq!((undone(&paired), paired.leftovers), (hashes(&real.blocks[1..9]), 0), "{missing} bytes missing");
    }
}

/// A reorg appends to the undo file of the block file that the block once arrived in.
#[test]
fn an_old_undo_file_grows() {
    let real = regtest();
    let dir = Dir::regtest();
    dir.blk(0, &blocks(&real.blocks));
    dir.rev(0, &undos(&real.undos[..100]));
    let files = dir.open();
    let blk = files.walk(0, None).unwrap();
    let before = files.pair(&blk).unwrap();
    dir.rev(0, &undos(&real.undos));
    assert_ne!(files.list().unwrap()[0].rev, before.rev);
    let after = files.pair(&blk).unwrap();
    assert_eq!(after.blk, before.blk);
    assert_eq!(undone(&after), hashes(&real.blocks[1..]));
}

/// While following, what is known of an undo file is taken over: the same comes out as from the whole file, and only
/// what is new is read and hashed.
#[test]
fn a_grown_undo_file_is_paired_on_behind_the_last_known_record() {
    let real = testnet3();
    let dir = Dir::new(real.network);
    let files = dir.open();
    let mut known = UndoFile::default();
    for count in (100..=2016).step_by(100) {
        dir.blk(0, &[blocks(&real.blocks[..=count]), vec![Piece::Zeros(5000)]].concat());
        dir.rev(0, &[undos(&real.undos[..count]), vec![Piece::Zeros(5000)]].concat());
        let blk = files.walk(0, None).unwrap();
        let paired = files.pair_on(&blk, &known).unwrap();
        let whole = files.pair(&blk).unwrap();
        assert!(paired.records == whole.records);
        assert_eq!((paired.blk, paired.rev, paired.leftovers), (whole.blk, whole.rev, 0));
        assert!(paired.hashes <= 101, "{} hashes for 100 records", paired.hashes);
        known = paired;
        known.records.sort_unstable_by_key(|record| record.block);
    }
}

/// What is known of an undo file that is another by now, or of blocks that have new siblings, is not taken over.
#[test]
fn an_undo_file_that_was_written_anew_is_paired_anew() {
    let real = regtest();
    let dir = Dir::regtest();
    dir.blk(0, &blocks(&real.blocks));
    dir.rev(0, &undos(&real.undos[..100]));
    let files = dir.open();
    let known = files.pair(&files.walk(0, None).unwrap()).unwrap();
    let twin = mine(deserialize::<bitcoin::block::Header>(&real.blocks[80][..80]).unwrap().prev_blockhash, 9, &[]);
    let others = real.blocks.iter().filter(|block| hash(block) != hash(&real.blocks[50]));
    let changes = [
        (blocks(&real.blocks), undos(real.undos[..150].iter().rev())),
        (blocks(&real.blocks), undos(&real.undos[..60])),
        (blocks(&real.blocks), Vec::new()),
        (blocks(others), undos(&real.undos)),
        (blocks(real.blocks.iter().chain([&twin])), undos(&real.undos)),
    ];
    for (blk, rev) in changes {
        dir.blk(0, &blk);
        dir.rev(0, &rev);
        let blk = files.walk(0, None).unwrap();
        assert!(files.pair_on(&blk, &known).unwrap() == files.pair(&blk).unwrap());
    }
}

/// `getblockfrompeer` on a pruned node stores an old block again, in a new file and without undo.
#[test]
fn a_block_that_was_fetched_again_has_no_undo() {
    let real = regtest();
    let dir = Dir::regtest();
    dir.blk(7, &blocks(real.blocks[100..].iter().chain([&real.blocks[50]])));
    dir.rev(7, &undos(&real.undos[99..]));
    let paired = dir.pair(7);
    assert_eq!(undone(&paired), hashes(&real.blocks[100..]));
    assert_eq!(paired.leftovers, 0);
}

/// The same block at two positions: its undo is told once.
#[test]
fn a_block_stored_twice_has_its_undo_once() {
    let real = regtest();
    let dir = Dir::regtest();
    dir.blk(0, &blocks(real.blocks[..50].iter().chain(&real.blocks[40..60])));
    dir.rev(0, &undos(&real.undos[..59]));
    assert_eq!(undone(&dir.pair(0)), hashes(&real.blocks[1..60]));
}

/// Mainnet blocks of ten eras, where they are to be had: one with 20,817 inputs, one whose coins have no heights.
#[test]
fn mainnet_eras_are_paired_in_height_order() {
    let archive = "../../shared/data/mainnet-eras.tar.zst";
    let Some(expected) = unpack(archive, "expected.json") else {
        println!("skipped: no {archive}");
        return;
    };
    let dir = Dir::new(bitcoin::Network::Bitcoin);
    for name in ["blk00000.dat", "rev00000.dat", "blk00001.dat", "rev00001.dat", "xor.dat"] {
        fs::write(dir.blocks().join(name), unpack(archive, name).unwrap()).unwrap();
    }
    let expected: Vec<serde_json::Value> = serde_json::from_slice(&expected).unwrap();
    let files = dir.open();
    let blk = files.walk(1, None).unwrap();
    let paired = files.pair(&blk).unwrap();
    let order: Vec<_> = expected.iter().map(|block| block["hash"].as_str().unwrap().parse().unwrap()).collect();
    assert_eq!((undone(&paired), paired.leftovers), (order, 0));
    assert_hashes(&paired, 100);
    for block in &expected {
        let hash = block["hash"].as_str().unwrap();
        let record = blk.records.iter().find(|record| record.hash.to_string() == hash).unwrap();
        let height = record.stated_height.map_or(0, |height| height.0);
        let told = [record.size, record.tx_count, height].map(u64::from);
        assert_eq!(told, ["size", "n_tx", "height"].map(|field| block[field].as_u64().unwrap()), "{hash}");
    }
    let early = files.pair(&files.walk(0, None).unwrap()).unwrap();
    assert_eq!((early.records.len(), early.leftovers), (599, 0));
    assert_hashes(&early, 100);
}
