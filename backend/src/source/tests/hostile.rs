//! Files made to mislead: sizes nobody should believe, rows of magics, and any mutation at all.

use std::fs;
use std::time::{Duration, Instant};

use bitcoin::Network;
use bitcoin::consensus::deserialize;
use proptest::prelude::*;

use super::support::*;
use crate::source::{BlockFile, BlockSource, Found, Position, SourceError, UndoRecord};

/// Sizes below a block's, above the limit, behind the file's end: none is a record, and the next one is found.
#[test]
fn no_size_is_believed_that_no_block_can_have() {
    let real = &regtest().blocks;
    let dir = Dir::regtest();
    for size in [0, 1, 80, 4_000_001, 0x7fff_ffff, 0x8000_0000, u32::MAX, u32::MAX - 8] {
        let hostile = framed(Network::Regtest, size, &real[3][..80]);
        dir.blk(0, &[blocks(&real[..2]), vec![Piece::Bytes(hostile)], blocks(&real[5..7])].concat());
        let expected: Vec<_> = hashes(&real[..2]).into_iter().chain(hashes(&real[5..7])).collect();
        assert_eq!(found(&dir.walk(0)), expected, "size {size}");
    }
}

/// Transaction counts that are none, not canonical, or more than the block has bytes for.
#[test]
fn no_transaction_count_is_believed_that_the_size_cannot_hold() {
    let real = &regtest().blocks;
    let dir = Dir::regtest();
    for count in [&[0][..], &[0xfd, 1, 0], &[0xfe, 0xff, 0xff, 0xff, 0xff], &[0xff; 9], &[200], &[0xfd, 0xff, 0xff]] {
        let body = [&real[3][..80], count, &[0; 100]].concat();
        let hostile = framed(Network::Regtest, u32::try_from(body.len()).unwrap(), &body);
        dir.blk(0, &[blocks(&real[..2]), vec![Piece::Bytes(hostile)], blocks(&real[5..7])].concat());
        let expected: Vec<_> = hashes(&real[..2]).into_iter().chain(hashes(&real[5..7])).collect();
        assert_eq!(found(&dir.walk(0)), expected, "count {count:02x?}");
    }
}

/// A header is a record's only where its work meets its own target and that is one the network allows.
#[test]
fn a_header_without_work_is_no_record() {
    let (real, other) = (&testnet3().blocks, &regtest().blocks);
    let dir = Dir::new(Network::Testnet);
    let mut weak = real[1].clone();
    weak[76] ^= 1;
    let mut negative = real[1].clone();
    negative[72..76].copy_from_slice(&0x2080_0001_u32.to_le_bytes());
    let mut overflowing = real[1].clone();
    overflowing[72..76].copy_from_slice(&0xff7f_ffff_u32.to_le_bytes());
    // On regtest half of all headers meet their target: here it is above the limit.
    dir.blk(0, &blocks([&real[0], &weak, &negative, &overflowing, &other[1], &real[2]]));
    assert_eq!(found(&dir.walk(0)), hashes([&real[0], &real[2]]));
}

#[test]
fn blocks_of_another_network_are_none() {
    let dir = Dir::new(Network::Testnet4);
    let foreign = framed(Network::Testnet, u32::try_from(testnet3().blocks[1].len()).unwrap(), &testnet3().blocks[1]);
    dir.blk(0, &[Piece::Bytes(foreign.repeat(5))]);
    assert_eq!(dir.walk(0).records, []);
}

/// A megabyte of magics, of framings with legal sizes, and of whole heads of real records: seconds at the very most.
#[test]
fn rows_of_magics_do_not_cost_more_than_a_reading() {
    let dir = Dir::regtest();
    let magic = Network::Regtest.magic().to_bytes();
    let head = framed(Network::Regtest, 3_000_000, &[&regtest().blocks[1][..80], &[1]].concat());
    for row in [magic.to_vec(), framed(Network::Regtest, 200, &[]), framed(Network::Regtest, 0, &[]), head] {
        let bytes = row.repeat((1 << 20) / row.len());
        dir.blk(0, &[Piece::Bytes(bytes.clone()), Piece::Zeros(1 << 20)]);
        dir.rev(0, &[Piece::Bytes(bytes), Piece::Zeros(1 << 20)]);
        let start = Instant::now();
        dir.pair(0);
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    }
}

/// Heads of real blocks, one behind the other, that each claim two megabytes, or so little that their bodies are looked
/// into: where each leads to, into filler or zeros, does not make the search start over.
#[test]
fn hops_that_lead_nowhere_cost_what_they_read() {
    let dir = Dir::new(Network::Testnet);
    for size in [2_000_000, 60_000] {
        let fake = |block: &Vec<u8>| framed(Network::Testnet, size, &[&block[..80], &[1]].concat());
        let fakes: Vec<u8> = testnet3().blocks[..2000].iter().flat_map(fake).collect();
        // The last one is damaged, or is being written.
        for (filler, told) in [(Piece::Bytes(vec![7; 2_900_000]), 2000), (Piece::Zeros(2_900_000), 1999)] {
            let len = dir.blk(0, &[Piece::Bytes(fakes.clone()), filler]).len() as u64;
            let files = dir.open();
            assert!(found(&files.walk(0, None).unwrap()) == hashes(&testnet3().blocks[..told]));
            assert!(files.bulk_bytes() < 3 * len, "{} of {len} bytes read", files.bulk_bytes());
        }
    }
}

