//! The test harness: chains that Bitcoin Core's own kernel validates and writes, directories arranged at will, servers
//! on a free port, and judges that are not our own code.
//!
//! Expected values come from the kernel ([`kernel_chain`]), the `bitcoin` crate, or facts of Core; never from the code
//! under test. Everything lives in temporary directories and ends when it is dropped.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a harness that cannot go on has nobody to report to but the test that it is part of"
)]

pub mod chain_builder;
pub mod client;
pub mod core_files;
pub mod core_rest;
pub mod differential;
pub mod fixtures;
pub mod judge;
pub mod kernel_chain;
pub mod ledger;
pub mod locks;
pub mod node;
pub mod node_judge;
pub mod oddities;
pub mod process;
pub mod recording;
pub mod replay;
pub mod rng;
pub mod scenes;
pub mod showcase;
pub mod signet;
pub mod stats_compare;
pub mod stats_judge;
pub mod test_server;
pub mod unkind;
pub mod wait;
