//! Hands rows to the index: gathers them, commits now and then, and keeps what a failed commit leaves.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::RwLock;

use super::report::{Report, Subject};
use crate::chain::Chain;
use crate::index::{Batch, Identity, Index};
use crate::source::{BlockFile, CoreFiles, FileStamp, UndoFile};
use crate::undo::UndoMap;

/// At most this many rows wait before they are committed.
const ROWS_PER_COMMIT: usize = 256;

/// Rows wait at most this long.
const COMMIT_EVERY: Duration = Duration::from_secs(2);

/// How long a failed commit waits for the next try.
const RETRY: Duration = Duration::from_secs(10);

/// Rows on their way to the index.
#[derive(Debug)]
pub struct Keeper {
    index: Arc<Index>,
    report: Arc<Report>,
    batch: Batch,
    due: Instant,
    generation: u32,
}

impl Keeper {
    /// A keeper of nothing yet.
    pub fn new(index: Arc<Index>, report: Arc<Report>) -> Self {
        let generation = index.generation();
        Self { index, report, batch: Batch::default(), due: Instant::now(), generation }
    }

    /// What an index of these files calls itself.
    pub fn identity(files: &CoreFiles) -> Identity {
        let datadir = files.datadir();
        let blocks_dir = datadir.blocks_dir.canonicalize().unwrap_or_else(|_| datadir.blocks_dir.clone());
        Identity { magic: datadir.magic.to_bytes(), blocks_dir, key: files.obfuscation().key() }
    }

    /// Hands over what the index remembers of files, block files first; nothing where it cannot be read.
    pub fn load(&mut self, blk: impl FnMut(BlockFile), rev: impl FnMut(UndoFile)) {
        let damaged = self.index.load(blk, rev).unwrap_or_else(|error| {
            self.report.warn(Subject::Index, Some(error.to_string()));
            Vec::new()
        });
        let rows = format!("{} rows of the index were damaged and are read again from the block files", damaged.len());
        let damage = self.index.damage().or((!damaged.is_empty()).then_some(rows));
        // It is said until the next start: what was set aside is still there to be looked at.
        self.report.warn(Subject::DamagedIndex, damage);
        self.generation = self.index.generation();
    }

    /// Keeps a walked file.
    pub fn keep_blocks(&mut self, file: BlockFile) {
        self.batch.blk.retain(|waiting| waiting.number != file.number);
        self.batch.blk.push(file);
    }

    /// Keeps paired files.
    pub fn keep_undo(&mut self, files: impl Iterator<Item = UndoFile>) {
        for file in files {
            self.batch.rev.retain(|waiting| waiting.number != file.number);
            self.batch.rev.push(file);
        }
    }

    /// Forgets everything, in the index too: the node has started over with new files.
    pub fn start_over(&mut self, files: &CoreFiles) {
        self.batch = Batch::default();
        let outcome = self.index.start_over(&Self::identity(files));
        self.generation = self.index.generation();
        self.report.warn(Subject::Index, outcome.err().map(|error| error.to_string()));
    }

    /// Commits what waits, if enough of it does or it has waited long enough.
    pub fn commit(&mut self, last: bool, chain: &RwLock<Chain>, undo: &UndoMap) {
        let rows = self.batch.blk.len() + self.batch.rev.len();
        let now = Instant::now();
        if rows == 0 || (!last && now < self.due && rows < ROWS_PER_COMMIT) {
            return;
        }
        match self.index.commit(&self.batch) {
            Ok(()) => {
                self.batch = Batch::default();
                self.due = now + COMMIT_EVERY;
                self.report.warn(Subject::Index, None);
            }
            Err(error) => {
                self.due = now + RETRY;
                let text = format!("{error}; it is tried again, and nothing depends on it until the next start");
                self.report.warn(Subject::Index, Some(text));
            }
        }
        if self.generation != self.index.generation() {
            self.keep_all(chain, undo);
        }
    }

    /// The index had to be started anew: everything that is known goes there again.
    fn keep_all(&mut self, chain: &RwLock<Chain>, undo: &UndoMap) {
        self.generation = self.index.generation();
        self.report.warn(Subject::DamagedIndex, self.index.damage());
        let numbers = chain.read().file_numbers();
        for number in numbers {
            // One file at a time, so that nobody waits long for the map.
            let file = chain.read().file(number);
            if let Some(file) = file.filter(|file| file.stamp.is_settled()) {
                self.keep_blocks(file);
            }
        }
        self.keep_undo(undo.all().into_iter().filter(|file| file.rev.is_none_or(FileStamp::is_settled)));
    }
}
