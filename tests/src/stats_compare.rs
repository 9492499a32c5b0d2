//! Holds the statistics that the server gives, JSON and rows, against those that [`stats_judge`](crate::stats_judge)
//! computes.

use bitcoin::Block;
use bitcoin::consensus::deserialize;
use serde_json::{Map, Value};

use crate::client::Response;
use crate::judge::Expected;
use crate::stats_judge::{Judged, RATES_AT, RATES_SIZE, Rates};
use crate::test_server::TestServer;

/// The media type of rows.
pub const ROW: &str = "application/vnd.hindsight.summary";
/// Bytes of a row.
pub const ROW_SIZE: usize = 756;
const TAG_AT: usize = 724;

/// How much has been compared.
#[derive(Debug, Default)]
pub struct Compared {
    /// Blocks.
    pub blocks: u32,
    /// Single values.
    pub fields: usize,
    /// Summary rows.
    pub rows: u32,
}

/// What a block's statistics are, by both of Core's overheads, and the median time where its ancestors are there.
pub struct Truth {
    /// By the overhead of releases after 31.
    pub forty: Judged,
    forty_one: Judged,
    median_time: Option<u32>,
    coinbase_script: Vec<u8>,
}

impl Truth {
    /// Computes it. `subsidy` is what the block may create, in satoshis.
    pub fn of(expected: &Expected, subsidy: u64, median_time: Option<u32>) -> Self {
        let block: Block = deserialize(&expected.bytes).unwrap();
        Self {
            forty: Judged::of(expected, subsidy, 40),
            forty_one: Judged::of(expected, subsidy, 41),
            median_time,
            coinbase_script: block.txdata[0].input[0].script_sig.to_bytes(),
        }
    }

    fn core(&self, judged: &Judged) -> Map<String, Value> {
        let mut core = judged.core.clone();
        core.insert("mediantime".into(), self.median_time.into());
        core
    }
}

/// The binary row of a block's statistics.
#[track_caller]
pub fn row(server: &TestServer, id: impl std::fmt::Display) -> Response {
    let response = server.request("GET", &format!("/api/v1/block/{id}/stats"), &[("Accept", ROW)]);
    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(response.header("content-type"), Some(ROW));
    response
}

fn rate(json: &Value) -> (u64, u64) {
    (json["fee"].as_u64().unwrap(), json["weight"].as_u64().unwrap())
}

/// Equal as fractions: transactions of one rate stand for each other.
#[track_caller]
fn same_rates(ours: &[(u64, u64)], theirs: &Rates) {
    assert_eq!(ours.len(), theirs.len());
    for (ours, theirs) in ours.iter().zip(theirs) {
        let product = |one: u64, other: u64| u128::from(one) * u128::from(other);
        assert_eq!(product(ours.0, theirs.1), product(theirs.0, ours.1), "{ours:?} is not {theirs:?}");
        assert_eq!(ours.1 == 0, theirs.1 == 0, "{ours:?} is not {theirs:?}");
    }
}

/// Compares everything that the server says of a block's statistics.
#[track_caller]
pub fn compare(server: &TestServer, truth: &Truth, compared: &mut Compared) {
    let hash = truth.forty.core["blockhash"].as_str().unwrap();
    let json = server.get(&format!("/api/v1/block/{hash}/stats"));
    assert_eq!(json.status, 200, "{hash}: {}", json.text());
    assert_eq!(json.header("content-type"), Some("application/json"));
    assert_eq!(json.header("cache-control"), Some("no-cache"));
    let stats: Value = json.json();
    let core = stats["core"].as_object().unwrap();
    assert_eq!(core, &truth.core(&truth.forty), "{hash}");
    let content = stats["content"].as_object().unwrap();
    assert_eq!(content, &truth.forty.content, "{hash}");
    for (list, theirs) in [("by_transaction", truth.forty.by_transaction), ("by_package", truth.forty.by_package)] {
        let rates = ["min", "p10", "p25", "p50", "p75", "p90", "max"].map(|name| rate(&stats["exact"][list][name]));
        same_rates(&rates, &theirs);
    }
    let older: Value = server.get(&format!("/api/v1/block/{hash}/stats?core_compat=31")).json();
    assert_eq!(older["core"].as_object().unwrap(), &truth.core(&truth.forty_one), "{hash}");
    assert_eq!(older["content"], stats["content"]);

    compare_row(&row(server, hash).body, truth, stats["miner"]["tag"].as_str().unwrap());
    compared.blocks += 1;
    compared.fields += 2 * core.len() + 14 + stats["content"].to_string().matches(':').count();
}

/// The whole row, but rates of equal value may be those of another transaction.
#[track_caller]
fn compare_row(ours: &[u8], truth: &Truth, tag: &str) {
    let theirs = truth.forty.row();
    assert_eq!((ours.len(), theirs.len()), (ROW_SIZE, TAG_AT));
    let rates = RATES_AT..RATES_AT + 2 * RATES_SIZE;
    assert_eq!(ours[..rates.start], theirs[..rates.start]);
    assert_eq!(ours[rates.end..TAG_AT], theirs[rates.end..]);
    let list = |at: usize| -> Vec<(u64, u64)> {
        let item = |item: &[u8]| {
            let (fee, weight) = item.split_at(8);
            (u64::from_le_bytes(fee.try_into().unwrap()), u32::from_le_bytes(weight.try_into().unwrap()).into())
        };
        ours[at..at + RATES_SIZE].chunks(12).map(item).collect()
    };
    same_rates(&list(RATES_AT), &truth.forty.by_transaction);
    same_rates(&list(RATES_AT + RATES_SIZE), &truth.forty.by_package);
    let text: Vec<u8> = ours[TAG_AT..].iter().copied().take_while(|&byte| byte != 0).collect();
    assert!(ours[TAG_AT + text.len()..].iter().all(|&byte| byte == 0));
    assert!(text.is_empty() || truth.coinbase_script.windows(text.len()).any(|window| window == text), "{text:?}");
    assert_eq!(tag, String::from_utf8_lossy(&text));
}
