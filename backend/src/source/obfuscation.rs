//! The key that Core (28.0 and later) XORs its block and undo files with.
//!
//! `blocks/xor.dat` holds exactly 8 raw key bytes; without that file, or with eight zeros in it, nothing is obfuscated
//! (`src/node/blockstorage.cpp`, `InitBlocksdirXorKey`). The byte at absolute offset *i* of each file is XORed with
//! `key[i % 8]`, framing and checksums included.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use bitcoin::p2p::Magic;

use super::SourceError;

/// The file with the key, in the blocks directory.
pub(super) const KEY_FILE: &str = "xor.dat";

/// Bytes in a key.
const KEY_LEN: usize = 8;

/// The obfuscation of one blocks directory; the zero key leaves bytes as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Obfuscation {
    key: [u8; KEY_LEN],
}

impl Obfuscation {
    /// An obfuscation with these key bytes.
    #[must_use]
    pub const fn new(key: [u8; KEY_LEN]) -> Self {
        Self { key }
    }

    /// The key bytes, as in `xor.dat`.
    #[must_use]
    pub const fn key(self) -> [u8; KEY_LEN] {
        self.key
    }

    /// Reads `xor.dat` in `blocks_dir`; a missing file is the zero key.
    ///
    /// # Errors
    /// [`SourceError::BadKey`] when the file does not hold exactly 8 bytes; otherwise as reading it fails.
    pub fn read(blocks_dir: &Path) -> Result<Self, SourceError> {
        Ok(Self::find(blocks_dir)?.unwrap_or_default())
    }

    /// The same as [`Self::read`], but none where the file is missing.
    pub(super) fn find(blocks_dir: &Path) -> Result<Option<Self>, SourceError> {
        let path = blocks_dir.join(KEY_FILE);
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(SourceError::io(&path, e)),
        };
        let mut bytes = Vec::with_capacity(KEY_LEN + 1);
        let limit = u64::try_from(KEY_LEN + 1).unwrap_or(u64::MAX);
        file.by_ref().take(limit).read_to_end(&mut bytes).map_err(|e| SourceError::io(&path, e))?;
        match <[u8; KEY_LEN]>::try_from(bytes.as_slice()) {
            Ok(key) => Ok(Some(Self { key })),
            Err(_) => {
                let len = file.metadata().map_err(|e| SourceError::io(&path, e))?.len();
                Err(SourceError::BadKey { path, len })
            }
        }
    }

    /// De-obfuscates (or obfuscates) `bytes`, which lie at `offset` in their file.
    pub fn apply(self, offset: u64, bytes: &mut [u8]) {
        if self.key == [0; KEY_LEN] {
            return;
        }
        let key = self.at(offset);
        let word = u64::from_ne_bytes(key);
        let mut chunks = bytes.chunks_exact_mut(KEY_LEN);
        for chunk in &mut chunks {
            let mut plain = [0; KEY_LEN];
            plain.copy_from_slice(chunk);
            chunk.copy_from_slice(&(u64::from_ne_bytes(plain) ^ word).to_ne_bytes());
        }
        for (byte, key) in chunks.into_remainder().iter_mut().zip(key) {
            *byte ^= key;
        }
    }

    /// The magic in a file's first bytes, as they are on disk.
    pub(super) fn magic(self, mut start: [u8; 4]) -> Magic {
        self.apply(0, &mut start);
        Magic::from_bytes(start)
    }

    /// Whether de-obfuscated `bytes` at `offset` are raw zeros on disk: preallocated and never written, since Core does
    /// not XOR those. They read as the repeating key.
    #[must_use]
    pub fn is_unwritten(self, offset: u64, bytes: &[u8]) -> bool {
        self.unwritten(offset, bytes) == bytes.len()
    }

    /// How many of the de-obfuscated `bytes` at `offset` are raw zeros on disk before the first other one.
    pub(super) fn unwritten(self, offset: u64, bytes: &[u8]) -> usize {
        let key = self.at(offset);
        let whole = bytes.chunks_exact(KEY_LEN).take_while(|chunk| **chunk == key).count() * KEY_LEN;
        whole + bytes[whole..].iter().zip(key).take_while(|(byte, key)| *byte == key).count()
    }

    /// The key as it falls on the bytes from `offset` on.
    fn at(self, offset: u64) -> [u8; KEY_LEN] {
        let mut key = self.key;
        key.rotate_left(usize::try_from(offset % 8).unwrap_or(0));
        key
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Core's rule, byte by byte (`src/util/obfuscation.h`).
    fn core(key: [u8; 8], offset: u64, bytes: &[u8]) -> Vec<u8> {
        let keys = key.iter().cycle().skip(usize::try_from(offset % 8).unwrap());
        bytes.iter().zip(keys).map(|(byte, key)| byte ^ key).collect()
    }

    proptest! {
        #[test]
        fn each_byte_meets_the_key_byte_of_its_offset(
            key: [u8; 8],
            offset: u64,
            bytes in prop::collection::vec(any::<u8>(), 0..100),
        ) {
            let mut applied = bytes.clone();
            Obfuscation::new(key).apply(offset, &mut applied);
            prop_assert_eq!(&applied, &core(key, offset, &bytes));
            Obfuscation::new(key).apply(offset, &mut applied);
            prop_assert_eq!(applied, bytes);
        }

        #[test]
        fn raw_zeros_are_counted_to_the_first_other_byte(key: [u8; 8], offset: u64, zeros in 0..50usize, other in 1..=255u8) {
            let obfuscation = Obfuscation::new(key);
            let mut bytes = vec![0; zeros];
            bytes.extend([other, 0, 0]);
            obfuscation.apply(offset, &mut bytes);
            prop_assert_eq!(obfuscation.unwritten(offset, &bytes), zeros);
            prop_assert!(obfuscation.is_unwritten(offset, &bytes[..zeros]));
            prop_assert!(!obfuscation.is_unwritten(offset, &bytes));
        }
    }
}
