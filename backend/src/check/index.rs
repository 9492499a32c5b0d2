//! Holds what the index remembers against what the files hold.
//!
//! A row of a file counts as long as its stamp is the file's, as it does when a server starts: what has changed since, or
//! has not been remembered yet, is no damage. A row of statistics counts for the block that it names.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use bitcoin::{BlockHash, Network};
use hindsight_shared::Height;
use hindsight_shared::block::BlockView;
use hindsight_shared::bytes::Reader;
use hindsight_shared::payload::Prevouts;
use hindsight_shared::stats::fields::{Difference, differences};
use hindsight_shared::stats::row::Summary;

use super::Progress;
use crate::chain::{Chain, Node};
use crate::index::{CHUNK, Index, IndexError};
use crate::source::{BlockFile, BlockRecord, FileStamp, Position, UndoFile, UndoRecord};

/// So many wrong rows are described; the others are counted.
const DESCRIBED: usize = 1000;

/// So many fields of a row are named.
const FIELDS: usize = 4;

/// What is wrong with one row.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Wrong {
    /// The height that a row of statistics is of.
    pub height: Option<Height>,
    /// `blk` or `rev`, and where the block or undo record lies that the row is about.
    pub place: Option<(&'static str, Position)>,
    /// What.
    pub what: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("index")?;
        self.height.map_or(Ok(()), |height| write!(f, ", height {height}"))?;
        if let Some((kind, Position { file, offset })) = self.place {
            write!(f, ", {kind}{file:05}.dat at offset {offset}")?;
        }
        write!(f, ": {}", self.what)
    }
}

/// What the index was found to be.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct IndexReport {
    /// Rows of block and undo files that say what the files hold.
    pub files: u64,
    /// Rows that no longer count, because their file has changed since.
    pub changed: u64,
    /// Block and undo files that were looked at and have no row yet.
    pub missing: u64,
    /// Rows of statistics.
    pub statistics: u64,
    /// How many of them were recomputed and are right.
    pub recomputed: u64,
    /// Blocks of the best chain without statistics: not computed yet, or without undo.
    pub without: u64,
    /// How many rows are wrong.
    pub wrong_rows: u64,
    /// The first thousand of them.
    pub wrong: Vec<Wrong>,
}

impl IndexReport {
    fn say(&mut self, wrong: Wrong) {
        self.wrong_rows += 1;
        if self.wrong.len() < DESCRIBED {
            self.wrong.push(wrong);
        }
    }
}

impl fmt::Display for IndexReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { files, changed, missing, statistics, recomputed, without, wrong_rows, .. } = self;
        write!(
            f,
            "index: {files} rows of files are right, {changed} are of files that have changed since, {missing} "
        )?;
        write!(
            f,
            "are not there yet; {recomputed} of {statistics} rows of statistics recomputed and right, {without} "
        )?;
        write!(f, "blocks have none yet; {wrong_rows} wrong rows")
    }
}

/// What was found of one row of statistics; wrong where it says what.
pub(super) type RowFound = Result<(), Wrong>;

/// A comparison under way.
pub(super) struct IndexCheck<'a> {
    index: &'a Index,
    blk: HashMap<u32, BlockFile>,
    rev: HashMap<u32, UndoFile>,
    /// The block files as they were walked.
    stamps: HashMap<u32, FileStamp>,
    report: IndexReport,
}

impl<'a> IndexCheck<'a> {
    pub(super) fn new(index: &'a Index) -> Self {
        let mut report = IndexReport::default();
        let (mut blk, mut rev) = (HashMap::new(), HashMap::new());
        let take_blk = |file: BlockFile| drop(blk.insert(file.number, file));
        let take_rev = |file: UndoFile| drop(rev.insert(file.number, file));
        let damaged = index.load(take_blk, take_rev).unwrap_or_else(|error| {
            report.say(unreadable(None, &error));
            Vec::new()
        });
        for (kind, file) in damaged {
            let what = format!("the row of {kind}{file:05}.dat is damaged: its checksum does not hold");
            report.say(Wrong { height: None, place: Some((kind, Position { file, offset: 0 })), what });
        }
        Self { index, blk, rev, stamps: HashMap::new(), report }
    }

    /// Holds the row of a block file against a fresh walk.
    pub(super) fn walked(&mut self, file: &BlockFile) {
        self.stamps.insert(file.number, file.stamp);
        match self.blk.remove(&file.number) {
            None => self.report.missing += 1,
            Some(row) if row.stamp != file.stamp => self.report.changed += 1,
            Some(row) => match block_file_difference(&row, file) {
                None => self.report.files += 1,
                Some(wrong) => self.report.say(wrong),
            },
        }
    }

