//! Statistics of blocks by height: new rows go to a layer in memory, which is frozen while it is being committed and
//! stays readable all the while, so that reading never waits for writing.
//!
//! A row belongs to the block whose hash is in it. After a reorg the row of a height may be another block's: readers
//! compare, and treat it as missing.

use std::collections::BTreeMap;
use std::sync::Arc;

use hindsight_shared::Height;
use hindsight_shared::bytes::Reader;
use hindsight_shared::stats::row::Summary;
use parking_lot::{Mutex, RwLock};

use super::{Index, IndexError};

type Layer = BTreeMap<u32, Summary>;

/// Rows in memory before and behind the index.
#[derive(Debug)]
pub struct Summaries {
    index: Arc<Index>,
    active: RwLock<Layer>,
    frozen: RwLock<Arc<Layer>>,
    committing: Mutex<()>,
}

impl Summaries {
    /// The rows of an index.
    pub fn new(index: Arc<Index>) -> Self {
        Self { index, active: RwLock::default(), frozen: RwLock::default(), committing: Mutex::default() }
    }

    /// The row of a height, whichever block it is of.
    ///
    /// # Errors
    /// As the index fails.
    pub fn get(&self, height: Height) -> Result<Option<Summary>, IndexError> {
        if let Some(row) = self.active.read().get(&height.0) {
            return Ok(Some(*row));
        }
        if let Some(row) = self.frozen.read().get(&height.0) {
            return Ok(Some(*row));
        }
        let row = self.index.summary(height)?;
        Ok(row.and_then(|bytes| Summary::unpack(&mut Reader::new(&bytes)).ok()))
    }

    /// Adds rows; returns how many wait for a commit.
    pub fn insert(&self, rows: impl IntoIterator<Item = Summary>) -> usize {
        let mut active = self.active.write();
        active.extend(rows.into_iter().map(|row| (row.height.0, row)));
        active.len() + self.frozen.read().len()
    }

    /// Commits everything that waits. What a failed commit leaves stays readable and is tried again by the next one.
    ///
    /// # Errors
    /// As the index fails.
    pub fn commit(&self) -> Result<(), IndexError> {
        let _committing = self.committing.lock();
        {
            let mut frozen = self.frozen.write();
            let mut active = self.active.write();
            let mut layer = Layer::clone(&frozen);
            layer.append(&mut active);
            *frozen = Arc::new(layer);
        }
        let layer = self.frozen.read().clone();
        if layer.is_empty() {
            return Ok(());
        }
        self.index.commit_summaries(layer.values())?;
        *self.frozen.write() = Arc::default();
        Ok(())
    }

    /// Raised whenever every row is gone.
    pub fn generation(&self) -> u32 {
        self.index.generation()
    }

    /// Heights that have a row, with the block that each is of.
    ///
    /// # Errors
    /// As the index fails.
    pub fn stored(&self) -> Result<Vec<(Height, bitcoin::BlockHash)>, IndexError> {
        self.index.summary_heights()
    }
}
