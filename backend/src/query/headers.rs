//! Headers of the best chain, as Core's REST and RPC tell them.

use bitcoin::block::Header;
use bitcoin::{BlockHash, Work};
use hindsight_shared::Height;

use super::{Explorer, facts};
use crate::chain::{Chain, Node};

/// A header of the best chain with what Core tells of it.
#[derive(Clone, Copy, Debug)]
pub struct HeaderFacts {
    /// The header.
    pub header: Header,
    /// Its height.
    pub height: Height,
    /// Blocks of the best chain from this one on.
    pub confirmations: u32,
    /// Median time past; `None` where ancestors are missing.
    pub median_time: Option<u32>,
    /// Work from genesis up to here; `None` where ancestors are missing.
    pub chain_work: Option<Work>,
    /// Transactions.
    pub tx_count: u32,
    /// The next block.
    pub next: Option<BlockHash>,
}

impl Explorer {
    /// The block of the best chain at a height.
    pub fn hash_at(&self, height: Height) -> Option<BlockHash> {
        self.chain.read().by_height(height).map(|node| node.hash)
    }

    /// Headers of up to `count` blocks of the best chain, from this one upwards; none where it is not on the best chain.
    /// Where a file has not been read yet they end, because how many transactions its blocks have is not known.
    pub fn headers(&self, from: &BlockHash, count: usize) -> Vec<HeaderFacts> {
        let chain = self.chain.read();
        let mut next = chain.by_hash(from).filter(|node| chain.is_best(node));
        let nodes = std::iter::from_fn(|| {
            let node = next?;
            next = node.height.and_then(Height::next).and_then(|above| chain.by_height(above));
            Some(node)
        });
        nodes.take(count).take_while(|node| !node.is_hinted()).filter_map(|node| header_facts(&chain, node)).collect()
    }
}

fn header_facts(chain: &Chain, node: &Node) -> Option<HeaderFacts> {
    let facts = facts(chain, node);
    Some(HeaderFacts {
        header: node.header,
        height: node.height?,
        confirmations: facts.confirmations,
        median_time: chain.median_time(node),
        chain_work: node.linked.then_some(node.work()),
        tx_count: facts.tx_count,
        next: facts.next,
    })
}