    /// Holds the row of an undo file against fresh pairing.
    pub(super) fn paired(&mut self, file: &UndoFile) {
        match self.rev.remove(&file.number) {
            None if file.rev.is_none() => {}
            None => self.report.missing += 1,
            Some(row) if row.rev != file.rev || self.stamps.get(&file.number) != Some(&row.blk) => {
                self.report.changed += 1;
            }
            Some(row) => match undo_file_difference(&row, file) {
                None => self.report.files += 1,
                Some(wrong) => self.report.say(wrong),
            },
        }
    }

    /// Holds the row of a block's height, if it is this block's, against the block and its undo.
    pub(super) fn row(
        &self,
        network: Network,
        (height, record): (Height, &BlockRecord),
        block: &BlockView<'_>,
        prevouts: Prevouts<'_>,
    ) -> Option<RowFound> {
        let row = match self.index.summary_rows(height..=height, 1) {
            Ok(rows) => rows.into_iter().next()?.1.filter(|row| hash_in(row) == Some(record.hash))?,
            Err(error) => return Some(Err(unreadable(Some(height), &error))),
        };
        let view = prevouts.view_of(block).ok()?;
        let computed = Summary::compute(network, height, block, view.as_ref()).ok()?.pack();
        let found = differences(&row, &computed)?;
        Some(if found.is_empty() { Ok(()) } else { Err(wrong_fields(height, record, &found)) })
    }

    /// Takes note of a row.
    pub(super) fn take(&mut self, row: RowFound) {
        match row {
            Ok(()) => self.report.recomputed += 1,
            Err(wrong) => self.report.say(wrong),
        }
    }

    /// Looks for rows that are damaged, lost, or of another block than the index says.
    pub(super) fn finish(
        mut self,
        chain: &Chain,
        pruned: &BTreeSet<u32>,
        progress: &mut impl FnMut(Progress),
    ) -> IndexReport {
        if let Err(error) = self.statistics(chain, progress) {
            self.report.say(unreadable(None, &error));
        }
        let is_there = |wrong: &Wrong| wrong.place.is_none_or(|(_, position)| !pruned.contains(&position.file));
        let described = self.report.wrong.len();
        self.report.wrong.retain(is_there);
        self.report.wrong_rows -= (described - self.report.wrong.len()) as u64;
        self.report.wrong.sort_by_key(|wrong| (wrong.height, wrong.place));
        self.report
    }

    /// Goes through all rows of statistics, a chunk of heights at a time.
    fn statistics(&mut self, chain: &Chain, progress: &mut impl FnMut(Progress)) -> Result<(), IndexError> {
        let mut chunks: BTreeMap<Height, _> = self.index.chunks()?.into_iter().collect();
        let last = chunks.keys().next_back().copied();
        let top = last.max(chain.tip().and_then(|tip| tip.height)).unwrap_or_default();
        let all = usize::try_from(top.0).unwrap_or(usize::MAX);
        let mut next = Some(Height(0));
        while let Some(first) = next.filter(|first| *first <= top) {
            let end = Height(first.0.saturating_add(CHUNK - 1));
            let rows = self.index.summary_rows(first..=end, usize::MAX)?.into_iter().collect();
            let blocks = chunks.remove(&first).unwrap_or_else(|| Some(Vec::new()));
            if blocks.is_none() {
                let what = format!("which blocks have statistics, from height {first} to {end}, is damaged");
                self.report.say(Wrong { height: None, place: None, what });
            }
            self.chunk(chain, first..=end, blocks, rows);
            next = end.next();
            progress(Progress::Rows(usize::try_from(end.0).unwrap_or(usize::MAX).min(all), all));
        }
        Ok(())
    }

    fn chunk(
        &mut self,
        chain: &Chain,
        heights: std::ops::RangeInclusive<Height>,
        blocks: Option<Vec<Option<BlockHash>>>,
        mut rows: HashMap<Height, Option<Vec<u8>>>,
    ) {
        for (at, height) in (heights.start().0..=heights.end().0).map(Height).enumerate() {
            let said = blocks.as_ref().map(|blocks| blocks.get(at).copied().flatten());
            let row = rows.remove(&height);
            let best = chain.by_height(height);
            self.report.statistics += u64::from(row.is_some());
            self.report.without += u64::from(row.is_none() && best.is_some());
            if let Some(what) = row_is_wrong(height, said, row) {
                self.report.say(Wrong { height: Some(height), place: best.and_then(place_of), what });
            }
        }
    }
}

