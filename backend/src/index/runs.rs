//! Runs of the index of transactions and addresses: kept in memory from the moment they are made, written later, looked
//! through by everybody meanwhile.
//!
//! A question looks through one state: the runs that wait in memory, and those that one transaction of the store lists.
//! Whoever writes changes the list in the same transaction as the pages, so that none sees half of a merge, and takes the
//! new state for everybody: questions share it, and none waits for the store, whose locks are held while a file grows or a
//! commit ends. (The state keeps the pages that the next commit frees, and no more: it is taken anew after each.) Which runs are of the best chain is for who asks to say, by the hash of each run's last block: a reorg changes
//! nothing here.
//!
//! A page that does not hold what it should costs its run: that is left out from then on, and made anew.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::{Mutex, RwLock};
use redb::{ReadTransaction, ReadableDatabase, ReadableTable, ReadableTableMetadata};

use super::entries::unsealed;
use super::run_list::RunList;
use super::run_rows::{delete_run, list, read_list, write_list, write_run};
use super::tables::{HEIGHT_TO_SIZES, RUN_TO_HEAD, page_table};
use super::view::{Cause, Failure, Live, View};
use super::{Index, IndexError};
use crate::runs::PageError;
use crate::runs::hashes::Secret;
use crate::runs::run::{Kind, Packed, Run};
use hindsight_shared::api::IndexLevel;

/// Transactions in a slice of a merge, about: some 10 MiB of pages, and ten times that while they are sorted.
const SLICE: u64 = 1 << 19;

/// How often a question is asked of a state that is closed under it.
const ASKED_AGAIN: u32 = 3;

/// All runs.
#[derive(Debug)]
pub struct Runs {
    index: Arc<Index>,
    secret: Secret,
    /// Made and not yet written.
    waiting: RwLock<Vec<Arc<Packed>>>,
    /// What questions look through, and the epoch of the store that it is of.
    current: RwLock<Option<(u32, Arc<View>)>>,
    /// Held while that is taken anew: the last one to do so has seen everything.
    renewing: Mutex<()>,
    /// Heads that have been read; runs do not change.
    heads: RwLock<BTreeMap<u32, Arc<Run>>>,
    /// Those with a page that is damaged.
    damaged: Mutex<BTreeSet<u32>>,
    next_id: AtomicU32,
    /// Transactions in a slice of a merge, about.
    pub(super) slice: u64,
    /// Held by the one that writes runs.
    pub(super) writing: Mutex<()>,
}

impl Runs {
    /// The runs of an index.
    ///
    /// # Errors
    /// As the index fails.
    pub fn new(index: Arc<Index>) -> Result<Self, IndexError> {
        let secret = index.store.secret();
        let last = index.store.run(|db| {
            let heads = db.begin_read()?.open_table(RUN_TO_HEAD)?;
            Ok(heads.last()?.map_or(0, |(id, _)| id.value()))
        })?;
        Ok(Self {
            index,
            secret,
            waiting: RwLock::default(),
            current: RwLock::default(),
            renewing: Mutex::default(),
            heads: RwLock::default(),
            damaged: Mutex::default(),
            next_id: AtomicU32::new(last + 1),
            slice: SLICE,
            writing: Mutex::default(),
        })
    }

    /// What scripts and outpoints are hashed with.
    pub const fn secret(&self) -> &Secret {
        &self.secret
    }

    /// Raised whenever every written run is gone.
    pub fn generation(&self) -> u32 {
        self.index.generation()
    }

    /// Whether a run is left out, and waits for [`Self::retain`] to remove it.
    pub fn has_damage(&self) -> bool {
        !self.damaged.lock().is_empty()
    }

    /// Adds a run: readable from now on, written by the next [`Self::commit`].
    pub fn add(&self, mut packed: Packed) {
        packed.run.id = self.new_id();
        self.waiting.write().push(Arc::new(packed));
        self.changed();
    }

    /// Bytes of runs that are not written yet.
    pub fn waiting_bytes(&self) -> usize {
        self.waiting.read().iter().map(|packed| packed.bytes()).sum()
    }

