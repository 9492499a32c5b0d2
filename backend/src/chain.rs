//! The chain map: every block that was found, linked to its parent, and which of them are the best chain.
//!
//! It is derived from what walking the files found ([`BlockFile`]) and lives in memory: at mainnet's size a few hundred
//! bytes a block. `ingest` changes it, `query` reads it; both hold its lock for moments only, never across I/O.
//! Linking is in `link`, the choice of the best chain in `best`.

use std::collections::{BTreeSet, HashMap};

use bitcoin::block::Header;
use bitcoin::{BlockHash, CompactTarget, Network, Work};
use hindsight_shared::Height;
use hindsight_shared::network::NetworkExt;
use hindsight_shared::search::ListStart;
use smallvec::SmallVec;

use crate::source::{BlockFile, BlockRecord, FileStamp, Found, Position};

mod best;
mod hints;
mod link;
#[cfg(test)]
mod tests;

pub use best::{Best, NeedsPair, Segment, Undo};

/// A block's number in the map.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct NodeId(u32);

/// Nearly every block has one child, and one place: a million of each are not worth as many pieces of memory.
type Children = SmallVec<[NodeId; 1]>;

/// One place where a block is stored.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Place {
    found: Found,
    position: Position,
    size: u32,
    tx_count: u32,
    stated_height: Option<Height>,
}

/// One block: its header, its place in the tree of headers, and everywhere it is stored.
#[derive(Clone, Debug)]
pub struct Node {
    /// The block's header.
    pub header: Header,
    /// The header's hash.
    pub hash: BlockHash,
    /// The height, counted from genesis or from what the coinbases of its island state; see [`Node::linked`].
    pub height: Option<Height>,
    /// Whether parents lead to genesis.
    pub linked: bool,
    stated_height: Option<Height>,
    /// Work from the lowest block of its island up to here.
    work: Work,
    parent: Option<NodeId>,
    root: NodeId,
    children: Children,
    /// Believable ones first. None: the file was pruned or written over.
    places: SmallVec<[Place; 1]>,
    size: u32,
    tx_count: u32,
}

impl Node {
    /// Bytes of the block. As Core's index, the map still knows them when the block has been pruned.
    pub const fn size(&self) -> u32 {
        self.size
    }

    /// Transactions of the block, pruned or not.
    pub const fn tx_count(&self) -> u32 {
        self.tx_count
    }

    /// Every place of the block, the most believable first: reached by hopping before found by searching.
    pub fn records(&self) -> impl Iterator<Item = BlockRecord> + '_ {
        self.places.iter().map(|place| BlockRecord {
            header: self.header,
            hash: self.hash,
            tx_count: place.tx_count,
            stated_height: place.stated_height,
            size: place.size,
            position: place.position,
            found: place.found,
        })
    }

    /// Work from the lowest block of its island up to here: of the whole chain, if it is linked.
    pub const fn work(&self) -> Work {
        self.work
    }

    /// Whether some file holds it.
    pub fn is_stored(&self) -> bool {
        !self.places.is_empty()
    }
}

/// What a walk found in one file, by reference to the blocks.
#[derive(Clone, Debug)]
struct WalkedFile {
    stamp: FileStamp,
    blocks: Vec<NodeId>,
}

/// The map.
#[derive(Debug)]
pub struct Chain {
    network: Network,
    genesis: BlockHash,
    nodes: Vec<Node>,
    by_hash: HashMap<BlockHash, NodeId>,
    /// Work of each target there has been: two thousand blocks share one, and a division of 256 bits takes a microsecond.
    works: HashMap<CompactTarget, Work>,
    /// Blocks whose parent has not been found, by that parent.
    waiting: HashMap<BlockHash, Children>,
    /// Blocks without children: the ends of all branches.
    leaves: BTreeSet<NodeId>,
    /// The files, as last walked.
    files: HashMap<u32, WalkedFile>,
    /// Blocks that have joined others, whose heights and work are not counted yet, nor those of their descendants.
    joined: Vec<NodeId>,
    /// Whether every block has to be counted anew.
    recount: bool,
    /// Whether blocks have been counted anew since the last choice, so that it may lie in an island that has been joined
    /// to another.
    relinked: bool,
    /// Blocks that hints have told of, found meanwhile or not, each with the file that may hold it.
    hinted: Vec<(NodeId, u32)>,
    /// Those of them that have not been found.
    unfound: usize,
    /// How often the best chain, or which blocks are stored, has changed.
    changes: u64,
    best: Best,
}

