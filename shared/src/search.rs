//! What a person types into the search box, and what a path names a block by.

use std::fmt;
use std::str::FromStr;

use bitcoin::address::NetworkUnchecked;
use bitcoin::key::{PublicKey, TweakedPublicKey, XOnlyPublicKey};
use bitcoin::{Address, BlockHash, Network, ScriptBuf};

use crate::Height;
use crate::calendar::Day;
use crate::network::NetworkExt;

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

/// Text that names no script.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NotAScript {
    /// It is an address of another network.
    #[error("'{0}' is an address, but not one of {1}")]
    OtherNetwork(String, &'static str),
    /// It is nothing known.
    #[error("'{0}' is neither an address nor a scriptPubKey in hex")]
    Nothing(String),
}

/// The script that a path names: an address of the network, in any case that its kind allows, or the script in hex.
///
/// # Errors
/// Where it is neither.
pub fn script_of(text: &str, network: Network) -> Result<ScriptBuf, NotAScript> {
    let shown = || text.chars().take(100).collect();
    match text.parse::<Address<NetworkUnchecked>>() {
        Ok(address) => {
            let here = address.require_network(network).map(|address| address.script_pubkey());
            here.map_err(|_| NotAScript::OtherNetwork(shown(), network.chain_name()))
        }
        Err(_) => ScriptBuf::from_hex(text).map_err(|_| NotAScript::Nothing(shown())),
    }
}

/// Every script that a person may mean by a text, and whether it can mean nothing else: an address can not; a public key
/// may pay to itself or to its hash, in each of the usual ways; other hex may be a script, if anybody has ever paid it.
pub fn scripts_of(text: &str, network: Network) -> Vec<(ScriptBuf, bool)> {
    let mut scripts = Vec::new();
    if let Ok(key) = text.parse::<PublicKey>() {
        scripts.push(ScriptBuf::new_p2pk(&key));
        scripts.push(ScriptBuf::new_p2pkh(&key.pubkey_hash()));
        if let Ok(hash) = key.wpubkey_hash() {
            let program = ScriptBuf::new_p2wpkh(&hash);
            scripts.push(ScriptBuf::new_p2sh(&program.script_hash()));
            scripts.push(program);
        }
    }
    if let Ok(key) = text.parse::<XOnlyPublicKey>() {
        scripts.push(ScriptBuf::new_p2tr_tweaked(TweakedPublicKey::dangerous_assume_tweaked(key)));
    }
    let script = script_of(text, network).ok().map(|script| (script, ScriptBuf::from_hex(text).is_err()));
    script.into_iter().chain(scripts.into_iter().map(|script| (script, false))).collect()
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

    #[test]
    fn addresses_are_read_in_every_case_that_their_kind_allows() {
        // BIP173's example, and the address of mempool/mempool#301; mempool/mempool#327: base58 must keep its case.
        let (lower, upper) =
            ("bc1q0qfzuge7vr5s2xkczrjkccmxemlyyn8mhx298v", "BC1Q0QFZUGE7VR5S2XKCZRJKCCMXEMLYYN8MHX298V");
        let script = script_of(lower, Network::Bitcoin).unwrap();
        assert_eq!(script_of(upper, Network::Bitcoin), Ok(script));
        let mixed = "bc1q0qfzuge7vr5s2xkczrjkccmxemlyyn8mhx298V";
        assert!(matches!(script_of(mixed, Network::Bitcoin), Err(NotAScript::Nothing(_))));
        let base58 = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
        assert!(script_of(base58, Network::Bitcoin).is_ok_and(|script| script.is_p2pkh()));
        assert!(script_of(&base58.to_lowercase(), Network::Bitcoin).is_err());
        assert!(matches!(script_of(base58, Network::Testnet), Err(NotAScript::OtherNetwork(_, "test"))));
    }

    #[test]
    fn a_key_may_mean_several_scripts() {
        // The genesis coinbase's key, and the generator's.
        let genesis = "04678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5f";
        let scripts = scripts_of(genesis, Network::Bitcoin);
        assert_eq!(address_of(&scripts[2].0), "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa");
        assert_eq!(scripts.len(), 3);
        let generator = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
        let found: Vec<String> =
            scripts_of(generator, Network::Bitcoin)[2..].iter().map(|(script, _)| address_of(script)).collect();
        // BIP173's P2WPKH example is of this key.
        let expected = [
            "1BgGZ9tcN4rm9KBzDn7KprQz87SZ26SAMH",
            "3JvL6Ymt8MVWiCNHC7oWU6nLeHNJKLZGLN",
            "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
        ];
        assert_eq!(found, expected);
        assert_eq!(scripts_of(&generator[2..], Network::Bitcoin).len(), 2);
        assert!(scripts_of("nonsense", Network::Bitcoin).is_empty());
    }

    fn address_of(script: &ScriptBuf) -> String {
        crate::script::address(script, Network::Bitcoin).unwrap_or_default()
    }

    proptest! {
        #[test]
        fn any_text_is_a_script_or_refused(text: String) {
            let _ = scripts_of(&text, Network::Bitcoin);
        }

        #[test]
        fn any_text_is_read_or_refused(text: String) {
            if let Ok(id) = parse_search(&text) {
                prop_assert_eq!(parse_search(&id.to_string()), Ok(id));
            }
        }
    }
}
