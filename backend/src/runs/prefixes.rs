//! Which transaction a hash leads to: sorted 40-bit prefixes and the transactions' numbers within the run.
//!
//! Of txids, and of the outpoints whose spenders are told by name. The page's distances come first, in Golomb-Rice codes,
//! because a search reads them from the start; the numbers follow, of one width, so that only the one that is wanted is
//! read. Of 1.3 billion transactions one in nine hundred searches meets a second one, which costs a look at its bytes.

use std::ops::RangeInclusive;

use dsi_bitstream::prelude::*;

use super::hashes::{PREFIX_BITS, Prefix};
use super::samples::{GROUP, Sample, Samples};
use super::{Bits, PAGE, PageError, bits_at};

/// Bytes in front of a page's samples: entries, and bits of the distances.
const HEAD: usize = 6;

/// Bits that a run's entries are written with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Shape {
    /// Of a distance, those that are written as they are.
    rice: usize,
    /// Of a number.
    number: usize,
}

impl Shape {
    /// For so many entries, evenly spread as hashes are, in a run of so many transactions.
    pub fn new(entries: u64, transactions: u32) -> Self {
        Self { rice: super::rice(entries), number: super::width(transactions) }
    }
}

/// A transaction of a run.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Entry {
    /// Of its txid, or of an outpoint that it spends.
    pub prefix: Prefix,
    /// Its number among the run's.
    pub number: u32,
}

/// Packs sorted entries.
#[derive(Debug)]
pub struct Pages<I> {
    entries: I,
    shape: Shape,
    next: Option<Entry>,
}

impl<I: Iterator<Item = Entry>> Pages<I> {
    /// The pages of a run of this shape.
    pub fn new(shape: Shape, mut entries: I) -> Self {
        let next = entries.next();
        Self { entries, shape, next }
    }
}

impl<I: Iterator<Item = Entry>> Iterator for Pages<I> {
    /// The first prefix of a page, and its bytes.
    type Item = (u64, Vec<u8>);

    fn next(&mut self) -> Option<Self::Item> {
        let first = self.next?;
        let mut page = Page::new(self.shape, first.prefix);
        while let Some(entry) = self.next {
            if !page.push(entry) {
                break;
            }
            self.next = self.entries.next();
        }
        Some((first.prefix, page.finish()))
    }
}

/// A page in the making.
struct Page {
    shape: Shape,
    last: u64,
    /// Bits of the distances so far.
    bits: usize,
    samples: Vec<Sample>,
    distances: Vec<u64>,
    numbers: Vec<u32>,
}

impl Page {
    const fn new(shape: Shape, first: u64) -> Self {
        Self { shape, last: first, bits: 0, samples: Vec::new(), distances: Vec::new(), numbers: Vec::new() }
    }

    /// Adds an entry, unless there is no room for it.
    fn push(&mut self, entry: Entry) -> bool {
        let distance = entry.prefix - self.last;
        let bits = self.bits + len_rice(distance, self.shape.rice);
        let all = bits + (self.numbers.len() + 1) * self.shape.number;
        // The codes are written in words of 32 bits.
        if HEAD + Samples::size(self.numbers.len() + 1) + all.div_ceil(32) * 4 > PAGE {
            return false;
        }
        if self.numbers.len().is_multiple_of(GROUP) && !self.numbers.is_empty() {
            self.samples.push(Sample { prefix: self.last, bit: self.bits });
        }
        (self.last, self.bits) = (entry.prefix, bits);
        self.distances.push(distance);
        self.numbers.push(entry.number);
        true
    }

    fn finish(self) -> Vec<u8> {
        let mut words = BufBitWriter::<LE, _>::new(MemWordWriterVec::new(Vec::<u32>::new()));
        // Writing to memory does not fail.
        for distance in &self.distances {
            let _ = words.write_rice(*distance, self.shape.rice);
        }
        for number in &self.numbers {
            let _ = words.write_bits(u64::from(*number), self.shape.number);
        }
        let words = words.into_inner().map(MemWordWriterVec::into_inner).unwrap_or_default();
        let (entries, bits) = (self.numbers.len(), self.bits);
        let samples = self.samples.iter().flat_map(|sample| sample.bytes()).collect::<Vec<u8>>();
        let head = [&u16_bytes(entries)[..], &u32_bytes(bits), &samples].concat();
        head.into_iter().chain(words.into_iter().flat_map(u32::to_le_bytes)).collect()
    }
}

/// A page has fewer entries than half of its bits, and those fit.
fn u16_bytes(number: usize) -> [u8; 2] {
    u16::try_from(number).unwrap_or(u16::MAX).to_le_bytes()
}

fn u32_bytes(number: usize) -> [u8; 4] {
    u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes()
}

/// A packed page, ready to be read.
#[derive(Clone, Copy, Debug)]
pub struct PageView<'a> {
    shape: Shape,
    first: Prefix,
    entries: usize,
    /// Bits of the distances.
    bits: u64,
    samples: Samples<'a>,
    codes: &'a [u8],
}

