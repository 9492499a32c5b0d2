//! Walks many files at once.
//!
//! An SSD answers thirty small reads in the time of one: the walk keeps that many files in flight on plain threads of
//! its own, because rayon has only as many threads as there are cores, and they have other work.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use parking_lot::Mutex;

use super::bulk::lower_priority;
use super::{BlockFile, CoreFiles, ListedFile, SourceError};

/// Files walked at the same time; each has one file open.
const IN_FLIGHT: usize = 32;

/// Up to so many files are walked on the calling thread.
const FOLLOWED: usize = 4;

/// One walked file's number, and what it holds or why it could not be walked.
pub type Walked = (u32, Result<BlockFile, SourceError>);

/// Numbers of files that somebody waits for.
#[derive(Debug, Default)]
pub(super) struct Awaited(Mutex<BTreeSet<u32>>);

impl Awaited {
    /// Somebody waits for this file.
    pub(super) fn add(&self, number: u32) {
        self.0.lock().insert(number);
    }

    fn clear(&self) {
        self.0.lock().clear();
    }

    fn next(&self) -> Option<u32> {
        self.0.lock().pop_first()
    }
}

impl CoreFiles {
    /// Walks `jobs`, 32 at a time, files that somebody waits for before the others ([`BlockSource::hurry`]) and else the
    /// newest first, and hands over each as it is ready, on the calling thread.
    ///
    /// [`BlockSource::hurry`]: super::BlockSource::hurry
    ///
    /// A job's [`BlockFile`] is what is known of the file: see [`CoreFiles::walk`]. Returns when all are walked, or
    /// soon after `each` breaks.
    pub fn walk_all(
        &self,
        mut jobs: Vec<(ListedFile, Option<&BlockFile>)>,
        mut each: impl FnMut(Walked) -> ControlFlow<()>,
    ) {
        jobs.sort_by_key(|(file, _)| Reverse((file.blk.mtime, file.blk.mtime_nsec, file.number)));
        self.awaited.clear();
        let work = Work::new(self, jobs);
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
    /// Where the job of each file is.
    places: HashMap<u32, usize>,
    /// Jobs that somebody is at.
    taken: Vec<AtomicBool>,
    next: AtomicUsize,
}

impl<'a> Work<'a> {
    fn new(files: &'a CoreFiles, jobs: Vec<(ListedFile, Option<&'a BlockFile>)>) -> Self {
        let places = jobs.iter().enumerate().map(|(at, (file, _))| (file.number, at)).collect();
        let taken = jobs.iter().map(|_| AtomicBool::new(false)).collect();
        Self { files, jobs, places, taken, next: AtomicUsize::new(0) }
    }

    /// Walks what nobody else has taken yet.
    fn rest(&self) -> impl Iterator<Item = Walked> {
        let jobs = std::iter::from_fn(|| self.awaited().or_else(|| self.newest()));
        jobs.filter_map(|at| self.jobs.get(at)).map(|(file, known)| (file.number, self.files.walk(file.number, *known)))
    }

    fn awaited(&self) -> Option<usize> {
        std::iter::from_fn(|| self.files.awaited.next())
            .find_map(|number| self.places.get(&number).copied().filter(|&at| self.take(at)))
    }

    fn newest(&self) -> Option<usize> {
        let all = std::iter::from_fn(|| Some(self.next.fetch_add(1, Ordering::Relaxed)));
        all.take_while(|&at| at < self.jobs.len()).find(|&at| self.take(at))
    }

    /// Whether nobody else has taken it.
    fn take(&self, at: usize) -> bool {
        self.taken.get(at).is_some_and(|taken| !taken.swap(true, Ordering::Relaxed))
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
