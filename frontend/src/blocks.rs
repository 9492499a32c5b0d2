//! Blocks that pages have open: one worker loads them, the last few stay, so that going back is instant.

use std::sync::Arc;

use bitcoin::BlockHash;
use hindsight_shared::api::payload_path;
use hindsight_shared::search::BlockId;
use leptos::prelude::*;

use crate::api::ApiError;
use crate::model::block::LoadedBlock;
use crate::navigation::absolute;
use crate::worker::client::{Client, Parcel};
use crate::worker::{Reply, Request};

/// Blocks that stay in memory: a few megabytes each.
const KEPT: usize = 5;

/// How far a block is.
#[derive(Clone, Debug)]
pub enum Load {
    /// Bytes are on their way: how many are there, and of how many where that is known.
    Fetching(u64, Option<u64>),
    /// The worker decodes and checks.
    Decoding,
    /// It is there.
    Ready(Arc<LoadedBlock>),
    /// It will not come.
    Failed(ApiError),
}

/// The open blocks, as a context.
#[derive(Clone, Copy, Debug)]
pub struct Blocks(StoredValue<Inner, LocalStorage>);

#[derive(Debug, Default)]
struct Inner {
    worker: Option<Client>,
    /// Oldest first.
    entries: Vec<Entry>,
    jobs: u32,
}

#[derive(Debug)]
struct Entry {
    id: BlockId,
    job: u32,
    load: ArcRwSignal<Load>,
    viewers: u32,
}

impl Entry {
    /// Whether this is the block meant: by what it was asked for, or by what it turned out to be.
    fn is(&self, id: BlockId) -> bool {
        self.id == id
            || self.load.with_untracked(|load| match (load, id) {
                (Load::Ready(block), BlockId::Hash(hash)) => block.hash == hash,
                _ => false,
            })
    }

    fn is_done(&self) -> bool {
        self.load.with_untracked(|load| matches!(load, Load::Ready(_)))
    }
}

impl Blocks {
    /// Starts the worker, so that it is warm when the first block is asked for.
    pub fn start() -> Self {
        let blocks = Self(StoredValue::new_local(Inner::default()));
        blocks.ensure_worker();
        blocks
    }

    fn ensure_worker(self) {
        if self.0.with_value(|inner| inner.worker.is_none()) {
            let worker = Client::start(move |parcel| self.hear(parcel), move |reason| self.break_off(&reason));
            self.0.update_value(|inner| inner.worker = Some(worker));
        }
    }

    /// Opens a block for as long as the caller's component stands.
    pub fn open(self, id: BlockId) -> ArcRwSignal<Load> {
        on_cleanup(move || self.leave(id));
        let known = self.0.try_update_value(|inner| {
            let at = inner.entries.iter().position(|entry| entry.is(id))?;
            // A failure is no answer for good.
            let failed = inner.entries[at].load.with_untracked(|load| matches!(load, Load::Failed(_)));
            let mut entry = inner.entries.remove(at);
            entry.viewers += 1;
            let load = entry.load.clone();
            inner.entries.push(entry);
            Some((load, failed))
        });
        match known.flatten() {
            Some((load, failed)) => {
                if failed {
                    self.reload(id);
                }
                load
            }
            None => self.add(id),
        }
    }

    fn add(self, id: BlockId) -> ArcRwSignal<Load> {
        self.ensure_worker();
        let load = ArcRwSignal::new(Load::Fetching(0, None));
        self.0.update_value(|inner| {
            let spare = inner.entries.iter().position(|entry| entry.viewers == 0);
            if let Some(spare) = spare.filter(|_| inner.entries.len() >= KEPT) {
                inner.entries.remove(spare);
            }
            let job = inner.ask(id, false);
            inner.entries.push(Entry { id, job, load: load.clone(), viewers: 1 });
        });
        load
    }

