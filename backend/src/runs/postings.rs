//! Which transactions pay or spend a script: sorted 40-bit prefixes of scripts, each with its postings.
//!
//! A script's first posting in a page is a number of the run's width, the others are distances in zeta codes: coins are
//! spent soon or after years, and no geometric code fits both. Two bits say whether the transaction pays the script or
//! spends from it; the rarer roles take two bits more, and zero ends the list. Lists go on in the next page under the same
//! prefix.
//!
//! Who spends an output is among those that spend from its script, told by a look at their inputs. Where a script has too
//! many of them to look at, its spends are named in pages of their own, and say so here.

use std::ops::RangeInclusive;

use dsi_bitstream::prelude::*;

use super::hashes::{PREFIX_BITS, Prefix};
use super::samples::{GROUP, Sample, Samples};
use super::{Bits, PAGE, PageError, bits_at};

/// Bytes in front of a page's samples: scripts.
const HEAD: usize = 4;

/// Bits of a role: the usual ones take the first, the others both.
const ROLE: usize = 2;

/// The parameter of the distances' zeta codes.
const ZETA: usize = 5;

/// What a transaction does with a script: at least one of the first two.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Role {
    /// It has an output with the script.
    pub pays: bool,
    /// It spends an output with the script.
    pub spends: bool,
    /// The outpoints that it spends are named in the run's pages of spends.
    pub named: bool,
}

/// Ends a list.
const END: u64 = 0;

/// Leads to the rarer roles.
const RARE: u64 = 3;

const PAYS: Role = Role { pays: true, spends: false, named: false };
const SPENDS: Role = Role { pays: false, spends: true, named: false };
const RARER: [Role; 3] = [
    Role { pays: true, spends: true, named: false },
    Role { pays: false, spends: true, named: true },
    Role { pays: true, spends: true, named: true },
];

impl Role {
    /// The code, and its bits.
    fn code(self) -> (u64, usize) {
        match self {
            PAYS => (1, ROLE),
            SPENDS => (2, ROLE),
            rare => {
                let at = RARER.iter().position(|role| *role == rare).unwrap_or(0);
                (RARE | (at as u64) << ROLE, 2 * ROLE)
            }
        }
    }
}

/// A transaction of a run and a script that it touches.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Posting {
    /// Of the script.
    pub script: Prefix,
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
    pub fn new(scripts: u64, transactions: u32) -> Self {
        Self { rice: super::rice(scripts), number: super::width(transactions) }
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
    samples: Vec<Sample>,
    scripts: usize,
    first: Prefix,
    last: Option<Posting>,
}

impl Page {
    fn new(shape: Shape, first: u64) -> Self {
        let words = BufBitWriter::new(MemWordWriterVec::new(Vec::new()));
        Self { shape, words, bits: 0, samples: Vec::new(), scripts: 0, first, last: None }
    }

    /// Adds a posting, unless there is no room for it and the end of its list.
    fn push(&mut self, posting: Posting) -> bool {
        let same = self.last.filter(|last| last.script == posting.script);
        let code = match same {
            Some(last) => len_zeta(u64::from(posting.number - last.number - 1), ZETA),
            None => self.opening() + len_rice(self.distance(&posting), self.shape.rice) + self.shape.number,
        };
        let (role, role_bits) = posting.role.code();
        let bits = self.bits + code + role_bits;
        if HEAD + Samples::size(self.scripts + usize::from(same.is_none())) + (bits + ROLE).div_ceil(32) * 4 > PAGE {
            return false;
        }
        // Writing to memory does not fail.
        match same {
            Some(last) => {
                let _ = self.words.write_bits(role, role_bits);
                let _ = self.words.write_zeta(u64::from(posting.number - last.number - 1), ZETA);
            }
            None => {
                if let Some(last) = self.last {
                    let _ = self.words.write_bits(END, ROLE);
                    if self.scripts.is_multiple_of(GROUP) {
                        self.samples.push(Sample { prefix: last.script, bit: self.bits + ROLE });
                    }
                }
                let _ = self.words.write_rice(self.distance(&posting), self.shape.rice);
                let _ = self.words.write_bits(role, role_bits);
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
        let _ = self.words.write_bits(END, ROLE);
        let words = self.words.into_inner().map(MemWordWriterVec::into_inner).unwrap_or_default();
        let samples: Vec<u8> = self.samples.iter().flat_map(|sample| sample.bytes()).collect();
        // A script takes some bits.
        let scripts = u32::try_from(self.scripts).unwrap_or(u32::MAX);
        let head = [&scripts.to_le_bytes()[..], &samples].concat();
        head.into_iter().chain(words.into_iter().flat_map(u32::to_le_bytes)).collect()
    }
}

/// A page being read.
struct Reading<'a> {
    shape: Shape,
    codes: Bits<'a>,
    bytes: usize,
    /// Scripts that have not begun.
    left: usize,
    script: Prefix,
    /// The list's last number; `None` between lists.
    last: Option<u32>,
    /// Whether a list has begun.
    open: bool,
}

impl<'a> Reading<'a> {
    /// From the last sample that is in front of every posting of a script.
    fn new(shape: Shape, first: Prefix, bytes: &'a [u8], from: Prefix) -> Result<Self, PageError> {
        let short = PageError::Short { bytes: bytes.len(), entries: 0 };
        let (head, rest) = bytes.split_first_chunk::<HEAD>().ok_or(short)?;
        let scripts = usize::try_from(u32::from_le_bytes(*head)).map_err(|_| short)?;
        let (samples, codes) = Samples::split(rest, scripts).ok_or(short)?;
        let (group, sample) = samples.before(from, first);
        let left = scripts.checked_sub(group * GROUP).ok_or(short)?;
        let codes = bits_at(codes, sample.bit as u64).ok_or(short)?;
        Ok(Self { shape, codes, bytes: bytes.len(), left, script: sample.prefix, last: None, open: false })
    }

