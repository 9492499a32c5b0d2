//! A run: a range of blocks whose rows are sorted and packed, and its head.
//!
//! Transactions are numbered from the run's first, so that a run needs nothing that is outside it: how many transactions
//! each of its blocks has is kept in its head. Its last block's hash says of which chain it is.

use std::collections::BTreeMap;

use bitcoin::BlockHash;
use bitcoin::hashes::Hash;
use hindsight_shared::Height;
use hindsight_shared::bytes::Reader;

use super::hashes::Prefix;
use super::{postings, prefixes};
use hindsight_shared::api::IndexLevel;

/// What tells a page from the others of its kind in a run: its first prefix, and its number among those with the same.
pub type PageKey = (Prefix, u32);

/// What a page holds.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Kind {
    /// Txids ([`prefixes`]).
    Txids,
    /// Scripts and what transactions do with them ([`postings`]).
    Scripts,
    /// Outpoints whose spenders are told by name ([`prefixes`]).
    Spends,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Txids, Self::Scripts, Self::Spends];

    /// The kinds of a level's runs.
    pub const fn of(level: IndexLevel) -> &'static [Self] {
        match level {
            IndexLevel::Transactions => &[Self::Txids],
            IndexLevel::Addresses => &[Self::Scripts, Self::Spends],
        }
    }
}

/// The head of a run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Run {
    /// Its number among all runs that there have been.
    pub id: u32,
    /// What it is for.
    pub level: IndexLevel,
    /// Its lowest block.
    pub from: Height,
    /// Its highest block.
    pub last: BlockHash,
    /// How many transactions are in front of each of its blocks, and in all.
    pub firsts: Vec<u32>,
    /// Scripts, or about as many.
    pub scripts: u64,
    /// Spends that are told by name.
    pub spends: u64,
}

/// Where a transaction is in the chain.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TxPosition {
    /// Of its block.
    pub height: Height,
    /// Its place in the block.
    pub index: u32,
}

impl Run {
    /// Its highest block.
    pub fn to(&self) -> Height {
        Height(self.from.0.saturating_add(self.blocks()).saturating_sub(1))
    }

    /// How many blocks it has.
    pub fn blocks(&self) -> u32 {
        u32::try_from(self.firsts.len().saturating_sub(1)).unwrap_or(u32::MAX)
    }

    /// How many transactions it has.
    pub fn transactions(&self) -> u32 {
        self.firsts.last().copied().unwrap_or_default()
    }

    /// Whether a block is among its blocks.
    pub fn covers(&self, height: Height) -> bool {
        (self.from..=self.to()).contains(&height)
    }

    /// Where its transaction of this number is; `None` where it has fewer.
    pub fn position(&self, number: u32) -> Option<TxPosition> {
        let block = self.firsts.partition_point(|first| *first <= number).checked_sub(1)?;
        let first = self.firsts[block];
        let height = self.from.0.checked_add(u32::try_from(block).ok()?)?;
        (number < self.transactions()).then_some(TxPosition { height: Height(height), index: number - first })
    }

    /// How its txids are packed.
    pub fn txids(&self) -> prefixes::Shape {
        prefixes::Shape::new(self.transactions().into(), self.transactions())
    }

    /// How its scripts are packed.
    pub fn postings(&self) -> postings::Shape {
        postings::Shape::new(self.scripts, self.transactions())
    }

    /// How its spends are packed.
    pub fn named(&self) -> prefixes::Shape {
        prefixes::Shape::new(self.spends, self.transactions())
    }

    /// IndexLevel (1) ‖ lowest height (4) ‖ last hash (32) ‖ scripts (8) ‖ spends (8) ‖ transactions of each block (4 each).
    pub fn pack(&self) -> Vec<u8> {
        let mut out = vec![u8::from(self.level == IndexLevel::Addresses)];
        out.extend_from_slice(&self.from.0.to_le_bytes());
        out.extend_from_slice(self.last.as_byte_array());
        out.extend_from_slice(&self.scripts.to_le_bytes());
        out.extend_from_slice(&self.spends.to_le_bytes());
        for pair in self.firsts.windows(2) {
            out.extend_from_slice(&(pair[1] - pair[0]).to_le_bytes());
        }
        out
    }

