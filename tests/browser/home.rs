//! The first page: the newest blocks, older ones by scrolling, the search, the keys.

use serde_json::{Value, json};

use crate::page::{Key, Page, test};
use crate::server::Server;

/// The demo chain's last height.
const TIP: u32 = 2016;

fn heights(page: &Page) -> Vec<u32> {
    let texts = page.texts("[data-test=block-row] .height");
    texts.iter().map(|text| text.replace(',', "").parse().unwrap()).collect()
}

#[test]
fn the_newest_blocks_are_listed_and_older_ones_follow_by_scrolling() {
    let server = Server::demo();
    let page = Page::open(&server.url());
    page.go("");
    page.until_title("Hindsight");
    page.until_text(&test("demo"), "testnet3");
    page.until_text(&format!("{} [aria-current]", test("chains")), "testnet3");
    page.until_there(&test("block-row"));
    assert_eq!(heights(&page)[0], TIP);
    let tip = server.facts(TIP);
    assert_eq!(page.attr(&test("block-row"), "data-hash"), tip.hash.to_string());
    page.until_text(&test("tip"), "2,016");
    page.until_text(&test("server"), "file read");

    // Sixty blocks come with one request: these are beyond the first.
    let script = "window.scrollTo(0, document.body.scrollHeight)";
    let lowest = loop {
        page.js::<Value>(script, json!([]));
        let lowest = *heights(&page).last().unwrap();
        if lowest < 1950 {
            break lowest;
        }
    };
    assert!(lowest > 0);
    // However far one scrolls, only what is near the window is drawn.
    assert!(page.count(&test("block-row")) < 120);
    page.until_there(&format!("{} .height", test("block-row")));
    let shown = heights(&page);
    assert!(shown.windows(2).all(|pair| pair[0] == pair[1] + 1), "{shown:?}");
    page.assert_quiet();

    // A block, and back to where the list was left.
    let before: i64 = page.js("return Math.round(scrollY)", json!([]));
    let middle =
        "[...document.querySelectorAll('[data-test=block-row]')].find(row => row.getBoundingClientRect().top > 200)";
    let hash: String = page.until("a row is in sight", &format!("{middle}.dataset.hash"));
    page.js::<Value>(&format!("{middle}.click()"), json!([]));
    page.until_path(&format!("block/{hash}"));
    page.until_there(&test("block"));
    page.back();
    page.until_path("");
    page.until_true("the list is where it was", &format!("Math.abs(scrollY - {before}) <= 1"));
    page.assert_quiet();
}

#[test]
fn the_tip_is_asked_for_again_and_a_lost_server_is_said() {
    let mut server = Server::demo();
    let page = Page::open(&server.url());
    page.go("");
    page.until_there(&test("block-row"));
    let polls = "performance.getEntriesByType('resource').filter(e => e.name.endsWith('/api/v1/status')).length";
    page.until_true("the status is asked for again", &format!("{polls} >= 2"));
    assert_eq!(page.count(&test("offline")), 0);
    server.kill();
    page.until_text(&test("offline"), "nothing new arrives");
    assert!(page.count(&test("block-row")) > 0, "what was there stays");
    let again = Server::demo_at(&server.address.to_string());
    page.until_gone(&test("offline"));
    drop(again);
}

#[test]
fn a_search_opens_a_height_or_a_hash_and_says_why_nonsense_is_none() {
    let server = Server::demo();
    let page = Page::open(&server.url());
    let hash = server.facts(1234).hash.to_string();
    page.go("");
    let search = test("search");
    let enter = char::from(Key::Enter);
    let open = |text: &str, path: &str| {
        page.fill(&search, &format!("{text}{enter}"));
        page.until_path(path);
        page.until_text(&test("title"), "Block 1,234");
        page.press("h");
        page.until_path("");
    };
    open("1234", "block/1234");
    open("1,234", "block/1234");
    open(&hash, &format!("block/{hash}"));
    open(&format!(" {} ", hash.to_uppercase()), &format!("block/{hash}"));

    for nonsense in ["stale", "-1", "99999999999", "000000000019d6689c085ae165831e93"] {
        page.fill(&search, &format!("{nonsense}{enter}"));
        page.until_text("#search-trouble", &format!("'{nonsense}' is found nowhere"));
        page.until_path("");
    }
    page.press_key(Key::Escape);
    page.until_true("the sentence is gone", "document.querySelector('#search-trouble').innerText === '' && 1");
    page.assert_quiet();
}

#[test]
fn keys_do_what_the_sheet_says() {
    let server = Server::demo();
    let page = Page::open(&server.url());
    page.go("");
    page.until_there(&test("block-row"));
    let focused =
        |id: &str| page.until_true(&format!("{id} has the focus"), &format!("document.activeElement.id === '{id}'"));
    for key in ["/", "s"] {
        page.press(key);
        focused("search");
        page.press_key(Key::Escape);
        page.until_true("the search has lost the focus", "document.activeElement.id !== 'search'");
    }
    page.press("?");
    page.until_there("#keys");
    page.press_key(Key::Escape);
    page.until_gone("#keys");

    // Two down, one up: the second row.
    page.press("jjk");
    page.until_true(
        "the first row is chosen",
        "document.querySelector('.block-row.chosen .height')?.innerText === '2,016'",
    );
    page.press("j");
    page.until_true(
        "the second row is chosen",
        "document.querySelector('.block-row.chosen .height')?.innerText === '2,015'",
    );
    page.press_key(Key::Enter);
    page.until_text(&test("title"), "Block 2,015");

    // On a block the slash finds in its table instead.
    page.press("/");
    focused("find");
    page.press_key(Key::Escape);
    page.press("u");
    page.until_text(&test("unit"), "sat");
    page.press("u");
    page.until_text(&test("unit"), "BTC");
    page.press("h");
    page.until_path("");
    page.assert_quiet();
}
