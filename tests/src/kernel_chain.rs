//! A node's directory written by Bitcoin Core's own kernel, which validates every block it is given: the judge of tips,
//! heights and spent outputs.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Once;

use anyhow::{Context as _, Result, bail, ensure};
use bitcoin::consensus::serialize;
use bitcoin::hashes::Hash;
use bitcoin::{Amount, Block, BlockHash, Network, Script, ScriptBuf, TxOut};
use bitcoinkernel::prelude::*;
use bitcoinkernel::{
    ChainType, ChainstateManager, ChainstateManagerBuilder, Context, ContextBuilder, ProcessBlockResult,
    disable_logging,
};
use tempfile::TempDir;

/// A spent output as the kernel reads it from its undo data.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SpentCoin {
    /// The output itself.
    pub output: TxOut,
    /// The height of the block that made it.
    pub height: u32,
    /// Whether a coinbase made it.
    pub coinbase: bool,
}

static QUIET: Once = Once::new();

/// A node without peers, of regtest or of a custom signet.
pub struct KernelChain {
    network: Network,
    chainman: Option<ChainstateManager>,
    context: Context,
    dir: TempDir,
}

impl KernelChain {
    /// An empty directory of regtest, with a random obfuscation key as any new node makes one.
    pub fn new() -> Result<Self> {
        Self::of(Network::Regtest, ContextBuilder::new().chain_type(ChainType::Regtest), None)
    }

    /// An empty directory of regtest whose files are as `-blocksxor=0` leaves them.
    pub fn plain() -> Result<Self> {
        Self::of(Network::Regtest, ContextBuilder::new().chain_type(ChainType::Regtest), Some([0; 8]))
    }

    /// An empty directory of the signet with this challenge.
    pub fn signet(challenge: &Script) -> Result<Self> {
        Self::of(Network::Signet, ContextBuilder::new().signet(challenge.as_bytes()), None)
    }

