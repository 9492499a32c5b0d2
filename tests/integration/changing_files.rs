//! Files that change while they are served: appended, cut, replaced, pruned, damaged.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use bitcoin::consensus::serialize;
use bitcoin::{BlockHash, Network};
use hindsight::source::{CoreFiles, Datadir, DatadirOptions};
use hindsight_shared::payload::{Absence, Payload, Prevouts};
use hindsight_tests::core_files::{Directory, Piece, Record, Records, age, flip, hash_of, key_of, path, xor};
use hindsight_tests::fixtures;
use hindsight_tests::judge::{Expected, compare};
use hindsight_tests::kernel_chain::KernelChain;
use hindsight_tests::rng::Rng;
use hindsight_tests::scenes::{Scene, with_spends};
use hindsight_tests::test_server::{Setup, TestServer};
use hindsight_tests::wait::{until, until_true};

/// The kernel's chain in a directory of our own, in one pair of files without a preallocated tail.
fn copied(spends: u32) -> (KernelChain, Scene, Directory, Vec<Vec<u8>>, Records) {
    let (kernel, scene) = with_spends(spends).unwrap();
    let records = Records::read(&kernel.blocks_dir(), Network::Regtest);
    let blocks = records.payloads();
    let directory = Directory::new(Network::Regtest);
    directory.write_pair(0, &blocks, &records);
    (kernel, scene, directory, blocks, records)
}

#[track_caller]
fn all_agree(server: &TestServer, kernel: &KernelChain) {
    let (tip, hash) = kernel.tip().unwrap();
    server.wait_for_tip(hash);
    for height in 0..=tip {
        compare(server, &Expected::of_kernel(kernel, kernel.hash_at(height).unwrap()));
    }
}

/// Blocks arrive in any order and in several files; a block counts when its parents are there and its undo is.
#[test]
fn appended_piece_by_piece() {
    let (kernel, _, _, blocks, records) = copied(15);
    let directory = Directory::new(Network::Regtest);
    directory.write_pair(0, &blocks[..40], &records);
    let server = TestServer::start(directory.datadir());
    assert_eq!(server.tip().unwrap().hash, hash_of(&blocks[39]));
    // Child before parent, and no undo yet: nothing is connected.
    let swapped: Vec<Piece> = [41, 40, 42].map(|index: usize| Piece::Block(blocks[index].clone())).into();
    directory.append("blk", 0, &swapped);
    until_true("the child is known", || server.get(&format!("/api/v1/block/{}", hash_of(&blocks[42]))).status == 200);
    assert_eq!(server.tip().unwrap().hash, hash_of(&blocks[39]));
    let undo = |index: usize| Piece::Undo(records.undo(&blocks[index]).unwrap().payload.clone());
    directory.append("rev", 0, &[undo(40), undo(41)]);
    server.wait_for_tip(hash_of(&blocks[41]));
    directory.append("rev", 0, &[undo(42)]);
    server.wait_for_tip(hash_of(&blocks[42]));
    directory.write_pair(1, &blocks[43..], &records);
    all_agree(&server, &kernel);
}

/// Writes a real node's records two at a time, each with one call, at moments that have nothing to do with the reader.
fn write_in_pairs(directory: &Directory, raw: [&[u8]; 2], records: &Records, found: &AtomicUsize, random: &mut Rng) {
    let [blk, rev] = ["blk", "rev"].map(|kind| File::options().write(true).open(directory.path(kind, 0)).unwrap());
    let write = |file: &File, raw: &[u8], record: &Record| {
        let start = record.offset - 8;
        file.write_all_at(&raw[start..record.offset + record.payload.len()], start as u64).unwrap();
    };
    for (at, two) in records.blocks.chunks(2).enumerate() {
        two.iter().for_each(|block| write(&blk, raw[0], block));
        // Genesis has no undo.
        let undos = (2 * at).saturating_sub(1)..(2 * at + two.len()).saturating_sub(1);
        records.undos[undos].iter().for_each(|undo| write(&rev, raw[1], undo));
        while found.load(Ordering::Acquire) < 2 * at + two.len() {
            thread::yield_now();
        }
        thread::sleep(Duration::from_micros(random.number() % 500));
    }
}

