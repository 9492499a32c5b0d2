//! Everything that must hold before a change lands, step by step, quickest to fail first; CI runs exactly this.

use crate::step::{cargo, root, run, step, target_dir};
use crate::{compress, run as explorer, system, tools, wasm::Wasm, web};
use anyhow::{Context, Result, bail};
use std::time::{Duration, Instant};

/// Above this CI is too slow to be useful.
const TOO_LONG: Duration = Duration::from_secs(45 * 60);

/// Rounds of changes to the fuzz corpora in the long trials; one is what CI runs.
const LONG_FUZZ: u32 = 100;

type Step = (&'static str, &'static str, fn() -> Result<()>);

const STEPS: &[Step] = &[
    ("fmt", "formatting", fmt),
    ("clippy", "lints, natively and for wasm32", clippy),
    ("unit", "unit, integration and doc tests", unit),
    ("node", "beside a running Bitcoin Core", node),
    ("doc", "documentation builds", doc),
    ("wasm", "tests in WebAssembly", wasm_tests),
    ("web", "web app and its size", web_size),
    ("binary", "release binary with the web app", binary),
    ("browser", "journeys in Chromium", browser),
    ("bench", "each bench once", bench_smoke),
    ("fuzz", "fuzz corpora", fuzz),
    ("torture", "a twentieth of the long trials", || trials("1/20")),
];

/// Runs the steps named, or all; stops at the first that fails, and always sums up.
pub fn test(names: &[&str]) -> Result<()> {
    if let Some(unknown) = names.iter().find(|name| STEPS.iter().all(|step| step.0 != **name)) {
        let known: Vec<_> = STEPS.iter().map(|step| step.0).collect();
        bail!("no step is called `{unknown}`; there are: {}", known.join(" "));
    }
    let chosen = STEPS.iter().filter(|step| names.is_empty() || names.contains(&step.0));
    let mut done = Vec::new();
    let mut result = Ok(());
    for (name, title, work) in chosen {
        let start = Instant::now();
        result = step(title, work).with_context(|| format!("cargo xtask test {name}"));
        done.push((*name, *title, start.elapsed(), result.is_ok()));
        if result.is_err() {
            break;
        }
    }
    sum_up(&done);
    result
}

fn sum_up(done: &[(&str, &str, Duration, bool)]) {
    let minutes = |time: Duration| time.as_secs_f64() / 60.0;
    println!("\n{:>8}", "minutes");
    for (name, title, time, ok) in done {
        let failed = if *ok { "" } else { "  FAILED" };
        println!("{:>8.1}  {name:<8} {title}{failed}", minutes(*time));
    }
    let total: Duration = done.iter().map(|step| step.2).sum();
    println!("{:>8.1}  in all", minutes(total));
    if total > TOO_LONG {
        println!("warning: over {:.0} minutes; mend that before adding more", minutes(TOO_LONG));
    }
}

/// Runs the long trials, or a share of them such as `1/20`.
pub fn torture(share: &str) -> Result<()> {
    let fraction = share.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
    let Some((part, of)) = fraction.filter(|&(part, of): &(u32, u32)| 0 < part && part <= of) else {
        bail!("--share wants a fraction such as 1/20, not `{share}`");
    };
    step("long trials", || trials(share))?;
    step("fuzz corpora, many times over", || fuzz_rounds(LONG_FUZZ * part / of))
}

/// Runs the benches.
pub fn bench(args: &[&str]) -> Result<()> {
    let command = [&["bench", "-p", "hindsight-benches", "--benches", "--"], args].concat();
    step("benches", || run(&mut cargo(command)))
}

/// Makes the demo's showcase chain and writes its archive.
pub fn showcase() -> Result<()> {
    system::require(system::KERNEL)?;
    let archive = root().join("backend/assets/showcase.tar.zst");
    let mut command = cargo(["run", "-p", "hindsight-tests", "--example", "showcase", "--"]);
    step("showcase chain", || run(command.arg(archive)))
}

/// Installs all that any command needs.
pub fn setup() -> Result<()> {
    system::require(system::KERNEL)?;
    system::require(system::BROWSER)?;
    system::require(system::NODE)?;
    Wasm::find_or_install()?;
    tools::for_the_web().map(drop)
}

fn fmt() -> Result<()> {
    run(&mut cargo(["fmt", "--all", "--check"]))
}

