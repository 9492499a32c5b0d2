//! Finds the blocks directory and tells which network it holds.
//!
//! Core keeps main's blocks in `<datadir>/blocks` and other networks' in `<datadir>/<network>/blocks`; `-blocksdir`
//! moves those folders elsewhere with the same layout. People point at any of these, so the data directory, a network's
//! directory and the blocks directory itself are all taken. Which network it is, the magic before the first record
//! says; folder names only help where there is no record yet, and for custom signets, whose magic can be anything.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use bitcoin::consensus::Encodable;
use bitcoin::hashes::{Hash, HashEngine, sha256d};
use bitcoin::p2p::Magic;
use bitcoin::{Network, Script, ScriptBuf};
use hindsight_shared::network::NetworkExt;

use super::files::list;
use super::obfuscation::KEY_FILE;
use super::{Obfuscation, SourceError};

/// Main first: its folder is the data directory itself.
const NETWORKS: [Network; 5] =
    [Network::Bitcoin, Network::Testnet, Network::Testnet4, Network::Signet, Network::Regtest];

/// Block files looked at for a magic: the first may start with what a power loss left.
const FILES_TRIED: usize = 8;

/// What the user says about where the blocks are.
#[derive(Debug, Clone, Default)]
pub struct DatadirOptions {
    /// The node's data directory, a network's directory in it, or a blocks directory.
    pub datadir: PathBuf,
    /// Core's `-blocksdir`, when blocks are kept elsewhere. Then `datadir` is looked at for Core's index of them only.
    pub blocksdir: Option<PathBuf>,
    /// The network to read; without it, the files tell.
    pub network: Option<Network>,
    /// Core's `-signetchallenge`, checked against the files' magic. Not needed to read them.
    pub signet_challenge: Option<ScriptBuf>,
}

/// A blocks directory that was found, and its network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datadir {
    /// The directory with the `blk*.dat` files.
    pub blocks_dir: PathBuf,
    /// Where Core's own index of these blocks is, if it is anywhere: `-blocksdir` leaves it in the data directory.
    pub block_index: PathBuf,
    /// The network; [`Network::Signet`] for custom signets too.
    pub network: Network,
    /// The magic before every record.
    pub magic: Magic,
}

impl Datadir {
    /// Finds the blocks directory and recognises its network.
    ///
    /// # Errors
    /// When there is no blocks directory, it cannot be read, it holds another network than asked for, or several
    /// networks are there and none is main or asked for. Each error says what to do.
    pub fn open(options: &DatadirOptions) -> Result<Self, SourceError> {
        let root = options.blocksdir.as_ref().unwrap_or(&options.datadir);
        let (blocks_dir, folder) = choose(root, candidates(root)?, options.network)?;
        let expected = options.network.unwrap_or(folder);
        let signet = expected == Network::Signet || folder == Network::Signet || options.signet_challenge.is_some();
        let block_index = block_index(options, &blocks_dir, folder);
        let Some(magic) = first_magic(&blocks_dir)? else {
            let magic = options.signet_challenge.as_deref().filter(|_| signet).map(signet_magic);
            let magic = magic.unwrap_or(expected.magic());
            return Ok(Self { blocks_dir, block_index, network: expected, magic });
        };
        let network = match Network::of_magic(magic) {
            Some(network) => network,
            None if signet => Network::Signet,
            None => return Err(SourceError::UnknownMagic { path: blocks_dir, found: magic }),
        };
        let found = Self { blocks_dir, block_index, network, magic };
        found.check(options)
    }

    /// That these are the files the user asked for.
    fn check(self, options: &DatadirOptions) -> Result<Self, SourceError> {
        if let Some(asked) = options.network.filter(|asked| *asked != self.network) {
            let found = self.network.chain_name().to_owned();
            return Err(SourceError::WrongNetwork { path: self.blocks_dir, asked, found });
        }
        match options.signet_challenge.as_deref().map(signet_magic) {
            Some(asked) if asked != self.magic => {
                Err(SourceError::WrongChallenge { path: self.blocks_dir, found: self.magic, asked })
            }
            _ => Ok(self),
        }
    }
}

/// Core's own index of blocks: beside them, or in the data directory where they have been moved.
fn block_index(options: &DatadirOptions, blocks_dir: &Path, network: Network) -> PathBuf {
    let beside = blocks_dir.join("index");
    if options.blocksdir.is_none() || beside.is_dir() {
        return beside;
    }
    options.datadir.join(network.folder()).join("blocks/index")
}

