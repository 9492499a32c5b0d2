//! What a check tells.

use std::collections::BTreeSet;
use std::fmt;

use super::IndexReport;
use crate::source::Position;

/// How far a check is: what is done, how many of how many.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Progress {
    /// Files walked.
    Walked(usize, usize),
    /// Files whose blocks have been read.
    Read(usize, usize),
    /// Rows of the index.
    Rows(usize, usize),
    /// Heights at which two instances have been compared.
    Compared(usize, usize),
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Walked(done, all) => write!(f, "{done} of {all} files walked"),
            Self::Read(done, all) => write!(f, "{done} of {all} files read"),
            Self::Rows(done, all) => write!(f, "{done} of {all} heights of the index"),
            Self::Compared(done, all) => write!(f, "{done} of {all} heights compared"),
        }
    }
}

/// What is wrong in one place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Damage {
    /// `blk` or `rev`.
    pub kind: &'static str,
    /// Where.
    pub position: Position,
    /// What.
    pub what: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { file, offset } = self.position;
        write!(f, "{}{file:05}.dat at offset {offset}: {}", self.kind, self.what)
    }
}

/// What a check found.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Report {
    /// Blocks that the files hold, repeated and stale ones included.
    pub found: u64,
    /// How many of them were read.
    pub blocks: u64,
    /// Undo records that fit their block, in the files that were looked at.
    pub undo: u64,
    /// Undo records that fit no block: overwritten ones, or damage.
    pub leftovers: u64,
    /// Numbers of the files that the node pruned during the check: nothing is said of them.
    pub pruned: BTreeSet<u32>,
    /// Everything that is wrong with the files.
    pub damage: Vec<Damage>,
    /// What the index was found to be, if there is one.
    pub index: Option<IndexReport>,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.damage.is_empty() && self.index.as_ref().is_none_or(|index| index.wrong_rows == 0)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { found, blocks, undo, leftovers, pruned, damage, index } = self;
        if blocks < found {
            write!(f, "{found} blocks found, ")?;
        }
        write!(f, "{blocks} blocks and {undo} undo records read, {leftovers} undo records without a block, ")?;
        if !pruned.is_empty() {
            write!(f, "{} files left out because the node pruned them meanwhile, ", pruned.len())?;
        }
        write!(f, "{} damaged places", damage.len())?;
        index.as_ref().map_or(Ok(()), |index| write!(f, "\n{index}"))
    }
}
