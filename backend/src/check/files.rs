//! Holds the files against themselves, and the index against them.
//!
//! Every file is walked. Of the blocks, all or a sample are read and their transactions hashed; every undo record of the
//! files that hold them is held against its checksum by pairing it with its block, and every block of the best chain in
//! those files is expected to have undo. What the node prunes meanwhile is left out.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;

use bitcoin::BlockHash;
use hindsight_shared::Height;
use hindsight_shared::block::BlockView;
use hindsight_shared::payload::Prevouts;
use hindsight_shared::verify::check_whole;
use rayon::prelude::*;

use super::index::{IndexCheck, RowFound};
use super::{Damage, Progress, Report, Sample};
use crate::chain::{Chain, NeedsPair, Node, Undo};
use crate::index::Index;
use crate::source::{
    BlockFile, BlockRecord, CoreFiles, Leftover, ListedFile, Position, SourceError, UndoRecord, in_the_background,
};

/// So many blocks are named whose undo a damaged record may be.
const NAMED: usize = 3;

/// What to check.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// An index to hold against the files.
    pub index: Option<&'a Index>,
    /// The blocks to read; all of them without it.
    pub sample: Option<Sample>,
}

/// Checks a directory on all cores. `progress` is told of each file when it is done.
///
/// # Errors
/// When the directory itself cannot be read.
pub fn check(
    files: &CoreFiles,
    options: Options<'_>,
    progress: impl FnMut(Progress) + Send,
) -> Result<Report, SourceError> {
    in_the_background(|| check_all(files, options, progress))
}

fn check_all(
    files: &CoreFiles,
    options: Options<'_>,
    mut progress: impl FnMut(Progress),
) -> Result<Report, SourceError> {
    let listed = files.list()?;
    let mut check = Check::new(files, options.index);
    check.walk(&listed, &mut progress)?;
    check.read(options.sample, &mut progress)?;
    check.choose()?;
    check.finish(&listed, &mut progress)
}

/// A check under way.
struct Check<'a> {
    files: &'a CoreFiles,
    chain: Chain,
    undo: HashMap<BlockHash, UndoRecord>,
    /// Files whose undo has been looked for, and whether it could be read.
    paired: BTreeMap<u32, bool>,
    /// Undo records that fit no block, in the files that have some.
    leftovers: BTreeMap<u32, Vec<Leftover>>,
    index: Option<IndexCheck<'a>>,
    report: Report,
}

/// What was found of one block.
#[derive(Default)]
struct Found {
    damage: Option<Damage>,
    row: Option<RowFound>,
}

impl<'a> Check<'a> {
    fn new(files: &'a CoreFiles, index: Option<&'a Index>) -> Self {
        Self {
            files,
            chain: Chain::new(files.datadir().network),
            undo: HashMap::new(),
            paired: BTreeMap::new(),
            leftovers: BTreeMap::new(),
            index: index.map(IndexCheck::new),
            report: Report::default(),
        }
    }

