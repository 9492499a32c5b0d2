//! Statistics of one block, computed from the block and its prevouts alone, by server and page alike.
//!
//! Two definitions of each fee rate stand side by side and are named: `core` is what Bitcoin Core's `getblockstats`
//! answers (whole satoshis per virtual byte, truncated), `exact` keeps the fractions, of single transactions and of the
//! packages that they were mined in. Integers only: what a share or a mean is, is for the reader to divide.

pub mod content;
pub mod core;
pub mod exact;
pub mod fields;
pub mod miner;
pub mod package;
pub mod row;