/// Reading may meet a file at any moment, also while it is written: what it finds has no hole, since the next look goes on
/// behind it.
#[test]
fn walked_and_paired_while_the_node_writes() {
    let fixture = fixtures::regtest();
    let records = Records::read(&fixture.blocks_dir(), Network::Regtest);
    let raw = ["blk", "rev"].map(|kind| fs::read(path(&fixture.blocks_dir(), kind, 0)).unwrap());
    let order: Vec<BlockHash> = records.blocks.iter().map(|record| hash_of(&record.payload)).collect();
    let mut random = Rng::printed("moments of writing");
    let mut looks = 0;
    for _ in 0..4 {
        let mut directory = Directory::new(Network::Regtest);
        directory.set_key(key_of(&fixture.blocks_dir()));
        for kind in ["blk", "rev"] {
            File::create(directory.path(kind, 0)).unwrap().set_len(PREALLOCATED).unwrap();
        }
        let found = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope
                .spawn(|| write_in_pairs(&directory, raw.each_ref().map(Vec::as_slice), &records, &found, &mut random));
            looks += look_until_all_is_found(&directory, &order, &found);
        });
    }
    println!("{looks} looks at files that grew");
}

/// More than all of the fixture's records.
const PREALLOCATED: u64 = 256 << 10;

/// Regtest, also where nothing says so yet.
fn core_files(datadir: &Path) -> CoreFiles {
    let (datadir, network) = (datadir.to_owned(), Some(Network::Regtest));
    let options = DatadirOptions { datadir, network, ..DatadirOptions::default() };
    CoreFiles::open(Datadir::open(&options).unwrap()).unwrap()
}

fn look_until_all_is_found(directory: &Directory, order: &[BlockHash], found: &AtomicUsize) -> usize {
    let files = core_files(directory.datadir());
    let mut known = None;
    for looks in 1.. {
        let blocks = files.walk(0, known.as_ref().map(|(blocks, _)| blocks)).unwrap();
        let undo = match &known {
            Some((_, undo)) => files.pair_on(&blocks, undo),
            None => files.pair(&blocks),
        };
        let undo = undo.unwrap();
        let blocks_found: Vec<BlockHash> = blocks.records.iter().map(|record| record.hash).collect();
        let undo_found: Vec<BlockHash> = undo.records.iter().map(|record| record.block).collect();
        let no_hole = order.starts_with(&blocks_found) && order[1..].starts_with(&undo_found);
        let both = blocks_found.len().min(undo_found.len() + 1);
        // The writer does not wait for what will not be found.
        found.store(if no_hole { both } else { order.len() }, Ordering::Release);
        assert!(no_hole, "{} blocks and {} undo records, with holes", blocks_found.len(), undo_found.len());
        if both == order.len() {
            return looks;
        }
        known = Some((blocks, undo));
    }
    unreachable!("the range has no end")
}

/// Undo that is completed, and followed by more than one reading holds, while what was there of it is hashed: found all the
/// same.
#[test]
fn paired_while_the_node_completes_a_record() {
    let fixture = fixtures::showcase();
    let records = Records::read(&fixture.blocks_dir(), Network::Regtest);
    let path = path(&fixture.blocks_dir(), "rev", 0);
    let (whole, file) = (fs::read(&path).unwrap(), File::options().write(true).open(&path).unwrap());
    // Those of the six full blocks, each some hundred kilobytes.
    let last = &records.undos[records.undos.len() - 6..];
    let (start, half) = (last[0].offset - 8, last[0].offset + last[0].payload.len() / 2);
    let files = core_files(&fixture.datadir());
    let blocks = files.walk(0, None).unwrap();
    for pause in (0..40).map(|step| Duration::from_micros(100 * step)) {
        file.write_all_at(&vec![0; whole.len() - start], start as u64).unwrap();
        let mut known = files.pair(&blocks).unwrap();
        assert_eq!(known.records.len(), records.undos.len() - last.len());
        file.write_all_at(&whole[start..half], start as u64).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(pause);
                file.write_all_at(&whole[half..], half as u64).unwrap();
            });
            while known.records.len() < records.undos.len() {
                known = files.pair_on(&blocks, &known).unwrap();
                let mut found: Vec<u32> = known.records.iter().map(|record| record.position.offset).collect();
                found.sort_unstable();
                let there = records.undos.iter().map(|record| record.offset as u32);
                assert!(
                    found.iter().copied().eq(there.take(found.len())),
                    "{} records with a hole, {} left over",
                    found.len(),
                    known.leftovers
                );
            }
        });
    }
}

