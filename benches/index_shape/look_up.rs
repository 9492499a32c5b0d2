//! Questions to the index, and how long they take.

use std::path::Path;

use anyhow::{Context, Result};
use hindsight::index::Runs;
use hindsight::runs::hashes::Prefix;
use hindsight::runs::run::Kind;
use hindsight_shared::api::IndexLevel;

use super::history::History;
use super::measure::{Spread, drop_from_page_cache};
use super::{INDEX_FILE, open};

/// Rows of a page of a history.
const PAGE: usize = 50;

/// Asks for transactions and scripts at random: first of a store whose pages are on disk only, then again.
pub fn cold_and_warm(dir: &Path, cache: u64, history: &History, lookups: u64) -> Result<()> {
    drop_from_page_cache(&dir.join(INDEX_FILE))?;
    let runs = open(dir, cache)?;
    for turn in ["cold", "warm"] {
        // Each lookup of the first turn may find pages that another has read: the upper levels of the trees.
        look_up(turn, &runs, history, lookups)?;
    }
    Ok(())
}

/// Asks for transactions and scripts at random.
pub fn look_up(name: &str, runs: &Runs, history: &History, lookups: u64) -> Result<()> {
    let [mut txids, mut scripts] = [Spread::default(), Spread::default()];
    for number in 0..lookups {
        let (txid, script) = history.sample(number);
        txids.time(|| find_txid(runs, txid))?;
        scripts.time(|| first_page(runs, script))?;
    }
    println!("{name}: txid {txids}; first {PAGE} of a script {scripts}");
    Ok(())
}

/// Where the transactions are whose ids have a prefix.
pub fn find_txid(runs: &Runs, txid: Prefix) -> Result<()> {
    let found = runs.look(|view| {
        let mut places = Vec::new();
        for live in view.runs(IndexLevel::Transactions) {
            for entry in view.entries(live, Kind::Txids, txid..=txid)? {
                places.extend(live.run.position(entry.number).and_then(|position| view.place(position)));
            }
        }
        Ok(places)
    })?;
    (!found.is_empty()).then_some(()).context("a transaction is not found")
}

fn first_page(runs: &Runs, script: Prefix) -> Result<()> {
    let found = runs.look(|view| {
        let mut places = Vec::new();
        let mut live: Vec<_> = view.runs(IndexLevel::Addresses).collect();
        live.sort_by_key(|live| std::cmp::Reverse(live.run.to()));
        for live in live {
            let newest = view.newest(live, script, None, PAGE - places.len())?;
            places.extend(newest.into_iter().map(|(position, _)| view.place(position)));
            if places.len() == PAGE {
                break;
            }
        }
        Ok(places)
    })?;
    (!found.is_empty()).then_some(()).context("a script is not found")
}
