//! What ingest tells of itself: progress, and what is wrong.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hindsight_shared::api::{IndexProgress, Progress};
use parking_lot::Mutex;

/// What a warning is about; each subject has one at a time.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Subject {
    /// The blocks directory, or files in it, cannot be read.
    Source,
    /// Undo cannot be paired with its blocks.
    Undo,
    /// The index cannot be written.
    Index,
    /// The index was damaged and has been set aside.
    DamagedIndex,
    /// Runs of the index cannot be written.
    Runs,
}

/// Written by ingest, read by whoever asks for the status.
#[derive(Debug, Default)]
pub struct Report {
    progress: Mutex<Progress>,
    /// Blocks of the best chain whose statistics are settled.
    statistics: Arc<AtomicU32>,
    index: Mutex<Vec<IndexProgress>>,
    warnings: Mutex<BTreeMap<Subject, String>>,
}

impl Report {
    /// How much of the directory has been read.
    pub fn progress(&self) -> Progress {
        Progress { statistics: self.statistics.load(Ordering::Relaxed), ..*self.progress.lock() }
    }

    /// Where the number of blocks with settled statistics is kept.
    pub fn statistics(&self) -> Arc<AtomicU32> {
        self.statistics.clone()
    }

    /// How far each level of the index is.
    pub fn index(&self) -> Vec<IndexProgress> {
        self.index.lock().clone()
    }

    pub(super) fn tell_index(&self, progress: Vec<IndexProgress>) {
        *self.index.lock() = progress;
    }

    /// What is wrong and what to do about it.
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.lock().values().cloned().collect()
    }

    /// Whether the blocks directory can be read.
    pub fn reads_source(&self) -> bool {
        !self.warnings.lock().contains_key(&Subject::Source)
    }

    pub(super) fn advance(&self, change: impl FnOnce(&mut Progress)) {
        change(&mut self.progress.lock());
    }

    /// Sets or, with nothing to say, lifts the warning about a subject.
    pub(super) fn warn(&self, subject: Subject, text: Option<String>) {
        let mut warnings = self.warnings.lock();
        match text {
            Some(text) if warnings.get(&subject) != Some(&text) => {
                tracing::warn!("{text}");
                warnings.insert(subject, text);
            }
            Some(_) => {}
            None => {
                warnings.remove(&subject);
            }
        }
    }
}
