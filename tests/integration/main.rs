//! Everything that only shows when the rooms work together, over HTTP, on chains that Bitcoin Core's kernel wrote.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "tests: what cannot be is a failure, and helpers are called by tests only"
)]

mod changing_files;
mod check;
mod compression;
mod crashes;
mod differential;
mod hints;
mod hostile_clients;
mod http;
mod index;
mod islands;
mod kernel_agrees;
mod known_bugs;
mod pieces;
mod recorded;
mod reorg;
mod rest;
mod restart;
mod showcase;
mod stats;
mod transactions;
mod unkind_files;
