//! Where a block's transactions lie, as their sizes: in the block, and in its undo record.
//!
//! A transaction is found by its number, and its number by the txid; to read it alone, its place in the block has to be
//! known. Sizes are close to each other within a block, so each block has Golomb-Rice parameters of its own, and a group of
//! blocks shares a page. A place is the sum of the sizes in front of it; every hundred or so that sum is marked, so that few
//! codes are read for it.

use std::ops::Range;

use bitcoin::VarInt;
use dsi_bitstream::prelude::*;
use hindsight_shared::block::HEADER_SIZE;

use super::{Bits, PAGE, PageError, bits_at};

/// Bits of a block's number of transactions, of a parameter, and of the bits that its marks and sizes take. A block has at
/// most 4,000,000 bytes.
const COUNT: usize = 17;
const PARAMETER: usize = 5;
const BODY: usize = 32;

/// Bits of each of a mark's three numbers: bytes of the transactions in front of it, of their undo, and bits of their
/// codes. The undo of a block's 24,000 inputs at most, each with a script of 10,000 bytes at most, is within that.
const MARK: usize = 28;

/// Transactions between two marks.
const EVERY: u32 = 128;

/// Bytes of a transaction and of its undo: nothing for a coinbase, and where the block has no undo.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct TxSize {
    /// With witnesses.
    pub tx: u32,
    /// Its count and each prevout.
    pub undo: u32,
}

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
    pub fn push(&mut self, sizes: &[TxSize]) -> bool {
        let [tx, undo] = [parameter(sizes, |size| size.tx), parameter(sizes, |size| size.undo)];
        let code = |size: &TxSize| (len_rice(size.tx.into(), tx) + len_rice(size.undo.into(), undo)) as u64;
        let (mut marks, mut sum) = (Vec::new(), [0_u64; 3]);
        for (index, size) in (0_u32..).zip(sizes) {
            if index > 0 && index.is_multiple_of(EVERY) {
                marks.push(sum);
            }
            sum = [sum[0] + u64::from(size.tx), sum[1] + u64::from(size.undo), sum[2] + code(size)];
        }
        let body = (marks.len() * 3 * MARK) as u64 + sum[2];
        let bits = self.bits + COUNT + 2 * PARAMETER + BODY + usize::try_from(body).unwrap_or(usize::MAX / 2);
        if self.blocks > 0 && bits.div_ceil(32) * 4 > PAGE {
            return false;
        }
        // Writing to memory does not fail.
        let _ = self.words.write_bits(sizes.len() as u64, COUNT);
        let _ = self.words.write_bits(tx as u64, PARAMETER);
        let _ = self.words.write_bits(undo as u64, PARAMETER);
        let _ = self.words.write_bits(body, BODY);
        for number in marks.into_iter().flatten() {
            let _ = self.words.write_bits(number & ((1 << MARK) - 1), MARK);
        }
        for size in sizes {
            let _ = self.words.write_rice(size.tx.into(), tx);
            let _ = self.words.write_rice(size.undo.into(), undo);
        }
        (self.bits, self.blocks) = (bits, self.blocks + 1);
        true
    }

    /// Blocks so far.
    pub const fn blocks(&self) -> u32 {
        self.blocks
    }

    /// The page's bytes.
    pub fn finish(self) -> Vec<u8> {
        let words = self.words.into_inner().map(MemWordWriterVec::into_inner).unwrap_or_default();
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }
}

/// The best parameter for these sizes: near the logarithm of their mean, tried on both sides.
fn parameter(sizes: &[TxSize], size: impl Fn(&TxSize) -> u32) -> usize {
    let sum: u64 = sizes.iter().map(|tx| u64::from(size(tx))).sum();
    let guess = (sum / (sizes.len() as u64).max(1)).max(1).ilog2() as usize;
    let bits = |rice: usize| sizes.iter().map(|tx| len_rice(size(tx).into(), rice)).sum::<usize>();
    (guess.saturating_sub(2)..=guess + 1).min_by_key(|rice| bits(*rice)).unwrap_or(guess)
}

/// Where a transaction lies.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Place {
    /// Its bytes in the block.
    pub tx: Range<u32>,
    /// The bytes of its undo in the block's undo record; empty where there is none.
    pub undo: Range<u32>,
}

/// Finds a transaction of the page's `block`-th block.
///
/// # Errors
/// [`PageError::Short`] where the page ends before it, or the block has fewer.
pub fn place(page: &[u8], block: u32, index: u32) -> Result<Place, PageError> {
    let mut reader = Reader::new(page)?;
    for _ in 0..block {
        let header = reader.block()?;
        reader.skip(&header)?;
    }
    let header = reader.block()?;
    if index >= header.count {
        return Err(reader.short());
    }
    let head = |list: u64| VarInt(list).size() as u64;
    let before = reader.go_to_mark(&header, index / EVERY)?;
    let mut tx = HEADER_SIZE as u64 + head(header.count.into()) + before.tx;
    let mut undo = head((header.count.max(1) - 1).into()) + before.undo;
    for _ in 0..index % EVERY {
        let size = reader.size(&header)?;
        (tx, undo) = (tx + u64::from(size.tx), undo + u64::from(size.undo));
    }
    let size = reader.size(&header)?;
    Ok(Place { tx: reader.range(tx, size.tx)?, undo: reader.range(undo, size.undo)? })
}

