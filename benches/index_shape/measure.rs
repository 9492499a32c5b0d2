//! What a run costs, as the system tells it, and how long lookups take.

use std::fmt;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hindsight_benches::process::read_from_disk;
use rustix::fs::{Advice, fadvise, fsync};
use rustix::time::{ClockId, clock_gettime};

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

/// Times of many lookups, and whether each had to read from the disk.
#[derive(Debug, Default)]
pub struct Spread(Vec<(Duration, bool)>);

impl Spread {
    /// Times one.
    pub fn time(&mut self, lookup: impl FnOnce() -> Result<()>) -> Result<()> {
        let before = read_from_disk();
        let started = Instant::now();
        lookup()?;
        let time = started.elapsed();
        self.0.push((time, read_from_disk() > before));
        Ok(())
    }

    /// Adds what another has.
    pub fn add(&mut self, other: &Self) {
        self.0.extend(&other.0);
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut times = self.0.clone();
        times.sort_unstable();
        let time = |at: Option<&(Duration, bool)>| at.map_or(Duration::ZERO, |(time, _)| *time);
        let [half, nearly, almost] = [500, 990, 999].map(|permille| time(times.get(times.len() * permille / 1000)));
        let most = time(times.last());
        write!(f, "{} times, p50 {half:.0?}, p99 {nearly:.0?}, p99.9 {almost:.0?}, at most {most:.0?}", times.len())?;
        let from_memory = times.iter().rev().find(|(_, from_disk)| !from_disk);
        let from_disk = times.iter().filter(|(_, from_disk)| *from_disk).count();
        if from_disk > 0 {
            write!(f, " ({from_disk} from disk, the others at most {:.0?})", time(from_memory))?;
        }
        Ok(())
    }
}
