//! The index at mainnet's shape: what it takes, how fast it grows, and how fast it answers.
//!
//! Blocks are not read here: rows of made-up transactions are fed to the index as its filler does it, newest first, so that
//! a hundred million of them fit into an evening. Counts of inputs, outputs and reused scripts are those of mainnet.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, ensure};
use clap::Parser;
use hindsight::app::STORE_SHARE;
use hindsight::index::{Identity, Index, Runs};
use hindsight::ingest::gathered;
use hindsight::runs::seal::seal;
use hindsight_benches::process::peak_memory;
use hindsight_shared::api::IndexLevel;

mod grow;
mod history;
mod look_up;
mod measure;
mod reader;

use grow::{Grown, Growth, Way, cpu_per_million, disk};
use history::History;
use look_up::{cold_and_warm, look_up};
use measure::cpu_time;
use reader::Reader;

/// The index's file in its folder.
const INDEX_FILE: &str = "index.redb";

/// The index at mainnet's shape
#[derive(Debug, Parser)]
struct Args {
    /// Transactions to index
    #[arg(long, default_value_t = 10_000_000)]
    transactions: u64,
    /// Memory of the index, in MiB, as the server's `--index-memory`
    #[arg(long, default_value_t = 1024)]
    memory: u64,
    /// Where to make the index; a folder that is removed at the end, where none is given
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Lookups of each kind
    ///
    /// A thousand of both read some 20 MiB for each run of the index: more would not stay in a small page cache, and
    /// the second turn would not be warm.
    #[arg(long, default_value_t = 500)]
    lookups: u64,
    /// Transactions for each way of growing, one thread or two; 0 for no comparison
    #[arg(long, default_value_t = 3_000_000)]
    compared: u64,
    /// Only grow, in this way
    #[arg(long, hide = true)]
    way: Option<Way>,
}

impl Args {
    fn cache(&self) -> u64 {
        (self.memory << 20) / STORE_SHARE
    }

    fn gathered(&self) -> Result<usize> {
        Ok(gathered(usize::try_from((self.memory << 20) - self.cache())?))
    }
}

fn main() -> Result<()> {
    let args = Args::parse();
    let own = tempfile::tempdir()?;
    let dir = args.dir.clone().unwrap_or_else(|| own.path().to_owned());
    if let Some(way) = args.way {
        return grow(&args, &dir, way).map(drop);
    }
    let grown = grow(&args, &dir, Way::Overlapping)?;
    cold_and_warm(&dir, args.cache(), &grown.history, args.lookups)?;
    in_memory(&args)?;
    if args.compared > 0 {
        ways(&args)?;
    }
    Ok(())
}

fn open(dir: &Path, cache: u64) -> Result<Runs> {
    let identity = Identity { magic: [0; 4], blocks_dir: PathBuf::new(), key: [0; 8] };
    Ok(Runs::new(Arc::new(Index::open(dir, &identity, cache)?))?)
}

/// Makes an index while somebody asks, and tells what it takes.
fn grow(args: &Args, dir: &Path, way: Way) -> Result<Grown> {
    let transactions = args.transactions;
    let runs = open(dir, args.cache())?;
    let reader = Reader::new(History::new(transactions));
    let growth = Growth { transactions, gather: args.gathered()?, dir, runs: &runs, reader: &reader };
    let before = cpu_time();
    let grown = std::thread::scope(|scope| {
        let asking = scope.spawn(|| reader.ask(&runs));
        let grown = growth.run(way);
        reader.stop();
        asking.join().unwrap_or_else(|_| Err(anyhow!("the reader panicked")))?;
        grown
    })?;
    let cpu = cpu_per_million(cpu_time().saturating_sub(before), transactions);
    println!("{way:?}: {} transactions a second; {cpu} ms of CPU a million, rows made up included", grown.rate);
    println!("disk {} MB; memory {} MB at most", disk(dir)? >> 20, peak_memory() >> 20);
    reader.tell_spreads();
    let count = |level| runs.all(level).map(|runs| runs.len());
    println!("runs: {} of txids, {} of scripts", count(IndexLevel::Transactions)?, count(IndexLevel::Addresses)?);
    sizes(transactions, &runs)?;
    Ok(grown)
}

/// What is in memory before it is written: what it takes, to make and to ask.
fn in_memory(args: &Args) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let runs = open(dir.path(), args.cache())?;
    let mut history = History::new(args.transactions.min(1_000_000));
    let (from, blocks) = history.below(args.gathered()?).context("no blocks")?;
    let transactions: u64 = blocks.iter().map(|block| u64::from(block.tx_count())).sum();
    let rows: usize = blocks.iter().map(|block| block.bytes()).sum();
    let before = cpu_time();
    for level in IndexLevel::ALL {
        runs.add(seal(level, from, &blocks).context("no blocks")?);
    }
    let cpu = cpu_per_million(cpu_time().saturating_sub(before), transactions);
    let each = |bytes: usize| bytes as u64 / transactions.max(1);
    println!(
        "{transactions} transactions in memory: {} bytes each as rows, {} as runs; {cpu} ms of CPU a million to pack",
        each(rows),
        each(runs.waiting_bytes())
    );
    drop(blocks);
    look_up("in memory", &runs, &history, args.lookups)
}

/// One thread that does all in turn beside two that overlap: each in a process of its own, whose memory is its own.
fn ways(args: &Args) -> Result<()> {
    for way in ["in-turn", "overlapping"] {
        let mut process = Command::new(std::env::current_exe()?);
        process.args(["--way", way, "--transactions", &args.compared.to_string()]);
        process.args(["--memory", &args.memory.to_string()]);
        ensure!(process.status()?.success(), "growing {way} failed");
    }
    Ok(())
}

/// What each part takes, in bits a transaction.
fn sizes(transactions: u64, runs: &Runs) -> Result<()> {
    println!("    part            MB   bits a transaction   lost to the store, percent");
    for (name, bytes, lost) in runs.bytes()? {
        let bits = bytes * 80 / transactions;
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
