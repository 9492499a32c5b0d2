//! Core's own index of the blocks that were made (`blocks/index`), written by another's LevelDB.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use bitcoin::block::Header;
use bitcoin::consensus::serialize;
use bitcoin::hashes::Hash;
use hindsight_benches::records::push_varint;
use rusty_leveldb::{DB, Options, WriteBatch};

/// Entries that Core would write at one time.
const BATCH: usize = 10_000;

/// Core's `DBWRAPPER_MAX_FILE_SIZE`.
const FILE: usize = 32 << 20;

/// The client version that Core gives every entry (`DUMMY_VERSION`).
const VERSION: u64 = 259_900;

/// Validated, stored, with undo (`BlockStatus`).
const STATUS: u64 = 5 | 8 | 16;

/// Writes what Core knows of each block.
pub struct BlockIndex {
    db: DB,
    batch: WriteBatch,
    waiting: usize,
}

impl BlockIndex {
    /// An empty one in this blocks directory.
    ///
    /// # Errors
    /// As the disk fails.
    pub fn create(blocks_dir: &Path) -> Result<Self> {
        let options = Options { max_file_size: FILE, write_buffer_size: 4 << 20, ..Options::default() };
        let path = blocks_dir.join("index");
        let db = DB::open(&path, options).map_err(said).with_context(|| path.display().to_string())?;
        Ok(Self { db, batch: WriteBatch::default(), waiting: 0 })
    }

    /// Adds a block of one transaction that lies in this file.
    ///
    /// # Errors
    /// As the disk fails.
    pub fn push(&mut self, height: u32, header: &Header, file: u32) -> Result<()> {
        let mut value = Vec::new();
        for number in [VERSION, height.into(), STATUS, 1, file.into(), 8, 8] {
            push_varint(&mut value, number);
        }
        value.extend(serialize(header));
        let key = [&b"b"[..], header.block_hash().as_byte_array()].concat();
        self.batch.put(&key, &value);
        self.waiting += 1;
        if self.waiting == BATCH { self.write() } else { Ok(()) }
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// As the disk fails.
    pub fn finish(mut self) -> Result<()> {
        self.write()?;
        self.db.flush().map_err(said)
    }

    fn write(&mut self) -> Result<()> {
        self.waiting = 0;
        self.db.write(std::mem::take(&mut self.batch), false).map_err(said)
    }
}

fn said(status: rusty_leveldb::Status) -> anyhow::Error {
    anyhow!("{status}")
}