    /// Walks every file.
    fn walk(&mut self, listed: &[ListedFile], progress: &mut impl FnMut(Progress)) -> Result<(), SourceError> {
        let (mut done, mut failed) = (0, None);
        self.files.walk_all(listed.iter().map(|file| (*file, None)).collect(), |(number, walked)| {
            match walked {
                Ok(file) => self.walked(&file),
                Err(error) => failed = self.unreadable("blk", number, error).err(),
            }
            done += 1;
            progress(Progress::Walked(done, listed.len()));
            if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        self.chain.link();
        failed.map_or(Ok(()), Err)
    }

    fn walked(&mut self, file: &BlockFile) {
        self.report.found += file.records.len() as u64;
        self.chain.set_file(file);
        if let Some(index) = &mut self.index {
            index.walked(file);
        }
    }

    /// A file that cannot be read: gone, or what is looked for; or the whole directory is gone.
    fn unreadable(&mut self, kind: &'static str, number: u32, error: SourceError) -> Result<(), SourceError> {
        match error {
            SourceError::Pruned { .. } => drop(self.report.pruned.insert(number)),
            // A bad sector is what is looked for.
            SourceError::Io { .. } | SourceError::Cut { .. } | SourceError::Replaced { .. } => {
                let position = Position { file: number, offset: 0 };
                self.report.damage.push(Damage { kind, position, what: error.to_string() });
            }
            error => return Err(error),
        }
        Ok(())
    }

    /// Reads all blocks, or the chosen ones, one pair of files after another.
    fn read(&mut self, sample: Option<Sample>, progress: &mut impl FnMut(Progress)) -> Result<(), SourceError> {
        let numbers: BTreeSet<u32> = self.chain.file_numbers().into_iter().collect();
        let chosen = sample.map(|sample| sample.of(self.report.found));
        let mut before = 0;
        for (done, &number) in numbers.iter().enumerate() {
            let records = self.chain.file(number).map(|file| file.records).unwrap_or_default();
            let is_chosen = |at: u64| chosen.as_ref().is_none_or(|chosen| chosen.contains(&at));
            let of_all = (before..).zip(&records).filter(|&(at, _)| is_chosen(at)).map(|(_, record)| *record);
            let of_all: Vec<BlockRecord> = of_all.collect();
            before += records.len() as u64;
            if !of_all.is_empty() {
                self.pair(number)?;
                self.read_blocks(number, &of_all)?;
            }
            progress(Progress::Read(done + 1, numbers.len()));
        }
        Ok(())
    }

    fn read_blocks(&mut self, number: u32, records: &[BlockRecord]) -> Result<(), SourceError> {
        let found: Result<Vec<Found>, _> = records.par_iter().map(|record| self.read_block(record)).collect();
        match found {
            Err(error) => self.unreadable("blk", number, error)?,
            Ok(found) => {
                self.report.blocks += found.len() as u64;
                for Found { damage, row } in found {
                    self.report.damage.extend(damage);
                    self.index.iter_mut().zip(row).for_each(|(index, row)| index.take(row));
                }
            }
        }
        Ok(())
    }

    /// Reads a block and says what is wrong with it, and with what the index holds of it.
    fn read_block(&self, record: &BlockRecord) -> Result<Found, SourceError> {
        let hash = record.hash;
        let what = match self.files.bulk_block(record) {
            Err(gone @ (SourceError::Pruned { .. } | SourceError::Vanished { .. } | SourceError::Emptied { .. })) => {
                return Err(gone);
            }
            Err(error) => error.to_string(),
            Ok(bytes) => match BlockView::parse(&bytes) {
                Ok(block) => match check_whole(&block) {
                    Ok(()) => return Ok(Found { damage: None, row: self.row_of(record, &block) }),
                    Err(what) => format!("block {hash} is damaged: {what}"),
                },
                Err(error) => format!("block {hash} does not decode: {error}"),
            },
        };
        let damage = Damage { kind: "blk", position: record.position, what };
        Ok(Found { damage: Some(damage), row: None })
    }

    /// Holds the block's row of statistics against the block, if it has one and everything that it takes is there.
    fn row_of(&self, record: &BlockRecord, block: &BlockView<'_>) -> Option<RowFound> {
        let index = self.index.as_ref()?;
        let node = self.chain.by_hash(&record.hash)?;
        let height = node.height.filter(|_| node.records().next() == Some(*record))?;
        let undo = match self.undo.get(&node.hash) {
            _ if self.chain.is_genesis(&node.hash) => Vec::new(),
            undo => self.files.bulk_undo(undo?).ok()?,
        };
        let prevouts = if self.chain.is_genesis(&node.hash) { Prevouts::Absent } else { Prevouts::Undo(&undo) };
        index.row(self.chain.network(), (height, record), block, prevouts)
    }

    /// Looks for the undo of a file's blocks, unless that has been done.
    fn pair(&mut self, number: u32) -> Result<(), SourceError> {
        let Some(walked) = self.chain.file(number).filter(|_| !self.paired.contains_key(&number)) else {
            return Ok(());
        };
        let pair = self.files.pair_and_name_leftovers(&walked);
        self.paired.insert(number, pair.is_ok());
        let (undo, leftovers) = match pair {
            Ok(pair) => pair,
            Err(error) => return self.unreadable("rev", number, error),
        };
        self.report.undo += undo.records.len() as u64;
        self.report.leftovers += u64::from(undo.leftovers);
        if let Some(index) = &mut self.index {
            index.paired(&undo);
        }
        for record in undo.records {
            self.undo.entry(record.block).or_insert(record);
        }
        if !leftovers.is_empty() {
            self.leftovers.insert(number, leftovers);
        }
        Ok(())
    }

    /// Chooses the best chain, pairing what that takes.
    fn choose(&mut self) -> Result<(), SourceError> {
        loop {
            match self.chain.choose(false, &|node| self.undo_of(node)) {
                Ok(best) => {
                    self.chain.set_best(best);
                    return Ok(());
                }
                Err(NeedsPair(file)) => self.pair(file)?,
            }
        }
    }

    fn undo_of(&self, node: &Node) -> Undo {
        let unpaired =
            || node.records().map(|record| record.position.file).find(|file| !self.paired.contains_key(file));
        match self.undo.get(&node.hash) {
            Some(record) => Undo::At(record.position),
            None => unpaired().map_or(Undo::None, Undo::Unpaired),
        }
    }

    /// Says what is missing, once everything has been read.
    fn finish(mut self, listed: &[ListedFile], progress: &mut impl FnMut(Progress)) -> Result<Report, SourceError> {
        let missing = self.without_undo();
        let damaged = self.leftovers_of_blocks();
        self.report.damage.extend(missing.into_iter().chain(damaged));
        // Either file of a pair may have gone first.
        let still: BTreeSet<u32> = self.files.list()?.iter().map(|file| file.number).collect();
        let mut report = self.report;
        report.pruned.extend(listed.iter().map(|file| file.number).filter(|number| !still.contains(number)));
        let Report { pruned, damage, .. } = &mut report;
        damage.retain(|damage| !pruned.contains(&damage.position.file));
        damage.sort_by_key(|damage| (damage.kind, damage.position));
        report.index = self.index.map(|index| index.finish(&self.chain, pruned, progress));
        Ok(report)
    }

    /// Blocks of the best chain whose undo is not there, though a descendant's is.
    fn without_undo(&self) -> Vec<Damage> {
        let heights = self.chain.best().segments().iter().flat_map(|segment| segment.from().0..=segment.to().0);
        let nodes = heights.filter_map(|height| self.chain.by_height(Height(height)));
        let nodes = nodes.filter(|node| !self.chain.is_genesis(&node.hash) && !self.undo.contains_key(&node.hash));
        let is_paired = |record: BlockRecord| self.paired.get(&record.position.file) == Some(&true);
        let nodes = nodes.filter(|node| node.records().all(is_paired));
        let places = nodes.filter_map(|node| Some((node.hash, node.records().next()?.position)));
        let damage = |(hash, position)| {
            let what = format!("block {hash} has no undo record that fits");
            Damage { kind: "blk", position, what }
        };
        places.map(damage).collect()
    }

    /// Undo records that fit no block, but may be, damaged, that of a block without undo: one of the best chain, or one
    /// behind its tip, which nothing would tell of otherwise, since it is its undo that makes a block connected.
    fn leftovers_of_blocks(&self) -> Vec<Damage> {
        let mut damage = Vec::new();
        for (number, leftovers) in &self.leftovers {
            let records = self.chain.file(*number).map(|file| file.records).unwrap_or_default();
            let lacking: Vec<_> = records.iter().filter(|record| self.lacks_undo(record)).collect();
            for Leftover { position, tx_count } in leftovers {
                let fitting: BTreeSet<_> = lacking.iter().filter(|r| r.tx_count == *tx_count).map(|r| r.hash).collect();
                let names: Vec<_> = fitting.iter().take(NAMED).map(BlockHash::to_string).collect();
                if !names.is_empty() {
                    let more = if fitting.len() > NAMED { " or others" } else { "" };
                    let what = format!("undo that fits no block: that of {}{more}, damaged?", names.join(" or "));
                    damage.push(Damage { kind: "rev", position: *position, what });
                }
            }
        }
        damage
    }

    fn lacks_undo(&self, record: &BlockRecord) -> bool {
        let height = self.chain.tip().and_then(|tip| tip.height);
        let node = self.chain.by_hash(&record.hash).filter(|node| !self.undo.contains_key(&node.hash));
        node.is_some_and(|node| {
            !self.chain.is_genesis(&node.hash) && (self.chain.is_best(node) || node.linked && node.height > height)
        })
    }
}
