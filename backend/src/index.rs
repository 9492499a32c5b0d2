//! What Hindsight remembers between starts: where things lie in Core's files. The only room that names redb.
//!
//! Everything here is a hint that the files can be asked about again. So a damaged index is set aside and built anew,
//! and a panic inside redb ends at this room's door; only an index that belongs to something else is refused, because
//! deleting it is its owner's choice. Commits are few and whole, with quick repair, so that a kill at any moment costs
//! the next start nothing.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use bitcoin::BlockHash;
use bitcoin::hashes::Hash;
use hindsight_shared::Height;
use redb::{Database, DatabaseError, ReadableDatabase, ReadableTable, TableError, WriteTransaction};

use crate::source::{BlockFile, UndoFile};

mod entries;
mod error;
mod summaries;
mod tables;

pub use error::IndexError;
pub use summaries::Summaries;
use tables::{BLK_FILE_TO_RECORDS, HEIGHT_TO_SUMMARY, META, REV_FILE_TO_RECORDS, SCHEMA_VERSION};

/// Memory that redb may use for its cache: the rows are read once, at the start.
const CACHE_BYTES: usize = 16 << 20;

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

/// Everything an index held when it was opened.
#[derive(Debug, Default)]
pub struct Stored {
    /// Walked block files, by number.
    pub blk: Vec<BlockFile>,
    /// Paired undo files, by number.
    pub rev: Vec<UndoFile>,
    /// What was wrong with the index, in a sentence; what is missing for that reason will be read again.
    pub damage: Option<String>,
}

/// The open index.
#[derive(Debug)]
pub struct Index {
    path: PathBuf,
    db: Database,
}

impl Index {
    /// Opens the index in `dir`, or makes one, and reads all of it.
    ///
    /// # Errors
    /// [`IndexError::Foreign`] and [`IndexError::Version`] where it belongs to something else, [`IndexError::InUse`]
    /// where another process has it, [`IndexError::Directory`] where it cannot be written.
    pub fn open(dir: &Path, identity: &Identity) -> Result<(Self, Stored), IndexError> {
        fs::create_dir_all(dir).map_err(|error| IndexError::directory(dir, &error))?;
        let path = dir.join("index.redb");
        match guarded(|| Self::try_open(&path, identity)) {
            Err(error) if error.is_damage() => {
                let aside = path.with_extension("damaged");
                fs::rename(&path, &aside).map_err(|error| IndexError::directory(dir, &error))?;
                let (index, mut stored) = guarded(|| Self::try_open(&path, identity))?;
                let damage = format!("{error}; it was moved to {} and is being built anew", aside.display());
                stored.damage = Some(damage);
                Ok((index, stored))
            }
            opened => opened,
        }
    }

    fn try_open(path: &Path, identity: &Identity) -> Result<(Self, Stored), IndexError> {
        let db = redb::Builder::new().set_cache_size(CACHE_BYTES).create(path).map_err(|error| match error {
            DatabaseError::DatabaseAlreadyOpen => IndexError::InUse { path: path.to_owned() },
            other => IndexError::redb(path, other),
        })?;
        let index = Self { path: path.to_owned(), db };
        index.claim(identity)?;
        let stored = index.load().map_err(|error| index.error(error))?;
        Ok((index, stored))
    }

    /// Holds the index against its owner, or makes it the owner's where it is new.
    fn claim(&self, identity: &Identity) -> Result<(), IndexError> {
        let owner = self.owner().map_err(|error| self.error(error))?;
        if let Some(owner) = &owner {
            if owner.schema != SCHEMA_VERSION.to_le_bytes() {
                return Err(IndexError::Version { path: self.path.clone(), ours: SCHEMA_VERSION });
            }
            if owner.magic != identity.magic {
                let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                return Err(self.foreign("network magic", hex(&owner.magic), hex(&identity.magic)));
            }
            if owner.blocks_dir != path_bytes(identity) {
                let found = String::from_utf8_lossy(&owner.blocks_dir).into_owned();
                return Err(self.foreign("blocks directory", found, identity.blocks_dir.display().to_string()));
            }
        }
        let same_files = owner.is_some_and(|owner| owner.key == identity.key);
        self.own(identity, same_files).map_err(|error| self.error(error))
    }

