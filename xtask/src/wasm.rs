//! The two ways to build for the browser.
//!
//! Ordinarily rustup adds the wasm32 target. Where it cannot, Debian's own newer Rust carries the standard library's
//! source, and the target is built from that; everything native stays on the machine's own toolchain.

use crate::step::{ask, cargo, root, run, step, target_dir};
use crate::system::{self, Package};
use crate::tools;
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The browser's target.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// Known by their own folders: Debian's plain rustc has the same programs, is older and comes without source.
const DEBIAN: &[Package] = &[
    Package { found: &["/usr/share/doc/rustc-web"], apt: "rustc-web", brew: "" },
    Package { found: &["/usr/share/doc/cargo-web"], apt: "cargo-web", brew: "" },
    Package { found: &["/usr/share/doc/rust-web-src"], apt: "rust-web-src", brew: "" },
    Package { found: &["/usr/share/doc/rust-web-clippy"], apt: "rust-web-clippy", brew: "" },
    Package { found: &["wasm-ld-22"], apt: "lld-22", brew: "" },
];

/// With what `.cargo/config.toml` says, which this replaces.
const SMALL: &str = "--cfg erase_components -Cpanic=immediate-abort -Zunstable-options -Zlocation-detail=none";

const BY_HAND: &str = "Rust cannot build for wasm32 here. Either `rustup target add wasm32-unknown-unknown`, \
    or on Debian `apt-get install rustc-web cargo-web rust-web-src rust-web-clippy lld-22 clang`";

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Rustup,
    Debian,
}

/// A toolchain that builds for the browser.
pub struct Wasm {
    way: Way,
    path: Vec<PathBuf>,
    clang: Option<PathBuf>,
}

impl Wasm {
    /// Takes what is installed; else asks rustup; else Debian.
    pub fn find_or_install() -> Result<Self> {
        let way = find_way()?;
        let clang = clang_for_wasm()?;
        let path = if way == Way::Debian { vec![debian_folder()?] } else { vec![] };
        Ok(Self { way, path, clang })
    }

    /// Puts folders with tools in front of PATH.
    pub fn with_tools(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.path.extend(folders);
        self
    }

    /// Cargo, building for the browser.
    pub fn cargo(&self, subcommand: &str) -> Command {
        let mut command = self.command(&self.cargo_program().to_string_lossy());
        command.args([subcommand, "--target", TARGET]);
        command
    }

    /// Clippy, checking for the browser.
    pub fn clippy(&self) -> Command {
        if self.way == Way::Rustup {
            return self.cargo("clippy");
        }
        // Not through Cargo: that prefers rustup's clippy when both are there.
        let mut command = self.command("/usr/bin/cargo-clippy");
        command.args(["clippy", "--target", TARGET]);
        command
    }

    /// Any program that calls Cargo for the browser.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(root()).env("PATH", self.search_path()).env("CARGO", self.cargo_program());
        // A folder of its own, so that native builds do not wait for its lock.
        command.env("CARGO_TARGET_DIR", target_dir().join("web"));
        if let Some(clang) = &self.clang {
            command.env("CC_wasm32_unknown_unknown", clang.join("clang"));
            command.env("AR_wasm32_unknown_unknown", clang.join("llvm-ar"));
        }
        if self.way == Way::Debian {
            command
                .env("RUSTC", "/usr/bin/rustc")
                // Building the standard library is not stable, but the source is the compiler's own.
                .env("RUSTC_BOOTSTRAP", "1")
                .env("CARGO_UNSTABLE_BUILD_STD", "std,panic_abort")
                .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", "wasm-ld-22")
                // Cargo sets it to the other compiler's libraries when it runs xtask.
                .env_remove("LD_LIBRARY_PATH");
        }
        command
    }

    /// A program that builds what readers download. Where the standard library is built here it is built for size, and a
    /// panic is a trap and nothing else: nobody would read its message, and the page tells of the trap.
    pub fn release(&self, program: &str) -> Command {
        let mut command = self.command(program);
        if self.builds_std() {
            command.env("CARGO_UNSTABLE_BUILD_STD_FEATURES", "optimize_for_size");
            command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", SMALL);
        }
        command
    }

    /// Whether the standard library is built here, and not rustup's, which is several kilobytes larger.
    pub fn builds_std(&self) -> bool {
        self.way == Way::Debian
    }

    fn cargo_program(&self) -> OsString {
        match self.way {
            Way::Rustup => cargo([]).get_program().to_owned(),
            Way::Debian => "/usr/bin/cargo".into(),
        }
    }

    fn search_path(&self) -> OsString {
        let old = std::env::var_os("PATH").unwrap_or_default();
        let all = self.path.iter().cloned().chain(std::env::split_paths(&old));
        // Only a folder with a colon in its name cannot be joined; then the tools are simply not found.
        std::env::join_paths(all).unwrap_or(old)
    }
}

