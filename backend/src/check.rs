//! Reads what a node has written and what Hindsight remembers of it, and reports what is wrong, with file and offset;
//! and compares what two instances answer.
//!
//! [`check`] walks every file and reads all blocks, or a [`Sample`] of them, with their undo; it takes nothing from the
//! index on trust, but holds the index against what it found. [`compare`] asks two instances ([`Answers`]) the same
//! questions: explorers in this process, or a server elsewhere ([`Remote`]). All of it runs at low priority, changes
//! nothing, and drops the pages that it has read.

mod against;
mod answers;
mod files;
mod index;
mod remote;
mod report;
mod sample;
#[cfg(test)]
mod tests;

pub use against::{Comparison, Difference, compare};
pub use answers::{Answer, Answers, ready};
pub use files::{Options, check};
pub use index::{IndexReport, Wrong};
pub use remote::{Remote, RemoteError};
pub use report::{Damage, Progress, Report};
pub use sample::Sample;
