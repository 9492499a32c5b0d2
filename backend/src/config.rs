//! Settings: flags, then `HINDSIGHT_…` variables (clap reads both), then a TOML file, then defaults.
//!
//! Part of the library, not of the binary, so that what people may write there can be fuzzed.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bitcoin::{Network, ScriptBuf};
use clap::Args;
use clap::builder::BoolishValueParser;
use serde::Deserialize;

use crate::http::host_name;
use crate::source::DatadirOptions;
use hindsight_shared::api::IndexLevel;

/// Where blocks come from.
#[derive(Args, Clone, Debug, Default)]
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

/// How to serve.
#[derive(Args, Clone, Debug, Default)]
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
    #[arg(
        long, value_name = "BOOL", env = "HINDSIGHT_CORS", value_parser = BoolishValueParser::new(), num_args = 0..=1,
        require_equals = true, default_missing_value = "true"
    )]
    pub cors: Option<bool>,
    /// Release of Bitcoin Core whose getblockstats to equal, where it matters: up to 31, or later [default: 32]
    #[arg(long, value_name = "RELEASE", env = "HINDSIGHT_CORE_COMPAT")]
    pub core_compat: Option<u32>,
    /// Memory for blocks that have been asked for, in MiB [default: 256]
    #[arg(long, value_name = "MIB", env = "HINDSIGHT_CACHE")]
    pub cache: Option<u32>,
}

/// What to remember.
#[derive(Args, Clone, Debug, Default)]
pub struct IndexArgs {
    /// Where hindsight keeps its index, built anew when lost [default: ~/.local/share/hindsight]
    ///
    /// What lies where and statistics are some 800 MB on mainnet; transactions and addresses come to about a
    /// twentieth of the node's block files.
    #[arg(long, value_name = "DIR", env = "HINDSIGHT_INDEX_DIR")]
    pub index_dir: Option<PathBuf>,
    /// What to index: blocks, transactions (found by their ids) or addresses (their histories, and who spent an output)
    /// [default: addresses]
    ///
    /// Each is filled in behind the running server and keeps what the ones before it have; what is there already is
    /// kept, whichever is chosen.
    #[arg(long, value_name = "LEVEL", env = "HINDSIGHT_INDEX")]
    pub index: Option<String>,
    /// Memory for making the index, in MiB [default: 1024]
    #[arg(long, value_name = "MIB", env = "HINDSIGHT_INDEX_MEMORY")]
    pub index_memory: Option<u32>,
}

/// The TOML file: every flag under its own name, except the one that names the file. What clap fills cannot be read from
/// it as well: flattened structs accept unknown names, and a misspelt setting has to be told.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct File {
    /// What to log.
    pub log: Option<String>,
    datadir: Option<PathBuf>,
    blocksdir: Option<PathBuf>,
    network: Option<String>,
    signet_challenge: Option<String>,
    index_dir: Option<PathBuf>,
    index: Option<String>,
    index_memory: Option<u32>,
    listen: Option<SocketAddr>,
    host: Vec<String>,
    cors: Option<bool>,
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
    /// What is indexed beside blocks.
    pub levels: Vec<IndexLevel>,
    /// Bytes of memory for making the index.
    pub index_memory: u64,
}

impl Config {
    /// Resolves the settings.
    ///
    /// # Errors
    /// Where a value cannot be meant, with that value; where a default needs a home directory and there is none.
    pub fn resolve(file: File, source: SourceArgs, server: ServerArgs, index: IndexArgs) -> Result<Self> {
        let network = source.network.or(file.network).map(|name| network(&name)).transpose()?;
        let challenge = source.signet_challenge.or(file.signet_challenge);
        let challenge = challenge
            .map(|hex| ScriptBuf::from_hex(&hex).with_context(|| format!("the signet challenge '{hex}' is not hex")));
        let named = if server.host.is_empty() { &file.host } else { &server.host };
        let from_file = |path: Option<PathBuf>| path.map(expanded).transpose();
        Ok(Self {
            datadir: DatadirOptions {
                datadir: source.datadir.or(from_file(file.datadir)?).map_or_else(default_datadir, Ok)?,
                blocksdir: source.blocksdir.or(from_file(file.blocksdir)?),
                network,
                signet_challenge: challenge.transpose()?,
            },
            index_dir: index.index_dir.or(from_file(file.index_dir)?).map_or_else(default_index_dir, Ok)?,
            listen: server.listen.or(file.listen).unwrap_or_else(default_listen),
            hosts: hosts(named)?,
            cors: server.cors.or(file.cors).unwrap_or(false),
            core_compat: server.core_compat.or(file.core_compat).unwrap_or(DEFAULT_CORE_COMPAT),
            cache_bytes: u64::from(server.cache.or(file.cache).unwrap_or(256)) << 20,
            levels: index.index.or(file.index).map_or_else(|| Ok(IndexLevel::ALL.to_vec()), |name| levels(&name))?,
            index_memory: index_memory(index.index_memory.or(file.index_memory))?,
        })
    }
}

impl File {
    /// Reads a file that was named, or else the one in its usual place. The latter need not be there; if it cannot be
    /// read, that is said in a sentence beside the settings.
    ///
    /// # Errors
    /// Where a file cannot be read or understood, with its path.
    pub fn read(named: Option<&Path>) -> Result<(Self, Option<String>)> {
        let usual = || Some(home().ok()?.join(".config/hindsight.toml"));
        match named {
            Some(path) => {
                let cannot = || format!("the settings in {} cannot be read", path.display());
                let text = fs::read_to_string(path).with_context(cannot)?;
                Ok((Self::parse(&text, path)?, None))
            }
            None => usual().map_or_else(|| Ok(Default::default()), |path| Self::read_usual(&path)),
        }
    }

