//! Mines blocks of regtest, or of a signet of our own, on any parent, and makes the transactions that go into them with
//! an exact fee.
//!
//! Everything is deterministic: the same calls make the same blocks in every run.

use std::collections::HashMap;

use bitcoin::absolute::LockTime;
use bitcoin::block::{Header, Version};
use bitcoin::blockdata::constants::genesis_block;
use bitcoin::hashes::Hash;
use bitcoin::script::Builder;
use bitcoin::{
    Amount, Block, BlockHash, Network, OutPoint, ScriptBuf, Sequence, Transaction, TxIn, TxMerkleNode, TxOut, Witness,
    transaction,
};

use crate::locks::{Lock, op_return};
use crate::signet;

/// An output that can be spent.
#[derive(Clone, Debug)]
pub struct Coin {
    /// Which output.
    pub outpoint: OutPoint,
    /// What it holds.
    pub value: Amount,
    /// What it is locked with.
    pub lock: Lock,
}

/// Blocks that have been mined, by hash, so that any of them can be a parent.
#[derive(Debug)]
pub struct ChainBuilder {
    /// The time of a block by its height: ten minutes after its parent's, unless a test says otherwise.
    pub clock: fn(u32) -> u32,
    network: Network,
    heights: HashMap<BlockHash, u32>,
    mined: u32,
}

impl Default for ChainBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl ChainBuilder {
    /// Nothing but regtest's first block.
    pub fn new() -> Self {
        Self::of(Network::Regtest, |height| genesis_block(Network::Regtest).header.time + 600 * height)
    }

    /// Nothing but the first block of [`signet`].
    pub fn signet() -> Self {
        Self::of(Network::Signet, |height| genesis_block(Network::Signet).header.time + 600 * height)
    }

    fn of(network: Network, clock: fn(u32) -> u32) -> Self {
        let genesis = genesis_block(network).block_hash();
        Self { clock, network, heights: HashMap::from([(genesis, 0)]), mined: 0 }
    }

    /// The first block.
    pub fn genesis(&self) -> BlockHash {
        genesis_block(self.network).block_hash()
    }

    /// The height of a mined block.
    pub fn height(&self, hash: &BlockHash) -> u32 {
        self.heights[hash]
    }

    /// A block on `parent` with these transactions, whose coinbase claims the subsidy and all of `fees`.
    pub fn mine(&mut self, parent: BlockHash, txs: Vec<Transaction>, fees: Amount) -> Block {
        let subsidy = subsidy(self.height(&parent) + 1);
        self.mine_claiming(parent, txs, subsidy + fees)
    }

    /// A block whose coinbase claims exactly this much. It pays to another kind of script in each block.
    pub fn mine_claiming(&mut self, parent: BlockHash, txs: Vec<Transaction>, claim: Amount) -> Block {
        let height = self.height(&parent) + 1;
        self.mined += 1;
        let script_sig = Builder::new().push_int(height.into()).push_int(i64::from(self.mined) + 1000).into_script();
        let coinbase = Transaction {
            version: transaction::Version::TWO,
            lock_time: LockTime::ZERO,
            input: vec![input(OutPoint::null(), script_sig)],
            output: vec![TxOut { value: claim, script_pubkey: reward_lock(height).script() }],
        };
        let header = Header {
            version: Version::from_consensus(0x2000_0000),
            prev_blockhash: parent,
            merkle_root: TxMerkleNode::all_zeros(),
            time: (self.clock)(height),
            bits: genesis_block(self.network).header.bits,
            nonce: 0,
        };
        let mut block = Block { header, txdata: [vec![coinbase], txs].concat() };
        let signet = self.network == Network::Signet;
        if signet || block.txdata.iter().any(|tx| tx.input.iter().any(|input| !input.witness.is_empty())) {
            commit_to_witnesses(&mut block);
        }
        if signet {
            signet::solve(&mut block);
            block.header.nonce = signet::nonce(height);
        }
        work(&mut block);
        self.heights.insert(block.block_hash(), height);
        block
    }

