//! Hindsight as its users start it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use hindsight_benches::chains::Chain;

use crate::contestant::{Contestant, free_address};
use crate::get::get;
use crate::session::{Server, command};

/// How long a server may take until it answers: a node has to validate the chain first.
const PATIENCE: Duration = Duration::from_secs(300);

/// Builds the release binary and says where it is: beside this program.
pub fn build() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--release", "--package", "hindsight"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .context("cargo is needed to build hindsight; or name a binary with --hindsight")?;
    let this = std::env::current_exe()?;
    let binary =
        this.ancestors().nth(2).context("this program lies in a folder of the build")?.join("release/hindsight");
    if !built.success() || !binary.exists() {
        bail!("there is no {}: name a binary with --hindsight", binary.display());
    }
    Ok(binary)
}

/// Starts `binary` on a chain.
pub fn start(name: &'static str, binary: &Path, chain: &Chain) -> Result<Contestant> {
    let (dir, address) = (tempfile::tempdir()?, free_address()?);
    let mut command = command(binary.as_os_str())?;
    command.args(["--log", "error", "serve", "--listen", &address.to_string(), "--datadir"]).arg(&chain.datadir);
    command.arg("--index-dir").arg(dir.path()).stdout(Stdio::null());
    // Nothing of this machine's own settings.
    command.env("HINDSIGHT_CONFIG", dir.path().join("none.toml"));
    std::fs::write(dir.path().join("none.toml"), "")?;
    Ok(Contestant { name, address, server: Rc::new(Server::start(&mut command)?), dir: Rc::new(dir) })
}

/// The body of `path`, as soon as the server has it.
pub fn wait_for(contestant: &Contestant, path: &str) -> Result<Vec<u8>> {
    let end = Instant::now() + PATIENCE;
    loop {
        match get(contestant.address, path) {
            Ok(body) => return Ok(body),
            Err(error) if Instant::now() > end => {
                return Err(error.context(format!("{} does not answer", contestant.name)));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}