fn find_way() -> Result<Way> {
    let forced = std::env::var("HINDSIGHT_WASM").unwrap_or_default();
    match forced.as_str() {
        "" if has_target() => Ok(Way::Rustup),
        "" if debian_is_there() => Ok(Way::Debian),
        "" if add_target() => Ok(Way::Rustup),
        "" if system::in_path("apt-get") => install_debian().context(BY_HAND),
        "rustup" if has_target() || add_target() => Ok(Way::Rustup),
        "debian" => install_debian().context(BY_HAND),
        _ => bail!(BY_HAND),
    }
}

fn has_target() -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    ask(Command::new(rustc).args(["--print", "target-libdir", "--target", TARGET]))
        .and_then(|folder| std::fs::read_dir(folder).ok())
        .is_some_and(|mut files| files.any(|file| file.is_ok_and(|file| is_std(&file.file_name().to_string_lossy()))))
}

fn is_std(file: &str) -> bool {
    file.starts_with("libstd-") && file.ends_with(".rlib")
}

fn add_target() -> bool {
    system::in_path("rustup")
        && step("add the wasm32 target", || run(Command::new("rustup").args(["target", "add", TARGET]))).is_ok()
        && has_target()
}

fn debian_is_there() -> bool {
    DEBIAN.iter().all(Package::is_there)
}

fn install_debian() -> Result<Way> {
    if !debian_is_there() {
        step("install Debian's Rust with its source", || system::require(DEBIAN))?;
    }
    Ok(Way::Debian)
}

/// A folder whose cargo and rustc are Debian's, for the programs that look in PATH.
fn debian_folder() -> Result<PathBuf> {
    let folder = tools::cache()?.join("tools/debian-rust/bin");
    std::fs::create_dir_all(&folder)?;
    for name in ["cargo", "rustc", "rustdoc", "cargo-clippy", "clippy-driver"] {
        let link = folder.join(name);
        if !link.exists() {
            std::os::unix::fs::symlink(Path::new("/usr/bin").join(name), link)?;
        }
    }
    Ok(folder)
}

/// Where a clang lies that can compile C for wasm32, when it is not the one in PATH: Apple's cannot.
fn clang_for_wasm() -> Result<Option<PathBuf>> {
    let can = |clang: &Path| ask(Command::new(clang).arg("-print-targets")).is_some_and(|text| text.contains("wasm32"));
    let brew = ["/opt/homebrew/opt/llvm/bin", "/usr/local/opt/llvm/bin"].map(PathBuf::from);
    let find = || brew.iter().find(|folder| can(&folder.join("clang"))).cloned();
    if can(Path::new("clang")) {
        return Ok(None);
    }
    if let Some(found) = find() {
        return Ok(Some(found));
    }
    if cfg!(target_os = "macos") {
        bail!("Apple's clang cannot compile for wasm32 (secp256k1's C): `brew install llvm`");
    }
    system::require(system::CLANG)?;
    if !can(Path::new("clang")) {
        bail!("this clang cannot compile for wasm32; install LLVM's own");
    }
    Ok(None)
}
