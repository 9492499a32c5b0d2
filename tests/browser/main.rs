//! Journeys through the web app in a real Chromium, against the release binary with the app inside.
//!
//! `cargo xtask test browser` builds that binary and names it in `HINDSIGHT_BIN`. Expected values come from the
//! payload's bytes by way of the `bitcoin` crate, never from the page's own code.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a journey that cannot go on has nobody to report to but the test that it is part of"
)]

mod address;
mod alone;
mod block;
mod broken;
mod cdp;
mod charts;
mod driver;
mod expect;
mod found;
mod giant;
mod home;
mod looks;
mod page;
mod pictures;
mod prefix;
mod proxy;
mod search;
mod server;
mod stats;
mod table;
mod transaction;
