//! Links blocks to their parents, and counts heights and work from there.
//!
//! A child may be found before its parent, even in an earlier file, and files are walked newest first. So a block that
//! joins other blocks is only noted; [`Chain::link`] counts it and its descendants before the next choice. The usual
//! case, a new block on a counted one, is counted at once. Where much has joined, as in the first reading, one pass over
//! everything is cheaper than a pass for each.

use hindsight_shared::Height;
use hindsight_shared::network::NetworkExt;

use super::{Chain, NodeId, index};

/// Blocks counted one join at a time before a pass over everything is taken instead.
const MOST_COUNTED: usize = 8192;

impl Chain {
    /// Hangs a new node below its parent and below itself the nodes that waited for it.
    pub(super) fn join(&mut self, id: NodeId) {
        let hash = self.node(id).hash;
        let children = self.waiting.remove(&hash).unwrap_or_default();
        if children.is_empty() {
            self.leaves.insert(id);
        }
        for &child in &children {
            self.nodes[index(child)].parent = Some(id);
        }
        let alone = children.is_empty();
        self.nodes[index(id)].children = children;
        let previous = self.node(id).header.prev_blockhash;
        match self.by_hash.get(&previous).copied().filter(|_| hash != self.genesis) {
            Some(parent) => {
                self.nodes[index(id)].parent = Some(parent);
                self.nodes[index(parent)].children.push(id);
                self.leaves.remove(&parent);
                if !(alone && self.count_from_parent(id, parent)) {
                    self.joined.push(id);
                }
            }
            None => {
                self.waiting.entry(previous).or_default().push(id);
                self.joined.push(id);
            }
        }
    }

    /// Counts one block from its parent, where the parent has been counted and its chain is sure of its heights.
    fn count_from_parent(&mut self, id: NodeId, parent: NodeId) -> bool {
        let below = self.node(parent);
        let (root, linked, work) = (below.root, below.linked, below.work);
        let Some(height) = below.height.and_then(Height::next) else { return false };
        let own = self.work_of(self.node(id).header);
        let node = &mut self.nodes[index(id)];
        if !linked && node.stated_height != Some(height) {
            return false;
        }
        node.height = Some(height);
        node.linked = linked;
        node.root = root;
        // Work is proven, so that no sum of it comes near 256 bits.
        node.work = work + own;
        true
    }

    /// Counts heights and work of everything that has joined since the last time.
    pub fn link(&mut self) {
        let joined = std::mem::take(&mut self.joined);
        let mut left = MOST_COUNTED;
        let each = !self.recount && joined.iter().all(|&id| self.count_joined(id, &mut left));
        if each {
            self.relinked |= !joined.is_empty();
            return;
        }
        self.recount = false;
        self.relinked = true;
        let mut order = Vec::new();
        let roots: Vec<NodeId> = self.ids().filter(|&id| self.node(id).parent.is_none()).collect();
        for root in roots {
            self.order_within(root, &mut order, usize::MAX);
            self.count_island(&order);
        }
    }

    /// Counts what hangs on a block that has joined, if it is no more than `left`.
    fn count_joined(&mut self, id: NodeId, left: &mut usize) -> bool {
        // A chain that leads to genesis is counted from the block on; an island's heights depend on all of it.
        let linked = self.node(id).parent.is_some_and(|parent| self.node(parent).linked);
        let mut from = id;
        while let Some(parent) = self.node(from).parent.filter(|_| !linked) {
            from = parent;
            let Some(less) = left.checked_sub(1) else { return false };
            *left = less;
        }
        let mut order = Vec::new();
        if !self.order_within(from, &mut order, *left) {
            return false;
        }
        *left -= order.len();
        if linked {
            for &(id, _) in &order {
                if let Some(parent) = self.node(id).parent {
                    self.count_from_parent(id, parent);
                }
            }
        } else {
            self.count_island(&order);
        }
        true
    }

    fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)).map(NodeId)
    }

    /// A block and all its descendants with their distance from it, parents before children; false where they are more
    /// than `most`.
    fn order_within(&self, root: NodeId, order: &mut Vec<(NodeId, u32)>, most: usize) -> bool {
        order.clear();
        order.push((root, 0));
        let mut next = 0;
        while let Some(&(id, depth)) = order.get(next) {
            if order.len() > most {
                return false;
            }
            order.extend(self.node(id).children.iter().map(|&child| (child, depth.saturating_add(1))));
            next += 1;
        }
        true
    }

    /// Counts everything from the lowest block of an island, or from genesis.
    fn count_island(&mut self, order: &[(NodeId, u32)]) {
        let Some(&(root, _)) = order.first() else { return };
        let linked = self.node(root).hash == self.genesis;
        let base = if linked { Some(Height(0)) } else { self.island_base(order) };
        for &(id, depth) in order {
            let below = self.node(id).parent.map(|parent| self.node(parent).work);
            let own = self.work_of(self.node(id).header);
            let node = &mut self.nodes[index(id)];
            node.work = below.map_or(own, |below| below + own);
            node.root = root;
            node.linked = linked;
            node.height = base.and_then(|base| base.0.checked_add(depth)).map(Height);
        }
    }

    /// The height of an island's lowest block: what the coinbases state (BIP34), if they agree. Only blocks below the
    /// network's BIP34 height may state nothing.
    fn island_base(&self, order: &[(NodeId, u32)]) -> Option<Height> {
        let stated = |id: NodeId| self.node(id).stated_height;
        let base = order.iter().find_map(|&(id, depth)| stated(id)?.0.checked_sub(depth))?;
        let agree = order.iter().all(|&(id, depth)| {
            let height = Height(base.saturating_add(depth));
            stated(id).map_or(height < self.network.bip34_height(), |stated| stated == height)
        });
        agree.then_some(Height(base))
    }
}
