//! Walks many files at once.
//!
//! An SSD answers thirty small reads in the time of one: the walk keeps that many files in flight on plain threads of
//! its own, because rayon has only as many threads as there are cores, and they have other work.

use std::cmp::Reverse;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use super::bulk::lower_priority;
use super::{BlockFile, CoreFiles, ListedFile, SourceError};

/// Files walked at the same time; each has one file open.
const IN_FLIGHT: usize = 32;

/// Up to so many files are walked on the calling thread.
const FOLLOWED: usize = 4;

/// One walked file's number, and what it holds or why it could not be walked.
pub type Walked = (u32, Result<BlockFile, SourceError>);

impl CoreFiles {
    /// Walks `jobs`, 32 at a time and the newest first, and hands over each file as it is ready, on the calling thread.
    /// A job's [`BlockFile`] is what is known of the file: see [`CoreFiles::walk`]. Returns when all are walked, or
    /// soon after `each` breaks.
    pub fn walk_all(
        &self,
        mut jobs: Vec<(ListedFile, Option<&BlockFile>)>,
        mut each: impl FnMut(Walked) -> ControlFlow<()>,
    ) {
        jobs.sort_by_key(|(file, _)| Reverse((file.blk.mtime, file.blk.mtime_nsec, file.number)));
        let work = Work { files: self, jobs, next: AtomicUsize::new(0) };
        thread::scope(|scope| {
            let (sender, receiver) = sync_channel(IN_FLIGHT);
            // Few files are a chain being followed: that is not worth threads, and must not wait for an idle processor.
            let threads = if work.jobs.len() <= FOLLOWED { 0 } else { work.jobs.len().min(IN_FLIGHT) };
            for _ in 0..threads {
                let (work, sender) = (&work, sender.clone());
                // Where the system has no thread left, those that run do the work.
                let _ = thread::Builder::new().name("walk".into()).spawn_scoped(scope, move || work.send(&sender));
            }
            drop(sender);
            let stopped = receiver.iter().try_for_each(&mut each).is_break();
            drop(receiver);
            if !stopped {
                let _ = work.rest().try_for_each(&mut each);
            }
        });
    }
}

/// What the threads share.
struct Work<'a> {
    files: &'a CoreFiles,
    jobs: Vec<(ListedFile, Option<&'a BlockFile>)>,
    next: AtomicUsize,
}

impl Work<'_> {
    /// Walks what nobody else has taken yet.
    fn rest(&self) -> impl Iterator<Item = Walked> {
        std::iter::from_fn(|| {
            let (file, known) = self.jobs.get(self.next.fetch_add(1, Ordering::Relaxed))?;
            Some((file.number, self.files.walk(file.number, *known)))
        })
    }

    fn send(&self, sender: &SyncSender<Walked>) {
        lower_priority();
        for walked in self.rest() {
            if sender.send(walked).is_err() {
                return;
            }
        }
    }
}
