//! What Core's own block index says of where blocks are: hints that let the map begin before every file is read.
//!
//! The index (`blocks/index`) is a LevelDB that lags behind the files and is locked while the node runs. Its files are
//! read into memory one by one, without the lock: see [`leveldb`](super::leveldb). An entry holds the block's header, which
//! proves itself to whoever knows the block that follows it, and the number of a file, which is believed for nothing but
//! the order in which files are read.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use bitcoin::BlockHash;
use bitcoin::block::Header;
use hindsight_shared::block::header;
use hindsight_shared::bytes::Reader;

use super::bulk::drop_pages;
use super::{CoreFiles, leveldb};

/// The first byte of the keys of blocks (`DB_BLOCK_INDEX`); the hash follows.
const BLOCK: u8 = b'b';

/// Flags of an entry: block and undo are stored (`BLOCK_HAVE_DATA`, `BLOCK_HAVE_UNDO`).
const HAVE_DATA: u64 = 8;
const HAVE_UNDO: u64 = 16;

/// Larger files are left alone: Core's have 32 MiB at most (`DBWRAPPER_MAX_FILE_SIZE`), besides a log.
const LARGEST: u64 = 256 << 20;

/// A block that the node says it stores.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Hint {
    /// Its header.
    pub header: Header,
    /// The hash of that header, whatever the entry's key says.
    pub hash: BlockHash,
    /// The number of the `blk*.dat` that may hold it.
    pub file: u32,
}

/// Hints, one for each block.
#[derive(Clone, Debug, Default)]
pub struct Hints(Vec<Hint>);

impl Hints {
    /// The hint of a block.
    #[must_use]
    pub fn get(&self, hash: &BlockHash) -> Option<&Hint> {
        self.0.binary_search_by_key(hash, |hint| hint.hash).ok().and_then(|at| self.0.get(at))
    }

    /// All of them, by hash.
    pub fn iter(&self) -> impl Iterator<Item = &Hint> {
        self.0.iter()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What a table of LevelDB (`*.ldb`) holds.
    #[must_use]
    pub fn of_table(file: &[u8]) -> Self {
        let mut found = Vec::new();
        leveldb::table(file, |key, value| found.extend(hint(key, value)));
        Self::of(found)
    }

    /// What a log of LevelDB (`*.log`) holds.
    #[must_use]
    pub fn of_log(file: &[u8]) -> Self {
        let mut found = Vec::new();
        leveldb::log(file, |key, value| found.extend(hint(key, value)));
        Self::of(found)
    }

    fn of(mut found: Vec<Hint>) -> Self {
        found.sort_unstable_by_key(|hint| hint.hash);
        found.dedup_by_key(|hint| hint.hash);
        Self(found)
    }
}

impl CoreFiles {
    /// The node's own index of blocks as far as it can be read, while `wanted` says so; nothing where there is none.
    pub fn hints(&self, wanted: impl Fn() -> bool) -> Hints {
        let mut found = Vec::new();
        let entries = fs::read_dir(&self.datadir.block_index).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()).take_while(|_| wanted()) {
            let hints = match path.extension().and_then(|ending| ending.to_str()) {
                Some("ldb") => read(&path).map(|bytes| Hints::of_table(&bytes)),
                Some("log") => read(&path).map(|bytes| Hints::of_log(&bytes)),
                _ => continue,
            };
            match hints {
                Ok(hints) => found.extend(hints.0),
                // It may be gone by now: what was in it is in others.
                Err(error) => tracing::debug!(%error, path = %path.display(), "no hints from here"),
            }
        }
        Hints::of(found)
    }
}

/// All of a file of the index.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let mut bytes = Vec::new();
    (&file).take(LARGEST).read_to_end(&mut bytes)?;
    drop_pages(&file, 0, bytes.len() as u64);
    Ok(bytes)
}

/// What an entry says of a block that is stored (`CDiskBlockIndex`).
fn hint(key: &[u8], value: &[u8]) -> Option<Hint> {
    if key.first() != Some(&BLOCK) {
        return None;
    }
    let mut reader = Reader::new(value);
    let [_version, _height, status, _tx_count] = [(); 4].map(|()| reader.varint().ok());
    let status = status.filter(|status| status & HAVE_DATA != 0)?;
    let file = u32::try_from(reader.varint().ok()?).ok()?;
    let _position = reader.varint().ok()?;
    if status & HAVE_UNDO != 0 {
        reader.varint().ok()?;
    }
    let header = header(reader.array().ok()?);
    reader.finish().ok()?;
    Some(Hint { header, hash: header.block_hash(), file })
}
