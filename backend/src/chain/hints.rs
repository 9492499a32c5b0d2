//! Blocks that only Core's own index has told of, while the files that hold them have not been read.
//!
//! Nothing in a hint has to be believed. A block whose hash the next one names as its parent's is that parent, whoever
//! brings its header: so only ancestors of the best chain's blocks are taken, and either all of them down to genesis or
//! none. Which file holds a block is found out by reading that file. Until then nothing else is known of the block, and
//! when all files have been read, what was in none is forgotten.

use super::{Chain, Node, NodeId, index};
use crate::source::{BlockFile, BlockRecord, FileStamp, Found, Hint, Hints, Position};

/// The number of a file that there cannot be: its blocks are in none.
const NO_FILE: u32 = u32::MAX;

impl Node {
    /// Whether nothing is known of the block but its header: the files that may hold it have not been read.
    pub const fn is_hinted(&self) -> bool {
        // Every block that was found has a transaction.
        self.tx_count == 0
    }
}

impl Chain {
    /// The hints that lead from the lowest block below the tip down to genesis, lowest first; none where one is missing,
    /// or where there is nothing between the two.
    pub fn ancestors_among<'h>(&self, hints: &'h Hints) -> Vec<&'h Hint> {
        let Some(lowest) = self.best.segments().last().and_then(|segment| self.best.at(segment.from())) else {
            return Vec::new();
        };
        let (mut ancestors, mut header) = (Vec::new(), self.node(lowest).header);
        let mut hash = self.node(lowest).hash;
        while hash != self.genesis {
            hash = header.prev_blockhash;
            header = match (self.by_hash(&hash), hints.get(&hash)) {
                (Some(node), _) => node.header,
                (None, Some(hint)) => {
                    ancestors.push(hint);
                    hint.header
                }
                (None, None) => return Vec::new(),
            };
        }
        ancestors.reverse();
        ancestors
    }

    /// Takes over a hint of an ancestor, unless the block has been found meanwhile.
    pub fn add_hinted(&mut self, hint: &Hint) {
        if !self.by_hash.contains_key(&hint.hash) {
            let position = Position { file: hint.file, offset: 0 };
            let Hint { header, hash, .. } = *hint;
            let record =
                BlockRecord { header, hash, tx_count: 0, stated_height: None, size: 0, position, found: Found::Search };
            let id = self.id_of(&record);
            self.hinted.push((id, hint.file));
            self.unfound += 1;
        }
    }

    /// The file that may hold a block of which only a hint is known.
    pub fn hinted_file(&self, node: &Node) -> Option<u32> {
        let id = self.by_hash.get(&node.hash).filter(|_| node.is_hinted())?;
        let at = self.hinted.binary_search_by_key(id, |&(id, _)| id).ok()?;
        self.hinted.get(at).map(|&(_, file)| file)
    }

    /// Whether only hints are known of some blocks.
    pub const fn has_hinted(&self) -> bool {
        self.unfound > 0
    }

    /// The same map without the blocks that were in no file; links and the best chain are to be found anew.
    pub fn without_hinted(&self) -> Self {
        let mut map = Self::new(self.network);
        map.changes = self.changes;
        for file in self.files.keys().filter_map(|&number| self.file(number)) {
            map.set_file(&file);
        }
        // Headers of pruned blocks are worth keeping.
        let pruned = self.nodes.iter().filter(|node| !node.is_stored() && !node.is_hinted()).map(Node::without_place);
        map.set_file(&BlockFile { number: NO_FILE, stamp: FileStamp::default(), records: pruned.collect() });
        map.remove_file(NO_FILE);
        map
    }
}

impl Node {
    fn without_place(&self) -> BlockRecord {
        BlockRecord {
            header: self.header,
            hash: self.hash,
            tx_count: self.tx_count,
            stated_height: self.stated_height,
            size: self.size,
            position: Position { file: NO_FILE, offset: 0 },
            found: Found::Search,
        }
    }
}

impl Chain {
    pub(super) fn is_hinted(&self, id: NodeId) -> bool {
        self.nodes[index(id)].is_hinted()
    }
}
