//! A second judge for directories that no kernel is running on: the spent outputs as a plain replay of the blocks finds
//! them, with nothing but the `bitcoin` crate.

use std::collections::HashMap;

use bitcoin::consensus::deserialize;
use bitcoin::{Block, Network, OutPoint};

use crate::judge::Expected;
use crate::kernel_chain::SpentCoin;

/// What is true of each block of a whole chain, given from genesis on in the order of heights.
pub fn replay(network: Network, blocks: Vec<Vec<u8>>) -> Vec<Expected> {
    let mut coins: HashMap<OutPoint, SpentCoin> = HashMap::new();
    let mut expected = Vec::new();
    for (bytes, height) in blocks.into_iter().zip(0_u32..) {
        let block: Block = deserialize(&bytes).unwrap();
        let mut spent = Vec::new();
        for (index, tx) in block.txdata.iter().enumerate() {
            if index > 0 {
                spent.push(tx.input.iter().map(|input| coins.remove(&input.previous_output).unwrap()).collect());
            }
            // The first block's coinbase cannot be spent.
            if height > 0 {
                let txid = tx.compute_txid();
                coins.extend(tx.output.iter().zip(0..).map(|(output, vout)| {
                    (OutPoint { txid, vout }, SpentCoin { output: output.clone(), height, coinbase: index == 0 })
                }));
            }
        }
        expected.push(Expected { network, height, bytes, spent, best_chain: true });
    }
    expected
}

/// Blocks as they follow one another, from the one that nothing precedes.
pub fn in_order(blocks: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let mut by_parent: HashMap<Vec<u8>, Vec<u8>> =
        blocks.into_iter().map(|block| (block[4..36].to_vec(), block)).collect();
    let mut ordered = Vec::new();
    let mut parent = vec![0; 32];
    while let Some(block) = by_parent.remove(&parent) {
        parent = bitcoin::consensus::serialize(&crate::core_files::hash_of(&block));
        ordered.push(block);
    }
    ordered
}
