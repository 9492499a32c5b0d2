//! Walking: what Core wrote, in every state a node can leave it in.

use std::fs;

use bitcoin::consensus::deserialize;
use bitcoin::{Block, Network, Witness};
use hindsight_shared::Height;

use super::support::*;
use crate::source::{BlockSource, Found};

/// Each block is where the bitcoin crate finds it, and a window of small records takes few reads.
#[track_caller]
fn check_fixture(fixture: &Fixture, most_reads: u64) {
    let dir = Dir::of(fixture);
    let files = dir.open();
    let file = files.walk(0, None).unwrap();
    assert_eq!(found(&file), hashes(&fixture.blocks));
    let mut end = 0;
    for (record, bytes) in file.records.iter().zip(&fixture.blocks) {
        let block: Block = deserialize(bytes).unwrap();
        assert_eq!(record.header, block.header);
        assert_eq!(record.tx_count as usize, block.txdata.len());
        assert_eq!(record.size as usize, bytes.len());
        assert_eq!((record.position.file, record.position.offset), (0, end + 8));
        assert_eq!(record.found, Found::Hop);
        end += 8 + record.size;
        assert_eq!(&files.block(record).unwrap(), bytes);
        assert_eq!(files.header(record).unwrap(), block.header);
    }
    assert_eq!(file.number, 0);
    assert_eq!(file.stamp.len, fixture.blk.len() as u64);
    assert!(files.bulk_reads() <= most_reads, "{} reads", files.bulk_reads());
}

/// 207 blocks in 60 KB: the first 97 bytes, one window, the last block to see that it is all there, and the zero tail.
#[test]
fn regtest_is_walked_as_core_wrote_it() {
    check_fixture(regtest(), 24);
}

/// 2,017 blocks in 1.6 MB: a read of 256 KiB for dozens of records each.
#[test]
fn testnet3_is_walked_as_core_wrote_it() {
    check_fixture(testnet3(), 32);
}

/// Coinbases of regtest and, from 21,111 on, of testnet3 start with their height (BIP34); below it they say nothing.
#[test]
fn heights_are_told_where_the_rules_make_them_certain() {
    for (fixture, least) in [(regtest(), 1), (testnet3(), 21_111)] {
        let told: Vec<_> = Dir::of(fixture).walk(0).records.iter().map(|record| record.stated_height).collect();
        let expected = (0..).take(fixture.blocks.len()).map(|height| (height >= least).then_some(Height(height)));
        assert_eq!(told, expected.collect::<Vec<_>>());
    }
}

#[test]
fn large_records_are_hopped_over_with_97_bytes_each() {
    let dir = Dir::regtest();
    let mut block = deserialize::<Block>(&regtest().blocks[1]).unwrap();
    let mut large = spend(1, 1);
    large.input[0].witness = Witness::from_slice(&[vec![7; 200_000]]);
    let mut mined = Vec::new();
    for tag in 1..=20 {
        mined.push(mine(block.block_hash(), tag, &[large.clone()]));
        block = deserialize(mined.last().unwrap()).unwrap();
    }
    dir.blk(0, &blocks(&mined));
    let files = dir.open();
    assert_eq!(found(&files.walk(0, None).unwrap()), hashes(&mined));
    assert_eq!(files.bulk_reads(), 20);
}

#[test]
fn the_key_may_be_there_or_zero_or_absent() {
    for key in [Some(KEY), Some([0xff; 8]), Some([0; 8]), None] {
        let dir = Dir::with_key(Network::Regtest, key);
        let mut pieces = blocks(&regtest().blocks);
        pieces.push(Piece::Zeros(1 << 20));
        dir.blk(0, &pieces);
        assert_eq!(found(&dir.walk(0)), hashes(&regtest().blocks), "{key:02x?}");
    }
}

/// Raw zeros de-obfuscate to the key: here to an endless row of magics with a legal size.
#[test]
fn a_zero_tail_that_reads_as_framing_is_no_record() {
    let key = [0xfa, 0xbf, 0xb5, 0xda, 200, 0, 0, 0];
    let dir = Dir::with_key(Network::Regtest, Some(key));
    let mut pieces = blocks(&regtest().blocks[..5]);
    pieces.push(Piece::Zeros(3 << 20));
    pieces.extend(blocks(&regtest().blocks[5..7]));
    pieces.push(Piece::Zeros(1 << 20));
    dir.blk(0, &pieces);
    assert_eq!(found(&dir.walk(0)), hashes(&regtest().blocks[..7]));
}