    fn foreign(&self, what: &'static str, found: String, asked: String) -> IndexError {
        IndexError::Foreign { path: self.path.clone(), what, found, asked }
    }

    fn owner(&self) -> Result<Option<Owner>, redb::Error> {
        let transaction = self.db.begin_read()?;
        let meta = match transaction.open_table(META) {
            Err(TableError::TableDoesNotExist(_)) => return Ok(None),
            opened => opened?,
        };
        let value = |key| Ok::<_, redb::Error>(meta.get(key)?.map(|found| found.value().to_vec()).unwrap_or_default());
        let schema = value("schema")?;
        let owner = Owner { schema, magic: value("magic")?, blocks_dir: value("blocks")?, key: value("xor")? };
        Ok(Some(owner))
    }

    fn own(&self, identity: &Identity, keep_rows: bool) -> Result<(), redb::Error> {
        let transaction = self.begin_write()?;
        {
            let mut meta = transaction.open_table(META)?;
            meta.insert("schema", &SCHEMA_VERSION.to_le_bytes()[..])?;
            meta.insert("magic", &identity.magic[..])?;
            meta.insert("blocks", path_bytes(identity))?;
            meta.insert("xor", &identity.key[..])?;
            if !keep_rows {
                transaction.delete_table(BLK_FILE_TO_RECORDS)?;
                transaction.delete_table(REV_FILE_TO_RECORDS)?;
                transaction.delete_table(HEIGHT_TO_SUMMARY)?;
            }
            transaction.open_table(BLK_FILE_TO_RECORDS)?;
            transaction.open_table(REV_FILE_TO_RECORDS)?;
            transaction.open_table(HEIGHT_TO_SUMMARY)?;
        }
        Ok(transaction.commit()?)
    }

    fn load(&self) -> Result<Stored, redb::Error> {
        let transaction = self.db.begin_read()?;
        let (blk, bad_blk) = read_rows(&transaction.open_table(BLK_FILE_TO_RECORDS)?, entries::block_file)?;
        let (rev, bad_rev) = read_rows(&transaction.open_table(REV_FILE_TO_RECORDS)?, entries::undo_file)?;
        let bad = bad_blk + bad_rev;
        let damage = format!("{bad} rows of the index {} were damaged and are read again", self.path.display());
        Ok(Stored { blk, rev, damage: (bad > 0).then_some(damage) })
    }

    /// Writes all rows of a batch, or none.
    ///
    /// # Errors
    /// As the disk fails; the batch is the caller's to keep and try again.
    pub fn commit(&self, batch: &Batch) -> Result<(), IndexError> {
        guarded(|| self.write(batch).map_err(|error| self.error(error)))
    }

    fn write(&self, batch: &Batch) -> Result<(), redb::Error> {
        let transaction = self.begin_write()?;
        {
            let mut table = transaction.open_table(BLK_FILE_TO_RECORDS)?;
            for file in &batch.blk {
                table.insert(file.number, &entries::block_file_bytes(file)[..])?;
            }
            let mut table = transaction.open_table(REV_FILE_TO_RECORDS)?;
            for file in &batch.rev {
                table.insert(file.number, &entries::undo_file_bytes(file)[..])?;
            }
        }
        Ok(transaction.commit()?)
    }

    /// The packed statistics of a height; `None` where there are none, or they are damaged.
    ///
    /// # Errors
    /// As the disk fails.
    pub fn summary(&self, height: Height) -> Result<Option<Vec<u8>>, IndexError> {
        guarded(|| self.read_summary(height).map_err(|error| self.error(error)))
    }

