//! Where a block's transactions begin, as their sizes.
//!
//! A transaction is found by its number, and its number by the txid; to read it alone, its place in the block has to be
//! known. Sizes are close to each other within a block, so each block has a Golomb-Rice parameter of its own, and a group of
//! blocks shares a page. A place is the sum of the sizes in front of it: a few thousand codes at most.

use dsi_bitstream::prelude::*;

use super::{PAGE, PageError};

/// Bits of a block's number of transactions, and of its parameter. A block has at most 4,000,000 bytes.
const COUNT: usize = 17;
const PARAMETER: usize = 5;

/// Sizes of the transactions of consecutive blocks, packed until a page is full.
#[derive(Debug)]
pub struct SizesPage {
    words: BufBitWriter<LE, MemWordWriterVec<u32, Vec<u32>>>,
    bits: usize,
    blocks: u32,
}

impl Default for SizesPage {
    fn default() -> Self {
        let words = BufBitWriter::new(MemWordWriterVec::new(Vec::new()));
        Self { words, bits: 0, blocks: 0 }
    }
}

impl SizesPage {
    /// Adds a block, unless there is no room for it. A page takes its first block however large that is.
    pub fn push(&mut self, sizes: &[u32]) -> bool {
        let rice = parameter(sizes);
        let codes: usize = sizes.iter().map(|size| len_rice(u64::from(*size), rice)).sum();
        let bits = self.bits + COUNT + PARAMETER + codes;
        if self.blocks > 0 && bits.div_ceil(32) * 4 > PAGE {
            return false;
        }
        // Writing to memory does not fail.
        let _ = self.words.write_bits(sizes.len() as u64, COUNT);
        let _ = self.words.write_bits(rice as u64, PARAMETER);
        for size in sizes {
            let _ = self.words.write_rice(u64::from(*size), rice);
        }
        (self.bits, self.blocks) = (bits, self.blocks + 1);
        true
    }

    /// The page's bytes.
    pub fn finish(self) -> Vec<u8> {
        let words = self.words.into_inner().map(MemWordWriterVec::into_inner).unwrap_or_default();
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }
}

/// The best parameter for these sizes: near the logarithm of their mean, tried on both sides.
fn parameter(sizes: &[u32]) -> usize {
    let sum: u64 = sizes.iter().map(|size| u64::from(*size)).sum();
    let guess = (sum / (sizes.len() as u64).max(1)).max(1).ilog2() as usize;
    let bits = |rice: usize| sizes.iter().map(|size| len_rice(u64::from(*size), rice)).sum::<usize>();
    (guess.saturating_sub(2)..=guess + 1).min_by_key(|rice| bits(*rice)).unwrap_or(guess)
}

/// Where a transaction lies among those of its block.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Place {
    /// Bytes of those in front of it.
    pub offset: u64,
    /// Its own.
    pub size: u32,
}

/// Finds a transaction of the page's `block`-th block.
///
/// # Errors
/// [`PageError::Short`] where the page ends before it, or the block has fewer.
pub fn place(page: &[u8], block: u32, index: u32) -> Result<Place, PageError> {
    let (chunks, _) = page.as_chunks::<4>();
    let words: Vec<u32> = chunks.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let mut reader = BufBitReader::<LE, _>::new(MemWordReader::<u32, _>::new(&words));
    let short = || PageError::Short { bytes: page.len(), entries: index as usize + 1 };
    for at in 0..=block {
        let count = reader.read_bits(COUNT).map_err(|_| short())?;
        let rice = usize::try_from(reader.read_bits(PARAMETER).map_err(|_| short())?).map_err(|_| short())?;
        let mut offset = 0_u64;
        for number in 0..count {
            let size = reader.read_rice(rice).map_err(|_| short())?;
            if at == block && number == u64::from(index) {
                return Ok(Place { offset, size: u32::try_from(size).map_err(|_| short())? });
            }
            offset = offset.saturating_add(size);
        }
    }
    Err(short())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_place_is_found(blocks in prop::collection::vec(prop::collection::vec(60..5000_u32, 1..60), 1..60)) {
            let mut page = SizesPage::default();
            let taken = blocks.iter().take_while(|sizes| page.push(sizes)).count();
            let bytes = page.finish();
            prop_assert!(taken > 0 && bytes.len() <= PAGE);
            for (block, sizes) in (0..).zip(&blocks[..taken]) {
                let mut offset = 0;
                for (index, size) in (0..).zip(sizes) {
                    prop_assert_eq!(place(&bytes, block, index), Ok(Place { offset, size: *size }));
                    offset += u64::from(*size);
                }
                prop_assert!(block > 0 || place(&bytes, block, u32::MAX).is_err());
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), block in 0..9_u32, index in 0..99_u32) {
            let _ = place(&bytes, block, index);
        }
    }
}
