//! Tells which block each undo record of a `rev*.dat` belongs to.
//!
//! An undo record names no block. What binds it is its checksum, `sha256d(hash of the previous block ‖ undo)`, and that
//! `rev N` holds the undo of blocks in `blk N` only, in the order they were connected. So each record is tried on a
//! child of the last match first, then on the blocks with as many transactions: about one hash a record.
//!
//! The checksum binds the parent alone. Of siblings that fit, what they spend decides ([`super::siblings`]); those that
//! spend the same share the record, until another one turns up that fits as well.

use std::collections::{HashMap, HashSet};

use bitcoin::BlockHash;
use bitcoin::hashes::Hash;
use hindsight_shared::bytes::Reader;
use hindsight_shared::prevouts::{CHECKSUM_SIZE, PrevoutsView, undo_checksum};

use super::siblings::{Sibling, likeliest};
use super::{BlockFile, BlockRecord, BlockSource, Found, Position, SourceError, UndoRecord};

/// Bytes that are hashed, or read only to be read again, in vain for one file at most: seconds. An undo file of another
/// node fits nothing, and would be tried on everything; one made to mislead is full of framings that lie in each other.
const PATIENCE: u64 = 1 << 30;

/// Where the order is lost among blocks without spending transactions, so many are tried before all of them are hashed.
const FEW: usize = 4;

/// The blocks of one `blk*.dat` and the undo found for them so far.
pub(super) struct Pairing<'a> {
    source: &'a dyn BlockSource,
    blocks: Vec<Candidate>,
    /// Indices into `blocks`, in file order.
    by_parent: HashMap<BlockHash, Vec<usize>>,
    by_tx_count: HashMap<u32, Vec<usize>>,
    by_hash: HashMap<BlockHash, usize>,
    /// Parents of the blocks without spending transactions, by the checksum of their undo: made when the order is lost.
    coinbase_only: Option<HashMap<[u8; CHECKSUM_SIZE], BlockHash>>,
    last: Option<BlockHash>,
    /// Checksums computed.
    pub(super) hashes: u64,
    /// Bytes that may still be hashed or read in vain.
    patience: u64,
}

struct Candidate {
    record: BlockRecord,
    undo: Option<UndoRecord>,
    /// Whether `undo` was given to this block before all others.
    own: bool,
}

impl Candidate {
    /// Genesis has no undo, and its parent no hash.
    fn is_genesis(&self) -> bool {
        self.record.header.prev_blockhash == BlockHash::all_zeros()
    }
}

impl<'a> Pairing<'a> {
    /// The blocks of `file`, whose bodies are read from `source` where siblings have to be told apart.
    pub(super) fn new(source: &'a dyn BlockSource, file: &BlockFile) -> Self {
        let mut pairing = Self {
            source,
            blocks: Vec::with_capacity(file.records.len()),
            by_parent: HashMap::new(),
            by_tx_count: HashMap::new(),
            by_hash: HashMap::new(),
            coinbase_only: None,
            last: None,
            hashes: 0,
            patience: PATIENCE,
        };
        // Of the same block at several positions one stands for all, a hopped-to one if there is one.
        let mut seen = HashSet::new();
        for found in [Found::Hop, Found::Search] {
            for record in file.records.iter().filter(|r| r.found == found) {
                if seen.insert((record.hash, record.tx_count)) {
                    pairing.add(*record);
                }
            }
        }
        pairing
    }

    fn add(&mut self, record: BlockRecord) {
        let index = self.blocks.len();
        self.by_parent.entry(record.header.prev_blockhash).or_default().push(index);
        self.by_tx_count.entry(record.tx_count).or_default().push(index);
        self.by_hash.insert(record.hash, index);
        self.blocks.push(Candidate { record, undo: None, own: false });
    }

