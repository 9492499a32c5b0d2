//! What it takes to index a chain's transactions, scripts and spent outputs: Hindsight from the node's files, bindex through
//! the node's REST interface. Bindex's share of the work that the node does for it counts as bindex's.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use hindsight_benches::chains::{Chain, valid_blocks};
use hindsight_shared::api::{STATUS, Status};

use crate::contestant::Contestant;
use crate::hindsight::wait_for;
use crate::session::{Server, command};
use crate::{core, get, hindsight};

/// Bindex asks the node at regtest's own port.
const PORT: u16 = 18443;

/// How often it is looked whether one is done.
const PAUSE: Duration = Duration::from_millis(10);

/// How long one may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// What is compared.
#[derive(Clone, Copy, Debug)]
pub struct Programs<'a> {
    /// Hindsight.
    pub hindsight: &'a Path,
    /// The node.
    pub bitcoind: &'a Path,
    /// Bindex.
    pub bindex: &'a Path,
}

/// What one of them took.
#[derive(Clone, Copy, Debug)]
struct Taken {
    /// Seconds of CPU time of its own.
    own: f64,
    /// The node's, for it.
    node: f64,
    seconds: f64,
    /// Bytes on disk.
    disk: u64,
}

/// Lets both index a chain of `blocks` full blocks in turns, and prints what each took.
pub fn compare(programs: &Programs<'_>, blocks: u32, rounds: u32) -> Result<()> {
    let (chain, last) = valid_blocks(blocks);
    let node = core::start(programs.bitcoind, SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)), &chain, last)?;
    let size = size(&chain.datadir)?;
    println!("{blocks} full blocks, {} MB with their undo", size / 1_000_000);
    let mut ratios = Vec::new();
    for _ in 0..rounds {
        let ours = by_hindsight(programs.hindsight, &chain, &node)?;
        let theirs = by_bindex(programs.bindex, &node)?;
        for (name, taken) in [("hindsight", ours), ("bindex", theirs)] {
            #[allow(clippy::cast_precision_loss, reason = "a chain has fewer bytes than a double holds")]
            let (gigabytes, percent) = (size as f64 / 1e9, taken.disk as f64 * 100.0 / size as f64);
            println!(
                "    {name:<10} {:>6.1} s of CPU a GB, the node {:>5.1}; {:>5.1} s; {percent:.1} % on disk",
                taken.own / gigabytes,
                taken.node / gigabytes,
                taken.seconds,
            );
        }
        ratios.push((ours.own + ours.node) / (theirs.own + theirs.node));
    }
    ratios.sort_by(f64::total_cmp);
    println!("{:.2} times the CPU time of bindex and its node", ratios[ratios.len() / 2]);
    Ok(())
}

fn by_hindsight(binary: &Path, chain: &Chain, node: &Contestant) -> Result<Taken> {
    let (started, before) = (Instant::now(), node.server.cpu_seconds()?);
    let server = hindsight::start("hindsight", binary, chain)?;
    wait_for(&server, "/healthz")?;
    let is_whole = || -> Result<bool> {
        let status: Status = serde_json::from_slice(&get::get(server.address, &format!("/{STATUS}"))?)?;
        Ok(!status.index.is_empty() && status.index.iter().all(|level| level.whole))
    };
    while !is_whole()? {
        ensure!(started.elapsed() < PATIENCE, "hindsight has not indexed the chain");
        std::thread::sleep(PAUSE);
    }
    let seconds = started.elapsed().as_secs_f64();
    let (own, node) = (server.server.cpu_seconds()?, node.server.cpu_seconds()? - before);
    Ok(Taken { own, node, seconds, disk: size(server.dir.path())? })
}

fn by_bindex(binary: &Path, node: &Contestant) -> Result<Taken> {
    let dir = tempfile::tempdir()?;
    let (started, before) = (Instant::now(), node.server.cpu_seconds()?);
    let mut command = command(binary.as_os_str())?;
    command.args(["--network", "regtest", "--sync-once", "--db-path"]).arg(dir.path());
    let bindex = Server::start(command.stdout(Stdio::null()).stderr(Stdio::null()))?;
    while !bindex.has_ended()? {
        ensure!(started.elapsed() < PATIENCE, "bindex has not indexed the chain");
        std::thread::sleep(PAUSE);
    }
    let seconds = started.elapsed().as_secs_f64();
    // What has ended is counted until it is waited for.
    let (own, node) = (bindex.cpu_seconds()?, node.server.cpu_seconds()? - before);
    Ok(Taken { own, node, seconds, disk: size(dir.path())? })
}

/// Bytes of all files below a folder.
fn size(folder: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let facts = entry.metadata()?;
        sum += if facts.is_dir() { size(&entry.path())? } else { facts.len() };
    }
    Ok(sum)
}
