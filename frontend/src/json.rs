//! JSON, read with the browser's own parser, field by field.
//!
//! What serde derives for these few shapes, with the errors that it words, was 15 of the 250 KB that the module may take.
//! A field that is added to a shape is missed here by the compiler, and a name that changes by the test.

use std::str::FromStr;

use bitcoin::ScriptBuf;
use hindsight_shared::Height;
use hindsight_shared::api::{
    BlockFacts, ErrorBody, HeightFrom, HeightRange, IndexLevel, IndexProgress, Progress, SearchHit, ServedChain, Status,
};
use wasm_bindgen::{JsCast, JsValue};

/// A value within a JSON text.
#[derive(Debug)]
pub struct Json(JsValue);

/// What can be read from JSON; `None` where a field is missing or is not what it should be.
pub trait FromJson: Sized {
    /// Reads it.
    fn from_json(json: &Json) -> Option<Self>;
}

/// Reads a JSON text.
pub fn read<T: FromJson>(text: &[u8]) -> Option<T> {
    let value = js_sys::JSON::parse(std::str::from_utf8(text).ok()?).ok()?;
    T::from_json(&Json(value))
}

impl Json {
    fn at(&self, name: &str) -> Self {
        Self(js_sys::Reflect::get(&self.0, &JsValue::from_str(name)).unwrap_or(JsValue::UNDEFINED))
    }

    fn get<T: FromJson>(&self, name: &str) -> Option<T> {
        T::from_json(&self.at(name))
    }

    /// A field that may be null.
    fn may<T: FromJson>(&self, name: &str) -> Option<Option<T>> {
        let value = self.at(name);
        if value.0.is_null() { Some(None) } else { T::from_json(&value).map(Some) }
    }

    /// A field that is written as text.
    fn parse<T: FromStr>(&self, name: &str) -> Option<T> {
        self.at(name).0.as_string()?.parse().ok()
    }

    /// The same, where it may be null.
    fn may_parse<T: FromStr>(&self, name: &str) -> Option<Option<T>> {
        let value = self.at(name).0;
        if value.is_null() { Some(None) } else { value.as_string()?.parse().ok().map(Some) }
    }
}

impl FromJson for String {
    fn from_json(json: &Json) -> Option<Self> {
        json.0.as_string()
    }
}

impl FromJson for bool {
    fn from_json(json: &Json) -> Option<Self> {
        json.0.as_bool()
    }
}

impl FromJson for u32 {
    fn from_json(json: &Json) -> Option<Self> {
        crate::number::whole(json.0.as_f64()?).try_into().ok()
    }
}

impl FromJson for Height {
    fn from_json(json: &Json) -> Option<Self> {
        u32::from_json(json).map(Self)
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    fn from_json(json: &Json) -> Option<Self> {
        json.0.dyn_ref::<js_sys::Array>()?.iter().map(|item| T::from_json(&Json(item))).collect()
    }
}

impl FromJson for HeightFrom {
    fn from_json(json: &Json) -> Option<Self> {
        match json.0.as_string()?.as_str() {
            "linked" => Some(Self::Linked),
            "bip34" => Some(Self::Bip34),
            _ => None,
        }
    }
}

impl FromJson for HeightRange {
    fn from_json(json: &Json) -> Option<Self> {
        Some(Self { from: json.get("from")?, to: json.get("to")? })
    }
}

impl FromJson for ServedChain {
    fn from_json(json: &Json) -> Option<Self> {
        Some(Self { title: json.get("title")?, path: json.get("path")? })
    }
}

impl FromJson for ErrorBody {
    fn from_json(json: &Json) -> Option<Self> {
        Some(Self { error: json.get("error")? })
    }
}

impl FromJson for Progress {
    fn from_json(json: &Json) -> Option<Self> {
        Some(Self {
            complete: json.get("complete")?,
            files_read: json.get("files_read")?,
            files: json.get("files")?,
            blocks: json.get("blocks")?,
            statistics: json.get("statistics")?,
        })
    }
}

impl FromJson for IndexLevel {
    fn from_json(json: &Json) -> Option<Self> {
        match json.0.as_string()?.as_str() {
            "transactions" => Some(Self::Transactions),
            "addresses" => Some(Self::Addresses),
            _ => None,
        }
    }
}

impl FromJson for IndexProgress {
    fn from_json(json: &Json) -> Option<Self> {
        Some(Self {
            level: json.get("level")?,
            whole: json.get("whole")?,
            blocks: json.get("blocks")?,
            of: json.get("of")?,
            per_second: json.get("per_second")?,
            seconds_left: json.may("seconds_left")?,
        })
    }
}

impl FromJson for SearchHit {
    fn from_json(json: &Json) -> Option<Self> {
        match json.get::<String>("kind")?.as_str() {
            "block" => Some(Self::Block { hash: json.parse("hash")?, height: json.may("height")? }),
            "day" => Some(Self::Day { day: json.parse("day")? }),
            "transaction" => Some(Self::Transaction { txid: json.parse("txid")? }),
            "output" => Some(Self::Output { txid: json.parse("txid")?, vout: json.get("vout")? }),
            "address" => {
                let script = ScriptBuf::from_hex(&json.get::<String>("script")?).ok()?;
                Some(Self::Address { address: json.may("address")?, script })
            }
            _ => None,
        }
    }
}

impl FromJson for BlockFacts {
    fn from_json(json: &Json) -> Option<Self> {
        Some(Self {
            hash: json.parse("hash")?,
            height: json.may("height")?,
            height_from: json.may("height_from")?,
            best_chain: json.get("best_chain")?,
            confirmations: json.get("confirmations")?,
            previous: json.parse("previous")?,
            next: json.may_parse("next")?,
            time: json.get("time")?,
            version: json.get("version")?,
            bits: json.get("bits")?,
            size: json.get("size")?,
            tx_count: json.get("tx_count")?,
        })
    }
}

impl FromJson for Status {
    fn from_json(json: &Json) -> Option<Self> {
        Some(Self {
            version: json.get("version")?,
            payload_version: json.get("payload_version")?,
            index_version: json.get("index_version")?,
            network: json.get("network")?,
            magic: json.get("magic")?,
            source: json.get("source")?,
            demo: json.may("demo")?,
            chains: json.get("chains")?,
            tip: json.may("tip")?,
            tied_with: json.may_parse("tied_with")?,
            ranges: json.get("ranges")?,
            progress: json.get("progress")?,
            index: json.get("index")?,
            unknown: json.get("unknown")?,
            warnings: json.get("warnings")?,
        })
    }
}

#[cfg(test)]
#[cfg(target_family = "wasm")]
mod tests {
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    const TXID: &str = "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b";