    /// Takes over what is known of the undo file, if that is all it takes: every record belongs to a block that is still
    /// here, and no block without undo has a sibling that might share one.
    pub(super) fn take_over(&mut self, known: &[UndoRecord]) -> bool {
        let mut records = known.to_vec();
        records.sort_unstable_by_key(|record| (record.position, self.by_hash.get(&record.block).copied()));
        let mut before = None;
        for record in records {
            let Some(block) = self.by_hash.get(&record.block).map(|index| &mut self.blocks[*index]) else {
                return false;
            };
            (block.undo, block.own) = (Some(record), before != Some(record.position));
            (before, self.last) = (Some(record.position), Some(record.block));
        }
        let shares = |block: &Candidate| {
            let siblings = self.by_parent[&block.record.header.prev_blockhash].iter().map(|i| &self.blocks[*i]);
            siblings.filter(|sibling| sibling.record.tx_count == block.record.tx_count).any(|sibling| sibling.own)
        };
        !self.blocks.iter().filter(|block| block.undo.is_none()).any(shares)
    }

    /// The parent of a block of this file.
    pub(super) fn parent(&self, block: &BlockHash) -> Option<BlockHash> {
        self.by_hash.get(block).map(|index| self.blocks[*index].record.header.prev_blockhash)
    }

    /// Whether any block here could have undo that starts with these bytes, judged by its count of transactions.
    pub(super) fn may_fit(&self, undo: &[u8]) -> bool {
        tx_count(undo).is_some_and(|count| self.by_tx_count.contains_key(&count))
    }

    /// Gives the undo `bytes` (payload and checksum) at `position` to the blocks it belongs to. False: to none, or to
    /// none that does not have undo of its own already.
    pub(super) fn give(&mut self, position: Position, bytes: &[u8]) -> Result<bool, SourceError> {
        let Some((undo, sum)) = bytes.split_last_chunk::<CHECKSUM_SIZE>() else { return Ok(false) };
        let parent = self.parent_of(undo, sum);
        let Some(fitting) = parent.map(|parent| self.fitting(&parent, undo)).transpose()? else {
            self.skip();
            return Ok(false);
        };
        let Some(owner) = fitting.iter().find(|sibling| !self.blocks[sibling.index].own) else { return Ok(false) };
        let size = u32::try_from(undo.len()).unwrap_or(u32::MAX);
        for sibling in fitting.iter().filter(|sibling| sibling.spent == owner.spent) {
            let block = &mut self.blocks[sibling.index];
            if sibling.index == owner.index || block.undo.is_none() {
                block.undo = Some(UndoRecord { block: block.record.hash, position, size });
                block.own = sibling.index == owner.index;
            }
        }
        self.last = Some(self.blocks[owner.index].record.hash);
        Ok(true)
    }

    /// What was found, by position in the undo file.
    pub(super) fn into_records(self) -> Vec<UndoRecord> {
        let mut records: Vec<_> = self.blocks.into_iter().filter_map(|block| block.undo).collect();
        records.sort_by_key(|record| record.position);
        records
    }

    /// The parent that `sum` binds `undo` to.
    fn parent_of(&mut self, undo: &[u8], sum: &[u8; CHECKSUM_SIZE]) -> Option<BlockHash> {
        let count = tx_count(undo)?;
        if count == 1 && undo != [0] {
            return None;
        }
        if let Some(parents) = self.coinbase_only.as_ref().filter(|_| undo == [0]) {
            return parents.get(sum).copied();
        }
        // Without patience as well: that is one hash for each record that is hopped to, and no other is read any more.
        if let Some(next) = self.last.filter(|last| self.is_open(last, count))
            && self.is_bound(&next, undo, sum)
        {
            return Some(next);
        }
        let tries = if count == 1 { FEW } else { usize::MAX };
        let others = if self.has_patience() { self.parents(count) } else { Vec::new() };
        for parent in others.into_iter().take(tries) {
            if self.is_bound(&parent, undo, sum) {
                return Some(parent);
            }
            if !self.has_patience() {
                break;
            }
        }
        if undo == [0] { self.coinbase_only().get(sum).copied() } else { None }
    }