#[test]
fn blocks_come_in_the_order_they_arrived_in() {
    let order = shuffled(regtest().blocks.clone(), 1, 1024);
    let (early, late) = order.split_at(100);
    let dir = Dir::regtest();
    dir.blk(0, &blocks(early));
    dir.blk(1, &blocks(late));
    assert_eq!(found(&dir.walk(0)), hashes(early));
    assert_eq!(found(&dir.walk(1)), hashes(late));
    let parents = late.iter().map(|block| deserialize::<Block>(block).unwrap().header.prev_blockhash);
    assert!(parents.filter(|parent| hashes(early).contains(parent)).count() > 0);
}

#[test]
fn garbage_between_records_is_searched_over() {
    let dir = Dir::regtest();
    for garbage in [1, 7, 96, 97, 300_000, (1 << 20) - 4, (1 << 20) + 3] {
        let mut pieces = vec![Piece::Bytes(vec![0xfa; 5])];
        pieces.extend(blocks(&regtest().blocks[..3]));
        pieces.push(Piece::Bytes(shuffled((0..=250).cycle().take(garbage).collect(), 7, 1024)));
        pieces.extend(blocks(&regtest().blocks[3..6]));
        dir.blk(0, &pieces);
        let file = dir.walk(0);
        assert_eq!(found(&file), hashes(&regtest().blocks[..6]), "{garbage} bytes");
        assert!(file.records.iter().all(|record| record.found == Found::Search));
    }
}

#[test]
fn only_what_follows_garbage_is_searched_for() {
    let dir = Dir::regtest();
    let mut pieces = blocks(&regtest().blocks[..3]);
    pieces.push(Piece::Bytes(vec![1; 50]));
    pieces.extend(blocks(&regtest().blocks[3..6]));
    dir.blk(0, &pieces);
    let how: Vec<_> = dir.walk(0).records.iter().map(|record| record.found).collect();
    assert_eq!(how, [[Found::Hop; 3], [Found::Search; 3]].concat());
}

/// A power loss may leave a gap as long as a preallocated chunk; what lies further on is not looked for.
#[test]
fn a_gap_of_zeros_up_to_16_mib_is_searched_over() {
    let dir = Dir::regtest();
    for (gap, reached) in [(3, true), (4096, true), ((16 << 20) - 1, true), (18 << 20, false)] {
        let mut pieces = blocks(&regtest().blocks[..3]);
        pieces.push(Piece::Zeros(gap));
        pieces.extend(blocks(&regtest().blocks[3..6]));
        dir.blk(0, &pieces);
        let count = if reached { 6 } else { 3 };
        assert_eq!(found(&dir.walk(0)), hashes(&regtest().blocks[..count]), "{gap} zeros");
    }
}

/// One flipped bit in a size, up or down, costs no other record.
#[test]
fn a_damaged_size_hides_no_neighbour() {
    let dir = Dir::regtest();
    let real = &regtest().blocks;
    for size in [81, 100, 600, 5000, 3_999_999, u32::MAX] {
        let mut pieces = blocks(&real[..10]);
        pieces.push(Piece::Bytes(framed(Network::Regtest, size, &real[10])));
        pieces.extend(blocks(&real[11..100]));
        pieces.push(Piece::Zeros(5 << 20));
        dir.blk(0, &pieces);
        let found = found(&dir.walk(0));
        assert!(hashes(&real[..100]).iter().filter(|hash| !found.contains(hash)).count() <= 1, "size {size}");
        assert!(hashes(&real[11..100]).iter().all(|hash| found.contains(hash)), "size {size}");
    }
}

/// `magic | size | real header | count` in a witness: never seen by hopping, found where the framing around it is lost;
/// then the real position comes first by its kind, and both are kept.
#[test]
fn an_inscribed_record_is_only_found_where_the_framing_is_lost() {
    let victim = &regtest().blocks[5];
    let mut inscription = spend(1, 1);
    let fake = framed(Network::Regtest, 3_000_000, &[&victim[..80], &[200]].concat());
    inscription.input[0].witness = Witness::from_slice(&[fake]);
    let carrier = mine(hash(&regtest().blocks[206]), 1, &[inscription]);
    let after = &regtest().blocks[6..60];

    let dir = Dir::regtest();
    let intact = [blocks([victim, &carrier]), blocks(after), vec![Piece::Zeros(4 << 20)]].concat();
    dir.blk(0, &intact);
    let expected: Vec<_> = hashes([victim, &carrier]).into_iter().chain(hashes(after)).collect();
    assert_eq!(found(&dir.walk(0)), expected);

    let lost = Piece::Bytes([&[0; 8], &carrier[..]].concat());
    dir.blk(0, &[blocks([victim]), vec![lost], blocks(after), vec![Piece::Zeros(4 << 20)]].concat());
    let file = dir.walk(0);
    let positions = file.records.iter().filter(|record| record.hash == hash(victim));
    let positions: Vec<_> = positions.map(|record| (record.found, record.size as usize)).collect();
    assert_eq!(positions, [(Found::Hop, victim.len()), (Found::Search, 3_000_000)]);
    assert!(hashes(after).iter().all(|hash| found(&file).contains(hash)), "the fake's hop hides what it goes over");
}