impl Chain {
    /// An empty map.
    pub fn new(network: Network) -> Self {
        Self {
            network,
            genesis: network.genesis_hash(),
            nodes: Vec::new(),
            by_hash: HashMap::new(),
            works: HashMap::new(),
            waiting: HashMap::new(),
            leaves: BTreeSet::new(),
            files: HashMap::new(),
            joined: Vec::new(),
            recount: false,
            relinked: false,
            hinted: Vec::new(),
            unfound: 0,
            changes: 0,
            best: Best::default(),
        }
    }

    /// The network whose rules hold.
    pub const fn network(&self) -> Network {
        self.network
    }

    /// How many blocks have been found, stale ones included.
    pub fn len(&self) -> usize {
        self.nodes.len() - self.unfound
    }

    /// A number that grows whenever the best chain changes, or which blocks are stored.
    pub const fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether none has been found.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The node behind an id.
    pub fn node(&self, id: NodeId) -> &Node {
        // Ids are handed out by this map only, and nodes are never removed.
        &self.nodes[index(id)]
    }

    /// The block with this hash, on the best chain or not.
    pub fn by_hash(&self, hash: &BlockHash) -> Option<&Node> {
        self.by_hash.get(hash).map(|&id| self.node(id))
    }

    /// The block of the best chain at this height.
    pub fn by_height(&self, height: Height) -> Option<&Node> {
        self.best.at(height).map(|id| self.node(id))
    }

    /// The best chain's last block.
    pub fn tip(&self) -> Option<&Node> {
        self.best.tip.map(|id| self.node(id))
    }

    /// The best chain as last chosen.
    pub const fn best(&self) -> &Best {
        &self.best
    }

    /// Whether the best chain goes through a block.
    pub fn is_best(&self, node: &Node) -> bool {
        node.height.and_then(|height| self.by_height(height)).is_some_and(|best| best.hash == node.hash)
    }

