//! The table of all transactions of a block: drawn only where it is seen, sorted, filtered and searched, held against
//! the same done with the `bitcoin` crate.

use std::cmp::Reverse;

use serde_json::json;

use crate::expect::{Judged, JudgedTx, btc, group};
use crate::page::{Key, Page, test};
use crate::server::Server;

/// A modern block with 4,864 transactions, inscriptions and runestones among them.
const FULL: u32 = 866_342;

/// The positions of the rows that stand in the list, top down.
fn order(page: &Page) -> Vec<usize> {
    let rows: Vec<(usize, usize)> = page.js(
        "return [...document.querySelectorAll('[data-test=tx-row]')].map(e => [+e.getAttribute('aria-rowindex'), +e.dataset.index])",
        json!([]),
    );
    let mut rows = rows;
    rows.sort_unstable();
    rows.into_iter().map(|(_, index)| index).collect()
}

/// Opens a block of the mainnet directory and waits for its table.
fn open(server: &Server, height: u32) -> (Page, Judged) {
    let page = Page::open(&server.url());
    let judged = Judged::of(&server.payload(height));
    page.go(&format!("block/{height}"));
    page.until_there(&test("tx-row"));
    (page, judged)
}

#[test]
fn a_full_block_is_one_list_of_which_a_window_is_drawn() {
    let Some(server) = Server::mainnet() else { return };
    let (page, judged) = open(&server, FULL);
    assert_eq!(judged.txs.len(), 4864);
    assert_eq!(page.attr(&test("table"), "aria-rowcount"), "4865");
    page.until_text(&test("summary"), "4,864 transactions");
    page.until_text(&test("summary"), &format!("fees {} sat", group(judged.fees())));
    let drawn = page.count(&test("tx-row"));
    assert!((1..200).contains(&drawn), "{drawn} rows are drawn");
    assert_eq!(order(&page), (0..drawn).collect::<Vec<_>>());

    // What each row says, in both units.
    page.press("j");
    page.press_key(Key::End);
    page.until_there(&format!("{}[data-index=\"4863\"].chosen", test("tx-row")));
    let drawn = page.count(&test("tx-row"));
    assert!((20..200).contains(&drawn), "{drawn} rows are drawn at the end");
    for at in [4863, 4850] {
        let tx = &judged.txs[at];
        let cell = |name: &str| page.text(&format!("{}[data-index=\"{at}\"] .{name}", test("tx-row")));
        let rate = tx.rate().unwrap();
        let shown = if rate < 1000 {
            format!("0.{rate:03}")
        } else {
            format!("{}.{:02}", group(rate / 1000), rate % 1000 / 10)
        };
        assert_eq!(cell("rate"), shown);
        assert_eq!(cell("fee"), btc(tx.fee.unwrap()));
        assert_eq!(cell("size"), group(tx.weight().div_ceil(4)));
        assert_eq!(cell("value"), btc(tx.value()));
        assert_eq!(cell("index"), group(at));
        let link = format!("{}[data-index=\"{at}\"] a", test("tx-row"));
        assert_eq!(page.attr(&link, "href"), judged.page(at));
    }
    // A transaction from the list's end, and back to where the list was left.
    let before: i64 = page.js("return Math.round(scrollY)", json!([]));
    assert!(before > 100_000, "{before}");
    page.press_key(Key::Enter);
    page.until_path(&judged.page(4863));
    page.until_there(&test("transaction"));
    page.back();
    page.until_there(&format!("{}[data-index=\"4863\"].chosen", test("tx-row")));
    page.until_true("the list is where it was", &format!("Math.abs(scrollY - {before}) <= 1"));
    page.press_key(Key::Home);
    page.until_there(&format!("{}[data-index=\"0\"].chosen", test("tx-row")));
    page.assert_quiet();
}

