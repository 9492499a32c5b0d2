//! Directories with one thing wrong, and what is said of it.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use hindsight_shared::Height;
use hindsight_shared::block::BlockView;
use hindsight_shared::payload::Prevouts;
use hindsight_shared::stats::row::Summary;

use super::*;
use crate::index::{Batch, Identity, Index, Summaries};
use crate::source::{BlockFile, BlockSource, CoreFiles, Datadir, DatadirOptions, Position, SourceError, UndoFile};

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
        let datadir = crate::demo::DemoChain::Testnet3.unpack(temp.path()).unwrap();
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

/// An index of the directory, as a server would have left it.
struct Indexed {
    dir: Directory,
    index_dir: tempfile::TempDir,
}

impl Indexed {
    /// One with these rows of files, and with statistics of the first so many blocks.
    fn new(dir: Directory, batch: Batch, rows: usize, change: impl Fn(&mut Summary)) -> Self {
        let index_dir = tempfile::tempdir().unwrap();
        let index = Arc::new(Index::open(index_dir.path(), &identity(&dir.files), 8 << 20).unwrap());
        index.commit(&batch).unwrap();
        let summaries = Summaries::new(index);
        summaries.insert((0..rows).map(|height| {
            let mut summary = dir.summary(height);
            change(&mut summary);
            summary
        }));
        summaries.commit().unwrap();
        Self { dir, index_dir }
    }

    fn check(&self, sample: Option<Sample>) -> IndexReport {
        let index = Index::look(self.index_dir.path(), &identity(&self.dir.files)).unwrap().unwrap();
        let report = check(&self.dir.files, Options { index: Some(&index), sample }, |_| {}).unwrap();
        assert_eq!(report.damage, Vec::new());
        report.index.unwrap()
    }
}

fn identity(files: &CoreFiles) -> Identity {
    let datadir = files.datadir();
    let (magic, blocks_dir) = (datadir.magic.to_bytes(), datadir.blocks_dir.clone());
    Identity { magic, blocks_dir, key: files.obfuscation().key() }
}

impl Directory {
    fn batch(&self) -> Batch {
        Batch { blk: vec![self.walked.clone()], rev: vec![self.undo.clone()] }
    }

    fn summary(&self, height: usize) -> Summary {
        let bytes = self.files.block(&self.walked.records[height]).unwrap();
        let undo = height.checked_sub(1).map(|at| self.files.undo(&self.undo.records[at]).unwrap());
        let block = BlockView::parse(&bytes).unwrap();
        let prevouts = undo.as_deref().map_or(Prevouts::Absent, Prevouts::Undo).view_of(&block).unwrap();
        let height = Height(u32::try_from(height).unwrap());
        Summary::compute(bitcoin::Network::Testnet, height, &block, prevouts.as_ref()).unwrap()
    }
}

#[test]
fn an_index_that_is_right() {
    let dir = Directory::new();
    let batch = dir.batch();
    let indexed = Indexed::new(dir, batch, 100, |_| {});
    let expected = IndexReport { files: 2, statistics: 100, recomputed: 100, without: 1917, ..IndexReport::default() };
    assert_eq!(indexed.check(None), expected);
    // A stretch of 201 or 202 blocks for each that is chosen: of the first hundred it is one at most.
    let sampled = indexed.check(Some(Sample { count: 10, seed: 1 }));
    assert!(sampled.recomputed <= 1);
    assert_eq!(IndexReport { recomputed: 100, ..sampled }, expected);
}

#[test]
fn an_empty_index_is_not_wrong() {
    let indexed = Indexed::new(Directory::new(), Batch::default(), 0, |_| {});
    assert_eq!(indexed.check(None), IndexReport { missing: 2, without: 2017, ..IndexReport::default() });
}

#[test]
fn rows_of_files_as_they_were_are_not_wrong() {
    let dir = Directory::new();
    let mut batch = dir.batch();
    batch.blk[0].stamp.mtime -= 1;
    batch.blk[0].records.clear();
    batch.rev[0].blk = batch.blk[0].stamp;
    batch.rev[0].records.clear();
    assert_eq!(Indexed::new(dir, batch, 0, |_| {}).check(None).changed, 2);
}

#[test]
fn rows_of_files_that_say_something_else_are_named() {
    let dir = Directory::new();
    let (block, undo) = (dir.walked.records[700], dir.undo.records[800]);
    let mut batch = dir.batch();
    batch.blk[0].records[700].position.offset += 1;
    batch.rev[0].records[800].size += 1;
    let report = Indexed::new(dir, batch, 0, |_| {}).check(None);
    assert_eq!((report.wrong_rows, report.files), (2, 0));
    let places: Vec<_> = report.wrong.iter().map(|wrong| wrong.place).collect();
    assert_eq!(places, [Some(("blk", block.position)), Some(("rev", undo.position))]);
    assert!(report.wrong[0].what.starts_with(&format!("block {}: stored as offset", block.hash)), "{report:?}");
    assert!(report.wrong[1].what.contains(&format!("undo of block {} at offset", undo.block)), "{report:?}");
}

#[test]
fn rows_that_lack_a_block_are_named() {
    let dir = Directory::new();
    let last = dir.walked.records[2016];
    let mut batch = dir.batch();
    batch.blk[0].records.pop();
    let report = Indexed::new(dir, batch, 0, |_| {}).check(None);
    assert_eq!(report.wrong[0].place, Some(("blk", last.position)));
    assert_eq!(report.wrong[0].what, format!("block {} is not stored, though the file has it", last.hash));
}

#[test]
fn statistics_that_are_wrong_are_named_and_counted() {
    let dir = Directory::new();
    let (batch, first) = (dir.batch(), dir.walked.records[0]);
    let report = Indexed::new(dir, batch, 1500, |summary| summary.core.totalfee += 1).check(None);
    assert_eq!((report.wrong_rows, report.wrong.len(), report.recomputed), (1500, 1000, 0));
    let expected = format!("statistics of block {} (stored / recomputed): totalfee 1 / 0", first.hash);
    assert_eq!(
        report.wrong[0],
        Wrong { height: Some(Height(0)), place: Some(("blk", first.position)), what: expected }
    );
}
