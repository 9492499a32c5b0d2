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
        // The tab that Chromium opens with has files of its own, inside the browser.
        let inside = message["params"]["documentURL"].as_str().is_some_and(|url| url.starts_with("chrome://"));
        let sent = message["method"] == "Network.requestWillBeSent" && !inside;
        sent.then(|| message["params"]["request"]["url"].as_str().map(str::to_owned))?
    });
    let requested: Vec<String> = requested.chain(resources).collect();
    let foreign: Vec<&String> =
        requested.iter().filter(|url| !url.starts_with(&own) && !url.starts_with("data:")).collect();
    assert_eq!(foreign, Vec::<&String>::new(), "the page asked somebody else");
    assert!(requested.len() > 10, "{requested:?}");

    let heard = proxy.log();
    assert!(heard.iter().any(|target| target.ends_with("/payload")), "the proxy should hear the worker: {heard:?}");
    let foreign: Vec<&String> =
        heard.iter().filter(|target| !target.starts_with(&own) && !is_chromiums(target)).collect();
    assert_eq!(foreign, Vec::<&String>::new(), "the page, or its worker, asked somebody else");
}

/// Whether Chromium asks this by itself, whatever page is open: for the time, for updates, for its start page. No flag
/// stops all of it. That the app does not hide behind these names is what the page's own list of requests shows, and for
/// the worker the policy that comes with its script.
fn is_chromiums(target: &str) -> bool {
    let rest = target.strip_prefix("http://").unwrap_or(target);
    let host = rest.split(['/', ':']).next().unwrap_or_default();
    let hosts = ["google.com", "googleapis.com", "gvt1.com", "gstatic.com", "duckduckgo.com"];
    hosts.iter().any(|name| host.strip_suffix(name).is_some_and(|head| head.is_empty() || head.ends_with('.')))
}

#[test]
fn the_policy_lets_page_and_worker_talk_to_their_server_only() {
    let server = Server::demo();
    let page = Page::open(&server.url());
    page.go("");
    page.until_there(&test("block-row"));
    let script = page.attr("script[type=module]", "src");
    for path in ["/", "/block/5", &format!("/{}", script.trim_start_matches(['.', '/']))] {
        let response = server.get(path);
        assert_eq!(response.status, 200, "{path}");
        let policy = response.header("content-security-policy").unwrap_or_default().to_owned();
        let rules: Vec<&str> = policy.split(';').map(str::trim).collect();
        for rule in ["default-src 'none'", "connect-src 'self'", "script-src 'self' 'wasm-unsafe-eval'"] {
            assert!(rules.contains(&rule), "{path}: {rule} is not in {policy}");
        }
    }
    // And the browser keeps to it.
    let refused =
        "fetch('https://example.com/').then(() => 'answered', () => 'refused').then(text => window.tried = text)";
    page.js::<Value>(&format!("{refused}; return null"), json!([]));
    let tried: String = page.until("the policy was tried", "window.tried");
    assert_eq!(tried, "refused");
    let console = page.console();
    assert!(console.iter().any(|line| line.contains("Content Security Policy")), "{console:?}");
}
