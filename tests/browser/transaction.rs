//! A transaction's page: amounts, owners, ages, scripts and witnesses as the `bitcoin` crate finds them in the payload.

use bitcoin::hex::DisplayHex;
use serde_json::{Value, json};

use crate::expect::{Judged, btc, group, milli};
use crate::page::{Key, Page, test};
use crate::server::Server;

/// Holds what the open page says of a transaction as a whole against the judge.
pub fn compare_head(page: &Page, judged: &Judged, at: usize) {
    let tx = &judged.txs[at];
    page.until_true("the transaction is shown", &format!("document.querySelector('[data-txid=\"{}\"]')", tx.txid));
    assert_eq!(page.attr(&test("value"), "data-value"), tx.value().to_string());
    assert_eq!(page.text(&test("weight")), group(tx.weight()));
    assert_eq!(page.text(&test("vsize")), group(tx.weight().div_ceil(4)));
    assert!(page.text(&test("version")).starts_with(&group(tx.tx.version.0.cast_unsigned())));
    assert_eq!(page.text(&test("locktime")), group(tx.tx.lock_time.to_consensus_u32()));
    match tx.fee.zip(tx.rate()) {
        Some((fee, rate)) => {
            assert_eq!(page.attr(&test("fee"), "data-value"), fee.to_string());
            assert_eq!(page.text(&test("fee-rate")), format!("{} sat/vB", milli(rate)));
        }
        None => assert_eq!(page.count(&test("fee")), 0, "a coinbase pays no fee"),
    }
    page.until_text("#inputs-title", &format!("{} input", group(tx.tx.input.len())));
    page.until_text("#outputs-title", &format!("{} output", group(tx.tx.output.len())));
}

/// The selector of an input's or output's row.
pub fn row(name: &str, at: usize) -> String {
    format!("[data-test={name}][data-index=\"{at}\"]")
}

/// Holds one input's row against the judge.
fn compare_input(page: &Page, judged: &Judged, (at, input): (usize, usize)) {
    let tx = &judged.txs[at];
    let said = page.text(&row("input", input));
    let Some(spent) = tx.spent.get(input) else {
        assert!(said.contains("coinbase: new coins and fees"), "{said}");
        return;
    };
    if let Some(address) = judged.address(&spent.script) {
        assert!(said.contains(&address), "{address} is not in {said}");
    }
    assert!(said.contains(&btc(spent.value.to_sat())), "{} is not in {said}", spent.value);
    let outpoint = tx.tx.input[input].previous_output;
    assert!(said.contains(&format!(":{}", outpoint.vout)), "{outpoint} is not in {said}");
    match spent.created.map(|created| (judged.height - created, created)) {
        Some((0, _)) => assert!(said.contains("from this block"), "{said}"),
        Some((1, created)) => assert!(said.contains(&format!("1 block old, from {}", group(created))), "{said}"),
        Some((age, created)) => {
            assert!(said.contains(&format!("{} blocks old, from", group(age))), "{age} is not in {said}");
            assert!(said.contains(&group(created)), "{created} is not in {said}");
        }
        None => assert!(!said.contains("old"), "{said}"),
    }
}

/// Holds one output's row against the judge.
fn compare_output(page: &Page, judged: &Judged, (at, output): (usize, usize)) {
    let said = page.text(&row("output", output));
    let output = &judged.txs[at].tx.output[output];
    if let Some(address) = judged.address(&output.script_pubkey) {
        assert!(said.contains(&address), "{address} is not in {said}");
    }
    assert!(said.contains(&btc(output.value.to_sat())), "{} is not in {said}", output.value);
}

/// Opens a row and holds its scripts, and an input's witness, against the judge.
fn compare_opened(page: &Page, judged: &Judged, at: usize) {
    let tx = &judged.txs[at];
    for name in ["input", "output"] {
        page.click(&format!("{} .io-head", row(name, 0)));
        page.until_there(&format!("{} .io-details", row(name, 0)));
    }
    let pieces = |name: &str| page.texts(&format!("{} .piece pre", row(name, 0)));
    let says = |pieces: &[String], text: String| {
        // What is long is cut, with a button for the rest.
        let found = pieces
            .iter()
            .any(|piece| *piece == text || piece.strip_suffix('…').is_some_and(|cut| text.starts_with(cut)));
        assert!(found, "{text} is not in {pieces:?}");
    };
    let output = &tx.tx.output[0].script_pubkey;
    says(&pieces("output"), output.to_asm_string());
    says(&pieces("output"), output.to_hex_string());
    let (input, shown) = (&tx.tx.input[0], pieces("input"));
    if !input.script_sig.is_empty() {
        says(&shown, input.script_sig.to_hex_string());
    }
    if let Some(spent) = tx.spent.first() {
        says(&shown, spent.script.to_asm_string());
        says(&shown, spent.script.to_hex_string());
    }
    assert_eq!(page.count(&format!("{} [data-test=witness-item]", row("input", 0))), input.witness.len());
    for item in input.witness.iter().filter(|item| !item.is_empty()) {
        says(&shown, item.to_lower_hex_string());
    }
    let details = page.text(&format!("{} .io-details", row("input", 0)));
    assert!(details.contains(&format!("0x{:08x}", input.sequence.0)), "{details}");
}