    fn read_usual(path: &Path) -> Result<(Self, Option<String>)> {
        match fs::read_to_string(path) {
            Ok(text) => Ok((Self::parse(&text, path)?, None)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Default::default()),
            Err(error) => {
                let warning = format!("the settings in {} are left out: {error}", path.display());
                Ok((Self::default(), Some(warning)))
            }
        }
    }

    /// Reads the text of a file, whose path is for the error.
    ///
    /// # Errors
    /// Where it is no TOML, or has a name or value that is no setting.
    pub fn parse(text: &str, path: &Path) -> Result<Self> {
        toml::from_str(text).with_context(|| format!("the settings in {}", path.display()))
    }
}

/// The names that the server answers to.
///
/// # Errors
/// Where one is no name.
pub fn hosts(names: &[String]) -> Result<Vec<String>> {
    let wrong =
        |name: &str| format!("'{name}' is no name that a browser could ask for: give one such as explorer.example");
    names.iter().map(|name| host_name(name).with_context(|| wrong(name))).collect()
}

/// A path as a shell would read it: in a file nobody else expands the `~`.
fn expanded(path: PathBuf) -> Result<PathBuf> {
    match path.strip_prefix("~") {
        Ok(rest) => Ok(home()?.join(rest)),
        Err(_) => Ok(path),
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

/// What a level of the index takes.
fn levels(name: &str) -> Result<Vec<IndexLevel>> {
    Ok(match name {
        "blocks" => Vec::new(),
        "transactions" => vec![IndexLevel::Transactions],
        "addresses" => IndexLevel::ALL.to_vec(),
        other => bail!("'{other}' is no level of the index: blocks, transactions or addresses"),
    })
}

fn index_memory(mib: Option<u32>) -> Result<u64> {
    let mib = mib.unwrap_or(1024);
    if mib < LEAST_INDEX_MEMORY {
        bail!("{mib} MiB are too few to make an index in: give at least {LEAST_INDEX_MEMORY}");
    }
    Ok(u64::from(mib) << 20)
}

/// A few full blocks at once, sorted.
const LEAST_INDEX_MEMORY: u32 = 64;

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
        let file = File::parse(toml, Path::new("hindsight.toml"))?;
        Config::resolve(file, source, server, IndexArgs::default())
    }

    fn of_file(toml: &str) -> Result<Config> {
        resolve(toml, SourceArgs::default(), ServerArgs::default())
    }

    #[test]
    fn flags_win_over_the_file_and_the_file_over_defaults() {
        let toml = "datadir = '/file'\nlisten = '0.0.0.0:80'\nnetwork = 'signet'\ncache = 1\ncors = true\nlog = 'warn'";
        let source = SourceArgs { datadir: Some("/flag".into()), ..SourceArgs::default() };
        let server = ServerArgs { cors: Some(false), ..ServerArgs::default() };
        let config = resolve(toml, source, server).unwrap();
        assert_eq!(config.datadir.datadir, Path::new("/flag"));
        assert_eq!(config.datadir.network, Some(Network::Signet));
        assert_eq!(config.listen, SocketAddr::from(([0, 0, 0, 0], 80)));
        assert_eq!(config.cache_bytes, 1 << 20);
        assert!(!config.cors);
        assert!(of_file(toml).unwrap().cors);
    }

    #[test]
    fn hosts_given_by_flag_replace_those_of_the_file() {
        let toml = "host = ['File.example', 'other.example:443']";
        assert_eq!(of_file(toml).unwrap().hosts, ["file.example", "other.example"]);
        let server = ServerArgs { host: vec!["Flag.example:8080".into()], ..ServerArgs::default() };
        assert_eq!(resolve(toml, SourceArgs::default(), server).unwrap().hosts, ["flag.example"]);
        for wrong in ["", ":443", "https://a.example"] {
            assert!(hosts(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn without_anything_it_listens_on_this_machine_only() {
        let config = of_file("").unwrap();
        assert!(config.listen.ip().is_loopback());
        assert_eq!(config.datadir.network, None);
        assert!(!config.cors);
    }

    #[test]
    fn paths_in_the_file_may_start_at_home() {
        let config = of_file("datadir = '~/node'\nindex_dir = '/~/index'").unwrap();
        assert_eq!(config.datadir.datadir, home().unwrap().join("node"));
        assert_eq!(config.index_dir, Path::new("/~/index"));
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_its_value() {
        let text = |result: Result<Config>| format!("{:#}", result.unwrap_err());
        assert!(text(of_file("network = 'litecoin'")).contains("litecoin"));
        assert!(text(of_file("lisen = '1.2.3.4:5'")).contains("lisen"));
        let nowhere = File::read(Some(Path::new("/nowhere.toml")));
        assert!(format!("{:#}", nowhere.unwrap_err()).contains("/nowhere.toml"));
    }

    #[test]
    fn an_unreadable_file_in_the_usual_place_is_a_warning() {
        let dir = tempfile::tempdir().unwrap();
        let missing = File::read_usual(&dir.path().join("hindsight.toml")).unwrap();
        assert_eq!(missing.1, None);
        // A folder is nothing that can be read.
        let (_, warning) = File::read_usual(dir.path()).unwrap();
        assert!(warning.unwrap().contains(&dir.path().display().to_string()));
    }
}
