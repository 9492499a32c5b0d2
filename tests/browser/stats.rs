//! The statistics of a block on its page and in the list: held against a recount with the `bitcoin` crate, and against
//! the server's answers, which the integration tests hold against Core.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use hindsight_shared::payload::Payload;
use serde_json::{Map, Value, json};

use crate::expect::{Judged, btc, group, milli};
use crate::page::{Key, Page, test};
use crate::proxy::{Fault, Proxy};
use crate::server::Server;

/// Every line of the panel: its name, and its values.
fn lines(page: &Page) -> BTreeMap<String, Vec<String>> {
    let lines = "[...document.querySelectorAll('[data-test=stats] summary')].filter(line => !line.querySelector('h3'))";
    let texts = "line => [...line.children].map(cell => cell.textContent)";
    let lines: Vec<Vec<String>> = page.js(&format!("return {lines}.map({texts})"), json!([]));
    lines.into_iter().map(|line| (line[0].clone(), line[1..].to_vec())).collect()
}

/// Opens the panel, which the browser remembers.
fn open(page: &Page) {
    page.until_text(&test("stats-verdict"), "The server's own are the same, in all of 756 bytes.");
    page.click("[data-test=stats] > summary");
    page.until_true("the panel is open", "document.querySelector('[data-test=stats]').open");
}

fn core(server: &Server, height: u32, query: &str) -> Map<String, Value> {
    let stats: Value = server.get(&format!("/api/v1/block/{height}/stats{query}")).json();
    stats["core"].as_object().unwrap().clone()
}

/// Exact rates in thousandths, lowest first: the lowest, those at shares of the weight, the highest.
fn rates(judged: &Judged) -> Vec<u64> {
    let paying = judged.txs.iter().filter_map(|tx| Some((tx.fee?, tx.weight())));
    let mut paying: Vec<(u64, u64)> = paying.collect();
    let compare = |a: &(u64, u64), b: &(u64, u64)| -> Ordering {
        (u128::from(a.0) * u128::from(b.1)).cmp(&(u128::from(b.0) * u128::from(a.1)))
    };
    paying.sort_by(compare);
    let total: u64 = paying.iter().map(|tx| tx.1).sum();
    let at = |share: u64| {
        let mut reached = 0;
        let found = paying.iter().find(|tx| {
            reached += tx.1;
            reached * 100 >= total * share
        });
        *found.unwrap()
    };
    let rate = |(fee, weight): (u64, u64)| u64::try_from(u128::from(fee) * 4000 / u128::from(weight)).unwrap();
    [0, 10, 25, 50, 75, 90, 100].map(|share| rate(at(share))).to_vec()
}

/// Names of the lines of fee rates, lowest first.
const RATES: [&str; 7] = ["minfeerate", "10 %", "25 %", "50 %", "75 %", "90 %", "maxfeerate"];
/// Names of lines that are amounts.
const AMOUNTS: [&str; 7] = ["totalfee", "minfee", "medianfee", "avgfee", "maxfee", "total_out", "subsidy"];

fn check_panel(server: &Server, height: u32) {
    let page = Page::open(&server.url());
    page.go(&format!("block/{height}"));
    open(&page);
    let (shown, judged) = (lines(&page), Judged::of(&server.payload(height)));
    let (now, before) = (core(server, height, ""), core(server, height, "?core_compat=31"));
    let percentiles = now["feerate_percentiles"].as_array().unwrap();
    for (at, (name, rate)) in RATES.iter().zip(rates(&judged)).enumerate() {
        let truncated = if (1..6).contains(&at) { &percentiles[at - 1] } else { &now[*name] };
        assert_eq!(shown[*name][..2], [group(truncated), milli(rate)], "{name}");
    }
    let mut compared = RATES.len();
    for (name, value) in &now {
        let expect = match (&**name, value.as_i64()) {
            ("avgfeerate" | "minfeerate" | "maxfeerate" | "height" | "time" | "mediantime", _) | (_, None) => continue,
            (name, Some(value)) if AMOUNTS.contains(&name) => btc(value.unsigned_abs()),
            (name, Some(value)) if name.starts_with("utxo_size") => {
                format!("{} / {}", signed(value), signed(before[name].as_i64().unwrap()))
            }
            (_, Some(value)) => signed(value),
        };
        assert_eq!(shown[name.as_str()], [expect], "{name}");
        compared += 1;
    }
    assert!(compared >= 30, "{compared} compared");
    page.assert_quiet();
}

fn signed(value: i64) -> String {
    let sign = if value < 0 { "−" } else { "" };
    format!("{sign}{}", group(value.unsigned_abs()))
}