/// The node has started over: another key, and the same numbers of files with other bytes.
#[test]
fn another_key() {
    let (kernel, _, mut directory, blocks, records) = copied(10);
    let index = tempfile::tempdir().unwrap();
    let server = Setup::new(directory.datadir()).index_dir(index.path()).start().unwrap();
    all_agree(&server, &kernel);
    for key in [[9; 8], [0; 8], [1, 2, 3, 4, 5, 6, 7, 8]] {
        directory.set_key(key);
        directory.write_pair(0, &blocks[..100], &records);
        server.wait_for_tip(hash_of(&blocks[99]));
        directory.write_pair(0, &blocks, &records);
        all_agree(&server, &kernel);
    }
    drop(server);
    let server = Setup::new(directory.datadir()).index_dir(index.path()).start().unwrap();
    all_agree(&server, &kernel);
}

/// After a crash Core writes on from where it last flushed: what was there is another block now.
#[test]
fn cut_and_grown_differently() {
    let (_, mut scene, directory, blocks, records) = copied(10);
    let server = TestServer::start(directory.datadir());
    assert_eq!(server.tip().unwrap().hash, hash_of(&blocks[120]));
    let other = scene.builder.mine_empty(hash_of(&blocks[110]), 12);
    let kernel = KernelChain::new().unwrap();
    kernel.extend(&scene.blocks[..110]).unwrap();
    kernel.extend(&other).unwrap();
    let new: Vec<Vec<u8>> = blocks[..=110].iter().cloned().chain(other.iter().map(serialize)).collect();
    let undos = Records::read(&kernel.blocks_dir(), Network::Regtest);
    // First only cut, then grown.
    directory.write_pair(0, &blocks[..=110], &records);
    server.wait_for_tip(hash_of(&blocks[110]));
    directory.write_pair(0, &new, &undos);
    all_agree(&server, &kernel);
    let gone = server.get(&format!("/api/v1/block/{}/payload", hash_of(&blocks[120])));
    assert_eq!(gone.status, 410, "{}", gone.text());
}

#[test]
fn undo_damaged_in_mid_chain() {
    let (kernel, _, directory, blocks, records) = copied(12);
    let damaged = 115;
    let bytes = fs::read(directory.path("rev", 0)).unwrap();
    let framed = &records.undo(&blocks[damaged]).unwrap().payload;
    let key = hindsight_tests::core_files::KEY;
    let at = (0..bytes.len()).find(|&at| xor(key, at, &bytes[at..]).starts_with(framed)).unwrap();
    flip(&directory.path("rev", 0), at + 5, 0x10);
    let server = TestServer::start(directory.datadir());
    assert_eq!(server.tip().unwrap().hash, kernel.tip().unwrap().1, "the chain goes on");
    let hash = hash_of(&blocks[damaged]);
    let absence = || {
        let wire = server.payload(hash);
        let payload = Payload::decode(&wire).unwrap();
        assert_eq!((payload.prevouts, payload.block), (Prevouts::Absent, blocks[damaged].as_slice()));
        payload.absence
    };
    // So fresh a file may not be whole yet.
    assert_eq!(absence(), Some(Absence::NotReadYet));
    age(&directory.blocks_dir());
    until_true("it counts as damaged", || absence() == Some(Absence::Damaged));
    let response = server.get(&format!("/api/v1/block/{hash}/payload"));
    assert_eq!(response.header("cache-control"), Some("no-cache"));
    let spent = server.get(&format!("/rest/spenttxouts/{hash}.bin"));
    assert_eq!((spent.status, spent.text()), (404, format!("{hash} undo not available\r\n")));
    for height in (0..120).filter(|height| *height != damaged as u32) {
        compare(&server, &Expected::of_kernel(&kernel, kernel.hash_at(height).unwrap()));
    }
    assert!(server.facts(hash).best_chain);
}

#[test]
fn a_damaged_block_names_its_place() {
    let (kernel, _, directory, blocks, records) = copied(5);
    let offset: usize = blocks[..108].iter().map(|block| block.len() + 8).sum::<usize>() + 8;
    let hash = hash_of(&blocks[108]);
    flip(&directory.path("blk", 0), offset + 100, 0x01);
    age(&directory.blocks_dir());
    let server = TestServer::start(directory.datadir());
    let response = server.get(&format!("/api/v1/block/{hash}/payload"));
    assert_eq!(response.status, 500, "{}", response.text());
    let text = response.text();
    assert!(text.contains(&format!("blk00000.dat at offset {offset}")), "{text}");
    assert_eq!(response.header("cache-control"), Some("no-store"));
    let rest = server.get(&format!("/rest/block/{hash}.bin"));
    assert_eq!((rest.status, rest.text()), (500, format!("I/O error reading {hash}\r\n")));
    assert_eq!(server.get("/healthz").status, 200);
    assert_eq!(server.tip().unwrap().hash, kernel.tip().unwrap().1);
    // Mended, it is served.
    directory.write_pair(0, &blocks, &records);
    until_true("it is whole", || server.get(&format!("/api/v1/block/{hash}/payload")).status == 200);
    all_agree(&server, &kernel);
}

