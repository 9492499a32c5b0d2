//! Bad lines, bad servers, no servers: what does not fit is said plainly, and what passes is recovered from.

use std::sync::Arc;

use hindsight_shared::payload::Payload;
use serde_json::json;

use crate::page::{Page, test};
use crate::proxy::{Fault, Gate, Proxy};
use crate::server::Server;

fn failed(page: &Page) -> Vec<String> {
    page.until_there(&test("verdict"));
    page.texts("[data-outcome=failed] summary > span:not([class])")
}

/// A height whose block has as many bytes as any of the demo's.
fn large(server: &Server) -> u32 {
    (0..=2016).max_by_key(|height| server.facts(height).size).unwrap()
}

#[test]
fn a_changed_byte_fails_the_check_that_covers_it() {
    let server = Server::demo();
    let height = large(&server);
    let proxy = Proxy::start(server.address, "");
    let page = Page::open(&proxy.url());
    let wire = server.payload(height);
    let block = Payload::decode(&wire).unwrap().block.len();
    let header = wire.len() - block;
    let hash = server.facts(height).hash;
    for (at, name, expected) in [
        (wire.len() - 1, "the last locktime", vec!["Transaction ids and merkle root"]),
        (header - 1, "the undo record's checksum", vec!["Undo checksum"]),
        (
            header + 36,
            "the header's merkle root",
            vec!["Block hash", "Proof of work", "Transaction ids and merkle root"],
        ),
    ] {
        proxy.set(Fault::Changed(Arc::new(move |body| body[at] ^= 1)));
        // The good bytes are immutable, so the browser would not ask for them again.
        page.cdp("Network.clearBrowserCache", json!({}));
        page.go(&format!("block/{hash}"));
        assert_eq!(failed(&page), expected, "{name}");
        let verdict = page.text(&test("verdict"));
        let plural = if expected.len() == 1 { "check" } else { "checks" };
        assert!(verdict.starts_with(&format!("{} {plural} failed", expected.len())), "{verdict}");
        // In sight without a click, and not by colour alone.
        let seen = "document.querySelector('[data-test=verdict]').checkVisibility({ visibilityProperty: true })";
        page.until_true("the verdict is in sight", seen);
        page.until_there("[data-outcome=failed] svg");
    }
    proxy.set(Fault::None);
    page.cdp("Network.clearBrowserCache", json!({}));
    page.reload();
    page.until_text(&test("verdict"), "7 checks passed, 3 cannot be made here");
    assert_eq!(failed(&page), Vec::<String>::new());
}

#[test]
fn a_payload_that_is_cut_is_an_error_with_a_way_out() {
    let server = Server::demo();
    // A block for each fault: what has once arrived whole is kept by the browser, and asked about instead of fetched.
    let mut height = large(&server);
    let proxy = Proxy::start(server.address, "");
    let page = Page::open(&proxy.url());
    let retry = format!("{} button", test("error"));
    for (fault, title) in [
        // Half of it, as if that were all.
        (Fault::Changed(Arc::new(|body: &mut Vec<u8>| body.truncate(body.len() / 2))), "The answer cannot be decoded"),
        (Fault::Changed(Arc::new(Vec::clear)), "The answer cannot be decoded"),
        (Fault::Changed(Arc::new(|body: &mut Vec<u8>| body[0] = b'X')), "The answer cannot be decoded"),
        // The connection breaks in the middle.
        (Fault::Broken, "No answer from the server"),
    ] {
        proxy.set(fault.clone());
        page.go(&format!("block/{height}"));
        page.until_text(&format!("{} h2", test("error")), title);
        let sentence = page.text(&format!("{} p", test("error")));
        assert!(sentence.ends_with('.') && sentence.len() > 20, "{sentence}");
        assert_eq!(page.count(&test("block")), 0);
        proxy.set(Fault::None);
        page.click(&retry);
        page.until_text(&test("verdict"), "checks passed");
        height -= 1;
    }
}

#[test]
fn a_slow_payload_shows_how_far_it_is() {
    let server = Server::demo();
    let height = large(&server);
    let proxy = Proxy::start(server.address, "");
    let page = Page::open(&proxy.url());
    let gate = Arc::new(Gate::default());
    proxy.set(Fault::Held(Arc::clone(&gate)));
    page.go(&format!("block/{height}"));
    page.until_text(&test("progress"), "Fetching: ");
    page.until_text(&test("progress"), " of ");
    // The bar glides to where it belongs.
    page.until_true(
        "half has arrived and about half of the bar is filled",
        "(bar => bar > 0.4 && bar < 0.6)(document.querySelector('.track > div')?.offsetWidth \
         / document.querySelector('.track')?.offsetWidth)",
    );
    // One can leave meanwhile, and come back.
    page.press("h");
    page.until_there(&test("block-row"));
    page.back();
    page.until_there(&test("progress"));
    gate.open();
    page.until_text(&test("verdict"), "checks passed");
    page.assert_quiet();
}

#[test]
fn a_server_that_went_away_is_said_and_found_again() {
    let mut server = Server::demo();
    let page = Page::open(&server.url());
    page.go("block/1000");
    page.until_text(&test("title"), "Block 1,000");
    server.kill();
    page.click(&test("previous"));
    page.until_text(&format!("{} h2", test("error")), "No answer from the server");
    page.until_text(&test("error"), "Is Hindsight still running");
    // What was loaded is still there.
    page.back();
    page.until_text(&test("title"), "Block 1,000");
    page.until_text(&test("verdict"), "checks passed");
    page.click(&test("previous"));
    page.until_there(&test("error"));
    let again = Server::demo_at(&server.address.to_string());
    page.click(&format!("{} button", test("error")));
    page.until_text(&test("title"), "Block 999");
    page.until_gone(&test("offline"));
    drop(again);
}
