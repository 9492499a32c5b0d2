//! What the index says of scripts and outputs, held against the node's own set of unspent outputs: `scantxoutset` and
//! `gettxout`.

use std::collections::BTreeMap;

use bitcoin::{Amount, Block, OutPoint, ScriptBuf, Txid};
use hindsight_shared::address::{Coin, Row, Totals};
use hindsight_shared::bytes::Reader;
use hindsight_shared::found_tx::Fate;
use hindsight_tests::node::Node;
use hindsight_tests::scenes::rich;
use hindsight_tests::test_server::TestServer;
use hindsight_tests::wait::until;
use serde_json::{Value, json};

/// What the node has of a script: outpoint, satoshis, height and whether it is of a coinbase.
type Unspent = BTreeMap<(Txid, u32), (u64, u32, bool)>;

#[test]
fn every_script_and_output_of_a_chain_of_everything() {
    let Some(node) = Node::start(&[]) else { return };
    let blocks = rich().blocks;
    blocks.iter().for_each(|block| node.submit(block));
    let server = TestServer::start(node.datadir());
    let scripts = scripts_of(&blocks);
    let theirs = scanned(&node, &scripts);
    let mut coins = 0;
    for script in &scripts {
        let base = format!("/api/v1/address/{}", script.to_hex_string());
        let totals = until("the script is indexed", || {
            let totals = Totals::read_all(&server.get_ok(&base)).unwrap()[0];
            (totals.missing == 0).then_some(totals)
        });
        let ours = Coin::read_all(&server.get_ok(&format!("{base}/unspent"))).unwrap();
        let ours: Unspent = ours.iter().map(|coin| (key(coin.outpoint), of_coin(coin))).collect();
        let theirs = theirs.get(script).cloned().unwrap_or_default();
        assert_eq!(ours, theirs, "{script}");
        let held: u64 = theirs.values().map(|(value, _, _)| value).sum();
        assert_eq!(totals.balance(), Some(Amount::from_sat(held)), "{script}");
        assert_eq!(totals.unspent_outputs() as usize, theirs.len(), "{script}");
        coins += ours.len();
    }
    let outputs = fates_are_right(&node, &server, &blocks);
    println!("{} scripts, {coins} coins and the fates of {outputs} outputs as Core has them", scripts.len());
    assert!(coins > 150 && outputs > 700, "{coins} {outputs}");
}

fn scripts_of(blocks: &[Block]) -> Vec<ScriptBuf> {
    let outputs = blocks.iter().flat_map(|block| &block.txdata).flat_map(|tx| &tx.output);
    let mut scripts: Vec<ScriptBuf> = outputs.map(|output| output.script_pubkey.clone()).collect();
    scripts.sort();
    scripts.dedup();
    // Longer ones are no path, and in no set of unspent outputs.
    scripts.retain(|script| !script.is_empty() && script.len() < 3000);
    scripts
}

/// The node's coins, by script.
fn scanned(node: &Node, scripts: &[ScriptBuf]) -> BTreeMap<ScriptBuf, Unspent> {
    let descriptors: Vec<Value> =
        scripts.iter().map(|script| json!(format!("raw({})", script.to_hex_string()))).collect();
    let scan = node.call("scantxoutset", &[json!("start"), json!(descriptors)]);
    let mut all: BTreeMap<ScriptBuf, Unspent> = BTreeMap::new();
    for coin in scan["unspents"].as_array().unwrap() {
        let script = ScriptBuf::from_hex(coin["scriptPubKey"].as_str().unwrap()).unwrap();
        let outpoint = (coin["txid"].as_str().unwrap().parse().unwrap(), coin["vout"].as_u64().unwrap() as u32);
        let value = Amount::from_btc(coin["amount"].as_f64().unwrap()).unwrap().to_sat();
        let facts = (value, coin["height"].as_u64().unwrap() as u32, coin["coinbase"].as_bool().unwrap());
        all.entry(script).or_default().insert(outpoint, facts);
    }
    all
}

fn key(outpoint: OutPoint) -> (Txid, u32) {
    (outpoint.txid, outpoint.vout)
}

fn of_coin(coin: &Coin) -> (u64, u32, bool) {
    (coin.value.to_sat(), coin.height.0, coin.coinbase)
}

/// An output is in the node's set exactly where nobody spends it and somebody could.
fn fates_are_right(node: &Node, server: &TestServer, blocks: &[Block]) -> usize {
    let mut outputs = 0;
    for tx in blocks.iter().flat_map(|block| &block.txdata) {
        let txid = tx.compute_txid();
        for vout in 0..tx.output.len() as u32 {
            let row = server.get_ok(&format!("/api/v1/outpoint/{txid}:{vout}"));
            let ours = Fate::read(&mut Reader::new(&row)).unwrap();
            let theirs = node.call("gettxout", &[json!(txid), json!(vout), json!(false)]);
            assert_eq!(ours == Fate::Unspent, !theirs.is_null(), "{txid}:{vout} {ours:?} {theirs}");
            outputs += 1;
        }
    }
    outputs
}
