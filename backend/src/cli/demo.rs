//! `hindsight demo`: the chains that the program carries, unpacked to a folder of their own and served like a node's.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use hindsight::app::{App, Options};
use hindsight::config::{Config, DEFAULT_CORE_COMPAT, ServerArgs, default_listen, hosts};
use hindsight::demo::DemoChain;
use hindsight::http::{Named, several};
use hindsight::source::DatadirOptions;
use hindsight_shared::api::IndexLevel;

use super::{Served, serve_app, state};

/// Megabytes of blocks to keep in memory, unless told otherwise: of all chains together.
const CACHE: u32 = 128;

/// Bytes of memory for making each chain's index.
const INDEX_MEMORY: u64 = 128 << 20;

#[derive(Args, Debug)]
pub(super) struct Demo {
    /// The chain that is shown first
    #[arg(long, value_enum, default_value_t)]
    chain: DemoChain,
    #[command(flatten)]
    server: ServerArgs,
}

pub(super) fn run(args: Demo) -> Result<ExitCode> {
    let dir =
        tempfile::Builder::new().prefix("hindsight-demo-").tempdir().context("no place to unpack the demo chains")?;
    let server = args.server;
    let config = Config {
        datadir: DatadirOptions::default(),
        index_dir: dir.path().join("index"),
        listen: server.listen.unwrap_or_else(default_listen),
        hosts: hosts(&server.host)?,
        cors: server.cors.unwrap_or(false),
        core_compat: server.core_compat.unwrap_or(DEFAULT_CORE_COMPAT),
        cache_bytes: u64::from(server.cache.unwrap_or(CACHE)) << 20,
        levels: IndexLevel::ALL.to_vec(),
        index_memory: INDEX_MEMORY,
    };
    let others = DemoChain::ALL.into_iter().filter(|chain| *chain != args.chain);
    let chains: Vec<DemoChain> = std::iter::once(args.chain).chain(others).collect();
    serve_app(&config, || open(&chains, &config, dir.path()))
}

fn open(chains: &[DemoChain], config: &Config, dir: &Path) -> Result<Served> {
    let apps = chains.iter().map(|chain| open_one(*chain, config, dir)).collect::<Result<Vec<App>>>()?;
    let named = chains.iter().zip(&apps).map(|(chain, app)| Named {
        name: chain.name(),
        title: chain.title(),
        state: state(app, config),
    });
    let router = several(&named.collect::<Vec<_>>());
    let titles: Vec<&str> = chains.iter().map(|chain| chain.title()).collect();
    Ok(Served { what: format!("the demo chains {}", titles.join(" and ")), apps, router })
}

fn open_one(chain: DemoChain, config: &Config, dir: &Path) -> Result<App> {
    let datadir = chain
        .unpack(dir)
        .with_context(|| format!("the demo chain {} cannot be unpacked to {}", chain.title(), dir.display()))?;
    Ok(App::open(&Options {
        datadir: DatadirOptions { datadir, ..DatadirOptions::default() },
        index_dir: config.index_dir.clone(),
        cache_bytes: config.cache_bytes / DemoChain::ALL.len() as u64,
        levels: config.levels.clone(),
        index_memory: config.index_memory,
        demo: Some(chain.about().to_owned()),
    })?)
}
