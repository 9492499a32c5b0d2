//! What two instances are asked, and how an explorer in this process answers.

use std::thread;
use std::time::Duration;

use bitcoin::BlockHash;
use hindsight_shared::Height;
use hindsight_shared::api::Status;
use hindsight_shared::search::{BlockId, ListStart};

use super::RemoteError;
use crate::query::Explorer;

/// Blocks of the best chain asked for at once.
pub(super) const PAGE: u32 = 100;

/// How often it is asked whether everything has been read.
const POLL: Duration = Duration::from_millis(200);

/// So often in a row an instance may say that something is wrong before it is given up while it is still reading.
const PATIENCE: u32 = 100;

/// Bytes, or why there are none.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Answer {
    /// What was asked for.
    Bytes(Vec<u8>),
    /// Why it cannot be had, in a sentence.
    Refused(String),
}

impl Answer {
    fn of<T, E: std::fmt::Display>(answer: Result<T, E>, bytes: impl FnOnce(T) -> Vec<u8>) -> Self {
        answer.map_or_else(|error| Self::Refused(error.to_string()), |value| Self::Bytes(bytes(value)))
    }
}

/// An instance of Hindsight that answers questions.
///
/// # Errors
/// All of them fail only where there is no instance to answer.
pub trait Answers: Sync {
    /// How it is doing.
    fn status(&self) -> Result<Status, RemoteError>;

    /// Up to a hundred blocks of the best chain from a height (without it, from the tip) downwards.
    fn blocks(&self, from: Option<Height>) -> Result<Vec<(Height, BlockHash)>, RemoteError>;

    /// A block's payload.
    fn payload(&self, block: BlockHash) -> Result<Answer, RemoteError>;

    /// The rows of statistics that are there, of up to `count` blocks from a height downwards.
    fn summaries(&self, from: Height, count: u32) -> Result<Answer, RemoteError>;

    /// A block's row of statistics, computed if need be.
    fn summary(&self, block: BlockHash) -> Result<Answer, RemoteError>;
}

impl Answers for Explorer {
    fn status(&self) -> Result<Status, RemoteError> {
        Ok(Explorer::status(self))
    }

    fn blocks(&self, from: Option<Height>) -> Result<Vec<(Height, BlockHash)>, RemoteError> {
        let count = usize::try_from(PAGE).unwrap_or(usize::MAX);
        // All files have been read by now.
        let facts = Explorer::blocks(self, from.map(ListStart::Height), count).unwrap_or_default();
        Ok(facts.into_iter().filter_map(|facts| Some((facts.height?, facts.hash))).collect())
    }

    fn payload(&self, block: BlockHash) -> Result<Answer, RemoteError> {
        Ok(Answer::of(Explorer::payload(self, BlockId::Hash(block)), |payload| payload.parts.concat()))
    }

    fn summaries(&self, from: Height, count: u32) -> Result<Answer, RemoteError> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        Ok(Answer::of(Explorer::summaries(self, Some(ListStart::Height(from)), count), |rows| rows))
    }

    fn summary(&self, block: BlockHash) -> Result<Answer, RemoteError> {
        Ok(Answer::of(self.stats(BlockId::Hash(block)), |stats| stats.summary.pack()))
    }
}

/// Waits until an instance has read its directory; `progress` is told how many files of how many it has read.
///
/// # Errors
/// [`RemoteError::Unwell`] where it does not come to an end of it and says why.
pub fn ready(instance: &dyn Answers, mut progress: impl FnMut(u32, u32)) -> Result<Status, RemoteError> {
    let mut unwell = 0;
    loop {
        let status = instance.status()?;
        if status.progress.complete {
            return Ok(status);
        }
        unwell = if status.warnings.is_empty() { 0 } else { unwell + 1 };
        if unwell > PATIENCE {
            return Err(RemoteError::Unwell(status.warnings.join("; ")));
        }
        progress(status.progress.files_read, status.progress.files);
        thread::sleep(POLL);
    }
}
