//! The questions that people ask, answered from the chain map and Core's files. Synchronous, values out, no HTTP.
//!
//! Every position is a hint: what is read there is checked (the header's hash by the source; merkle root and undo
//! checksum here, once for each body in memory) before anybody gets to see it.

use std::sync::Arc;
use std::time::Duration;

use bitcoin::hashes::{Hash, HashEngine, sha256};
use bitcoin::{BlockHash, Weight};
use bytes::Bytes;
use hindsight_shared::Height;
use hindsight_shared::api::{BlockFacts, HeightFrom};
use hindsight_shared::block::HEADER_SIZE;
use hindsight_shared::payload::{Absence, Kind, Payload, Prevouts, split_checksum};
use hindsight_shared::search::{BlockId, ListStart};
use parking_lot::RwLock;

use crate::chain::{Chain, Node};
use crate::index::{Runs, Summaries};
use crate::ingest::Report;
use crate::source::BlockSource;
use crate::undo::UndoMap;

mod absence;
mod address;
mod bodies;
mod error;
mod fates;
mod find;
mod fold;
mod headers;
mod hinted;
mod lookup;
mod memory;
mod recent;
mod search;
mod stats;
mod status;
mod transaction;

pub use address::Before;
use bodies::Bodies;
pub use bodies::Body;
pub use error::QueryError;
use fold::Folds;
pub use headers::HeaderFacts;
pub use stats::BlockStats;
pub use status::About;
pub use transaction::{TxAnswer, TxInBlock};

/// How often a range asks for a block again while memory is short, before it gives up.
const ASKED_AGAIN: u32 = 5;

/// How long it waits each time, besides the patience that memory has of its own.
const PAUSE: Duration = Duration::from_secs(1);

/// Answers questions from many threads at once.
#[derive(Debug)]
pub struct Explorer {
    chain: Arc<RwLock<Chain>>,
    report: Arc<Report>,
    bodies: Bodies,
    summaries: Arc<Summaries>,
    runs: Arc<Runs>,
    folds: Folds,
    about: About,
}

/// What an explorer looks things up in; others write to it.
#[derive(Clone, Debug)]
pub struct Map {
    /// Which blocks there are.
    pub chain: Arc<RwLock<Chain>>,
    /// Which undo records are theirs.
    pub undo: Arc<UndoMap>,
    /// How far everything is.
    pub report: Arc<Report>,
    /// Statistics of blocks.
    pub summaries: Arc<Summaries>,
    /// Where transactions are, and what they do with scripts.
    pub runs: Arc<Runs>,
}

/// A payload in the three parts that it is sent as.
#[derive(Clone, Debug)]
pub struct BlockPayload {
    /// Prefix, prevouts, block.
    pub parts: [Bytes; 3],
    /// The block.
    pub hash: BlockHash,
    /// A tag that changes whenever the bytes do: block hash, prevout encoding and absence, height, undo checksum.
    pub tag: String,
    /// Whether these bytes can never change: everything is there, checked, and the height is certain.
    pub immutable: bool,
}

impl Explorer {
    /// An explorer of one source. `cache_bytes` bounds the block and undo bytes that it keeps in memory.
    pub fn new(
        source: Arc<dyn BlockSource>,
        Map { chain, undo, report, summaries, runs }: Map,
        about: About,
        cache_bytes: u64,
    ) -> Self {
        let bodies = Bodies::new(source, chain.clone(), undo, cache_bytes);
        Self { chain, report, bodies, summaries, runs, folds: Folds::default(), about }
    }

    /// The best chain's last block.
    pub fn tip(&self) -> Option<BlockFacts> {
        let chain = self.chain.read();
        chain.tip().map(|tip| facts(&chain, tip))
    }

    /// What the chain map knows of a block.
    ///
    /// # Errors
    /// [`QueryError::NotFound`] where no such block is known.
    pub fn block(&self, id: BlockId) -> Result<BlockFacts, QueryError> {
        let node = self.node(id)?;
        Ok(facts(&self.chain.read(), &node))
    }

