//! Blocks that the node is told to reject and to take back: files show it as soon as there is something new in them.

use bitcoin::BlockHash;
use hindsight_tests::node::{ANYBODY, Node};
use hindsight_tests::node_judge::Pair;
use hindsight_tests::test_server::TestServer;
use hindsight_tests::wait::until_true;
use serde_json::json;

use super::of_one_mind;

fn invalidate(node: &Node, hash: BlockHash) {
    node.call("invalidateblock", &[json!(hash)]);
}

fn reconsider(node: &Node, hash: BlockHash) {
    node.call("reconsiderblock", &[json!(hash)]);
}

fn tip(server: &TestServer) -> BlockHash {
    server.tip().unwrap().hash
}

#[test]
fn none_one_and_two_blocks_after_invalidateblock() {
    let Some(node) = Node::start(&[]) else { return };
    let server = TestServer::start(node.datadir());
    let old = node.mine(30, ANYBODY);
    server.wait_for_tip(old);
    let other = node.descriptor("raw(5151)");

    invalidate(&node, old);
    assert_ne!(node.tip(), old);
    // Nothing in the files says so, and the server says that it cannot know.
    assert_eq!(tip(&server), old);
    let status = server.status();
    assert!(status.unknown.iter().any(|unknown| unknown.contains("invalidateblock")), "{:?}", status.unknown);

    let one = node.mine(1, &other);
    until_true("the tie is reported", || server.status().tied_with.is_some());
    let status = server.status();
    assert_eq!((status.tip.unwrap().hash, status.tied_with), (one, Some(old)));

    let two = node.mine(1, &other);
    server.wait_for_tip(two);
    assert_eq!(server.status().tied_with, None);
    assert!(!server.facts(old).best_chain);
    of_one_mind(&node, &server);
    let mut pair = Pair::new(&node, server.address);
    pair.stale(old);
    pair.done();

    // Reconsidered it has less work than the tip: nothing changes anywhere.
    reconsider(&node, old);
    assert_eq!((node.tip(), tip(&server)), (two, two));

    // Its branch grows beyond the other one, which the node is told to reject.
    invalidate(&node, one);
    assert_eq!((node.tip(), tip(&server)), (old, two));
    let back = node.mine(2, ANYBODY);
    server.wait_for_tip(back);
    reconsider(&node, one);
    of_one_mind(&node, &server);
    let mut pair = Pair::new(&node, server.address);
    [one, two].into_iter().for_each(|hash| pair.stale(hash));
    pair.done();
}

/// The node goes back ten blocks, stays behind for a while, and returns: the server, which saw the most work all the
/// time, is right again without having moved.
#[test]
fn a_node_that_goes_back_and_returns() {
    let Some(node) = Node::start(&[]) else { return };
    let server = TestServer::start(node.datadir());
    let top = node.mine(40, ANYBODY);
    server.wait_for_tip(top);
    let rejected = node.hash_at(31);
    invalidate(&node, rejected);
    let other = node.descriptor("raw(5151)");
    let behind = node.mine(3, &other);
    until_true("the new branch is known", || server.get(&format!("/api/v1/block/{behind}")).status == 200);
    assert_eq!(tip(&server), top);
    assert!(!server.facts(behind).best_chain);
    reconsider(&node, rejected);
    assert_eq!(node.tip(), top);
    of_one_mind(&node, &server);

    // And back on the other branch, now for good.
    invalidate(&node, rejected);
    let beyond = node.mine(8, &other);
    server.wait_for_tip(beyond);
    of_one_mind(&node, &server);
    // A server that opens the directory afterwards sees the same.
    of_one_mind(&node, &TestServer::start(node.datadir()));
}
