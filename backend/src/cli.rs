//! What `hindsight` can be told to do.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use axum::Router;
use clap::{Args, Parser, Subcommand};
use hindsight::app::{App, Options};
use hindsight::config::{Config, File, IndexArgs, ServerArgs, SourceArgs};
use hindsight::http::{Access, AppState, Limits, raise_limit, router, serve};
use hindsight_shared::stats::core::UtxoOverhead;
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

mod check;
mod demo;

/// A Bitcoin block explorer for your own node
///
/// Hindsight reads the block and undo files that Bitcoin Core has written, next to the running node: no RPC, no locks,
/// no copy. It serves blocks with the outputs they spend as bytes, and a web app that decodes and checks them in the
/// browser.
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLES)]
pub struct Cli {
    /// Settings in TOML, with the names of the long flags [default: ~/.config/hindsight.toml]
    #[arg(long, global = true, value_name = "FILE", env = "HINDSIGHT_CONFIG")]
    config: Option<PathBuf>,
    /// What to log: error, warn, info, debug, or a filter such as hindsight=debug [default: info; for check: warn]
    #[arg(long, global = true, value_name = "FILTER", env = "HINDSIGHT_LOG")]
    log: Option<String>,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  hindsight demo                                   two chains that are carried inside
  hindsight serve                                  the node in its usual place
  hindsight serve --datadir /mnt/bitcoin --listen 0.0.0.0:3110 --host explorer.example
  hindsight check --datadir /mnt/bitcoin           reads everything, reports damage
  hindsight check --sample 1000                    the same of a thousand blocks
  hindsight check --against http://127.0.0.1:3110  whether a server answers what the files say

Every flag of serve can also be set as HINDSIGHT_NAME=value, or as name = value in the settings file (with underscores).
Flags win over variables, variables over the file.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve a node's blocks
    Serve(Serve),
    /// Serve the chains that are carried inside this program
    ///
    /// One of them at the root, the other below its name; the pages have a switch between them.
    Demo(demo::Demo),
    /// Read all blocks and undo records of a node and hindsight's index of them, and report damage with file and offset
    ///
    /// Every file is walked, every block is read and its transactions hashed against its merkle root, every undo record
    /// is held against its checksum. What the index remembers is held against what was found: where each block and undo
    /// record lies, and each row of statistics against one that is computed anew; rows of files that have changed since
    /// are no damage. Nothing is changed, and bitcoind may be running. With --sample only some blocks are read; with
    /// --against two instances are compared. Exit code: 0 nothing is wrong, 2 something is, 1 it could not be found out.
    Check(check::Check),
}

#[derive(Args, Debug)]
struct Serve {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    index: IndexArgs,
}

/// Runs the command.
pub fn run(cli: Cli) -> Result<ExitCode> {
    // Nothing of the settings file concerns the demo: it is the same everywhere.
    let (file, warning) = match cli.command {
        Command::Demo(_) => Default::default(),
        _ => File::read(cli.config.as_deref())?,
    };
    // What a check finds is its report.
    let usual = if matches!(cli.command, Command::Check(_)) { "warn" } else { "info" };
    start_log(cli.log.or_else(|| file.log.clone()).as_deref().unwrap_or(usual))?;
    if let Some(warning) = warning {
        tracing::warn!("{warning}");
    }
    match cli.command {
        Command::Serve(args) => {
            let config = Config::resolve(file, args.source, args.server, args.index)?;
            let options = Options {
                datadir: config.datadir.clone(),
                index_dir: config.index_dir.clone(),
                cache_bytes: config.cache_bytes,
                levels: config.levels.clone(),
                index_memory: config.index_memory,
                demo: None,
            };
            serve_app(&config, || open(&options, &config))
        }
        Command::Demo(args) => demo::run(args),
        Command::Check(args) => {
            let index = IndexArgs { index_dir: args.index_dir.clone(), ..IndexArgs::default() };
            let config = Config::resolve(file, args.source.clone(), ServerArgs::default(), index)?;
            check::run(&config, &args)
        }
    }
}

fn start_log(filter: &str) -> Result<()> {
    let filter = EnvFilter::try_new(filter).with_context(|| format!("the log filter '{filter}'"))?;
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false).init();
    Ok(())
}

/// What is served, and what lives as long.
struct Served {
    /// In words.
    what: String,
    /// The followers of its directories.
    apps: Vec<App>,
    /// Its routes.
    router: Router,
}

fn open(options: &Options, config: &Config) -> Result<Served> {
    let app = App::open(options)?;
    let router = router(state(&app, config));
    Ok(Served { what: app.datadir.blocks_dir.display().to_string(), apps: vec![app], router })
}

fn state(app: &App, config: &Config) -> AppState {
    let access = Access {
        hosts: config.hosts.clone(),
        cors: config.cors,
        core_compat: UtxoOverhead::of_release(config.core_compat),
    };
    AppState { explorer: app.explorer.clone(), access: Arc::new(access), chains: Arc::default() }
}

fn serve_app(config: &Config, open: impl FnOnce() -> Result<Served>) -> Result<ExitCode> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().context("no threads to serve with")?;
    let limits = Limits::within(raise_limit());
    let outcome = runtime.block_on(async {
        // The port comes first: a second instance is told so before it touches the index.
        let listener = TcpListener::bind(config.listen).await.with_context(|| cannot_listen(config.listen))?;
        let Served { what, apps, router } = open()?;
        println!("Hindsight serves {what} at http://{}/", listener.local_addr()?);
        serve(listener, router, limits, stopped()).await?;
        drop(apps);
        Ok(ExitCode::SUCCESS)
    });
    // Questions that are still being answered have nobody left to hear it.
    runtime.shutdown_background();
    outcome
}

fn cannot_listen(address: SocketAddr) -> String {
    format!("cannot listen on {address}: is something else listening there? choose another with --listen")
}

/// Resolves when the process is told to stop.
async fn stopped() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return std::future::pending().await };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
    tracing::info!("stopping; once more ends it at once");
    tokio::spawn(async move {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
        std::process::exit(130);
    });
}
