//! A real Bitcoin Core, and the server reading its directory while it runs and grows: the same answers, whatever happens
//! to the node. `BITCOIND_EXE` names it; without it every test says that it was skipped.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "tests: what cannot be is a failure, and helpers are called by tests only"
)]

mod assumeutxo;
mod files;
mod follow;
mod index;
mod record;
mod reorg;

use hindsight_tests::node::Node;
use hindsight_tests::node_judge::Pair;
use hindsight_tests::test_server::TestServer;

/// The server has the node's tip, and says the same of everything.
#[track_caller]
fn of_one_mind(node: &Node, server: &TestServer) {
    of_one_mind_from(0, node, server);
}

/// The same of the blocks from a height on.
#[track_caller]
fn of_one_mind_from(height: u32, node: &Node, server: &TestServer) {
    server.wait_for_tip(node.tip());
    let mut pair = Pair::new(node, server.address);
    pair.chain_from(height);
    pair.done();
}