    fn read_summary(&self, height: Height) -> Result<Option<Vec<u8>>, redb::Error> {
        let table = self.db.begin_read()?.open_table(HEIGHT_TO_SUMMARY)?;
        let found = table.get(height.0)?;
        Ok(found.and_then(|value| entries::unsealed(value.value()).map(<[u8]>::to_vec)))
    }

    /// Writes packed statistics, all or none.
    ///
    /// # Errors
    /// As the disk fails.
    pub fn commit_summaries(&self, rows: impl Iterator<Item = (u32, Vec<u8>)>) -> Result<(), IndexError> {
        guarded(|| self.write_summaries(rows).map_err(|error| self.error(error)))
    }

    fn write_summaries(&self, rows: impl Iterator<Item = (u32, Vec<u8>)>) -> Result<(), redb::Error> {
        let transaction = self.begin_write()?;
        {
            let mut table = transaction.open_table(HEIGHT_TO_SUMMARY)?;
            for (height, row) in rows {
                table.insert(height, &entries::sealed(row)[..])?;
            }
        }
        Ok(transaction.commit()?)
    }

    /// Heights with statistics and the block that each row is of, newest first. Damaged rows are left out.
    ///
    /// # Errors
    /// As the disk fails.
    pub fn summary_heights(&self) -> Result<Vec<(Height, BlockHash)>, IndexError> {
        guarded(|| self.read_summary_heights().map_err(|error| self.error(error)))
    }

    fn read_summary_heights(&self) -> Result<Vec<(Height, BlockHash)>, redb::Error> {
        let table = self.db.begin_read()?.open_table(HEIGHT_TO_SUMMARY)?;
        let mut heights = Vec::new();
        for row in table.iter()?.rev() {
            let (height, value) = row?;
            // The hash stands first; the whole row is held against its checksum when it is read.
            let hash = value.value().first_chunk::<32>().map(|hash| BlockHash::from_byte_array(*hash));
            heights.extend(hash.map(|hash| (Height(height.value()), hash)));
        }
        Ok(heights)
    }

    /// Forgets every row and takes over another obfuscation key: the node has started over with new files.
    ///
    /// # Errors
    /// As the disk fails.
    pub fn start_over(&self, identity: &Identity) -> Result<(), IndexError> {
        guarded(|| self.own(identity, false).map_err(|error| self.error(error)))
    }

    fn begin_write(&self) -> Result<WriteTransaction, redb::Error> {
        let mut transaction = self.db.begin_write()?;
        transaction.set_quick_repair(true);
        Ok(transaction)
    }

    fn error(&self, error: impl Into<redb::Error>) -> IndexError {
        IndexError::redb(&self.path, error)
    }
}

/// What the index says of its owner, byte by byte.
struct Owner {
    schema: Vec<u8>,
    magic: Vec<u8>,
    blocks_dir: Vec<u8>,
    key: Vec<u8>,
}

fn path_bytes(identity: &Identity) -> &[u8] {
    identity.blocks_dir.as_os_str().as_encoded_bytes()
}

/// Every believable row of a table, and how many are not.
fn read_rows<T>(
    table: &impl ReadableTable<u32, &'static [u8]>,
    read: impl Fn(u32, &[u8]) -> Option<T>,
) -> Result<(Vec<T>, usize), redb::Error> {
    let mut rows = Vec::new();
    let mut bad = 0;
    for row in table.iter()? {
        let (number, value) = row?;
        match read(number.value(), value.value()) {
            Some(entry) => rows.push(entry),
            None => bad += 1,
        }
    }
    Ok((rows, bad))
}

/// Ends a panic of redb's here: it means that the file is damaged, and the files can still be served without it.
fn guarded<T>(work: impl FnOnce() -> Result<T, IndexError>) -> Result<T, IndexError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(IndexError::Panicked))
}