    /// Writes what waits; whether there was anything. What a failed commit leaves stays readable and is tried again by
    /// the next one.
    ///
    /// # Errors
    /// As the index fails.
    pub fn commit(&self) -> Result<bool, IndexError> {
        let _writing = self.writing.lock();
        let waiting = self.waiting.read().clone();
        if waiting.is_empty() {
            return Ok(false);
        }
        self.index.store.has_room()?;
        self.index.store.write(|transaction| {
            let mut list = read_list(transaction)?;
            for packed in &waiting {
                write_run(transaction, packed)?;
                list.runs.push(packed.run.id);
            }
            write_list(transaction, &list)
        })?;
        let written: BTreeSet<u32> = waiting.iter().map(|packed| packed.run.id).collect();
        self.waiting.write().retain(|packed| !written.contains(&packed.run.id));
        self.changed();
        Ok(true)
    }

    /// Asks something of one state of all runs. A run with a damaged page is left out from then on, and the question is
    /// asked again without it.
    ///
    /// # Errors
    /// As the index fails.
    pub fn look<T>(&self, mut question: impl FnMut(&View) -> Result<T, Failure>) -> Result<T, IndexError> {
        loop {
            match self.look_once(&mut question)? {
                Ok(answer) => return Ok(answer),
                Err((run, error)) => {
                    tracing::warn!(run, %error, "a page of the index is damaged: its run is made anew");
                    self.leave_out(run);
                }
            }
        }
    }

    fn look_once<T>(
        &self,
        question: &mut impl FnMut(&View) -> Result<T, Failure>,
    ) -> Result<Result<T, (u32, PageError)>, IndexError> {
        let mut asked = 0;
        loop {
            let (epoch, view) = self.current()?;
            asked += 1;
            let answer = self.index.store.run(|_| match question(&view) {
                Ok(answer) => Ok(Ok(answer)),
                Err(Failure(Cause::Page { run, error })) => Ok(Err((run, error))),
                Err(Failure(Cause::Store(error))) => Err(error.into()),
            });
            // The state may have been closed under the question.
            if answer.is_err() && asked < ASKED_AGAIN && epoch != self.index.store.epoch() {
                continue;
            }
            return answer;
        }
    }

    fn current(&self) -> Result<(u32, Arc<View>), IndexError> {
        let epoch = self.index.store.epoch();
        let current = self.current.read().clone().filter(|(of, _)| *of == epoch);
        current.map_or_else(|| self.renew(), Ok)
    }

    /// Takes the state anew: something has changed.
    pub(super) fn changed(&self) {
        if self.renew().is_err() {
            // The next question tries, and tells.
            *self.current.write() = None;
        }
    }

    fn renew(&self) -> Result<(u32, Arc<View>), IndexError> {
        let _renewing = self.renewing.lock();
        let epoch = self.index.store.epoch();
        // First what waits: a run that is being written meanwhile is then seen twice, not missed.
        let waiting = self.waiting.read().clone();
        let view = self.index.store.run(|db| self.view(&db.begin_read()?, waiting))?;
        let current = (epoch, Arc::new(view));
        // Nobody waits while the last state goes, with what is no longer in memory.
        let _last = self.current.write().replace(current.clone());
        Ok(current)
    }

    /// All runs of a level, lowest first. Ranges of a merge are told once.
    ///
    /// # Errors
    /// As the index fails.
    pub fn all(&self, level: IndexLevel) -> Result<Vec<Arc<Run>>, IndexError> {
        self.look(|view| {
            let mut runs: Vec<_> =
                view.all().iter().filter(|live| live.is_whole()).map(|live| live.run.clone()).collect();
            runs.retain(|run| run.level == level);
            runs.sort_by_key(|run| run.from);
            Ok(runs)
        })
    }

    /// Bytes of each kind of pages, and those that the store loses to its own form beside them: it goes through all of
    /// them.
    ///
    /// # Errors
    /// As the index fails.
    pub fn bytes(&self) -> Result<Vec<(&'static str, u64, u64)>, IndexError> {
        self.index.store.run(|db| {
            let transaction = db.begin_read()?;
            let of = |name, stats: redb::TableStats| {
                (name, stats.stored_bytes(), stats.metadata_bytes() + stats.fragmented_bytes())
            };
            let mut all = vec![of("sizes", transaction.open_table(HEIGHT_TO_SIZES)?.stats()?)];
            for (name, kind) in [("txids", Kind::Txids), ("scripts", Kind::Scripts), ("named spends", Kind::Spends)] {
                all.push(of(name, transaction.open_table(page_table(kind))?.stats()?));
            }
            Ok(all)
        })
    }

