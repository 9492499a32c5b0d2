//! Settings: flags, then `HINDSIGHT_…` variables (clap reads both), then a TOML file, then defaults.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bitcoin::{Network, ScriptBuf};
use clap::Args;
use hindsight::source::DatadirOptions;
use serde::Deserialize;

/// Where blocks come from. Every field has the same name in the TOML file.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct SourceArgs {
    /// Bitcoin Core's data directory (or its blocks directory)
    ///
    /// The folder with `blocks/` in it, a network's folder in it, or the folder with the blk*.dat files itself. It is
    /// only ever read, and bitcoind may be running. Default: ~/.bitcoin, on macOS ~/Library/Application Support/Bitcoin
    #[arg(long, value_name = "DIR", env = "HINDSIGHT_DATADIR")]
    pub datadir: Option<PathBuf>,
    /// Where bitcoind keeps its blocks, if it was started with -blocksdir
    #[arg(long, value_name = "DIR", env = "HINDSIGHT_BLOCKSDIR")]
    pub blocksdir: Option<PathBuf>,
    /// main, test, testnet4, signet or regtest; recognised by itself unless there are several
    #[arg(long, value_name = "NAME", env = "HINDSIGHT_NETWORK")]
    pub network: Option<String>,
    /// Challenge of a custom signet in hex, to be checked against the files
    #[arg(long, value_name = "HEX", env = "HINDSIGHT_SIGNET_CHALLENGE")]
    pub signet_challenge: Option<String>,
}

/// How to serve. Every field has the same name in the TOML file.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ServerArgs {
    /// Address and port to listen on [default: 127.0.0.1:3110]
    #[arg(long, value_name = "ADDR", env = "HINDSIGHT_LISTEN")]
    pub listen: Option<SocketAddr>,
    /// A name that browsers reach this server by, besides addresses and localhost; repeat for more
    ///
    /// Requests under other names are refused, so that no foreign page can pose as this server (DNS rebinding). Behind
    /// a proxy or an onion service give the public name.
    #[arg(long, value_name = "NAME", env = "HINDSIGHT_HOST", value_delimiter = ',')]
    pub host: Vec<String>,
    /// Let pages of other origins read every answer, not only bytes that are named by a block hash
    #[arg(long, env = "HINDSIGHT_CORS")]
    pub cors: bool,
    /// Release of Bitcoin Core whose getblockstats to equal, where it matters: up to 31, or later [default: 32]
    #[arg(long, value_name = "RELEASE", env = "HINDSIGHT_CORE_COMPAT")]
    pub core_compat: Option<u32>,
    /// Memory for blocks that have been asked for, in MiB [default: 256]
    #[arg(long, value_name = "MIB", env = "HINDSIGHT_CACHE")]
    pub cache: Option<u32>,
}

/// The TOML file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    datadir: Option<PathBuf>,
    blocksdir: Option<PathBuf>,
    network: Option<String>,
    signet_challenge: Option<String>,
    index_dir: Option<PathBuf>,
    listen: Option<SocketAddr>,
    host: Vec<String>,
    cors: bool,
    core_compat: Option<u32>,
    cache: Option<u32>,
}

/// Everything resolved: nothing is optional any more.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where blocks come from.
    pub datadir: DatadirOptions,
    /// Where indexes lie.
    pub index_dir: PathBuf,
    /// Address to listen on.
    pub listen: SocketAddr,
    /// Names that the server answers to.
    pub hosts: Vec<String>,
    /// Whether every answer may be read from other origins.
    pub cors: bool,
    /// Release of Bitcoin Core whose statistics to equal.
    pub core_compat: u32,
    /// Bytes of blocks to keep.
    pub cache_bytes: u64,
}

impl Config {
    /// Resolves the settings. A file that was named has to be there; the default one need not.
    pub fn resolve(
        file: Option<&Path>,
        source: SourceArgs,
        server: ServerArgs,
        index_dir: Option<PathBuf>,
    ) -> Result<Self> {
        let file = read(file)?;
        let network = source.network.or(file.network).map(|name| network(&name)).transpose()?;
        let challenge = source.signet_challenge.or(file.signet_challenge);
        let challenge = challenge
            .map(|hex| ScriptBuf::from_hex(&hex).with_context(|| format!("the signet challenge '{hex}' is not hex")));
        let hosts = server.host.into_iter().chain(file.host).map(|host| host.to_ascii_lowercase()).collect();
        Ok(Self {
            datadir: DatadirOptions {
                datadir: source.datadir.or(file.datadir).map_or_else(default_datadir, Ok)?,
                blocksdir: source.blocksdir.or(file.blocksdir),
                network,
                signet_challenge: challenge.transpose()?,
            },
            index_dir: index_dir.or(file.index_dir).map_or_else(default_index_dir, Ok)?,
            listen: server.listen.or(file.listen).unwrap_or_else(default_listen),
            hosts,
            cors: server.cors || file.cors,
            core_compat: server.core_compat.or(file.core_compat).unwrap_or(DEFAULT_CORE_COMPAT),
            cache_bytes: u64::from(server.cache.or(file.cache).unwrap_or(256)) << 20,
        })
    }
}

