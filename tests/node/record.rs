//! Writes down what a node answers, for those who have none (`integration/recorded.rs`):
//! `BITCOIND_EXE=… cargo test -p hindsight-tests --test node -- --ignored record`

use hindsight_tests::fixtures;
use hindsight_tests::node::Node;
use hindsight_tests::recording::{Recording, path};
use hindsight_tests::wait::until_true;

fn recording() -> Option<Recording> {
    let fixture = fixtures::regtest();
    let node = Node::start_on(&fixture.blocks_dir())?;
    until_true("all blocks have been read", || node.height() == 206);
    Some(Recording::of(&node))
}

#[test]
#[ignore = "writes a fixture; not a check"]
fn record() {
    let Some(recording) = recording() else { return };
    recording.write(&path()).unwrap();
    println!("{}: {} answers and {} blocks recorded", recording.source, recording.answers.len(), recording.stats.len());
}

/// The node at hand still answers what is written down.
#[test]
fn the_recording_is_what_this_node_says() {
    let (Some(now), then) = (recording(), Recording::read(&path()).unwrap()) else { return };
    if now.source != then.source {
        println!("{} is held against a recording of {}", now.source, then.source);
    }
    assert_eq!(now.answers.len(), then.answers.len());
    for (now, then) in now.answers.iter().zip(&then.answers) {
        assert_eq!(now, then);
    }
    assert_eq!(now.stats, then.stats);
}