/// Small blocks behind garbage are read in windows like any others.
#[test]
fn hops_that_lead_on_take_few_reads() {
    let dir = Dir::new(Network::Testnet);
    let len = dir.blk(0, &[vec![Piece::Bytes(vec![1; 50])], blocks(&testnet3().blocks)].concat()).len() as u64;
    let files = dir.open();
    assert_eq!(files.walk(0, None).unwrap().records.len(), testnet3().blocks.len());
    assert!(files.bulk_reads() <= 40 && files.bulk_bytes() < 2 * len, "{} reads", files.bulk_reads());
}

/// The same block thousands of times: the first few are kept, and a file that grows behind the others goes on there.
#[test]
fn a_few_copies_of_a_block_are_kept() {
    let real = &regtest().blocks;
    let dir = Dir::regtest();
    let framed = framed(Network::Regtest, u32::try_from(real[3].len()).unwrap(), &real[3]);
    let copies = Piece::Bytes(framed.repeat(40_000));
    let mut pieces = [blocks(&real[..2]), vec![copies]].concat();
    let len = dir.blk(0, &pieces).len();
    let files = dir.open();
    let known = files.walk(0, None).unwrap();
    assert_eq!(found(&known), hashes(real[..2].iter().chain([&real[3]; 4])));
    assert!(files.bulk_bytes() < 2 * len as u64, "{} of {len} bytes read", files.bulk_bytes());
    assert_eq!(files.walk(0, Some(&known)).unwrap(), known);
    let last = framed.len() / 2;
    pieces.extend([Piece::Bytes(framed[..last].to_vec()), Piece::Zeros(5000)]);
    dir.blk(0, &pieces);
    let writing = files.walk(0, Some(&known)).unwrap();
    assert_eq!(writing.records, known.records);
    pieces.truncate(3);
    pieces.extend(blocks(&real[4..6]));
    dir.blk(0, &pieces);
    let grown = files.walk(0, Some(&known)).unwrap();
    assert_eq!(found(&grown), hashes(real[..2].iter().chain([&real[3]; 4]).chain(&real[4..6])));
    assert_eq!(grown, files.walk(0, None).unwrap());
}

/// Framings that lie in each other, each two megabytes that look like the next block's undo: given up after a while.
#[test]
fn undo_that_is_framed_over_and_over_is_given_up() {
    let dir = Dir::regtest();
    let first = mine(hash(&regtest().blocks[206]), 1, &[spend(1, 1)]);
    let second = mine(hash(&first), 2, &[spend(1, 2)]);
    dir.blk(0, &blocks([&first, &second]));
    let fakes = framed(Network::Regtest, 2_000_000, &[1; 11]).repeat(1200);
    let undo = undo(hash(&regtest().blocks[206]), &[1], 1, Some(9));
    dir.rev(0, &[undos([&undo]), vec![Piece::Bytes(fakes), Piece::Bytes(vec![7; 2_100_000])]].concat());
    let files = dir.open();
    let paired = files.pair(&files.walk(0, None).unwrap()).unwrap();
    assert_eq!(paired.records.len(), 1);
    assert!(files.bulk_bytes() < 1 << 30, "{} bytes read", files.bulk_bytes());
}

/// A remembered record may claim anything: the file's length is asked before memory is.
#[test]
fn a_remembered_size_allocates_nothing_that_the_file_does_not_have() {
    let dir = Dir::of(regtest());
    let files = dir.open();
    let record = files.walk(0, None).unwrap().records[5];
    let position = Position { file: 0, offset: u32::MAX };
    for hostile in [Position { file: 0, offset: record.position.offset }, position] {
        let block = crate::source::BlockRecord { size: u32::MAX, position: hostile, ..record };
        assert!(matches!(files.block(&block), Err(SourceError::Cut { .. })));
        let undo = UndoRecord { block: record.hash, position: hostile, size: u32::MAX - 40 };
        assert!(matches!(files.undo(&undo), Err(SourceError::Cut { .. })));
    }
    let undo = UndoRecord { block: record.hash, position: Position { file: 0, offset: 7 }, size: u32::MAX };
    assert!(matches!(files.undo(&undo), Err(SourceError::Replaced { .. })));
}

/// A file that is all hole does not keep anyone busy, however long it says it is.
#[test]
fn an_endless_hole_is_no_work() {
    let dir = Dir::regtest();
    dir.blk(0, &blocks(&regtest().blocks[..2]));
    fs::OpenOptions::new().write(true).open(dir.path("blk", 0)).unwrap().set_len(1 << 40).unwrap();
    let file = dir.walk(0);
    assert_eq!((found(&file), file.stamp.len), (hashes(&regtest().blocks[..2]), 1 << 40));
}