    /// Reads a head back; `None` where it is none.
    pub fn unpack(id: u32, bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let level = match reader.u8().ok()? {
            0 => IndexLevel::Transactions,
            1 => IndexLevel::Addresses,
            _ => return None,
        };
        let from = Height(reader.u32().ok()?);
        let last = BlockHash::from_byte_array(*reader.array().ok()?);
        let (scripts, spends) = (reader.u64().ok()?, reader.u64().ok()?);
        let mut firsts = Vec::with_capacity(1 + reader.left() / 4);
        firsts.push(0_u32);
        while reader.left() > 0 {
            let first = firsts.last()?.checked_add(reader.u32().ok()?)?;
            firsts.push(first);
        }
        let blocks = u32::try_from(firsts.len() - 1).ok().filter(|blocks| *blocks > 0)?;
        from.0.checked_add(blocks)?;
        Some(Self { id, level, from, last, firsts, scripts, spends })
    }
}

/// A run with its pages, as it is made.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Packed {
    /// Its head.
    pub run: Run,
    /// Its pages by kind.
    pub pages: BTreeMap<Kind, BTreeMap<PageKey, Vec<u8>>>,
    /// Of its blocks; for [`IndexLevel::Transactions`].
    pub sizes: SizePages,
}

/// Pages of the sizes of blocks, by the lowest block of each.
pub type SizePages = BTreeMap<Height, Vec<u8>>;

impl Packed {
    /// Bytes of all pages.
    pub fn bytes(&self) -> usize {
        self.pages.values().flat_map(BTreeMap::values).chain(self.sizes.values()).map(Vec::len).sum()
    }
}

/// Gives each of a kind's pages in order its key.
pub fn keyed(pages: impl Iterator<Item = (Prefix, Vec<u8>)>) -> impl Iterator<Item = (PageKey, Vec<u8>)> {
    let mut before: Option<PageKey> = None;
    pages.map(move |(prefix, page)| {
        let key = match before {
            Some((same, number)) if same == prefix => (prefix, number + 1),
            _ => (prefix, 0),
        };
        before = Some(key);
        (key, page)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> Run {
        Run {
            id: 7,
            level: IndexLevel::Addresses,
            from: Height(100),
            last: BlockHash::from_byte_array([9; 32]),
            firsts: vec![0, 1, 5, 6],
            scripts: 12,
            spends: 3,
        }
    }

    #[test]
    fn heads_return_and_others_are_refused() {
        let bytes = run().pack();
        assert_eq!(Run::unpack(7, &bytes), Some(run()));
        for end in 0..bytes.len() {
            let whole = end > 53 && (end - 53) % 4 == 0;
            assert_eq!(Run::unpack(7, &bytes[..end]).is_some(), whole, "{end}");
        }
    }

    #[test]
    fn numbers_are_counted_through_the_blocks() {
        let position = |number| run().position(number).map(|position| (position.height.0, position.index));
        let expected = [(100, 0), (101, 0), (101, 1), (101, 2), (101, 3), (102, 0)];
        assert_eq!((0..6).map(|number| position(number).unwrap()).collect::<Vec<_>>(), expected);
        assert_eq!(position(6), None);
        assert_eq!((run().to(), run().blocks(), run().transactions()), (Height(102), 3, 6));
    }

    #[test]
    fn pages_with_the_same_prefix_are_counted() {
        let pages = [5, 5, 6, 9, 9, 9].map(|prefix| (prefix, Vec::new()));
        let keys: Vec<PageKey> = keyed(pages.into_iter()).map(|(key, _)| key).collect();
        assert_eq!(keys, [(5, 0), (5, 1), (6, 0), (9, 0), (9, 1), (9, 2)]);
    }
}
