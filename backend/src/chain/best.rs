//! Which blocks are the best chain, as far as files can tell.
//!
//! Core writes a block's undo only after it has validated the block, and may lose it later: so a block counts as
//! connected when its undo, or that of any descendant, is there. Among connected blocks that hang together the one with
//! most work is the tip; heights would be wrong on testnets. Between islands (a pruned or assumeutxo node lacks what
//! lies between them) the one with the greatest height leads, and the others fill in below it.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use bitcoin::{BlockHash, Work};
use hindsight_shared::Height;

use super::{Chain, Node, NodeId};
use crate::source::Position;

/// Whether a block's undo is there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Undo {
    /// Written here.
    At(Position),
    /// Its file has none for it.
    None,
    /// This file has not been paired yet.
    Unpaired(u32),
}

/// The choice cannot go on before this file's undo has been paired with its blocks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NeedsPair(pub u32);

/// Consecutive blocks of the best chain.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Segment {
    base: Height,
    blocks: Vec<NodeId>,
}

impl Segment {
    /// The lowest height.
    pub const fn from(&self) -> Height {
        self.base
    }

    /// The greatest height.
    pub fn to(&self) -> Height {
        let above = u32::try_from(self.blocks.len().saturating_sub(1)).unwrap_or(u32::MAX);
        Height(self.base.0.saturating_add(above))
    }
}

/// The best chain.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Best {
    /// Lowest first, never overlapping.
    segments: Vec<Segment>,
    pub(super) tip: Option<NodeId>,
    tied: Option<BlockHash>,
}

impl Best {
    /// Ranges of heights without gaps, lowest first.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Another block with as much work as the tip, whose undo was written earlier: files cannot tell which of the two
    /// the node prefers.
    pub const fn tied(&self) -> Option<BlockHash> {
        self.tied
    }

    pub(super) fn at(&self, height: Height) -> Option<NodeId> {
        let segment = self.segments.partition_point(|segment| segment.base <= height).checked_sub(1)?;
        let segment = self.segments.get(segment)?;
        segment.blocks.get(usize::try_from(height.0 - segment.base.0).ok()?).copied()
    }
}

/// The connected tip of blocks that hang together.
struct Tip {
    id: NodeId,
    work: Work,
    /// Where its undo was written; none for genesis.
    undo: Option<Position>,
    tied: Option<NodeId>,
}

impl Chain {
    /// Chooses the best chain. Asks `undo` of as few blocks as it can, since an answer may cost reading a file: with
    /// `leading` only those of the island that leads, which is right while the islands are still growing together.
    ///
    /// # Errors
    /// [`NeedsPair`] when a file's undo has to be paired before the choice can be made.
    pub fn choose(&self, leading: bool, undo: &dyn Fn(&Node) -> Undo) -> Result<Best, NeedsPair> {
        let mut tips = Vec::new();
        for island in self.islands() {
            tips.extend(self.connected_tip(&island, undo)?);
            if leading && !tips.is_empty() {
                break;
            }
        }
        tips.sort_by_key(|tip| Reverse((self.node(tip.id).height, self.node(tip.id).linked, self.node(tip.id).hash)));
        let mut segments: Vec<Segment> = Vec::new();
        for tip in &tips {
            let below = segments.last().map(|segment| segment.base);
            if below.is_none_or(|below| self.node(tip.id).height < Some(below)) {
                segments.extend(self.segment_below(tip.id));
            }
        }
        segments.reverse();
        let first = tips.first();
        let tied = first.and_then(|tip| tip.tied).map(|id| self.node(id).hash);
        Ok(Best { segments, tip: first.map(|tip| tip.id), tied })
    }

    /// Puts a choice in force; whether it differs from the last one.
    pub fn set_best(&mut self, best: Best) -> bool {
        let changed = self.best != best;
        self.changes += u64::from(changed);
        self.best = best;
        self.relinked = false;
        changed
    }