#[test]
fn the_panel_says_what_core_says_and_what_a_recount_says() {
    let demo = Server::demo();
    let height = (0..=2016).max_by_key(|height| demo.facts(height).tx_count).unwrap();
    check_panel(&demo, height);
    if let Some(mainnet) = Server::mainnet() {
        for height in [367_891, 866_342] {
            check_panel(&mainnet, height);
        }
        let page = Page::open(&mainnet.url());
        page.go("block/866342");
        // Its coinbase says "MARA Made in USA".
        page.until_text(&test("miner"), "MARA Pool");
    }
}

#[test]
fn a_line_opens_to_its_definition_and_amounts_follow_the_unit() {
    let server = Server::demo();
    let page = Page::open(&server.url());
    page.go("block/510");
    open(&page);
    let definition = "[...document.querySelectorAll('[data-test=stats] details details')].find(line => \
                      line.querySelector('code')?.textContent === 'medianfee')";
    page.js::<Value>(&format!("{definition}.querySelector('summary').click()"), json!([]));
    page.until_true("the definition is in sight", &format!("{definition}.querySelector('p').checkVisibility()"));
    let sats = core(&server, 510, "")["totalfee"].as_u64().unwrap();
    assert_eq!(lines(&page)["totalfee"], [btc(sats)]);
    page.press("u");
    page.until_true(
        "the unit has changed",
        &format!("{definition} && document.body.innerText.includes('Amounts in sat')"),
    );
    assert_eq!(lines(&page)["totalfee"], [group(sats)]);
    page.reload();
    page.until_true("it stays open", "document.querySelector('[data-test=stats]')?.open");
    page.assert_quiet();
}

#[test]
fn a_server_that_counts_otherwise_is_told_of() {
    let server = Server::demo();
    let proxy = Proxy::start(server.address, "");
    let page = Page::open(&proxy.url());
    let header = |height: u32| {
        let wire = server.payload(height);
        wire.len() - Payload::decode(&wire).unwrap().block.len()
    };
    // Another nonce is another block, which the server has no statistics of.
    let nonce = header(510) + 76;
    proxy.set(Fault::Changed(Arc::new(move |body| body[nonce] ^= 1)));
    page.go("block/510");
    page.until_text(&test("stats-verdict"), "The server gives none: ");
    proxy.set(Fault::None);
    page.go("block/511");
    page.until_text(&test("stats-verdict"), "the same");
    // The coinbase's claim is the last amount of the first transaction.
    let coinbase = Judged::of(&server.payload(512)).block.txdata[0].clone();
    let amount = header(512) + 81 + coinbase.total_size() - 4 - 9 - coinbase.output[0].script_pubkey.len();
    proxy.set(Fault::Changed(Arc::new(move |body| body[amount] ^= 1)));
    page.go("block/512");
    page.until_text(&test("stats-verdict"), "The server's own DIFFER in ");
}

#[test]
fn the_list_shows_fees_and_goes_to_heights_and_days() {
    let server = Server::demo();
    let page = Page::open(&server.url());
    let enter = char::from(Key::Enter);
    page.go("");
    page.until_there(&test("block-row"));
    page.fill(&test("jump"), &format!("510{enter}"));
    page.until_path("?q=510");
    let row = "[data-test=block-row]:first-child";
    page.until_text(&format!("{row} .height"), "510");
    let judged = Judged::of(&server.payload(510));
    let median = rates(&judged)[3];
    let text = page.text("[data-test=median-rate]");
    assert_eq!(text.trim(), milli(median).trim_end_matches('0').trim_end_matches('.'));
    let fees = page.text("[data-test=block-row] .fees").replace("BTC", "");
    assert_eq!(fees.trim(), btc(judged.fees()));
    page.until_there("[data-test=block-row] .band svg .median");

    let first: Vec<Value> = server.get("/api/v1/blocks?from=2011-03-05&count=1").json();
    for box_name in ["jump", "search"] {
        page.fill(&test(box_name), &format!("2011-03-05{enter}"));
        page.until_path("?q=2011-03-05");
        page.until_text(&format!("{row} .height"), &group(&first[0]["height"]));
        page.click(&test("newest"));
        page.until_path("");
        page.until_text(&format!("{row} .height"), "2,016");
    }
    page.fill(&test("jump"), &format!("2011-02-30{enter}"));
    page.until_text("#jump-trouble", "'2011-02-30' is neither a block height");
    page.back();
    page.until_path("?q=2011-03-05");
    page.until_text(&format!("{row} .height"), &group(&first[0]["height"]));
    page.assert_quiet();
}