fn clippy() -> Result<()> {
    system::require(system::KERNEL)?;
    run(&mut cargo(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    for target in ["browser", "node", "torture"] {
        // Left out by --all-targets, because a plain `cargo test` leaves them out.
        if has_target(target)? {
            run(&mut cargo(["clippy", "-p", "hindsight-tests", "--test", target, "--", "-D", "warnings"]))?;
        }
    }
    let wasm = Wasm::find_or_install()?;
    let packages = ["-p", "hindsight-shared", "-p", "hindsight-frontend"];
    run(wasm.clippy().args(packages).args(["--", "-D", "warnings"]))
}

fn unit() -> Result<()> {
    system::require(system::KERNEL)?;
    run(&mut cargo(["test", "--workspace"]))
}

/// Bitcoin Core is no part of what `setup` installs: without it recorded answers stand in, among the integration tests.
fn node() -> Result<()> {
    if std::env::var_os("BITCOIND_EXE").is_none() {
        println!("    skipped: BITCOIND_EXE names no bitcoind");
        return Ok(());
    }
    system::require(system::KERNEL)?;
    run(&mut cargo(["test", "-p", "hindsight-tests", "--test", "node", "--", "--nocapture"]))
}

fn doc() -> Result<()> {
    run(cargo(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
}

fn wasm_tests() -> Result<()> {
    let mut packages = Vec::new();
    for package in ["shared", "frontend"] {
        if has_wasm_tests(package)? {
            packages.push(package);
        }
    }
    if packages.is_empty() {
        return nothing("no tests for WebAssembly");
    }
    system::require(system::NODE)?;
    if packages.contains(&"frontend") {
        system::require(system::BROWSER)?;
    }
    let wasm = Wasm::find_or_install()?.with_tools([tools::wasm_bindgen()?]);
    for package in packages {
        // Documentation examples do not run in WebAssembly.
        let mut command = wasm.cargo("test");
        command.args(["-p", &format!("hindsight-{package}"), "--lib"]);
        run(command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", "wasm-bindgen-test-runner"))?;
    }
    Ok(())
}

/// Building tests for WebAssembly takes minutes: not when there are none.
fn has_wasm_tests(package: &str) -> Result<bool> {
    for file in compress::files(&root().join(package).join("src"))? {
        if std::fs::read_to_string(file)?.contains("wasm_bindgen_test") {
            return Ok(true);
        }
    }
    Ok(false)
}

fn web_size() -> Result<()> {
    // Rustup's standard library is larger than the one that is built for size.
    let limits_hold = Wasm::find_or_install()?.builds_std();
    compress::report(&web::build()?, limits_hold)
}

fn binary() -> Result<()> {
    web::build()?;
    run(&mut cargo(["clippy", "-p", "hindsight", "--features", "embed", "--", "-D", "warnings"]))?;
    explorer::binary().map(drop)
}

fn browser() -> Result<()> {
    if !has_target("browser")? {
        return nothing("no browser tests");
    }
    system::require(system::BROWSER)?;
    let binary = explorer::binary()?;
    run(cargo(["test", "-p", "hindsight-tests", "--test", "browser"]).env("HINDSIGHT_BIN", binary))
}

fn bench_smoke() -> Result<()> {
    bench(&["--test"])
}

fn fuzz() -> Result<()> {
    fuzz_rounds(1)
}

fn fuzz_rounds(rounds: u32) -> Result<()> {
    // Outside the workspace, because fuzzing itself needs another compiler; its corpora are plain tests.
    let manifest = root().join("tests/fuzz/Cargo.toml");
    if !manifest.exists() {
        return nothing("no fuzz targets");
    }
    let mut command = cargo(["test", "--manifest-path"]);
    let target = target_dir().join("fuzz");
    run(command.arg(manifest).env("CARGO_TARGET_DIR", target).env("HINDSIGHT_FUZZ_ROUNDS", rounds.max(1).to_string()))
}

fn trials(share: &str) -> Result<()> {
    if !has_target("torture")? {
        return nothing("no long trials");
    }
    system::require(system::KERNEL)?;
    let binary = explorer::binary()?;
    let mut command = cargo(["test", "-p", "hindsight-tests", "--test", "torture"]);
    run(command.env("HINDSIGHT_TORTURE_SHARE", share).env("HINDSIGHT_BIN", binary))
}

/// Whether the tests have a binary of this name: xtask is there before they are.
fn has_target(name: &str) -> Result<bool> {
    let manifest = std::fs::read_to_string(root().join("tests/Cargo.toml"))?;
    Ok(manifest.contains(&format!("name = \"{name}\"")))
}

fn nothing(what: &str) -> Result<()> {
    println!("    {what} yet");
    Ok(())
}
