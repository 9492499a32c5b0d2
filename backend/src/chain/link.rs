//! Links blocks to their parents, and counts heights and work from there.
//!
//! A child may be found before its parent, even in an earlier file, and files are walked newest first. So a block that
//! joins other blocks only marks the map as unlinked; [`Chain::link`] then counts everything in one pass. The usual
//! case, a new block on a known one, needs no pass.

use hindsight_shared::Height;
use hindsight_shared::network::NetworkExt;

use super::{Chain, NodeId, index};

impl Chain {
    /// Hangs a new node below its parent and below itself the nodes that waited for it.
    pub(super) fn join(&mut self, id: NodeId) {
        let hash = self.node(id).hash;
        if let Some(children) = self.waiting.remove(&hash) {
            for &child in &children {
                self.nodes[index(child)].parent = Some(id);
            }
            self.nodes[index(id)].children = children;
            self.unlinked = true;
        } else {
            self.leaves.insert(id);
        }
        let previous = self.node(id).header.prev_blockhash;
        match self.by_hash.get(&previous).copied().filter(|_| hash != self.genesis) {
            Some(parent) => {
                self.nodes[index(id)].parent = Some(parent);
                self.nodes[index(parent)].children.push(id);
                self.leaves.remove(&parent);
                self.unlinked |= !self.count_from_parent(id, parent);
            }
            None => {
                self.waiting.entry(previous).or_default().push(id);
                self.unlinked = true;
            }
        }
    }

    /// Counts one block from its parent, where the parent has been counted and its chain is sure of its heights.
    fn count_from_parent(&mut self, id: NodeId, parent: NodeId) -> bool {
        let above = self.node(parent);
        let (root, linked, work) = (above.root, above.linked, above.work);
        let Some(height) = above.height.and_then(Height::next) else { return false };
        let node = &mut self.nodes[index(id)];
        if !linked && node.stated_height != Some(height) {
            return false;
        }
        node.height = Some(height);
        node.linked = linked;
        node.root = root;
        // Work is proven, so that no sum of it comes near 256 bits.
        node.work = work + node.header.work();
        true
    }

    /// Counts heights and work of every block, if anything has joined since the last time.
    pub fn link(&mut self) {
        if !std::mem::take(&mut self.unlinked) {
            return;
        }
        let roots: Vec<NodeId> = self.ids().filter(|&id| self.node(id).parent.is_none()).collect();
        let mut order = Vec::new();
        for root in roots {
            self.order_from(root, &mut order);
            let linked = self.node(root).hash == self.genesis;
            let base = if linked { Some(Height(0)) } else { self.island_base(&order) };
            self.count(&order, base, linked);
        }
        self.relinked = true;
    }

    fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)).map(NodeId)
    }

    /// A block and all its descendants with their distance from it, parents before children.
    fn order_from(&self, root: NodeId, order: &mut Vec<(NodeId, u32)>) {
        order.clear();
        order.push((root, 0));
        let mut next = 0;
        while let Some(&(id, depth)) = order.get(next) {
            order.extend(self.node(id).children.iter().map(|&child| (child, depth.saturating_add(1))));
            next += 1;
        }
    }

    /// The height of an island's lowest block: what the coinbases state, if they agree (`core-block-files`, BIP34).
    /// Only blocks below the network's BIP34 height may state nothing.
    fn island_base(&self, order: &[(NodeId, u32)]) -> Option<Height> {
        let stated = |id: NodeId| self.node(id).stated_height;
        let base = order.iter().find_map(|&(id, depth)| stated(id)?.0.checked_sub(depth))?;
        let agree = order.iter().all(|&(id, depth)| {
            let height = Height(base.saturating_add(depth));
            stated(id).map_or(height < self.network.bip34_height(), |stated| stated == height)
        });
        agree.then_some(Height(base))
    }

    fn count(&mut self, order: &[(NodeId, u32)], base: Option<Height>, linked: bool) {
        let Some(&(root, _)) = order.first() else { return };
        for &(id, depth) in order {
            let below = self.node(id).parent.map(|parent| self.node(parent).work);
            let node = &mut self.nodes[index(id)];
            let own = node.header.work();
            node.work = below.map_or(own, |below| below + own);
            node.root = root;
            node.linked = linked;
            node.height = base.and_then(|base| base.0.checked_add(depth)).map(Height);
        }
    }
}
