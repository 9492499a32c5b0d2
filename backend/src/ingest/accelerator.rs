//! Lets the map begin before all files have been read, with Core's own index of blocks for a hint.
//!
//! The newest files are read first, and say which block is the tip. Its ancestors' headers prove themselves, so they are
//! taken from that index as soon as it has been read, all of them or none. From then on every block of the best chain can
//! be asked for: the file that its hint names is read before the others.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, Scope};

use parking_lot::{Mutex, RwLock};

use crate::chain::Chain;
use crate::source::{CoreFiles, Hints, lower_priority};

/// Ancestors that are added while the map's lock is held: that is for a millisecond.
const AT_ONCE: usize = 512;

/// Hints that are being read while files are.
#[derive(Debug, Default)]
pub struct Accelerator {
    hints: Mutex<Option<Hints>>,
    /// Nobody needs them any more.
    over: AtomicBool,
}

impl Accelerator {
    /// Reads the hints on a thread of its own.
    pub fn start<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, files: &'scope CoreFiles) {
        let read = || {
            lower_priority();
            let hints = files.hints(|| !self.over.load(Ordering::Relaxed));
            tracing::debug!(blocks = hints.len(), "hints from the node's index of blocks");
            *self.hints.lock() = Some(hints);
        };
        // Where the system has no thread left, files are read without hints.
        let _ = Builder::new().name("hints".into()).spawn_scoped(scope, read);
    }

    /// Ends the reading, if it still goes on.
    pub fn stop(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// Adds the ancestors of the best chain's blocks to the map, once they can be had; whether it has.
    pub fn take(&self, chain: &RwLock<Chain>) -> bool {
        let mut slot = self.hints.lock();
        let ancestors = slot.as_ref().map(|hints| chain.read().ancestors_among(hints)).unwrap_or_default();
        if ancestors.is_empty() {
            return false;
        }
        // Genesis by itself: heights of all others are counted from it as they are added.
        let (genesis, others) = ancestors.split_at(1);
        for some in std::iter::once(genesis).chain(others.chunks(AT_ONCE)) {
            let mut chain = chain.write();
            some.iter().for_each(|hint| chain.add_hinted(hint));
            chain.link();
        }
        *slot = None;
        true
    }
}