/// What is wrong with the row of a height, of which the index says that it is of the block `said`.
fn row_is_wrong(height: Height, said: Option<Option<BlockHash>>, row: Option<Option<Vec<u8>>>) -> Option<String> {
    let Some(row) = row else {
        let said = said.flatten()?;
        return Some(format!("no row, though the index says that it has the statistics of block {said}"));
    };
    let Some(row) = row else { return Some("the row of statistics is damaged: its checksum does not hold".to_owned()) };
    let mut reader = Reader::new(&row);
    let summary = match Summary::unpack(&mut reader).and_then(|summary| reader.finish().map(|()| summary)) {
        Ok(summary) => summary,
        Err(error) => return Some(format!("the row of statistics does not decode: {error}")),
    };
    if summary.height != height {
        return Some(format!("the row of statistics says that it is of height {}", summary.height));
    }
    match said {
        Some(Some(said)) if said != summary.hash => {
            Some(format!("the row of statistics is of block {}, the index says of {said}", summary.hash))
        }
        Some(None) => Some(format!("a row of statistics, of block {}, that the index does not know of", summary.hash)),
        _ => None,
    }
}

fn place_of(node: &Node) -> Option<(&'static str, Position)> {
    node.records().next().map(|record| ("blk", record.position))
}

fn unreadable(height: Option<Height>, error: &IndexError) -> Wrong {
    Wrong { height, place: None, what: format!("cannot be read: {error}") }
}

fn hash_in(row: &[u8]) -> Option<BlockHash> {
    use bitcoin::hashes::Hash;
    row.first_chunk().map(|hash| BlockHash::from_byte_array(*hash))
}

fn wrong_fields(height: Height, record: &BlockRecord, found: &[Difference]) -> Wrong {
    let names: Vec<String> = found.iter().take(FIELDS).map(Difference::to_string).collect();
    let more = match found.len().saturating_sub(FIELDS) {
        0 => String::new(),
        more => format!(", and {more} more fields"),
    };
    let what = format!("statistics of block {} (stored / recomputed): {}{more}", record.hash, names.join(", "));
    Wrong { height: Some(height), place: Some(("blk", record.position)), what }
}

/// The first record that a row and a walk do not agree on.
fn block_file_difference(row: &BlockFile, file: &BlockFile) -> Option<Wrong> {
    let (stored, found) = first_difference(&row.records, &file.records)?;
    let what = match (stored, found) {
        (Some(stored), Some(found)) if stored.hash == found.hash => {
            let facts = |r: &BlockRecord| {
                let BlockRecord { position, size, tx_count, stated_height, found, .. } = r;
                let height = stated_height.map_or_else(|| "none".to_owned(), |height| height.to_string());
                format!(
                    "offset {}, {size} bytes, {tx_count} transactions, states height {height}, {found:?}",
                    position.offset
                )
            };
            format!("block {}: stored as {}; the file has {}", found.hash, facts(stored), facts(found))
        }
        (Some(stored), Some(found)) => format!("stored is block {}, the file has block {}", stored.hash, found.hash),
        (Some(stored), None) => format!("stored is block {}, which the file does not have", stored.hash),
        (None, Some(found)) => format!("block {} is not stored, though the file has it", found.hash),
        (None, None) => return None,
    };
    Some(Wrong { height: None, place: found.or(stored).map(|record| ("blk", record.position)), what })
}

/// The first record that a row and fresh pairing do not agree on.
fn undo_file_difference(row: &UndoFile, file: &UndoFile) -> Option<Wrong> {
    let sorted = |file: &UndoFile| {
        let mut records = file.records.clone();
        records.sort_unstable_by_key(|record| (record.position, record.block));
        records
    };
    let (stored, found) = (sorted(row), sorted(file));
    let (stored, found) = first_difference(&stored, &found)?;
    let facts = |record: Option<&UndoRecord>| match record {
        Some(UndoRecord { block, position, size }) => {
            format!("undo of block {block} at offset {}, {size} bytes", position.offset)
        }
        None => "no more undo".to_owned(),
    };
    let what = format!("stored is {}; the file has {}", facts(stored), facts(found));
    Some(Wrong { height: None, place: found.or(stored).map(|record| ("rev", record.position)), what })
}

/// The first place where two lists differ, and what each has there.
fn first_difference<'a, T: PartialEq>(left: &'a [T], right: &'a [T]) -> Option<(Option<&'a T>, Option<&'a T>)> {
    let at = (0..left.len().max(right.len())).find(|&at| left.get(at) != right.get(at))?;
    Some((left.get(at), right.get(at)))
}
