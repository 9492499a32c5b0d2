//! Reads a whole blocks directory and reports what is damaged, with file and offset.
//!
//! It asks the files alone, not the index: every block is read and its transactions hashed, every undo record is held
//! against its checksum by pairing it with its block, and every block of the best chain is expected to have undo. It runs
//! at low priority and drops the pages that it has read; what the node prunes meanwhile is left out.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use bitcoin::BlockHash;
use hindsight_shared::Height;
use hindsight_shared::block::BlockView;
use hindsight_shared::verify::check_whole;
use rayon::prelude::*;

use crate::chain::{Chain, NeedsPair, Undo};
use crate::source::{BlockFile, BlockRecord, CoreFiles, Leftover, Position, SourceError, UndoFile, lower_priority};

#[cfg(test)]
mod tests;

/// What is wrong in one place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Damage {
    /// `blk` or `rev`.
    pub kind: &'static str,
    /// Where.
    pub position: Position,
    /// What.
    pub what: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { file, offset } = self.position;
        write!(f, "{}{file:05}.dat at offset {offset}: {}", self.kind, self.what)
    }
}

/// What a check found.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Report {
    /// Blocks read, repeated and stale ones included.
    pub blocks: u64,
    /// Undo records that fit their block.
    pub undo: u64,
    /// Undo records that fit no block: overwritten ones, or damage.
    pub leftovers: u64,
    /// Numbers of the files that the node pruned during the check: nothing is said of them.
    pub pruned: BTreeSet<u32>,
    /// Everything that is wrong.
    pub damage: Vec<Damage>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { blocks, undo, leftovers, pruned, damage } = self;
        write!(f, "{blocks} blocks and {undo} undo records read, {leftovers} undo records without a block, ")?;
        if !pruned.is_empty() {
            write!(f, "{} files left out because the node pruned them meanwhile, ", pruned.len())?;
        }
        write!(f, "{} damaged places", damage.len())
    }
}

/// Checks everything in the directory, on all cores. `progress` is told of each file when it is done: how many of how
/// many.
///
/// # Errors
/// When the directory itself cannot be read.
pub fn check(files: &CoreFiles, progress: impl FnMut(usize, usize) + Send) -> Result<Report, SourceError> {
    match rayon::ThreadPoolBuilder::new().start_handler(|_| lower_priority()).build() {
        Ok(pool) => pool.install(|| check_all(files, progress)),
        // Where the system has no thread left, this one has to do.
        Err(_) => check_all(files, progress),
    }
}

fn check_all(files: &CoreFiles, mut progress: impl FnMut(usize, usize)) -> Result<Report, SourceError> {
    let listed = files.list()?;
    let mut check = Check::new(files);
    for (done, file) in listed.iter().enumerate() {
        match check.file(file.number) {
            Err(SourceError::Pruned { .. }) => drop(check.report.pruned.insert(file.number)),
            // A bad sector is what is looked for.
            Err(error @ SourceError::Io { .. }) => check.report.damage.push(Damage {
                kind: "blk",
                position: Position { file: file.number, offset: 0 },
                what: error.to_string(),
            }),
            checked => checked?,
        }
        progress(done + 1, listed.len());
    }
    check.chain();
    // Either file of a pair may have gone first.
    let still: BTreeSet<u32> = files.list()?.iter().map(|file| file.number).collect();
    check.report.pruned.extend(listed.iter().map(|file| file.number).filter(|number| !still.contains(number)));
    let Report { pruned, damage, .. } = &mut check.report;
    damage.retain(|damage| !pruned.contains(&damage.position.file));
    damage.sort_by_key(|damage| (damage.kind, damage.position));
    Ok(check.report)
}

/// A check under way.
struct Check<'a> {
    files: &'a CoreFiles,
    chain: Chain,
    undo: HashMap<BlockHash, Position>,
    /// Undo records that fit no block, in the files that have some.
    leftovers: BTreeMap<u32, Vec<Leftover>>,
    report: Report,
}

impl<'a> Check<'a> {
    fn new(files: &'a CoreFiles) -> Self {
        let chain = Chain::new(files.datadir().network);
        Self { files, chain, undo: HashMap::new(), leftovers: BTreeMap::new(), report: Report::default() }
    }

    /// Reads one pair of files.
    fn file(&mut self, number: u32) -> Result<(), SourceError> {
        let walked = self.files.walk(number, None)?;
        let damage = walked.records.par_iter().filter_map(|record| read(self.files, record).transpose());
        let damage: Vec<Damage> = damage.collect::<Result<_, _>>()?;
        let (undo, leftovers) = self.files.pair_and_name_leftovers(&walked)?;
        self.take(&walked, undo, leftovers);
        self.report.damage.extend(damage);
        Ok(())
    }

    fn take(&mut self, walked: &BlockFile, undo: UndoFile, leftovers: Vec<Leftover>) {
        self.report.blocks += walked.records.len() as u64;
        self.report.undo += undo.records.len() as u64;
        self.report.leftovers += u64::from(undo.leftovers);
        for record in undo.records {
            self.undo.entry(record.block).or_insert(record.position);
        }
        if !leftovers.is_empty() {
            self.leftovers.insert(walked.number, leftovers);
        }
        self.chain.set_file(walked);
    }

    /// Looks for blocks whose undo is missing, once all files have been read.
    fn chain(&mut self) {
        self.chain.link();
        let undo = &self.undo;
        let known = |hash: &BlockHash| undo.get(hash).copied().map_or(Undo::None, Undo::At);
        match self.chain.choose(false, &|node| known(&node.hash)) {
            Ok(best) => drop(self.chain.set_best(best)),
            // Everything has been paired, so that the choice never needs more.
            Err(NeedsPair(file)) => return tracing::error!(file, "a file was left out"),
        }
        let missing = self.without_undo();
        let damaged = self.leftovers_of_blocks();
        self.report.damage.extend(missing.into_iter().chain(damaged));
    }

    /// Blocks of the best chain whose undo is not there, though a descendant's is.
    fn without_undo(&self) -> Vec<Damage> {
        let heights = self.chain.best().segments().iter().flat_map(|segment| segment.from().0..=segment.to().0);
        let nodes = heights.filter_map(|height| self.chain.by_height(Height(height)));
        let nodes = nodes.filter(|node| !self.chain.is_genesis(node) && !self.undo.contains_key(&node.hash));
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
            !self.chain.is_genesis(node) && (self.chain.is_best(node) || node.linked && node.height > height)
        })
    }
}

/// So many blocks are named whose undo a damaged record may be.
const NAMED: usize = 3;

/// Reads a block and says what is wrong with it.
fn read(files: &CoreFiles, record: &BlockRecord) -> Result<Option<Damage>, SourceError> {
    let hash = record.hash;
    let what = match files.bulk_block(record) {
        Err(gone @ (SourceError::Pruned { .. } | SourceError::Vanished { .. } | SourceError::Emptied { .. })) => {
            return Err(gone);
        }
        Err(error) => error.to_string(),
        Ok(bytes) => match BlockView::parse(&bytes) {
            Ok(block) => match check_whole(&block) {
                Ok(()) => return Ok(None),
                Err(what) => format!("block {hash} is damaged: {what}"),
            },
            Err(error) => format!("block {hash} does not decode: {error}"),
        },
    };
    Ok(Some(Damage { kind: "blk", position: record.position, what }))
}
