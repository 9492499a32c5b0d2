//! Blocks and their undo as bytes: read by position, checked once, kept while they are asked for.
//!
//! Only whole bodies are kept (block and undo both there and both checked), so that nothing kept can become wrong; what
//! is being written, damaged or without undo is looked at anew, though not more than once in a moment. Several readers of one block wait for one
//! read. The spent outputs in the form of Core's REST are kept beside them: unpacking an undo record takes many times
//! what sending it does.

use std::sync::Arc;

use bitcoin::BlockHash;
use bytes::Bytes;
use hindsight_shared::block::BlockView;
use hindsight_shared::payload::{Absence, Prevouts, split_checksum};
use hindsight_shared::prevouts::{CHECKSUM_SIZE, PrevoutsView};
use hindsight_shared::verify::check_whole;
use parking_lot::RwLock;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

use super::QueryError;
use super::memory::Memory;
use super::recent::Recent;
use crate::chain::{Chain, Node};
use crate::runs::sizes::Place;
use crate::source::{BlockRecord, BlockSource, SourceError};
use crate::undo::UndoMap;

/// Memory for bodies that are still being sent after they have left the cache.
const BEING_SENT: u64 = 256 << 20;

/// A cache is split into equal shards, for threads not to wait for each other, and what does not fit into its shard is
/// not kept: a full block with its undo has to fit several times.
const SHARD: u64 = 32 << 20;

/// A checked block and its undo.
#[derive(Clone, Debug)]
pub struct Body {
    /// The block in consensus serialization.
    pub block: Bytes,
    /// The undo record with its checksum; empty where it is absent.
    pub undo: Bytes,
    /// Why the undo is absent.
    pub absence: Option<Absence>,
}

impl Body {
    fn is_whole(&self) -> bool {
        matches!(self.absence, None | Some(Absence::Genesis))
    }
}

#[derive(Clone, Debug)]
struct ByBytes;

impl Weighter<BlockHash, Body> for ByBytes {
    fn weight(&self, _: &BlockHash, body: &Body) -> u64 {
        // With what an entry costs besides its bytes.
        (body.block.len() + body.undo.len() + 256) as u64
    }
}

impl Weighter<BlockHash, Bytes> for ByBytes {
    fn weight(&self, _: &BlockHash, bytes: &Bytes) -> u64 {
        (bytes.len() + 256) as u64
    }
}

/// Reads bodies and keeps the whole ones.
#[derive(Debug)]
pub struct Bodies {
    pub(super) source: Arc<dyn BlockSource>,
    pub(super) chain: Arc<RwLock<Chain>>,
    pub(super) undo: Arc<UndoMap>,
    cache: Cache<BlockHash, Body, ByBytes>,
    spent_txouts: Cache<BlockHash, Bytes, ByBytes>,
    not_kept: Recent<Result<Body, QueryError>>,
    memory: Arc<Memory>,
}

impl Bodies {
    /// Bodies of one source, of which up to `bytes` are kept.
    pub fn new(source: Arc<dyn BlockSource>, chain: Arc<RwLock<Chain>>, undo: Arc<UndoMap>, bytes: u64) -> Self {
        // The spent outputs of a full block take about an eighth of what it takes with its undo.
        let spent_bytes = bytes / 8;
        let cache = cache_of(bytes - spent_bytes, 64 << 10);
        let spent_txouts = cache_of(spent_bytes, 8 << 10);
        let memory = Memory::new(bytes.saturating_add(BEING_SENT));
        Self { source, chain, undo, cache, spent_txouts, not_kept: Recent::default(), memory }
    }

    /// A body that is in memory.
    pub fn in_memory(&self, hash: &BlockHash) -> Option<Body> {
        self.cache.get(hash)
    }

    /// A body, from memory or from the files.
    ///
    /// # Errors
    /// Where no place of the block holds it whole.
    pub fn read(&self, node: &Node) -> Result<Body, QueryError> {
        let whole = self.cache.get_or_insert_with(&node.hash, || match self.not_kept.get(&node.hash) {
            Some(answer) => Err(answer),
            None => self.read_anew(node),
        });
        whole.or_else(|not_kept| not_kept)
    }

    /// A whole body, or as an error everything that is not to be kept.
    fn read_anew(&self, node: &Node) -> Result<Body, Result<Body, QueryError>> {
        let answer = self.read_files(node);
        match &answer {
            Ok(body) if body.is_whole() => return answer.map_err(Err),
            Ok(_) | Err(QueryError::Damaged { .. }) => self.not_kept.put(node.hash, answer.clone()),
            // Reading it has cost little, or may go better at once.
            Err(_) => {}
        }
        Err(answer)
    }

    /// The spent outputs as Core's `/rest/spenttxouts/<hash>.bin` has them, if they are in memory.
    pub fn spent_txouts_in_memory(&self, hash: &BlockHash) -> Option<Bytes> {
        self.spent_txouts.get(hash)
    }

    /// The spent outputs as Core's `/rest/spenttxouts/<hash>.bin` has them.
    ///
    /// # Errors
    /// [`QueryError::NoUndo`] where the undo record is absent; as [`Bodies::read`].
    pub fn spent_txouts(&self, node: &Node) -> Result<Bytes, QueryError> {
        self.spent_txouts.get_or_insert_with(&node.hash, || {
            let body = self.read(node)?;
            match body.absence {
                Some(absence) => Err(QueryError::NoUndo { hash: node.hash, absence }),
                None => {
                    let view = PrevoutsView::from_undo(split_checksum(&body.undo).0)?;
                    self.memory.hold(body.undo.len() as u64, || Ok(view.to_spent_txouts()))
                }
            }
        })
    }

