//! The heavy ones among the chains that are compared after each block.

use bitcoin::{Amount, Block, BlockHash};
use hindsight_tests::differential::Differential;
use hindsight_tests::oddities;
use hindsight_tests::scenes::{MATURITY, Scene};
use hindsight_tests::showcase::{archive, showcase};

/// A hundred blocks replaced by a hundred and one, and those by the first again, which have grown by two.
#[test]
fn a_reorg_of_a_hundred_blocks_there_and_back() {
    let mut scene = Scene::empty(2 * MATURITY);
    let mut both = Differential::regtest();
    both.submit_at_once(&scene.blocks);
    let fork = scene.tip();
    let old = branch(&mut scene, fork, 50);
    let old = [old.clone(), scene.builder.mine_empty(old[49].block_hash(), 50)].concat();
    both.submit(&old);
    let new = branch(&mut scene, fork, 40);
    let new = [new.clone(), scene.builder.mine_empty(new[39].block_hash(), 61)].concat();
    both.submit(&new);
    assert_eq!(both.kernel.tip().unwrap().1, new[100].block_hash());
    let back = scene.builder.mine_empty(old[99].block_hash(), 2);
    both.submit(&back);
    assert_eq!(both.kernel.tip().unwrap().1, back[1].block_hash());
    both.finish(MATURITY);
}

/// Blocks on a parent that spend a coinbase each.
fn branch(scene: &mut Scene, mut parent: BlockHash, count: usize) -> Vec<Block> {
    let mut blocks = Vec::new();
    for _ in 0..count {
        let block = scene.spend_on(parent);
        parent = block.block_hash();
        blocks.push(block);
    }
    blocks
}

/// Six thousand transactions with a signature each, in four million weight units; and one with tens of thousands of
/// outputs, and back.
#[test]
fn full_blocks() {
    let mut scene = oddities::ground();
    let from = scene.blocks.len();
    let mut both = Differential::regtest();
    both.submit_at_once(&scene.blocks);
    oddities::full_block(&mut scene, 6_000);
    oddities::fan(&mut scene, 18_000);
    both.submit(&scene.blocks[from..]);
    let full = &scene.blocks[from + 1];
    assert_eq!((full.txdata.len(), full.weight().to_wu() > 3_999_996), (6_001, true));
    scene.push(Vec::new(), Amount::ZERO);
    both.submit(&scene.blocks[from + 4..]);
    both.finish(from as u32);
}

/// What the program carries is what its generator makes, to the last byte. Packing takes minutes: not for a share of the
/// trials.
#[test]
fn the_showcase_is_made_the_same_again() {
    if crate::trials(20) < 20 {
        println!("skipped: only the whole of the trials makes the showcase");
        return;
    }
    let carried = concat!(env!("CARGO_MANIFEST_DIR"), "/../backend/assets/showcase.tar.zst");
    let carried = std::fs::read(carried).unwrap();
    let made = archive(&showcase()).unwrap();
    assert!(
        made == carried,
        "{} bytes are made, {} are carried: run `cargo xtask showcase`",
        made.len(),
        carried.len()
    );
}
