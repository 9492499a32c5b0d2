//! Chains that several tests start from.

use std::collections::VecDeque;

use anyhow::Result;
use bitcoin::{Amount, Block, BlockHash, OutPoint, ScriptBuf, Transaction, TxOut, Witness};

use crate::chain_builder::{ChainBuilder, Coin, reward, share, spend};
use crate::kernel_chain::KernelChain;
use crate::locks::{Lock, op_return, tapscript};

/// Blocks that a coinbase has to wait for before it can be spent.
pub const MATURITY: u32 = 100;

/// A chain that can still grow, and the coins that may be spent on its end.
pub struct Scene {
    /// Mines on.
    pub builder: ChainBuilder,
    /// All blocks, lowest first, genesis left out.
    pub blocks: Vec<Block>,
    coinbases: VecDeque<Coin>,
}

impl Scene {
    /// A chain of `height` blocks with nothing but coinbases, one of each kind of script after another.
    pub fn empty(height: u32) -> Self {
        Self::on(ChainBuilder::new(), height)
    }

    /// The same of any builder's network.
    pub fn on(mut builder: ChainBuilder, height: u32) -> Self {
        let blocks = builder.mine_empty(builder.genesis(), height);
        let coinbases = blocks.iter().zip(1..).map(|(block, height)| reward(block, height)).collect();
        Self { builder, blocks, coinbases }
    }

    /// The last block.
    pub fn tip(&self) -> BlockHash {
        self.blocks.last().map_or_else(|| self.builder.genesis(), Block::block_hash)
    }

    /// The oldest coinbase that has not been spent yet; the caller sees to its maturity.
    pub fn take_coinbase(&mut self) -> Coin {
        self.coinbases.pop_front().unwrap()
    }

    /// Leaves the oldest coinbases unspent.
    pub fn skip_coinbases(&mut self, count: usize) {
        self.coinbases.drain(..count);
    }

    /// A block on the tip with one transaction that spends the oldest coinbase.
    pub fn grow_by_a_spend(&mut self) -> Block {
        let block = self.spend_on(self.tip());
        self.blocks.push(block.clone());
        block
    }

    /// A block on the tip with these transactions, whose coinbase claims all of their fees.
    pub fn push(&mut self, txs: Vec<Transaction>, fees: Amount) {
        let block = self.builder.mine(self.tip(), txs, fees);
        self.blocks.push(block);
    }

    /// A block on any parent with one transaction that spends the oldest coinbase.
    pub fn spend_on(&mut self, parent: BlockHash) -> Block {
        let fee = Amount::from_sat(1234);
        let (tx, _) = share(&[self.take_coinbase()], &[Lock::Wpkh, Lock::Pkh], fee);
        self.builder.mine(parent, vec![tx], fee)
    }
}

/// A chain of everything that statistics tell apart: all kinds of scripts created and spent, fees from nothing upwards,
/// children that pay for their parents, data, [`RICH_ENVELOPES`], coinbases that claim less than they may, halvings.
pub fn rich() -> Scene {
    let kinds = Lock::ALL.len() as u32;
    let mut scene = Scene::empty(MATURITY + kinds + 4);
    let fee = |number: usize| Amount::from_sat(number as u64 * number as u64 * 97);
    // Coinbases of every kind, each shared among all kinds …
    let shared = (0..kinds as usize).map(|number| share(&[scene.take_coinbase()], &Lock::ALL, fee(number)));
    let (txs, coins): (Vec<_>, Vec<_>) = shared.unzip();
    scene.push(txs, (0..kinds as usize).map(fee).sum());
    // … what that made spent by one transaction …
    let (tx, coins) = share(&coins.concat(), &Lock::ALL, fee(500));
    scene.push(vec![tx], fee(500));
    // … and once more one by one, the last two for nothing.
    let paid = |number: usize| if number + 2 < Lock::ALL.len() { fee(number + 1) } else { Amount::ZERO };
    let single = |(number, coin): (usize, &Coin)| share(std::slice::from_ref(coin), &[coin.lock], paid(number)).0;
    let txs = coins.iter().enumerate().map(single).collect();
    scene.push(txs, (0..coins.len()).map(paid).sum());
    let (txs, fees) = family(scene.take_coinbase());
    scene.push(txs, fees);
    let (txs, fees) = inscriptions(scene.take_coinbase());
    scene.push(txs, fees);
    for claim in [0, 123_456_789] {
        let (tx, _) = share(&[scene.take_coinbase()], &[Lock::Wpkh], fee(3));
        let block = scene.builder.mine_claiming(scene.tip(), vec![tx], Amount::from_sat(claim));
        scene.blocks.push(block);
    }
    let more = scene.builder.mine_empty(scene.tip(), 40);
    scene.blocks.extend(more);
    scene
}

