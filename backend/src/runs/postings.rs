//! Which transactions pay or spend a script: sorted 40-bit prefixes of scripts, each with its postings.
//!
//! A script's first posting in a page is a number of the run's width, the others are distances in zeta codes: coins are
//! spent soon or after years, and no geometric code fits both. Two bits say whether the transaction pays the script, spends
//! from it or does both; zero ends the list. Lists go on in the next page under the same prefix.

use dsi_bitstream::prelude::*;

use super::txids::PREFIX_BITS;
use super::{PAGE, PageError};

/// Bytes in front of a page's codes: scripts.
const HEAD: usize = 4;

/// Bits of a posting's role.
const ROLE: usize = 2;

/// The parameter of the distances' zeta codes.
const ZETA: usize = 5;

/// What a transaction does with a script.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Role {
    /// It has an output with the script.
    Pays,
    /// It spends an output with the script.
    Spends,
    /// It does both.
    Both,
}

impl Role {
    const fn code(self) -> u64 {
        match self {
            Self::Pays => 1,
            Self::Spends => 2,
            Self::Both => 3,
        }
    }

    const fn of(code: u64) -> Option<Self> {
        match code {
            1 => Some(Self::Pays),
            2 => Some(Self::Spends),
            3 => Some(Self::Both),
            _ => None,
        }
    }
}

/// A transaction of a run and a script that it touches.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Posting {
    /// The keyed hash of the script, cut to [`PREFIX_BITS`].
    pub script: u64,
    /// The transaction's number among the run's.
    pub number: u32,
    /// What it does.
    pub role: Role,
}

/// Bits that a run's postings are written with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Shape {
    /// Of the distance of two scripts, those that are written as they are.
    rice: usize,
    /// Of a transaction's number.
    number: usize,
}

impl Shape {
    /// For a run of so many transactions that touch so many scripts.
    pub fn new(transactions: u32, scripts: u64) -> Self {
        let spread = (1_u64 << PREFIX_BITS) / scripts.max(1);
        let median = spread / 1000 * 693 + spread % 1000 * 693 / 1000;
        Self { rice: median.max(1).ilog2() as usize, number: (u32::BITS - transactions.leading_zeros()) as usize }
    }
}

/// Packs sorted postings, one for each script and transaction.
#[derive(Debug)]
pub struct Pages<I> {
    postings: I,
    shape: Shape,
    next: Option<Posting>,
}

impl<I: Iterator<Item = Posting>> Pages<I> {
    /// The pages of a run of this shape.
    pub fn new(shape: Shape, mut postings: I) -> Self {
        let next = postings.next();
        Self { postings, shape, next }
    }
}

impl<I: Iterator<Item = Posting>> Iterator for Pages<I> {
    /// The first script of a page, and its bytes.
    type Item = (u64, Vec<u8>);

    fn next(&mut self) -> Option<Self::Item> {
        let first = self.next?;
        let mut page = Page::new(self.shape, first.script);
        while let Some(posting) = self.next {
            if !page.push(posting) {
                break;
            }
            self.next = self.postings.next();
        }
        Some((first.script, page.finish()))
    }
}

struct Page {
    shape: Shape,
    words: BufBitWriter<LE, MemWordWriterVec<u32, Vec<u32>>>,
    bits: usize,
    scripts: u32,
    first: u64,
    last: Option<Posting>,
}

impl Page {
    fn new(shape: Shape, first: u64) -> Self {
        let words = BufBitWriter::new(MemWordWriterVec::new(Vec::new()));
        Self { shape, words, bits: 0, scripts: 0, first, last: None }
    }

    /// Adds a posting, unless there is no room for it and the end of its list.
    fn push(&mut self, posting: Posting) -> bool {
        let same = self.last.filter(|last| last.script == posting.script);
        let code = match same {
            Some(last) => len_zeta(u64::from(posting.number - last.number - 1), ZETA),
            None => self.opening() + len_rice(self.distance(&posting), self.shape.rice) + self.shape.number,
        };
        let bits = self.bits + code + ROLE;
        if HEAD + (bits + ROLE).div_ceil(32) * 4 > PAGE {
            return false;
        }
        // Writing to memory does not fail.
        match same {
            Some(last) => {
                let _ = self.words.write_bits(posting.role.code(), ROLE);
                let _ = self.words.write_zeta(u64::from(posting.number - last.number - 1), ZETA);
            }
            None => {
                if self.last.is_some() {
                    let _ = self.words.write_bits(0, ROLE);
                }
                let _ = self.words.write_rice(self.distance(&posting), self.shape.rice);
                let _ = self.words.write_bits(posting.role.code(), ROLE);
                let _ = self.words.write_bits(u64::from(posting.number), self.shape.number);
                self.scripts += 1;
            }
        }
        (self.bits, self.last) = (bits, Some(posting));
        true
    }