fn read(path: Option<&Path>) -> Result<File> {
    let (path, named) = match path {
        Some(path) => (path.to_owned(), true),
        None => match home() {
            Ok(home) => (home.join(".config/hindsight.toml"), false),
            Err(_) => return Ok(File::default()),
        },
    };
    match fs::read_to_string(&path) {
        Ok(text) => toml::from_str(&text).with_context(|| format!("the settings in {}", path.display())),
        Err(error) if !named && error.kind() == std::io::ErrorKind::NotFound => Ok(File::default()),
        Err(error) => Err(error).with_context(|| format!("the settings in {} cannot be read", path.display())),
    }
}

fn network(name: &str) -> Result<Network> {
    Ok(match name {
        "main" | "mainnet" | "bitcoin" => Network::Bitcoin,
        "test" | "testnet" | "testnet3" => Network::Testnet,
        "testnet4" => Network::Testnet4,
        "signet" => Network::Signet,
        "regtest" => Network::Regtest,
        other => bail!("'{other}' is no network: main, test, testnet4, signet or regtest"),
    })
}

/// The release that follows the newest one.
pub const DEFAULT_CORE_COMPAT: u32 = 32;

/// The port is nobody else's habit.
pub fn default_listen() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 3110))
}

fn home() -> Result<PathBuf> {
    std::env::home_dir()
        .filter(|home| !home.as_os_str().is_empty())
        .context("there is no home directory to take defaults from: give --datadir and --index-dir")
}

fn default_datadir() -> Result<PathBuf> {
    let folder = if cfg!(target_os = "macos") { "Library/Application Support/Bitcoin" } else { ".bitcoin" };
    Ok(home()?.join(folder))
}

fn default_index_dir() -> Result<PathBuf> {
    if let Some(dir) = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute()) {
        return Ok(dir.join("hindsight"));
    }
    let folder =
        if cfg!(target_os = "macos") { "Library/Application Support/Hindsight" } else { ".local/share/hindsight" };
    Ok(home()?.join(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(toml: &str, source: SourceArgs, server: ServerArgs) -> Result<Config> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hindsight.toml");
        fs::write(&path, toml).unwrap();
        Config::resolve(Some(&path), source, server, None)
    }

    #[test]
    fn flags_win_over_the_file_and_the_file_over_defaults() {
        let toml = "datadir = '/file'\nlisten = '0.0.0.0:80'\nhost = ['File.example']\nnetwork = 'signet'\ncache = 1";
        let source = SourceArgs { datadir: Some("/flag".into()), ..SourceArgs::default() };
        let server = ServerArgs { host: vec!["Flag.example".into()], ..ServerArgs::default() };
        let config = resolve(toml, source, server).unwrap();
        assert_eq!(config.datadir.datadir, Path::new("/flag"));
        assert_eq!(config.datadir.network, Some(Network::Signet));
        assert_eq!(config.listen, SocketAddr::from(([0, 0, 0, 0], 80)));
        assert_eq!(config.hosts, ["flag.example", "file.example"]);
        assert_eq!(config.cache_bytes, 1 << 20);
        assert!(!config.cors);
    }

    #[test]
    fn without_anything_it_listens_on_this_machine_only() {
        let config = resolve("", SourceArgs::default(), ServerArgs::default()).unwrap();
        assert!(config.listen.ip().is_loopback());
        assert_eq!(config.datadir.network, None);
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_its_value() {
        let source = |network: &str| SourceArgs { network: Some(network.into()), ..SourceArgs::default() };
        let text = |result: Result<Config>| format!("{:#}", result.unwrap_err());
        assert!(text(resolve("", source("litecoin"), ServerArgs::default())).contains("litecoin"));
        assert!(text(resolve("lisen = '1.2.3.4:5'", SourceArgs::default(), ServerArgs::default())).contains("lisen"));
        assert!(
            text(Config::resolve(Some(Path::new("/nowhere.toml")), SourceArgs::default(), ServerArgs::default(), None))
                .contains("/nowhere.toml")
        );
    }
}
