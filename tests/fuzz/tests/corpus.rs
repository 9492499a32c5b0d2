//! Every target over its seeds and a bounded number of changes to them, on any toolchain.
//!
//! `HINDSIGHT_FUZZ_ROUNDS` multiplies the number of changes.

use std::fs;
use std::path::Path;

use hindsight_fuzz::mutate::{Random, mutate};
use hindsight_fuzz::{TARGETS, Target};

/// Changes for each target; a walk writes files, so it gets fewer.
const CHANGES: u32 = 20_000;
const CHANGES_ON_DISK: u32 = 500;
/// A request is answered twice, and a command line is built for settings.
const CHANGES_SLOW: u32 = 10_000;

fn seeds(name: &str) -> Vec<Vec<u8>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(name);
    let mut paths: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

#[track_caller]
fn check(name: &str, changes: u32) {
    let target: Target = TARGETS.iter().find(|(target, _)| *target == name).unwrap().1;
    let seeds = seeds(name);
    assert!(!seeds.is_empty(), "{name} has no seeds");
    target(&[]);
    seeds.iter().for_each(|seed| target(seed));
    let rounds: u32 = std::env::var("HINDSIGHT_FUZZ_ROUNDS").map_or(1, |rounds| rounds.parse().unwrap());
    let mut random = Random(0);
    for _ in 0..changes * rounds {
        let mut bytes = seeds[random.below(seeds.len())].clone();
        let other = &seeds[random.below(seeds.len())];
        mutate(&mut random, &mut bytes, other);
        let caught = std::panic::catch_unwind(|| target(&bytes));
        assert!(caught.is_ok(), "{name} fails on {}", hex(&bytes));
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn payload() {
    check("payload", CHANGES);
}

#[test]
fn undo() {
    check("undo", CHANGES);
}

#[test]
fn block_view() {
    check("block_view", CHANGES);
}

#[test]
fn summary() {
    check("summary", CHANGES);
}

#[test]
fn tx_payload() {
    check("tx_payload", CHANGES);
}

#[test]
fn found_tx() {
    check("found_tx", CHANGES);
}

#[test]
fn address() {
    check("address", CHANGES);
}

#[test]
fn stats() {
    check("stats", CHANGES);
}

#[test]
fn row() {
    check("row", CHANGES);
}

#[test]
fn script() {
    check("script", CHANGES);
}

#[test]
fn search() {
    check("search", CHANGES);
}

#[test]
fn pages() {
    check("pages", CHANGES);
}

#[test]
fn hints() {
    check("hints", CHANGES);
}

#[test]
fn walk() {
    check("walk", CHANGES_ON_DISK);
}

#[test]
fn request() {
    check("request", CHANGES_SLOW);
}

#[test]
fn config() {
    check("config", CHANGES_SLOW);
}
