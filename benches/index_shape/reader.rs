//! Somebody who asks all the while: how long answers take while rows are only being made, while they are written, and while
//! runs are merged.
//!
//! A look that asks nothing takes what it takes to get at one state of all runs: waiting for a lock would be seen there. A
//! little work without the index tells what is the system's doing, which gives the processor to others now and then.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use hindsight::index::Runs;
use parking_lot::Mutex;

use super::history::History;
use super::look_up::find_txid;
use super::measure::Spread;

/// How long the reader rests between two questions: it is to notice, not to be load.
const REST: Duration = Duration::from_micros(500);

/// How many samples are a little work.
const LITTLE: u64 = 1000;

/// What the writer does.
#[derive(Clone, Copy, Debug)]
pub enum Phase {
    /// It waits for rows.
    Waits,
    /// It writes a run.
    Commits,
    /// It merges a slice, and writes that.
    Merges,
}

impl Phase {
    const ALL: [(Self, &'static str); 3] =
        [(Self::Waits, "rows are only made"), (Self::Commits, "a run is written"), (Self::Merges, "runs are merged")];
}

/// What the reader is told, and what it has measured.
#[derive(Debug)]
pub struct Reader {
    history: Mutex<History>,
    phase: AtomicU8,
    stop: AtomicBool,
    asked: AtomicU64,
    /// By phase: a little work without the index, looks that ask nothing, and txids.
    spreads: [Mutex<[Spread; 3]>; 3],
}

impl Reader {
    /// A reader that has asked nothing.
    pub fn new(history: History) -> Self {
        Self {
            history: Mutex::new(history),
            phase: AtomicU8::new(Phase::Waits as u8),
            stop: AtomicBool::new(false),
            asked: AtomicU64::new(0),
            spreads: Default::default(),
        }
    }

    /// What has been told by now may be asked for.
    pub fn tell(&self, history: History) {
        *self.history.lock() = history;
    }

    /// What the writer does from now on.
    pub fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    /// Asks until it is stopped. An answer counts where the phase was the same from its beginning to its end.
    pub fn ask(&self, runs: &Runs) -> Result<()> {
        while !self.stop.load(Ordering::Relaxed) {
            std::thread::sleep(REST);
            let number = self.asked.fetch_add(1, Ordering::Relaxed);
            let history = *self.history.lock();
            if history.has_told_nothing() {
                continue;
            }
            let (txid, _) = history.sample(number);
            let before = self.phase.load(Ordering::Relaxed);
            let mut asked: [Spread; 3] = Default::default();
            asked[0].time(|| {
                std::hint::black_box((0..LITTLE).map(|number| history.sample(number).0).max());
                Ok(())
            })?;
            asked[1].time(|| Ok(runs.look(|_| Ok(()))?))?;
            asked[2].time(|| find_txid(runs, txid))?;
            if before == self.phase.load(Ordering::Relaxed) {
                let mut spreads = self.spreads[usize::from(before)].lock();
                spreads.iter_mut().zip(&asked).for_each(|(all, one)| all.add(one));
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
        for (phase, name) in Phase::ALL {
            let spreads = self.spreads[phase as usize].lock();
            for (what, spread) in ["no index  ", "look alone", "txid      "].iter().zip(spreads.iter()) {
                println!("while {name}: {what} {spread}");
            }
        }
    }
}
