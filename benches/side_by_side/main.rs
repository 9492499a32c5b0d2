//! Hindsight beside nginx: the same bytes, from memory here and as static files there, under the same load; and beside
//! Bitcoin Core on the same directory, where `BITCOIND_EXE` names a node.
//!
//! Single figures say little on a shared machine, so both are loaded in turns and what counts is the ratio of each pair,
//! of which the median is printed. `--also` puts another build of hindsight into the same turns, which is how a change
//! is measured. Everything stays on loopback and ends by itself.

#![allow(clippy::unwrap_used, reason = "a measurement that cannot be set up has nothing to say")]

mod contestant;
mod core;
mod get;
mod hindsight;
mod indexing;
mod load;
mod nginx;
mod report;
mod session;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Parser;
use contestant::{Contestant, free_address};
use hindsight_benches::chains::{Chain, eras, full_blocks, valid_blocks};
use hindsight_shared::Height;
use load::{Load, Wrk};
use report::Report;

/// Hindsight beside nginx serving the same bytes as files: requests a second, and CPU time for each gigabyte
#[derive(Debug, Parser)]
struct Args {
    /// The hindsight binary; without it, the release build is made and taken
    #[arg(long, value_name = "FILE", env = "HINDSIGHT_BIN")]
    hindsight: Option<PathBuf>,
    /// Another hindsight binary to load in the same turns
    #[arg(long, value_name = "FILE")]
    also: Option<PathBuf>,
    /// Bitcoin Core's node, to load in the same turns with what it serves too
    #[arg(long, value_name = "FILE", env = "BITCOIND_EXE")]
    bitcoind: Option<PathBuf>,
    /// Bindex's command line: tells what it and the node take to index a chain, and what Hindsight does, and nothing else
    #[arg(long, value_name = "FILE", requires = "bitcoind")]
    bindex: Option<PathBuf>,
    /// Full blocks of that chain; each takes 8 MB of memory to make
    #[arg(long, default_value_t = 600)]
    blocks: u32,
    /// Connections, a column each
    #[arg(long, value_delimiter = ',', default_value = "1,4,16")]
    connections: Vec<u32>,
    /// Turns; each loads every server once with every path and number of connections
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Seconds of each load
    #[arg(long, default_value_t = 2)]
    seconds: u32,
    /// Only paths that contain this
    #[arg(long, default_value = "")]
    only: String,
}

/// Paths of one block, and what they are called in the table.
const PATHS: [(&str, &str, &str); 3] = [
    ("payload", "/api/v1/block/", "/payload"),
    ("rest/block", "/rest/block/", ".bin"),
    ("rest/spenttxouts", "/rest/spenttxouts/", ".bin"),
];

fn main() -> Result<()> {
    // Started by itself, it only makes a session and becomes the server that is named: see `session`.
    if let Some(error) = session::become_server() {
        return Err(error);
    }
    let args = Args::parse();
    let binary = args.hindsight.clone().map_or_else(hindsight::build, Ok)?;
    if let (Some(bindex), Some(bitcoind)) = (&args.bindex, &args.bitcoind) {
        return indexing::compare(
            &indexing::Programs { hindsight: &binary, bitcoind, bindex },
            args.blocks,
            args.rounds,
        );
    }
    let wrk = Wrk::find()?;
    let nginx = nginx::find()?;
    let (chain, hash) = match args.bitcoind {
        Some(_) => valid_blocks(3),
        None => chain_and_block(),
    };
    println!("block {hash} of {}", chain.name);
    // It writes the undo data that hindsight reads.
    let bitcoind =
        args.bitcoind.as_ref().map(|bitcoind| core::start(bitcoind, free_address()?, &chain, hash)).transpose()?;
    let mut contestants = vec![hindsight::start("hindsight", &binary, &chain)?];
    if let Some(also) = &args.also {
        contestants.push(hindsight::start("also", also, &chain)?);
    }
    let paths: Vec<_> = PATHS.iter().filter(|path| path.0.contains(&args.only)).collect();
    let files: Vec<(String, Vec<u8>)> = paths
        .iter()
        .map(|(_, before, after)| {
            let path = format!("{before}{hash}{after}");
            let body = hindsight::wait_for(&contestants[0], &path)?;
            Ok((path, body))
        })
        .collect::<Result<_>>()?;
    contestants.extend(bitcoind);
    contestants.extend(nginx::start(&nginx, &files)?);

    for ((name, ..), (path, body)) in paths.iter().zip(&files) {
        println!("\n{name}: {} bytes", body.len());
        let able: Vec<_> = contestants.iter().filter(|contestant| contestant.serves(path)).collect();
        for contestant in &able {
            same_bytes(contestant, path, body)?;
        }
        for &connections in &args.connections {
            let mut report = Report::new(&able, body.len());
            for round in 0..args.rounds {
                // Nobody is always first after a pause.
                for turn in 0..able.len() {
                    let index = (turn + round as usize) % able.len();
                    let load = Load { connections, time: Duration::from_secs(args.seconds.into()), path };
                    report.add(index, load.run(&wrk, able[index])?);
                }
            }
            report.print(connections);
        }
    }
    Ok(())
}

fn same_bytes(contestant: &Contestant, path: &str, body: &[u8]) -> Result<()> {
    let got = hindsight::wait_for(contestant, path)?;
    if got != body {
        bail!("{} answers {path} with other bytes", contestant.name);
    }
    Ok(())
}

/// A full block of mainnet where it is at hand, else one made here.
fn chain_and_block() -> (Chain, bitcoin::BlockHash) {
    let chain = eras().unwrap_or_else(|| full_blocks(1));
    let full = |record: &::hindsight::source::BlockRecord| {
        record.stated_height.is_some_and(|height| [Height(866_342), Height(840_000)].contains(&height))
    };
    let hash = chain.sample("", full).hash;
    (chain, hash)
}
