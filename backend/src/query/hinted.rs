//! Blocks of which only the header is known, because the files that may hold them have not been read yet: whoever asks for
//! one waits a moment, while its file is read before the others.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use bitcoin::BlockHash;
use hindsight_shared::search::BlockId;

use super::{Explorer, QueryError};
use crate::chain::{Chain, Node};

/// How long an answer waits for a file. That is read within a tenth of a second, unless the disk is slow.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often it looks.
const LOOK_EVERY: Duration = Duration::from_millis(5);

impl Explorer {
    /// What the map knows of a block: perhaps its header only.
    ///
    /// # Errors
    /// [`QueryError::NotFound`] where no such block is known, [`QueryError::NotReadYet`] where it may come.
    pub(super) fn known<'a>(&self, chain: &'a Chain, id: BlockId) -> Result<&'a Node, QueryError> {
        let node = match id {
            BlockId::Height(height) => chain.by_height(height),
            BlockId::Hash(hash) => chain.by_hash(&hash),
        };
        node.ok_or_else(|| {
            let progress = self.report.progress();
            if progress.complete { QueryError::NotFound(id) } else { QueryError::NotReadYet(id, progress) }
        })
    }

    /// A block that was found in a file.
    ///
    /// # Errors
    /// As [`Self::known`].
    pub(super) fn node(&self, id: BlockId) -> Result<Node, QueryError> {
        let known = self.known(&self.chain.read(), id)?.clone();
        if !known.is_hinted() {
            return Ok(known);
        }
        self.await_files_of(&[known.hash]);
        let chain = self.chain.read();
        let node = chain.by_hash(&known.hash).filter(|node| !node.is_hinted());
        node.cloned().ok_or_else(|| QueryError::NotReadYet(id, self.report.progress()))
    }

    /// Whether a question of the map may have to wait for files.
    pub fn awaits_files(&self) -> bool {
        self.chain.read().has_hinted()
    }

    /// Waits until the files are read that hold these blocks as far as is known, but not for long.
    pub(super) fn await_files_of(&self, blocks: &[BlockHash]) {
        let until = Instant::now() + PATIENCE;
        loop {
            let files: BTreeSet<u32> = {
                let chain = self.chain.read();
                blocks.iter().filter_map(|hash| chain.hinted_file(chain.by_hash(hash)?)).collect()
            };
            if files.is_empty() || Instant::now() >= until {
                return;
            }
            files.into_iter().for_each(|file| self.bodies.source.hurry(file));
            thread::sleep(LOOK_EVERY);
        }
    }
}
