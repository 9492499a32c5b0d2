//! An address's page: its sums, history, balances, coins and table against a plain recomputation of the whole chain.

use bitcoin::{OutPoint, ScriptBuf, Txid};
use serde_json::{Value, json};

use crate::expect::{Judged, group};
use crate::page::{Page, test};
use crate::server::Server;

/// The showcase's last height.
const TIP: u32 = 640;

/// What one transaction does with a script.
#[derive(Debug, PartialEq)]
struct Movement {
    txid: Txid,
    received: u64,
    spent: u64,
}

/// Everything that the chain says of a script.
#[derive(Default)]
struct Recomputed {
    /// Oldest first.
    movements: Vec<Movement>,
    coins: Vec<(OutPoint, u64)>,
}

impl Recomputed {
    fn of(server: &Server, script: &ScriptBuf) -> Self {
        let mut all = Self::default();
        for height in 0..=TIP {
            for tx in Judged::of(&server.payload(height)).txs {
                all.add(&tx, script);
            }
        }
        all
    }

    fn add(&mut self, tx: &crate::expect::JudgedTx, script: &ScriptBuf) {
        let spends: Vec<_> = tx.tx.input.iter().zip(&tx.spent).filter(|(_, spent)| spent.script == *script).collect();
        let spent = spends.iter().map(|(_, spent)| spent.value.to_sat()).sum();
        self.coins.retain(|(coin, _)| spends.iter().all(|(input, _)| input.previous_output != *coin));
        let paid = (0..).zip(&tx.tx.output).filter(|(_, output)| output.script_pubkey == *script);
        let made: Vec<_> =
            paid.map(|(vout, output)| (OutPoint { txid: tx.txid, vout }, output.value.to_sat())).collect();
        if !made.is_empty() || !spends.is_empty() {
            let received = made.iter().map(|(_, value)| value).sum();
            self.movements.push(Movement { txid: tx.txid, received, spent });
        }
        self.coins.extend(made);
    }

    fn received(&self) -> u64 {
        self.movements.iter().map(|movement| movement.received).sum()
    }

    fn spent(&self) -> u64 {
        self.movements.iter().map(|movement| movement.spent).sum()
    }
}

/// The rows in sight, as txid, in, out and left.
const ROWS: &str = "[...document.querySelectorAll('[data-test=history-row]')].map(row => [row.dataset.txid, \
    ...['.in', '.out', '.left'].map(part => row.querySelector(part).dataset.value)])";

/// Scrolls through the whole history and collects its rows, newest first.
fn scroll_through(page: &Page, count: usize) -> Vec<[String; 4]> {
    let mut rows: Vec<[String; 4]> = Vec::new();
    for _ in 0..2000 {
        for row in page.until::<Vec<[String; 4]>>("rows are drawn", ROWS) {
            if rows.iter().all(|known| known[0] != row[0]) {
                rows.push(row);
            }
        }
        if rows.len() == count {
            return rows;
        }
        page.js::<Value>("window.scrollBy(0, innerHeight / 2)", json!([]));
    }
    panic!("{} of {count} rows were seen", rows.len());
}

/// An address that many use: what pays to it anybody may spend (P2A).
fn anchor() -> ScriptBuf {
    ScriptBuf::from_hex("51024e73").unwrap()
}

#[test]
fn sums_history_and_coins_are_what_the_chain_says() {
    let server = Server::showcase();
    let page = Page::open(&server.url());
    let all = Recomputed::of(&server, &anchor());
    assert!(all.movements.len() > 200 && all.coins.len() > 2, "that is no test of pages");
    let address = bitcoin::Address::from_script(&anchor(), bitcoin::Network::Regtest).unwrap().to_string();
    page.go(&format!("address/{address}"));
    page.until_text(".address", &address);
    page.until_text(&test("transactions"), &group(all.movements.len()));
    let sum = |name: &str| page.attr(&test(name), "data-value").parse::<u64>().unwrap();
    assert_eq!((sum("received"), sum("spent")), (all.received(), all.spent()));
    assert_eq!(sum("balance"), all.received() - all.spent());
    page.until_text(&test("kind"), "P2A");
    page.until_there(&test("qr"));
    page.until_there(&test("balance-chart"));
    let said = page.attr(".balance svg", "aria-label");
    assert!(said.contains("last changed"), "{said}");
    assert_eq!(page.count(&test("missing")), 0);

    // The whole history, and after each row what was left.
    let rows = scroll_through(&page, all.movements.len());
    let mut left = all.received() - all.spent();
    for (row, movement) in rows.iter().zip(all.movements.iter().rev()) {
        let [txid, received, spent, balance] = row;
        let seen = Movement {
            txid: txid.parse().unwrap(),
            received: received.parse().unwrap(),
            spent: spent.parse().unwrap(),
        };
        assert_eq!((&seen, balance.parse()), (movement, Ok(left)));
        left = left + movement.spent - movement.received;
    }
    assert_eq!(left, 0);

    page.js::<Value>("window.scrollTo(0, 0)", json!([]));
    page.click(&test("coins-tab"));
    let coins = "[...document.querySelectorAll('[data-test=coin-row]')].map(row => [row.title, row.dataset.value])";
    page.until_there(&test("coin-row"));
    let coins: Vec<(String, String)> = page.until("coins are drawn", coins);
    for (coin, value) in &coins {
        let coin = (coin.parse().unwrap(), value.parse().unwrap());
        assert!(all.coins.contains(&coin), "{coin:?} is not unspent");
    }
    page.click("[data-test=coin-row]");
    page.until_there("[data-test=output].named");
    page.assert_quiet();
}

#[test]
fn the_history_is_saved_whole_as_a_table() {
    let server = Server::showcase();
    let page = Page::open(&server.url());
    let all = Recomputed::of(&server, &anchor());
    page.go("address/51024e73");
    page.until_text(&test("transactions"), &group(all.movements.len()));
    let listen = "const make = URL.createObjectURL; \
        URL.createObjectURL = blob => { blob.text().then(text => window.saved = text); return make.call(URL, blob); }";
    page.js::<Value>(listen, json!([]));
    page.click(&test("csv"));
    let table: String = page.until("the table is made", "window.saved");
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), all.movements.len() + 1);
    for (line, movement) in lines[1..].iter().zip(all.movements.iter().rev()) {
        let fields: Vec<&str> = line.split(',').collect();
        let expected = [movement.txid.to_string(), movement.received.to_string(), movement.spent.to_string()];
        assert_eq!(fields[3..6], expected);
    }
    page.assert_quiet();
}

#[test]
fn keys_walk_the_history_and_scripts_lead_to_their_pages() {
    let server = Server::showcase();
    let page = Page::open(&server.url());
    page.go("address/51024e73");
    page.until_there(&test("history-row"));
    page.press("jj");
    page.until_there("[data-test=history-row].chosen");
    let txid = page.attr("[data-test=history-row].chosen", "data-txid");
    page.press_key(crate::page::Key::Enter);
    page.until_path(&format!("tx/{txid}"));
    page.until_there(&test("transaction"));
    page.until_there(".io-who[href^=\"address/\"]");
    let href = page.attr(".io-who[href^=\"address/\"]", "href");
    page.click(".io-who[href^=\"address/\"]");
    page.until_path(&href);
    page.until_there(&test("balance"));
    page.back();
    page.until_path(&format!("tx/{txid}"));
    page.assert_quiet();

    page.go("address/bcrt1qnothing");
    page.until_text(&test("error"), "is neither an address nor a scriptPubKey");
}
