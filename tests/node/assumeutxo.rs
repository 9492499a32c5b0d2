//! A node that starts from a snapshot of the unspent outputs (assumeutxo): it writes blocks above the snapshot to files of
//! their own, while those below it come in behind, and for a long time it has two ends and a gap.
//!
//! Core takes such snapshots only of chains whose hash is written into it. Of regtest's three the one at height 200 is of
//! a chain that anybody can make: no mempool, no keys, no clock.

use std::path::Path;

use bitcoin::absolute::LockTime;
use bitcoin::block::{Header, Version};
use bitcoin::consensus::encode::{deserialize_hex, serialize_hex};
use bitcoin::hashes::Hash;
use bitcoin::script::Builder;
use bitcoin::{
    Amount, Block, BlockHash, Network, OutPoint, Sequence, Transaction, TxIn, TxMerkleNode, TxOut, Witness,
    blockdata::constants::genesis_block, opcodes::OP_0, transaction,
};
use hindsight_shared::Height;
use hindsight_shared::api::{HeightFrom, HeightRange};
use hindsight_tests::chain_builder::{Coin, share, subsidy, work};
use hindsight_tests::locks::Lock;
use hindsight_tests::node::{ANYBODY, Node};
use hindsight_tests::node_judge::Pair;
use hindsight_tests::test_server::TestServer;
use hindsight_tests::wait::until_true;
use serde_json::json;

use super::of_one_mind;

/// The snapshot's height, and the hash that its last block must have (`src/kernel/chainparams.cpp`).
const BASE: (u32, &str) = (200, "385901ccbd69dff6bbd00065d01fb8a9e464dede7cfe0372443884f9b1dcf6b9");

/// How far the blocks below the snapshot have come in at half time.
const HALF: u32 = 100;

/// How many there are above it.
const ABOVE: u32 = 16;

/// The chain up to the snapshot, as the test that it is meant for makes it (`CreateBlockChain` in
/// `src/test/util/mining.cpp`).
fn chain() -> Vec<Block> {
    let mut blocks = vec![genesis_block(Network::Regtest)];
    for height in 1..=BASE.0 {
        let parent = &blocks[blocks.len() - 1].header;
        let coinbase = Transaction {
            version: transaction::Version::TWO,
            lock_time: LockTime::from_consensus(height - 1),
            input: vec![TxIn {
                previous_output: OutPoint::null(),
                script_sig: Builder::new().push_int(height.into()).push_opcode(OP_0).into_script(),
                sequence: Sequence::ENABLE_LOCKTIME_NO_RBF,
                witness: Witness::new(),
            }],
            output: vec![TxOut { value: subsidy(height), script_pubkey: Lock::WshTrue.script() }],
        };
        let header = Header {
            version: Version::from_consensus(4),
            prev_blockhash: parent.block_hash(),
            merkle_root: TxMerkleNode::all_zeros(),
            time: parent.time + 1,
            nonce: 0,
            ..*parent
        };
        let mut block = Block { header, txdata: vec![coinbase] };
        work(&mut block);
        blocks.push(block);
    }
    assert_eq!(blocks[blocks.len() - 1].block_hash().to_string(), BASE.1, "not the chain that Core knows");
    blocks
}

/// A node that has all blocks, also some above the snapshot, and the snapshot that it wrote.
fn giver(chain: &[Block], snapshot: &Path) -> Option<Node> {
    let node = Node::start(&[])?;
    chain[1..].iter().for_each(|block| node.submit(block));
    node.call("dumptxoutset", &[json!(snapshot), json!("latest")]);
    for block in &chain[1..=ABOVE as usize] {
        let coinbase = &block.txdata[0];
        let outpoint = OutPoint { txid: coinbase.compute_txid(), vout: 0 };
        let coin = Coin { outpoint, value: coinbase.output[0].value, lock: Lock::WshTrue };
        node.mine_these(&[share(&[coin], &[Lock::Wpkh, Lock::TrKey, Lock::True], Amount::from_sat(9_000)).0]);
    }
    Some(node)
}

/// Hands blocks over that need not become the tip.
fn submit(node: &Node, blocks: &[Block]) {
    for block in blocks {
        let answer = node.call("submitblock", &[json!(serialize_hex(block))]);
        assert!(answer.is_null() || answer == "inconclusive", "{answer}");
    }
}

fn range(from: u32, to: u32) -> HeightRange {
    HeightRange { from: Height(from), to: Height(to) }
}

#[test]
fn a_node_that_starts_from_a_snapshot() {
    let dir = tempfile::tempdir().unwrap();
    let (chain, snapshot) = (chain(), dir.path().join("snapshot"));
    let Some(giver) = giver(&chain, &snapshot) else { return };
    let Some(mut node) = Node::start(&[]) else { return };
    let server = TestServer::start(node.datadir());
    for block in &chain[1..] {
        node.call("submitheader", &[json!(serialize_hex(&block.header))]);
    }
    node.call("loadtxoutset", &[json!(snapshot)]);
    assert_eq!(node.height(), BASE.0);
    // Of the snapshot nothing is in the block files.
    assert_eq!(server.status().ranges, [range(0, 0)]);
    for (_, hash) in giver.chain_from(BASE.0 + 1) {
        let block = giver.call("getblock", &[json!(hash), json!(0)]);
        node.submit(&deserialize_hex(block.as_str().unwrap()).unwrap());
    }
    server.wait_for_tip(node.tip());
    submit(&node, &chain[1..=HALF as usize]);
    let half = [range(0, HALF), range(BASE.0 + 1, BASE.0 + ABOVE)];
    until_true("the lower blocks are there", || server.status().ranges == half);
    half_way(&node, &server);
    half_way(&node, &TestServer::start(node.datadir()));
    // Restarted it goes on where it was, and so does the server.
    node.restart(&[]);
    half_way(&node, &server);

    submit(&node, &chain[HALF as usize + 1..]);
    until_true("the gap has closed", || server.status().ranges == [range(0, BASE.0 + ABOVE)]);
    of_one_mind(&node, &server);
    // At the next start it tidies up, and is a node like any other.
    node.restart(&[]);
    node.mine(2, ANYBODY);
    of_one_mind(&node, &server);
    of_one_mind(&node, &TestServer::start(node.datadir()));
}

/// What both have is the same. Headers in the gap Core knows without their blocks; files do not show them, and what takes
/// them (median time, chain work) is left out.
fn half_way(node: &Node, server: &TestServer) {
    let tip = BASE.0 + ABOVE;
    assert_eq!(server.wait_for_tip(node.tip()).height, Some(Height(tip)));
    assert_eq!(server.facts(BASE.0 + 1).height_from, Some(HeightFrom::Bip34));
    assert_eq!(server.facts(HALF).height_from, Some(HeightFrom::Linked));
    let mut pair = Pair::new(node, server.address);
    for height in 0..=tip {
        let hash: BlockHash = node.hash_at(height);
        // Twelve headers are asked for, of which each names the next; eleven make a median.
        if height + 12 <= HALF {
            pair.block(height, hash);
        } else if height <= HALF || height > BASE.0 + 10 {
            pair.body_and_stats(hash);
        } else if height > BASE.0 {
            pair.body(hash);
        } else {
            assert_eq!(server.get(&format!("/rest/block/{hash}.bin")).status, 404);
        }
    }
    pair.done();
}
