//! Reading by position next to a node that prunes, overwrites and replaces its files.

use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use super::support::*;
use crate::source::bulk::{Access, BulkReader, Cost};
use crate::source::{BlockSource, Found, Obfuscation, SourceError, UndoRecord};

/// Files that Core would not write, gaps in the numbering, numbers of six digits, symbolic links.
#[test]
fn files_are_listed_by_number_with_their_undo() {
    let dir = Dir::regtest();
    for number in [3, 12, 99_999, 100_000] {
        dir.blk(number, &blocks(&regtest().blocks[..1]));
    }
    dir.rev(12, &[]);
    dir.rev(4, &[]);
    for name in ["blk1.dat", "blk000001.dat", "blk-0001.dat", "blk+0001.dat", "blk00005.dat.bak", "rev00003.txt"] {
        fs::write(dir.blocks().join(name), []).unwrap();
    }
    fs::create_dir(dir.blocks().join("blk00006.dat")).unwrap();
    symlink(dir.path("blk", 3), dir.path("blk", 7)).unwrap();
    symlink(dir.path("blk", 404), dir.path("blk", 8)).unwrap();
    let listed = dir.open().list().unwrap();
    let numbers: Vec<_> = listed.iter().map(|file| (file.number, file.rev.is_some())).collect();
    assert_eq!(numbers, [(3, false), (7, false), (12, true), (99_999, false), (100_000, false)]);
    let file = dir.walk(100_000);
    assert_eq!((found(&file), listed[4].blk), (hashes(&regtest().blocks[..1]), file.stamp));
    assert_eq!(found(&dir.walk(7)), hashes(&regtest().blocks[..1]));
}

#[test]
fn many_threads_read_the_same_files() {
    let real = testnet3();
    let dir = Dir::of(real);
    let files = Arc::new(dir.open());
    let source: Arc<dyn BlockSource> = files.clone();
    let blk = files.walk(0, None).unwrap();
    let rev = files.pair(&blk).unwrap();
    thread::scope(|scope| {
        for start in 0..8 {
            let (source, blk, rev) = (&source, &blk, &rev);
            scope.spawn(move || {
                for k in (start..2016).step_by(8) {
                    assert_eq!(source.block(&blk.records[k + 1]).unwrap(), real.blocks[k + 1]);
                    assert_eq!(source.undo(&rev.records[k]).unwrap(), real.undos[k]);
                }
            });
        }
    });
}

