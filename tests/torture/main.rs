//! Long trials: kills at random moments, random damage and random order in real directories.
//!
//! `HINDSIGHT_TORTURE_SHARE` (such as `1/20`) takes a share of them; `HINDSIGHT_TORTURE_SEED` repeats what a failed run
//! printed.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "tests: what cannot be is a failure, and helpers are called by tests only"
)]

mod chains;
mod damage;
mod kills;
mod order;
mod unkind;

/// How many of so many trials the share asks for; at least one.
fn trials(all: usize) -> usize {
    let share = std::env::var("HINDSIGHT_TORTURE_SHARE").unwrap_or_else(|_| "1".into());
    let (part, of) = share.split_once('/').unwrap_or((&share, "1"));
    let number = |text: &str| text.trim().parse::<usize>().unwrap();
    (all * number(part) / number(of)).max(1)
}