    /// Removes those runs, written or not, for which `keep` does not speak, and those that are damaged.
    ///
    /// # Errors
    /// As the index fails.
    pub fn retain(&self, keep: impl Fn(&Run) -> bool) -> Result<(), IndexError> {
        let damaged = self.damaged.lock().clone();
        let keep = |run: &Run| keep(run) && !damaged.contains(&run.id);
        let _writing = self.writing.lock();
        self.waiting.write().retain(|packed| keep(&packed.run));
        let (list, heads) = self.listed()?;
        let gone: BTreeSet<u32> = heads.iter().filter(|run| !keep(run)).map(|run| run.id).collect();
        // A list may name a run whose head is lost.
        let lost = list.ids().filter(|id| heads.iter().all(|run| run.id != *id));
        let gone: BTreeSet<u32> = list.with_their_merges(gone.into_iter().chain(lost).collect());
        let orphans = self.orphans(&list)?;
        if gone.is_empty() && orphans.is_empty() {
            self.changed();
            return Ok(());
        }
        self.index.store.write(|transaction| {
            for run in heads.iter().filter(|run| gone.contains(&run.id) && run.level == IndexLevel::Transactions) {
                let mut sizes = transaction.open_table(HEIGHT_TO_SIZES)?;
                sizes.retain_in(run.from.0..=run.to().0, |_, _| false)?;
            }
            for id in gone.iter().chain(&orphans) {
                delete_run(transaction, *id)?;
            }
            write_list(transaction, &list.without(&gone))
        })?;
        self.heads.write().retain(|id, _| !gone.contains(id));
        self.damaged.lock().retain(|id| !damaged.contains(id));
        self.changed();
        Ok(())
    }

    /// Leaves a run out from now on: it has a page that is damaged.
    pub(super) fn leave_out(&self, run: u32) {
        self.damaged.lock().insert(run);
        self.changed();
    }

    pub(super) fn store(&self) -> &super::Store {
        &self.index.store
    }

    pub(super) fn new_id(&self) -> u32 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// The list as it is written, and the heads of all that it names.
    pub(super) fn listed(&self) -> Result<(RunList, Vec<Arc<Run>>), IndexError> {
        self.index.store.run(|db| {
            let transaction = db.begin_read()?;
            let list = list(&transaction)?;
            let heads = list.ids().filter_map(|id| self.head(&transaction, id).transpose());
            let heads = heads.collect::<Result<_, redb::Error>>()?;
            Ok((list, heads))
        })
    }

    /// Runs that are written and that the list does not name: it was damaged.
    fn orphans(&self, list: &RunList) -> Result<Vec<u32>, IndexError> {
        self.index.store.run(|db| {
            let heads = db.begin_read()?.open_table(RUN_TO_HEAD)?;
            let ids = heads.iter()?.map(|row| row.map(|(id, _)| id.value())).collect::<Result<Vec<_>, _>>()?;
            Ok(ids.into_iter().filter(|id| list.ids().all(|listed| listed != *id)).collect())
        })
    }

    fn view(&self, transaction: &ReadTransaction, waiting: Vec<Arc<Packed>>) -> Result<View, redb::Error> {
        let damaged = self.damaged.lock().clone();
        let list = list(transaction)?;
        let mut live: Vec<Live> = waiting.into_iter().map(Live::waiting).collect();
        for (id, prefixes, whole) in list.readable() {
            let seen = live.iter().any(|live| live.run.id == id);
            if let Some(run) = self.head(transaction, id)?.filter(|_| !seen) {
                live.push(Live::stored(run, prefixes, whole));
            }
        }
        live.retain(|live| !damaged.contains(&live.run.id));
        View::new(transaction, live)
    }

    fn head(&self, transaction: &ReadTransaction, id: u32) -> Result<Option<Arc<Run>>, redb::Error> {
        if let Some(run) = self.heads.read().get(&id) {
            return Ok(Some(run.clone()));
        }
        let table = transaction.open_table(RUN_TO_HEAD)?;
        let found = table.get(id)?.and_then(|value| Run::unpack(id, unsealed(value.value())?));
        let Some(run) = found.map(Arc::new) else { return Ok(None) };
        self.heads.write().insert(id, run.clone());
        Ok(Some(run))
    }
}

#[cfg(test)]
mod tests;