#[test]
fn every_position_of_a_block_is_kept() {
    let real = &regtest().blocks;
    let dir = Dir::regtest();
    let again = [&real[..4], &real[2..6]].concat();
    dir.blk(0, &blocks(&again));
    assert_eq!(found(&dir.walk(0)), hashes(&again));
}

/// Core preallocates: the record's place is there before its bytes are.
#[test]
fn a_partly_written_record_is_told_when_it_is_all_there() {
    let real = &regtest().blocks;
    let dir = Dir::regtest();
    let last = framed(Network::Regtest, u32::try_from(real[3].len()).unwrap(), &real[3]);
    let files = dir.open();
    let mut known = None;
    for written in 0..=last.len() {
        let tail = Piece::Zeros(1000 + last.len() - written);
        dir.blk(0, &[blocks(&real[..3]), vec![Piece::Bytes(last[..written].to_vec()), tail]].concat());
        let file = files.walk(0, known.as_ref()).unwrap();
        // The block ends in a locktime of four zeros, which with this key are not zeros on disk.
        let whole = if written == last.len() { 4 } else { 3 };
        assert_eq!(found(&file), hashes(&real[..whole]), "{written} bytes");
        known = Some(file);
    }
}

#[test]
fn a_file_cut_at_any_byte_ends_with_its_last_whole_record() {
    let real = &regtest().blocks;
    let dir = Dir::regtest();
    let raw = dir.blk(0, &blocks(&real[..5]));
    let ends: Vec<_> = real[..5]
        .iter()
        .scan(0, |end, b| {
            Some({
                *end += 8 + b.len();
                *end
            })
        })
        .collect();
    let files = dir.open();
    for len in ends[2]..=raw.len() {
        fs::write(dir.path("blk", 0), &raw[..len]).unwrap();
        let file = files.walk(0, None).unwrap();
        let whole = ends.iter().filter(|end| **end <= len).count();
        assert_eq!(found(&file), hashes(&real[..whole]), "cut at {len}");
    }
}

#[test]
fn a_grown_file_is_walked_on_behind_the_last_known_record() {
    let real = &testnet3().blocks;
    let dir = Dir::new(Network::Testnet);
    dir.blk(0, &[blocks(&real[..2000]), vec![Piece::Zeros(1 << 20)]].concat());
    let files = dir.open();
    let known = files.walk(0, None).unwrap();
    dir.blk(0, &[blocks(&real[..2010]), vec![Piece::Zeros(1 << 20)]].concat());
    let before = files.bulk_reads();
    let file = files.walk(0, Some(&known)).unwrap();
    assert!(files.bulk_reads() - before <= 8, "{} reads", files.bulk_reads() - before);
    assert_eq!(file, files.walk(0, None).unwrap());
    assert_eq!(found(&file), hashes(&real[..2010]));
    assert_eq!(file, files.walk(0, Some(&file)).unwrap());
}

/// After a crash Core writes on at the last flushed size: other blocks at remembered positions.
#[test]
fn a_file_that_was_cut_and_grew_differently_is_walked_again() {
    let real = &regtest().blocks;
    let dir = Dir::regtest();
    dir.blk(0, &blocks(&real[..50]));
    let files = dir.open();
    let known = files.walk(0, None).unwrap();
    for rewritten in [&real[..30], &real[100..150], &[&real[..49], &real[60..90]].concat(), &real[..0]] {
        dir.blk(0, &blocks(rewritten));
        assert_eq!(found(&files.walk(0, Some(&known)).unwrap()), hashes(rewritten));
    }
}

/// A body with a magic in it may be damaged elsewhere: its size is right, and what it leads to keeps its rank.
#[test]
fn a_damaged_body_with_a_magic_in_it_hides_nothing() {
    let dir = Dir::regtest();
    let mut real = regtest().blocks[..9].to_vec();
    real[3][100..104].copy_from_slice(&Network::Regtest.magic().to_bytes());
    // The count of inputs, behind version, marker and flag.
    real[3][87] = 0x33;
    dir.blk(0, &blocks(&real));
    let file = dir.walk(0);
    assert_eq!(found(&file), hashes(&real));
    assert!(file.records.iter().all(|record| record.found == Found::Hop));
}
