//! The redb file: opened, held against its owner, and opened again when it fails.
//!
//! After an I/O error redb refuses everything until it is opened anew, and on some damage it panics. Both end here: the
//! first is mended by opening the file again, the second by setting it aside and starting an empty one. Whoever keeps
//! rows elsewhere sees by [`Store::generation`] that they have to be written again.
//!
//! Whoever only looks leaves the file as it is: what is written goes to memory ([`Medium`]), and damage is an error.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::{Mutex, RwLock};
use redb::backends::InMemoryBackend;
use redb::{Database, DatabaseError, ReadableDatabase, TableDefinition, TableError, WriteTransaction};
use rustix::fs::statvfs;

use super::overlay::Overlay;
use super::tables::{
    BLK_FILE_TO_RECORDS, CHUNK_TO_BLOCKS, HEIGHT_TO_SIZES, HEIGHT_TO_SUMMARY, LIVE, META, REV_FILE_TO_RECORDS,
    RUN_TO_HEAD, SCHEMA_VERSION, page_table,
};
use super::{Identity, IndexError};
use crate::runs::hashes::Secret;
use crate::runs::run::Kind;

/// Bytes of the index's disk that are left to others, or this part of a small one: runs grow to tens of gigabytes.
const KEPT_FREE: u64 = 2 << 30;
const KEPT_FREE_PART: u64 = 50;

/// Name of the file in an index's directory.
pub const FILE: &str = "index.redb";

/// Where an index is kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Medium {
    /// In its file.
    File,
    /// In its file as it is; what is written stays in memory and is forgotten.
    Overlay,
    /// Nowhere.
    Memory,
}

/// The file and what it belongs to.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    medium: Medium,
    /// Memory that redb may use for its cache.
    cache_bytes: usize,
    identity: Mutex<Identity>,
    secret: Mutex<Secret>,
    db: RwLock<Option<Database>>,
    generation: AtomicU32,
    epoch: AtomicU32,
    damage: Mutex<Option<String>>,
}

impl Store {
    /// Opens the file in `dir`, or makes one.
    pub fn open(dir: &Path, identity: &Identity, cache_bytes: u64) -> Result<Self, IndexError> {
        fs::create_dir_all(dir).map_err(|error| IndexError::directory(dir, &error))?;
        Self::on(Medium::File, dir.join(FILE), identity, cache_bytes)
    }

    /// Opens what is at `path` on a medium.
    pub fn on(medium: Medium, path: PathBuf, identity: &Identity, cache_bytes: u64) -> Result<Self, IndexError> {
        let store = Self {
            medium,
            cache_bytes: usize::try_from(cache_bytes).unwrap_or(usize::MAX),
            identity: Mutex::new(identity.clone()),
            secret: Mutex::new(Secret::random().map_err(|error| IndexError::directory(&path, &error))?),
            path,
            db: RwLock::new(None),
            generation: AtomicU32::new(0),
            epoch: AtomicU32::new(0),
            damage: Mutex::new(None),
        };
        match store.reopen() {
            Err(error) if error.is_damage() && medium == Medium::File => store.set_aside(&error)?,
            opened => opened?,
        }
        Ok(store)
    }

    /// What the file at `path` says that it belongs to; nothing where it is new.
    pub fn owner(path: &Path) -> Result<Option<Identity>, IndexError> {
        let db = guarded(|| connect(Medium::Overlay, path, 0))?;
        let owner = guarded(|| owner(&db).map_err(|error| IndexError::redb(path, error)))?;
        owner.map(|owner| owner.identity(path)).transpose()
    }

    /// Raised whenever the file had to be started anew: everything in it is gone.
    pub fn generation(&self) -> u32 {
        self.generation.load(Ordering::Acquire)
    }

