//! What a person types into the search box, and what a path names a block by.

use std::fmt;
use std::str::FromStr;

use bitcoin::BlockHash;

use crate::Height;
use crate::calendar::Day;

/// A block by height or by hash.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum BlockId {
    /// The block of the best chain at this height.
    Height(Height),
    /// This very block, on the best chain or not.
    Hash(BlockHash),
}

/// Where a list of blocks starts; it goes downwards from there.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum ListStart {
    /// At this height, or at the next below it that is there.
    Height(Height),
    /// With the last block of this day, or of one before it.
    Day(Day),
}

/// What a search can be for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Term {
    /// A block.
    Block(BlockId),
    /// The blocks of a day.
    Day(Day),
}

/// Text that names no block.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("'{0}' is neither a block height (0 to 4294967294) nor a block hash (64 hex digits)")]
pub struct NotABlockId(String);

/// Text that names no place in the chain.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("'{0}' is neither a block height (0 to 4294967294) nor a date (2009-01-03)")]
pub struct NotAListStart(String);

/// Text that names nothing to search for.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("'{0}' is neither a block height (0 to 4294967294), a block hash (64 hex digits) nor a date (2009-01-03)")]
pub struct NotATerm(String);

impl FromStr for BlockId {
    type Err = NotABlockId;

    /// Heights are plain digits; hashes are 64 hex digits in display order, in either case.
    fn from_str(text: &str) -> Result<Self, NotABlockId> {
        // An error repeats what was asked, not megabytes of it.
        let refuse = || NotABlockId(text.chars().take(80).collect());
        if text.len() == 64 {
            return text.parse().map(Self::Hash).map_err(|_| refuse());
        }
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(refuse());
        }
        let height = text.parse().ok().filter(|&height| height != u32::MAX);
        height.map(|height| Self::Height(Height(height))).ok_or_else(refuse)
    }
}

impl fmt::Display for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Height(height) => height.fmt(f),
            Self::Hash(hash) => hash.fmt(f),
        }
    }
}

impl FromStr for ListStart {
    type Err = NotAListStart;

    /// A height as in a path, or a date.
    fn from_str(text: &str) -> Result<Self, NotAListStart> {
        let refuse = || NotAListStart(text.chars().take(80).collect());
        match text.parse() {
            Ok(BlockId::Height(height)) => Ok(Self::Height(height)),
            Ok(BlockId::Hash(_)) => Err(refuse()),
            Err(_) => text.parse().map(Self::Day).map_err(|_| refuse()),
        }
    }
}

impl fmt::Display for ListStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Height(height) => height.fmt(f),
            Self::Day(day) => day.fmt(f),
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Block(id) => id.fmt(f),
            Self::Day(day) => day.fmt(f),
        }
    }
}

/// Reads the search box: like a path, but forgiving about spaces around and separators within a height; and a date.
pub fn parse_search(text: &str) -> Result<Term, NotATerm> {
    let text = text.trim();
    let grouped = !text.is_empty()
        && text
            .chars()
            .all(|char| char.is_ascii_digit() || matches!(char, ',' | ' ' | '\u{a0}' | '\u{202f}' | '_' | '\'' | '#'));
    let id = if grouped && text.len() != 64 {
        text.chars().filter(char::is_ascii_digit).collect::<String>().parse()
    } else {
        text.parse()
    };
    let refuse = || NotATerm(text.chars().take(80).collect());
    id.map(Term::Block).or_else(|NotABlockId(_)| text.parse().map(Term::Day).map_err(|_| refuse()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const GENESIS: &str = "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f";

    #[track_caller]
    fn check(text: &str, expect: Option<&str>) {
        assert_eq!(parse_search(text).ok().map(|id| id.to_string()).as_deref(), expect, "{text}");
    }

    #[test]
    fn heights_and_hashes() {
        check("0", Some("0"));
        check(" 840,000 ", Some("840000"));
        check("840 000", Some("840000"));
        check("#5", Some("5"));
        check(" 2009-01-03 ", Some("2009-01-03"));
        check(GENESIS, Some(GENESIS));
        check(&GENESIS.to_uppercase(), Some(GENESIS));
        check(&format!("\t{GENESIS}\n"), Some(GENESIS));
        for nothing in [
            "",
            " ",
            "#",
            "-1",
            "+1",
            "1.5",
            "1e3",
            "4294967295",
            "99999999999",
            "abc",
            &GENESIS[1..],
            "stale",
            "１",
            "2009-02-30",
        ] {
            check(nothing, None);
        }
    }

    #[test]
    fn paths_are_strict() {
        for text in ["1,000", " 1", "+1", "0x10", ""] {
            assert!(text.parse::<BlockId>().is_err(), "{text}");
        }
        assert_eq!("007".parse(), Ok(BlockId::Height(Height(7))));
    }

    #[test]
    fn lists_start_at_a_height_or_a_day() {
        for text in ["0", "840000", "2024-04-20"] {
            assert_eq!(text.parse::<ListStart>().map(|start| start.to_string()), Ok(text.to_owned()));
        }
        for text in ["", "1,000", GENESIS, "2024-04-31", "tip"] {
            assert!(text.parse::<ListStart>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text: String) {
            if let Ok(id) = parse_search(&text) {
                prop_assert_eq!(parse_search(&id.to_string()), Ok(id));
            }
        }
    }
}
