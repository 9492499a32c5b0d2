//! Headers and coinbases as miners make them: times that vary, tags of pools that do not exist, numbers rolled.

use bitcoin::absolute::LockTime;
use bitcoin::block::{Header, Version};
use bitcoin::blockdata::constants::genesis_block;
use bitcoin::hashes::Hash;
use bitcoin::script::{Builder, PushBytesBuf};
use bitcoin::{
    Amount, Block, BlockHash, Network, OutPoint, Sequence, Transaction, TxIn, TxMerkleNode, TxOut, Witness, transaction,
};

use super::purse::Coin;
use super::template::Package;
use super::texts::POOLS;
use super::wallet::{Kind, Owner, Wallet};
use crate::chain_builder::{commit_to_witnesses, subsidy, work};
use crate::locks::Lock;
use crate::rng::Rng;

/// What a block is made on and for.
pub struct Task {
    /// The block before it.
    pub parent: BlockHash,
    /// Its height.
    pub height: u32,
    /// Its time.
    pub time: u32,
}

/// Mines a block of these packages; with the coin that its coinbase makes.
pub fn mine(rng: &mut Rng, wallet: &Wallet, task: &Task, packages: Vec<Package>) -> (Block, Coin) {
    let fees: u64 = packages.iter().map(|package| package.fees).sum();
    let txs = packages.into_iter().flat_map(|package| package.txs);
    let tag = rng.weighted(POOLS);
    let owner = payout(tag, rng);
    let payout = TxOut { value: subsidy(task.height) + Amount::from_sat(fees), script_pubkey: wallet.script(&owner) };
    let coinbase = coinbase(rng, task, tag, payout);
    // Half of them roll bits of the version (BIP320).
    let rolled = if rng.chance(500) { i32::from(rng.number() as u16) << 13 } else { 0 };
    let header = Header {
        version: Version::from_consensus(0x2000_0000 | rolled),
        prev_blockhash: task.parent,
        merkle_root: TxMerkleNode::all_zeros(),
        time: task.time,
        bits: genesis_block(Network::Regtest).header.bits,
        nonce: rng.below(1 << 31) as u32,
    };
    let mut block = Block { header, txdata: std::iter::once(coinbase).chain(txs).collect() };
    commit_to_witnesses(&mut block);
    work(&mut block);
    let outpoint = OutPoint { txid: block.txdata[0].compute_txid(), vout: 0 };
    let output = block.txdata[0].output[0].clone();
    (block, Coin { outpoint, output, owner, born: task.height })
}

/// A pool is paid to a few addresses of its own, time and again.
fn payout(tag: &str, rng: &mut Rng) -> Owner {
    let pool = POOLS.iter().position(|(_, other)| *other == tag).unwrap();
    let kinds = [Lock::Wpkh, Lock::Wpkh, Lock::Pkh, Lock::TrKey, Lock::ShWpkh];
    Owner { kind: Kind::One(kinds[pool % kinds.len()]), key: 10 * pool + rng.below(2) }
}

fn coinbase(rng: &mut Rng, task: &Task, tag: &str, payout: TxOut) -> Transaction {
    let extra = rng.between(6, 12) as usize;
    let push = |bytes: &[u8]| PushBytesBuf::try_from(bytes.to_vec()).unwrap();
    let script_sig = Builder::new()
        .push_int(task.height.into())
        .push_slice(push(&task.time.to_le_bytes()))
        // Zeros around the tag, so that no number beside it reads as a letter of it.
        .push_slice(push(&[&[0], tag.as_bytes(), &[0], &rng.bytes(extra)].concat()))
        .into_script();
    let input = TxIn {
        previous_output: OutPoint::null(),
        script_sig,
        // So that no coinbase equals another one for ever (BIP54); not every miner does it yet.
        sequence: Sequence(rng.weighted(&[(60, 0xffff_ffff), (40, 0xffff_fffe)])),
        witness: Witness::new(),
    };
    let lock_time = if input.sequence == Sequence::MAX { 0 } else { task.height - 1 };
    Transaction {
        version: transaction::Version(if rng.chance(500) { 1 } else { 2 }),
        lock_time: LockTime::from_consensus(lock_time),
        input: vec![input],
        output: vec![payout],
    }
}

/// Quantiles of the time between two blocks, in seconds: what chance makes of ten minutes on average.
const GAPS: &[u64] =
    &[2, 31, 63, 98, 134, 173, 214, 258, 307, 359, 416, 479, 550, 630, 722, 832, 966, 1_138, 1_382, 1_798, 2_700];

/// The times of all heights from 0 on, so that the last one is at `end`.
pub fn times(rng: &mut Rng, tip: u32, end: u32) -> Vec<u32> {
    let mut times = vec![end];
    for _ in 0..tip {
        times.push(times[times.len() - 1] - rng.quantile(GAPS) as u32);
    }
    times.reverse();
    // A few clocks are wrong by minutes, some of them backwards; the median of eleven bounds how far.
    for at in 12..times.len().saturating_sub(6) {
        if rng.chance(60) {
            let median = median(&times[at - 11..at]);
            times[at] = (times[at] + rng.below(600) as u32).saturating_sub(300).max(median + 1);
        }
    }
    times
}

fn median(times: &[u32]) -> u32 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}
