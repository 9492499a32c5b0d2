//! The index grows, newest blocks first: by two threads as in the server, one that makes rows and one that writes and
//! merges, or by one that does both in turn.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use clap::ValueEnum;
use hindsight::index::Runs;
use hindsight::ingest::{is_behind, next_merge};
use hindsight::runs::seal::seal;
use hindsight::source::in_the_background;
use hindsight_benches::process::{peak_memory, per_second};
use hindsight_shared::Height;
use hindsight_shared::api::IndexLevel;

use super::INDEX_FILE;
use super::history::History;
use super::reader::{Phase, Reader};

/// Blocks above the newest one that is fed: as if all lay deep.
const ABOVE: u32 = 1 << 30;

/// How long a thread waits for the other.
const PAUSE: Duration = Duration::from_millis(5);

/// Who does it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Way {
    /// One thread makes rows while another writes and merges.
    Overlapping,
    /// Each run is written, and all is merged, before more rows are made.
    InTurn,
}

/// What is made, where, and in how much memory.
#[derive(Clone, Copy, Debug)]
pub struct Growth<'a> {
    /// Transactions in all.
    pub transactions: u64,
    /// Bytes of rows that are gathered for a run; as many may wait to be written.
    pub gather: usize,
    /// The folder of the index.
    pub dir: &'a Path,
    /// Its runs.
    pub runs: &'a Runs,
    /// Who asks meanwhile.
    pub reader: &'a Reader,
}

/// What came of it.
#[derive(Clone, Copy, Debug)]
pub struct Grown {
    /// The whole chain.
    pub history: History,
    /// Transactions a second.
    pub rate: u128,
}

impl Growth<'_> {
    /// Feeds the index at the server's low priority, and tells the rate of each tenth where rows are made.
    ///
    /// # Errors
    /// As the index fails.
    pub fn run(&self, way: Way) -> Result<Grown> {
        let started = Instant::now();
        let done = AtomicBool::new(false);
        let history = thread::scope(|scope| {
            let writer = (way == Way::Overlapping).then(|| scope.spawn(|| in_the_background(|| self.write(&done))));
            let history = in_the_background(|| self.make(way));
            done.store(true, Ordering::Relaxed);
            if let Some(writer) = writer {
                writer.join().map_err(|_| anyhow!("the writer panicked"))??;
            }
            history
        })?;
        Ok(Grown { history, rate: per_second(self.transactions, started.elapsed()) })
    }

    fn make(&self, way: Way) -> Result<History> {
        let mut history = History::new(self.transactions);
        let (mut done, mut line_done, mut line_started) = (0, 0, Instant::now());
        println!("    transactions   a second   runs   disk MB   peak memory MB");
        while let Some((from, blocks)) = history.below(self.gather) {
            done += blocks.iter().map(|block| u64::from(block.tx_count())).sum::<u64>();
            for level in IndexLevel::ALL {
                self.runs.add(seal(level, from, &blocks).context("no blocks")?);
            }
            drop(blocks);
            self.reader.tell(history);
            match way {
                Way::InTurn => while self.write_one()? {},
                Way::Overlapping => {
                    while self.runs.waiting_bytes() > self.gather || is_behind(self.runs, Height(ABOVE))? {
                        thread::sleep(PAUSE);
                    }
                }
            }
            if done - line_done >= self.transactions / 10 {
                let rate = per_second(done - line_done, line_started.elapsed());
                let count =
                    self.runs.all(IndexLevel::Addresses)?.len() + self.runs.all(IndexLevel::Transactions)?.len();
                println!(
                    "    {done:>12} {rate:>10} {count:>6} {:>9} {:>16}",
                    disk(self.dir)? >> 20,
                    peak_memory() >> 20
                );
                (line_started, line_done) = (Instant::now(), done);
            }
        }
        Ok(history)
    }

    fn write(&self, done: &AtomicBool) -> Result<()> {
        loop {
            // Before the look: what is added after it is seen by the next.
            let is_done = done.load(Ordering::Relaxed);
            if self.write_one()? {
                continue;
            }
            if is_done {
                return Ok(());
            }
            thread::sleep(PAUSE);
        }
    }

    fn write_one(&self) -> Result<bool> {
        self.reader.enter(Phase::Commits);
        let mut written = self.runs.commit()?;
        if !written {
            self.reader.enter(Phase::Merges);
            written = self.runs.merge(|runs| next_merge(runs, Height(ABOVE)))?;
        }
        self.reader.enter(Phase::Waits);
        Ok(written)
    }
}

/// Bytes of the index's file.
pub fn disk(dir: &Path) -> Result<u64> {
    Ok(std::fs::metadata(dir.join(INDEX_FILE))?.len())
}

/// Milliseconds for each million transactions.
pub fn cpu_per_million(time: Duration, transactions: u64) -> u128 {
    time.as_millis() * 1_000_000 / u128::from(transactions.max(1))
}
