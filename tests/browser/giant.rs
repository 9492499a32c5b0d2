//! A block that no test directory has: one transaction with 70,000 outputs, on a node that has deleted its undo record.
//! It takes the place of another block on its way to the browser.

use std::sync::Arc;

use bitcoin::absolute::LockTime;
use bitcoin::consensus::{deserialize, serialize};
use bitcoin::hashes::Hash;
use bitcoin::transaction::Version;
use bitcoin::{Amount, Block, OutPoint, ScriptBuf, Sequence, Transaction, TxIn, TxOut, WPubkeyHash, Witness};
use hindsight_shared::payload::{Absence, Payload, Prevouts};

use crate::expect::{btc, group};
use crate::page::{Page, test};
use crate::proxy::{Fault, Proxy};
use crate::server::Server;
use crate::transaction::{row, scroll_to_last};

const OUTPUTS: u32 = 70_000;

/// Scrolls in forty jumps through the whole page, and tells the longest pause between two frames, in milliseconds.
const SCROLL_THROUGH: &str = "
    const end = document.scrollingElement.scrollHeight, steps = 40;
    let at = 0, last = performance.now(), longest = 0;
    const step = () => {
        const now = performance.now();
        longest = Math.max(longest, now - last);
        last = now;
        if (at > steps) return void (window.longestPause = Math.round(longest));
        window.scrollTo(0, end * at++ / steps);
        requestAnimationFrame(step);
    };
    window.longestPause = null;
    requestAnimationFrame(step);
";

fn giant() -> Transaction {
    let script = |at: u32| {
        let mut hash = [0; 20];
        hash[..4].copy_from_slice(&at.to_le_bytes());
        ScriptBuf::new_p2wpkh(&WPubkeyHash::from_byte_array(hash))
    };
    let output = |at: u32| TxOut { value: Amount::from_sat(1000 + u64::from(at)), script_pubkey: script(at) };
    let input = TxIn {
        previous_output: OutPoint::new(bitcoin::Txid::all_zeros(), 7),
        script_sig: ScriptBuf::new(),
        sequence: Sequence::MAX,
        witness: Witness::new(),
    };
    Transaction {
        version: Version::TWO,
        lock_time: LockTime::ZERO,
        input: vec![input],
        output: (0..OUTPUTS).map(output).collect(),
    }
}

#[test]
fn seventy_thousand_outputs_scroll_smoothly_and_what_is_pruned_is_said() {
    let server = Server::demo();
    let proxy = Proxy::start(server.address, "");
    let wire = server.payload(1000);
    let real = Payload::decode(&wire).unwrap();
    let mut block: Block = deserialize(real.block).unwrap();
    let hash = block.block_hash();
    block.txdata.push(giant());
    let bytes = serialize(&block);
    let absent = Payload { prevouts: Prevouts::Absent, absence: Some(Absence::Pruned), block: &bytes, ..real };
    let absent = absent.encode().unwrap();
    proxy.set(Fault::Changed(Arc::new(move |body| body.clone_from(&absent))));

    let page = Page::open(&proxy.url());
    page.go(&format!("block/{hash}/tx/1"));
    page.until_text("#outputs-title", "70,000 outputs");
    page.until_text(&test("absence"), "deleted this block's undo record");
    assert_eq!(page.count(&test("fee")), 0, "without prevouts no fee is known");
    assert!(page.text(&row("input", 0)).contains("spent output not known"));

    page.js::<serde_json::Value>(SCROLL_THROUGH, serde_json::json!([]));
    let longest: f64 = page.until("the page was scrolled through", "window.longestPause");
    assert!(longest < 400.0, "scrolling paused for {longest} ms");
    let last = OUTPUTS - 1;
    let rows = scroll_to_last(&page, "output", last as usize);
    assert!(rows < 200, "{rows} rows are drawn at once");
    let said = page.text(&row("output", last as usize));
    assert!(said.contains(&group(last)) && said.contains(&btc(1000 + u64::from(last))), "{said}");

    // The block says so as well, and that it is none: its merkle root is wrong, and it is too heavy.
    page.press("b");
    page.until_text(&test("absence"), "deleted this block's undo record");
    page.until_text(&test("no-fees"), "no fee is known");
    page.until_text(&test("verdict"), "2 checks failed");
    page.until_there("[data-test=tx-row][data-index=\"1\"].chosen");
}
