//! Running commands and telling what is done and how long it took.
//!
//! A person who waits for minutes should see for what; a step that fails says which command failed.

use anyhow::{Context, Result, bail};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

/// Does one step, under its name, and prints its seconds.
pub fn step<T>(name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    println!("==> {name}");
    let start = Instant::now();
    let value = work().with_context(|| name.to_owned())?;
    println!("    {name}: {:.1} s", start.elapsed().as_secs_f64());
    Ok(value)
}

/// Runs a command to its end, its output shown; an error unless it succeeds.
pub fn run(command: &mut Command) -> Result<()> {
    println!("    $ {}", shown(command));
    let status = command.status().map_err(|error| not_started(command, error))?;
    if !status.success() {
        bail!("`{}` failed ({status})", shown(command));
    }
    Ok(())
}

/// What a command prints, or nothing when it is not there or fails: for asking whether a tool is installed.
pub fn ask(command: &mut Command) -> Option<String> {
    let Output { status, stdout, .. } = command.output().ok()?;
    status.success().then(|| String::from_utf8_lossy(&stdout).trim().to_owned())
}

fn not_started(command: &Command, error: std::io::Error) -> anyhow::Error {
    let program = command.get_program().to_string_lossy().into_owned();
    match error.kind() {
        ErrorKind::NotFound => anyhow::anyhow!("`{program}` is not installed or not in PATH"),
        _ => anyhow::Error::new(error).context(format!("cannot start `{program}`")),
    }
}

fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let args = command.get_args().map(|arg| arg.to_string_lossy());
    std::iter::once(program.to_string_lossy()).chain(args).collect::<Vec<_>>().join(" ")
}

/// The checkout this was built from.
pub fn root() -> PathBuf {
    // Cargo sets it when it runs xtask: a binary shared by several checkouts then works in the right one.
    let xtask = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&xtask).parent().unwrap_or(Path::new(".")).to_owned()
}

/// Where Cargo puts what it builds.
pub fn target_dir() -> PathBuf {
    root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// The machine's own Cargo, for everything that is not built for the browser.
pub fn cargo<'a>(args: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root());
    command
}
