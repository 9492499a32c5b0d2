//! What Hindsight remembers between starts: where things lie in Core's files. The only room that names redb.
//!
//! Everything here is a hint that the files can be asked about again. So a damaged index is set aside and built anew,
//! and a panic inside redb ends at this room's door; only an index that belongs to something else is refused, because
//! deleting it is its owner's choice. Commits are few and whole, with quick repair, so that a kill at any moment costs
//! the next start nothing.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use redb::{Database, DatabaseError, ReadableDatabase, ReadableTable};

use crate::source::{BlockFile, UndoFile};

mod entries;
mod error;
mod tables;

pub use error::IndexError;
use tables::{BLK_FILE_TO_RECORDS, META, REV_FILE_TO_RECORDS, SCHEMA_VERSION};

/// Memory that redb may use for its cache: the rows are read once, at the start.
const CACHE_BYTES: usize = 16 << 20;

/// What an index belongs to. An index of anything else is refused.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Identity {
    /// The network's magic.
    pub magic: [u8; 4],
    /// The blocks directory, as the system names it.
    pub blocks_dir: PathBuf,
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
        let stored = index.load()?;
        Ok((index, stored))
    }

    /// Holds the index against its owner, or makes it the owner's where it is new.
    fn claim(&self, identity: &Identity) -> Result<(), IndexError> {
        let transaction = self.begin_write()?;
        {
            let mut meta = transaction.open_table(META).map_err(|error| self.error(error))?;
            let text = identity.blocks_dir.to_string_lossy().into_owned();
            let own = [("magic", &identity.magic[..]), ("blocks", text.as_bytes())];
            let version = meta.get("schema").map_err(|error| self.error(error))?.map(|found| found.value().to_vec());
            match version {
                None => {
                    let schema = [("schema", &SCHEMA_VERSION.to_le_bytes()[..])];
                    for (key, value) in own.into_iter().chain(schema) {
                        meta.insert(key, value).map_err(|error| self.error(error))?;
                    }
                }
                Some(found) if found != SCHEMA_VERSION.to_le_bytes() => {
                    return Err(IndexError::Version { path: self.path.clone(), ours: SCHEMA_VERSION });
                }
                Some(_) => {
                    for (key, value) in own {
                        let found =
                            meta.get(key).map_err(|error| self.error(error))?.map(|found| found.value().to_vec());
                        if found.as_deref() != Some(value) {
                            return Err(self.foreign(key, &found.unwrap_or_default(), value));
                        }
                    }
                }
            }
        }
        transaction.open_table(BLK_FILE_TO_RECORDS).map_err(|error| self.error(error))?;
        transaction.open_table(REV_FILE_TO_RECORDS).map_err(|error| self.error(error))?;
        transaction.commit().map_err(|error| self.error(error))
    }

    fn foreign(&self, key: &str, found: &[u8], asked: &[u8]) -> IndexError {
        let show = |value: &[u8]| match key {
            "magic" => value.iter().map(|byte| format!("{byte:02x}")).collect(),
            _ => String::from_utf8_lossy(value).into_owned(),
        };
        let what = if key == "magic" { "network magic" } else { "blocks directory" };
        IndexError::Foreign { path: self.path.clone(), what, found: show(found), asked: show(asked) }
    }

    fn load(&self) -> Result<Stored, IndexError> {
        let mut stored = Stored::default();
        let mut damaged = 0_u32;
        let transaction = self.db.begin_read().map_err(|error| self.error(error))?;
        let table = transaction.open_table(BLK_FILE_TO_RECORDS).map_err(|error| self.error(error))?;
        for row in table.iter().map_err(|error| self.error(error))? {
            let (number, value) = row.map_err(|error| self.error(error))?;
            match entries::block_file(number.value(), value.value()) {
                Some(file) => stored.blk.push(file),
                None => damaged += 1,
            }
        }
        let table = transaction.open_table(REV_FILE_TO_RECORDS).map_err(|error| self.error(error))?;
        for row in table.iter().map_err(|error| self.error(error))? {
            let (number, value) = row.map_err(|error| self.error(error))?;
            match entries::undo_file(number.value(), value.value()) {
                Some(file) => stored.rev.push(file),
                None => damaged += 1,
            }
        }
        let damage = format!("{damaged} rows of the index {} were damaged and are read again", self.path.display());
        stored.damage = (damaged > 0).then_some(damage);
        Ok(stored)
    }

    /// Writes all rows of a batch, or none.
    ///
    /// # Errors
    /// As the disk fails; the batch is the caller's to keep and try again.
    pub fn commit(&self, batch: &Batch) -> Result<(), IndexError> {
        guarded(|| {
            let transaction = self.begin_write()?;
            {
                let mut table = transaction.open_table(BLK_FILE_TO_RECORDS).map_err(|error| self.error(error))?;
                for file in &batch.blk {
                    let value = entries::block_file_bytes(file);
                    table.insert(file.number, &value[..]).map_err(|error| self.error(error))?;
                }
                let mut table = transaction.open_table(REV_FILE_TO_RECORDS).map_err(|error| self.error(error))?;
                for file in &batch.rev {
                    let value = entries::undo_file_bytes(file);
                    table.insert(file.number, &value[..]).map_err(|error| self.error(error))?;
                }
            }
            transaction.commit().map_err(|error| self.error(error))
        })
    }

    fn begin_write(&self) -> Result<redb::WriteTransaction, IndexError> {
        let mut transaction = self.db.begin_write().map_err(|error| self.error(error))?;
        transaction.set_quick_repair(true);
        Ok(transaction)
    }

    fn error(&self, error: impl Into<redb::Error>) -> IndexError {
        IndexError::redb(&self.path, error)
    }
}

/// Ends a panic of redb's here: it means that the file is damaged, and the files can still be served without it.
fn guarded<T>(work: impl FnOnce() -> Result<T, IndexError>) -> Result<T, IndexError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(IndexError::Panicked))
}
