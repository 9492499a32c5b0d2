//! Core's block and undo files as a [`BlockSource`].
//!
//! Every read opens the file anew, as Core does: a file that was pruned, cut or written again in between is then an
//! ordinary error. Nothing is cached and nothing locked, so any number of threads may read. Allocations are bounded by
//! what the file really holds, never by what a record claims.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bitcoin::block::Header;
use bitcoin::consensus::deserialize;

use super::bulk::{Access, Cost, drop_pages, to_usize};
use super::pool::Awaited;
use super::rev;
use super::walk::{FRAMING, HEADER, Rules, walk};
use super::{
    BlockFile, BlockRecord, BlockSource, Datadir, FileStamp, Leftover, Obfuscation, Position, SourceError, UndoFile,
    UndoRecord,
};

/// Bytes of the checksum behind each undo payload.
pub(super) const CHECKSUM: u32 = 32;

/// What does not fit in a file that changed this lately may be half written; later it is damaged.
const BEING_WRITTEN: Duration = Duration::from_secs(60);

/// A file this young may change again without its time of change telling.
const UNSETTLED: Duration = Duration::from_secs(2);

/// A pair of files in the blocks directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedFile {
    /// The number in the files' names.
    pub number: u32,
    /// The `blk*.dat` as it is now.
    pub blk: FileStamp,
    /// The `rev*.dat` as it is now, if it is there.
    pub rev: Option<FileStamp>,
}

impl ListedFile {
    /// The path of this `blk*.dat` in `blocks_dir`.
    pub(super) fn blk_path(&self, blocks_dir: &Path) -> PathBuf {
        path(blocks_dir, "blk", self.number)
    }

    /// Whether the stamps of both can tell the next change.
    pub fn is_settled(&self) -> bool {
        self.blk.is_settled() && self.rev.is_none_or(FileStamp::is_settled)
    }
}

impl FileStamp {
    /// The stamp of a file with this metadata.
    pub(super) fn of(metadata: &fs::Metadata) -> Self {
        Self { len: metadata.len(), mtime: metadata.mtime(), mtime_nsec: metadata.mtime_nsec() }
    }

    /// The stamp of the file at `path`, or none where there is no file.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, SourceError> {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => Ok(Some(Self::of(&metadata))),
            Ok(_) => Ok(None),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(SourceError::io(path, e)),
        }
    }

    /// Whether the last change is long enough ago for this stamp to tell the next one. A time in the future is a clock's
    /// error, and tells as well as any other.
    pub fn is_settled(self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        u64::try_from(self.mtime).is_ok_and(|changed| changed > now || changed + UNSETTLED.as_secs() < now)
    }
}

/// The files of one blocks directory, read where they are and never written.
#[derive(Debug)]
pub struct CoreFiles {
    pub(super) datadir: Datadir,
    rules: Rules,
    /// The key's bytes: replaced while others read when the node starts over.
    pub(super) key: AtomicU64,
    /// Whether there were block files at the last listing.
    pub(super) had_files: AtomicBool,
    pub(super) awaited: Awaited,
    cost: Cost,
}

impl CoreFiles {
    /// Takes the directory's obfuscation key; nothing else is read yet.
    ///
    /// # Errors
    /// When `xor.dat` cannot be read or is no key.
    pub fn open(datadir: Datadir) -> Result<Self, SourceError> {
        let key = Obfuscation::read(&datadir.blocks_dir)?;
        let rules = Rules::new(datadir.network, datadir.magic);
        let key = AtomicU64::new(u64::from_le_bytes(key.key()));
        let (had_files, awaited) = (AtomicBool::new(false), Awaited::default());
        Ok(Self { datadir, rules, key, had_files, awaited, cost: Cost::default() })
    }

    /// Where the files are and of which network.
    #[must_use]
    pub fn datadir(&self) -> &Datadir {
        &self.datadir
    }

    /// The key that the files are read with. An index made under another key is another directory's.
    #[must_use]
    pub fn obfuscation(&self) -> Obfuscation {
        Obfuscation::new(self.key.load(Ordering::Acquire).to_le_bytes())
    }

