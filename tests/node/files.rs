//! What a node can do to its files while the server reads them: prune, reindex, leave them plain, spread them over many,
//! lose what it had not flushed.

use std::fs;
use std::ops::RangeInclusive;

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

/// Prunes up to about a height, and waits until the server has noticed; the highest block that is gone.
#[track_caller]
fn prune(node: &Node, server: &TestServer, to: u32) -> u32 {
    let files = block_files(node);
    let pruned = node.call("pruneblockchain", &[json!(to)]).as_u64().unwrap() as u32;
    println!("{files} block files, {} after pruning up to height {pruned}", block_files(node));
    assert!(pruned > 100 && block_files(node) < files);
    let gone = node.hash_at(pruned);
    until_true("the server has noticed", || server.get(&format!("/api/v1/block/{gone}/payload")).status == 410);
    pruned
}

/// A server that has seen all blocks still knows what the node still knows of those that are gone.
#[track_caller]
fn agree_on(heights: RangeInclusive<u32>, pruned: u32, node: &Node, server: &TestServer) {
    server.wait_for_tip(node.tip());
    let mut pair = Pair::new(node, server.address);
    for height in heights {
        let hash = node.hash_at(height);
        if height > pruned {
            pair.block(height, hash);
        } else {
            pair.pruned_or_not(hash);
            pair.header(height, hash);
        }
    }
    pair.bad();
    pair.done();
}

/// Blocks that are pruned later are not asked for before: what is in memory is served on.
#[test]
fn pruned_under_a_reader() {
    let flags = ["-prune=1", "-fastprune"];
    let Some(mut node) = Node::start(&flags) else { return };
    let server = TestServer::start(node.datadir());
    server.wait_for_tip(mine_many(&node, 900));
    let pruned = prune(&node, &server, 500);
    agree_on(0..=pruned + 20, pruned, &node, &server);
    agree_on(850..=900, pruned, &node, &server);
    // The node goes on, and prunes again.
    mine_many(&node, 300);
    agree_on(900..=1200, pruned, &node, &server);
    let pruned = prune(&node, &server, 800);
    agree_on(pruned - 100..=pruned + 50, pruned, &node, &server);
    node.restart(&flags);
    node.mine(5, ANYBODY);
    agree_on(pruned - 20..=1205, pruned, &node, &server);
    seen_for_the_first_time(pruned, &node);
}

/// A server that comes after the pruning: of blocks that are gone it knows nothing but that genesis spends nothing, and of
/// those above nothing that takes their ancestors (median time, chain work).
fn seen_for_the_first_time(pruned: u32, node: &Node) {
    let server = TestServer::start(node.datadir());
    server.wait_for_tip(node.tip());
    let mut pair = Pair::new(node, server.address);
    let genesis = node.hash_at(0);
    pair.ask("GET", &["bin", "hex"].map(|suffix| format!("/rest/spenttxouts/{genesis}.{suffix}")));
    for (height, hash) in node.chain_from(pruned - 20) {
        if height > pruned + 10 {
            pair.body_and_stats(hash);
        } else if height > pruned {
            pair.body(hash);
        } else {
            assert_eq!(server.get(&format!("/rest/block/{hash}.bin")).status, 404);
        }
        if height > pruned {
            let number = ["bin", "hex", "json"].map(|suffix| format!("/rest/blockhashbyheight/{height}.{suffix}"));
            pair.ask("GET", &number);
            pair.ask("GET", &["bin", "hex"].map(|suffix| format!("/rest/headers/{hash}.{suffix}")));
        }
    }
    pair.done();
    // It goes on from there.
    node.mine(3, ANYBODY);
    server.wait_for_tip(node.tip());
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
        assert!(node.height() < 57, "nothing was lost, so nothing is written over");
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