/// Framing, header and a few transactions' bytes: what a write that has come half way leaves.
fn half(block: &[u8]) -> Piece {
    let size = block.len() as u32;
    Piece::Bytes([&Network::Regtest.magic().to_bytes()[..], &size.to_le_bytes(), &block[..150]].concat())
}

/// In a preallocated file the rest is zeros, and the block does not count as there before it is whole.
#[test]
fn the_last_block_is_only_partly_written() {
    let (kernel, _, directory, blocks, records) = copied(6);
    let (last, before) = (blocks.len() - 1, blocks.len() - 2);
    directory.write_pair(0, &blocks[..last], &records);
    let server = TestServer::start(directory.datadir());
    server.wait_for_tip(hash_of(&blocks[before]));
    directory.append("blk", 0, &[half(&blocks[last]), Piece::Zeros(4096)]);
    let later = TestServer::start(directory.datadir());
    let path = format!("/api/v1/block/{}/payload", hash_of(&blocks[last]));
    for server in [&server, &later] {
        assert_eq!(server.get(&path).status, 404);
        assert_eq!(server.tip().unwrap().hash, hash_of(&blocks[before]));
    }
    directory.write_pair(0, &blocks, &records);
    all_agree(&server, &kernel);
    all_agree(&later, &kernel);
}

/// Where the file ends with the block nothing shows that it is not whole but its bytes: the answer is to ask again.
#[test]
fn the_last_block_fills_the_file_and_is_not_whole() {
    let (kernel, _, directory, blocks, records) = copied(6);
    let (last, before) = (blocks.len() - 1, blocks.len() - 2);
    directory.write_pair(0, &blocks[..last], &records);
    let server = TestServer::start(directory.datadir());
    directory.append("blk", 0, &[half(&blocks[last]), Piece::Zeros(blocks[last].len() - 150)]);
    let path = format!("/api/v1/block/{}/payload", hash_of(&blocks[last]));
    let response = until("the block is known", || Some(server.get(&path)).filter(|response| response.status != 404));
    assert_eq!(response.status, 503, "{}", response.text());
    assert_eq!(response.header("retry-after"), Some("1"));
    assert_eq!(response.header("cache-control"), Some("no-store"));
    assert_eq!(server.tip().unwrap().hash, hash_of(&blocks[before]));
    directory.write_pair(0, &blocks, &records);
    // What could not be had a moment ago may be told so for a moment more.
    until_true("the block and its undo are whole", || {
        let response = server.get(&path);
        response.status == 200 && Payload::decode(&response.body).unwrap().absence.is_none()
    });
    all_agree(&server, &kernel);
}

#[test]
fn the_directory_goes_away_and_comes_back() {
    let (kernel, _, directory, _, _) = copied(3);
    let server = TestServer::start(directory.datadir());
    all_agree(&server, &kernel);
    let aside = directory.datadir().join("aside");
    fs::rename(directory.blocks_dir(), &aside).unwrap();
    until_true("the server notices", || server.get("/healthz").status == 503);
    let warnings = server.status().warnings;
    assert!(warnings.iter().any(|warning| warning.contains("does not exist")), "{warnings:?}");
    fs::rename(&aside, directory.blocks_dir()).unwrap();
    until_true("the server notices", || server.get("/healthz").status == 200);
    all_agree(&server, &kernel);
}

/// Zeros, garbage and another network's records between blocks; the same block twice.
#[test]
fn what_lies_between_records_is_passed_over() {
    let (kernel, _, directory, blocks, records) = copied(8);
    let mut pieces = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        pieces.push(Piece::Block(block.clone()));
        match index % 5 {
            0 => pieces.push(Piece::Zeros(1 + index)),
            1 => pieces.push(Piece::Bytes(vec![0xab; 3 * index])),
            2 => pieces.push(Piece::Bytes(Network::Regtest.magic().to_bytes().to_vec())),
            3 => pieces.push(Piece::Block(blocks[index / 2].clone())),
            _ => {}
        }
    }
    directory.write("blk", 0, &pieces);
    let server = TestServer::start(directory.datadir());
    all_agree(&server, &kernel);
    drop(records);
}
