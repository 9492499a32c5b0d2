//! The index at mainnet's shape: what it takes, how fast it grows, and how fast it answers.
//!
//! Blocks are not read here: rows of made-up transactions are fed to the index as its filler does it, newest first, so that
//! a hundred million of them fit into an evening. Counts of inputs, outputs and reused scripts are those of mainnet.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use clap::Parser;
use hindsight::index::{Identity, Index, Runs};
use hindsight::ingest::next_merge;
use hindsight::runs::hashes::Prefix;
use hindsight::runs::run::Kind;
use hindsight::runs::seal::seal;
use hindsight_shared::Height;
use hindsight_shared::api::IndexLevel;

mod history;
mod measure;
mod reader;

use history::History;
use measure::{Spread, cpu_time, drop_from_page_cache, peak_memory};
use reader::Reader;

/// The index's file in its folder.
const INDEX_FILE: &str = "index.redb";

/// Blocks above the newest one that is fed: as if all lay deep.
const ABOVE: u32 = 1 << 30;

/// The index at mainnet's shape
#[derive(Debug, Parser)]
struct Args {
    /// Transactions to index
    #[arg(long, default_value_t = 10_000_000)]
    transactions: u64,
    /// Bytes of rows that are gathered for a run, in MiB; the filler takes a third of its memory
    #[arg(long, default_value_t = 300)]
    gather: usize,
    /// Memory of the store's cache, in MiB
    #[arg(long, default_value_t = 128)]
    cache: u64,
    /// Where to make the index; a folder that is removed at the end, where none is given
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Lookups of each kind
    #[arg(long, default_value_t = 2000)]
    lookups: usize,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let own = tempfile::tempdir()?;
    let dir = args.dir.clone().unwrap_or_else(|| own.path().to_owned());
    let mut history = History::new(args.transactions);
    let runs = open(&dir, args.cache << 20)?;
    let reader = Reader::new(history);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| reader.ask(&runs));
        let grown = grow(&args, &dir, &runs, (&mut history, &reader));
        reader.stop();
        let asked = asking.join().unwrap_or_else(|_| Err(anyhow!("the reader panicked")));
        grown.and(asked)
    })?;
    reader.tell_spreads();
    let count = |level| runs.all(level).map(|runs| runs.len());
    println!("runs: {} of txids, {} of scripts", count(IndexLevel::Transactions)?, count(IndexLevel::Addresses)?);
    sizes(&args, &runs)?;
    drop(runs);
    look_up(&args, &dir, &history)
}

fn open(dir: &Path, cache: u64) -> Result<Runs> {
    let identity = Identity { magic: [0; 4], blocks_dir: PathBuf::new(), key: [0; 8] };
    Ok(Runs::new(Arc::new(Index::open(dir, &identity, cache)?))?)
}

/// Feeds the index, newest blocks first, and tells the rate of each tenth.
fn grow(args: &Args, dir: &Path, runs: &Runs, (history, reader): (&mut History, &Reader)) -> Result<()> {
    let (mut done, mut next_line, mut spent) = (0, args.transactions / 10, Duration::ZERO);
    let (mut line_spent, mut line_done, mut peak_disk) = (Duration::ZERO, 0, 0);
    println!("    transactions   a second   runs   disk MB   peak memory MB");
    while let Some((from, blocks)) = history.below(args.gather << 20) {
        let started = Instant::now();
        let transactions: u64 = blocks.iter().map(|block| u64::from(block.tx_count())).sum();
        for level in IndexLevel::ALL {
            runs.add(seal(level, from, &blocks).context("no blocks")?);
        }
        drop(blocks);
        reader.tell(*history);
        reader.writing.store(true, Ordering::Relaxed);
        runs.commit()?;
        while runs.merge(|runs| next_merge(runs, Height(ABOVE)))? {
            peak_disk = peak_disk.max(disk(dir)?);
        }
        reader.writing.store(false, Ordering::Relaxed);
        spent += started.elapsed();
        done += transactions;
        if done >= next_line {
            let rate = per_second(done - line_done, spent - line_spent);
            let count = runs.all(IndexLevel::Addresses)?.len() + runs.all(IndexLevel::Transactions)?.len();
            println!("    {done:>12} {rate:>10} {count:>6} {:>9} {:>16}", disk(dir)? >> 20, peak_memory() >> 20);
            (line_spent, line_done, next_line) = (spent, done, done + args.transactions / 10);
        }
    }
    let cpu = cpu_time().as_millis() / u128::from(done / 1_000_000).max(1);
    println!(
        "{} transactions a second in all; {cpu} ms of CPU a million, rows made up included",
        per_second(done, spent)
    );
    println!("peak disk {} MB", peak_disk.max(disk(dir)?) >> 20);
    Ok(())
}

/// What each part takes, in bits a transaction.
fn sizes(args: &Args, runs: &Runs) -> Result<()> {
    println!("    part            MB   bits a transaction   lost to the store, percent");
    for (name, bytes, lost) in runs.bytes()? {
        let bits = bytes * 80 / args.transactions;
        println!(
            "    {name:<12} {:>5} {:>18}.{} {:>10}",
            bytes >> 20,
            bits / 10,
            bits % 10,
            lost * 100 / (bytes + lost).max(1)
        );
    }
    Ok(())
}

/// Asks for transactions and scripts at random: first of a store whose pages are on disk only, then again.
fn look_up(args: &Args, dir: &Path, history: &History) -> Result<()> {
    drop_from_page_cache(&dir.join(INDEX_FILE))?;
    let runs = open(dir, args.cache << 20)?;
    for turn in ["cold", "warm"] {
        // Each lookup of the first turn may find pages that another has read: the upper levels of the trees.
        let mut spread = [Spread::default(), Spread::default()];
        for number in 0..args.lookups as u64 {
            let (txid, script) = history.sample(number);
            spread[0].time(|| find_txid(&runs, txid))?;
            spread[1].time(|| first_page(&runs, script))?;
        }
        let [txids, scripts] = spread;
        println!("{turn}: txid {txids}; first 50 of a script {scripts}");
    }
    Ok(())
}

fn find_txid(runs: &Runs, txid: Prefix) -> Result<()> {
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
            let newest = view.newest(live, script, None, 50 - places.len())?;
            places.extend(newest.into_iter().map(|(position, _)| view.place(position)));
            if places.len() == 50 {
                break;
            }
        }
        Ok(places)
    })?;
    (!found.is_empty()).then_some(()).context("a script is not found")
}

fn disk(dir: &Path) -> Result<u64> {
    Ok(std::fs::metadata(dir.join(INDEX_FILE))?.len())
}

fn per_second(count: u64, time: Duration) -> u128 {
    u128::from(count) * 1000 / time.as_millis().max(1)
}
