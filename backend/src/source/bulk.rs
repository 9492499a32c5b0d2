//! Reading many megabytes of Core's files without being in the node's way.
//!
//! A [`BulkReader`] reads one file by `pread` into a window of its own: no mmap, because obfuscation needs the copy and
//! a mapped page of a truncated file kills the process. What was read once is dropped from the page cache behind the
//! reader, so that the node's own pages stay; the threads that do this run at low CPU priority, which on Linux lowers
//! their I/O priority along with it.

use std::fs::File;
use std::io;
use std::mem::take;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use memchr::memmem::Finder;

use super::{FileStamp, Obfuscation, SourceError};

/// Bytes read at once while searching for a magic or reading a file from end to end.
pub(super) const SEARCH_CHUNK: usize = 1 << 20;

/// Zeros that a search reads over before it takes them for the end: one preallocated chunk (`BLOCKFILE_CHUNK_SIZE`).
/// After a power loss a gap of zeros may be followed by records.
const MAX_ZERO_GAP: u64 = 16 << 20;

/// More zeros in a row than a record is likely to have: these were never written.
const ZERO_RUN: usize = 64;

/// How a file is going to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Here and there from start to end: no read-ahead, pages dropped behind.
    Hop,
    /// From start to end: pages dropped behind.
    Stream,
    /// The newest few records, which are about to be asked for: pages kept.
    Follow,
}

/// What reading in bulk has cost so far.
#[derive(Debug, Default)]
pub(super) struct Cost {
    reads: AtomicU64,
    bytes: AtomicU64,
}

impl Cost {
    /// How often a file was read from.
    pub(super) fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    /// How many bytes that gave.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// One open file, read through a de-obfuscated window.
#[derive(Debug)]
pub(super) struct BulkReader<'a> {
    path: &'a Path,
    file: File,
    key: Obfuscation,
    access: Access,
    stamp: FileStamp,
    len: u64,
    start: u64,
    window: Vec<u8>,
    /// What was peeked at outside the window.
    aside: Vec<u8>,
    cost: &'a Cost,
}

impl<'a> BulkReader<'a> {
    /// Opens `path`; each `pread` is counted in `cost`.
    pub(super) fn open(path: &'a Path, key: Obfuscation, access: Access, cost: &'a Cost) -> Result<Self, SourceError> {
        let failed = |e| SourceError::io(path, e);
        let file = File::open(path).map_err(failed)?;
        let stamp = FileStamp::of(&file.metadata().map_err(failed)?);
        if access == Access::Hop {
            advice::no_read_ahead(&file);
        }
        // Positions are 32 bits, in Core's index as here.
        let len = stamp.len.min(u32::MAX.into());
        Ok(Self { path, file, key, access, stamp, len, start: 0, window: Vec::new(), aside: Vec::new(), cost })
    }

    /// The file's stamp when it was opened.
    pub(super) fn stamp(&self) -> FileStamp {
        self.stamp
    }

    /// The file's length: as it was when opened, or shorter when reading met an earlier end since.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Whether de-obfuscated `bytes` at `pos` are raw zeros on disk.
    pub(super) fn is_unwritten(&self, pos: u64, bytes: &[u8]) -> bool {
        self.key.is_unwritten(pos, bytes)
    }

    /// The de-obfuscated bytes from `pos` on: `want` of them, fewer only where the file ends. When they are not in the
    /// window, it is filled from `pos` on with at least `ahead` bytes.
    pub(super) fn read(&mut self, pos: u64, want: usize, ahead: usize) -> Result<&[u8], SourceError> {
        let want = want.min(to_usize(self.len.saturating_sub(pos)));
        if self.windowed(pos).len() < want {
            self.fill(pos, want.max(ahead))?;
        }
        let bytes = self.windowed(pos);
        Ok(&bytes[..want.min(bytes.len())])
    }

    /// The same bytes as [`Self::read`] gives, without moving the window: for a look at a place that may turn out to be
    /// of no use, while reading goes on here.
    pub(super) fn peek(&mut self, pos: u64, want: usize) -> Result<&[u8], SourceError> {
        let want = want.min(to_usize(self.len.saturating_sub(pos)));
        if self.windowed(pos).len() < want {
            return self.peek_anew(pos, want);
        }
        Ok(&self.windowed(pos)[..want])
    }

    /// The bytes at `pos` as they are now, whatever the window holds of them.
    pub(super) fn peek_anew(&mut self, pos: u64, want: usize) -> Result<&[u8], SourceError> {
        let aside = take(&mut self.aside);
        self.aside = self.load(pos, want.min(to_usize(self.len.saturating_sub(pos))), aside)?;
        Ok(&self.aside)
    }

    /// Forgets what the window holds, so that it is read again.
    pub(super) fn forget(&mut self) {
        self.window.clear();
    }

    /// The position of the next `magic` at `from` or later; raw zeros are read over, up to 16 MiB of them.
    pub(super) fn find(&mut self, magic: &Finder<'_>, from: u64) -> Result<Option<u64>, SourceError> {
        let overlap = magic.needle().len() - 1;
        let (mut pos, mut zeros) = (from, 0);
        while zeros <= MAX_ZERO_GAP {
            if self.windowed(pos).len() <= overlap {
                self.fill(pos, SEARCH_CHUNK)?;
            }
            let chunk = self.windowed(pos);
            if chunk.len() <= overlap {
                return Ok(None);
            }
            let unwritten = self.key.unwritten(pos, chunk);
            if unwritten > ZERO_RUN {
                // The last zeros may be a magic's first bytes, obfuscated.
                let Some(next) = self.after_zeros(pos + (unwritten - overlap) as u64) else { return Ok(None) };
                zeros += next - pos;
                pos = next;
            } else if let Some(at) = magic.find(chunk) {
                return Ok(Some(pos + at as u64));
            } else {
                zeros = 0;
                pos += (chunk.len() - overlap) as u64;
            }
        }
        Ok(None)
    }

