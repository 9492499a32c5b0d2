//! What a person types into the search box, and what a path names a block by.

use std::fmt;
use std::str::FromStr;

use bitcoin::BlockHash;

use crate::Height;

/// A block by height or by hash.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum BlockId {
    /// The block of the best chain at this height.
    Height(Height),
    /// This very block, on the best chain or not.
    Hash(BlockHash),
}

/// Text that names no block.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("'{0}' is neither a block height (0 to 4294967294) nor a block hash (64 hex digits)")]
pub struct NotABlockId(String);

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

/// Reads the search box: like a path, but forgiving about spaces around and separators within a height.
pub fn parse_search(text: &str) -> Result<BlockId, NotABlockId> {
    let text = text.trim();
    let grouped = !text.is_empty()
        && text
            .chars()
            .all(|char| char.is_ascii_digit() || matches!(char, ',' | ' ' | '\u{a0}' | '\u{202f}' | '_' | '\'' | '#'));
    if grouped && text.len() != 64 {
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        return digits.parse().map_err(|NotABlockId(_)| NotABlockId(text.chars().take(80).collect()));
    }
    text.parse()
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
        check(GENESIS, Some(GENESIS));
        check(&GENESIS.to_uppercase(), Some(GENESIS));
        check(&format!("\t{GENESIS}\n"), Some(GENESIS));
        for nothing in
            ["", " ", "#", "-1", "+1", "1.5", "1e3", "4294967295", "99999999999", "abc", &GENESIS[1..], "stale", "１"]
        {
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

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text: String) {
            if let Ok(id) = parse_search(&text) {
                prop_assert_eq!(id.to_string().parse(), Ok(id));
            }
        }
    }
}