/// Blocks directories at or under `root`, each with the network its folder stands for.
fn candidates(root: &Path) -> Result<Vec<(PathBuf, Network)>, SourceError> {
    if !list(root)?.is_empty() || is_there(&root.join(KEY_FILE))? {
        return Ok(vec![(root.into(), root.parent().map_or(Network::Bitcoin, named))]);
    }
    let mut found = Vec::new();
    for network in NETWORKS {
        let dir = root.join(network.folder()).join("blocks");
        if is_there(&dir)? {
            found.push((dir, if network == Network::Bitcoin { named(root) } else { network }));
        }
    }
    Ok(found)
}

/// The network that a directory's own name stands for.
fn named(dir: &Path) -> Network {
    let name = dir.file_name().and_then(|name| name.to_str());
    NETWORKS.into_iter().find(|network| name == Some(network.folder())).unwrap_or(Network::Bitcoin)
}

/// The one to read: what was asked for, else main's, else the only one.
fn choose(
    root: &Path,
    candidates: Vec<(PathBuf, Network)>,
    asked: Option<Network>,
) -> Result<(PathBuf, Network), SourceError> {
    let names: Vec<_> = candidates.iter().map(|(_, network)| network.chain_name()).collect();
    let wanted = candidates.iter().position(|(_, network)| Some(*network) == asked);
    let first = root.join("blocks");
    let only = (candidates.len() == 1 || candidates.first().is_some_and(|(dir, _)| *dir == first)).then_some(0);
    match (wanted.or(only), names.is_empty()) {
        (Some(index), _) => candidates.into_iter().nth(index).ok_or(SourceError::NoBlocks { path: root.into() }),
        (None, true) => Err(SourceError::NoBlocks { path: root.into() }),
        (None, false) => Err(match asked {
            Some(asked) => SourceError::WrongNetwork { path: root.into(), asked, found: names.join(", ") },
            None => SourceError::SeveralNetworks { path: root.into(), found: names.join(", ") },
        }),
    }
}

/// The magic before the first record: a known network's if any of the first files starts with one, else whatever the
/// first file starts with that was written at all.
fn first_magic(blocks_dir: &Path) -> Result<Option<Magic>, SourceError> {
    let key = Obfuscation::read(blocks_dir)?;
    let found: Vec<_> = starts(blocks_dir)?.into_iter().map(|start| key.magic(start)).collect();
    let known = found.iter().find(|magic| Network::of_magic(**magic).is_some());
    Ok(known.or(found.first()).copied())
}

/// The first bytes, as they are on disk, of the first files that have been written to.
pub(super) fn starts(blocks_dir: &Path) -> Result<Vec<[u8; 4]>, SourceError> {
    let mut starts = Vec::new();
    for file in list(blocks_dir)?.iter().take(FILES_TRIED) {
        let path = file.blk_path(blocks_dir);
        let mut bytes = [0; 4];
        match File::open(&path).and_then(|mut f| f.read_exact(&mut bytes)) {
            Ok(()) if bytes == [0; 4] => {}
            Ok(()) => starts.push(bytes),
            // Empty, or pruned a moment ago.
            Err(e) if matches!(e.kind(), ErrorKind::UnexpectedEof | ErrorKind::NotFound) => {}
            Err(e) => return Err(SourceError::io(&path, e)),
        }
    }
    Ok(starts)
}

/// The magic of a signet: the first four bytes of the double SHA-256 of its serialized challenge script
/// (`src/kernel/chainparams.cpp`, `SigNetParams`).
fn signet_magic(challenge: &Script) -> Magic {
    let mut engine = sha256d::Hash::engine();
    let mut bytes = Vec::new();
    // Writing to a vector does not fail.
    let _ = challenge.consensus_encode(&mut bytes);
    engine.input(&bytes);
    let [a, b, c, d, ..] = sha256d::Hash::from_engine(engine).to_byte_array();
    Magic::from_bytes([a, b, c, d])
}

/// Whether there is something at `path`; not being allowed to look is an error.
fn is_there(path: &Path) -> Result<bool, SourceError> {
    fs::exists(path).map_err(|e| SourceError::io(path, e))
}