    /// Where to read on behind zeros up to `pos`: a hole in the file need not be read. None: only a hole follows.
    fn after_zeros(&self, pos: u64) -> Option<u64> {
        let window_end = self.start + self.window.len() as u64;
        if pos + 8 < window_end { Some(pos) } else { advice::next_data(&self.file, pos) }
    }

    /// What the window holds from `pos` on.
    fn windowed(&self, pos: u64) -> &[u8] {
        let skip = pos.checked_sub(self.start).map_or(usize::MAX, to_usize);
        self.window.get(skip..).unwrap_or(&[])
    }

    fn fill(&mut self, pos: u64, size: usize) -> Result<(), SourceError> {
        let window = take(&mut self.window);
        self.window = self.load(pos, size.min(to_usize(self.len.saturating_sub(pos))), window)?;
        self.start = pos;
        Ok(())
    }

    /// Reads `size` bytes into `buffer` and de-obfuscates them; there are fewer where the file was cut.
    fn load(&mut self, pos: u64, size: usize, mut buffer: Vec<u8>) -> Result<Vec<u8>, SourceError> {
        buffer.resize(size, 0);
        let got = self.read_at(pos, &mut buffer)?;
        if got < size {
            self.len = pos + got as u64;
            buffer.truncate(got);
        }
        self.key.apply(pos, &mut buffer);
        if size >= SEARCH_CHUNK / 4 && self.access != Access::Follow {
            advice::drop_pages(&self.file, pos, got as u64);
        }
        Ok(buffer)
    }

    /// Fills `buffer` with raw bytes and says how many the file had.
    fn read_at(&self, pos: u64, buffer: &mut [u8]) -> Result<usize, SourceError> {
        let mut got = 0;
        while got < buffer.len() {
            self.cost.reads.fetch_add(1, Ordering::Relaxed);
            match self.file.read_at(&mut buffer[got..], pos + got as u64) {
                Ok(0) => break,
                Ok(n) => got += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(SourceError::io(self.path, e)),
            }
        }
        self.cost.bytes.fetch_add(got as u64, Ordering::Relaxed);
        Ok(got)
    }
}

impl Drop for BulkReader<'_> {
    fn drop(&mut self) {
        if self.access != Access::Follow {
            advice::drop_pages(&self.file, 0, self.stamp.len);
        }
    }
}

/// Lets the kernel forget what was read of `file`: it was asked for once.
pub(super) fn drop_pages(file: &File, offset: u64, len: u64) {
    advice::drop_pages(file, offset, len);
}

/// Lets the calling thread yield to the node and to whoever waits for an answer: for threads that read in bulk and for
/// those that work on what is read. There is no way back without privileges.
pub fn lower_priority() {
    advice::lower_priority();
}

/// Does work on all cores at low priority, with threads of its own: who waits for an answer does not wait for them.
pub fn in_the_background<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match rayon::ThreadPoolBuilder::new().start_handler(|_| lower_priority()).build() {
        Ok(pool) => pool.install(work),
        // Where the system has no thread left, this one has to do.
        Err(_) => work(),
    }
}

/// A length as `usize`; what no address space holds is more than any window has.
pub(super) fn to_usize(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// What the kernel may be told. All of it is advice: failures change nothing but speed, so they are not reported.
#[cfg(target_os = "linux")]
mod advice {
    use std::fs::File;
    use std::num::NonZeroU64;

    use rustix::fs::{Advice, SeekFrom, fadvise, seek};
    use rustix::io::Errno;

    /// The niceness of a bulk reading thread.
    const NICENESS: i32 = 10;

    pub(super) fn no_read_ahead(file: &File) {
        let _ = fadvise(file, 0, None, Advice::Random);
    }

    pub(super) fn drop_pages(file: &File, offset: u64, len: u64) {
        // The kernel keeps pages that are dropped in part: begin at a boundary of the largest pages there are.
        let start = offset & !0xffff;
        let _ = fadvise(file, start, NonZeroU64::new(offset + len - start), Advice::DontNeed);
    }

    /// On Linux this sets one thread's niceness, although POSIX says the whole process's.
    pub(super) fn lower_priority() {
        let _ = rustix::process::setpriority_process(None, NICENESS);
    }

    /// Where the next bytes that are not a hole start, at `pos` or later; none when only a hole follows.
    pub(super) fn next_data(file: &File, pos: u64) -> Option<u64> {
        match seek(file, SeekFrom::Data(pos)) {
            Ok(next) => Some(next),
            Err(Errno::NXIO) => None,
            Err(_) => Some(pos),
        }
    }
}

/// Elsewhere the kernel is told nothing.
#[cfg(not(target_os = "linux"))]
mod advice {
    use std::fs::File;

    pub(super) fn no_read_ahead(_: &File) {}

    pub(super) fn drop_pages(_: &File, _: u64, _: u64) {}

    pub(super) fn lower_priority() {}

    pub(super) fn next_data(_: &File, pos: u64) -> Option<u64> {
        Some(pos)
    }
}