    fn of(network: Network, context: ContextBuilder, key: Option<[u8; 8]>) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        if let Some(key) = key {
            // A key that is there is the one that Core takes.
            fs::create_dir(dir.path().join("blocks"))?;
            fs::write(dir.path().join("blocks/xor.dat"), key)?;
        }
        // The log is the process's, and can be turned off once.
        QUIET.call_once(disable_logging);
        let mut chain = Self { network, chainman: None, context: context.build()?, dir };
        chain.open()?;
        Ok(chain)
    }

    /// The network; a custom signet is a signet.
    pub fn network(&self) -> Network {
        self.network
    }

    /// Starts the node on what its directory holds.
    pub fn open(&mut self) -> Result<()> {
        self.chainman = Some(self.builder()?.build()?);
        Ok(())
    }

    /// Stops the node: what it has is flushed to disk.
    pub fn close(&mut self) {
        self.chainman = None;
    }

    /// Builds the block index and the chain state anew from the block files, as `-reindex` does.
    pub fn reindex(&mut self) -> Result<()> {
        self.close();
        let chainman = self.builder()?.wipe_db(true, true)?.build()?;
        chainman.import_blocks()?;
        self.chainman = Some(chainman);
        Ok(())
    }

    fn builder(&self) -> Result<ChainstateManagerBuilder> {
        let text = |path: &Path| path.to_str().map(str::to_owned).context("a path that is not UTF-8");
        Ok(ChainstateManagerBuilder::new(&self.context, &text(self.dir.path())?, &text(&self.blocks_dir())?)?)
    }

    fn chainman(&self) -> Result<&ChainstateManager> {
        self.chainman.as_ref().context("the node is stopped")
    }

    /// The node's data directory.
    pub fn datadir(&self) -> &Path {
        self.dir.path()
    }

    /// Where its block and undo files are.
    pub fn blocks_dir(&self) -> PathBuf {
        self.dir.path().join("blocks")
    }

    /// Hands over a block that is new and right as far as it goes without its parents' outputs.
    pub fn submit(&self, block: &Block) -> Result<()> {
        match self.chainman()?.process_block(&bitcoinkernel::Block::new(&serialize(block))?) {
            ProcessBlockResult::NewBlock => Ok(()),
            other => bail!("the kernel says {other:?} of block {}", block.block_hash()),
        }
    }

    /// Hands over a block that is wrong in itself, and makes sure that the kernel does not take it.
    pub fn refuse(&self, block: &Block) -> Result<()> {
        match self.chainman()?.process_block(&bitcoinkernel::Block::new(&serialize(block))?) {
            ProcessBlockResult::Rejected => Ok(()),
            other => bail!("the kernel says {other:?} of block {}", block.block_hash()),
        }
    }

    /// Hands over new blocks in this order, and makes sure that the last one is the tip.
    pub fn extend(&self, blocks: &[Block]) -> Result<()> {
        for block in blocks {
            self.submit(block)?;
        }
        let last = blocks.last().map(Block::block_hash);
        ensure!(last.is_none_or(|last| self.tip().is_ok_and(|(_, tip)| tip == last)), "the last block is not the tip");
        Ok(())
    }

    /// Height and hash of the best chain's last block.
    pub fn tip(&self) -> Result<(u32, BlockHash)> {
        let tip = self.chainman()?.active_chain().tip();
        Ok((u32::try_from(tip.height())?, hash_of(tip.block_hash().to_bytes())))
    }

    /// The best chain's hash at a height.
    pub fn hash_at(&self, height: u32) -> Result<BlockHash> {
        let chain = self.chainman()?.active_chain();
        let entry = chain.at_height(usize::try_from(height)?).with_context(|| format!("no block at {height}"))?;
        Ok(hash_of(entry.block_hash().to_bytes()))
    }

    /// The height of any block.
    pub fn height_of(&self, hash: BlockHash) -> Result<u32> {
        let entry = self.chainman()?.get_block_tree_entry(&to_kernel(hash));
        Ok(u32::try_from(entry.with_context(|| format!("the kernel does not know {hash}"))?.height())?)
    }

    /// Whether the best chain goes through a block.
    pub fn is_best(&self, hash: BlockHash) -> Result<bool> {
        let chainman = self.chainman()?;
        let entry = chainman.get_block_tree_entry(&to_kernel(hash)).context("unknown block")?;
        Ok(chainman.active_chain().contains(&entry))
    }

    /// A block's bytes, as the kernel reads them from its files.
    pub fn block(&self, hash: BlockHash) -> Result<Vec<u8>> {
        let chainman = self.chainman()?;
        let entry = chainman.get_block_tree_entry(&to_kernel(hash)).context("unknown block")?;
        Ok(chainman.read_block_data(&entry)?.consensus_encode()?)
    }

    /// What each transaction of a block but the coinbase spends; an error where the node has no undo data.
    pub fn spent(&self, hash: BlockHash) -> Result<Vec<Vec<SpentCoin>>> {
        let chainman = self.chainman()?;
        let entry = chainman.get_block_tree_entry(&to_kernel(hash)).context("unknown block")?;
        if entry.height() == 0 {
            return Ok(Vec::new());
        }
        let spent = chainman.read_spent_outputs(&entry)?;
        spent.iter().map(|tx| tx.coins().map(spent_coin).collect()).collect()
    }
}

fn spent_coin<'a>(coin: impl CoinExt + 'a) -> Result<SpentCoin> {
    let output = coin.output();
    Ok(SpentCoin {
        output: TxOut {
            value: Amount::from_sat(u64::try_from(output.value())?),
            script_pubkey: ScriptBuf::from_bytes(output.script_pubkey().to_bytes()),
        },
        height: coin.confirmation_height(),
        coinbase: coin.is_coinbase(),
    })
}

fn to_kernel(hash: BlockHash) -> bitcoinkernel::BlockHash {
    hash.to_byte_array().into()
}

fn hash_of(bytes: [u8; 32]) -> BlockHash {
    BlockHash::from_byte_array(bytes)
}
