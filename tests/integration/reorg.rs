//! The server follows the node through reorgs, and tells apart what was replaced, what never counted, and what it
//! cannot know.

use std::time::{Duration, Instant};

use bitcoin::consensus::serialize;
use bitcoin::{Amount, Block, BlockHash, Network};
use hindsight_shared::api::HeightFrom;
use hindsight_tests::chain_builder::{share, work};
use hindsight_tests::core_files::{Directory, Records, block_pieces, undo_piece};
use hindsight_tests::judge::{Compared, Expected, compare, is_not_connected};
use hindsight_tests::kernel_chain::KernelChain;
use hindsight_tests::locks::Lock;
use hindsight_tests::scenes::{MATURITY, Scene, with_spends};
use hindsight_tests::test_server::TestServer;

/// The server's tip is the kernel's, and so is every block of the last few, by height and by hash.
#[track_caller]
fn follows(server: &TestServer, kernel: &KernelChain) {
    let (height, hash) = kernel.tip().unwrap();
    let tip = server.wait_for_tip(hash);
    assert_eq!(tip.height.unwrap().0, height);
    assert_eq!(tip.confirmations, 1);
    assert_eq!(tip.next, None);
    let mut compared = Compared::default();
    for back in 0..25 {
        let hash = kernel.hash_at(height - back).unwrap();
        let facts = server.facts(height - back);
        assert_eq!((facts.hash, facts.confirmations), (hash, back + 1));
        assert_eq!(facts.next, back.checked_sub(1).map(|above| kernel.hash_at(height - above).unwrap()));
        compared.add(compare(server, &Expected::of_kernel(kernel, hash)));
    }
}

/// A block that was replaced is still what it was, and says that the best chain goes elsewhere.
#[track_caller]
fn is_stale(server: &TestServer, kernel: &KernelChain, block: &Block) {
    let hash = block.block_hash();
    let facts = server.facts(hash);
    assert_eq!((facts.best_chain, facts.confirmations, facts.next), (false, 0, None));
    assert_eq!(facts.height_from, Some(HeightFrom::Linked));
    assert_ne!(server.facts(facts.height.unwrap()).hash, hash, "by height the best chain's block is meant");
    compare(server, &Expected::of_kernel(kernel, hash));
}

#[test]
fn of_any_depth_there_and_back() {
    for depth in [1, 2, 10] {
        let (kernel, mut scene) = with_spends(30).unwrap();
        let server = TestServer::start(kernel.datadir());
        follows(&server, &kernel);
        let old = scene.blocks.split_off(scene.blocks.len() - depth);
        let mut fork = scene.tip();
        let mut new = Vec::new();
        for _ in 0..=depth {
            let block = scene.builder.mine(fork, Vec::new(), Amount::ZERO);
            fork = block.block_hash();
            new.push(block);
        }
        kernel.extend(&new).unwrap();
        follows(&server, &kernel);
        old.iter().for_each(|block| is_stale(&server, &kernel, block));
        assert_eq!(server.status().tied_with, None);

        // And back: the old branch grows beyond the new one.
        let back = scene.builder.mine_empty(old.last().unwrap().block_hash(), 2);
        kernel.extend(&back).unwrap();
        follows(&server, &kernel);
        new.iter().for_each(|block| is_stale(&server, &kernel, block));

        // A server that opens the directory afterwards sees the same.
        let later = TestServer::start(kernel.datadir());
        follows(&later, &kernel);
        new.iter().for_each(|block| is_stale(&later, &kernel, block));
    }
}

#[test]
fn both_branches_spend_the_same_coins() {
    let (kernel, mut scene) = with_spends(5).unwrap();
    let server = TestServer::start(kernel.datadir());
    let base = scene.tip();
    let coin = scene.take_coinbase();
    let fee = Amount::from_sat(5);
    let (tx, _) = share(&[coin], &[Lock::Wpkh], fee);
    let one = scene.builder.mine(base, vec![tx.clone()], fee);
    kernel.extend(std::slice::from_ref(&one)).unwrap();
    follows(&server, &kernel);
    let mut other = vec![scene.builder.mine(base, vec![tx], fee)];
    other.extend(scene.builder.mine_empty(other[0].block_hash(), 1));
    kernel.extend(&other).unwrap();
    follows(&server, &kernel);
    is_stale(&server, &kernel, &one);
}

/// Twins: the same parent and nothing but coinbases, so that their undo is the same bytes.
#[test]
fn empty_twins() {
    let (kernel, mut scene) = with_spends(1).unwrap();
    let server = TestServer::start(kernel.datadir());
    let base = scene.tip();
    let one = scene.builder.mine_empty(base, 1);
    let two = scene.builder.mine_empty(base, 2);
    kernel.extend(&one).unwrap();
    kernel.extend(&two).unwrap();
    follows(&server, &kernel);
    is_stale(&server, &kernel, &one[0]);
}

