//! The first start and the next one on a directory of mainnet's shape: 950,000 headers in 6,000 sparse files.
//!
//! How fast a walk can be is the disk's doing: it is held against the disk's own rate of reads at random, measured here in
//! the same way, on the same files.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bitcoin::{BlockHash, Network};
use clap::Parser;
use hindsight::app::App;
use hindsight::index::Index;
use hindsight::ingest::Keeper;
use hindsight::source::{CoreFiles, Datadir, DatadirOptions};
use hindsight_benches::process::{peak_memory, per_second};
use hindsight_shared::Height;
use hindsight_shared::api::HeightRange;
use hindsight_shared::search::BlockId;
use rustix::fs::sync;

mod block_index;
mod chain;
mod disk;

use chain::{Made, make};
use disk::{forget, random_reads};

/// Memory of the index's store.
const CACHE: u64 = 128 << 20;

/// Blocks opened while files are being read.
const OPENED: u32 = 20;

/// Of so many files one is read at random, to learn the disk's rate.
const SAMPLED: usize = 10;

/// The first and the next start at mainnet's shape
#[derive(Debug, Parser)]
struct Args {
    /// Blocks
    #[arg(long, default_value_t = 950_000)]
    blocks: u32,
    /// Where to make the directory, which is removed at the end; else where temporary files go. It takes 4 KiB a block
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Only a start on such a directory, with the index in this one
    #[arg(long, requires_all = ["dir", "tip"], hide = true)]
    start: Option<PathBuf>,
    /// Its last block
    #[arg(long, hide = true)]
    tip: Option<BlockHash>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if let Args { dir: Some(dir), start: Some(index), tip: Some(tip), .. } = &args {
        return start(dir, index, *tip);
    }
    let dir = args.dir.map_or_else(tempfile::tempdir, tempfile::tempdir_in)?;
    let made = make(dir.path(), args.blocks)?;
    println!(
        "{} blocks, {} of them above 64 KiB, in {} files of {} GB",
        made.blocks,
        made.large,
        made.files,
        made.bytes / 1_000_000_000
    );
    sync();
    // A stamp has to be older than this to tell the next change.
    std::thread::sleep(Duration::from_secs(4));
    let paths = paths(dir.path())?;
    walk(dir.path(), &paths, made)?;
    starts(dir.path(), &paths, made)
}

fn open(datadir: &Path) -> Result<CoreFiles> {
    let options =
        DatadirOptions { datadir: datadir.to_owned(), network: Some(Network::Regtest), ..DatadirOptions::default() };
    Ok(CoreFiles::open(Datadir::open(&options)?)?)
}

fn paths(datadir: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(datadir.join("regtest/blocks"))? {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("blk")) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// The walk alone: its reads, and its time against the disk's.
fn walk(datadir: &Path, paths: &[PathBuf], made: Made) -> Result<()> {
    let sample: Vec<PathBuf> = paths.iter().step_by(SAMPLED).cloned().collect();
    let (pages, took) = random_reads(&sample)?;
    let rate = per_second(pages, took);
    println!("the disk: {rate} reads a second at random ({pages} in {took:.1?})");
    forget(paths)?;
    let files = open(datadir)?;
    let jobs = files.list()?.into_iter().map(|file| (file, None)).collect();
    let (started, mut found, mut large) = (Instant::now(), 0, 0);
    files.walk_all(jobs, |(_, walked)| {
        for record in walked.into_iter().flat_map(|file| file.records) {
            found += 1;
            large += u32::from(record.size > 64 << 10);
        }
        ControlFlow::Continue(())
    });
    let took = started.elapsed();
    ensure!((found, large) == (made.blocks, made.large), "{found} blocks were found, {large} of them large");
    let reads = files.bulk_reads();
    // The small ones are read in pieces that hold many of them.
    let pieces = reads.saturating_sub(u64::from(made.large));
    println!("the walk: {reads} reads in {took:.1?}, {} a second", per_second(reads, took));
    println!(
        "    of them {pieces} beside one for each block above 64 KiB: {} each",
        ratio(reads.into(), made.large.into())
    );
    let of_disk = u128::from(reads) * 1_000_000 / rate.max(1);
    println!("    {} times what the disk takes for as many reads", ratio(took.as_micros(), of_disk));
    Ok(())
}

/// A first start, and one that finds what the first has remembered: each in a process of its own.
fn starts(datadir: &Path, paths: &[PathBuf], made: Made) -> Result<()> {
    let index = tempfile::tempdir_in(datadir)?;
    for (name, hints) in [("first start without the node's index", false), ("first start", true), ("next start", true)]
    {
        let index_of_node = datadir.join("regtest/blocks/index");
        let aside = datadir.join("index-of-node");
        if !hints {
            std::fs::rename(&index_of_node, &aside)?;
        } else if aside.exists() {
            std::fs::rename(&aside, &index_of_node)?;
        }
        if name == "first start" {
            std::fs::remove_dir_all(index.path())?;
        }
        forget(paths)?;
        println!("{name}:");
        let mut process = Command::new(std::env::current_exe()?);
        process.arg("--dir").arg(datadir).arg("--start").arg(index.path()).args(["--tip", &made.tip.to_string()]);
        ensure!(process.status()?.success(), "the start failed");
    }
    Ok(())
}

/// Starts on a directory as a server does, until all of it has been read.
fn start(datadir: &Path, index: &Path, tip: BlockHash) -> Result<()> {
    let started = Instant::now();
    let files = Arc::new(open(datadir)?);
    let app = App::look(files.clone(), Index::open(index, &Keeper::identity(&files), CACHE)?)?;
    wait(|| app.explorer.tip().is_some_and(|found| found.hash == tip && found.height.is_some()));
    told("the newest block", started, &app);
    wait(|| app.explorer.hash_at(Height(1)).is_some());
    told("every header", started, &app);
    opened(&app)?;
    wait(|| app.explorer.status().progress.complete);
    told("all", started, &app);
    println!("    {} reads, {} MiB of memory at most", files.bulk_reads(), peak_memory() >> 20);
    let tip = app.explorer.tip().and_then(|tip| tip.height).context("no tip")?;
    let ranges = app.explorer.status().ranges;
    ensure!(matches!(ranges[..], [HeightRange { from: Height(0), to }] if to == tip), "the chain is {ranges:?}");
    Ok(())
}

fn told(what: &str, started: Instant, app: &App) {
    let progress = app.explorer.status().progress;
    println!(
        "    {what} after {:.1?}, with {} of {} files read",
        started.elapsed(),
        progress.files_read,
        progress.files
    );
}

/// Opens blocks all over the chain, whose files may have to be read for it.
fn opened(app: &App) -> Result<()> {
    let tip = app.explorer.tip().and_then(|tip| tip.height).context("no tip")?;
    let mut times = Vec::new();
    for part in 0..OPENED {
        let started = Instant::now();
        let height = Height(tip.0 / OPENED * (part * 7 % OPENED));
        let facts = app.explorer.block(BlockId::Height(height))?;
        ensure!(facts.height == Some(height) && facts.size > 0, "{facts:?}");
        times.push(started.elapsed());
    }
    times.sort();
    println!(
        "    {OPENED} blocks all over the chain: {:.1?} each, {:.1?} at most",
        times[times.len() / 2],
        times[times.len() - 1]
    );
    Ok(())
}

fn wait(until: impl Fn() -> bool) {
    while !until() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn ratio(count: u128, of: u128) -> String {
    let thousandths = count * 1000 / of.max(1);
    format!("{}.{:03}", thousandths / 1000, thousandths % 1000)
}