    /// Raised whenever a state that was read before no longer is one of this file: it was opened anew, or started anew.
    pub fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::Acquire)
    }

    /// What was wrong with the file, in a sentence, if it was set aside.
    pub fn damage(&self) -> Option<String> {
        self.damage.lock().clone()
    }

    /// Reads from the file, or writes to it.
    pub fn run<T>(&self, work: impl FnOnce(&Database) -> Result<T, redb::Error>) -> Result<T, IndexError> {
        if self.db.read().is_none() {
            self.reopen()?;
        }
        let outcome = guarded(|| match &*self.db.read() {
            Some(db) => work(db).map_err(|error| self.error(error)),
            None => Err(self.error(redb::Error::PreviousIo)),
        });
        if let Err(error) = &outcome {
            self.recover(error)?;
        }
        outcome
    }

    /// Writes in one transaction, all or nothing, in a way that a kill at any moment costs the next start nothing.
    pub fn write<T>(&self, work: impl FnOnce(&WriteTransaction) -> Result<T, redb::Error>) -> Result<T, IndexError> {
        self.run(|db| {
            let mut transaction = db.begin_write()?;
            transaction.set_quick_repair(true);
            let value = work(&transaction)?;
            transaction.commit()?;
            Ok(value)
        })
    }

    /// Refuses where little of the disk is left: the node may keep its blocks there, and stops when it is full.
    pub fn has_room(&self) -> Result<(), IndexError> {
        if self.medium != Medium::File {
            return Ok(());
        }
        // Where the system does not say, writing will.
        let Ok(disk) = statvfs(&self.path) else { return Ok(()) };
        let (left, all) = (disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize);
        if left >= KEPT_FREE.min(all / KEPT_FREE_PART) {
            return Ok(());
        }
        let reason = format!("only {} MB of the disk are left, which the node may need", left >> 20);
        Err(IndexError::Full { path: self.path.clone(), reason })
    }

    /// Takes over another obfuscation key and forgets every row: the node has started over with new files.
    pub fn start_over(&self, identity: &Identity) -> Result<(), IndexError> {
        *self.identity.lock() = identity.clone();
        let outcome = self.write(|transaction| own(transaction, identity, self.secret(), false));
        self.generation.fetch_add(1, Ordering::AcqRel);
        self.epoch.fetch_add(1, Ordering::AcqRel);
        outcome
    }

    /// What this index hashes scripts with: the same as long as this value lives, whatever becomes of the file.
    pub fn secret(&self) -> Secret {
        *self.secret.lock()
    }

    fn recover(&self, error: &IndexError) -> Result<(), IndexError> {
        if error.is_damage() && self.medium == Medium::File {
            return self.set_aside(error);
        }
        if error.is_latched() {
            self.close();
            self.reopen()?;
        }
        Ok(())
    }

    /// Moves the file out of the way and starts an empty one.
    fn set_aside(&self, error: &IndexError) -> Result<(), IndexError> {
        self.close();
        let aside = self.path.with_extension("damaged");
        fs::rename(&self.path, &aside).map_err(|error| IndexError::directory(&self.path, &error))?;
        let text = format!("{error}; it was moved to {} and is being built anew", aside.display());
        tracing::warn!("{text}");
        *self.damage.lock() = Some(text);
        self.generation.fetch_add(1, Ordering::AcqRel);
        self.reopen()
    }

    fn close(&self) {
        let db = self.db.write().take();
        // A database that has panicked may do so again.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(db)));
    }

    fn reopen(&self) -> Result<(), IndexError> {
        let mut place = self.db.write();
        if place.is_some() {
            return Ok(());
        }
        let db = guarded(|| {
            let db = connect(self.medium, &self.path, self.cache_bytes)?;
            self.claim(&db)?;
            Ok(db)
        })?;
        *place = Some(db);
        self.epoch.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// Holds the file against its owner, or makes it the owner's where it is new.
    fn claim(&self, db: &Database) -> Result<(), IndexError> {
        let identity = self.identity.lock().clone();
        let owner = owner(db).map_err(|error| self.error(error))?;
        if let Some(owner) = &owner {
            owner.has_our_form(&self.path)?;
            if owner.magic != identity.magic {
                let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                return Err(self.foreign("network magic", hex(&owner.magic), hex(&identity.magic)));
            }
            if owner.blocks_dir != path_bytes(&identity) {
                let found = String::from_utf8_lossy(&owner.blocks_dir).into_owned();
                return Err(self.foreign("blocks directory", found, identity.blocks_dir.display().to_string()));
            }
        }
        let same_files = owner.as_ref().is_some_and(|owner| owner.key == identity.key);
        let secret = owner.and_then(|owner| owner.secret.try_into().ok());
        if let Some(secret) = secret.filter(|_| same_files) {
            *self.secret.lock() = Secret(secret);
        }
        let write = || -> Result<(), redb::Error> {
            let mut transaction = db.begin_write()?;
            transaction.set_quick_repair(true);
            own(&transaction, &identity, self.secret(), same_files)?;
            Ok(transaction.commit()?)
        };
        write().map_err(|error| self.error(error))
    }

    fn foreign(&self, what: &'static str, found: String, asked: String) -> IndexError {
        IndexError::Foreign { path: self.path.clone(), what, found, asked }
    }

    fn error(&self, error: impl Into<redb::Error>) -> IndexError {
        IndexError::redb(&self.path, error)
    }
}

/// What a file says of its owner, byte by byte.
struct Owner {
    schema: Vec<u8>,
    magic: Vec<u8>,
    blocks_dir: Vec<u8>,
    key: Vec<u8>,
    secret: Vec<u8>,
}

impl Owner {
    fn has_our_form(&self, path: &Path) -> Result<(), IndexError> {
        let ours = self.schema == SCHEMA_VERSION.to_le_bytes();
        ours.then_some(()).ok_or_else(|| IndexError::Version { path: path.to_owned(), ours: SCHEMA_VERSION })
    }

