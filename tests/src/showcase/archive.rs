//! The chain as a node has it on disk, packed: Core's kernel writes the files, and nothing of the machine or the hour
//! gets into the archive.

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use zstd::stream::raw::CParameter;
use zstd::zstd_safe::Strategy;

use super::chain::Showcase;
use super::plan::{TIP, TIP_TIME};
use crate::kernel_chain::KernelChain;

/// The archive's one folder, a data directory.
const FOLDER: &str = "showcase";

/// The most that Zstandard can do.
const LEVEL: i32 = 22;

/// 64 MiB, so that the undo of a block finds the scripts that it repeats; the decoder takes up to 100.
const WINDOW_LOG: u32 = 26;

/// Validates the chain, and gives its block files as a compressed tar archive.
pub fn archive(showcase: &Showcase) -> Result<Vec<u8>> {
    let mut kernel = KernelChain::plain()?;
    for block in &showcase.blocks {
        kernel.submit(block)?;
    }
    for (hash, height) in showcase.best.iter().zip(1..) {
        ensure!(kernel.hash_at(height)? == *hash, "the kernel has another block at {height}");
    }
    ensure!(kernel.tip()?.0 == TIP, "the kernel's tip is at {}", kernel.tip()?.0);
    kernel.close();
    compress(&pack(&kernel.blocks_dir())?)
}

fn pack(blocks_dir: &Path) -> Result<Vec<u8>> {
    let mut names: Vec<String> = Vec::new();
    for entry in fs::read_dir(blocks_dir)? {
        names.extend(entry?.file_name().into_string().ok().filter(|name| name.ends_with(".dat")));
    }
    names.sort_unstable();
    let mut archive = tar::Builder::new(Vec::new());
    for name in names {
        let bytes = fs::read(blocks_dir.join(&name))?;
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(TIP_TIME.into());
        archive.append_data(&mut header, format!("{FOLDER}/blocks/{name}"), &bytes[..])?;
    }
    Ok(archive.into_inner()?)
}

fn compress(tar: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = zstd::Encoder::new(Vec::new(), LEVEL)?;
    encoder.set_parameter(CParameter::WindowLog(WINDOW_LOG))?;
    encoder.set_parameter(CParameter::Strategy(Strategy::ZSTD_btultra2))?;
    encoder.set_pledged_src_size(Some(tar.len() as u64))?;
    std::io::copy(&mut &tar[..], &mut encoder)?;
    Ok(encoder.finish()?)
}
