//! Makes the showcase chain anew and writes its archive: `cargo xtask showcase`.
//!
//! The same code makes the same bytes; it says whether they are those that are there already.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use hindsight_tests::showcase::{archive, showcase};

fn main() -> Result<()> {
    let path: PathBuf = std::env::args_os().nth(1).context("usage: showcase ARCHIVE")?.into();
    let chain = showcase();
    let txs: usize = chain.blocks.iter().map(|block| block.txdata.len()).sum();
    println!("{} blocks, {txs} transactions; now Core's kernel judges them", chain.blocks.len());
    let bytes = archive(&chain)?;
    let same = fs::read(&path).is_ok_and(|before| before == bytes);
    println!("{}: {} bytes, {}", path.display(), bytes.len(), if same { "as before" } else { "new" });
    if !same {
        fs::write(&path, bytes).with_context(|| path.display().to_string())?;
    }
    Ok(())
}