    /// Bits that end the list before.
    const fn opening(&self) -> usize {
        if self.last.is_some() { ROLE } else { 0 }
    }

    fn distance(&self, posting: &Posting) -> u64 {
        posting.script - self.last.map_or(self.first, |last| last.script)
    }

    fn finish(mut self) -> Vec<u8> {
        let _ = self.words.write_bits(0, ROLE);
        let words = self.words.into_inner().map(MemWordWriterVec::into_inner).unwrap_or_default();
        self.scripts.to_le_bytes().into_iter().chain(words.into_iter().flat_map(u32::to_le_bytes)).collect()
    }
}

/// Reads a page whose first script is known from its key, and hands each posting to `take` until that has had enough.
///
/// # Errors
/// As the page is damaged.
pub fn read(
    shape: Shape,
    first: u64,
    bytes: &[u8],
    mut take: impl FnMut(Posting) -> std::ops::ControlFlow<()>,
) -> Result<(), PageError> {
    let short = || PageError::Short { bytes: bytes.len(), entries: 0 };
    let (head, codes) = bytes.split_first_chunk::<HEAD>().ok_or_else(short)?;
    let (chunks, _) = codes.as_chunks::<4>();
    let words: Vec<u32> = chunks.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let mut reader = BufBitReader::<LE, _>::new(MemWordReader::<u32, _>::new(&words));
    let mut script = first;
    for _ in 0..u32::from_le_bytes(*head) {
        let distance = reader.read_rice(shape.rice).map_err(|_| short())?;
        script = script.checked_add(distance).filter(|script| script >> PREFIX_BITS == 0).ok_or(PageError::Prefix)?;
        let mut last: Option<u32> = None;
        while let Some(role) = Role::of(reader.read_bits(ROLE).map_err(|_| short())?) {
            let number = match last {
                None => reader.read_bits(shape.number).map_err(|_| short())?,
                Some(last) => {
                    let distance = reader.read_zeta(ZETA).map_err(|_| short())?;
                    (u64::from(last) + 1).checked_add(distance).ok_or_else(short)?
                }
            };
            let number = u32::try_from(number).map_err(|_| short())?;
            last = Some(number);
            if take(Posting { script, number, role }).is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::ops::ControlFlow;

    use proptest::prelude::*;

    use super::*;

    fn all(shape: Shape, pages: &[(u64, Vec<u8>)]) -> Vec<Posting> {
        let mut read_back = Vec::new();
        for (first, page) in pages {
            assert!(page.len() <= PAGE);
            let keep = |posting| {
                read_back.push(posting);
                ControlFlow::Continue(())
            };
            read(shape, *first, page, keep).unwrap();
        }
        read_back
    }

    fn roles() -> impl Strategy<Value = Role> {
        prop_oneof![Just(Role::Pays), Just(Role::Spends), Just(Role::Both)]
    }

    proptest! {
        #[test]
        fn what_was_packed_is_read(
            raw in prop::collection::btree_map((0..300_u64, 0..40_000_u32), roles(), 1..9000),
            spread in 1..1_u64 << 31,
        ) {
            let posting = |((script, number), role): ((u64, u32), Role)| Posting { script: script * spread, number, role };
            let raw: BTreeMap<_, _> = raw;
            let postings: Vec<_> = raw.into_iter().map(posting).collect();
            let shape = Shape::new(40_000, 300);
            let pages: Vec<_> = Pages::new(shape, postings.iter().copied()).collect();
            prop_assert_eq!(all(shape, &pages), postings);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..600), first in any::<u64>()) {
            let mut count = 0;
            let _ = read(Shape::new(1000, 1000), first, &bytes, |_| {
                count += 1;
                ControlFlow::Continue(())
            });
            prop_assert!(count <= bytes.len() * 8);
        }
    }
}
