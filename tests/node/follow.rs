//! Blocks appear as they are mined, and whatever both say of them is the same.

use std::time::{Duration, Instant};

use bitcoin::consensus::deserialize;
use bitcoin::consensus::encode::serialize_hex;
use bitcoin::{Amount, Block, BlockHash, OutPoint, Transaction};
use hindsight_tests::chain_builder::{Coin, share};
use hindsight_tests::client::request;
use hindsight_tests::locks::Lock;
use hindsight_tests::node::{ANYBODY, Node};
use hindsight_tests::node_judge::Pair;
use hindsight_tests::scenes::rich;
use hindsight_tests::test_server::TestServer;
use serde_json::json;

use super::of_one_mind;

/// Waits for each block in turn, and compares it and its parent.
struct Follower<'a> {
    node: &'a Node,
    server: &'a TestServer,
    pair: Pair<'a>,
    /// How long each block took to appear.
    delays: Vec<Duration>,
}

impl<'a> Follower<'a> {
    fn new(node: &'a Node, server: &'a TestServer) -> Self {
        Self { node, server, pair: Pair::new(node, server.address), delays: Vec::new() }
    }

    #[track_caller]
    fn expect(&mut self, hash: BlockHash) {
        let start = Instant::now();
        let facts = self.server.wait_for_tip(hash);
        self.delays.push(start.elapsed());
        let height = self.node.height();
        assert_eq!(facts.height.map(|height| height.0), Some(height));
        self.pair.block(height, hash);
        self.pair.block(height - 1, self.node.hash_at(height - 1));
    }

    #[track_caller]
    fn done(mut self) {
        self.delays.sort_unstable();
        let (blocks, slowest) = (self.delays.len(), self.delays[self.delays.len() - 1]);
        println!("{blocks} new blocks, noticed after {:?}, the slowest after {slowest:?}", self.delays[blocks / 2]);
        self.pair.done();
    }
}

/// Every kind of script and fee, handed over block by block.
#[test]
fn a_chain_of_everything() {
    let Some(node) = Node::start(&[]) else { return };
    let server = TestServer::start(node.datadir());
    let mut follower = Follower::new(&node, &server);
    for block in &rich().blocks {
        node.submit(block);
        follower.expect(block.block_hash());
    }
    follower.done();
    of_one_mind(&node, &server);
}

/// The coin that a block's coinbase pays to anybody.
fn reward(node: &Node, height: u32) -> Coin {
    let path = format!("/rest/block/{}.bin", node.hash_at(height));
    let block: Block = deserialize(&request(node.address(), "GET", &path, &[]).unwrap().body).unwrap();
    let coinbase = &block.txdata[0];
    let outpoint = OutPoint { txid: coinbase.compute_txid(), vout: 0 };
    Coin { outpoint, value: coinbase.output[0].value, lock: Lock::True }
}

/// A transaction that spends the coin, and another that spends all of its outputs.
fn family(coin: Coin, locks: &[Lock], fee: Amount) -> [Transaction; 2] {
    let (parent, coins) = share(&[coin], locks, fee);
    let (child, _) = share(&coins, &[Lock::True, Lock::Wpkh, Lock::TrKey], fee * 3);
    [parent, child]
}

/// Kinds of scripts that its mempool takes.
const STANDARD: &[Lock] = &[Lock::Pkh, Lock::Wpkh, Lock::ShWpkh, Lock::TrKey, Lock::TrScript, Lock::True];

/// Blocks of the node's own making: its coinbases, its choice from the mempool, its commitments.
#[test]
fn blocks_that_the_node_mines() {
    let Some(node) = Node::start(&[]) else { return };
    let server = TestServer::start(node.datadir());
    node.mine(120, ANYBODY);
    let mut follower = Follower::new(&node, &server);
    for height in 1..=10 {
        let fee = Amount::from_sat(1_000 * u64::from(height * height));
        let coin = reward(&node, height);
        // What it is told to take in it takes without its fees, be it standard or not.
        if height % 2 == 0 {
            let hash = node.mine_these(&family(coin, &Lock::ALL, fee));
            follower.expect(hash);
            continue;
        }
        for tx in &family(coin, STANDARD, fee) {
            node.call("sendrawtransaction", &[json!(serialize_hex(tx)), json!(0)]);
        }
        let hash = node.mine(1, ANYBODY);
        follower.expect(hash);
    }
    for _ in 0..5 {
        let hash = node.mine(1, ANYBODY);
        follower.expect(hash);
    }
    follower.done();
    of_one_mind(&node, &server);
}
