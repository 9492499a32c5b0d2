//! The search box beyond blocks: addresses in any case, transactions by a few digits, keys that mean several things.

use bitcoin::{Address, CompressedPublicKey, Network};

use crate::expect::Judged;
use crate::page::{Key, Page, test};
use crate::server::Server;

/// A key of the showcase whose owner is paid to the key's hash both directly and nested in P2SH.
const KEY: &str = "026c0a347192ba56ad59d38bef129d4c1717445e03f4488b412dc6311922b45a6d";

#[test]
fn one_thing_is_opened_and_several_are_listed() {
    let server = Server::showcase();
    let page = Page::open(&server.url());
    let enter = char::from(Key::Enter);
    page.go("");
    let levels = "[...document.querySelectorAll('[data-test=index]')]";
    page.until_true(
        "all is indexed",
        &format!("{levels}.length === 2 && {levels}.every(level => level.dataset.whole === 'true')"),
    );
    let search = |text: &str| page.fill(&test("search"), &format!("{text}{enter}"));
    let judged = Judged::of(&server.payload(600));
    let txid = judged.txs[2].txid.to_string();
    for text in [txid.clone(), txid.to_uppercase(), txid[..12].to_owned()] {
        search(&text);
        page.until_path(&format!("tx/{txid}"));
        page.press("h");
        page.until_path("");
    }
    search(&format!("{txid}:1"));
    page.until_path(&format!("tx/{txid}/out/1"));

    let key: CompressedPublicKey = KEY.parse().unwrap();
    let direct = Address::p2wpkh(&key, Network::Regtest).to_string();
    let nested = Address::p2shwpkh(&key, Network::Regtest).to_string();
    search(&direct.to_uppercase());
    page.until_path(&format!("address/{direct}"));
    page.until_text(".address", &direct);
    search(KEY);
    page.until_path(&format!("search/{KEY}"));
    page.until_there(&test("hit"));
    let hits = page.texts(&test("hit"));
    assert_eq!(hits.len(), 2, "{hits:?}");
    for address in [&direct, &nested] {
        assert!(hits.iter().any(|hit| hit.contains(address.as_str())), "{address} is not among {hits:?}");
    }
    page.click(&format!("{}[href=\"address/{nested}\"]", test("hit")));
    page.until_path(&format!("address/{nested}"));
    page.until_there(&test("balance"));

    search(&"11".repeat(32));
    page.until_text("#search-trouble", "is found nowhere: no block, transaction");
    page.until_path(&format!("address/{nested}"));
    page.assert_quiet();
}
