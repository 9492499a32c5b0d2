//! Builds the web app into `dist/`, and only when something it is made of has changed.

use crate::compress::{self, Sizes};
use crate::imports;
use crate::step::{root, run, step, target_dir};
use crate::tools;
use crate::wasm::Wasm;
use anyhow::{Context, Result};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// What the web app is made of; xtask's part is how it is compressed.
const INPUTS: &[&str] = &[
    "frontend",
    "shared",
    "Cargo.lock",
    "Cargo.toml",
    "Trunk.toml",
    "xtask/src/compress.rs",
    "xtask/src/imports.rs",
    "xtask/src/wasm.rs",
];

/// Builds the app if needed; the sizes of its files.
pub fn build() -> Result<Vec<Sizes>> {
    let (root, dist) = (root(), root().join("dist"));
    let fingerprint = fingerprint(&root)?;
    let mark = mark(&root);
    // Trunk run by hand leaves no compressed files: then dist/ is not what the mark speaks of.
    let built = dist.join("index.html.br").exists() && fs::read_to_string(&mark).is_ok_and(|old| old == fingerprint);
    if built {
        println!("==> the web app is up to date");
    } else {
        let wasm = Wasm::find_or_install()?.with_tools(tools::for_the_web()?);
        step("build the web app", || trunk(&wasm))?;
        imports::number(&dist)?;
        step("compress it", || compress::precompress(&dist))?;
        fs::write(&mark, fingerprint).with_context(|| mark.display().to_string())?;
    }
    compress::sizes(&dist)
}

fn trunk(wasm: &Wasm) -> Result<()> {
    run(wasm
        .release("trunk")
        .args(["build", "--release"])
        .env("TRUNK_SKIP_VERSION_CHECK", "true")
        // Trunk takes the common value 1 for a mistake.
        .env_remove("NO_COLOR"))
}

/// Checkouts may share a target folder: each has a mark of its own.
fn mark(root: &Path) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    root.hash(&mut hasher);
    target_dir().join("web").join(format!("dist-{:016x}", hasher.finish()))
}

/// A hash over the names and contents of all inputs.
fn fingerprint(root: &Path) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    for input in INPUTS {
        let input = root.join(input);
        let files = if input.is_dir() { compress::files(&input)? } else { vec![input] };
        for file in files {
            file.strip_prefix(root)?.hash(&mut hasher);
            fs::read(&file).with_context(|| file.display().to_string())?.hash(&mut hasher);
        }
    }
    Ok(format!("{:016x}", hasher.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_anywhere_changes_the_fingerprint() {
        let root = std::env::temp_dir().join(format!("hindsight-fingerprint-{}", std::process::id()));
        for input in INPUTS {
            fs::create_dir_all(root.join(input)).unwrap();
            fs::write(root.join(input).join("file"), "old").unwrap();
        }
        let first = fingerprint(&root).unwrap();
        assert_eq!(fingerprint(&root).unwrap(), first);
        for input in INPUTS {
            fs::write(root.join(input).join("file"), "new").unwrap();
            assert_ne!(fingerprint(&root).unwrap(), first, "{input}");
            fs::write(root.join(input).join("file"), "old").unwrap();
        }
        fs::rename(root.join("shared/file"), root.join("shared/renamed")).unwrap();
        assert_ne!(fingerprint(&root).unwrap(), first);
        fs::remove_dir_all(root).unwrap();
    }
}