    /// `count` blocks one on another, with nothing but their coinbases.
    pub fn mine_empty(&mut self, mut parent: BlockHash, count: u32) -> Vec<Block> {
        let mut blocks = Vec::new();
        for _ in 0..count {
            let block = self.mine(parent, Vec::new(), Amount::ZERO);
            parent = block.block_hash();
            blocks.push(block);
        }
        blocks
    }
}

/// Regtest's first block.
pub fn genesis() -> BlockHash {
    genesis_block(Network::Regtest).block_hash()
}

/// What a regtest block may create: halved every 150 blocks (`src/kernel/chainparams.cpp`).
pub fn subsidy(height: u32) -> Amount {
    Amount::from_sat(Amount::from_int_btc(50).to_sat() >> (height / 150).min(63))
}

/// What the coinbase at a height pays to.
pub fn reward_lock(height: u32) -> Lock {
    Lock::ALL[height as usize % Lock::ALL.len()]
}

/// The coin that a block's coinbase made.
pub fn reward(block: &Block, height: u32) -> Coin {
    let coinbase = &block.txdata[0];
    let outpoint = OutPoint { txid: coinbase.compute_txid(), vout: 0 };
    Coin { outpoint, value: coinbase.output[0].value, lock: reward_lock(height) }
}

/// A transaction that spends all coins and pays to these scripts; what is left over is the fee.
pub fn spend(coins: &[Coin], outputs: Vec<TxOut>) -> Transaction {
    let mut tx = Transaction {
        version: transaction::Version::TWO,
        lock_time: LockTime::ZERO,
        input: coins.iter().map(|coin| input(coin.outpoint, ScriptBuf::new())).collect(),
        output: outputs,
    };
    let spent: Vec<TxOut> =
        coins.iter().map(|coin| TxOut { value: coin.value, script_pubkey: coin.lock.script() }).collect();
    for (index, coin) in coins.iter().enumerate() {
        coin.lock.unlock(&mut tx, index, &spent);
    }
    tx
}

/// Spends all coins, pays `fee` exactly and shares the rest among these kinds of scripts; with the coins it makes.
pub fn share(coins: &[Coin], locks: &[Lock], fee: Amount) -> (Transaction, Vec<Coin>) {
    let whole = coins.iter().map(|coin| coin.value).sum::<Amount>() - fee;
    let part = whole / locks.len() as u64;
    let rest = whole - part * (locks.len() as u64 - 1);
    let values = std::iter::once(rest).chain(std::iter::repeat(part));
    let outputs = locks.iter().zip(values).map(|(lock, value)| TxOut { value, script_pubkey: lock.script() });
    let tx = spend(coins, outputs.collect());
    let txid = tx.compute_txid();
    let made = tx.output.iter().zip(locks).zip(0..);
    let coins =
        made.map(|((output, &lock), vout)| Coin { outpoint: OutPoint { txid, vout }, value: output.value, lock });
    let coins = coins.collect();
    (tx, coins)
}

fn input(previous_output: OutPoint, script_sig: ScriptBuf) -> TxIn {
    TxIn { previous_output, script_sig, sequence: Sequence::MAX, witness: Witness::new() }
}

/// Commits to the witnesses of a block in its coinbase's last output (BIP141).
pub fn commit_to_witnesses(block: &mut Block) {
    block.txdata[0].input[0].witness = Witness::from_slice(&[[0; 32]]);
    let root = block.witness_root().unwrap();
    let commitment = Block::compute_witness_commitment(&root, &[0; 32]);
    let data = [&[0xaa, 0x21, 0xa9, 0xed][..], &commitment.to_byte_array()].concat();
    block.txdata[0].output.push(TxOut { value: Amount::ZERO, script_pubkey: op_return(&data) });
}

/// Sets the merkle root and finds a nonce from the header's on: on regtest every other hash will do.
pub fn work(block: &mut Block) {
    block.header.merkle_root = block.compute_merkle_root().unwrap();
    while block.header.validate_pow(block.header.target()).is_err() {
        block.header.nonce += 1;
    }
}
