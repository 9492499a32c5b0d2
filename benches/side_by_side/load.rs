//! Load by `wrk`, and what came of it.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::contestant::Contestant;

/// The load generator is there.
#[derive(Debug)]
pub struct Wrk;

impl Wrk {
    /// Makes sure of it.
    pub fn find() -> Result<Self> {
        let missing = "wrk is not installed (Debian: apt install wrk): there is nothing to make load with";
        Command::new("wrk").arg("-v").output().context(missing)?;
        Ok(Self)
    }
}

/// What to ask for, and how hard.
#[derive(Debug)]
pub struct Load<'a> {
    /// Connections at the same time.
    pub connections: u32,
    /// How long.
    pub time: Duration,
    /// What.
    pub path: &'a str,
}

/// What one load measured.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Answers a second.
    pub per_second: f64,
    /// CPU seconds of the server for each answer.
    pub cpu_per_answer: f64,
}

impl Load<'_> {
    /// Loads one server.
    pub fn run(&self, _: &Wrk, contestant: &Contestant) -> Result<Measured> {
        let threads = self.connections.min(2).to_string();
        let url = format!("http://{}{}", contestant.address, self.path);
        let before = contestant.server.cpu_seconds()?;
        let mut wrk = Command::new("wrk");
        wrk.args([
            "-t",
            &threads,
            "-c",
            &self.connections.to_string(),
            "-d",
            &format!("{}s", self.time.as_secs()),
            &url,
        ]);
        let output = wrk.output().context("wrk")?;
        let after = contestant.server.cpu_seconds()?;
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() || text.contains("Non-2xx") || text.contains("Socket errors") {
            bail!("{}: wrk says\n{text}{}", contestant.name, String::from_utf8_lossy(&output.stderr));
        }
        let per_second = number(&text, |line| line.strip_prefix("Requests/sec:"));
        let answers = number(&text, |line| line.split_once(" requests in ").map(|split| split.0));
        let (Some(per_second), Some(answers)) = (per_second, answers) else {
            bail!("wrk does not print what it used to:\n{text}")
        };
        Ok(Measured { per_second, cpu_per_answer: (after - before) / answers })
    }
}

fn number(text: &str, of_line: impl Fn(&str) -> Option<&str>) -> Option<f64> {
    text.lines().find_map(|line| of_line(line.trim()))?.trim().parse().ok()
}
