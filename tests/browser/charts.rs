//! The block's two charts and the fields for ranges: each only writes into the table's line, and has to tell the truth.

use serde_json::{Value, json};

use crate::expect::{Judged, group};
use crate::page::{Key, Page, test};
use crate::server::Server;

/// A rate as a bar's label has it, in thousandths.
fn thousandths(text: &str) -> u64 {
    let text = text.replace(',', "");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    format!("{whole}{fraction:0<3}").parse().unwrap()
}

#[test]
fn bars_count_what_lies_between_their_rates_and_filter_to_it() {
    let Some(server) = Server::mainnet() else { return };
    let judged = Judged::of(&server.payload(866_342));
    let page = Page::open(&server.url());
    page.go("block/866342");
    page.until_there(&test("bar"));
    let labels: Vec<String> =
        page.js("return [...document.querySelectorAll('[data-test=bar]')].map(bar => bar.ariaLabel)", json!([]));
    let mut all = 0;
    for (at, label) in labels.iter().enumerate() {
        let (rates, rest) = label.split_once(" sat/vB: ").unwrap();
        let (from, below) = rates.split_once(" to ").map_or_else(
            || (rates.strip_suffix(" and more").unwrap(), None),
            |(from, below)| (from, Some(thousandths(below))),
        );
        let from = thousandths(from);
        let at_least = |tx: &crate::expect::JudgedTx, rate| tx.fee.is_some_and(|fee| fee * 4000 >= rate * tx.weight());
        let inside = judged.positions(|tx| at_least(tx, from) && !below.is_some_and(|below| at_least(tx, below)));
        let noun = if inside.len() == 1 { "transaction" } else { "transactions" };
        assert!(rest.starts_with(&format!("{} {noun}, ", group(inside.len()))), "{label}: {}", inside.len());
        all += inside.len();
        // Some of them are clicked on too; a second click puts the bar out.
        if at % 5 == 0 && !inside.is_empty() {
            let click = format!(
                "document.querySelectorAll('[data-test=bar]')[{at}].dispatchEvent(new MouseEvent('click', {{ bubbles: true }}))"
            );
            page.js::<Value>(&click, json!([]));
            page.until_text(&test("summary"), &format!("{} of 4,864 transaction", group(inside.len())));
            page.js::<Value>(&click, json!([]));
            page.until_path("block/866342");
        }
    }
    assert_eq!(all, judged.txs.len() - 1, "every transaction but the coinbase is in one bar");
    page.assert_quiet();
}

#[test]
fn the_band_leads_to_the_transaction_that_lies_there() {
    let Some(server) = Server::mainnet() else { return };
    let judged = Judged::of(&server.payload(866_342));
    let page = Page::open(&server.url());
    page.go("block/866342");
    page.until_there(&format!("{} rect", test("strip")));
    page.click(&test("strip"));
    page.until_there("[data-test=tx-row].chosen");
    let chosen: usize = page.attr("[data-test=tx-row].chosen", "data-index").parse().unwrap();
    // The middle of the band is the middle of the weight, to the pixel that the band's width allows.
    let total: u64 = judged.txs.iter().map(|tx| tx.weight()).sum();
    let before: u64 = judged.txs[..chosen].iter().map(|tx| tx.weight()).sum();
    let through = before + judged.txs[chosen].weight();
    let near = total / 500;
    assert!(before <= total / 2 + near && through + near >= total / 2, "{before} to {through} of {total}");
    let seen = "(({ top, bottom }) => top >= 0 && bottom <= innerHeight)(document.querySelector('[data-test=tx-row].chosen').getBoundingClientRect())";
    page.until_true("the row is in sight", seen);
    page.assert_quiet();
}

#[test]
fn fields_for_ranges_write_the_line() {
    let Some(server) = Server::mainnet() else { return };
    let judged = Judged::of(&server.payload(866_342));
    let page = Page::open(&server.url());
    page.go("block/866342");
    page.click(".ranges summary");
    let enter = char::from(Key::Enter);
    page.fill("input[aria-label='Inputs from']", &format!("10{enter}"));
    page.until_path("block/866342?q=in%3E=10");
    page.fill("input[aria-label='Inputs to']", &format!("20{enter}"));
    let expected = judged.positions(|tx| (10..=20).contains(&tx.tx.input.len()));
    page.until_text(&test("summary"), &format!("{} of 4,864", group(expected.len())));
    let line: String = page.js("return document.querySelector('#find').value", json!([]));
    assert_eq!(line, "in>=10 in<=20");
    page.assert_quiet();
}
