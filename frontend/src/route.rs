//! Every page's address, and nothing else that spells one. Paths are relative to the page's base and start without a
//! slash, so that any URL prefix works.

use bitcoin::{BlockHash, Txid};
use hindsight_shared::search::BlockId;

/// A link to the first page: the base itself, since an empty link would be the open page.
pub const HOME: &str = "./";

/// A page of the app.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Page {
    /// The newest blocks.
    Home,
    /// A block.
    Block(BlockId),
    /// A transaction in its block.
    Transaction(BlockId, TxId),
    /// An address that names nothing.
    NotFound,
}

/// A transaction within a block.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum TxId {
    /// By its position.
    Index(u32),
    /// By its txid.
    Txid(Txid),
}

impl Page {
    /// The block of this hash.
    pub const fn block(hash: BlockHash) -> Self {
        Self::Block(BlockId::Hash(hash))
    }

    /// Reads a path without its base, query and leading slash.
    pub fn parse(path: &str) -> Self {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let page = match parts[..] {
            [] => Some(Self::Home),
            ["block", block] => block.parse().ok().map(Self::Block),
            ["block", block, "tx", tx] => match (block.parse(), TxId::parse(tx)) {
                (Ok(block), Some(tx)) => Some(Self::Transaction(block, tx)),
                _ => None,
            },
            _ => None,
        };
        page.unwrap_or(Self::NotFound)
    }

    /// The path, relative to the base.
    pub fn path(&self) -> String {
        match self {
            Self::Home | Self::NotFound => String::new(),
            Self::Block(block) => ["block/", &block.to_string()].concat(),
            Self::Transaction(block, TxId::Index(index)) => {
                ["block/", &block.to_string(), "/tx/", &index.to_string()].concat()
            }
            Self::Transaction(block, TxId::Txid(txid)) => {
                ["block/", &block.to_string(), "/tx/", &txid.to_string()].concat()
            }
        }
    }

    /// A link to the page.
    pub fn href(&self) -> String {
        let path = self.path();
        if path.is_empty() { HOME.to_owned() } else { path }
    }
}

impl TxId {
    fn parse(text: &str) -> Option<Self> {
        match text.len() {
            64 => text.parse().ok().map(Self::Txid),
            1..=10 if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok().map(Self::Index),
            _ => None,
        }
    }
}

/// The name under which a table's query stands in an address.
const QUERY_NAME: &str = "?q=";

/// A query as the tail of an address; nothing where there is none.
pub fn encode_query(query: &str) -> String {
    if query.is_empty() {
        return String::new();
    }
    let mut out = QUERY_NAME.to_owned();
    for byte in query.bytes() {
        match byte {
            b' ' => out.push('+'),
            byte if byte.is_ascii_alphanumeric() || b"-._~:<>=".contains(&byte) => out.push(byte.into()),
            byte => {
                out.push('%');
                out.push_str(&crate::format::hex(&[byte]));
            }
        }
    }
    out
}

/// Reads the tail of an address; bytes that are no UTF-8 become replacement characters.
pub fn decode_query(search: &str) -> String {
    let Some(text) = search.strip_prefix(QUERY_NAME) else { return String::new() };
    let (mut rest, mut out) = (text.as_bytes(), Vec::with_capacity(text.len()));
    while let [byte, tail @ ..] = rest {
        let (decoded, tail) = match (byte, tail) {
            (b'%', [high, low, after @ ..]) => match (nibble(*high), nibble(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, after),
                _ => (b'%', tail),
            },
            (b'+', _) => (b' ', tail),
            (other, _) => (*other, tail),
        };
        out.push(decoded);
        rest = tail;
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn nibble(digit: u8) -> Option<u8> {
    u8::try_from(char::from(digit).to_digit(16)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f";
    const TXID: &str = "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b";

    #[track_caller]
    fn check(path: &str, canonical: &str) {
        let page = Page::parse(path);
        assert_eq!(page.path(), canonical);
        assert_ne!(page, Page::NotFound);
        assert_eq!(Page::parse(&page.href()), page);
    }

    #[test]
    fn paths_return() {
        check("block/840000", "block/840000");
        check("/block/840000/", "block/840000");
        check(&format!("block/{}", HASH.to_uppercase()), &format!("block/{HASH}"));
        check(&format!("block/{HASH}/tx/{TXID}"), &format!("block/{HASH}/tx/{TXID}"));
        check("block/5/tx/0", "block/5/tx/0");
        assert_eq!(Page::parse(""), Page::Home);
        assert_eq!(Page::Home.href(), "./");
    }

    #[test]
    fn other_paths_are_not_found() {
        for path in [
            "x",
            "block",
            "block/x",
            "block/-1",
            "block/5/tx",
            "block/5/tx/-1",
            "block/5/tx/12345678901",
            "block/5/rx/1",
        ] {
            assert_eq!(Page::parse(path), Page::NotFound, "{path}");
        }
    }

    #[test]
    fn queries_return() {
        for query in ["", "rate>=2 rate<5 sort:-fee", "4a5e", "50% off +1", "ünïcode &?#/"] {
            let encoded = encode_query(query);
            assert!(encoded.is_ascii() && !encoded.contains([' ', '&', '#']), "{encoded}");
            assert_eq!(decode_query(&encoded), query);
        }
        assert_eq!(encode_query("rate>=2 sort:-fee"), "?q=rate>=2+sort:-fee");
        assert_eq!(decode_query("?q=%"), "%");
        assert_eq!(decode_query("?q=%zz%4"), "%zz%4");
        assert_eq!(decode_query("?other=1"), "");
    }
}