    fn facts() -> BlockFacts {
        let hash = "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f".parse().unwrap();
        BlockFacts {
            hash,
            height: Some(Height(7)),
            height_from: Some(HeightFrom::Bip34),
            best_chain: true,
            confirmations: 3,
            previous: hash,
            next: Some(hash),
            time: 1_231_006_505,
            version: u32::MAX,
            bits: 0x1d00_ffff,
            size: 285,
            tx_count: 1,
        }
    }

    fn status() -> Status {
        Status {
            version: "1.2.3".to_owned(),
            payload_version: 1,
            index_version: 2,
            network: "main".to_owned(),
            magic: "f9beb4d9".to_owned(),
            source: "a \"directory\"".to_owned(),
            demo: Some("a chain".to_owned()),
            chains: vec![ServedChain { title: "this".to_owned(), path: "./".to_owned() }],
            tip: Some(facts()),
            tied_with: Some(facts().hash),
            ranges: vec![HeightRange { from: Height(1), to: Height(2) }],
            progress: Progress { complete: true, files_read: 1, files: 2, blocks: 3, statistics: 4 },
            index: vec![
                IndexProgress {
                    level: IndexLevel::Transactions,
                    whole: false,
                    blocks: 1,
                    of: 2,
                    per_second: 3,
                    seconds_left: Some(4),
                },
                IndexProgress {
                    level: IndexLevel::Addresses,
                    whole: true,
                    blocks: 5,
                    of: 6,
                    per_second: 7,
                    seconds_left: None,
                },
            ],
            unknown: vec!["what".to_owned()],
            warnings: vec!["a".to_owned(), "b".to_owned()],
        }
    }

    #[track_caller]
    fn check<T: FromJson + serde::Serialize + PartialEq + std::fmt::Debug>(value: T) {
        let text = serde_json::to_vec(&value).unwrap();
        assert_eq!(read::<T>(&text).as_ref(), Some(&value));
        assert!(read::<T>(&text[1..]).is_none());
        assert!(read::<T>(b"{}").is_none());
    }

    #[test]
    fn what_the_server_writes_is_read() {
        check(facts());
        check(vec![facts(), BlockFacts { height: None, height_from: None, next: None, ..facts() }]);
        check(BlockFacts { height_from: Some(HeightFrom::Linked), ..facts() });
        check(status());
        check(Status { tip: None, tied_with: None, ..status() });
        let (txid, script) = (TXID.parse().unwrap(), ScriptBuf::from_hex("51").unwrap());
        check(vec![
            SearchHit::Block { hash: facts().hash, height: Some(Height(7)) },
            SearchHit::Day { day: "2009-01-03".parse().unwrap() },
            SearchHit::Transaction { txid },
            SearchHit::Output { txid, vout: 3 },
            SearchHit::Address { address: Some("an address".to_owned()), script: script.clone() },
            SearchHit::Address { address: None, script },
        ]);
        check(ErrorBody { error: "no".to_owned() });
    }
}