#[test]
fn all_files_are_walked_with_many_in_flight() {
    let real = testnet3();
    let dir = Dir::new(real.network);
    for (number, chunk) in (0..).zip(real.blocks.chunks(20)) {
        dir.blk(number, &blocks(chunk));
    }
    let files = dir.open();
    let jobs = || files.list().unwrap().into_iter().map(|file| (file, None)).collect();
    let mut walked = BTreeSet::new();
    files.walk_all(jobs(), |(number, file)| {
        let file = file.unwrap();
        assert_eq!(found(&file), hashes(real.blocks.chunks(20).nth(number as usize).unwrap()));
        assert!(walked.insert(number));
        ControlFlow::Continue(())
    });
    assert_eq!(walked.len(), 101);

    let mut count = 0;
    files.walk_all(jobs(), |_| {
        count += 1;
        if count == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(count, 3);
    files.walk_all(Vec::new(), |_| panic!("nothing was asked for"));
}

#[test]
fn a_file_that_somebody_waits_for_comes_before_the_others() {
    let real = testnet3();
    let dir = Dir::new(real.network);
    for number in 0..400 {
        dir.blk(number, &blocks(&real.blocks[..2]));
    }
    let files = dir.open();
    let jobs = files.list().unwrap().into_iter().map(|file| (file, None)).collect();
    let mut walked = Vec::new();
    files.walk_all(jobs, |(number, _)| {
        if walked.is_empty() {
            // Those that would come last, one that is not there, and one that has been handed over.
            [0, 1, 5000, number].into_iter().for_each(|number| files.hurry(number));
        }
        walked.push(number);
        ControlFlow::Continue(())
    });
    // Some are in flight by then, and as many wait to be handed over.
    for awaited in [0, 1] {
        assert!(walked.iter().position(|&number| number == awaited).unwrap() < 100, "{walked:?}");
    }
    walked.sort_unstable();
    assert!(walked.into_iter().eq(0..400));
}

#[test]
fn one_unreadable_file_does_not_hide_the_others() {
    let dir = Dir::regtest();
    for number in 0..5 {
        dir.blk(number, &blocks(&regtest().blocks[..3]));
    }
    let files = dir.open();
    let jobs = files.list().unwrap().into_iter().map(|file| (file, None)).collect();
    fs::remove_file(dir.path("blk", 2)).unwrap();
    let (mut good, mut gone) = (0, Vec::new());
    files.walk_all(jobs, |(number, file)| {
        match file {
            Ok(_) => good += 1,
            Err(SourceError::Pruned { .. }) => gone.push(number),
            Err(other) => panic!("{other}"),
        }
        ControlFlow::Continue(())
    });
    assert_eq!((good, gone), (4, vec![2]));
}

#[test]
fn what_the_node_took_away_is_said_as_such() {
    let real = regtest();
    let dir = Dir::regtest();
    dir.blk(0, &blocks(&real.blocks));
    dir.blk(1, &blocks(&real.blocks[..1]));
    dir.rev(0, &undos(&real.undos));
    let files = dir.open();
    let blk = files.walk(0, None).unwrap();
    let undo = files.pair(&blk).unwrap().records[9];
    let record = blk.records[10];

    fs::write(dir.path("blk", 0), vec![0; record.position.offset as usize + 40]).unwrap();
    assert!(matches!(files.header(&record), Err(SourceError::Cut { .. })));
    assert!(matches!(files.block(&record), Err(SourceError::Cut { .. })));
    fs::write(dir.path("rev", 0), vec![0; undo.position.offset as usize]).unwrap();
    assert!(matches!(files.undo(&undo), Err(SourceError::Cut { .. })));

    dir.blk(0, &blocks(real.blocks.iter().rev()));
    dir.rev(0, &undos(real.undos.iter().rev()));
    assert!(matches!(files.header(&record), Err(SourceError::Replaced { .. })));
    assert!(matches!(files.block(&record), Err(SourceError::Replaced { block, .. }) if block == record.hash));
    assert!(matches!(files.undo(&UndoRecord { size: undo.size + 1, ..undo }), Err(SourceError::Replaced { .. })));

    fs::remove_file(dir.path("blk", 0)).unwrap();
    fs::remove_file(dir.path("rev", 0)).unwrap();
    assert!(matches!(files.block(&record), Err(SourceError::Pruned { .. })));
    assert!(matches!(files.undo(&undo), Err(SourceError::Pruned { .. })));
    assert!(matches!(files.walk(0, Some(&blk)), Err(SourceError::Pruned { .. })));
    fs::remove_dir_all(dir.blocks()).unwrap();
    assert!(matches!(files.block(&record), Err(SourceError::Vanished { .. })));
    assert!(matches!(files.list(), Err(SourceError::Vanished { .. })));
}

/// A resync reuses the file numbers under a new key: what was known of the old files must not be believed.
#[test]
fn a_replaced_key_is_noticed() {
    let real = regtest();
    let dir = Dir::regtest();
    dir.blk(0, &blocks(&real.blocks));
    let files = dir.open();
    let blk = files.walk(0, None).unwrap();
    assert!(!files.reread_key().unwrap());
    let renewed = Dir::with_key(real.network, Some([9; 8]));
    renewed.blk(0, &blocks(&real.blocks));
    fs::copy(renewed.path("blk", 0), dir.path("blk", 0)).unwrap();
    fs::copy(renewed.blocks().join("xor.dat"), dir.blocks().join("xor.dat")).unwrap();
    assert!(matches!(files.block(&blk.records[3]), Err(SourceError::Replaced { .. })));
    assert_eq!(files.walk(0, Some(&blk)).unwrap().records, []);
    assert!(files.reread_key().unwrap());
    assert_eq!(files.obfuscation(), Obfuscation::new([9; 8]));
    assert_eq!(found(&files.walk(0, Some(&blk)).unwrap()), hashes(&real.blocks));
    assert!(!files.reread_key().unwrap());
}

/// What does not fit may be half written for a minute after either file changed.
#[test]
fn a_file_that_changed_lately_may_be_half_written() {
    let dir = Dir::of(regtest());
    let files = dir.open();
    let position = files.walk(0, None).unwrap().records[1].position;
    let age = |kind: &str, seconds| {
        let time = SystemTime::now() - Duration::from_secs(seconds);
        fs::File::options().write(true).open(dir.path(kind, 0)).unwrap().set_modified(time).unwrap();
    };
    for (blk, rev, expected) in [(0, 0, true), (90, 0, true), (0, 90, true), (90, 90, false)] {
        age("blk", blk);
        age("rev", rev);
        assert_eq!(files.is_being_written(position), expected, "{blk} {rev}");
    }
}

/// Low files gone, one of their blocks fetched again: it is where it was put.
#[test]
fn a_pruned_block_that_was_fetched_again_is_found_in_its_new_place() {
    let real = regtest();
    let dir = Dir::regtest();
    dir.blk(5, &blocks(&real.blocks[100..150]));
    dir.blk(6, &blocks(real.blocks[150..].iter().chain([&real.blocks[50]])));
    let files = dir.open();
    assert_eq!(files.list().unwrap().iter().map(|file| file.number).collect::<Vec<_>>(), [5, 6]);
    let last = *files.walk(6, None).unwrap().records.last().unwrap();
    assert_eq!((last.position.file, last.found), (6, Found::Hop));
    assert_eq!(files.block(&last).unwrap(), real.blocks[50]);
}

#[test]
fn an_open_file_may_be_cut_or_unlinked() {
    let dir = Dir::regtest();
    let raw = dir.blk(0, &[Piece::Bytes(vec![7; 5000])]);
    let (path, cost) = (dir.path("blk", 0), Cost::default());
    let mut reader = BulkReader::open(&path, Obfuscation::new(KEY), Access::Hop, &cost).unwrap();
    assert_eq!(reader.read(100, 50, 50).unwrap(), [7; 50]);
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(1000).unwrap();
    assert_eq!(reader.read(900, 300, 300).unwrap(), [7; 100]);
    assert_eq!((reader.len(), reader.stamp().len), (1000, raw.len() as u64));
    assert!(reader.read(2000, 10, 10).unwrap().is_empty());
    fs::remove_file(&path).unwrap();
    assert_eq!(reader.read(0, 10, 10).unwrap(), [7; 10]);
}

/// Whatever a file turns into while it is walked and read: what comes out is a real block or an error.
#[test]
fn files_that_change_while_they_are_read_give_real_blocks_or_errors() {
    let real = regtest();
    let dir = Dir::regtest();
    dir.blk(0, &blocks(&real.blocks));
    let files = dir.open();
    let (done, known) = (AtomicBool::new(false), hashes(&real.blocks));
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..60 {
                match round % 4 {
                    0 => drop(dir.blk(0, &blocks(real.blocks.iter().rev()))),
                    1 => fs::write(dir.path("blk", 0), [0; 30]).unwrap(),
                    2 => fs::remove_file(dir.path("blk", 0)).unwrap(),
                    _ => drop(dir.blk(0, &[blocks(&real.blocks[..99]), vec![Piece::Zeros(9999)]].concat())),
                }
                thread::yield_now();
            }
            done.store(true, Ordering::Relaxed);
        });
        let mut last = None;
        while !done.load(Ordering::Relaxed) {
            let Ok(file) = files.walk(0, last.as_ref()) else { continue };
            for record in &file.records {
                assert!(known.contains(&record.hash));
                if let Ok(block) = files.block(record) {
                    assert_eq!(hash(&block), record.hash);
                }
            }
            last = Some(file);
        }
    });
}
