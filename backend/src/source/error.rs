//! What can go wrong while reading Core's files, each with the offending value and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use bitcoin::{BlockHash, Network};

use super::Position;
use super::files::holds_files;
use super::owner::Owner;

/// Why the files could not be read. Core prunes, replaces and overwrites its files at any time, so most of these are
/// ordinary answers to a question about one block, not reasons to stop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The operating system forbids it: nodes keep their directories to themselves (mode 0700).
    #[error(
        "cannot read {path}: permission denied by {denied}, which belongs to {owner}. Run hindsight as that user, or let \
         it in with ACLs: setfacl -R -m u:USER:rX,d:u:USER:rX {blocks} (the part with d: is for files that the node is \
         yet to create, for its own user alone otherwise), and setfacl -m u:USER:x on each folder above"
    )]
    NotReadable {
        /// What was asked for.
        path: PathBuf,
        /// The file or folder that refuses.
        denied: PathBuf,
        /// The blocks directory: the only folder whose files are to be read, since wallets lie next to it.
        blocks: PathBuf,
        /// Whose it is.
        owner: Owner,
    },
    /// The file was there and is not: Core unlinks whole blk/rev pairs when it prunes.
    #[error("{path} is gone: the node has pruned it")]
    Pruned {
        /// The missing file.
        path: PathBuf,
    },
    /// The directory itself is not there.
    #[error("{path} does not exist: is the disk mounted and the path right?")]
    Vanished {
        /// The missing file or directory.
        path: PathBuf,
    },
    /// The directory is there, its files are not: what an unmounted disk leaves. Core never prunes its last blocks.
    #[error(
        "{path} holds no block files any more: is the disk mounted? If the node starts over, this passes when it has \
         written its first block"
    )]
    Emptied {
        /// The blocks directory.
        path: PathBuf,
    },
    /// `xor.dat` is not the one that the files were read with, nor one that they are readable with.
    #[error(
        "{path} is gone, or no longer fits, though the block files were read with it before: is the disk mounted, and \
         this the node's own xor.dat? Nothing is forgotten until it fits again"
    )]
    KeyLost {
        /// The `xor.dat`.
        path: PathBuf,
    },
    /// The bytes at a remembered position are another record's by now.
    #[error("{path} no longer holds block {block} at offset {}: the file was overwritten, walk it again", position.offset)]
    Replaced {
        /// The file.
        path: PathBuf,
        /// The block that was looked for.
        block: BlockHash,
        /// Where it was looked for.
        position: Position,
    },
    /// A remembered record ends behind the end of its file.
    #[error("{path} is {len} bytes long, but the record at offset {} needs {need}: the file was cut, walk it again", position.offset)]
    Cut {
        /// The file.
        path: PathBuf,
        /// The record's payload.
        position: Position,
        /// Bytes the file would have to have.
        need: u64,
        /// Bytes it has.
        len: u64,
    },
    /// `xor.dat` is not a key.
    #[error(
        "{path} holds {len} bytes, but an obfuscation key has exactly 8: copy the node's own xor.dat again, together with \
         its blk and rev files"
    )]
    BadKey {
        /// The `xor.dat`.
        path: PathBuf,
        /// Its length in bytes.
        len: u64,
    },
    /// Neither block files nor a place for them.
    #[error(
        "{path} holds no block files: give the node's data directory (the one with blocks/ in it, or testnet4/blocks/, \
         signet/blocks/ …), or the blocks directory itself"
    )]
    NoBlocks {
        /// The directory that was given.
        path: PathBuf,
    },
    /// More than one network, none of them main.
    #[error("{path} holds blocks of {found}: say which one with --network")]
    SeveralNetworks {
        /// The directory that was given.
        path: PathBuf,
        /// Core's names of the networks, joined by commas.
        found: String,
    },
    /// The files are of another network than the one asked for.
    #[error(
        "{path} holds blocks of {found}, but {asked} was asked for: give another directory, or leave --network out"
    )]
    WrongNetwork {
        /// The blocks directory.
        path: PathBuf,
        /// The network asked for.
        asked: Network,
        /// What the files are.
        found: String,
    },
    /// The files are a signet's, but not the one whose challenge was given.
    #[error(
        "{path} is a signet with magic {found}, but the given challenge makes magic {asked}: check --signet-challenge"
    )]
    WrongChallenge {
        /// The blocks directory.
        path: PathBuf,
        /// The magic in the files.
        found: bitcoin::p2p::Magic,
        /// The magic of the challenge.
        asked: bitcoin::p2p::Magic,
    },
    /// The first record starts with no known magic.
    #[error(
        "the block files in {path} start with {found}, which is no known network's magic: for a custom signet add \
         --network signet; otherwise check that xor.dat is the one these files were written with"
    )]
    UnknownMagic {
        /// The blocks directory.
        path: PathBuf,
        /// The de-obfuscated first four bytes.
        found: bitcoin::p2p::Magic,
    },
    /// Anything else the operating system says.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

impl SourceError {
    /// The error for `source` at `path`, with the owner named when permission is what is missing.
    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::PermissionDenied => {
                let (denied, owner) = Owner::of_nearest(path);
                Self::NotReadable { path: path.into(), denied, blocks: blocks_directory(path), owner }
            }
            io::ErrorKind::NotFound => Self::missing(path),
            _ => Self::Io { path: path.into(), source },
        }
    }

    /// A file that is gone from a directory that holds others was pruned; otherwise the directory or its disk went.
    fn missing(path: &Path) -> Self {
        let dir = path.parent().filter(|dir| path.extension().is_some_and(|e| e == "dat") && dir.is_dir());
        match dir {
            Some(dir) if holds_files(dir).unwrap_or(true) => Self::Pruned { path: path.into() },
            Some(dir) => Self::Emptied { path: dir.into() },
            None => Self::Vanished { path: path.into() },
        }
    }
}

/// The blocks directory that `path` lies in, or is, or else has in it by Core's own layout.
fn blocks_directory(path: &Path) -> PathBuf {
    match path.parent() {
        Some(dir) if path.extension().is_some_and(|e| e == "dat") => dir.into(),
        _ if path.ends_with("blocks") => path.into(),
        _ => path.join("blocks"),
    }
}