    /// Heights of the best chain from a start (without one, from the tip) downwards, across gaps.
    pub fn downwards(&self, from: Option<ListStart>) -> impl Iterator<Item = Height> + '_ {
        let from = match from {
            None => self.tip().and_then(|tip| tip.height),
            Some(ListStart::Height(height)) => Some(height),
            Some(ListStart::Day(day)) => self.last_until(day.end()),
        };
        from.into_iter().flat_map(|from| {
            let segments = self.best.segments().iter().rev().filter(move |segment| segment.from() <= from);
            segments.flat_map(move |segment| (segment.from().0..=segment.to().min(from).0).rev().map(Height))
        })
    }

    /// Median of the times of a block and its ten nearest ancestors (Core's `GetMedianTimePast`); `None` where one of
    /// those is missing.
    pub fn median_time(&self, node: &Node) -> Option<u32> {
        let times = self.recent_times(node);
        let complete = times.len() == MEDIAN_SPAN || node.linked;
        middle_of(times).filter(|_| complete)
    }

    /// Times of a block and of its nearest ancestors: of eleven in all, or of as many as there are.
    fn recent_times(&self, node: &Node) -> Vec<u32> {
        let nodes = std::iter::successors(Some(node), |node| node.parent.map(|parent| self.node(parent)));
        nodes.take(MEDIAN_SPAN).map(|node| node.header.time).collect()
    }

    /// The highest block of the best chain whose header's time is not after `time`.
    ///
    /// Times may go backwards, but each is after the median of the eleven before it (Core's
    /// `ContextualCheckBlockHeader`), and those medians never do: a search by halves finds the block above which every
    /// time is later, and a few steps down from there is the one that is not. In the first ten blocks of an island the
    /// medians are those of what is there.
    pub fn last_until(&self, time: u32) -> Option<Height> {
        self.best.segments().iter().rev().find_map(|segment| {
            let (mut low, mut high) = (segment.from().0, segment.to().0);
            while low < high {
                let middle = low + (high - low) / 2;
                if self.by_height(Height(middle)).is_some_and(|node| middle_of(self.recent_times(node)) <= Some(time)) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            let is_until = |height: &Height| self.by_height(*height).is_some_and(|node| node.header.time <= time);
            (segment.from().0..=low).rev().map(Height).find(is_until)
        })
    }

    /// Whether this is the first block of all.
    pub fn is_genesis(&self, hash: &BlockHash) -> bool {
        *hash == self.genesis
    }

    /// Takes over what a walk found in one file, in place of what was known of that file.
    pub fn set_file(&mut self, file: &BlockFile) {
        let before = self.take_file(file.number);
        let mut blocks = Vec::with_capacity(file.records.len());
        for record in &file.records {
            let id = self.id_of(record);
            if self.place(id, record) {
                blocks.push(id);
            }
        }
        self.changes += u64::from(before != blocks);
        self.files.insert(file.number, WalkedFile { stamp: file.stamp, blocks });
    }

    /// Notes one place of a block, the most believable first; whether it is the block's first in that file.
    fn place(&mut self, id: NodeId, record: &BlockRecord) -> bool {
        self.unfound = self.unfound.saturating_sub(usize::from(self.is_hinted(id)));
        let node = &mut self.nodes[index(id)];
        let first = node.places.iter().all(|place| place.position.file != record.position.file);
        node.places.push(Place {
            found: record.found,
            position: record.position,
            size: record.size,
            tx_count: record.tx_count,
            stated_height: record.stated_height,
        });
        node.places.sort_by_key(|place| (place.found, place.position));
        // Anybody can inscribe a header with another coinbase behind it: what the most believable place says counts.
        if let Some(&Place { size, tx_count, stated_height, .. }) = node.places.first() {
            (node.size, node.tx_count) = (size, tx_count);
            if node.stated_height != stated_height {
                node.stated_height = stated_height;
                // Where parents lead to genesis, heights are counted from there.
                self.recount |= !node.linked;
            }
        }
        first
    }

    /// Forgets where a file's blocks are stored; their headers stay.
    pub fn remove_file(&mut self, number: u32) {
        self.changes += u64::from(!self.take_file(number).is_empty());
    }

    /// The same; whose blocks they were.
    fn take_file(&mut self, number: u32) -> Vec<NodeId> {
        let blocks = self.files.remove(&number).map(|file| file.blocks).unwrap_or_default();
        for &id in &blocks {
            self.nodes[index(id)].places.retain(|place| place.position.file != number);
        }
        blocks
    }

    /// Numbers of the files that are known.
    pub fn file_numbers(&self) -> Vec<u32> {
        self.files.keys().copied().collect()
    }

    /// What is known of a file, as its walk found it.
    pub fn file(&self, number: u32) -> Option<BlockFile> {
        let file = self.files.get(&number)?;
        let mut records: Vec<_> = file
            .blocks
            .iter()
            .flat_map(|&id| self.node(id).records())
            .filter(|record| record.position.file == number)
            .collect();
        records.sort_by_key(|record| record.position);
        Some(BlockFile { number, stamp: file.stamp, records })
    }

    fn work_of(&mut self, header: Header) -> Work {
        *self.works.entry(header.bits).or_insert_with(|| header.work())
    }

    fn id_of(&mut self, record: &BlockRecord) -> NodeId {
        if let Some(&id) = self.by_hash.get(&record.hash) {
            return id;
        }
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        let work = self.work_of(record.header);
        self.nodes.push(Node {
            header: record.header,
            hash: record.hash,
            height: None,
            linked: false,
            stated_height: record.stated_height,
            work,
            parent: None,
            root: id,
            children: Children::new(),
            places: SmallVec::new(),
            size: record.size,
            tx_count: record.tx_count,
        });
        self.by_hash.insert(record.hash, id);
        self.join(id);
        id
    }
}

/// Blocks whose times make a median (Core's `nMedianTimeSpan`).
const MEDIAN_SPAN: usize = 11;

fn middle_of(mut times: Vec<u32>) -> Option<u32> {
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

fn index(id: NodeId) -> usize {
    usize::try_from(id.0).unwrap_or(usize::MAX)
}
