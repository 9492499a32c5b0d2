//! The page talks to its server and to nobody else: held against all that the browser sends, whoever asked for it.

use serde_json::{Value, json};

use crate::page::{Page, test};
use crate::proxy::Proxy;
use crate::server::Server;

#[test]
fn no_request_goes_to_any_other_host() {
    let server = Server::demo();
    // As the browser's own proxy it hears everything: page, worker, and what Chromium does by itself.
    let proxy = Proxy::start(server.address, "");
    let page = Page::open_through(&server.url(), Some(proxy.address));
    page.go("");
    page.until_there(&test("block-row"));
    page.click(&test("block-row"));
    page.until_text(&test("verdict"), "checks passed");
    page.click("[data-test=tx-row] a");
    page.until_there(&test("transaction"));
    page.click(&test("open-all"));
    page.click(&test("theme"));
    page.go("nowhere");
    page.until_there(&test("error"));

    let own = server.url();
    let resources: Vec<String> =
        page.js("return performance.getEntriesByType('resource').map(entry => entry.name)", json!([]));
    assert!(!resources.is_empty());
    let requested = page.log("performance").into_iter().filter_map(|entry| {
        let message: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
        let message = &message["message"];
        let sent = message["method"] == "Network.requestWillBeSent";
        sent.then(|| message["params"]["request"]["url"].as_str().map(str::to_owned))?
    });
    let requested: Vec<String> = requested.chain(resources).collect();
    let foreign: Vec<&String> =
        requested.iter().filter(|url| !url.starts_with(&own) && !url.starts_with("data:")).collect();
    assert_eq!(foreign, Vec::<&String>::new(), "the page asked somebody else");
    assert!(requested.len() > 10, "{requested:?}");

    let heard = proxy.log();
    assert!(heard.iter().any(|target| target.ends_with("/payload")), "the proxy should hear the worker: {heard:?}");
    let foreign: Vec<&String> = heard.iter().filter(|target| !target.starts_with(&own)).collect();
    assert_eq!(foreign, Vec::<&String>::new(), "the browser asked somebody else");
}
