//! Blocks and their undo as bytes: read by position, checked once, kept while they are asked for.
//!
//! Only whole bodies are kept (block and undo both there and both checked), so that nothing kept can become wrong; what
//! is being written, damaged or without undo is looked at anew every time. Several readers of one block wait for one
//! read. The spent outputs in the form of Core's REST are kept beside them: unpacking an undo record takes many times
//! what sending it does.

use std::sync::Arc;

use bitcoin::BlockHash;
use bytes::Bytes;
use hindsight_shared::block::BlockView;
use hindsight_shared::payload::{Absence, Prevouts, same_counts, split_checksum};
use hindsight_shared::prevouts::PrevoutsView;
use hindsight_shared::verify::check_whole;
use parking_lot::RwLock;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::QueryError;
use super::memory::Memory;
use crate::chain::{Chain, Node};
use crate::source::{BlockRecord, BlockSource, SourceError, UndoRecord};
use crate::undo::UndoMap;

/// Memory for bodies that are still being sent after they have left the cache.
const BEING_SENT: u64 = 256 << 20;

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
    source: Arc<dyn BlockSource>,
    chain: Arc<RwLock<Chain>>,
    undo: Arc<UndoMap>,
    cache: Cache<BlockHash, Body, ByBytes>,
    spent_txouts: Cache<BlockHash, Bytes, ByBytes>,
    memory: Arc<Memory>,
}

/// A body that is there but not whole, or an error: what is not to be kept.
enum NotKept {
    Partial(Body),
    Failed(QueryError),
}

impl Bodies {
    /// Bodies of one source, of which up to `bytes` are kept.
    pub fn new(source: Arc<dyn BlockSource>, chain: Arc<RwLock<Chain>>, undo: Arc<UndoMap>, bytes: u64) -> Self {
        // The spent outputs of a full block take about an eighth of what it takes with its undo.
        let spent_bytes = bytes / 8;
        let cache = Cache::with_weighter(entries(bytes, 64 << 10), bytes - spent_bytes, ByBytes);
        let spent_txouts = Cache::with_weighter(entries(spent_bytes, 8 << 10), spent_bytes, ByBytes);
        let memory = Memory::new(bytes.saturating_add(BEING_SENT));
        Self { source, chain, undo, cache, spent_txouts, memory }
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
        let read = self.cache.get_or_insert_with(&node.hash, || {
            let body = self.read_files(node).map_err(NotKept::Failed)?;
            if body.is_whole() { Ok(body) } else { Err(NotKept::Partial(body)) }
        });
        match read {
            Ok(body) | Err(NotKept::Partial(body)) => Ok(body),
            Err(NotKept::Failed(error)) => Err(error),
        }
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
                Some(Absence::Genesis) => Ok(Bytes::from_static(&[1, 0])),
                Some(absence) => Err(QueryError::NoUndo { hash: node.hash, absence }),
                None => {
                    let view = PrevoutsView::from_undo(split_checksum(&body.undo).0)?;
                    self.memory.hold(body.undo.len() as u64, || Ok(view.to_spent_txouts()))
                }
            }
        })
    }

    fn read_files(&self, node: &Node) -> Result<Body, QueryError> {
        let size = node.records().map(|record| record.size).max().unwrap_or(0);
        let block = self.memory.hold(size.into(), || self.read_block(node))?;
        let mut absence = None;
        let undo = self.memory.hold(0, || {
            let (undo, why) = self.read_undo(node, &block)?;
            absence = why;
            Ok(undo)
        })?;
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
    fn read_undo(&self, node: &Node, block: &[u8]) -> Result<(Vec<u8>, Option<Absence>), QueryError> {
        if self.chain.read().is_genesis(node) {
            return Ok((Vec::new(), Some(Absence::Genesis)));
        }
        let mut tried = None;
        // A position may have been overtaken by the node: then the file is paired once more.
        for _ in 0..2 {
            let Some(record) = self.undo.find(node)? else { break };
            match self.source.undo(&record) {
                Ok(undo) if fits(node, block, &undo) => return Ok((undo, None)),
                Ok(_) | Err(SourceError::Replaced { .. } | SourceError::Cut { .. }) => {}
                Err(SourceError::Pruned { .. }) => return Ok((Vec::new(), Some(Absence::Pruned))),
                Err(error) => return Err(error.into()),
            }
            self.undo.forget(record.position.file);
            tried = Some(record);
        }
        Ok((Vec::new(), Some(self.why_absent(node, tried))))
    }

    fn why_absent(&self, node: &Node, tried: Option<UndoRecord>) -> Absence {
        let Some(record) = node.records().next() else { return Absence::Pruned };
        let written = tried.map_or(record.position, |undo| undo.position);
        if self.source.is_being_written(written) {
            return Absence::NotReadYet;
        }
        if !self.chain.read().is_best(node) {
            return if node.linked { Absence::NotConnected } else { Absence::Pruned };
        }
        if self.source.has_undo(record.position.file) { Absence::Damaged } else { Absence::Pruned }
    }
}

/// About as many entries as fit into `bytes` if each were small; the weight is what counts.
fn entries(bytes: u64, small: u64) -> usize {
    usize::try_from(bytes / small).unwrap_or(usize::MAX).max(16)
}

/// Whether a block decodes and its transactions are those that it commits to, witnesses included.
fn whole_block(bytes: &[u8]) -> Result<(), String> {
    check_whole(&BlockView::parse(bytes).map_err(|error| error.to_string())?)
}

/// Whether an undo record is this block's: by its checksum and its counts.
fn fits(node: &Node, block: &[u8], undo: &[u8]) -> bool {
    let prevouts = Prevouts::Undo(undo);
    let counts = || {
        let block = BlockView::parse(block).ok()?;
        let prevouts = prevouts.view().ok()??;
        same_counts(&block, &prevouts).ok()
    };
    prevouts.checksum_holds(&node.header.prev_blockhash) == Some(true) && counts().is_some()
}