    /// Up to `count` blocks of the best chain from `from` (without it, from the tip) downwards, across gaps; fewer where
    /// files have not been read yet.
    ///
    /// # Errors
    /// [`QueryError::NotReadYet`] where that is so of the first of them.
    pub fn blocks(&self, from: Option<ListStart>, count: usize) -> Result<Vec<BlockFacts>, QueryError> {
        let hashes: Vec<BlockHash> = {
            let chain = self.chain.read();
            chain.downwards(from).take(count).filter_map(|height| Some(chain.by_height(height)?.hash)).collect()
        };
        self.await_files_of(&hashes);
        let chain = self.chain.read();
        let nodes = hashes.iter().filter_map(|hash| chain.by_hash(hash)).take_while(|node| !node.is_hinted());
        let blocks: Vec<BlockFacts> = nodes.map(|node| facts(&chain, node)).collect();
        match hashes.first().filter(|_| blocks.is_empty()) {
            Some(first) => Err(QueryError::NotReadYet(BlockId::Hash(*first), self.report.progress())),
            None => Ok(blocks),
        }
    }

    /// The block's payload if all of it is in memory: never waits for a disk.
    ///
    /// # Errors
    /// [`QueryError::NotFound`] where no such block is known.
    pub fn payload_in_memory(&self, id: BlockId) -> Result<Option<BlockPayload>, QueryError> {
        let node = self.known(&self.chain.read(), id)?.clone();
        self.bodies.in_memory(&node.hash).map(|body| self.payload_of(&node, &body)).transpose()
    }

    /// The block's payload. Prevouts may be absent, with the reason in it; the block itself is there.
    ///
    /// # Errors
    /// Where the block is unknown, or cannot be read whole.
    pub fn payload(&self, id: BlockId) -> Result<BlockPayload, QueryError> {
        let node = self.node(id)?;
        let body = self.bodies.read(&node)?;
        self.payload_of(&node, &body)
    }

    /// The payload at a height of a range: where the block cannot be had, one that says why.
    ///
    /// # Errors
    /// None that concern a single block: only what makes going on pointless.
    pub fn payload_or_gap(&self, height: Height) -> Result<[Bytes; 3], QueryError> {
        let absence = match self.patiently(|| self.payload(BlockId::Height(height))) {
            Ok(payload) => return Ok(payload.parts),
            Err(QueryError::NotFound(_) | QueryError::Pruned(_)) => Absence::Pruned,
            Err(QueryError::NotReadYet(..) | QueryError::BeingWritten(_)) => Absence::NotReadYet,
            Err(QueryError::Busy) => return Err(QueryError::Busy),
            Err(error) => {
                tracing::warn!(%height, %error, "a block of a range is left out");
                Absence::Damaged
            }
        };
        let gap = Payload {
            network: self.about.magic,
            height: Some(height),
            kind: Kind::Block,
            absence: Some(absence),
            prevouts: Prevouts::Absent,
            block: &[],
        };
        Ok([Bytes::copy_from_slice(&gap.prefix()?), Bytes::new(), Bytes::new()])
    }

    /// Bytes of the best chain's blocks from one height to another, without prevouts.
    pub fn size_of_range(&self, from: Height, to: Height) -> u64 {
        let chain = self.chain.read();
        let nodes = chain.downwards(Some(ListStart::Height(to))).take_while(|&height| height >= from);
        let size = |node: &Node| match node.records().next() {
            Some(record) => record.size,
            // Not known yet: nothing is left out of the reckoning for it.
            None if node.is_hinted() => Weight::MAX_BLOCK.to_wu().try_into().unwrap_or(u32::MAX),
            None => 0,
        };
        nodes.filter_map(|height| chain.by_height(height)).map(size).map(u64::from).sum()
    }

    /// The payloads of a range, as pieces, and a tag that changes whenever they do: of each the prefix, the checksum
    /// behind its prevouts, and its header, which stands for the block.
    ///
    /// # Errors
    /// As [`Explorer::payload_or_gap`].
    pub fn payloads(&self, from: Height, to: Height) -> Result<(String, Vec<Bytes>), QueryError> {
        let (mut tag, mut pieces) = (sha256::HashEngine::default(), Vec::new());
        for height in (from.0..=to.0).map(Height) {
            let [prefix, prevouts, block] = self.payload_or_gap(height)?;
            tag.input(&prefix);
            tag.input(split_checksum(&prevouts).1);
            tag.input(block.get(..HEADER_SIZE).unwrap_or_default());
            pieces.extend([prefix, prevouts, block]);
        }
        Ok((sha256::Hash::from_engine(tag).to_string(), pieces))
    }