    /// Leaves by the island that they belong to: islands by greatest height, those that are linked
    /// to genesis first among equals; each island's leaves by work, most first. An island without heights cannot be
    /// placed and is left out.
    fn islands(&self) -> Vec<Vec<NodeId>> {
        let mut islands: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
        for &id in self.leaves.iter().filter(|&&id| self.node(id).height.is_some()) {
            islands.entry(self.node(id).root).or_default().push(id);
        }
        let mut islands: Vec<_> = islands.into_values().collect();
        for leaves in &mut islands {
            leaves.sort_by_key(|&id| Reverse((self.node(id).work, self.node(id).hash)));
        }
        islands.sort_by_cached_key(|leaves| {
            let greatest =
                leaves.iter().map(|&id| (self.node(id).height, self.node(id).linked, self.node(id).hash)).max();
            Reverse(greatest)
        });
        islands
    }

    fn connected_tip(&self, leaves: &[NodeId], undo: &dyn Fn(&Node) -> Undo) -> Result<Option<Tip>, NeedsPair> {
        let mut best: Option<Tip> = None;
        // Blocks without undo that a heavier branch has come down through: below them there is nothing new.
        let mut passed = HashSet::new();
        for &leaf in leaves {
            let least = best.as_ref().map(|tip| tip.work);
            let Some((id, position)) = self.connected_from(leaf, least, &mut passed, undo)? else { continue };
            let work = self.node(id).work;
            best = Some(match best {
                None => Tip { id, work, undo: position, tied: None },
                Some(tip) if tip.id == id || work < tip.work => tip,
                Some(tip) if work > tip.work => Tip { id, work, undo: position, tied: None },
                Some(tip) if position > tip.undo => Tip { id, work, undo: position, tied: Some(tip.id) },
                Some(tip) => Tip { tied: Some(id), ..tip },
            });
        }
        Ok(best)
    }

    /// The first block with undo on the way down from a leaf, unless it has less work than `least`. Whether a block has
    /// undo of which only a hint is known cannot be told: nor can it of those below it.
    fn connected_from(
        &self,
        leaf: NodeId,
        least: Option<Work>,
        passed: &mut HashSet<NodeId>,
        undo: &dyn Fn(&Node) -> Undo,
    ) -> Result<Option<(NodeId, Option<Position>)>, NeedsPair> {
        let mut next = Some(leaf);
        while let Some(id) = next {
            let node = self.node(id);
            if least.is_some_and(|least| node.work < least) || passed.contains(&id) || self.is_hinted(id) {
                return Ok(None);
            }
            if node.hash == self.genesis {
                return Ok(Some((id, None)));
            }
            match undo(node) {
                Undo::At(position) => return Ok(Some((id, Some(position)))),
                Undo::None => {
                    passed.insert(id);
                    next = node.parent;
                }
                Undo::Unpaired(file) => return Err(NeedsPair(file)),
            }
        }
        Ok(None)
    }

    /// Everything from a tip down to its island's lowest block. Where the last choice went through the same blocks,
    /// the lower part is taken over from it.
    fn segment_below(&self, tip: NodeId) -> Option<Segment> {
        let mut blocks = Vec::new();
        let mut next = Some(tip);
        let mut base = self.node(tip).height?;
        while let Some(id) = next {
            let node = self.node(id);
            base = node.height?;
            if let Some(known) = self.known_below(id, base) {
                blocks.reverse();
                blocks.splice(0..0, known.1.iter().copied());
                return Some(Segment { base: known.0, blocks });
            }
            blocks.push(id);
            next = node.parent;
        }
        blocks.reverse();
        Some(Segment { base, blocks })
    }

    /// The last choice's blocks up to `id`, if it went through it.
    fn known_below(&self, id: NodeId, height: Height) -> Option<(Height, &[NodeId])> {
        if self.relinked {
            return None;
        }
        let segment = self.best.segments.partition_point(|segment| segment.base <= height).checked_sub(1)?;
        let segment = self.best.segments.get(segment)?;
        let count = usize::try_from(height.0 - segment.base.0).ok()?;
        let known = segment.blocks.get(..=count)?;
        (known.last() == Some(&id)).then_some((segment.base, known))
    }
}