#[test]
fn a_transaction_says_what_its_bytes_say() {
    let Some(server) = Server::mainnet() else { return };
    let page = Page::open(&server.url());
    let mut opened = 0;
    for height in [866_342, 757_739, 300_025] {
        let judged = Judged::of(&server.payload(height));
        let first = |holds: &dyn Fn(usize) -> bool| (1..judged.txs.len()).find(|&at| holds(at));
        let tx = |at: usize| &judged.txs[at].tx;
        let spends = |at: usize, kind: &dyn Fn(&bitcoin::ScriptBuf) -> bool| kind(&judged.txs[at].spent[0].script);
        let chosen = [
            Some(0),
            first(&|at| tx(at).output.len() > 1 && tx(at).input.len() > 1),
            // A script path: the control block is the last item and starts with the leaf's version.
            first(&|at| spends(at, &|script| script.is_p2tr()) && tx(at).input[0].witness.len() > 2),
            first(&|at| spends(at, &|script| script.is_p2wsh())),
            first(&|at| spends(at, &|script| script.is_p2sh())),
            first(&|at| tx(at).output[0].script_pubkey.is_op_return()),
            first(&|at| tx(at).lock_time.to_consensus_u32() > 0),
            Some(judged.most(|tx| tx.tx.total_size())),
        ];
        for at in chosen.into_iter().flatten() {
            page.go(&judged.page(at));
            compare_head(&page, &judged, at);
            for input in 0..tx(at).input.len().min(4) {
                compare_input(&page, &judged, (at, input));
            }
            for output in 0..tx(at).output.len().min(4) {
                compare_output(&page, &judged, (at, output));
            }
            compare_opened(&page, &judged, at);
            opened += 1;
        }
    }
    assert!(opened > 15, "only {opened} transactions were compared");
    page.assert_quiet();
}

#[test]
fn neighbours_block_and_scripts_are_a_key_away() {
    let Some(server) = Server::mainnet() else { return };
    let judged = Judged::of(&server.payload(757_739));
    let page = Page::open(&server.url());
    let shown = |at: usize| compare_head(&page, &judged, at);
    page.go("block/757739/tx/5");
    shown(5);
    page.press_key(Key::Right);
    page.until_path(&judged.page(6));
    shown(6);
    page.press_key(Key::Left);
    shown(5);
    page.click(&test("previous"));
    shown(4);
    page.back();
    shown(5);
    page.press("e");
    page.until_true("all are open", "document.querySelectorAll('[aria-expanded=false].io-head').length === 0 && 1");
    page.press("e");
    page.until_gone(".io-details");
    page.press("b");
    page.until_path(&format!("block/{}", judged.hash));
    page.until_there("[data-test=tx-row][data-index=\"5\"].chosen");
    page.assert_quiet();
}

/// Scrolls down until the last row of a list is there, and returns the most rows that stood in the document at once.
pub fn scroll_to_last(page: &Page, name: &str, last: usize) -> usize {
    let mut most = 0;
    let script = "window.scrollTo(0, document.scrollingElement.scrollHeight)";
    for _ in 0..50 {
        page.js::<Value>(script, json!([]));
        page.until_there(&test(name));
        most = most.max(page.count(&test(name)));
        let seen = "document.querySelector(arguments[0])?.getBoundingClientRect().top < innerHeight";
        if page.js::<Option<bool>>(&format!("return {seen}"), json!([row(name, last)])) == Some(true) {
            return most;
        }
    }
    panic!("{name} {last} never comes into sight");
}

#[test]
fn thousands_of_inputs_stay_a_window_of_rows() {
    let Some(server) = Server::mainnet() else { return };
    let page = Page::open(&server.url());
    let judged = Judged::of(&server.payload(367_891));
    let at = judged.most(|tx| tx.tx.input.len());
    let count = judged.txs[at].tx.input.len();
    assert!(count > 1000, "{count} inputs are not many");
    page.go(&judged.page(at));
    compare_head(&page, &judged, at);
    let rows = scroll_to_last(&page, "input", count - 1);
    assert!(rows < 200, "{rows} rows of {count} were drawn at once");
    compare_input(&page, &judged, (at, count - 1));
    // Opened all at once they are higher, and still only those in sight are drawn.
    page.press("e");
    let rows = scroll_to_last(&page, "input", count - 1);
    assert!(rows < 200, "{rows} opened rows of {count} were drawn at once");
    page.assert_quiet();
}
