//! Every page's address, and nothing else that spells one. Paths are relative to the page's base and start without a
//! slash, so that any URL prefix works.

use bitcoin::{BlockHash, Txid};
use hindsight_shared::search::BlockId;

/// A link to the first page: the base itself, since an empty link would be the open page.
pub const HOME: &str = "./";

/// A page of the app.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Page {
    /// The newest blocks.
    Home,
    /// A block.
    Block(BlockId),
    /// A transaction in its block.
    Transaction(BlockId, TxId),
    /// A transaction of the best chain, wherever it is, and one of its inputs or outputs.
    Found(Txid, Option<Spot>),
    /// What happened with an address, or with a script in hex.
    Address(String),
    /// What a text may mean.
    Search(String),
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

/// An input or output of a transaction.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Spot {
    /// Its position among the inputs.
    Input(u32),
    /// Its position among the outputs.
    Output(u32),
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
            ["tx", txid] => txid.parse().ok().map(|txid| Self::Found(txid, None)),
            ["tx", txid, side, at] => match (txid.parse(), Spot::parse(side, at)) {
                (Ok(txid), Some(spot)) => Some(Self::Found(txid, Some(spot))),
                _ => None,
            },
            ["address", address] => Some(Self::Address(decode(address))),
            ["search", text] => Some(Self::Search(decode(text))),
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
            Self::Found(txid, None) => ["tx/", &txid.to_string()].concat(),
            Self::Found(txid, Some(spot)) => ["tx/", &txid.to_string(), &spot.path()].concat(),
            Self::Address(address) => encode_path("address/", address),
            Self::Search(text) => encode_path("search/", text),
        }
    }

    /// A link to the page.
    pub fn href(&self) -> String {
        let path = self.path();
        if path.is_empty() { HOME.to_owned() } else { path }
    }
}

impl Spot {
    fn parse(side: &str, at: &str) -> Option<Self> {
        let at = at.parse().ok()?;
        match side {
            "in" => Some(Self::Input(at)),
            "out" => Some(Self::Output(at)),
            _ => None,
        }
    }

    fn path(self) -> String {
        match self {
            Self::Input(at) => ["/in/", &at.to_string()].concat(),
            Self::Output(at) => ["/out/", &at.to_string()].concat(),
        }
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
    if query.is_empty() { String::new() } else { encode(QUERY_NAME, query, b"-._~:<>=").replace("%20", "+") }
}

/// Reads the tail of an address; bytes that are no UTF-8 become replacement characters.
pub fn decode_query(search: &str) -> String {
    search.strip_prefix(QUERY_NAME).map_or_else(String::new, |text| decode(&text.replace('+', "%20")))
}

/// A text that can stand in a path, behind what it starts with. A dot is written as its number, because the server takes
/// what has one for a file.
pub fn encode_path(start: &str, text: &str) -> String {
    encode(start, text, b"-_~:")
}

fn encode(start: &str, text: &str, kept: &[u8]) -> String {
    let mut out = start.to_owned();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || kept.contains(&byte) {
            out.push(byte.into());
        } else {
            out.push('%');
            out.push_str(&crate::format::hex(&[byte]));
        }
    }
    out
}

fn decode(text: &str) -> String {
    let (mut rest, mut out) = (text.as_bytes(), Vec::with_capacity(text.len()));
    while let [byte, tail @ ..] = rest {
        let (decoded, tail) = match (byte, tail) {
            (b'%', [high, low, after @ ..]) => match (nibble(*high), nibble(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, after),
                _ => (b'%', tail),
            },
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
        check(&format!("tx/{TXID}"), &format!("tx/{TXID}"));
        check(&format!("tx/{TXID}/out/3"), &format!("tx/{TXID}/out/3"));
        check(&format!("tx/{TXID}/in/0"), &format!("tx/{TXID}/in/0"));
        check("address/1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "address/1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa");
        check("search/a%2fb%20%C3%bc.", "search/a%2fb%20%c3%bc%2e");
        assert_eq!(Page::parse("search/a%2fb%20%C3%bc."), Page::Search("a/b ü.".to_owned()));
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
            "tx",
            "tx/5",
            &format!("tx/{TXID}/out"),
            &format!("tx/{TXID}/up/1"),
            &format!("tx/{TXID}/out/-1"),
            "address",
            "search",
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
