//! Somebody who asks all the while: how long answers take while the index is being written, and while it is only being
//! made ready to be.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use hindsight::index::Runs;
use parking_lot::Mutex;

use super::find_txid;
use super::history::History;
use super::measure::Spread;

/// How long the reader rests between two questions: it is to notice, not to be load.
const REST: Duration = Duration::from_micros(500);

/// What the reader is told, and what it has measured.
#[derive(Debug)]
pub struct Reader {
    history: Mutex<History>,
    /// Whether rows are being written or merged.
    pub writing: AtomicBool,
    stop: AtomicBool,
    asked: AtomicU64,
    quiet: Mutex<Spread>,
    busy: Mutex<Spread>,
}

impl Reader {
    /// A reader that has asked nothing.
    pub fn new(history: History) -> Self {
        Self {
            history: Mutex::new(history),
            writing: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            asked: AtomicU64::new(0),
            quiet: Mutex::default(),
            busy: Mutex::default(),
        }
    }

    /// What has been told by now may be asked for.
    pub fn tell(&self, history: History) {
        *self.history.lock() = history;
    }

    /// Asks until it is stopped. An answer counts as busy where rows were written from its beginning to its end.
    pub fn ask(&self, runs: &Runs) -> Result<()> {
        while !self.stop.load(Ordering::Relaxed) {
            std::thread::sleep(REST);
            let number = self.asked.fetch_add(1, Ordering::Relaxed);
            let history = *self.history.lock();
            if history.has_told_nothing() {
                continue;
            }
            let (txid, _) = history.sample(number);
            let before = self.writing.load(Ordering::Relaxed);
            let mut spread = Spread::default();
            spread.time(|| find_txid(runs, txid))?;
            let after = self.writing.load(Ordering::Relaxed);
            if before == after {
                let place = if after { &self.busy } else { &self.quiet };
                place.lock().add(&spread);
            }
        }
        Ok(())
    }

    /// Ends the asking.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// What was measured.
    pub fn tell_spreads(&self) {
        println!("a txid while rows are made: {}", self.quiet.lock());
        println!("a txid while rows are written and merged: {}", self.busy.lock());
    }
}
