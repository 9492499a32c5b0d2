//! A made-up chain of mainnet's shape, told backwards: per transaction 2.7 inputs and 2.8 outputs; four outputs in ten go to
//! a script that nobody had used, one in twenty to one of a few thousand busy scripts, the others to a script of before;
//! half of the coins are spent within a hundred blocks, the rest after any time.
//!
//! Everything about an output follows from its number, so that nothing has to be remembered of a hundred million of them.

use bitcoin::BlockHash;
use bitcoin::hashes::Hash;
use hindsight::runs::hashes::{MAX_PREFIX, Prefix};
use hindsight::runs::rows::{BlockRows, Paid, Spent};
use hindsight::runs::sizes::TxSize;
use hindsight_shared::Height;

/// Transactions of a block.
const TXS_PER_BLOCK: u64 = 3500;

/// Outputs and inputs of ten transactions.
const OUTPUTS: u64 = 28;
const INPUTS: u64 = 27;

/// Scripts that are paid all the time.
const BUSY: u64 = 3000;

/// Outputs that pass in a hundred blocks.
const SOON: u64 = 100 * TXS_PER_BLOCK * OUTPUTS / 10;

/// The chain.
#[derive(Clone, Copy, Debug)]
pub struct History {
    /// Blocks that have not been told.
    left: u64,
    blocks: u64,
}

impl History {
    /// A chain of about so many transactions.
    pub const fn new(transactions: u64) -> Self {
        let blocks = transactions.div_ceil(TXS_PER_BLOCK);
        Self { left: blocks, blocks }
    }

    /// The next blocks downwards whose rows fill so many bytes, lowest first, and the height of the lowest; nothing when
    /// all have been told.
    pub fn below(&mut self, bytes: usize) -> Option<(Height, Vec<BlockRows>)> {
        let (mut blocks, mut filled) = (Vec::new(), 0);
        while filled < bytes && self.left > 0 {
            self.left -= 1;
            let rows = block(self.left);
            filled += rows.bytes();
            blocks.push(rows);
        }
        blocks.reverse();
        (!blocks.is_empty()).then_some((Height(u32::try_from(self.left).ok()?), blocks))
    }

    /// Whether nothing can be asked for yet.
    pub const fn has_told_nothing(&self) -> bool {
        self.left == self.blocks
    }

    /// The prefixes of some transaction that has been told, and of some script.
    pub fn sample(&self, number: u64) -> (Prefix, Prefix) {
        let told = (self.blocks - self.left).max(1) * TXS_PER_BLOCK;
        let tx = self.left * TXS_PER_BLOCK + mix(number ^ 0x5a_5a5a) % told;
        (txid(tx), script(tx * OUTPUTS / 10))
    }
}

fn block(height: u64) -> BlockRows {
    let hash = BlockHash::hash(&height.to_le_bytes());
    let mut rows =
        BlockRows { block: hash, sizes: Vec::new(), txids: Vec::new(), outputs: Vec::new(), inputs: Vec::new() };
    for (index, tx) in (0..).zip(height * TXS_PER_BLOCK..(height + 1) * TXS_PER_BLOCK) {
        rows.txids.push(txid(tx));
        let [size, undo] = [60 + mix(tx) % 128 + (mix(tx + 1) % 1000) * (mix(tx + 2) % 8) / 8, mix(tx + 3) % 120];
        rows.sizes.push(TxSize { tx: short(size), undo: short(undo) });
        for output in tx * OUTPUTS / 10..(tx + 1) * OUTPUTS / 10 {
            rows.outputs.push(Paid { script: script(output), index });
        }
        let before = tx * OUTPUTS / 10;
        for input in tx * INPUTS / 10..(tx + 1) * INPUTS / 10 {
            let spent = before.saturating_sub(1 + age(input, before));
            rows.inputs.push(Spent { script: script(spent), outpoint: prefix(spent ^ 0xc01_c01), index });
        }
    }
    rows
}

/// How many outputs ago the coin was made.
fn age(input: u64, before: u64) -> u64 {
    let random = mix(input ^ 0xa6e);
    if random.is_multiple_of(2) { mix(random) % SOON } else { mix(random) % before.max(1) }
}

fn txid(tx: u64) -> Prefix {
    prefix(tx ^ 0x7_1d00_0000_0000)
}

/// The script of an output: its own, a busy one, or that of an output before it.
fn script(mut output: u64) -> Prefix {
    loop {
        let random = mix(output ^ 0x5c_217);
        match random % 100 {
            0..42 => return prefix(output),
            42..47 => return prefix(u64::MAX - mix(random) % BUSY),
            _ if output == 0 => return prefix(0),
            _ => output = output.saturating_sub(1 + age(random, output)),
        }
    }
}

fn prefix(number: u64) -> Prefix {
    mix(number) & MAX_PREFIX
}

fn short(size: u64) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

/// A number that looks like chance (splitmix64).
const fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