#[test]
fn blocks_that_were_never_connected() {
    let (kernel, mut scene) = with_spends(10).unwrap();
    let server = TestServer::start(kernel.datadir());
    // Deep below the tip, so that the node stores it and looks no further.
    let parent = scene.blocks[MATURITY as usize + 4].block_hash();
    let stale = scene.spend_on(parent);
    kernel.submit(&stale).unwrap();
    // Its child, still with less work than the tip.
    let child = scene.builder.mine_empty(stale.block_hash(), 1).remove(0);
    kernel.submit(&child).unwrap();
    // As much work as the tip, but later.
    let rival = scene.spend_on(scene.blocks[scene.blocks.len() - 2].block_hash());
    kernel.submit(&rival).unwrap();
    let last = scene.grow_by_a_spend();
    kernel.submit(&last).unwrap();
    follows(&server, &kernel);
    kernel_files_are_old(&kernel);
    for block in [&stale, &child, &rival] {
        is_not_connected(&server, block);
    }
    assert_eq!(server.status().tied_with, None);
}

/// A block with the most work whose transactions are invalid: stored, since that shows only when it is connected.
#[test]
fn an_invalid_block_with_the_most_work() {
    let (kernel, mut scene) = with_spends(3).unwrap();
    let server = TestServer::start(kernel.datadir());
    let mut invalid = scene.spend_on(scene.tip());
    invalid.txdata[1].output[0].value += Amount::from_sat(1235);
    invalid.txdata[0].output.truncate(1);
    work(&mut invalid);
    kernel.submit(&invalid).unwrap();
    assert_eq!(kernel.tip().unwrap().1, scene.tip());
    hindsight_tests::wait::until_true("the block is known", || {
        server.get(&format!("/api/v1/block/{}", invalid.block_hash())).status == 200
    });
    kernel_files_are_old(&kernel);
    is_not_connected(&server, &invalid);
    follows(&server, &kernel);
}

fn kernel_files_are_old(kernel: &KernelChain) {
    hindsight_tests::core_files::age(&kernel.blocks_dir());
}

/// Two tips with as much work and undo for both, which a node has after `preciousblock` or `invalidateblock`: files of
/// two nodes that saw the one or the other, put together.
#[test]
fn a_tie_is_reported_and_the_undo_written_later_wins() {
    let mut scene = Scene::empty(MATURITY + 4);
    // Coins whose scripts say who can spend them: nothing else tells whose undo is whose, of one parent.
    scene.skip_coinbases(2);
    let common = scene.blocks.clone();
    let rivals = [scene.spend_on(scene.tip()), scene.spend_on(scene.tip())];
    let mut records = Vec::new();
    for rival in &rivals {
        let kernel = KernelChain::new().unwrap();
        kernel.extend(&common).unwrap();
        kernel.extend(std::slice::from_ref(rival)).unwrap();
        records.push(Records::read(&kernel.blocks_dir(), Network::Regtest));
    }
    for later in [0, 1] {
        let directory = Directory::new(Network::Regtest);
        let genesis = [bitcoin::blockdata::constants::genesis_block(Network::Regtest)];
        directory.write("blk", 0, &block_pieces(genesis.iter().chain(&common).chain(&rivals)));
        let mut undos: Vec<_> =
            common.iter().filter_map(|block| records[0].undo(&serialize(block))).map(undo_piece).collect();
        for rival in [1 - later, later] {
            undos.push(undo_piece(records[rival].undo(&serialize(&rivals[rival])).unwrap()));
        }
        directory.write("rev", 0, &undos);
        let server = TestServer::start(directory.datadir());
        let status = server.status();
        let hash = |rival: usize| rivals[rival].block_hash();
        assert_eq!(status.tip.map(|tip| tip.hash), Some(hash(later)));
        assert_eq!(status.tied_with, Some(hash(1 - later)));
        assert!(server.facts(hash(later)).best_chain);
        assert!(!server.facts(hash(1 - later)).best_chain);
    }
}

/// Noticing takes moments, not the next round of a slow poll. The bound is wide for busy machines.
#[test]
fn new_blocks_are_noticed_at_once() {
    let (kernel, mut scene) = with_spends(2).unwrap();
    let server = TestServer::start(kernel.datadir());
    let mut slowest = Duration::ZERO;
    for _ in 0..20 {
        let block = scene.builder.mine(scene.tip(), Vec::new(), Amount::ZERO);
        let hash: BlockHash = block.block_hash();
        kernel.submit(&block).unwrap();
        let start = Instant::now();
        server.wait_for_tip(hash);
        slowest = slowest.max(start.elapsed());
        scene.blocks.push(block);
    }
    println!("the slowest of 20 blocks was noticed after {slowest:?}");
    assert!(slowest < Duration::from_secs(5), "{slowest:?}");
    follows(&server, &kernel);
}

/// A reindex writes all undo anew, in the order of heights, and drops that of stale blocks.
#[test]
fn a_reindex_under_a_running_server() {
    let (mut kernel, mut scene) = with_spends(12).unwrap();
    let server = TestServer::start(kernel.datadir());
    let old = scene.blocks.split_off(scene.blocks.len() - 3);
    let mut new = Vec::new();
    for _ in 0..4 {
        new.push(scene.grow_by_a_spend());
    }
    kernel.extend(&new).unwrap();
    follows(&server, &kernel);
    kernel.reindex().unwrap();
    follows(&server, &kernel);
    let more = scene.grow_by_a_spend();
    kernel.extend(std::slice::from_ref(&more)).unwrap();
    follows(&server, &kernel);
    for block in &old {
        assert!(!server.facts(block.block_hash()).best_chain);
        assert_eq!(server.get_ok(&format!("/rest/block/{}.bin", block.block_hash())), serialize(block));
    }
}
