//! What a run costs, as the system tells it, and how long lookups take.

use std::fmt;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::fs::{Advice, fadvise, fsync};
use rustix::time::{ClockId, clock_gettime};

/// The most memory that this process has had, in bytes.
pub fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) << 10
}

/// What all threads of this process have worked.
pub fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Leaves a file on the disk only.
pub fn drop_from_page_cache(path: &Path) -> Result<()> {
    let file = File::open(path).with_context(|| format!("{} cannot be opened", path.display()))?;
    fsync(&file)?;
    Ok(fadvise(&file, 0, None, Advice::DontNeed)?)
}

/// Times of many lookups.
#[derive(Debug, Default)]
pub struct Spread(Vec<Duration>);

impl Spread {
    /// Times one.
    pub fn time(&mut self, lookup: impl FnOnce() -> Result<()>) -> Result<()> {
        let started = Instant::now();
        lookup()?;
        self.0.push(started.elapsed());
        Ok(())
    }
}

impl Spread {
    /// Adds what another has.
    pub fn add(&mut self, other: &Self) {
        self.0.extend(&other.0);
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut times = self.0.clone();
        times.sort_unstable();
        let at = |permille: usize| times.get(times.len() * permille / 1000).copied().unwrap_or_default();
        let most = times.last().copied().unwrap_or_default();
        let [half, nearly, almost] = [500, 990, 999].map(at);
        write!(f, "{} times, p50 {half:.0?}, p99 {nearly:.0?}, p99.9 {almost:.0?}, at most {most:.0?}", times.len())
    }
}