impl<'a> PageView<'a> {
    /// Looks at a page whose first prefix is known from its key.
    ///
    /// # Errors
    /// [`PageError::Short`] where it cannot hold what it says.
    pub fn new(shape: Shape, first: Prefix, bytes: &'a [u8]) -> Result<Self, PageError> {
        let short = |entries| PageError::Short { bytes: bytes.len(), entries };
        let (head, rest) = bytes.split_first_chunk::<HEAD>().ok_or_else(|| short(0))?;
        let [a, b, bits @ ..] = *head;
        let (entries, bits) = (usize::from(u16::from_le_bytes([a, b])), u64::from(u32::from_le_bytes(bits)));
        let (samples, codes) = Samples::split(rest, entries).ok_or_else(|| short(entries))?;
        let all = bits + (entries * shape.number) as u64;
        if (codes.len() as u64) * 8 < all {
            return Err(short(entries));
        }
        Ok(Self { shape, first, entries, bits, samples, codes })
    }

    /// The entries with one of these prefixes.
    ///
    /// # Errors
    /// As the page is damaged.
    pub fn find(&self, prefixes: &RangeInclusive<Prefix>) -> Result<Vec<Entry>, PageError> {
        let (group, sample) = self.samples.before(*prefixes.start(), self.first);
        let mut distances = self.bits_at(sample.bit as u64)?;
        let (mut last, mut found, mut numbers) = (sample.prefix, Vec::new(), None);
        for at in group * GROUP..self.entries {
            let distance = distances.read_rice(self.shape.rice).map_err(|_| self.short())?;
            last = last.checked_add(distance).filter(|prefix| prefix >> PREFIX_BITS == 0).ok_or(PageError::Prefix)?;
            if last > *prefixes.end() {
                break;
            }
            if last >= *prefixes.start() {
                let numbers = match &mut numbers {
                    Some(numbers) => numbers,
                    none => none.insert(self.bits_at(self.bits + (at * self.shape.number) as u64)?),
                };
                let number = numbers.read_bits(self.shape.number).ok().and_then(|number| u32::try_from(number).ok());
                found.push(Entry { prefix: last, number: number.ok_or_else(|| self.short())? });
            }
        }
        Ok(found)
    }

    /// All entries, sorted.
    ///
    /// # Errors
    /// As the page is damaged.
    pub fn entries(&self) -> Result<Vec<Entry>, PageError> {
        self.find(&(0..=Prefix::MAX))
    }

    fn bits_at(&self, bit: u64) -> Result<Bits<'a>, PageError> {
        bits_at(self.codes, bit).ok_or_else(|| self.short())
    }

    const fn short(&self) -> PageError {
        PageError::Short { bytes: self.codes.len(), entries: self.entries }
    }
}

#[cfg(test)]
mod tests {
    use bitcoin::Txid;
    use bitcoin::hashes::Hash;
    use proptest::prelude::*;

    use super::super::hashes::of_txid;
    use super::*;

    /// Evenly spread, like hashes.
    fn spread(transactions: u32, seed: u64) -> Vec<Entry> {
        let hash = |number: u32| {
            let bytes = [seed.to_le_bytes(), u64::from(number).to_le_bytes()].concat();
            of_txid(&Txid::hash(&bytes))
        };
        let mut entries: Vec<_> = (0..transactions).map(|number| Entry { prefix: hash(number), number }).collect();
        entries.sort_unstable();
        entries
    }

    fn packed(entries: &[Entry]) -> (Shape, Vec<(u64, Vec<u8>)>) {
        let shape = Shape::new(entries.len() as u64, u32::try_from(entries.len()).unwrap());
        (shape, Pages::new(shape, entries.iter().copied()).collect())
    }

    #[test]
    fn forty_three_bits_an_entry_in_a_run_of_any_size() {
        for transactions in [100_000, 1_000_000] {
            let (_, pages) = packed(&spread(transactions, 1));
            let bytes: usize = pages.iter().map(|(_, page)| page.len()).sum();
            let millibits = bytes as u64 * 8_000 / u64::from(transactions);
            assert!((41_500..43_000).contains(&millibits), "{millibits}");
            let full = pages[..pages.len() - 1].iter().all(|(_, page)| PAGE - page.len() < 16);
            assert!(full, "a page has room left");
        }
    }

    #[test]
    fn each_is_found_in_the_last_page_that_does_not_begin_behind_it() {
        let entries = spread(20_000, 2);
        let (shape, pages) = packed(&entries);
        for entry in &entries {
            let at = pages.partition_point(|(first, _)| *first <= entry.prefix) - 1;
            let (first, page) = &pages[at];
            let found = PageView::new(shape, *first, page).unwrap().find(&(entry.prefix..=entry.prefix)).unwrap();
            assert!(found.contains(entry), "{entry:?}");
        }
    }

    proptest! {
        #[test]
        fn what_was_packed_is_read(mut raw in prop::collection::vec((0..1_u64 << PREFIX_BITS, 0..5000_u32), 1..5000)) {
            raw.sort_unstable();
            let entries: Vec<_> = raw.into_iter().map(|(prefix, number)| Entry { prefix, number }).collect();
            let shape = Shape::new(5000, 5000);
            let pages = Pages::new(shape, entries.iter().copied());
            let read = pages.flat_map(|(first, page)| PageView::new(shape, first, &page).unwrap().entries().unwrap());
            prop_assert_eq!(read.collect::<Vec<_>>(), entries);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..600), first in any::<u64>(), prefix in 0..1_u64 << PREFIX_BITS) {
            if let Ok(page) = PageView::new(Shape::new(1000, 1000), first, &bytes) {
                let _ = (page.find(&(prefix..=prefix)), page.entries());
            }
        }
    }
}
