//! What the benches measure on: real chains, and full blocks made here so that no bench needs anything else.
//!
//! Everything is made once for each run and is the same every time.

#![allow(clippy::unwrap_used, reason = "a bench that cannot make its data has nothing to measure")]

pub mod chains;
pub mod process;
pub mod records;
pub mod synthetic;
pub mod valid;
