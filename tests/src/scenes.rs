//! Chains that several tests start from.

use std::collections::VecDeque;

use anyhow::Result;
use bitcoin::{Amount, Block, BlockHash};

use crate::chain_builder::{ChainBuilder, Coin, genesis, reward, share};
use crate::kernel_chain::KernelChain;
use crate::locks::Lock;

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
        let mut builder = ChainBuilder::new();
        let blocks = builder.mine_empty(genesis(), height);
        let coinbases = blocks.iter().zip(1..).map(|(block, height)| reward(block, height)).collect();
        Self { builder, blocks, coinbases }
    }

    /// The last block.
    pub fn tip(&self) -> BlockHash {
        self.blocks.last().map_or_else(genesis, Block::block_hash)
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

    /// A block on any parent with one transaction that spends the oldest coinbase.
    pub fn spend_on(&mut self, parent: BlockHash) -> Block {
        let fee = Amount::from_sat(1234);
        let (tx, _) = share(&[self.take_coinbase()], &[Lock::Wpkh, Lock::Pkh], fee);
        self.builder.mine(parent, vec![tx], fee)
    }
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
