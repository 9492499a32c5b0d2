//! The demo chain: the first 2,017 blocks of testnet3 in the files that Bitcoin Core wrote, carried in the binary.
//!
//! It is unpacked to a directory and read like any node's, so that the demo shows the real thing.

use std::io;
use std::path::{Path, PathBuf};

/// Blocks from the npm package `bitcore-node` 3.1.3 (MIT), written to files by Bitcoin Core's own code.
const TESTNET3: &[u8] = include_bytes!("../assets/testnet3-2017.tar.zst");

/// Unpacks the chain below `dir` and returns its data directory.
///
/// # Errors
/// As the disk fails.
pub fn unpack(dir: &Path) -> io::Result<PathBuf> {
    let archive = ruzstd::decoding::StreamingDecoder::new(TESTNET3).map_err(io::Error::other)?;
    tar::Archive::new(archive).unpack(dir)?;
    Ok(dir.join("testnet3-2017"))
}
