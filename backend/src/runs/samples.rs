//! Where a search within a page begins: every so many entries, the prefix in front and the bit where its code ends.
//!
//! A page's codes can only be read from a known place on. With a sample for each hundred or so a search reads that many
//! instead of thousands, for half a bit an entry.

use super::hashes::Prefix;

/// Entries between two samples.
pub const GROUP: usize = 128;

/// Bytes of a sample: the prefix (5) ‖ the bit (3).
const SIZE: usize = 8;

/// A place in a page.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Sample {
    /// Of the last entry in front of it.
    pub prefix: Prefix,
    /// Where the codes of the next entry begin.
    pub bit: usize,
}

impl Sample {
    /// Its bytes; a prefix has five, and a page fewer bits than three can say.
    pub fn bytes(self) -> [u8; SIZE] {
        (self.prefix << 24 | self.bit as u64).to_le_bytes()
    }

    fn of(bytes: [u8; SIZE]) -> Self {
        let word = u64::from_le_bytes(bytes);
        Self { prefix: word >> 24, bit: usize::try_from(word & 0xff_ffff).unwrap_or(usize::MAX) }
    }
}

/// All samples of a page.
#[derive(Clone, Copy, Debug)]
pub struct Samples<'a>(&'a [[u8; SIZE]]);

impl<'a> Samples<'a> {
    /// Bytes of the samples of so many entries.
    pub const fn size(entries: usize) -> usize {
        entries.saturating_sub(1) / GROUP * SIZE
    }

    /// Takes the samples of so many entries off the front; `None` where they do not fit.
    pub fn split(bytes: &'a [u8], entries: usize) -> Option<(Self, &'a [u8])> {
        let (samples, rest) = bytes.split_at_checked(Self::size(entries))?;
        Some((Self(samples.as_chunks().0), rest))
    }

    /// The last sample in front of every entry with a prefix, and how many samples are in front of that one. Before all of
    /// them is the page's start, where its first prefix is.
    pub fn before(&self, prefix: Prefix, first: Prefix) -> (usize, Sample) {
        let behind = self.0.partition_point(|sample| Sample::of(*sample).prefix < prefix);
        let sample = behind.checked_sub(1).map(|at| Sample::of(self.0[at]));
        (behind, sample.unwrap_or(Sample { prefix: first, bit: 0 }))
    }
}
