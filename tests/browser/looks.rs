//! How the pages look, as far as a program can tell: colours by system and by switch, contrast, and no page wider than
//! the phone that it is on.

use serde_json::{Value, json};

use crate::page::{Page, test};
use crate::server::Server;

/// Finds texts whose colour is too close to what lies behind them (WCAG 2.1 AA), as `ratio text`. A canvas turns every
/// notation of a colour into numbers. Left out is what cannot be seen or used.
const FAINT_TEXTS: &str = r#"
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const colour = text => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = text;
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
        return [r, g, b, a / 255];
    };
    const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
    const behind = element => {
        if (!element) return [255, 255, 255, 1];
        const own = colour(getComputedStyle(element).backgroundColor);
        return own[3] === 1 ? own : over(own, behind(element.parentElement));
    };
    const luminance = ([r, g, b]) => {
        const [R, G, B] = [r, g, b].map(c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * R + 0.7152 * G + 0.0722 * B;
    };
    const faint = new Map(), pairs = new Set();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement, text = walker.currentNode.data.trim();
        if (!text || !element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
        if (element.closest('.unseen, .skip, [aria-disabled=true], :disabled, script, noscript')) continue;
        const style = getComputedStyle(element), ground = behind(element), ink = over(colour(style.color), ground);
        const [light, dark] = [luminance(ink), luminance(ground)].sort((a, b) => b - a);
        const ratio = (light + 0.05) / (dark + 0.05), size = parseFloat(style.fontSize);
        const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
        pairs.add(style.color + ' on ' + ground);
        if (ratio < (large ? 3 : 4.5)) faint.set(style.color + ' on ' + ground, ratio.toFixed(2) + ' "' + text.slice(0, 40) + '" in ' + element.className);
    }
    return { pairs: pairs.size, faint: [...faint.values()] };
"#;

/// The pages to look at: each kind there is.
fn pages(server: &Server) -> Vec<String> {
    let busiest = (0..=2016).max_by_key(|height| server.facts(height).tx_count).unwrap();
    let tx = format!("block/{busiest}/tx/1");
    let txid = crate::expect::Judged::of(&server.payload(busiest)).txs[1].txid;
    // The script of testnet3's first coinbase.
    let address = "address/4104678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5fac";
    let found = format!("tx/{txid}/in/0");
    [
        "",
        &format!("block/{busiest}"),
        "block/2016",
        &tx,
        "block/0/tx/0",
        "nowhere",
        "block/9999",
        &found,
        address,
        "search/nothing",
    ]
    .map(str::to_owned)
    .into()
}

/// Waits until a page of any kind stands.
fn settle(page: &Page) {
    let all = ["block-row", "check", "transaction", "history-row", "error"].map(test).join(", ");
    page.until_there(&all);
    page.until_there(&test("network"));
    page.js::<Value>("document.querySelectorAll('details').forEach(e => e.open = true)", json!([]));
}

#[test]
fn every_text_stands_out_in_both_colours() {
    let server = Server::demo();
    let page = Page::open(&server.url());
    let mut faint = Vec::new();
    for scheme in ["light", "dark"] {
        page.system_colours(scheme);
        for path in pages(&server) {
            page.go(&path);
            settle(&page);
            let found: Value = page.js(FAINT_TEXTS, json!([]));
            assert!(found["pairs"].as_u64().unwrap() > 1);
            let texts: Vec<String> = serde_json::from_value(found["faint"].clone()).unwrap();
            faint.extend(texts.into_iter().map(|text| format!("{scheme} /{path}: {text}")));
        }
    }
    assert!(faint.is_empty(), "below AA:\n{}", faint.join("\n"));
}

#[test]
fn no_page_is_wider_than_a_phone() {
    let server = Server::demo();
    let page = Page::open(&server.url());
    for width in [390, 320] {
        page.resize(width, 844);
        for path in pages(&server) {
            page.go(&path);
            settle(&page);
            fits(&page, &path, width);
        }
        page.press("?");
        page.until_there("#keys");
        fits(&page, "the sheet of keys", width);
    }
}

#[test]
fn a_full_block_fits_a_phone_too() {
    let Some(server) = Server::mainnet() else { return };
    let page = Page::open(&server.url());
    let judged = crate::expect::Judged::of(&server.payload(866_342));
    page.resize(390, 844);
    let largest = judged.most(|tx| tx.tx.total_size());
    let numbers = judged.most(|tx| tx.tx.input.len());
    for path in ["", "block/866342", &judged.page(0), &judged.page(largest), &judged.page(numbers)] {
        page.go(path);
        settle(&page);
        fits(&page, path, 390);
        if page.count(&test("open-all")) > 0 {
            page.click(&test("open-all"));
            page.until_there(".io-details");
            fits(&page, path, 390);
        }
    }
}

#[track_caller]
fn fits(page: &Page, what: &str, width: u32) {
    let measured: (f64, f64) = page.js("return [document.scrollingElement.scrollWidth, innerWidth]", json!([]));
    let widest = "return [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > arguments[0] + 1).slice(0, 5).map(e => e.tagName + '.' + e.className)";
    if measured.0 > measured.1 || measured.1 > f64::from(width) {
        let culprits: Vec<String> = page.js(widest, json!([width]));
        panic!("{what} is {} wide in a window of {width} ({}): {culprits:?}", measured.0, measured.1);
    }
}

#[test]
fn colours_follow_the_system_until_a_reader_chooses() {
    let server = Server::demo();
    let page = Page::open(&server.url());
    let background =
        || page.js::<String>("return getComputedStyle(document.documentElement).backgroundColor", json!([]));
    let theme = |name: &str| page.until_true(name, &format!("document.documentElement.dataset.theme === '{name}'"));
    page.system_colours("light");
    page.go("");
    page.until_there(&test("block-row"));
    theme("system");
    let light = background();
    page.system_colours("dark");
    let dark = background();
    assert_ne!(light, dark, "the system's colours are followed");

    // Chosen colours stand against the system's, over a reload and on other pages.
    page.click(&test("theme"));
    theme("light");
    assert_eq!(background(), light);
    page.reload();
    theme("light");
    assert_eq!(background(), light);
    page.press("t");
    theme("dark");
    page.system_colours("light");
    assert_eq!(background(), dark);
    page.go("block/1000");
    page.until_there(&test("block"));
    theme("dark");
    assert_eq!(background(), dark);
    page.press("t");
    theme("system");
    assert_eq!(background(), light);
    page.assert_quiet();
}
