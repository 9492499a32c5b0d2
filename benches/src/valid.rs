//! A chain that a node accepts whole, with full blocks at its end: what Bitcoin Core and Hindsight can serve alike.
//!
//! Every output may be spent by anyone who shows a script that drops two items. The two stand for a signature and a key,
//! so that blocks have the shape of today's without anything being signed. Each script has a number in it: four outputs in
//! ten are to a new one, as on mainnet, the others to one of before.

use bitcoin::blockdata::constants::{COINBASE_MATURITY, genesis_block};
use bitcoin::locktime::absolute::LockTime;
use bitcoin::opcodes::all::{OP_2DROP, OP_DROP, OP_PUSHNUM_1};
use bitcoin::script::Builder;
use bitcoin::{Amount, Block, Network, OutPoint, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Witness, transaction};

use crate::synthetic::{FULL, Random, coinbase, commit, header, mine};

/// What each transaction leaves to the miner.
const FEE: Amount = Amount::from_sat(300);
/// What the second output of each gets, which nobody spends: coins last for a thousand full blocks.
const SECOND: Amount = Amount::from_sat(330);
/// Enough coins for a full block of transactions with one input and two outputs each.
const COINS: u64 = 7_000;

/// Of a hundred outputs, those to a script that nobody had used.
const NEW: u64 = 42;

/// An output, and the number in its script.
#[derive(Clone, Copy)]
struct Coin {
    outpoint: OutPoint,
    value: Amount,
    script: u64,
}

/// What makes transactions: chance, and how many scripts there are.
struct Payer {
    random: Random,
    scripts: u64,
}

/// Regtest's first block, as many as a coinbase takes to mature, one that splits the first coinbase, and `full` full
/// ones.
#[must_use]
pub fn blocks(full: u32) -> Vec<Block> {
    let mut blocks = vec![genesis_block(Network::Regtest)];
    for _ in 0..=COINBASE_MATURITY {
        blocks.push(next(&blocks, Vec::new()));
    }
    let mut payer = Payer { random: Random(1), scripts: 1 };
    let reward = &blocks[1].txdata[0];
    let outpoint = OutPoint { txid: reward.compute_txid(), vout: 0 };
    let reward = Coin { outpoint, value: reward.output[0].value, script: 0 };
    let (split, mut coins) = payer.spend(reward, COINS, (reward.value - FEE) / COINS);
    blocks.push(next(&blocks, vec![split]));
    for _ in 0..full {
        let mut weight = 0;
        let (mut txs, mut made) = (Vec::new(), Vec::new());
        while weight < FULL {
            let (tx, coins) = payer.spend(coins[txs.len()], 2, SECOND);
            weight += tx.weight().to_wu();
            txs.push(tx);
            made.push(coins[0]);
        }
        coins = made;
        blocks.push(next(&blocks, txs));
    }
    blocks
}

/// A block on the last one, which is as high as there are blocks.
fn next(blocks: &[Block], txs: Vec<Transaction>) -> Block {
    let height = u32::try_from(blocks.len()).unwrap();
    let fees = FEE * txs.len() as u64;
    let txdata = [vec![coinbase(height, fees, unlocker(0).to_p2wsh())], txs].concat();
    let mut block = Block { header: header(blocks[blocks.len() - 1].block_hash(), height), txdata };
    commit(&mut block);
    mine(&mut block.header);
    block
}

fn unlocker(script: u64) -> ScriptBuf {
    let number = Builder::new().push_slice(script.to_le_bytes()).push_opcode(OP_DROP);
    number.push_opcode(OP_2DROP).push_opcode(OP_PUSHNUM_1).into_script()
}

impl Payer {
    /// Spends one coin into `outputs` ones of `each`, but for the first, which gets the rest.
    fn spend(&mut self, coin: Coin, outputs: u64, each: Amount) -> (Transaction, Vec<Coin>) {
        let (signature, key) = (self.random.array::<71>(), self.random.array::<33>());
        let witness = Witness::from_slice(&[&signature[..], &key, unlocker(coin.script).as_bytes()]);
        let previous_output = coin.outpoint;
        let input = TxIn { previous_output, script_sig: ScriptBuf::new(), sequence: Sequence::MAX, witness };
        let rest = coin.value - FEE - each * (outputs - 1);
        let values = (0..outputs).map(|index| if index == 0 { rest } else { each });
        let paid: Vec<(Amount, u64)> = values.map(|value| (value, self.script())).collect();
        let output = |&(value, script): &(Amount, u64)| TxOut { value, script_pubkey: unlocker(script).to_p2wsh() };
        let tx = Transaction {
            version: transaction::Version::TWO,
            lock_time: LockTime::ZERO,
            input: vec![input],
            output: paid.iter().map(output).collect(),
        };
        let txid = tx.compute_txid();
        let coin = |(vout, (value, script))| Coin { outpoint: OutPoint { txid, vout }, value, script };
        (tx, (0..).zip(paid).map(coin).collect())
    }

    /// The number of a script to pay to.
    fn script(&mut self) -> u64 {
        if self.random.next() % 100 < NEW {
            self.scripts += 1;
            return self.scripts - 1;
        }
        self.random.next() % self.scripts
    }
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