    /// Whether `sum` binds `undo` to `parent`. If not, the work was in vain.
    fn is_bound(&mut self, parent: &BlockHash, undo: &[u8], sum: &[u8; CHECKSUM_SIZE]) -> bool {
        self.hashes += 1;
        let bound = undo_checksum(parent, undo) == *sum;
        if !bound {
            self.charge(undo.len() + 128);
        }
        bound
    }

    /// Takes note of bytes that were hashed or read in vain.
    pub(super) fn charge(&mut self, bytes: usize) {
        self.patience = self.patience.saturating_sub(bytes as u64);
    }

    /// Whether more may be tried in vain.
    pub(super) fn has_patience(&self) -> bool {
        self.patience > 0
    }

    /// Whether a child of `parent` has `count` transactions and no undo of its own yet.
    fn is_open(&self, parent: &BlockHash, count: u32) -> bool {
        let children = self.by_parent.get(parent).map_or(&[][..], Vec::as_slice);
        children.iter().map(|i| &self.blocks[*i]).any(|block| !block.own && block.record.tx_count == count)
    }

    /// Parents (other than the last match) of the blocks with `count` transactions and no undo of their own. First where
    /// a chain can go on: behind a block that has undo, genesis, or one in another file.
    fn parents(&self, count: u32) -> Vec<BlockHash> {
        let blocks = self.by_tx_count.get(&count).map_or(&[][..], Vec::as_slice);
        let open = blocks.iter().map(|index| &self.blocks[*index]).filter(|block| !block.own);
        let mut seen: HashSet<_> = self.last.into_iter().collect();
        let mut parents: Vec<_> = open.map(|block| block.record.header.prev_blockhash).collect();
        parents.retain(|parent| seen.insert(*parent));
        let blocked = |block: &Candidate| block.undo.is_none() && !block.is_genesis();
        parents.sort_by_key(|parent| self.by_hash.get(parent).is_some_and(|index| blocked(&self.blocks[*index])));
        parents
    }

    fn coinbase_only(&mut self) -> &HashMap<[u8; CHECKSUM_SIZE], BlockHash> {
        let (by_tx_count, blocks, hashes) = (&self.by_tx_count, &self.blocks, &mut self.hashes);
        self.coinbase_only.get_or_insert_with(|| {
            let open = by_tx_count.get(&1).into_iter().flatten().map(|i| &blocks[*i]).filter(|block| !block.own);
            let parents: HashSet<_> = open.map(|block| block.record.header.prev_blockhash).collect();
            *hashes += parents.len() as u64;
            parents.into_iter().map(|parent| (undo_checksum(&parent, &[0]), parent)).collect()
        })
    }

    /// The children of `parent` that `undo` can belong to.
    fn fitting(&self, parent: &BlockHash, undo: &[u8]) -> Result<Vec<Sibling>, SourceError> {
        let children = self.by_parent.get(parent).map_or(&[][..], Vec::as_slice).iter().copied();
        let count = tx_count(undo);
        let fitting: Vec<_> = children.filter(|i| Some(self.blocks[*i].record.tx_count) == count).collect();
        if fitting.len() < 2 || undo == [0] {
            return Ok(fitting.into_iter().map(Sibling::only).collect());
        }
        let Ok(undo) = PrevoutsView::from_undo(undo) else { return Ok(Vec::new()) };
        let mut siblings = Vec::new();
        for index in fitting {
            let block = self.source.block(&self.blocks[index].record)?;
            siblings.extend(Sibling::new(index, &block, &undo).ok().flatten());
        }
        Ok(likeliest(siblings))
    }

    /// Assumes that a record that fits nothing was the next block's, so that the one after it is met at once again.
    fn skip(&mut self) {
        let children = self.last.and_then(|last| self.by_parent.get(&last));
        if let Some([only]) = children.map(Vec::as_slice) {
            self.last = Some(self.blocks[*only].record.hash);
        }
    }
}

/// Transactions of the block whose undo starts with these bytes: its count leaves out the coinbase.
pub(super) fn tx_count(undo: &[u8]) -> Option<u32> {
    u32::try_from(Reader::new(undo).compact_size().ok()?).ok()?.checked_add(1)
}
