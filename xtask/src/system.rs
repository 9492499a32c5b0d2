//! What has to come from the system's own packages, and how to get it.
//!
//! Nothing is installed behind a person's back: only root and CI are not asked.

use crate::step::run;
use anyhow::{Result, bail};
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::Command;

/// One thing the system must have.
pub struct Package {
    /// It is there when one of these is: a command in PATH, or a file.
    pub found: &'static [&'static str],
    /// Debian's packages.
    pub apt: &'static str,
    /// Homebrew's packages, with their options.
    pub brew: &'static str,
}

/// Chromium and its driver, for the browser tests.
pub const BROWSER: &[Package] = &[
    Package {
        found: &["chromium", "google-chrome", "/Applications/Google Chrome.app", "/Applications/Chromium.app"],
        apt: "chromium",
        brew: "--cask google-chrome",
    },
    Package { found: &["chromedriver"], apt: "chromium-driver", brew: "--cask chromedriver" },
];

/// What Bitcoin Core's kernel, the judge in the tests, is built with.
pub const KERNEL: &[Package] = &[
    Package { found: &["cmake"], apt: "cmake", brew: "cmake" },
    Package { found: &["c++"], apt: "g++", brew: "gcc" },
    Package {
        found: &[
            "/usr/include/boost/version.hpp",
            "/usr/local/include/boost/version.hpp",
            "/opt/homebrew/include/boost/version.hpp",
        ],
        apt: "libboost-dev",
        brew: "boost",
    },
];

/// npm, for wasm-opt.
pub const NPM: &[Package] = &[Package { found: &["npm"], apt: "npm", brew: "node" }];

/// Node, which runs the wasm tests that need no browser.
pub const NODE: &[Package] = &[Package { found: &["node"], apt: "nodejs", brew: "node" }];

/// The C compiler for secp256k1 in the browser.
pub const CLANG: &[Package] = &[Package { found: &["clang"], apt: "clang", brew: "llvm" }];

/// Sees to it that all of these are there, or says how to get them.
pub fn require(packages: &[Package]) -> Result<()> {
    let missing: Vec<&Package> = packages.iter().filter(|package| !package.is_there()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    install(&missing)?;
    match missing.iter().find(|package| !package.is_there()) {
        Some(package) => bail!("{} was installed, but {} is still not found", package.apt, package.found.join(" or ")),
        None => Ok(()),
    }
}

impl Package {
    /// Whether it needs no installing.
    pub fn is_there(&self) -> bool {
        self.found.iter().any(|found| if found.starts_with('/') { Path::new(found).exists() } else { in_path(found) })
    }
}

fn install(missing: &[&Package]) -> Result<()> {
    let lines = if cfg!(target_os = "macos") {
        missing.iter().map(|package| format!("brew install {}", package.brew)).collect()
    } else if in_path("apt-get") {
        let names: Vec<&str> = missing.iter().map(|package| package.apt).collect();
        apt_lines(&names)
    } else {
        let what: Vec<&str> = missing.iter().map(|package| package.found[0]).collect();
        bail!("missing: {}; install them with this system's package manager", what.join(", "))
    };
    if !allowed(&lines)? {
        bail!("missing system packages; install them with:\n\n    {}\n", lines.join("\n    "));
    }
    for line in &lines {
        let mut words = line.split_whitespace();
        run(Command::new(words.next().unwrap_or_default()).args(words).env("DEBIAN_FRONTEND", "noninteractive"))?;
    }
    Ok(())
}

fn apt_lines(names: &[&str]) -> Vec<String> {
    let sudo = if is_root() { "" } else { "sudo " };
    vec![
        format!("{sudo}apt-get update -q"),
        format!("{sudo}apt-get install -q -y --no-install-recommends {}", names.join(" ")),
    ]
}

fn allowed(lines: &[String]) -> Result<bool> {
    if is_root() || std::env::var_os("CI").is_some() {
        return Ok(true);
    }
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    print!(
        "Some system packages are missing. This would install them:\n\n    {}\n\nRun it? [y/N] ",
        lines.join("\n    ")
    );
    std::io::stdout().flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn is_root() -> bool {
    crate::step::ask(Command::new("id").arg("-u")).as_deref() == Some("0")
}

/// Whether a command of this name is in PATH.
pub fn in_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}
