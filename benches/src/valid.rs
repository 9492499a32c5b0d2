//! A chain that a node accepts whole, with full blocks at its end: what Bitcoin Core and Hindsight can serve alike.
//!
//! Every output may be spent by anyone who shows a script that drops two items. The two stand for a signature and a key,
//! so that blocks have the shape of today's without anything being signed.

use bitcoin::blockdata::constants::{COINBASE_MATURITY, genesis_block};
use bitcoin::locktime::absolute::LockTime;
use bitcoin::opcodes::all::{OP_2DROP, OP_PUSHNUM_1};
use bitcoin::script::Builder;
use bitcoin::{Amount, Block, Network, OutPoint, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Witness, transaction};

use crate::synthetic::{FULL, Random, coinbase, commit, header, mine};

/// What each transaction leaves to the miner.
const FEE: Amount = Amount::from_sat(1_000);
/// Enough coins for a full block of transactions with one input and two outputs each.
const COINS: u64 = 7_000;

/// Regtest's first block, as many as a coinbase takes to mature, one that splits the first coinbase, and `full` full
/// ones.
#[must_use]
pub fn blocks(full: u32) -> Vec<Block> {
    let mut blocks = vec![genesis_block(Network::Regtest)];
    for _ in 0..=COINBASE_MATURITY {
        blocks.push(next(&blocks, Vec::new()));
    }
    let mut random = Random(1);
    let reward = &blocks[1].txdata[0];
    let first = (OutPoint { txid: reward.compute_txid(), vout: 0 }, reward.output[0].value);
    let split = spend(&mut random, first, COINS);
    let mut coins = coins(&split);
    blocks.push(next(&blocks, vec![split]));
    for _ in 0..full {
        let mut weight = 0;
        let mut txs = Vec::new();
        while weight < FULL {
            let tx = spend(&mut random, coins[txs.len()], 2);
            weight += tx.weight().to_wu();
            txs.push(tx);
        }
        coins = txs.iter().flat_map(self::coins).collect();
        blocks.push(next(&blocks, txs));
    }
    blocks
}

/// A block on the last one, which is as high as there are blocks.
fn next(blocks: &[Block], txs: Vec<Transaction>) -> Block {
    let height = u32::try_from(blocks.len()).unwrap();
    let fees = FEE * txs.len() as u64;
    let txdata = [vec![coinbase(height, fees, unlocker().to_p2wsh())], txs].concat();
    let mut block = Block { header: header(blocks[blocks.len() - 1].block_hash(), height), txdata };
    commit(&mut block);
    mine(&mut block.header);
    block
}

fn unlocker() -> ScriptBuf {
    Builder::new().push_opcode(OP_2DROP).push_opcode(OP_PUSHNUM_1).into_script()
}

/// Spends one coin into `outputs` equal ones.
fn spend(random: &mut Random, (previous_output, value): (OutPoint, Amount), outputs: u64) -> Transaction {
    let (signature, key) = (random.array::<71>(), random.array::<33>());
    let witness = Witness::from_slice(&[&signature[..], &key, unlocker().as_bytes()]);
    let input = TxIn { previous_output, script_sig: ScriptBuf::new(), sequence: Sequence::MAX, witness };
    let each = (value - FEE) / outputs;
    let rest = value - FEE - each * (outputs - 1);
    let values = (0..outputs).map(|index| if index == 0 { rest } else { each });
    let output = values.map(|value| TxOut { value, script_pubkey: unlocker().to_p2wsh() }).collect();
    Transaction { version: transaction::Version::TWO, lock_time: LockTime::ZERO, input: vec![input], output }
}

fn coins(tx: &Transaction) -> Vec<(OutPoint, Amount)> {
    let txid = tx.compute_txid();
    (0..).zip(&tx.output).map(|(vout, output)| (OutPoint { txid, vout }, output.value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What can be told without a node; the node itself tells the rest where it is loaded.
    #[test]
    fn full_blocks_are_full_and_whole() {
        let blocks = blocks(2);
        for (block, parent) in blocks.iter().skip(1).zip(&blocks) {
            assert_eq!(block.header.prev_blockhash, parent.block_hash());
            assert!(block.check_merkle_root() && block.check_witness_commitment());
            assert!(block.header.validate_pow(block.header.target()).is_ok());
        }
        for full in blocks.iter().rev().take(2) {
            assert!((FULL..4_000_000).contains(&full.weight().to_wu()));
        }
    }
}
