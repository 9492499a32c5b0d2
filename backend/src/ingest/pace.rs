//! How fast the index grows, and how long it will take: for the terminal and for everybody who asks for the status.

use std::time::{Duration, Instant};

use hindsight_shared::api::{IndexLevel, IndexProgress};

/// How often progress is told.
const TELL: Duration = Duration::from_secs(10);

/// A level of which nothing has been counted. Whether one is whole is not told here: who asks looks.
pub const fn begun(level: IndexLevel) -> IndexProgress {
    IndexProgress { level, whole: false, blocks: 0, of: 0, per_second: 0, seconds_left: None }
}

/// How fast transactions are indexed.
#[derive(Debug, Default)]
pub struct Pace {
    transactions: u64,
    since: Option<Instant>,
    /// It is to be told at once.
    hurried: bool,
    /// Nothing has happened since the last time.
    done: bool,
}

impl Pace {
    /// So many transactions have been added.
    pub fn count(&mut self, transactions: u32) {
        self.transactions += u64::from(transactions);
        self.done = false;
    }

    /// Whether it is time to tell.
    pub fn is_due(&self) -> bool {
        !self.done && (self.hurried || self.since.is_none_or(|since| since.elapsed() >= TELL))
    }

    /// There may be something to tell.
    pub const fn wake(&mut self) {
        self.done = false;
    }

    /// Progress is told by the next look.
    pub const fn hurry(&mut self) {
        self.hurried = true;
    }

    /// Puts the remaining time into each level's progress, and tells the terminal.
    pub fn tell(&mut self, left: u64, progress: &mut [IndexProgress]) {
        let elapsed = self.since.map_or(0, |since| u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX));
        let rate = (self.transactions * 1000).checked_div(elapsed).filter(|rate| *rate > 0);
        for level in progress.iter_mut() {
            level.per_second = rate.map_or(0, |rate| u32::try_from(rate).unwrap_or(u32::MAX));
            level.seconds_left = rate.map(|rate| u32::try_from(left.div_ceil(rate)).unwrap_or(u32::MAX));
        }
        if let Some(last) = progress.last().filter(|_| self.transactions > 0) {
            let left = last
                .seconds_left
                .filter(|_| left > 0)
                .map_or_else(String::new, |left| format!(", {} left", time(left)));
            tracing::info!(
                "index: {} of {} blocks, {} transactions a second{left}",
                last.blocks,
                last.of,
                last.per_second
            );
        }
        // What is left at rest cannot be added now.
        *self = Self { transactions: 0, since: Some(Instant::now()), hurried: false, done: left == 0 || self.hurried };
    }
}

/// Seconds in words.
fn time(seconds: u32) -> String {
    match (seconds / 3600, seconds / 60 % 60) {
        (0, 0) => format!("{seconds} s"),
        (0, minutes) => format!("{minutes} min"),
        (hours, minutes) => format!("{hours} h {minutes:02} min"),
    }
}
