//! Directories with one thing wrong, and what is said of it.

use std::fs;
use std::path::Path;

use super::*;
use crate::source::{BlockFile, CoreFiles, Datadir, DatadirOptions, Position, SourceError, UndoFile};

/// The first 2,017 blocks of testnet3 as Core wrote them.
struct Directory {
    temp: tempfile::TempDir,
    files: CoreFiles,
    walked: BlockFile,
    undo: UndoFile,
}

impl Directory {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let datadir = crate::demo::unpack(temp.path()).unwrap();
        let options = DatadirOptions { datadir, ..DatadirOptions::default() };
        let files = CoreFiles::open(Datadir::open(&options).unwrap()).unwrap();
        let walked = files.walk(0, None).unwrap();
        let undo = files.pair(&walked).unwrap();
        Self { temp, files, walked, undo }
    }

    fn blocks_dir(&self) -> &Path {
        &self.files.datadir().blocks_dir
    }

    /// Flips a bit so far behind a position.
    fn damage(&self, kind: &str, position: Position, further: u32) {
        let path = self.blocks_dir().join(format!("{kind}{:05}.dat", position.file));
        let mut bytes = fs::read(&path).unwrap();
        bytes[(position.offset + further) as usize] ^= 1;
        fs::write(path, bytes).unwrap();
    }

    fn check(&self) -> Report {
        check(&self.files, Options::default(), |_| {}).unwrap()
    }

    fn told(&self) -> Vec<(&'static str, Position)> {
        self.check().damage.iter().map(|damage| (damage.kind, damage.position)).collect()
    }
}

#[test]
fn what_core_wrote_is_whole() {
    let report = Directory::new().check();
    let expected = Report { found: 2017, blocks: 2017, undo: 2016, ..Report::default() };
    assert_eq!(report, expected);
    assert!(report.to_string().ends_with("0 damaged places"), "{report}");
}

#[test]
fn a_block_that_was_changed_is_named() {
    let dir = Directory::new();
    let record = dir.walked.records[700];
    dir.damage("blk", record.position, 130);
    assert_eq!(dir.told(), [("blk", record.position)]);
    assert!(dir.check().damage[0].what.contains(&record.hash.to_string()));
}

/// In mid-chain the block is told of that lacks undo; at the tip its undo is all that tells that it is connected.
#[test]
fn undo_that_was_changed_is_named_with_its_block() {
    for (height, in_chain) in [(700, true), (2016, false)] {
        let dir = Directory::new();
        let (block, undo) = (dir.walked.records[height], dir.undo.records[height - 1]);
        assert_eq!(block.hash, undo.block);
        dir.damage("rev", undo.position, undo.size);
        let report = dir.check();
        assert_eq!((report.leftovers, report.undo), (1, 2015));
        let expected = [in_chain.then_some(("blk", block.position)), Some(("rev", undo.position))];
        assert_eq!(dir.told(), expected.into_iter().flatten().collect::<Vec<_>>());
        assert!(report.damage.iter().all(|damage| damage.what.contains(&block.hash.to_string())), "{report:?}");
    }
}

/// Undo that was written twice harms nobody: no block lacks it.
#[test]
fn leftovers_of_blocks_that_have_undo_are_no_damage() {
    let dir = Directory::new();
    let rev = fs::read(dir.blocks_dir().join("rev00000.dat")).unwrap();
    let last = dir.undo.records[2015];
    let end = (last.position.offset + last.size + 32) as usize;
    let again = (dir.undo.records[8].position.offset - 8) as usize;
    let key = dir.files.obfuscation();
    let mut copy = rev[again..again + (last.size + 40) as usize].to_vec();
    key.apply(again as u64, &mut copy);
    key.apply(end as u64, &mut copy);
    let mut written = rev.clone();
    written.splice(end..end, copy);
    fs::write(dir.blocks_dir().join("rev00000.dat"), written).unwrap();
    let report = dir.check();
    assert_eq!((report.leftovers, report.damage), (1, Vec::new()));
}

/// Core prunes whenever it likes: before a file is read, and after.
#[test]
fn what_is_pruned_meanwhile_is_left_out() {
    let dir = Directory::new();
    let path = |kind: &str, number: u32| dir.blocks_dir().join(format!("{kind}{number:05}.dat"));
    for number in 1..4 {
        fs::copy(path("blk", 0), path("blk", number)).unwrap();
        fs::copy(path("rev", 0), path("rev", number)).unwrap();
    }
    dir.damage("blk", dir.walked.records[700].position, 130);
    let prune = |progress| {
        if progress == Progress::Read(1, 4) {
            for number in [0, 2] {
                fs::remove_file(path("blk", number)).unwrap();
                fs::remove_file(path("rev", number)).unwrap();
            }
        }
    };
    let report = check(&dir.files, Options::default(), prune).unwrap();
    assert_eq!((report.pruned.iter().copied().collect::<Vec<_>>(), &report.damage), (vec![0, 2], &Vec::new()));
    assert!(report.to_string().contains("2 files left out"), "{report}");
}

/// A check of an unmounted disk is none.
#[test]
fn a_directory_that_goes_meanwhile_ends_the_check() {
    let dir = Directory::new();
    let unmount = |progress| {
        if progress == Progress::Walked(1, 1) {
            fs::rename(dir.blocks_dir(), dir.temp.path().join("elsewhere")).unwrap();
        }
    };
    assert!(matches!(check(&dir.files, Options::default(), unmount), Err(SourceError::Vanished { .. })));
}
