//! A transaction found by its id: the same page as in its block, and links along every coin, back and forth.

use crate::expect::{Judged, group};
use crate::page::{Page, test};
use crate::server::Server;
use crate::transaction::{compare_head, row};

/// A height of the showcase whose block is small, and has transactions that later blocks spend.
const HEIGHT: u32 = 600;

/// The showcase's last height.
const TIP: u32 = 640;

#[test]
fn a_transaction_is_found_by_its_id_and_coins_are_followed_both_ways() {
    let server = Server::showcase();
    let page = Page::open(&server.url());
    let judged = Judged::of(&server.payload(HEIGHT));
    // One that spends a coin of an earlier block: there the link cannot stay within this block.
    let earlier =
        judged.positions(|tx| tx.spent.first().and_then(|spent| spent.created).is_some_and(|made| made < HEIGHT));
    let at = earlier[0];
    let tx = &judged.txs[at];
    page.go(&format!("tx/{}", tx.txid));
    compare_head(&page, &judged, at);
    page.until_text(&test("confirmations"), &format!("{} confirmations", TIP - HEIGHT + 1));
    page.until_text(&test("block-link"), &group(HEIGHT));

    // Back to the output that the first input spends, and forward again to that input.
    let source = tx.tx.input[0].previous_output;
    let link = format!("{} {}", row("input", 0), test("source"));
    let href = format!("tx/{}/out/{}", source.txid, source.vout);
    page.until_true(
        "the link leads to the output",
        &format!("document.querySelector('{link}')?.getAttribute('href') === '{href}'"),
    );
    page.click(&link);
    page.until_path(&href);
    page.until_there(&format!("{}.named", row("output", source.vout as usize)));
    let spender = format!("{} {} a", row("output", source.vout as usize), test("spent-by"));
    page.until_text(&spender, &format!("{}:0", &tx.txid.to_string()[58..]));
    page.click(&spender);
    page.until_path(&format!("tx/{}/in/0", tx.txid));
    page.until_there(&format!("{}.named", row("input", 0)));
    compare_head(&page, &judged, at);

    // The neighbours are those of the block.
    page.click(&test("next"));
    compare_head(&page, &judged, at + 1);
    page.back();
    compare_head(&page, &judged, at);
    page.assert_quiet();
}

#[test]
fn an_output_says_what_became_of_it() {
    let server = Server::showcase();
    let page = Page::open(&server.url());
    let judged = Judged::of(&server.payload(TIP));
    let spends: Vec<_> =
        judged.txs.iter().flat_map(|tx| tx.tx.input.iter().map(|input| input.previous_output)).collect();
    let is_spent = |at: usize, vout: usize| {
        spends.iter().any(|spend| spend.txid == judged.txs[at].txid && spend.vout as usize == vout)
    };
    let first = |holds: &dyn Fn(usize) -> bool| (0..judged.txs.len()).find(|&at| holds(at)).unwrap();
    // Nothing lies above the tip: what its own block does not spend is unspent.
    let unspent = first(&|at| at > 0 && !is_spent(at, 0) && !judged.txs[at].tx.output[0].script_pubkey.is_op_return());
    let spent = first(&|at| is_spent(at, 0));
    let data = |at: usize| judged.txs[at].tx.output.iter().position(|output| output.script_pubkey.is_op_return());
    let unspendable = first(&|at| at > 0 && data(at).is_some_and(|vout| vout < 8));
    let says = |at: usize, vout: usize, what: &str| {
        // Found by its id, and on its block's page, which asks for it behind the reader's back.
        for path in [format!("tx/{}", judged.txs[at].txid), judged.page(at)] {
            page.go(&path);
            page.until_text(&row("output", vout), what);
        }
    };
    says(unspent, 0, "unspent");
    says(spent, 0, "spent by ");
    says(unspendable, data(unspendable).unwrap(), "can never be spent");
    page.assert_quiet();
}

#[test]
fn a_txid_of_nothing_is_told_from_one_that_is_not_indexed() {
    let server = Server::showcase();
    let page = Page::open(&server.url());
    page.go(&format!("tx/{}", "11".repeat(32)));
    page.until_text(&test("error"), &format!("is in none of the {} blocks", TIP + 1));
}