    /// What `blk*.dat` number `number` holds. With what was `known` of it the walk goes on behind the last known
    /// record, if that is still there; else the file is walked from its start.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn walk(&self, number: u32, known: Option<&BlockFile>) -> Result<BlockFile, SourceError> {
        let path = self.path("blk", number);
        walk(&self.rules, (number, &path), self.obfuscation(), known, &self.cost)
    }

    /// How often walking and pairing have read from a file so far.
    #[must_use]
    pub fn bulk_reads(&self) -> u64 {
        self.cost.reads()
    }

    /// How many bytes that were.
    #[must_use]
    pub fn bulk_bytes(&self) -> u64 {
        self.cost.bytes()
    }

    /// Which of the blocks in `blk` have undo in the `rev*.dat` of the same number, and where. That file is read whole;
    /// where there is none, no block has undo.
    ///
    /// # Errors
    /// When one of the files cannot be read.
    pub fn pair(&self, blk: &BlockFile) -> Result<UndoFile, SourceError> {
        Ok(self.pair_rev(blk, None)?.0)
    }

    /// The same as [`Self::pair`], with the first 1,000 of the undo records that belong to no block.
    ///
    /// # Errors
    /// When one of the files cannot be read.
    pub fn pair_and_name_leftovers(&self, blk: &BlockFile) -> Result<(UndoFile, Vec<Leftover>), SourceError> {
        self.pair_rev(blk, None)
    }

    /// The same as [`Self::pair`], from what was `known` of the file before it grew: only what follows the last known
    /// record is read, if that is still there.
    ///
    /// # Errors
    /// When one of the files cannot be read.
    pub fn pair_on(&self, blk: &BlockFile, known: &UndoFile) -> Result<UndoFile, SourceError> {
        Ok(self.pair_rev(blk, Some(known))?.0)
    }

    /// The same as [`BlockSource::block`], for whoever reads all of them once: the pages are dropped.
    ///
    /// # Errors
    /// As reading any block.
    pub fn bulk_block(&self, record: &BlockRecord) -> Result<Vec<u8>, SourceError> {
        let bytes = self.read("blk", record.position, record.size, Access::Stream)?;
        self.own_header(record, &bytes)?;
        Ok(bytes)
    }

    /// The same as [`BlockSource::undo`], for whoever reads all of them once: the pages are dropped.
    ///
    /// # Errors
    /// As reading any undo record.
    pub fn bulk_undo(&self, record: &UndoRecord) -> Result<Vec<u8>, SourceError> {
        self.read_undo(record, Access::Stream)
    }

    fn read_undo(&self, record: &UndoRecord, access: Access) -> Result<Vec<u8>, SourceError> {
        let replaced = || self.undo_replaced(record);
        let (start, framing) = self.undo_framing(record)?;
        let size = record.size.checked_add(FRAMING + CHECKSUM).ok_or_else(replaced)?;
        let mut bytes = self.read("rev", start, size, access)?;
        let undo = bytes.split_off(to_usize(FRAMING.into()));
        if bytes == framing { Ok(undo) } else { Err(replaced()) }
    }

    /// Where the framing of an undo record starts, and what it is.
    fn undo_framing(&self, record: &UndoRecord) -> Result<(Position, Vec<u8>), SourceError> {
        let Position { file, offset } = record.position;
        let start = Position { file, offset: offset.checked_sub(FRAMING).ok_or_else(|| self.undo_replaced(record))? };
        Ok((start, [self.datadir.magic.to_bytes(), record.size.to_le_bytes()].concat()))
    }

    fn undo_replaced(&self, record: &UndoRecord) -> SourceError {
        let path = self.path("rev", record.position.file);
        SourceError::Replaced { path, block: record.block, position: record.position }
    }

    /// Bytes of a payload of `size`, by their places in it.
    fn read_part(&self, kind: &str, start: Position, size: u32, part: Range<u32>) -> Result<Vec<u8>, SourceError> {
        let within = Some(part.start).filter(|_| part.end <= size).and_then(|offset| start.plus(offset));
        let cut = || SourceError::Cut {
            path: self.path(kind, start.file),
            position: start,
            need: part.end.into(),
            len: size.into(),
        };
        self.read(kind, within.ok_or_else(cut)?, part.end.saturating_sub(part.start), Access::Follow)
    }

    fn pair_rev(&self, blk: &BlockFile, known: Option<&UndoFile>) -> Result<rev::Paired, SourceError> {
        let path = self.path("rev", blk.number);
        rev::pair(&self.rules, &path, self.obfuscation(), (self, blk, known), &self.cost)
    }

    fn path(&self, kind: &str, number: u32) -> PathBuf {
        path(&self.datadir.blocks_dir, kind, number)
    }

    /// `size` de-obfuscated bytes at `position`.
    fn read(&self, kind: &str, position: Position, size: u32, access: Access) -> Result<Vec<u8>, SourceError> {
        let path = self.path(kind, position.file);
        let file = File::open(&path).map_err(|e| SourceError::io(&path, e))?;
        let len = file.metadata().map_err(|e| SourceError::io(&path, e))?.len();
        let offset = u64::from(position.offset);
        let need = offset + u64::from(size);
        if need > len {
            return Err(SourceError::Cut { path, position, need, len });
        }
        let mut bytes = vec![0; to_usize(size.into())];
        match file.read_exact_at(&mut bytes, offset) {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(SourceError::Cut { path, position, need, len: offset });
            }
            read => read.map_err(|e| SourceError::io(&path, e))?,
        }
        if access != Access::Follow {
            drop_pages(&file, offset, size.into());
        }
        self.obfuscation().apply(offset, &mut bytes);
        Ok(bytes)
    }

    /// The header in the first bytes of `bytes`, if it is the record's.
    fn own_header(&self, record: &BlockRecord, bytes: &[u8]) -> Result<Header, SourceError> {
        let header = bytes.get(..80).and_then(|bytes| deserialize::<Header>(bytes).ok());
        header.filter(|header| header.block_hash() == record.hash).ok_or_else(|| SourceError::Replaced {
            path: self.path("blk", record.position.file),
            block: record.hash,
            position: record.position,
        })
    }
}