    /// A transaction and its undo, read alone from the first of its block's places that gives them; neither is checked.
    /// Without undo where `place` knows none.
    pub fn read_part(&self, node: &Node, place: &Place) -> Option<(Vec<u8>, Vec<u8>)> {
        let tx = node.records().find_map(|record| self.source.block_part(&record, place.tx.clone()).ok())?;
        if place.undo.is_empty() {
            return Some((tx, Vec::new()));
        }
        let record = self.undo.find(node).ok()??;
        Some((tx, self.source.undo_part(&record, place.undo.clone()).ok()?))
    }

    fn read_files(&self, node: &Node) -> Result<Body, QueryError> {
        let size = node.records().map(|record| record.size).max().unwrap_or(0);
        let block = self.memory.hold(size.into(), || self.read_block(node))?;
        let (undo, absence) = match self.read_undo(node, &block)? {
            Ok(undo) => (undo, None),
            Err(absence) => (Bytes::new(), Some(absence)),
        };
        Ok(Body { block, undo, absence })
    }

    /// The block from the first of its places that holds it whole.
    fn read_block(&self, node: &Node) -> Result<Vec<u8>, QueryError> {
        let mut worst = QueryError::Pruned(node.hash);
        for record in node.records() {
            let what = match self.source.block(&record) {
                Ok(bytes) => match whole_block(&bytes) {
                    Ok(()) => return Ok(bytes),
                    Err(what) => what,
                },
                Err(SourceError::Pruned { .. }) => continue,
                Err(error @ (SourceError::Replaced { .. } | SourceError::Cut { .. })) => {
                    tracing::debug!(%error, "a remembered block is not there");
                    "the bytes there are another record's".to_owned()
                }
                Err(error) => return Err(error.into()),
            };
            worst = self.damaged(&record, what);
        }
        Err(worst)
    }

    fn damaged(&self, record: &BlockRecord, what: String) -> QueryError {
        if self.source.is_being_written(record.position) {
            return QueryError::BeingWritten(record.hash);
        }
        // The name alone: paths of the server are not the reader's business.
        let file = format!("blk{:05}.dat", record.position.file);
        QueryError::Damaged { hash: record.hash, file, offset: record.position.offset, what }
    }

    /// The block's undo with its checksum, or why it is absent.
    fn read_undo(&self, node: &Node, block: &[u8]) -> Result<Result<Bytes, Absence>, QueryError> {
        if self.chain.read().is_genesis(&node.hash) {
            return Ok(Err(Absence::Genesis));
        }
        let mut tried = None;
        // A position may have been overtaken by the node: then the file is paired once more.
        for _ in 0..2 {
            let record = match self.undo.find(node) {
                Ok(Some(record)) => record,
                Ok(None) => break,
                Err(error) => return Ok(Err(self.absence_of(node, &error))),
            };
            let share = self.memory.take(u64::from(record.size) + CHECKSUM_SIZE as u64)?;
            match self.source.undo(&record) {
                Ok(undo) if fits(block, &undo) => return Ok(Ok(share.hold(undo))),
                Ok(_) | Err(SourceError::Replaced { .. } | SourceError::Cut { .. }) => {}
                Err(error) => return Ok(Err(self.absence_of(node, &error))),
            }
            self.undo.forget(record.position.file);
            tried = Some(record);
        }
        Ok(Err(self.why_absent(node, tried)))
    }
}

/// A cache of up to `bytes`. How many entries fit if each were small is a hint only; the weight is what counts.
fn cache_of<T: Clone>(bytes: u64, small: u64) -> Cache<BlockHash, T, ByBytes>
where
    ByBytes: Weighter<BlockHash, T>,
{
    let entries = usize::try_from(bytes / small).unwrap_or(usize::MAX).max(16);
    let (hasher, lifecycle) = (DefaultHashBuilder::default(), DefaultLifecycle::default());
    let options =
        OptionsBuilder::new().estimated_items_capacity(entries).weight_capacity(bytes).shards(shards(bytes)).build();
    match options {
        Ok(options) => Cache::with_options(options, ByBytes, hasher, lifecycle),
        // Both capacities are given, which is all that can be missing.
        Err(_) => Cache::with(entries, bytes, ByBytes, hasher, lifecycle),
    }
}

/// How many shards leave each its room: a power of two, as the cache would round it up to one.
fn shards(bytes: u64) -> usize {
    let most = usize::try_from(bytes / SHARD).unwrap_or(usize::MAX).clamp(1, 256);
    1 << most.ilog2()
}

/// Whether a block decodes and its transactions are those that it commits to, witnesses included.
fn whole_block(bytes: &[u8]) -> Result<(), String> {
    check_whole(&BlockView::parse(bytes).map_err(|error| error.to_string())?)
}

/// Whether an undo record is this block's: by its checksum and its counts.
fn fits(block: &[u8], undo: &[u8]) -> bool {
    BlockView::parse(block).is_ok_and(|block| Prevouts::Undo(undo).view_of(&block).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_block_fits_into_a_shard_on_any_machine() {
        for mib in [1, 31, 64, 256, 1000, 100_000_u64] {
            let cache: Cache<BlockHash, Bytes, ByBytes> = cache_of(mib << 20, 8 << 10);
            assert!(cache.num_shards().is_power_of_two());
            assert!(cache.num_shards() == 1 || cache.shard_capacity() >= SHARD, "{mib} MiB");
        }
    }
}
