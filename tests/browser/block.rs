//! A block's page: what it says of the header, what it has checked, its neighbours, and blocks that are not there.

use serde_json::json;

use crate::expect::{Judged, group};
use crate::page::{Key, Page, test};
use crate::server::Server;

/// Every check, in the order of the panel.
const CHECKS: [&str; 10] = [
    "Block hash",
    "Proof of work",
    "Transaction ids and merkle root",
    "Witness commitment",
    "Weight",
    "Height in the coinbase",
    "Undo checksum",
    "Fees against the coinbase's claim",
    "Spent outputs",
    "Signatures and scripts",
];

/// The outcomes of the checks on the page, in one word of letters: passed, failed, unchecked.
#[track_caller]
pub fn outcomes(page: &Page) -> String {
    page.until_there(&test("check"));
    let names = page.texts("[data-test=check] summary > span:not([class])");
    assert_eq!(names, CHECKS);
    let outcomes: Vec<String> =
        page.js("return [...document.querySelectorAll('[data-test=check]')].map(e => e.dataset.outcome[0])", json!([]));
    outcomes.concat()
}

/// Holds the head of the open page against the API and the payload.
fn compare(page: &Page, server: &Server, height: u32) {
    let facts = server.facts(height);
    let judged = Judged::of(&server.payload(height));
    page.until_title(&format!("Block {} · Hindsight", group(height)));
    page.until_text(&test("title"), &format!("Block {}", group(height)));
    assert_eq!(page.attr(&test("block"), "data-hash"), facts.hash.to_string());
    assert_eq!(page.text(&test("tx-count")), group(facts.tx_count));
    assert_eq!(page.attr(&test("size"), "data-value"), facts.size.to_string());
    assert_eq!(page.attr(&test("weight"), "data-value"), judged.block.weight().to_wu().to_string());
    let inputs: usize = judged.txs[1..].iter().map(|tx| tx.tx.input.len()).sum();
    let outputs: usize = judged.txs.iter().map(|tx| tx.tx.output.len()).sum();
    assert_eq!(page.text(&test("inputs")), group(inputs));
    assert_eq!(page.text(&test("outputs")), group(outputs));
    page.until_text(&test("confirmations"), &format!("{} confirmation", group(facts.confirmations)));
    assert_eq!(page.attr(&test("table"), "aria-rowcount"), (facts.tx_count + 1).to_string());
    let shown = page.text(&test("block"));
    for word in [facts.version, facts.bits, judged.block.header.nonce] {
        assert!(shown.contains(&format!("0x{word:08x}")), "{word:08x} is not in {shown}");
    }
    for hash in [facts.hash.to_string(), judged.block.header.merkle_root.to_string()] {
        assert!(shown.contains(&hash), "{hash} is not in {shown}");
    }
    if judged.txs.len() > 1 {
        assert_eq!(page.attr(&test("fees"), "data-value"), judged.fees().to_string());
    }
}

#[test]
fn a_block_is_shown_and_checked_under_its_height_and_its_hash() {
    let server = Server::demo();
    let page = Page::open(&server.url());
    // The first block that spends something, and a plain one, neither of them at an end of the chain.
    let spends = (1..).find(|&height| server.facts(height).tx_count > 1).unwrap();
    let plain = (1500..).find(|&height| server.facts(height).tx_count == 1).unwrap();
    // By height the server chose the block, coinbases state heights later, genesis has no undo record, and the last two
    // nobody can check here. A coinbase alone has an undo record too, an empty one.
    for (height, by_height) in [(0, "uppppuupuu"), (plain, "uppppuppuu"), (spends, "uppppuppuu")] {
        page.go(&format!("block/{height}"));
        assert_eq!(outcomes(&page), by_height, "block {height}");
        compare(&page, &server, height);
        page.go(&format!("block/{}", server.facts(height).hash));
        assert_eq!(outcomes(&page), by_height.replacen('u', "p", 1), "block {height} by its hash");
        compare(&page, &server, height);
        let verdict = page.text(&test("verdict"));
        let passed = by_height.matches('p').count() + 1;
        assert_eq!(verdict, format!("{passed} checks passed, {} cannot be made here", CHECKS.len() - passed));
    }
    assert!(page.text(&test("checks")).contains("decoded in"));
    // Each check says what was compared.
    page.click("[data-test=check]:nth-child(3) summary");
    page.until_text("[data-test=check]:nth-child(3)", "txids recomputed, root");
    page.assert_quiet();
}

#[test]
fn neighbours_are_a_click_a_key_and_a_step_back_away() {
    let server = Server::demo();
    let page = Page::open(&server.url());
    let path = |height: u32| format!("block/{}", server.facts(height).hash);
    page.go("block/1000");
    page.until_text(&test("title"), "Block 1,000");
    page.until_true("the next block is known", "document.querySelector('[data-test=next]').hasAttribute('href')");
    page.click(&test("next"));
    page.until_path(&path(1001));
    page.until_text(&test("title"), "Block 1,001");
    page.click(&test("previous"));
    page.until_path(&path(1000));
    page.until_text(&test("title"), "Block 1,000");
    page.press_key(Key::Left);
    page.until_path(&path(999));
    page.until_text(&test("title"), "Block 999");
    page.until_true("the next block is known", "document.querySelector('[data-test=next]').hasAttribute('href')");
    page.press_key(Key::Right);
    page.until_path(&path(1000));
    page.until_text(&test("title"), "Block 1,000");
    for (back, height) in
        [(path(999), "999"), (path(1000), "1,000"), (path(1001), "1,001"), ("block/1000".into(), "1,000")]
    {
        page.back();
        page.until_path(&back);
        page.until_text(&test("title"), &format!("Block {height}"));
        page.until_title(&format!("Block {height} · Hindsight"));
    }
    // The ends of the chain have one neighbour each.
    page.go("block/0");
    page.until_text(&test("title"), "Block 0");
    assert_eq!(page.attr(&test("previous"), "aria-disabled"), "true");
    page.until_true("the next block is known", "document.querySelector('[data-test=next]').hasAttribute('href')");
    page.go("block/2016");
    page.until_text(&test("title"), "Block 2,016");
    page.until_there(&test("confirmations"));
    assert_eq!(page.attr(&test("next"), "aria-disabled"), "true");
    page.assert_quiet();
}

#[test]
fn what_is_not_there_is_said_in_a_sentence() {
    let server = Server::demo();
    let page = Page::open(&server.url());
    let missing = "00000000000000000000000000000000000000000000000000000000000000aa";
    for (path, title, sentence) in [
        ("block/2017", "Not found", "2017"),
        (&*format!("block/{missing}"), "Not found", missing),
        ("block/stale", "There is no such page", "height or a hash"),
        ("block/-1", "There is no such page", "height or a hash"),
        ("nowhere/at/all", "There is no such page", "height or a hash"),
        ("block/1000/tx/5", "This block has no such transaction", "not the one asked for"),
    ] {
        page.go(path);
        page.until_text(&format!("{} h2", test("error")), title);
        page.until_text(&test("error"), sentence);
        page.until_true("the window has a title", "document.title.endsWith(' · Hindsight')");
        // And a way on.
        page.until_there(&format!("{} a.button", test("error")));
    }
    page.click(&format!("{} a.button", test("error")));
    page.until_text(&test("title"), "Block 1,000");
}
