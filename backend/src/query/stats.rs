//! Statistics of blocks: of one, computed on the spot, and of many, from the index.

use bitcoin::BlockHash;
use hindsight_shared::Height;
use hindsight_shared::block::BlockView;
use hindsight_shared::payload::{Absence, split_checksum};
use hindsight_shared::prevouts::PrevoutsView;
use hindsight_shared::search::{BlockId, ListStart};
use hindsight_shared::stats::miner;
use hindsight_shared::stats::row::{SUMMARY_SIZE, Summary};

use super::{Explorer, QueryError};

/// Statistics that are computed while somebody waits for a list of them.
const COMPUTED_AT_ONCE: usize = 8;

/// A block's statistics with what the block alone does not tell.
#[derive(Clone, Copy, Debug)]
pub struct BlockStats {
    /// What is computed from the block and its prevouts.
    pub summary: Summary,
    /// Median time past of this block, as Core's `mediantime`; `None` where ancestors are missing.
    pub median_time: Option<u32>,
    /// The pool whose tag is in the coinbase.
    pub miner: Option<&'static str>,
}

impl Explorer {
    /// Everything that is computed of a block.
    ///
    /// # Errors
    /// [`QueryError::NoUndo`] where the spent outputs are absent, [`QueryError::NoHeight`] where the height is unknown;
    /// where the block is unknown or cannot be read.
    pub fn stats(&self, id: BlockId) -> Result<BlockStats, QueryError> {
        let node = self.node(id)?;
        let median_time = self.chain.read().median_time(&node);
        let height = node.height.ok_or(QueryError::NoHeight(node.hash))?;
        let body = self.bodies.read(&node)?;
        if let Some(absence) = body.absence.filter(|&absence| absence != Absence::Genesis) {
            return Err(QueryError::NoUndo { hash: node.hash, absence });
        }
        let block = BlockView::parse(&body.block)?;
        let (undo, _) = split_checksum(&body.undo);
        let prevouts = (!undo.is_empty()).then(|| PrevoutsView::from_undo(undo)).transpose()?;
        let network = self.chain.read().network();
        let summary = Summary::compute(network, height, &block, prevouts.as_ref())?;
        let coinbase = block.tx(0).and_then(|tx| tx.inputs().next());
        let miner = coinbase.and_then(|input| miner::name(input.script_sig.as_bytes()));
        Ok(BlockStats { summary, median_time, miner })
    }

    /// Statistics of up to `count` blocks of the best chain from `from` (without it, from the tip) downwards, packed one
    /// after another. A block is left out while its statistics are not there; a few are computed on the spot.
    ///
    /// # Errors
    /// As the index fails.
    pub fn summaries(&self, from: Option<ListStart>, count: usize) -> Result<Vec<u8>, QueryError> {
        let wanted: Vec<(Height, BlockHash)> = self
            .blocks(from, count)
            .unwrap_or_default()
            .into_iter()
            .filter_map(|block| Some((block.height?, block.hash)))
            .collect();
        let mut rows = Vec::with_capacity(wanted.len() * SUMMARY_SIZE);
        let mut computed = 0;
        for (height, hash) in wanted {
            let row = self.summaries.get(height)?.filter(|row| row.hash == hash);
            let row = match row {
                None if computed < COMPUTED_AT_ONCE => {
                    computed += 1;
                    self.stats(BlockId::Hash(hash)).ok().map(|stats| stats.summary)
                }
                row => row,
            };
            rows.extend(row.iter().flat_map(Summary::pack));
        }
        Ok(rows)
    }
}
