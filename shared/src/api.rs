//! The native interface: where things are, and the few small JSON shapes that both ends share.
//!
//! Paths are relative, without a leading slash, so that the web app works under any URL prefix.

use bitcoin::{BlockHash, OutPoint, ScriptBuf, Txid};
use serde::{Deserialize, Serialize};

use crate::Height;
use crate::calendar::Day;
use crate::search::{BlockId, ListStart};

/// `GET`: the block's bytes with its prevouts, as a payload.
pub fn payload_path(id: BlockId) -> String {
    format!("api/v1/block/{id}/payload")
}

/// `GET`: payloads of consecutive heights, one after another.
pub fn range_path(from: Height, to: Height) -> String {
    format!("api/v1/blocks/{from}/{to}/payload")
}

/// `GET`: the block's statistics, as JSON.
pub fn stats_path(id: BlockId) -> String {
    format!("api/v1/block/{id}/stats")
}

/// `GET`: rows of statistics (`stats::row::Summary`) of up to `count` blocks from `from` (the tip where absent)
/// downwards, newest first. Blocks whose statistics are not computed yet, or cannot be, are left out.
pub fn summaries_path(from: Option<ListStart>, count: u32) -> String {
    match from {
        Some(from) => format!("api/v1/blocks/summaries?from={from}&count={count}"),
        None => format!("api/v1/blocks/summaries?count={count}"),
    }
}

/// `GET`: what the chain map knows of a block ([`BlockFacts`]).
pub fn block_path(id: BlockId) -> String {
    format!("api/v1/block/{id}")
}

/// `GET`: what the chain map knows of `count` blocks from `from` (the tip where absent) downwards, newest first.
pub fn blocks_path(from: Option<ListStart>, count: u32) -> String {
    match from {
        Some(from) => format!("api/v1/blocks?from={from}&count={count}"),
        None => format!("api/v1/blocks?count={count}"),
    }
}

/// `GET`: the best chain's last block ([`BlockFacts`]).
pub const TIP: &str = "api/v1/tip";

/// `GET`: network, source, chain, progress, versions ([`Status`]).
pub const STATUS: &str = "api/v1/status";

/// What the chain map knows of a block without reading its body.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct BlockFacts {
    /// The block's hash.
    pub hash: BlockHash,
    /// Its height; absent where no chain of parents leads to genesis and the coinbase does not state it.
    pub height: Option<Height>,
    /// How the height is known.
    pub height_from: Option<HeightFrom>,
    /// Whether the best chain goes through it.
    pub best_chain: bool,
    /// Blocks of the best chain from this one on, itself included; 0 off the best chain.
    pub confirmations: u32,
    /// The parent's hash, whether or not the parent is there.
    pub previous: BlockHash,
    /// The best chain's next block.
    pub next: Option<BlockHash>,
    /// The header's time, in seconds since 1970.
    pub time: u32,
    /// The header's version, as an unsigned number.
    pub version: u32,
    /// The header's target in compact form.
    pub bits: u32,
    /// Bytes in consensus serialization with witnesses.
    pub size: u32,
    /// Transactions, the coinbase included.
    pub tx_count: u32,
}

/// How a block's height is known.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HeightFrom {
    /// Parent by parent from genesis.
    Linked,
    /// The coinbase states it (BIP34); parents are missing.
    Bip34,
}

/// What the server is and how far it is.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Status {
    /// Hindsight's version.
    pub version: String,
    /// The version of the payload format (`payload::MAGIC`).
    pub payload_version: u32,
    /// The version of the index's tables; another one is built anew.
    pub index_version: u32,
    /// The name that Core's RPC uses: `main`, `test`, `testnet4`, `signet`, `regtest`.
    pub network: String,
    /// The network's magic, as eight hex digits in file order.
    pub magic: String,
    /// Where the blocks come from, in words.
    pub source: String,
    /// What the demo chain is, as sentences; absent where a node's blocks are served.
    pub demo: Option<String>,
    /// All chains of this server, this one among them, where it has more than one.
    pub chains: Vec<ServedChain>,
    /// The best chain's last block; absent while nothing is known.
    pub tip: Option<BlockFacts>,
    /// Another block with as much work as the tip: files cannot tell which one the node prefers.
    pub tied_with: Option<BlockHash>,
    /// Heights that the best chain covers, lowest first: more than one range on a pruned or assumeutxo node.
    pub ranges: Vec<HeightRange>,
    /// Progress of reading the directory.
    pub progress: Progress,
    /// How far the index of transactions and that of addresses are; what is missing is not made.
    pub index: Vec<IndexProgress>,
    /// What only a running node could tell.
    pub unknown: Vec<String>,
    /// What is wrong and what to do about it; empty in health.
    pub warnings: Vec<String>,
}