    fn next(&mut self) -> Result<Option<Posting>, PageError> {
        loop {
            if !self.open {
                if self.left == 0 {
                    return Ok(None);
                }
                self.begin_list()?;
            }
            if let Some(role) = self.role()? {
                let number = self.number()?;
                self.last = Some(number);
                return Ok(Some(Posting { script: self.script, number, role }));
            }
            self.open = false;
        }
    }

    fn begin_list(&mut self) -> Result<(), PageError> {
        let distance = self.codes.read_rice(self.shape.rice).map_err(|_| self.short())?;
        let script = self.script.checked_add(distance).filter(|script| script >> PREFIX_BITS == 0);
        self.script = script.ok_or(PageError::Prefix)?;
        (self.left, self.last, self.open) = (self.left - 1, None, true);
        Ok(())
    }

    fn role(&mut self) -> Result<Option<Role>, PageError> {
        Ok(match self.bits(ROLE)? {
            END => None,
            1 => Some(PAYS),
            2 => Some(SPENDS),
            _ => {
                let rarer = usize::try_from(self.bits(ROLE)?).unwrap_or(usize::MAX);
                Some(*RARER.get(rarer).ok_or_else(|| self.short())?)
            }
        })
    }

    fn number(&mut self) -> Result<u32, PageError> {
        let number = match self.last {
            None => self.bits(self.shape.number)?,
            Some(last) => u64::from(last) + 1 + self.distance()?,
        };
        u32::try_from(number).map_err(|_| self.short())
    }

    /// As `read_zeta`, which has no bound: a damaged page may claim more bits than any number has.
    fn distance(&mut self) -> Result<u64, PageError> {
        let digits = self.codes.read_unary().ok().and_then(|digits| usize::try_from(digits).ok());
        let digits = digits.filter(|digits| digits * ZETA < 32).ok_or_else(|| self.short())?;
        let least = 1_u64 << (digits * ZETA);
        let more = self.codes.read_minimal_binary((least << ZETA) - least).map_err(|_| self.short())?;
        Ok(least + more - 1)
    }

    fn bits(&mut self, bits: usize) -> Result<u64, PageError> {
        self.codes.read_bits(bits).map_err(|_| self.short())
    }

    const fn short(&self) -> PageError {
        PageError::Short { bytes: self.bytes, entries: 0 }
    }
}

/// The postings of a page whose first script is known from its key, in order. Ends behind an error, where the page is
/// damaged.
pub fn read(shape: Shape, first: Prefix, bytes: &[u8]) -> impl Iterator<Item = Result<Posting, PageError>> {
    read_from(shape, first, bytes, 0)
}

fn read_from(
    shape: Shape,
    first: Prefix,
    bytes: &[u8],
    from: Prefix,
) -> impl Iterator<Item = Result<Posting, PageError>> {
    let mut reading = Some(Reading::new(shape, first, bytes, from));
    std::iter::from_fn(move || {
        let next = match reading.as_mut()? {
            Ok(reading) => reading.next().transpose(),
            Err(error) => Some(Err(*error)),
        };
        if next.as_ref().is_none_or(Result::is_err) {
            reading = None;
        }
        next
    })
}

/// The postings of a page's scripts with one of these prefixes.
///
/// # Errors
/// As the page is damaged.
pub fn find(
    shape: Shape,
    first: Prefix,
    bytes: &[u8],
    scripts: &RangeInclusive<Prefix>,
) -> Result<Vec<Posting>, PageError> {
    let mut found = Vec::new();
    for posting in read_from(shape, first, bytes, *scripts.start()) {
        let posting = posting?;
        if posting.script > *scripts.end() {
            break;
        }
        if posting.script >= *scripts.start() {
            found.push(posting);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::hashes::MAX_PREFIX;
    use super::*;

    fn roles() -> impl Strategy<Value = Role> {
        prop_oneof![Just(PAYS), Just(SPENDS), Just(RARER[0]), Just(RARER[1]), Just(RARER[2])]
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
            let shape = Shape::new(300, 40_000);
            let pages: Vec<_> = Pages::new(shape, postings.iter().copied()).collect();
            prop_assert!(pages.iter().all(|(_, page)| page.len() <= PAGE));
            let all = pages.iter().flat_map(|(first, page)| read(shape, *first, page)).collect::<Result<Vec<_>, _>>();
            prop_assert_eq!(all, Ok(postings.clone()));
            let wanted = 7 * spread..=11 * spread;
            let found = pages.iter().map(|(first, page)| find(shape, *first, page, &wanted).unwrap()).collect::<Vec<_>>();
            let expected = postings.into_iter().filter(|posting| wanted.contains(&posting.script)).collect::<Vec<_>>();
            prop_assert_eq!(found.concat(), expected);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..600), first in 0..=MAX_PREFIX) {
            let count = read(Shape::new(1000, 1000), first, &bytes).count();
            prop_assert!(count <= bytes.len() * 8 + 1);
        }
    }
    #[test]
    fn a_distance_of_more_bits_than_a_number_has_is_refused() {
        // A list that begins with transaction 0, and a code of twenty digits behind it.
        let words = [1_u32, 1 | 1 << 30, 1 << 10, 1, u32::MAX, u32::MAX, u32::MAX, u32::MAX];
        let page: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        let mut read = read(Shape::new(1000, 1000), 5, &page);
        assert_eq!(read.next(), Some(Ok(Posting { script: 5, number: 0, role: PAYS })));
        assert!(matches!(read.next(), Some(Err(PageError::Short { .. }))));
        assert_eq!(read.next(), None);
    }
}