    /// Asks again, a few times, where there was no room in memory for the answer.
    fn patiently<T>(&self, mut question: impl FnMut() -> Result<T, QueryError>) -> Result<T, QueryError> {
        for _ in 0..ASKED_AGAIN {
            match question() {
                Err(QueryError::Busy) => std::thread::sleep(PAUSE),
                answer => return answer,
            }
        }
        question()
    }

    /// The block in consensus serialization with witnesses.
    ///
    /// # Errors
    /// Where the block is unknown, or cannot be read whole.
    pub fn block_bytes(&self, hash: BlockHash) -> Result<Bytes, QueryError> {
        let node = self.node(BlockId::Hash(hash))?;
        Ok(self.bodies.read(&node)?.block)
    }

    /// The same if it is in memory: never waits for a disk.
    pub fn block_bytes_in_memory(&self, hash: &BlockHash) -> Option<Bytes> {
        self.bodies.in_memory(hash).map(|body| body.block)
    }

    /// The spent outputs as Core's `/rest/spenttxouts/<hash>.bin` has them.
    ///
    /// # Errors
    /// [`QueryError::NoUndo`] where the undo record is absent; where the block is unknown or cannot be read.
    pub fn spent_txouts(&self, hash: BlockHash) -> Result<Bytes, QueryError> {
        // It takes no file to know that the first block's only transaction spends nothing.
        if self.chain.read().is_genesis(&hash) {
            return Ok(Bytes::from_static(&[1, 0]));
        }
        self.bodies.spent_txouts(&self.node(BlockId::Hash(hash))?)
    }

    /// The same if they are in memory: never waits for a disk.
    pub fn spent_txouts_in_memory(&self, hash: &BlockHash) -> Option<Bytes> {
        self.bodies.spent_txouts_in_memory(hash)
    }

    /// Block hash, absence, height, and the first bytes of the undo checksum.
    fn tag(&self, node: &Node, body: &Body) -> String {
        let (_, checksum) = hindsight_shared::payload::split_checksum(&body.undo);
        let checksum: String = checksum.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let absence = body.absence.map_or_else(|| "whole".to_owned(), |absence| format!("{absence:?}").to_lowercase());
        let height = node.height.map_or_else(|| "none".to_owned(), |height| height.to_string());
        format!("{}-{absence}-{height}-{checksum}", node.hash)
    }

    fn payload_of(&self, node: &Node, body: &Body) -> Result<BlockPayload, QueryError> {
        let payload = Payload {
            network: self.about.magic,
            height: node.height,
            kind: Kind::Block,
            absence: body.absence,
            prevouts: if body.undo.is_empty() { Prevouts::Absent } else { Prevouts::Undo(&body.undo) },
            block: &body.block,
        };
        let prefix = payload.prefix()?;
        let tag = self.tag(node, body);
        let immutable = node.height.is_some() && matches!(body.absence, None | Some(Absence::Genesis));
        let parts = [Bytes::copy_from_slice(&prefix), body.undo.clone(), body.block.clone()];
        Ok(BlockPayload { parts, hash: node.hash, tag, immutable })
    }
}

fn facts(chain: &Chain, node: &Node) -> BlockFacts {
    let best_chain = chain.is_best(node);
    let height = node.height;
    let tip = chain.tip().and_then(|tip| tip.height);
    let above = tip.zip(height).and_then(|(tip, height)| tip.0.checked_sub(height.0));
    let confirmations = if best_chain { above.map_or(0, |above| above.saturating_add(1)) } else { 0 };
    let next = height.and_then(Height::next).filter(|_| best_chain).and_then(|next| chain.by_height(next));
    BlockFacts {
        hash: node.hash,
        height,
        height_from: height.map(|_| if node.linked { HeightFrom::Linked } else { HeightFrom::Bip34 }),
        best_chain,
        confirmations,
        previous: node.header.prev_blockhash,
        next: next.map(|node| node.hash),
        time: node.header.time,
        version: u32::from_le_bytes(node.header.version.to_consensus().to_le_bytes()),
        bits: node.header.bits.to_consensus(),
        size: node.size(),
        tx_count: node.tx_count(),
    }
}
