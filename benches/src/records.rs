//! Writes Core's block and undo files: framing, obfuscation and the packed numbers of undo records.

use std::fs::{File, create_dir_all, write};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bitcoin::p2p::Magic;
use hindsight::source::Obfuscation;

/// Any key: what is read has to be de-obfuscated, as in every directory since Core 28.
const KEY: [u8; 8] = [0x1f, 0x8e, 0x52, 0xa3, 0x07, 0xc4, 0x6b, 0xd9];

/// One `blk*.dat` or `rev*.dat` while it is being written.
#[derive(Debug)]
pub struct RecordFile {
    file: File,
    end: u64,
}

impl RecordFile {
    /// Creates file `number` of a kind (`blk` or `rev`) in a blocks directory.
    ///
    /// # Errors
    /// As the disk fails.
    pub fn create(blocks_dir: &Path, kind: &str, number: u32) -> io::Result<Self> {
        let file = File::create(blocks_dir.join(format!("{kind}{number:05}.dat")))?;
        Ok(Self { file, end: 0 })
    }

    /// Appends a regtest record of `size` bytes that starts with `bytes`. Where they are fewer the rest is a hole in the
    /// file, as good as any body that is hopped over; where they are more they follow outside the record, as the
    /// checksum behind an undo record does.
    ///
    /// # Errors
    /// As the disk fails.
    pub fn push(&mut self, size: usize, bytes: &[u8]) -> io::Result<()> {
        let length = u32::try_from(size).map_err(io::Error::other)?;
        let mut framed = [&Magic::REGTEST.to_bytes()[..], &length.to_le_bytes(), bytes].concat();
        Obfuscation::new(KEY).apply(self.end, &mut framed);
        self.file.write_all_at(&framed, self.end)?;
        self.end += 8 + size.max(bytes.len()) as u64;
        self.file.set_len(self.end)
    }
}

/// Makes a data directory with a key and an empty blocks directory, which is returned.
///
/// # Errors
/// As the disk fails.
pub fn blocks_dir(datadir: &Path) -> io::Result<PathBuf> {
    let dir = datadir.join("regtest/blocks");
    create_dir_all(&dir)?;
    write(dir.join("xor.dat"), KEY)?;
    Ok(dir)
}

/// Core's VARINT (`src/serialize.h`).
pub fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = vec![value.to_le_bytes()[0] & 0x7f];
    while value > 0x7f {
        value = (value >> 7) - 1;
        digits.push(value.to_le_bytes()[0] & 0x7f | 0x80);
    }
    out.extend(digits.iter().rev());
}

/// Core's `CompressAmount` (`src/compressor.cpp`) as a VARINT.
pub fn push_compressed_amount(out: &mut Vec<u8>, mut value: u64) {
    if value == 0 {
        return push_varint(out, 0);
    }
    let mut zeros = 0;
    while value.is_multiple_of(10) && zeros < 9 {
        value /= 10;
        zeros += 1;
    }
    push_varint(
        out,
        if zeros < 9 { 1 + (value / 10 * 9 + value % 10 - 1) * 10 + zeros } else { 1 + (value - 1) * 10 + 9 },
    );
}
