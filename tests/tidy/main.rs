//! Rules of this codebase that no compiler knows: which room may know which, how files begin and how long they are,
//! what is never committed, and that the commands in the README are there.

#![allow(clippy::unwrap_used, reason = "tests: what cannot be is a failure")]

use std::fs;
use std::path::{Path, PathBuf};

mod files;
mod readme;
mod rooms;

/// A source file of this repository.
struct Source {
    /// Relative to the root, with `/` between its parts.
    path: String,
    text: String,
}

impl Source {
    /// What stands before its tests; nothing of a file that is tests alone.
    fn code(&self) -> &str {
        if self.is_tests() {
            return "";
        }
        self.text.split_once("\n#[cfg(test)]\nmod tests {").map_or(self.text.as_str(), |(code, _)| code)
    }

    /// Whether it is only compiled into tests.
    fn is_tests(&self) -> bool {
        self.path.starts_with("tests/") || self.path.contains("/tests/") || self.path.ends_with("/tests.rs")
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every file with one of these endings.
fn sources(endings: &[&str]) -> Vec<Source> {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
            if path.is_dir()
                && !name.starts_with('.')
                && !["target", "dist", "node_modules", "corpus"].contains(&&*name)
            {
                folders.push(path);
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                let relative = path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/");
                found.push(Source { path: relative, text: fs::read_to_string(&path).unwrap() });
            }
        }
    }
    assert!(!found.is_empty(), "nothing ends in {endings:?}");
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

/// Fails with all that is wrong, not only the first.
#[track_caller]
fn nothing_is_wrong(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "\n  {}\n", wrong.join("\n  "));
}
