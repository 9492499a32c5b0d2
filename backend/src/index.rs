//! What Hindsight remembers between starts: where things lie in Core's files, and the statistics of blocks. The only room
//! that names redb.
//!
//! Everything here is a hint that the files can be asked about again. So a damaged index is set aside and built anew,
//! and a panic inside redb ends at this room's door; only an index that belongs to something else is refused, because
//! deleting it is its owner's choice. Commits are few and whole, with quick repair, so that a kill at any moment costs
//! the next start nothing.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use bitcoin::BlockHash;
use hindsight_shared::Height;
use hindsight_shared::stats::row::Summary;
use itertools::Itertools;
use rayon::prelude::*;
use redb::{ReadableDatabase, ReadableTable};

use crate::source::{BlockFile, UndoFile};

mod entries;
mod error;
mod merge;
mod overlay;
mod run_list;
mod run_rows;
mod runs;
mod store;
mod summaries;
mod tables;
mod view;

pub use error::IndexError;
pub use runs::Runs;
use store::{FILE, Medium, Store};
pub use summaries::Summaries;
pub use tables::SCHEMA_VERSION;
use tables::{BLK_FILE_TO_RECORDS, CHUNK_TO_BLOCKS, HEIGHT_TO_SUMMARY, REV_FILE_TO_RECORDS};
pub use view::{Failure, Live, View};

/// Heights that one row of `CHUNK_TO_BLOCKS` stands for.
pub const CHUNK: u32 = 2016;

/// Bytes of memory for what was read of an index that is only looked at.
const LOOKED_AT: u64 = 32 << 20;

/// What an index belongs to. An index of anything else is refused.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Identity {
    /// The network's magic.
    pub magic: [u8; 4],
    /// The blocks directory, as the system names it.
    pub blocks_dir: PathBuf,
    /// The files' obfuscation key. Rows that were made under another key are dropped: the node started over.
    pub key: [u8; 8],
}

/// Rows to write in one commit.
#[derive(Debug, Default)]
pub struct Batch {
    /// Walked block files.
    pub blk: Vec<BlockFile>,
    /// Paired undo files.
    pub rev: Vec<UndoFile>,
}

impl Batch {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.blk.is_empty() && self.rev.is_empty()
    }
}

/// Rows that are read together, on all cores.
const ROWS_AT_ONCE: usize = 64;

