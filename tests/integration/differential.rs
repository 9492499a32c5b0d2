//! Core's kernel and the server side by side, compared after each block, on everything that a node can have written.

use bitcoin::hashes::{Hash, sha256d};
use bitcoin::p2p::Magic;
use bitcoin::{Amount, Network};
use hindsight_tests::chain_builder::{ChainBuilder, share};
use hindsight_tests::differential::Differential;
use hindsight_tests::kernel_chain::KernelChain;
use hindsight_tests::locks::Lock;
use hindsight_tests::oddities::{self, MOST_SIGOPS};
use hindsight_tests::scenes::{MATURITY, Scene};
use hindsight_tests::signet;
use hindsight_tests::test_server::Setup;

/// A scene that a node has up to its tip, with every block of it compared once.
fn both(scene: &Scene) -> Differential {
    let mut both = Differential::regtest();
    both.submit_at_once(&scene.blocks);
    both
}

/// What a scene has grown by, block by block.
#[track_caller]
fn grow(both: &mut Differential, scene: &mut Scene, grow: impl Fn(&mut Scene)) {
    let before = scene.blocks.len();
    grow(scene);
    both.submit(&scene.blocks[before..]);
}

#[test]
fn scripts_and_locks_of_every_shape() {
    let mut scene = oddities::ground();
    let from = scene.blocks.len() as u32;
    let mut both = both(&scene);
    grow(&mut both, &mut scene, oddities::scripts);
    grow(&mut both, &mut scene, oddities::locktimes);
    grow(&mut both, &mut scene, |scene| oddities::family_line(scene, 25));
    grow(&mut both, &mut scene, |scene| oddities::fan(scene, 1_200));
    grow(&mut both, &mut scene, oddities::sigops);
    let costliest = both.server().get(&format!("/api/v1/block/{}/stats", scene.tip())).json::<serde_json::Value>();
    let cost = costliest["content"]["sigop_cost"].as_u64().unwrap() as usize;
    assert!(cost > MOST_SIGOPS - 4 && cost <= MOST_SIGOPS, "{cost}");
    // 7 + 25 + 1,200 + 5 locked or open scripts, and the coinbases that they come from.
    let counts = both.finish(from);
    assert!(counts.blocks.prevouts > 2 * 1_237, "{counts:?}");
}

#[test]
fn a_block_that_is_full_to_the_last_byte() {
    let mut scene = oddities::ground();
    let from = scene.blocks.len() as u32;
    let mut both = both(&scene);
    grow(&mut both, &mut scene, |scene| oddities::full_block(scene, 300));
    assert!(scene.blocks.last().unwrap().weight().to_wu() > 3_999_996);
    both.finish(from);
}

#[test]
fn times_that_go_backwards() {
    let mut builder = ChainBuilder::new();
    builder.clock = oddities::backwards;
    let mut scene = Scene::on(builder, 30);
    let mut both = Differential::regtest();
    both.submit(&scene.blocks);
    assert!(scene.blocks.windows(2).any(|pair| pair[0].header.time > pair[1].header.time));
    grow(&mut both, &mut scene, |scene| scene.push(Vec::new(), Amount::ZERO));
    both.finish(0);
}

#[test]
fn reorgs_with_spends_compared_at_every_block() {
    let mut scene = oddities::ground();
    let from = scene.blocks.len() as u32;
    let mut both = both(&scene);
    let fork = scene.tip();
    let mut branches = [(fork, Vec::new()), (fork, Vec::new())];
    // Each branch overtakes the other again and again, by one block at first and by five at last.
    for (turn, count) in [1_usize, 2, 2, 3, 5].into_iter().enumerate() {
        let (tip, branch) = &mut branches[turn % 2];
        for _ in 0..count {
            let block = scene.spend_on(*tip);
            *tip = block.block_hash();
            branch.push(block.clone());
            both.submit(&[block]);
        }
    }
    assert_eq!(both.kernel.tip().unwrap().1, branches[0].0);
    both.finish(from);
}

#[test]
fn what_breaks_a_rule_is_never_connected_or_not_even_there() {
    let mut scene = oddities::ground();
    let from = scene.blocks.len() as u32;
    let mut both = both(&scene);
    let invalid = oddities::stored_and_invalid(&mut scene);
    for (what, block) in &invalid {
        println!("a block that {what}");
        both.submit_unconnected(block);
    }
    for (what, block) in &oddities::not_even_stored(&mut scene) {
        println!("a block that {what}");
        both.refuse(block);
    }
    grow(&mut both, &mut scene, |scene| drop(scene.grow_by_a_spend()));
    // Valid, and of too little work to be looked at.
    let stale = scene.spend_on(scene.blocks[MATURITY as usize + 20].block_hash());
    both.submit_unconnected(&stale);
    both.submit_unconnected(&scene.builder.mine_empty(stale.block_hash(), 1)[0]);
    grow(&mut both, &mut scene, |scene| drop(scene.grow_by_a_spend()));
    let counts = both.finish(from);
    assert_eq!(counts.never_connected, 2 * (invalid.len() as u64 + 2));
}

/// Every block carries a signature over itself (BIP325), and the magic is a hash of the challenge.
#[test]
fn a_custom_signet() {
    let challenge = signet::challenge();
    let magic = Magic::from_bytes(
        sha256d::Hash::hash(&bitcoin::consensus::serialize(&challenge)).to_byte_array()[..4].try_into().unwrap(),
    );
    let kernel = KernelChain::signet(&challenge).unwrap();
    let setup = Setup::new(kernel.datadir()).signet(challenge);
    let mut scene = Scene::on(ChainBuilder::signet(), MATURITY + 1);
    let mut both = Differential::of(kernel, setup, magic);
    both.submit_at_once(&scene.blocks);
    let fee = Amount::from_sat(300);
    grow(&mut both, &mut scene, |scene| {
        let (tx, coins) = share(&[scene.take_coinbase()], &Lock::ALL, fee);
        let (other, _) = share(&coins, &Lock::ALL, fee);
        scene.push(vec![tx, other], fee * 2);
    });
    let searched = scene.blocks.iter().zip(1..).filter(|(block, height)| block.header.nonce != signet::nonce(*height));
    let searched = searched.count();
    if searched > 0 {
        println!("{searched} nonces did not fit; write these to tests/fixtures/signet-nonces.txt:");
        scene.blocks.iter().for_each(|block| println!("{}", block.header.nonce));
    }
    assert_eq!(both.kernel.network(), Network::Signet);
    let counts = both.finish(0);
    assert_eq!(counts.blocks.prevouts, 2 * (1 + Lock::ALL.len() as u64));
}