/// One of several chains of a server.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct ServedChain {
    /// What people call it.
    pub title: String,
    /// Where its pages and interfaces begin, relative to where those of the chain that was asked begin: `./`,
    /// `testnet3/`, `../`.
    pub path: String,
}

/// Consecutive heights, both ends included.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct HeightRange {
    /// The lowest.
    pub from: Height,
    /// The highest.
    pub to: Height,
}

/// How much of the directory has been read.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Progress {
    /// Whether everything that was there at the last look has been read.
    pub complete: bool,
    /// Block files read.
    pub files_read: u32,
    /// Block files there are.
    pub files: u32,
    /// Blocks found, stale ones included.
    pub blocks: u32,
    /// Blocks of the best chain whose statistics have been computed, or cannot be.
    pub statistics: u32,
}

/// A level of the index.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum IndexLevel {
    /// Txid to transaction.
    Transactions,
    /// Script to every transaction that touches it, and from there outpoint to spender.
    Addresses,
}

impl IndexLevel {
    /// Every level, lowest first.
    pub const ALL: [Self; 2] = [Self::Transactions, Self::Addresses];
}

/// How far a level of the index is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct IndexProgress {
    /// Which one.
    pub level: IndexLevel,
    /// Whether every block of the best chain that is on disk is in it, now that all files have been read: what is not in
    /// it is nowhere. The numbers below are counted now and then only.
    pub whole: bool,
    /// Blocks of the best chain that are in it.
    pub blocks: u32,
    /// Blocks of the best chain that are on disk.
    pub of: u32,
    /// Transactions that were added in a second, lately.
    pub per_second: u32,
    /// Seconds until it is whole, at that rate.
    pub seconds_left: Option<u32>,
}

/// `GET`: a transaction by its id (`found_tx::FoundTx`).
pub fn tx_path(txid: Txid) -> String {
    format!("api/v1/tx/{txid}")
}

/// `GET`: what became of an output (`found_tx::Fate`).
pub fn outpoint_path(outpoint: OutPoint) -> String {
    format!("api/v1/outpoint/{outpoint}")
}

/// `GET`: sums over the history of an address or script (`address::Totals`).
pub fn address_path(address: &str) -> String {
    format!("api/v1/address/{address}")
}

/// `GET`: transactions that touch an address or script, newest first (`address::Touched`): up to `count` of those before a
/// place in the chain.
pub fn history_path(address: &str, before: Option<(Height, u32)>, count: u32) -> String {
    match before {
        Some((height, index)) => format!("api/v1/address/{address}/history?before={height}:{index}&count={count}"),
        None => format!("api/v1/address/{address}/history?count={count}"),
    }
}

/// `GET`: outputs of an address or script that nobody has spent, newest first (`address::Coin`).
pub fn unspent_path(address: &str) -> String {
    format!("api/v1/address/{address}/unspent")
}

/// `GET`: what an address or script held over time (`address::BalanceAt`).
pub fn balance_path(address: &str) -> String {
    format!("api/v1/address/{address}/balance")
}

/// `GET`: what a text may mean ([`SearchHit`]), likeliest first. The text is percent-encoded by the caller.
pub fn search_path(text: &str) -> String {
    format!("api/v1/search/{text}")
}

/// Something that a search has found.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum SearchHit {
    /// A block.
    Block {
        /// Its hash.
        hash: BlockHash,
        /// Its height, where that is known.
        height: Option<Height>,
    },
    /// The blocks of a day.
    Day {
        /// The day.
        day: Day,
    },
    /// A transaction of the best chain.
    Transaction {
        /// Its id.
        txid: Txid,
    },
    /// An output of a transaction of the best chain; whether there are as many is not said.
    Output {
        /// The transaction.
        txid: Txid,
        /// Which output.
        vout: u32,
    },
    /// A script.
    Address {
        /// As an address, where it has one.
        address: Option<String>,
        /// The scriptPubKey.
        script: ScriptBuf,
    },
}

/// The body of every error of the native interface.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct ErrorBody {
    /// What went wrong, as a sentence.
    pub error: String,
}