    fn identity(self, path: &Path) -> Result<Identity, IndexError> {
        self.has_our_form(path)?;
        let fixed = |_| IndexError::redb(path, redb::Error::Corrupted("what it belongs to is damaged".to_owned()));
        Ok(Identity {
            magic: self.magic.try_into().map_err(fixed)?,
            blocks_dir: OsString::from_vec(self.blocks_dir).into(),
            key: self.key.try_into().map_err(fixed)?,
        })
    }
}

/// Opens the database at `path`.
fn connect(medium: Medium, path: &Path, cache: usize) -> Result<Database, IndexError> {
    let is_new = || path.try_exists().is_ok_and(|there| !there);
    if medium == Medium::File && is_new() { make(path, cache) } else { open(medium, path, path, cache) }
}

/// Makes an empty database and gives it its name when it is whole: a kill leaves none that looks damaged.
fn make(path: &Path, cache: usize) -> Result<Database, IndexError> {
    let unnamed = path.with_extension("new");
    let failed = |error| IndexError::directory(path, &error);
    let db = match guarded(|| open(Medium::File, &unnamed, path, cache)) {
        Ok(db) => db,
        Err(in_use @ IndexError::InUse { .. }) => return Err(in_use),
        // A start that was killed may have left it half made.
        Err(_) if unnamed.exists() => {
            fs::remove_file(&unnamed).map_err(failed)?;
            open(Medium::File, &unnamed, path, cache)?
        }
        Err(error) => return Err(error),
    };
    if path.exists() {
        // Another instance has named its own before this one was made.
        fs::remove_file(&unnamed).map_err(failed)?;
        return open(Medium::File, path, path, cache);
    }
    // The lock goes with the file.
    fs::rename(&unnamed, path).map_err(failed)?;
    Ok(db)
}

/// Opens what lies at a place; errors tell the name that it has for others.
fn open(medium: Medium, place: &Path, path: &Path, cache: usize) -> Result<Database, IndexError> {
    let mut builder = redb::Builder::new();
    builder.set_cache_size(cache);
    let opened = match medium {
        Medium::File => builder.create(place),
        Medium::Overlay => Overlay::open(place).and_then(|overlay| builder.create_with_backend(overlay)),
        Medium::Memory => builder.create_with_backend(InMemoryBackend::new()),
    };
    opened.map_err(|error| match error {
        DatabaseError::DatabaseAlreadyOpen => IndexError::InUse { path: path.to_owned() },
        other => IndexError::redb(path, other),
    })
}

fn owner(db: &Database) -> Result<Option<Owner>, redb::Error> {
    let transaction = db.begin_read()?;
    let meta = match transaction.open_table(META) {
        Err(TableError::TableDoesNotExist(_)) => return Ok(None),
        opened => opened?,
    };
    let value = |key| Ok::<_, redb::Error>(meta.get(key)?.map(|found| found.value().to_vec()).unwrap_or_default());
    let schema = value("schema")?;
    Ok(Some(Owner {
        schema,
        magic: value("magic")?,
        blocks_dir: value("blocks")?,
        key: value("xor")?,
        secret: value("secret")?,
    }))
}

fn own(
    transaction: &WriteTransaction,
    identity: &Identity,
    secret: Secret,
    keep_rows: bool,
) -> Result<(), redb::Error> {
    let mut meta = transaction.open_table(META)?;
    meta.insert("schema", &SCHEMA_VERSION.to_le_bytes()[..])?;
    meta.insert("magic", &identity.magic[..])?;
    meta.insert("blocks", path_bytes(identity))?;
    meta.insert("xor", &identity.key[..])?;
    meta.insert("secret", &secret.0[..])?;
    let files = [BLK_FILE_TO_RECORDS, REV_FILE_TO_RECORDS, HEIGHT_TO_SUMMARY, CHUNK_TO_BLOCKS];
    for table in files.into_iter().chain([RUN_TO_HEAD, HEIGHT_TO_SIZES]) {
        anew(transaction, table, keep_rows)?;
    }
    for kind in Kind::ALL {
        anew(transaction, page_table(kind), keep_rows)?;
    }
    anew(transaction, LIVE, keep_rows)
}

/// Makes a table, or empties it.
fn anew<K: redb::Key + 'static, V: redb::Value + 'static>(
    transaction: &WriteTransaction,
    table: TableDefinition<'_, K, V>,
    keep_rows: bool,
) -> Result<(), redb::Error> {
    if !keep_rows {
        transaction.delete_table(table)?;
    }
    transaction.open_table(table)?;
    Ok(())
}

fn path_bytes(identity: &Identity) -> &[u8] {
    identity.blocks_dir.as_os_str().as_encoded_bytes()
}

/// Ends a panic of redb's here: it means that the file is damaged, and the files can still be served without it.
fn guarded<T>(work: impl FnOnce() -> Result<T, IndexError>) -> Result<T, IndexError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(IndexError::Panicked))
}
