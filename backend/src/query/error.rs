//! Why a question has no answer, told apart as a reader needs it: unknown, deleted by the node, damaged, or not yet.

use bitcoin::{BlockHash, Txid};
use hindsight_shared::DecodeError;
use hindsight_shared::api::Progress;
use hindsight_shared::payload::Absence;
use hindsight_shared::search::BlockId;

use super::TxInBlock;
use crate::index::IndexError;
use crate::source::SourceError;
use hindsight_shared::api::IndexLevel;

/// Why there is no answer.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// No file holds such a block, nor has one before.
    #[error("{} is in none of the block files", name(.0))]
    NotFound(BlockId),
    /// It may still turn up.
    #[error(
        "{} has not been found yet: {} of {} block files have been read, ask again soon",
        name(.0), .1.files_read, .1.files
    )]
    NotReadYet(BlockId, Progress),
    /// The node has deleted it.
    #[error("block {0} is known, but the node has deleted the file that held it (pruned)")]
    Pruned(BlockHash),
    /// Its bytes are not whole yet.
    #[error("block {0} is just being written by the node: ask again in a moment")]
    BeingWritten(BlockHash),
    /// Its bytes are not what they should be.
    #[error("block {hash} is damaged on disk: in {file} at offset {offset}: {what}")]
    Damaged {
        /// The block.
        hash: BlockHash,
        /// The file's name.
        file: String,
        /// Where the block starts in it.
        offset: u32,
        /// What is wrong with it.
        what: String,
    },
    /// Its undo record is absent.
    #[error("block {hash}: undo not available ({})", reason(*absence))]
    NoUndo {
        /// The block.
        hash: BlockHash,
        /// Why.
        absence: Absence,
    },
    /// The block holds no such transaction.
    #[error("block {block} holds no transaction {}", tx_name(*which))]
    NoTransaction {
        /// The block.
        block: BlockHash,
        /// What was asked for.
        which: TxInBlock,
    },
    /// No block holds such a transaction, as far as they are indexed.
    #[error("transaction {txid} is in none of the {} blocks of the best chain{}", .searched, others(*.missing))]
    NoSuchTransaction {
        /// What was asked for.
        txid: Txid,
        /// Blocks that were searched.
        searched: u32,
        /// Blocks that are not on this node.
        missing: u32,
    },
    /// Not all blocks have been indexed.
    #[error("{0} is not in the blocks that have been indexed so far, and {1} are missing: ask again later")]
    NotIndexedYet(String, u32),
    /// The server was told not to index it.
    #[error("this server keeps no index of {}: start it with --index {}", level(*.0), level(*.0))]
    NotIndexed(IndexLevel),
    /// The transaction has no such output.
    #[error("transaction {0} has no output {1}")]
    NoOutput(Txid, u32),
    /// Too many transactions touch a script to answer in one go.
    #[error("{0} transactions touch the script: of more than {1} only the history is told")]
    TooMany(usize, usize),
    /// Its height, and with it the subsidy, is not known.
    #[error("block {0}: its height is not known, because its ancestors are in none of the block files")]
    NoHeight(BlockHash),
    /// A question ended without an answer; a defect of ours, and the log says which.
    #[error("the server failed; its log says why")]
    Failed,
    /// Too many bytes are on their way to readers.
    #[error("too many blocks are being sent at once: ask again in a moment")]
    Busy,
    /// The files cannot be read.
    #[error("{0}")]
    Source(std::sync::Arc<SourceError>),
    /// The index cannot be read.
    #[error("{0}")]
    Index(std::sync::Arc<IndexError>),
    /// Bytes that were checked do not decode; a defect of ours.
    #[error("{0}")]
    Decode(#[from] DecodeError),
}

impl QueryError {
    /// Whether it is one block that cannot be had, and others may.
    pub const fn is_of_one_block(&self) -> bool {
        matches!(
            self,
            Self::NotFound(_)
                | Self::NotReadYet(..)
                | Self::Pruned(_)
                | Self::BeingWritten(_)
                | Self::Damaged { .. }
                | Self::NoUndo { .. }
        )
    }
}

impl From<SourceError> for QueryError {
    fn from(error: SourceError) -> Self {
        Self::Source(error.into())
    }
}

impl From<IndexError> for QueryError {
    fn from(error: IndexError) -> Self {
        Self::Index(error.into())
    }
}

fn name(id: &BlockId) -> String {
    match id {
        BlockId::Height(height) => format!("block {height}"),
        BlockId::Hash(hash) => format!("block {hash}"),
    }
}

fn others(blocks: u32) -> String {
    if blocks == 0 { String::new() } else { format!("; {blocks} others are not on this node") }
}

/// What `--index` calls a level.
pub fn level(level: IndexLevel) -> &'static str {
    match level {
        IndexLevel::Transactions => "transactions",
        IndexLevel::Addresses => "addresses",
    }
}

fn tx_name(which: TxInBlock) -> String {
    match which {
        TxInBlock::Index(index) => format!("number {index}"),
        TxInBlock::Txid(txid) => txid.to_string(),
    }
}

/// Why something is absent, in words.
pub fn reason(absence: Absence) -> &'static str {
    match absence {
        Absence::Genesis => "the first block spends nothing",
        Absence::NotConnected => "the node never connected the block",
        Absence::Pruned => "the node has deleted it",
        Absence::Damaged => "it is damaged on disk",
        Absence::NotReadYet => "it is just being written",
    }
}
