//! The explorer itself: builds the one binary with the web app inside, starts it, packs it.

use crate::step::{cargo, root, run, step, target_dir};
use crate::web;
use anyhow::{Context, Result};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// Serves the blocks that the binary carries.
pub fn demo() -> Result<()> {
    start(&["demo"])
}

/// Serves a node's directory.
pub fn serve(args: &[&str]) -> Result<()> {
    start(&[&["serve"], args].concat())
}

fn start(args: &[&str]) -> Result<()> {
    let binary = binary()?;
    println!("==> hindsight {}", args.join(" "));
    // In place of this process, so that Ctrl-C and a supervisor's signals reach it.
    let error = Command::new(&binary).args(args).exec();
    Err(error).with_context(|| format!("cannot start {}", binary.display()))
}

/// The release binary with the web app inside.
pub fn binary() -> Result<PathBuf> {
    web::build()?;
    step("build the binary", || run(&mut cargo(["build", "--release", "-p", "hindsight", "--features", "embed"])))?;
    Ok(target_dir().join("release/hindsight"))
}

/// Packs the binary with licence and README.
pub fn dist() -> Result<()> {
    let binary = binary()?;
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    let name = format!("hindsight-{}-{os}-{arch}", env!("CARGO_PKG_VERSION"));
    step("pack it", || {
        let dist = target_dir().join("dist-bin");
        let folder = dist.join(&name);
        fs::create_dir_all(&folder)?;
        fs::copy(binary, folder.join("hindsight"))?;
        for file in ["LICENSE", "README.md"] {
            fs::copy(root().join(file), folder.join(file)).with_context(|| file.to_owned())?;
        }
        let archive = format!("{name}.tar.gz");
        run(Command::new("tar").args(["-czf", &archive, &name]).current_dir(&dist))?;
        println!("    {}", dist.join(archive).display());
        Ok(())
    })
}