/// A parent that pays nothing, two children of which one pays for it, and grandchildren that pay little, much, and for
/// both of their parents.
fn family(coin: Coin) -> (Vec<Transaction>, Amount) {
    let fee = Amount::from_sat;
    let (parent, coins) = share(&[coin], &[Lock::Wpkh, Lock::TrKey, Lock::Pkh], Amount::ZERO);
    let (rich, of_rich) = share(&coins[..1], &[Lock::Wpkh, Lock::True], fee(90_000));
    let (poor, of_poor) = share(&coins[1..2], &[Lock::Wpkh, Lock::WshTrue], fee(200));
    let (both, _) = share(&[of_rich[0].clone(), of_poor[0].clone()], &[Lock::TrScript], fee(40_000));
    let (little, _) = share(&of_rich[1..], &[Lock::Pkh], fee(1));
    let (much, _) = share(&of_poor[1..], &[Lock::ShWpkh], fee(700_000));
    let txs = vec![parent, rich, poor, both, little, much];
    (txs, fee(90_000 + 200 + 40_000 + 1 + 700_000))
}

/// Inscription envelopes in the chain of [`rich`], and their bytes.
pub const RICH_ENVELOPES: (u64, u64) = (3, 2 * ENVELOPE.len() as u64 + 2 + 4 + 1);

/// `OP_FALSE OP_IF "ord" 1 "text/plain" OP_0 "hello" OP_ENDIF`
const ENVELOPE: &[u8] = b"\x00\x63\x03ord\x01\x01\x0atext/plain\x00\x05hello\x68";

/// Two taproot outputs and the transactions that reveal their scripts, the second with an annex; and data besides.
fn inscriptions(coin: Coin) -> (Vec<Transaction>, Amount) {
    let fee = Amount::from_sat(5_000);
    // What starts like an envelope and names something else is none.
    let other = b"\x00\x63\x03orc\x68";
    let empty = b"\x00\x63\x03ord\x68";
    let leaves = [[ENVELOPE, other, &[0x51]].concat(), [empty, ENVELOPE, &[0x51]].concat()];
    let (locks, mut witnesses): (Vec<_>, Vec<_>) =
        leaves.into_iter().map(|leaf| tapscript(ScriptBuf::from_bytes(leaf))).unzip();
    witnesses[1].push([0x50, 1, 2, 3]);
    let value = (coin.value - fee) / 2;
    let mut outputs: Vec<TxOut> = locks.into_iter().map(|script_pubkey| TxOut { value, script_pubkey }).collect();
    outputs.push(TxOut { value: Amount::ZERO, script_pubkey: op_return(&[b'x'; 80]) });
    let commit = spend(&[coin], outputs);
    let txid = commit.compute_txid();
    let reveal = |(witness, vout): (Witness, u32)| {
        // The lock is not the output's own, which the witness unlocks instead.
        let coin = Coin { outpoint: OutPoint { txid, vout }, value, lock: Lock::True };
        let (mut tx, _) = share(&[coin], &[Lock::TrKey], fee);
        tx.input[0].witness = witness;
        tx
    };
    let reveals: Vec<Transaction> = witnesses.into_iter().zip(0..).map(reveal).collect();
    ([vec![commit], reveals].concat(), fee * 3)
}

/// A short chain whose last `spends` blocks spend something, written by the kernel.
pub fn with_spends(spends: u32) -> Result<(KernelChain, Scene)> {
    let mut scene = Scene::empty(MATURITY + spends);
    for _ in 0..spends {
        scene.grow_by_a_spend();
    }
    let kernel = KernelChain::new()?;
    kernel.extend(&scene.blocks)?;
    Ok((kernel, scene))
}