/// Every record of a walk is one: framed, within the file, with work that meets its target.
fn check_real(file: &BlockFile, known: usize, plain: &[u8]) {
    for record in &file.records[known..] {
        let at = record.position.offset as usize;
        assert_eq!(plain[at - 8..at], framed(Network::Regtest, record.size, &[]));
        let header: bitcoin::block::Header = deserialize(&plain[at..at + 80]).unwrap();
        assert!(header.validate_pow(header.target()).is_ok());
        assert_eq!((header, header.block_hash()), (record.header, record.hash));
        assert!(at + record.size as usize <= plain.len());
        assert!(record.tx_count > 0);
    }
    let order: Vec<_> = file.records.iter().map(|record| record.position).collect();
    assert!(order.is_sorted_by(|a, b| a < b));
    assert!(file.records.is_sorted_by_key(|record| record.found == Found::Search));
}

/// What may happen to a stretch of a file.
#[derive(Debug, Clone)]
enum Mutation {
    Overwrite(usize, Vec<u8>),
    Insert(usize, Vec<u8>),
    Remove(usize, usize),
    Zero(usize, usize),
    Copy(usize, usize, usize),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let at = 0..20_000usize;
    let bytes = prop::collection::vec(any::<u8>(), 1..40);
    prop_oneof![
        (at.clone(), bytes.clone()).prop_map(|(at, bytes)| Mutation::Overwrite(at, bytes)),
        (at.clone(), bytes).prop_map(|(at, bytes)| Mutation::Insert(at, bytes)),
        (at.clone(), 1..2000usize).prop_map(|(at, count)| Mutation::Remove(at, count)),
        (at.clone(), 1..2000usize).prop_map(|(at, count)| Mutation::Zero(at, count)),
        (at.clone(), at, 1..2000usize).prop_map(|(from, to, count)| Mutation::Copy(from, to, count)),
    ]
}

fn mutate(file: &mut Vec<u8>, mutation: Mutation) {
    let end = |at: usize, count: usize, len: usize| (at + count).min(len);
    match mutation {
        Mutation::Overwrite(at, bytes) => {
            for (old, new) in file.iter_mut().skip(at).zip(bytes) {
                *old = new;
            }
        }
        Mutation::Insert(at, bytes) => drop(file.splice(at.min(file.len())..at.min(file.len()), bytes)),
        Mutation::Remove(at, count) => drop(file.drain(at.min(file.len())..end(at, count, file.len()))),
        Mutation::Zero(at, count) => file.iter_mut().skip(at).take(count).for_each(|byte| *byte = 0),
        Mutation::Copy(from, to, count) => {
            let piece = file[from.min(file.len())..end(from, count, file.len())].to_vec();
            drop(file.splice(to.min(file.len())..to.min(file.len()), piece));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever happened to a file, walking it neither panics nor tells of anything that is not there, from the start
    /// and on from what was known before; pairing gives undo with the right checksum to blocks of the file only.
    #[test]
    fn mutated_files_hold_what_is_told_of_them(
        blk in prop::collection::vec(mutation(), 1..6),
        rev in prop::collection::vec(mutation(), 1..4),
        key in prop_oneof![Just([0; 8]), any::<[u8; 8]>()],
    ) {
        let real = regtest();
        let dir = Dir::with_key(Network::Regtest, Some(key));
        let mut raw = dir.blk(0, &[blocks(&real.blocks[..70]), vec![Piece::Zeros(3000)]].concat());
        let mut raw_rev = dir.rev(0, &[undos(&real.undos[..69]), vec![Piece::Zeros(3000)]].concat());
        let files = dir.open();
        let known = files.walk(0, None).unwrap();
        let known_undo = files.pair(&known).unwrap();
        blk.into_iter().for_each(|mutation| mutate(&mut raw, mutation));
        rev.into_iter().for_each(|mutation| mutate(&mut raw_rev, mutation));
        fs::write(dir.path("blk", 0), &raw).unwrap();
        fs::write(dir.path("rev", 0), &raw_rev).unwrap();

        let plain = xor(key, 0, &raw);
        // While the last known record is there, those before it are not read again.
        let resumed = files.walk(0, Some(&known)).unwrap();
        let kept = if resumed.records.starts_with(&known.records) { known.records.len() } else { 0 };
        check_real(&resumed, kept, &plain);
        let file = files.walk(0, None).unwrap();
        check_real(&file, 0, &plain);
        prop_assert_eq!(&files.walk(0, Some(&file)).unwrap(), &file);
        files.pair_on(&file, &known_undo).unwrap();
        for record in files.pair(&file).unwrap().records {
            let block = file.records.iter().find(|block| block.hash == record.block).unwrap();
            let undo = files.undo(&record).unwrap();
            prop_assert_eq!(&checked(block.header.prev_blockhash, undo[..undo.len() - 32].to_vec()), &undo);
        }
    }
}