impl BlockSource for CoreFiles {
    fn header(&self, record: &BlockRecord) -> Result<Header, SourceError> {
        let bytes = self.read("blk", record.position, HEADER, Access::Follow)?;
        self.own_header(record, &bytes)
    }

    fn block(&self, record: &BlockRecord) -> Result<Vec<u8>, SourceError> {
        let bytes = self.read("blk", record.position, record.size, Access::Follow)?;
        self.own_header(record, &bytes)?;
        Ok(bytes)
    }

    fn undo(&self, record: &UndoRecord) -> Result<Vec<u8>, SourceError> {
        self.read_undo(record, Access::Follow)
    }

    fn block_part(&self, record: &BlockRecord, bytes: Range<u32>) -> Result<Vec<u8>, SourceError> {
        self.header(record)?;
        self.read_part("blk", record.position, record.size, bytes)
    }

    fn undo_part(&self, record: &UndoRecord, bytes: Range<u32>) -> Result<Vec<u8>, SourceError> {
        let (start, framing) = self.undo_framing(record)?;
        if self.read("rev", start, FRAMING, Access::Follow)? != framing {
            return Err(self.undo_replaced(record));
        }
        self.read_part("rev", record.position, record.size, bytes)
    }

    fn is_being_written(&self, position: Position) -> bool {
        let changed_lately = |kind| {
            let metadata = fs::metadata(self.path(kind, position.file)).ok()?;
            // A time in the future is a clock's error, not a reason to wait.
            Some(metadata.modified().ok()?.elapsed().ok()? < BEING_WRITTEN)
        };
        changed_lately("blk") == Some(true) || changed_lately("rev") == Some(true)
    }

    fn has_undo(&self, number: u32) -> bool {
        self.path("rev", number).is_file()
    }

    fn hurry(&self, number: u32) {
        self.awaited.add(number);
    }
}

/// Files of which each block is read once: their pages are dropped, so that the node's own stay.
#[derive(Debug)]
pub struct ReadOnce(pub Arc<CoreFiles>);

impl BlockSource for ReadOnce {
    fn header(&self, record: &BlockRecord) -> Result<Header, SourceError> {
        self.0.header(record)
    }

    fn block(&self, record: &BlockRecord) -> Result<Vec<u8>, SourceError> {
        self.0.bulk_block(record)
    }

    fn undo(&self, record: &UndoRecord) -> Result<Vec<u8>, SourceError> {
        self.0.bulk_undo(record)
    }

    fn is_being_written(&self, position: Position) -> bool {
        self.0.is_being_written(position)
    }

    fn has_undo(&self, number: u32) -> bool {
        self.0.has_undo(number)
    }

    fn hurry(&self, number: u32) {
        self.0.hurry(number);
    }
}

/// `blkNNNNN.dat` or `revNNNNN.dat`: five digits or more.
fn path(blocks_dir: &Path, kind: &str, number: u32) -> PathBuf {
    blocks_dir.join(format!("{kind}{number:05}.dat"))
}

/// The block files in `blocks_dir` by number, each with its undo file.
pub(super) fn list(blocks_dir: &Path) -> Result<Vec<ListedFile>, SourceError> {
    let failed = |e| SourceError::io(blocks_dir, e);
    let mut files = Vec::new();
    for entry in fs::read_dir(blocks_dir).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        if let Some(number) = name.to_str().and_then(|name| number_in(name, "blk")) {
            // A file may be pruned between listing and looking.
            files.extend(look(blocks_dir, number)?);
        }
    }
    files.sort_unstable_by_key(|file| file.number);
    Ok(files)
}

/// The pair with this number as it is now, if there is one.
pub(super) fn look(blocks_dir: &Path, number: u32) -> Result<Option<ListedFile>, SourceError> {
    let Some(blk) = FileStamp::read(&path(blocks_dir, "blk", number))? else { return Ok(None) };
    let rev = FileStamp::read(&path(blocks_dir, "rev", number))?;
    Ok(Some(ListedFile { number, blk, rev }))
}

/// Whether `blocks_dir` holds any block file, as far as it can be read.
pub(super) fn holds_files(blocks_dir: &Path) -> io::Result<bool> {
    let is_one = |name: &str| number_in(name, "blk").is_some();
    Ok(fs::read_dir(blocks_dir)?.flatten().any(|entry| entry.file_name().to_str().is_some_and(is_one)))
}

/// The number in the name of a `blk` or `rev` file, if Core would write that name.
pub(super) fn number_in(name: &str, kind: &str) -> Option<u32> {
    let digits = name.strip_prefix(kind)?.strip_suffix(".dat")?;
    let number = digits.parse().ok()?;
    (format!("{number:05}") == digits).then_some(number)
}
