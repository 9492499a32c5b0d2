//! Sealed runs: what a range of blocks adds to the index of transactions, sorted and packed into pages.
//!
//! Plain rows of a B-tree, a prefix and a number each, take about twelve bytes a transaction and as much again for the
//! tree's free space. A run is sorted once and never changed, so that its prefixes can be told by their distances and its
//! numbers by as many bits as the run has transactions: 43 bits each, whatever the run's size, since a larger run has
//! shorter distances and longer numbers. Pages fill a page of the store to the last bytes; the tree above them knows each
//! page's first prefix and nothing else.
//!
//! Bytes in, values out: where pages are kept is `index`'s business, which blocks are sealed `ingest`'s.

use std::io::Cursor;

use dsi_bitstream::prelude::*;

pub mod hashes;
pub mod postings;
pub mod prefixes;
pub mod rows;
pub mod run;
mod samples;
pub mod seal;
pub mod sizes;

/// Bytes that a page holds at most: the store's page of 16 KiB, less what it needs for itself, the key and a checksum.
pub const PAGE: usize = (16 << 10) - 32;

/// A page's codes from some bit on, read where they lie.
type Bits<'a> = BufBitReader<LE, WordAdapter<u32, Cursor<&'a [u8]>>>;

/// `None` where the codes end before.
fn bits_at(codes: &[u8], bit: u64) -> Option<Bits<'_>> {
    let mut bits = BufBitReader::new(WordAdapter::new(Cursor::new(codes)));
    bits.set_bit_pos(bit).ok()?;
    Some(bits)
}

/// The best parameter of a Golomb-Rice code for the distances of so many prefixes: the largest power of two below the
/// median of their geometric distribution, which is 0.693 times its mean.
fn rice(prefixes: u64) -> usize {
    let mean = (1_u64 << hashes::PREFIX_BITS) / prefixes.max(1);
    let median = mean / 1000 * 693 + mean % 1000 * 693 / 1000;
    median.max(1).ilog2() as usize
}

/// Bits of a number of one of so many transactions.
const fn width(transactions: u32) -> usize {
    (u32::BITS - transactions.leading_zeros()) as usize
}

/// Why a page cannot be read.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// It ends before what it says it holds.
    #[error("a page of {bytes} bytes is too short for its {entries} entries")]
    Short {
        /// Bytes that are there.
        bytes: usize,
        /// What it says it holds.
        entries: usize,
    },
    /// It holds a prefix that no page has.
    #[error("a page leads beyond the largest prefix")]
    Prefix,
    /// Its checksum does not hold.
    #[error("a page's checksum does not hold")]
    Checksum,
}
