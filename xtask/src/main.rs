//! `cargo xtask`: everything a newcomer or CI does, in Rust, so that one toolchain is all a machine needs to begin.
//!
//! `run` starts the explorer, `test` is what CI calls; both first set up what is missing.

mod compress;
mod imports;
mod run;
mod step;
mod system;
mod test;
mod tools;
mod wasm;
mod web;

use anyhow::{Result, bail};

const USAGE: &str = "\
Usage: cargo xtask COMMAND

  run [-- ARGS]           build the explorer and start it: the demo, or `hindsight serve ARGS`
  test [STEP…]            everything CI checks, or only the steps named:
                          fmt clippy unit node doc wasm web binary browser bench fuzz
                          torture
  torture [--share 1/20]  the long trials, or a share of them
  bench [ARGS]            the benches (ARGS go to Criterion)
  showcase                make the showcase chain anew: the same bytes, unless its code was changed
  web                     build the web app into dist/
  dist                    the release binary with licence and README, as an archive
  setup                   only install what is missing

Tools are kept in $HINDSIGHT_TOOLS, else in the user's cache folder; each is built once.
HINDSIGHT_WASM=rustup or debian forces one of the two ways to build for wasm32.";

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    if let Err(error) = dispatch(&args) {
        eprintln!("\nerror: {error:#}");
        std::process::exit(1);
    }
}

fn dispatch(args: &[&str]) -> Result<()> {
    match args {
        ["run"] | ["run", "--"] => run::demo(),
        ["run", "--", args @ ..] | ["run", args @ ..] => run::serve(args),
        ["test", steps @ ..] => test::test(steps),
        ["torture"] => test::torture("1/1"),
        ["torture", "--share", share] => test::torture(share),
        ["bench", args @ ..] => test::bench(args),
        ["showcase"] => test::showcase(),
        ["web"] => web::build().map(drop),
        ["dist"] => run::dist(),
        ["setup"] => test::setup(),
        [] | ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        [other, ..] => bail!("`{}` is not understood\n\n{USAGE}", other),
    }
}