    /// Loads a block again: after a failure, or when its height has another block. Not from the browser's cache, which
    /// would repeat a cut or damaged answer.
    pub fn reload(self, id: BlockId) {
        self.ensure_worker();
        let load = self.0.try_update_value(|inner| {
            let at = inner.entries.iter().position(|entry| entry.is(id))?;
            let job = inner.ask(id, true);
            let entry = &mut inner.entries[at];
            (entry.id, entry.job) = (id, job);
            Some(entry.load.clone())
        });
        if let Some(load) = load.flatten() {
            load.set(Load::Fetching(0, None));
        }
    }

    /// The next page may want the same block: what nobody took up after the change of pages is cancelled.
    fn leave(self, id: BlockId) {
        self.0.try_update_value(|inner| {
            if let Some(entry) = inner.entries.iter_mut().find(|entry| entry.is(id)) {
                entry.viewers = entry.viewers.saturating_sub(1);
            }
        });
        let sweep = move || {
            self.0.try_update_value(|inner| {
                let (kept, left): (Vec<_>, Vec<_>) =
                    inner.entries.drain(..).partition(|entry| entry.viewers > 0 || entry.is_done());
                inner.entries = kept;
                for entry in left {
                    inner.tell(&Request::Cancel { job: entry.job });
                }
            });
        };
        set_timeout(sweep, std::time::Duration::ZERO);
    }

    fn hear(self, (reply, buffers): Parcel) {
        let (job, load) = match reply {
            Reply::Progress { job, received, total } => (job, Load::Fetching(received, total)),
            Reply::Decoding { job } => (job, Load::Decoding),
            Reply::Failed { job, error } => (job, Load::Failed(error)),
            Reply::Done { job, report } => {
                let mut buffers = buffers.into_iter();
                let [bytes, rows, stats] = std::array::from_fn(|_| buffers.next().unwrap_or_default());
                let block = LoadedBlock::new(bytes, &rows, &stats, report);
                let unreadable = |error: hindsight_shared::DecodeError| ApiError::Unreadable(error.to_string());
                (job, block.map_or_else(|error| Load::Failed(unreadable(error)), |block| Load::Ready(Arc::new(block))))
            }
        };
        let signal = self
            .0
            .with_value(|inner| inner.entries.iter().find(|entry| entry.job == job).map(|entry| entry.load.clone()));
        if let Some(signal) = signal {
            signal.set(load);
        }
    }

    /// The worker is no more: everything that waits for it fails with the reason, and whatever is asked next starts
    /// another one.
    fn break_off(self, reason: &str) {
        let waiting: Vec<_> = self.0.with_value(|inner| {
            inner.entries.iter().filter(|entry| !entry.is_done()).map(|entry| entry.load.clone()).collect()
        });
        for load in waiting {
            load.set(Load::Failed(ApiError::Unreadable(["the decoder stopped: ", reason].concat())));
        }
        // Not from within its own callback.
        let discard = move || drop(self.0.try_update_value(|inner| inner.worker.take()));
        set_timeout(discard, std::time::Duration::ZERO);
    }

    /// A loaded block with this transaction: where a search by txid leads without any index.
    pub fn with_tx(self, txid: &bitcoin::Txid) -> Option<BlockHash> {
        let found = |entry: &Entry| {
            entry.load.with_untracked(|load| match load {
                Load::Ready(block) => block.position(txid).map(|_| block.hash),
                _ => None,
            })
        };
        self.0.with_value(|inner| inner.entries.iter().rev().find_map(found))
    }
}

impl Inner {
    fn ask(&mut self, id: BlockId, fresh: bool) -> u32 {
        self.jobs += 1;
        let asked = match id {
            BlockId::Hash(hash) => Some(hash),
            BlockId::Height(_) => None,
        };
        self.tell(&Request::Load { job: self.jobs, url: absolute(&payload_path(id)), asked, fresh });
        self.jobs
    }

    fn tell(&self, request: &Request) {
        if let Some(worker) = &self.worker {
            worker.ask(request);
        }
    }
}
