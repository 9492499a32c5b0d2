//! The `hindsight` command.

use std::process::ExitCode;

use clap::Parser;

mod cli;

fn main() -> ExitCode {
    match cli::run(cli::Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("hindsight: {error:#}");
            ExitCode::FAILURE
        }
    }
}
