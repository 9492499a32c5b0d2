//! What a node can do to its files while the server reads them: prune, reindex, leave them plain, spread them over many,
//! lose what it had not flushed.

use std::fs;

use bitcoin::BlockHash;
use hindsight_tests::core_files::age;
use hindsight_tests::node::{ANYBODY, Node};
use hindsight_tests::node_judge::Pair;
use hindsight_tests::test_server::TestServer;
use hindsight_tests::wait::{until, until_true};
use serde_json::json;

use super::{of_one_mind, of_one_mind_from};

/// Block files that there are.
fn block_files(node: &Node) -> usize {
    let entries =
        fs::read_dir(node.blocks_dir()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    entries.filter(|name| name.starts_with("blk")).count()
}

/// Mines so much that 64 KiB files are many.
fn mine_many(node: &Node, blocks: u32) -> BlockHash {
    (0..blocks / 100).map(|_| node.mine(100, ANYBODY)).last().unwrap()
}

#[test]
fn pruned_under_a_reader() {
    let Some(node) = Node::start(&["-prune=1", "-fastprune"]) else { return };
    let server = TestServer::start(node.datadir());
    server.wait_for_tip(mine_many(&node, 1300));
    let files = block_files(&node);
    let chain = node.chain_from(0);
    let pruned = node.call("pruneblockchain", &[json!(900)]).as_u64().unwrap() as u32;
    println!("{files} block files, {} after pruning up to height {pruned}", block_files(&node));
    assert!(pruned > 100 && block_files(&node) < files);
    until_true("the server has noticed", || {
        let gone = &chain[pruned as usize].1;
        server.get(&format!("/api/v1/block/{gone}/payload")).status == 410
    });
    let mut pair = Pair::new(&node, server.address);
    // Of genesis Core knows without its file that nothing is spent.
    for &(height, hash) in &chain[1..] {
        if height > pruned {
            pair.block(height, hash);
            continue;
        }
        pair.pruned_or_not(hash);
        // The server has seen the block, and still knows what the node still knows.
        pair.header(height, hash);
    }
    pair.bad();
    pair.done();
}

#[test]
fn plain_files_and_many_of_them() {
    let Some(node) = Node::start(&["-blocksxor=0", "-fastprune"]) else { return };
    let server = TestServer::start(node.datadir());
    server.wait_for_tip(mine_many(&node, 300));
    assert_eq!(fs::read(node.blocks_dir().join("xor.dat")).unwrap_or(vec![0; 8]), [0; 8]);
    assert!(block_files(&node) > 1);
    of_one_mind(&node, &server);
}

#[test]
fn reindexed_and_stopped_under_a_reader() {
    let Some(mut node) = Node::start(&["-fastprune"]) else { return };
    let server = TestServer::start(node.datadir());
    mine_many(&node, 300);
    let stale = node.mine(2, ANYBODY);
    node.call("invalidateblock", &[json!(node.hash_at(301))]);
    let other = node.descriptor("raw(5151)");
    let tip = node.mine(4, &other);
    server.wait_for_tip(tip);
    for flags in [&["-fastprune"][..], &["-fastprune", "-reindex"], &["-fastprune", "-reindex-chainstate"]] {
        node.restart(flags);
        until_true("the node has its chain again", || node.tip() == tip);
        of_one_mind_from(270, &node, &server);
    }
    // The reindex forgot the undo of stale blocks. What was written in the last minute might still come.
    age(&node.blocks_dir());
    let mut pair = Pair::new(&node, server.address);
    pair.pruned_or_not(stale);
    pair.done();
    server.wait_for_tip(node.mine(3, ANYBODY));
    of_one_mind(&node, &server);
    of_one_mind_from(270, &node, &TestServer::start(node.datadir()));
}

/// What the node had not flushed it writes over after its next start, first with blocks as long as those before, then
/// with longer ones.
#[test]
fn killed_under_a_reader() {
    for descriptor in ["raw(51)", "raw(5151515151515151)"] {
        let Some(mut node) = Node::start(&[]) else { return };
        let server = TestServer::start(node.datadir());
        node.mine(50, ANYBODY);
        // It writes all that it has.
        node.call("gettxoutsetinfo", &[json!("none")]);
        let lost = node.mine(7, ANYBODY);
        server.wait_for_tip(lost);
        node.kill();
        assert_eq!(server.tip().unwrap().hash, lost);
        node.revive(&[]);
        println!("the node lost {} blocks by the kill", 57 - node.height());
        // It does not know the lost blocks, and the files still have them.
        let other = node.descriptor(descriptor);
        let more = 57 - node.height() + 1;
        let tip = node.mine(more, &other);
        server.wait_for_tip(tip);
        let status = until("nothing is tied", || Some(server.status()).filter(|status| status.tied_with.is_none()));
        assert!(status.progress.complete);
        of_one_mind(&node, &server);
        of_one_mind(&node, &TestServer::start(node.datadir()));
    }
}