/// A damaged row of a file: `blk` or `rev`, and the file's number.
pub type DamagedRow = (&'static str, u32);

/// The packed statistics of a height; `None` where the row is damaged.
pub type SummaryRow = (Height, Option<Vec<u8>>);

/// The blocks that a chunk of heights has statistics of, from its first height on; `None` where the chunk is damaged.
pub type Chunk = (Height, Option<Vec<Option<BlockHash>>>);

/// The index.
#[derive(Debug)]
pub struct Index {
    store: Store,
}

impl Index {
    /// Opens the index in `dir`, or makes one, with so many bytes of memory for what was read.
    ///
    /// # Errors
    /// [`IndexError::Foreign`] and [`IndexError::Version`] where it belongs to something else, [`IndexError::InUse`]
    /// where another process has it, [`IndexError::Directory`] where it cannot be written.
    pub fn open(dir: &Path, identity: &Identity, cache_bytes: u64) -> Result<Self, IndexError> {
        Store::open(dir, identity, cache_bytes).map(|store| Self { store })
    }

    /// Opens the index in `dir`, if there is one, without changing anything there: what is written stays in memory.
    ///
    /// # Errors
    /// As [`Index::open`], and where the index is damaged.
    pub fn look(dir: &Path, identity: &Identity) -> Result<Option<Self>, IndexError> {
        let Some(path) = Self::file(dir)? else { return Ok(None) };
        Store::on(Medium::Overlay, path, identity, LOOKED_AT).map(|store| Some(Self { store }))
    }

    /// An index that is forgotten with this value.
    ///
    /// # Errors
    /// None that are known of.
    pub fn in_memory(identity: &Identity) -> Result<Self, IndexError> {
        Store::on(Medium::Memory, FILE.into(), identity, LOOKED_AT).map(|store| Self { store })
    }

    /// What the index in `dir` belongs to, if there is one.
    ///
    /// # Errors
    /// Where it cannot be read, is in use, or of another version.
    pub fn owner(dir: &Path) -> Result<Option<Identity>, IndexError> {
        Self::file(dir)?.map_or(Ok(None), |path| Store::owner(&path))
    }

    fn file(dir: &Path) -> Result<Option<PathBuf>, IndexError> {
        let path = dir.join(FILE);
        let there = path.try_exists().map_err(|error| IndexError::directory(dir, &error))?;
        Ok(there.then_some(path))
    }

    /// Raised whenever everything in the index is gone, because it was damaged or the node started over.
    pub fn generation(&self) -> u32 {
        self.store.generation()
    }

    /// What was wrong with the index, in a sentence, if it had to be set aside.
    pub fn damage(&self) -> Option<String> {
        self.store.damage()
    }

    /// Hands over all rows of files that are believable, by number, those of block files first: one after the other,
    /// since together they are large. Damaged ones are named, and are to be read again from the files.
    ///
    /// # Errors
    /// As the disk fails.
    pub fn load(&self, blk: impl FnMut(BlockFile), rev: impl FnMut(UndoFile)) -> Result<Vec<DamagedRow>, IndexError> {
        self.store.run(|db| {
            let transaction = db.begin_read()?;
            let bad_blk = read_rows(&transaction.open_table(BLK_FILE_TO_RECORDS)?, entries::block_file, blk)?;
            let bad_rev = read_rows(&transaction.open_table(REV_FILE_TO_RECORDS)?, entries::undo_file, rev)?;
            let bad = bad_blk.into_iter().map(|number| ("blk", number));
            Ok(bad.chain(bad_rev.into_iter().map(|number| ("rev", number))).collect())
        })
    }

    /// Writes all rows of a batch, or none.
    ///
    /// # Errors
    /// As the disk fails; the batch is the caller's to keep and try again.
    pub fn commit(&self, batch: &Batch) -> Result<(), IndexError> {
        self.store.write(|transaction| {
            let mut table = transaction.open_table(BLK_FILE_TO_RECORDS)?;
            for file in &batch.blk {
                table.insert(file.number, &entries::block_file_bytes(file)[..])?;
            }
            let mut table = transaction.open_table(REV_FILE_TO_RECORDS)?;
            for file in &batch.rev {
                table.insert(file.number, &entries::undo_file_bytes(file)[..])?;
            }
            Ok(())
        })
    }

    /// The packed statistics of a height; `None` where there are none, or they are damaged.
    ///
    /// # Errors
    /// As the disk fails.
    fn summary(&self, height: Height) -> Result<Option<Vec<u8>>, IndexError> {
        self.store.run(|db| {
            let table = db.begin_read()?.open_table(HEIGHT_TO_SUMMARY)?;
            let found = table.get(height.0)?;
            Ok(found.and_then(|value| entries::unsealed(value.value()).map(<[u8]>::to_vec)))
        })
    }

    /// The rows of statistics of up to `most` heights, lowest first.
    ///
    /// # Errors
    /// As the disk fails.
    pub fn summary_rows(&self, heights: RangeInclusive<Height>, most: usize) -> Result<Vec<SummaryRow>, IndexError> {
        self.store.run(|db| {
            let table = db.begin_read()?.open_table(HEIGHT_TO_SUMMARY)?;
            let mut rows = Vec::new();
            for row in table.range(heights.start().0..=heights.end().0)?.take(most) {
                let (height, value) = row?;
                rows.push((Height(height.value()), entries::unsealed(value.value()).map(<[u8]>::to_vec)));
            }
            Ok(rows)
        })
    }

    /// Writes statistics, all or none, and of which block each is.
    ///
    /// # Errors
    /// As the disk fails.
    fn commit_summaries<'a>(&self, rows: impl Iterator<Item = &'a Summary> + Clone) -> Result<(), IndexError> {
        self.store.write(|transaction| {
            let mut table = transaction.open_table(HEIGHT_TO_SUMMARY)?;
            let mut chunks = transaction.open_table(CHUNK_TO_BLOCKS)?;
            let mut open: Option<(u32, Vec<Option<BlockHash>>)> = None;
            for row in rows.clone() {
                table.insert(row.height.0, &entries::sealed(row.pack())[..])?;
                let number = row.height.0 / CHUNK;
                if open.as_ref().is_none_or(|(open, _)| *open != number) {
                    if let Some((number, blocks)) = open.take() {
                        chunks.insert(number, &entries::chunk_bytes(&blocks)[..])?;
                    }
                    let known = chunks.get(number)?.and_then(|value| entries::chunk(value.value()));
                    open = Some((number, known.unwrap_or_else(|| vec![None; entries::index(CHUNK)])));
                }
                if let Some((_, blocks)) = &mut open {
                    blocks[entries::index(row.height.0 % CHUNK)] = Some(row.hash);
                }
            }
            if let Some((number, blocks)) = open {
                chunks.insert(number, &entries::chunk_bytes(&blocks)[..])?;
            }
            Ok(())
        })
    }

    /// Heights with statistics and the block that each row is of.
    ///
    /// # Errors
    /// As the disk fails.
    fn summary_heights(&self) -> Result<Vec<(Height, BlockHash)>, IndexError> {
        let mut heights = Vec::new();
        for (first, blocks) in self.chunks()? {
            let blocks = (first.0..).zip(blocks.unwrap_or_default());
            heights.extend(blocks.filter_map(|(height, hash)| Some((Height(height), hash?))));
        }
        Ok(heights)
    }

    /// Which blocks there are statistics of, by chunks of heights, lowest first.
    ///
    /// # Errors
    /// As the disk fails.
    pub fn chunks(&self) -> Result<Vec<Chunk>, IndexError> {
        self.store.run(|db| {
            let table = db.begin_read()?.open_table(CHUNK_TO_BLOCKS)?;
            let mut chunks = Vec::new();
            for row in table.iter()? {
                let (number, value) = row?;
                chunks.push((Height(number.value().saturating_mul(CHUNK)), entries::chunk(value.value())));
            }
            Ok(chunks)
        })
    }

    /// Forgets every row and takes over another obfuscation key: the node has started over with new files.
    ///
    /// # Errors
    /// As the disk fails.
    pub fn start_over(&self, identity: &Identity) -> Result<(), IndexError> {
        self.store.start_over(identity)
    }
}

/// Every believable row of a table, and the numbers of the others.
fn read_rows<T: Send>(
    table: &impl ReadableTable<u32, &'static [u8]>,
    read: impl Fn(u32, &[u8]) -> Option<T> + Sync,
    mut take: impl FnMut(T),
) -> Result<Vec<u32>, redb::Error> {
    let mut bad = Vec::new();
    let rows = table.iter()?.map_ok(|(number, bytes)| (number.value(), bytes.value().to_vec()));
    for rows in &rows.chunks(ROWS_AT_ONCE) {
        let rows: Vec<(u32, Vec<u8>)> = rows.collect::<Result<_, _>>()?;
        let read: Vec<(u32, Option<T>)> =
            rows.par_iter().map(|(number, bytes)| (*number, read(*number, bytes))).collect();
        for (number, row) in read {
            match row {
                Some(row) => take(row),
                None => bad.push(number),
            }
        }
    }
    Ok(bad)
}
