//! Blocks that could not be computed: the node may not have written all that it takes.
//!
//! Near the tip each is tried again a few times; further down files are complete, and what is missing there stays so until
//! the next start.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bitcoin::BlockHash;
use hindsight_shared::Height;

/// Blocks below the tip whose files may still be incomplete.
pub const NEAR: u32 = 512;

/// How long a block waits for its second try, and four times as long for each one after.
const FIRST_RETRY: Duration = Duration::from_secs(1);

/// A minute after it was written a file is complete: by the last of these tries, more than that has passed.
const MOST_TRIES: u32 = 5;

/// Blocks that were missed.
#[derive(Debug, Default)]
pub struct Misses(HashMap<BlockHash, Miss>);

#[derive(Debug)]
struct Miss {
    height: Height,
    tries: u32,
    due: Instant,
}

impl Misses {
    /// Notes a block that could not be computed.
    pub fn note(&mut self, height: Height, block: BlockHash) {
        let miss = self.0.entry(block).or_insert(Miss { height, tries: 0, due: Instant::now() });
        miss.due = Instant::now() + FIRST_RETRY * 4_u32.pow(miss.tries);
        miss.tries += 1;
    }

    /// A block could be computed after all.
    pub fn lift(&mut self, block: &BlockHash) {
        self.0.remove(block);
    }

    /// Whether a block is not worth a try now.
    pub fn has(&self, block: &BlockHash, tip: Height) -> bool {
        self.0.get(block).is_some_and(|miss| !miss.is_due(tip))
    }

    /// Blocks whose next try is due.
    pub fn due(&self, tip: Height) -> impl Iterator<Item = (Height, BlockHash)> {
        self.0.iter().filter(move |(_, miss)| miss.is_due(tip)).map(|(block, miss)| (miss.height, *block))
    }
}

impl Miss {
    fn is_due(&self, tip: Height) -> bool {
        let near = self.height.0.saturating_add(NEAR) > tip.0;
        near && self.tries < MOST_TRIES && self.due <= Instant::now()
    }
}
