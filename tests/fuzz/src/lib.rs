//! One function for each decoder: whatever bytes it is given, it must not panic, and what it accepts must hold
//! together. libFuzzer calls these functions through `fuzz_targets/`, and a plain test with what lies in `seeds/` and a
//! bounded number of changes to it (`tests/corpus.rs`).

#![forbid(unsafe_code)]

pub mod address;
pub mod block_view;
pub mod config;
pub mod found_tx;
pub mod hints;
pub mod mutate;
pub mod pages;
pub mod payload;
pub mod request;
pub mod row;
pub mod script;
pub mod search;
pub mod stats;
pub mod summary;
pub mod tx_payload;
pub mod undo;
pub mod walk;

/// A function that must hold for any bytes.
pub type Target = fn(&[u8]);

/// Every target by the name of its binary and of its folder in `seeds/`.
pub const TARGETS: [(&str, Target); 16] = [
    ("payload", payload::run),
    ("undo", undo::run),
    ("block_view", block_view::run),
    ("summary", summary::run),
    ("tx_payload", tx_payload::run),
    ("found_tx", found_tx::run),
    ("address", address::run),
    ("stats", stats::run),
    ("row", row::run),
    ("script", script::run),
    ("search", search::run),
    ("pages", pages::run),
    ("hints", hints::run),
    ("walk", walk::run),
    ("request", request::run),
    ("config", config::run),
];