/// The sizes of all blocks of a page.
///
/// # Errors
/// [`PageError::Short`] where it ends before so many blocks.
pub fn blocks(page: &[u8], blocks: u32) -> Result<Vec<Vec<TxSize>>, PageError> {
    let mut reader = Reader::new(page)?;
    let mut block = || {
        let header = reader.block()?;
        reader.go_to_mark(&header, 0)?;
        (0..header.count).map(|_| reader.size(&header)).collect()
    };
    (0..blocks).map(|_| block()).collect()
}

struct Reader<'a> {
    codes: Bits<'a>,
    bytes: usize,
}

/// What stands in front of a block's sizes.
struct Header {
    count: u32,
    tx: usize,
    undo: usize,
    /// Bits of the marks and the sizes.
    body: u64,
}

/// What lies in front of a mark.
#[derive(Default)]
struct Before {
    tx: u64,
    undo: u64,
}

impl<'a> Reader<'a> {
    fn new(page: &'a [u8]) -> Result<Self, PageError> {
        let codes = bits_at(page, 0).ok_or(PageError::Short { bytes: page.len(), entries: 0 })?;
        Ok(Self { codes, bytes: page.len() })
    }

    fn block(&mut self) -> Result<Header, PageError> {
        let mut bits = |bits| self.codes.read_bits(bits).ok();
        let header = (|| {
            let (count, tx, undo, body) = (bits(COUNT)?, bits(PARAMETER)?, bits(PARAMETER)?, bits(BODY)?);
            let small = |value| usize::try_from(value).ok();
            Some(Header { count: u32::try_from(count).ok()?, tx: small(tx)?, undo: small(undo)?, body })
        })();
        header.ok_or_else(|| self.short())
    }

    /// Goes on behind a block's sizes.
    fn skip(&mut self, header: &Header) -> Result<(), PageError> {
        let here = self.here()?;
        self.go_to(here + header.body)
    }

    /// From the end of a block's header to a mark's sizes; those of mark 0 are the first.
    fn go_to_mark(&mut self, header: &Header, mark: u32) -> Result<Before, PageError> {
        let (here, marks) = (self.here()?, u64::from(header.count.saturating_sub(1) / EVERY));
        let codes = here + marks * 3 * MARK as u64;
        let Some(at) = mark.checked_sub(1) else { return self.go_to(codes).map(|()| Before::default()) };
        self.go_to(here + u64::from(at) * 3 * MARK as u64)?;
        let mut number = || self.codes.read_bits(MARK).ok();
        let read = (|| Some((Before { tx: number()?, undo: number()? }, number()?)))();
        let (before, bits) = read.ok_or_else(|| self.short())?;
        self.go_to(codes + bits).map(|()| before)
    }

    fn here(&mut self) -> Result<u64, PageError> {
        self.codes.bit_pos().map_err(|_| self.short())
    }

    fn go_to(&mut self, bit: u64) -> Result<(), PageError> {
        self.codes.set_bit_pos(bit).map_err(|_| self.short())
    }

    fn size(&mut self, header: &Header) -> Result<TxSize, PageError> {
        let mut rice = |parameter| self.codes.read_rice(parameter).ok().and_then(|size| u32::try_from(size).ok());
        let size = (|| Some(TxSize { tx: rice(header.tx)?, undo: rice(header.undo)? }))();
        size.ok_or_else(|| self.short())
    }

    fn range(&self, start: u64, size: u32) -> Result<Range<u32>, PageError> {
        let end = u32::try_from(start + u64::from(size)).map_err(|_| self.short())?;
        Ok(end - size..end)
    }

    const fn short(&self) -> PageError {
        PageError::Short { bytes: self.bytes, entries: 0 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn size() -> impl Strategy<Value = TxSize> {
        (60..5000_u32, 0..900_u32).prop_map(|(tx, undo)| TxSize { tx, undo })
    }

    proptest! {
        #[test]
        fn every_place_is_found(many in prop::collection::vec(prop_oneof![9 => prop::collection::vec(size(), 1..20), 1 => prop::collection::vec(size(), 250..260)], 1..12)) {
            let mut page = SizesPage::default();
            let taken = many.iter().take_while(|sizes| page.push(sizes)).count();
            let count = page.blocks();
            let bytes = page.finish();
            prop_assert!(taken > 0 && bytes.len() <= PAGE);
            prop_assert_eq!(&blocks(&bytes, count).unwrap()[..], &many[..taken]);
            for (block, sizes) in (0..).zip(&many[..taken]) {
                let head = |list: usize| if list < 0xfd { 1 } else { 3 };
                let (mut tx, mut undo) = (80 + head(sizes.len()), head(sizes.len() - 1));
                for (index, size) in (0_u32..).zip(sizes) {
                    let expected = Place { tx: tx..tx + size.tx, undo: undo..undo + size.undo };
                    prop_assert_eq!(place(&bytes, block, index), Ok(expected));
                    (tx, undo) = (tx + size.tx, undo + size.undo);
                }
                prop_assert!(place(&bytes, block, u32::try_from(sizes.len()).unwrap()).is_err());
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), block in 0..9_u32, index in 0..99_u32) {
            let _ = (place(&bytes, block, index), blocks(&bytes, block));
        }
    }
}
