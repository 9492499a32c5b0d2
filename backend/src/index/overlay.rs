//! A file that can be read, and written without being changed: what is written is kept in memory, page by page.
//!
//! redb opens a file that a kill has left only by mending it. Who just looks at an index must not do that on the disk, and
//! may not even be allowed to. The file is locked as a reader's: others may look at it too, a server may not open it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Bound;
use std::path::Path;

use parking_lot::RwLock;
use redb::backends::FileBackend;
use redb::{BackendError, DatabaseError, StorageBackend};

const PAGE: usize = 4096;

/// The file with what has been written over it.
#[derive(Debug)]
pub struct Overlay {
    file: FileBackend,
    over: RwLock<Over>,
}

#[derive(Debug)]
struct Over {
    /// Bytes in all.
    len: u64,
    /// Bytes from the start that are still the file's where no page lies over them: fewer once it has been shortened.
    of_file: u64,
    pages: BTreeMap<u64, Box<[u8; PAGE]>>,
}

impl Overlay {
    /// Opens the file at `path` for reading.
    pub fn open(path: &Path) -> Result<Self, DatabaseError> {
        let file = FileBackend::new(File::open(path)?)?;
        let len = file.len()?;
        Ok(Self { file, over: RwLock::new(Over { len, of_file: len, pages: BTreeMap::new() }) })
    }

    /// The bytes of the file alone, and zeros behind them.
    fn read_below(&self, of_file: u64, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let there = usize::try_from(of_file.saturating_sub(offset)).unwrap_or(usize::MAX).min(out.len());
        let (file, zeros) = out.split_at_mut(there);
        zeros.fill(0);
        if file.is_empty() { Ok(()) } else { self.file.read(offset, file) }
    }
}

/// The pages that `len` bytes from `offset` on touch: number, where in the page, where in the bytes, how many.
fn pieces(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize, usize, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset + done as u64;
        let within = usize::try_from(at % PAGE as u64).unwrap_or(0);
        let piece = (at / PAGE as u64, within, done, (PAGE - within).min(len - done));
        done += piece.3;
        (piece.3 > 0).then_some(piece)
    })
}

impl StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.over.read().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let over = self.over.read();
        if offset.checked_add(out.len() as u64).is_none_or(|end| end > over.len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.read_below(over.of_file, offset, out)?;
        for (number, within, from, len) in pieces(offset, out.len()) {
            if let Some(page) = over.pages.get(&number) {
                out[from..from + len].copy_from_slice(&page[within..within + len]);
            }
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut over = self.over.write();
        over.len = len;
        over.of_file = over.of_file.min(len);
        over.pages.split_off(&len.div_ceil(PAGE as u64));
        let within = usize::try_from(len % PAGE as u64).unwrap_or(0);
        if let Some(page) = over.pages.get_mut(&(len / PAGE as u64)) {
            page[within..].fill(0);
        }
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut over = self.over.write();
        for (number, within, from, len) in pieces(offset, data.len()) {
            if !over.pages.contains_key(&number) {
                let mut page = Box::new([0; PAGE]);
                self.read_below(over.of_file, number * PAGE as u64, &mut page[..])?;
                over.pages.insert(number, page);
            }
            if let Some(page) = over.pages.get_mut(&number) {
                page[within..within + len].copy_from_slice(&data[from..from + len]);
            }
        }
        over.len = over.len.max(offset + data.len() as u64);
        Ok(())
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }

    /// A reader's lock, whatever redb means to do: it is enough to keep writers away, and all that a file opened for
    /// reading can have.
    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_shared_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.query_lock_range(start, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_the_file_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let before: Vec<u8> = (0..=250).cycle().take(3 * PAGE + 100).collect();
        std::fs::write(&path, &before).unwrap();
        let overlay = Overlay::open(&path).unwrap();
        let mut expected = before.clone();
        let mut write = |at: usize, bytes: &[u8]| {
            overlay.write(at as u64, bytes).unwrap();
            expected.resize(expected.len().max(at + bytes.len()), 0);
            expected[at..at + bytes.len()].copy_from_slice(bytes);
        };
        write(PAGE - 3, &[1; PAGE + 9]);
        write(3 * PAGE + 90, &[2; 50]);
        write(5 * PAGE, &[3; 7]);
        for (at, len) in [(0, 5 * PAGE + 7), (PAGE - 10, 20), (2 * PAGE, PAGE), (3 * PAGE + 80, 70)] {
            let mut out = vec![9; len];
            overlay.read(at as u64, &mut out).unwrap();
            assert_eq!(out, expected[at..at + len], "{len} bytes at {at}");
        }
        assert!(overlay.read(5 * PAGE as u64, &mut [0; 8]).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }

    #[test]
    fn what_was_cut_off_does_not_come_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, [7; 2 * PAGE]).unwrap();
        let overlay = Overlay::open(&path).unwrap();
        overlay.write(10, &[8; 30]).unwrap();
        overlay.set_len(20).unwrap();
        overlay.set_len(2 * PAGE as u64).unwrap();
        let mut out = [9; 2 * PAGE];
        overlay.read(0, &mut out).unwrap();
        let expected = [vec![7; 10], vec![8; 10], vec![0; 2 * PAGE - 20]].concat();
        assert_eq!(out[..], expected[..]);
    }
}
