//! Tells a node that starts over, and prunes, from files that are out of reach.
//!
//! A resync makes a new `xor.dat` and reuses the file numbers: then nothing that is known is to be believed any more. A
//! disk that is not mounted, or mounted elsewhere, looks much alike, an empty directory without a key; to forget
//! everything for that would cost hours. So a key counts as replaced only where the files are readable with the new one,
//! and a directory that has been emptied is an error: Core never prunes its last blocks.

use std::sync::atomic::Ordering;

use super::datadir::starts;
use super::files::list;
use super::obfuscation::KEY_FILE;
use super::{CoreFiles, ListedFile, Obfuscation, SourceError};

impl CoreFiles {
    /// Looks at `xor.dat` again; whether it holds another key by now, one that the files are readable with. Then the
    /// node has started over with new files, and nothing known of the old ones is to be believed. Where nothing has
    /// changed this is one small read.
    ///
    /// # Errors
    /// [`SourceError::KeyLost`] when `xor.dat` is gone, or holds a key that the files are not readable with, and
    /// [`SourceError::Emptied`] when there are no files any more to try a new key on: the old key is kept, and this is
    /// to be asked again before anything is believed. Otherwise when `xor.dat` cannot be read or is no key.
    pub fn reread_key(&self) -> Result<bool, SourceError> {
        let dir = &self.datadir.blocks_dir;
        let (old, new) = (self.obfuscation(), Obfuscation::find(dir)?);
        if new.unwrap_or_default() == old {
            return Ok(false);
        }
        let path = dir.join(KEY_FILE);
        let starts = starts(dir)?;
        let Some(new) = new else { return Err(SourceError::KeyLost { path }) };
        if starts.is_empty() && self.had_files.load(Ordering::Acquire) {
            return Err(SourceError::Emptied { path: dir.clone() });
        }
        if !starts.is_empty() && !starts.iter().any(|start| new.magic(*start) == self.datadir.magic) {
            return Err(SourceError::KeyLost { path });
        }
        self.key.store(u64::from_le_bytes(new.key()), Ordering::Release);
        Ok(true)
    }

    /// The files that are there, by number; gaps are what was pruned.
    ///
    /// # Errors
    /// [`SourceError::Vanished`] when the directory is gone, [`SourceError::Emptied`] when it held files at an earlier
    /// listing and holds none now; otherwise when it cannot be read.
    pub fn list(&self) -> Result<Vec<ListedFile>, SourceError> {
        let files = list(&self.datadir.blocks_dir)?;
        if !files.is_empty() {
            self.had_files.store(true, Ordering::Release);
        } else if self.had_files.load(Ordering::Acquire) {
            return Err(SourceError::Emptied { path: self.datadir.blocks_dir.clone() });
        }
        Ok(files)
    }
}
