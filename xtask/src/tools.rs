//! Trunk, wasm-bindgen and wasm-opt, at the versions this project pins, in a cache folder outside the checkout.
//!
//! Each is built once for all checkouts, without optimisation or debug information: they build in half the time and are
//! quick enough. Trunk would download what it misses, unpinned by us and not possible everywhere: it finds these instead.

use crate::step::{ask, cargo, root, run, step};
use crate::system;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Later ones need a newer Rust than Debian's.
const TRUNK: &str = "0.21.14";

/// The folders to put in front of PATH for building the web app.
pub fn for_the_web() -> Result<Vec<PathBuf>> {
    Ok(vec![trunk()?, wasm_bindgen()?, wasm_opt()?])
}

/// The folder of Trunk.
fn trunk() -> Result<PathBuf> {
    // Its defaults are for downloads and TLS, which take most of the build and are not used here.
    let options = &["--locked", "--no-default-features"];
    CargoTool { name: "trunk", version: TRUNK, bins: &["trunk"], options }.find_or_build()
}

/// The folder of `wasm-bindgen` and `wasm-bindgen-test-runner`, at exactly the version of the crate in Cargo.lock.
pub fn wasm_bindgen() -> Result<PathBuf> {
    let version = pinned("Cargo.lock", "name = \"wasm-bindgen\"\nversion = \"")?;
    let bins = &["wasm-bindgen", "wasm-bindgen-test-runner"];
    // Not locked: the lock file it ships names a release that was withdrawn.
    CargoTool { name: "wasm-bindgen-cli", version: &version, bins, options: &[] }.find_or_build()
}

/// The folder of wasm-opt, from the npm package that carries the program itself.
fn wasm_opt() -> Result<PathBuf> {
    let version = pinned("Trunk.toml", "wasm_opt = \"version_")?;
    let folder = cache()?.join("tools").join(format!("binaryen-{version}"));
    let bin = folder.join("node_modules/.bin");
    let is_there = || says_version(&bin.join("wasm-opt"), &version);
    if is_there() {
        return Ok(bin);
    }
    step(&format!("install wasm-opt {version} (once)"), || {
        system::require(system::NPM)?;
        std::fs::create_dir_all(&folder)?;
        let package = format!("binaryen@{version}");
        run(Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--prefix", ".", &package])
            .current_dir(&folder))
    })?;
    if !is_there() {
        bail!("wasm-opt {version} does not run from {}", bin.display());
    }
    Ok(bin)
}

struct CargoTool<'a> {
    name: &'a str,
    version: &'a str,
    bins: &'a [&'a str],
    options: &'a [&'a str],
}

impl CargoTool<'_> {
    fn find_or_build(&self) -> Result<PathBuf> {
        let folder = cache()?.join("tools").join(format!("{}-{}", self.name, self.version));
        let bin = folder.join("bin");
        if self.is_in(&bin) {
            return Ok(bin);
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        if let Some(found) = std::env::split_paths(&path).find(|folder| self.is_in(folder)) {
            return Ok(found);
        }
        let title = format!("build {} {} (once, some minutes)", self.name, self.version);
        step(&title, || self.build(&folder))?;
        if !self.is_in(&bin) {
            bail!("{} {} does not run from {}", self.name, self.version, bin.display());
        }
        Ok(bin)
    }

    fn build(&self, folder: &Path) -> Result<()> {
        let build = cache()?.join("build").join(self.name);
        std::fs::create_dir_all(&build)?;
        let mut command = cargo(["install", "--debug", "--force", "--version", self.version, self.name]);
        // Away from the checkout, so that its Cargo settings stay out of it.
        command.args(self.options).arg("--root").arg(folder).current_dir(&build);
        run(command.env("CARGO_TARGET_DIR", &build).env("CARGO_PROFILE_DEV_DEBUG", "0"))
            .with_context(|| format!("try `cargo install {} --version {}` by hand", self.name, self.version))?;
        // Gigabytes that nobody needs again.
        Ok(std::fs::remove_dir_all(&build)?)
    }

    fn is_in(&self, folder: &Path) -> bool {
        self.bins.iter().all(|bin| says_version(&folder.join(bin), self.version))
    }
}

fn says_version(program: &Path, version: &str) -> bool {
    program.exists()
        && ask(Command::new(program).arg("--version"))
            .is_some_and(|text| text.split_whitespace().any(|word| word == version))
}

/// The folder for what outlives a checkout.
pub fn cache() -> Result<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = set("HINDSIGHT_TOOLS") {
        return Ok(root().join(folder));
    }
    if let Some(folder) = set("XDG_CACHE_HOME") {
        return Ok(folder.join("hindsight"));
    }
    let home = set("HOME").context("set HINDSIGHT_TOOLS: there is no HOME to keep tools in")?;
    Ok(home.join(if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" }).join("hindsight"))
}

/// The text between `before` and the next quote in a file of this project: one place says each version.
fn pinned(file: &str, before: &str) -> Result<String> {
    let text = std::fs::read_to_string(root().join(file)).with_context(|| file.to_owned())?;
    let after = text.split_once(before).with_context(|| format!("{file} does not say {before}…"))?.1;
    Ok(after.split('"').next().unwrap_or_default().to_owned())
}