type Sorted = (&'static str, fn(&JudgedTx) -> u128);

/// Columns and what they compare, the fee rate in parts that are fine enough to tell any two fractions apart.
const COLUMNS: [Sorted; 5] = [
    ("fee", |tx| tx.fee.unwrap_or_default().into()),
    ("size", |tx| tx.weight().into()),
    ("value", |tx| tx.value().into()),
    ("in", |tx| tx.tx.input.len() as u128),
    ("out", |tx| tx.tx.output.len() as u128),
];

#[test]
fn every_column_sorts_both_ways() {
    let Some(server) = Server::mainnet() else { return };
    let (page, judged) = open(&server, FULL);
    let all: Vec<usize> = (0..judged.txs.len()).collect();
    let rate = |at: usize| {
        u128::from(judged.txs[at].fee.unwrap_or_default()) * (1 << 60) / u128::from(judged.txs[at].weight())
    };
    let mut orders: Vec<(&str, Vec<usize>, Vec<usize>)> = Vec::new();
    let both = |key: &dyn Fn(usize) -> u128| {
        let (mut up, mut down) = (all.clone(), all.clone());
        up.sort_by_key(|&at| key(at));
        down.sort_by_key(|&at| Reverse(key(at)));
        (up, down)
    };
    for (column, key) in COLUMNS {
        let (mut up, down) = both(&|at| key(&judged.txs[at]));
        if column == "fee" {
            coinbase_last(&mut up);
        }
        orders.push((column, up, down));
    }
    let (mut up, down) = both(&rate);
    coinbase_last(&mut up);
    orders.push(("rate", up, down));
    let mut by_txid = all.clone();
    by_txid.sort_by_key(|&at| judged.txs[at].txid.to_string());
    orders.push(("txid", by_txid.clone(), by_txid.into_iter().rev().collect()));
    orders.push(("index", all.clone(), all.iter().rev().copied().collect()));

    for (column, up, down) in orders {
        let head = format!("[data-test=sort][data-column={column}]");
        // Numbers come largest first, positions and txids smallest first; a third click gives back the block's order.
        let up_first = matches!(column, "index" | "txid");
        let turns = if up_first {
            [("ascending", up), ("descending", down)]
        } else {
            [("descending", down), ("ascending", up)]
        };
        for (state, expected) in turns {
            page.click(&head);
            page.until_true(
                &format!("{column} is {state}"),
                &format!("document.querySelector('{head}').parentElement.ariaSort === '{state}'"),
            );
            let shown = order(&page);
            assert!(shown.len() >= 20);
            assert_eq!(shown, expected[..shown.len()], "{column} {state}");
        }
        page.click(&head);
        page.until_path("block/866342");
    }
    page.assert_quiet();
}

/// A coinbase pays no fee, which is not the same as a fee of nothing: it comes after all that have one.
fn coinbase_last(order: &mut Vec<usize>) {
    order.retain(|&at| at != 0);
    order.push(0);
}

#[test]
fn filters_let_through_what_they_say() {
    let Some(server) = Server::mainnet() else { return };
    let (page, judged) = open(&server, FULL);
    let judged = &judged;
    let check = |query: &str, holds: &dyn Fn(&JudgedTx) -> bool| {
        let expected = judged.positions(holds);
        assert!(!expected.is_empty() && expected.len() < judged.txs.len(), "{query} tells nothing apart");
        page.fill("#find", query);
        page.until_text(&test("summary"), &format!("{} of 4,864 transactions", group(expected.len())));
        let fees: Vec<u64> = expected.iter().filter_map(|&at| judged.txs[at].fee).collect();
        if fees.is_empty() {
            assert!(!page.text(&test("summary")).contains("fees"), "where no fee is known none is told");
        } else {
            page.until_text(&test("summary"), &format!("fees {} sat", group(fees.iter().sum::<u64>())));
        }
        let shown = order(&page);
        assert_eq!(shown, expected[..shown.len()], "{query}");
        assert_eq!(page.attr(&test("table"), "aria-rowcount"), (expected.len() + 1).to_string());
    };
    let at_least = |tx: &JudgedTx, rate: u64| tx.fee.is_some_and(|fee| fee * 4000 >= rate * tx.weight());
    check("rate>=5 rate<8", &|tx| at_least(tx, 5000) && !at_least(tx, 8000));
    check("rate>=5.125", &|tx| at_least(tx, 5125));
    check("fee>10000", &|tx| tx.fee.is_some_and(|fee| fee > 10_000));
    check("size<=141", &|tx| tx.weight().div_ceil(4) <= 141);
    check("value>=1.5btc", &|tx| tx.value() >= 150_000_000);
    check("in>=10 out=1", &|tx| tx.tx.input.len() >= 10 && tx.tx.output.len() == 1);
    check("coinbase", &|tx| tx.tx.is_coinbase());
    check("p2tr", &|tx| tx.touches(|script| script.is_p2tr()));
    check("op_return", &|tx| tx.touches(|script| script.is_op_return()));
    check("p2pkh p2sh", &|tx| tx.touches(|script| script.is_p2pkh() || script.is_p2sh()));
    check("-segwit", &|tx| tx.tx.input.iter().all(|input| input.witness.is_empty()));
    check("rbf", &|tx| tx.signals());
    let some = judged.txs[2222].txid.to_string();
    check(&some[..3], &|tx| tx.txid.to_string().starts_with(&some[..3]));
    check(&some.to_uppercase(), &|tx| tx.txid.to_string() == some);

    // The line stands in the address, so that a reload finds it, and Escape clears it.
    page.fill("#find", "p2tr rate>=20 sort:-fee");
    page.until_true("the address has it", "decodeURIComponent(location.search) === '?q=p2tr+rate>=20+sort:-fee'");
    page.reload();
    page.until_true("the line is back", "document.querySelector('#find')?.value.includes('rate>=20')");
    let expected = judged.positions(|tx| at_least(tx, 20_000) && tx.touches(|script| script.is_p2tr()));
    page.until_text(&test("summary"), &format!("{} of 4,864", group(expected.len())));
    page.press_key(Key::Escape);
    page.until_path("block/866342");
    page.until_text(&test("summary"), "4,864 transactions");

    page.fill("#find", "ffffffffffffffff");
    page.until_there(&test("empty"));
    page.fill("#find", "hello");
    page.until_text(&test("not-understood"), "Not understood: hello");
    page.fill("#find", "");
    page.until_path("block/866342");

    // Buttons write into the same line.
    page.click("[data-test=kind][data-kind=p2wsh]");
    page.until_path("block/866342?q=p2wsh");
    let expected = judged.positions(|tx| tx.touches(|script| script.is_p2wsh()));
    page.until_text(&test("summary"), &format!("{} of 4,864", group(expected.len())));
    page.click("[data-test=flag][data-flag=rbf]");
    page.click("[data-test=flag][data-flag=rbf]");
    page.until_path("block/866342?q=p2wsh+-rbf");
    page.assert_quiet();
}

#[test]
fn real_blocks_of_every_era_open_and_agree_with_what_is_known_of_them() {
    let Some(server) = Server::mainnet() else { return };
    let page = Page::open(&server.url());
    let text = |value: &serde_json::Value| group(value.as_u64().unwrap());
    for expected in server.expected() {
        let height = expected["height"].as_u64().unwrap();
        page.go(&format!("block/{}", expected["hash"].as_str().unwrap()));
        page.until_text(&test("title"), &format!("Block {}", group(height)));
        assert_eq!(page.text(&test("tx-count")), text(&expected["n_tx"]));
        assert_eq!(page.text(&test("inputs")), text(&expected["n_in"]));
        assert_eq!(page.text(&test("outputs")), text(&expected["n_out"]));
        assert_eq!(page.attr(&test("fees"), "data-value"), expected["total_fee"].to_string());
        assert_eq!(page.attr(&test("size"), "data-value"), expected["size"].to_string());
        assert_eq!(page.attr(&test("weight"), "data-value"), expected["weight"].to_string());
        assert_eq!(crate::block::outcomes(&page), "ppppppppuu", "block {height}");
        page.until_text(&test("block"), "height by coinbase");
    }
    page.assert_quiet();
}
