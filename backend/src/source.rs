//! Finds and reads blocks and undo in the files that Bitcoin Core wrote.
//!
//! The files are the truth: nothing is locked, no RPC and no LevelDB is needed, and a running node is never disturbed.
//! A [`CoreFiles`] *walks* each `blk*.dat` (framing, header and transaction count of every record, bodies hopped over),
//! *pairs* a `rev*.dat` with it on first need, and reads single blocks and undo records by position. What it finds are
//! plain values ([`BlockFile`], [`UndoFile`]) that the index keeps as hints; which of the blocks are the chain is
//! decided by `ingest`.
//!
//! Positions and sizes are bytes in the file as it is on disk; a position is that of the payload, behind the 8 bytes
//! `magic | size`, exactly like `nDataPos` and `nUndoPos` in Core's own index.

use std::ops::Range;

use bitcoin::BlockHash;
use bitcoin::block::Header;
use hindsight_shared::Height;

mod bulk;
mod datadir;
mod error;
mod files;
mod hints;
mod leveldb;
mod lost;
mod obfuscation;
mod owner;
mod pair;
mod pool;
mod rev;
mod siblings;
mod walk;
mod watch;

#[cfg(test)]
mod tests;

pub use bulk::{in_the_background, lower_priority};
pub use datadir::{Datadir, DatadirOptions};
pub use error::SourceError;
pub use files::{CoreFiles, ListedFile, ReadOnce};
pub use hints::{Hint, Hints};
pub use obfuscation::Obfuscation;
pub use pool::Walked;
pub use watch::{Changed, Watcher};

/// Reads what is at a position. Called from many threads at once, so implementations share no lock in the read path.
///
/// Records carry the block hash, so that a source without positions (Core's REST) can answer the same questions.
pub trait BlockSource: std::fmt::Debug + Send + Sync {
    /// The 80-byte header of `record`.
    ///
    /// # Errors
    /// [`SourceError::Replaced`] when the bytes there are another block's by now; otherwise as the medium fails.
    fn header(&self, record: &BlockRecord) -> Result<Header, SourceError>;

    /// The block in wire form, with witness. Only its header is checked against the record's hash.
    ///
    /// # Errors
    /// [`SourceError::Replaced`] when the bytes there are another block's by now; otherwise as the medium fails.
    fn block(&self, record: &BlockRecord) -> Result<Vec<u8>, SourceError>;

    /// The undo payload followed by its 32-byte checksum, which is not verified: see
    /// [`Prevouts::checksum_holds`](hindsight_shared::payload::Prevouts::checksum_holds).
    ///
    /// # Errors
    /// [`SourceError::Replaced`] when no undo record of that size is there by now; otherwise as the medium fails.
    fn undo(&self, record: &UndoRecord) -> Result<Vec<u8>, SourceError>;

    /// Bytes of the block of `record`, by their places in it, if its header is still there.
    ///
    /// # Errors
    /// As [`Self::block`].
    fn block_part(&self, record: &BlockRecord, bytes: Range<u32>) -> Result<Vec<u8>, SourceError> {
        Ok(part_of(&self.block(record)?, bytes))
    }

    /// Bytes of the undo payload of `record`, by their places in it, if its framing is still there.
    ///
    /// # Errors
    /// As [`Self::undo`].
    fn undo_part(&self, record: &UndoRecord, bytes: Range<u32>) -> Result<Vec<u8>, SourceError> {
        Ok(part_of(&self.undo(record)?, bytes))
    }

    /// Whether what lies at `position`, of a block or of its undo, was written so lately that it may not be whole yet.
    fn is_being_written(&self, position: Position) -> bool;

    /// Whether there is any undo for the blocks of file `number`.
    fn has_undo(&self, number: u32) -> bool;

    /// Somebody waits for what file `number` holds: while all are being read it comes before the others.
    fn hurry(&self, _number: u32) {}
}

/// Where a payload starts: `nFile` and `nDataPos` (or `nUndoPos`) in Core's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The number in the file's name.
    pub file: u32,
    /// Bytes from the start of the file to the payload.
    pub offset: u32,
}

/// How a walk came to a record. Anyone can inscribe `magic | size | header` in a witness, so of two positions of one
/// hash the one reached by hopping is tried first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Found {
    /// From record to record since the start of the file.
    Hop,
    /// By searching for the magic behind bytes that are no record, or by hopping on from a record found so.
    Search,
}

/// One block in a `blk*.dat`, as a walk sees it: the body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockRecord {
    /// The header; it meets its own target, which is within the network's limit.
    pub header: Header,
    /// The hash of `header`.
    pub hash: BlockHash,
    /// Transactions the block claims to hold, at least 1.
    pub tx_count: u32,
    /// The height that the coinbase states of itself, where the network's rules make that certain (BIP34).
    pub stated_height: Option<Height>,
    /// Bytes of the block.
    pub size: u32,
    /// Where the block starts.
    pub position: Position,
    /// How the walk came here.
    pub found: Found,
}

/// What tells whether a file is still the one that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct FileStamp {
    /// Length in bytes, preallocated zeros included.
    pub len: u64,
    /// Time of the last change, whole seconds since 1970.
    pub mtime: i64,
    /// Time of the last change, nanoseconds within the second.
    pub mtime_nsec: i64,
}

/// What a walk of one `blk*.dat` found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockFile {
    /// The number in the file's name.
    pub number: u32,
    /// The file's stamp before the walk's first read: what was written during the walk makes it differ.
    pub stamp: FileStamp,
    /// The records by position. The same hash may turn up more than once, up to four times: the first are kept, and
    /// what is hopped to comes before what is searched for.
    pub records: Vec<BlockRecord>,
}

/// One undo record in a `rev*.dat` and the block it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UndoRecord {
    /// The block whose spent coins these are.
    pub block: BlockHash,
    /// Where the undo payload starts.
    pub position: Position,
    /// Bytes of the undo payload, without the 32-byte checksum that follows it.
    pub size: u32,
}

/// What pairing one `rev*.dat` with its `blk*.dat` found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UndoFile {
    /// The number in both files' names.
    pub number: u32,
    /// The stamp of the walked `blk*.dat`.
    pub blk: FileStamp,
    /// The stamp of the `rev*.dat`; none when there is no such file yet.
    pub rev: Option<FileStamp>,
    /// Blocks with undo, by position in the `rev*.dat`.
    pub records: Vec<UndoRecord>,
    /// Undo records that belong to no block of this file: overwritten, damaged or repeated. No error.
    pub leftovers: u32,
    /// Checksums computed on the way: about one a record.
    pub hashes: u64,
}

/// An undo record that belongs to no block of its file: overwritten, repeated, or damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leftover {
    /// Where the undo payload starts.
    pub position: Position,
    /// Transactions of the block it was written for, by the count it starts with.
    pub tx_count: u32,
}

/// Nothing where the range is not within.
fn part_of(bytes: &[u8], part: Range<u32>) -> Vec<u8> {
    let place = |offset: u32| usize::try_from(offset).unwrap_or(usize::MAX);
    bytes.get(place(part.start)..place(part.end)).unwrap_or_default().to_vec()
}

impl Position {
    /// The position `bytes` further on in the same file, where 32 bits can say it.
    fn plus(self, bytes: u32) -> Option<Position> {
        Some(Position { file: self.file, offset: self.offset.checked_add(bytes)? })
    }
}
