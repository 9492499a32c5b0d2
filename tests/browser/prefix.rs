//! Behind a proxy that serves the explorer below some prefix: everything loads from there, and nothing from outside.

use crate::page::{Page, test};
use crate::proxy::Proxy;
use crate::server::Server;

const PREFIX: &str = "/deep/prefix";

#[test]
fn everything_works_below_a_prefix() {
    let server = Server::demo();
    let proxy = Proxy::start(server.address, PREFIX);
    let page = Page::open(&proxy.url());
    let hash = server.facts(1000).hash.to_string();
    let txid = crate::expect::Judged::of(&server.payload(1000)).txs[0].txid.to_string();

    page.go("");
    page.until_there(&test("block-row"));
    page.click(&test("block-row"));
    page.until_text(&test("title"), "Block 2,016");
    page.back();
    page.until_path("");

    // Deep links and reloads start from an address that is further down.
    let (block, tx) = (format!("block/{hash}"), format!("block/{hash}/tx/{txid}"));
    page.go(&tx);
    page.until_there(&test("transaction"));
    page.reload();
    page.until_there(&test("transaction"));
    page.click(&test("block-link"));
    page.until_path(&block);
    page.until_text(&test("title"), "Block 1,000");
    page.reload();
    page.until_text(&test("verdict"), "checks passed");
    // The link was taken off when the page had moved within the app: it still leads below the prefix.
    page.click(&test("previous"));
    page.until_text(&test("title"), "Block 999");
    page.click("header .name");
    page.until_path("");
    page.assert_quiet();

    // The other chain of the demo is served from further down, and leads back.
    let other = format!("{} a:not([aria-current])", test("chains"));
    page.until_text(&other, "Showcase");
    page.click(&other);
    page.until_path("showcase/");
    page.until_text(&test("demo"), "Bitcoin Core's own code checked and wrote every block");
    page.click(&test("block-row"));
    page.until_text(&test("verdict"), "checks passed");
    // Core prints 4.656542373906925e-10.
    page.until_text(&test("difficulty"), "4.66e-10");
    page.reload();
    page.until_text(&test("verdict"), "checks passed");
    page.click(&other);
    page.until_path("");
    page.until_text(&test("demo"), "testnet3");
    page.assert_quiet();

    let outside: Vec<String> = proxy.log().into_iter().filter(|target| !target.starts_with(PREFIX)).collect();
    assert_eq!(outside, Vec::<String>::new());
    // The worker starts from the same file as the page, and the payload came through.
    assert!(proxy.log().iter().any(|target| target.ends_with("/payload")));
}
