//! Runs of the index of transactions and addresses: kept in memory from the moment they are made, written later, looked
//! through by everybody meanwhile.
//!
//! A question looks through one state: the runs that wait in memory, then those that one transaction of the store lists.
//! Whoever writes changes the list in the same transaction as the pages, so that no reader waits and none sees half of a
//! merge. Which runs are of the best chain is for who asks to say, by the hash of each run's last block: a reorg changes
//! nothing here.
//!
//! A page that does not hold what it should costs its run: that is left out from then on, and made anew.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::{Mutex, RwLock};
use redb::{
    ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable, ReadableTableMetadata, TableError,
    WriteTransaction,
};

use super::entries::{sealed, sealed_page, unsealed, unsealed_page};
use super::run_list::RunList;
use super::tables::{HEIGHT_TO_SIZES, LIVE, LIVE_RUNS, PageTable, RUN_TO_HEAD, page_table};
use super::{Index, IndexError};
use crate::runs::PageError;
use crate::runs::hashes::{MAX_PREFIX, Prefix, Secret};
use crate::runs::postings::{self, Posting, Role};
use crate::runs::prefixes::{Entry, PageView, Shape};
use crate::runs::rows::Level;
use crate::runs::run::{Kind, Packed, PageKey, Run, SizePages, TxPosition};
use crate::runs::sizes::{self, Place};

type Stored = ReadOnlyTable<(u32, Prefix, u32), &'static [u8]>;

/// Transactions in a slice of a merge, about: some 10 MiB of pages, and ten times that while they are sorted.
const SLICE: u64 = 1 << 19;

/// All runs.
#[derive(Debug)]
pub struct Runs {
    index: Arc<Index>,
    secret: Secret,
    /// Made and not yet written.
    waiting: RwLock<Vec<Arc<Packed>>>,
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
        Ok(true)
    }

    /// Asks something of one state of all runs.
    ///
    /// # Errors
    /// As the index fails; [`IndexError::Page`] where a page is damaged, whose run is left out from then on.
    pub fn look<T>(&self, question: impl FnOnce(&View) -> Result<T, BadPage>) -> Result<T, IndexError> {
        // First what waits: a run that is being written meanwhile is then seen twice, not missed.
        let waiting = self.waiting.read().clone();
        let answer = self.index.store.run(|db| Ok(question(&self.view(&db.begin_read()?, waiting)?)))?;
        answer.map_err(|bad| {
            tracing::warn!(run = bad.run, error = %bad.error, "a page of the index is damaged: its run is made anew");
            self.leave_out(bad.run);
            IndexError::Page(bad.error)
        })
    }

    /// All runs of a level, lowest first. Ranges of a merge are told once.
    ///
    /// # Errors
    /// As the index fails.
    pub fn all(&self, level: Level) -> Result<Vec<Arc<Run>>, IndexError> {
        self.look(|view| {
            let mut runs: Vec<_> = view.live.iter().filter(|live| live.whole).map(|live| live.run.clone()).collect();
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
        if gone.is_empty() {
            return Ok(());
        }
        self.index.store.write(|transaction| {
            for run in heads.iter().filter(|run| gone.contains(&run.id)) {
                delete_pages(transaction, run)?;
                if run.level == Level::Transactions {
                    let mut sizes = transaction.open_table(HEIGHT_TO_SIZES)?;
                    sizes.retain_in(run.from.0..=run.to().0, |_, _| false)?;
                }
            }
            let mut table = transaction.open_table(RUN_TO_HEAD)?;
            for id in &gone {
                table.remove(id)?;
            }
            write_list(transaction, &list.without(&gone))
        })?;
        self.heads.write().retain(|id, _| !gone.contains(id));
        self.damaged.lock().retain(|id| !damaged.contains(id));
        Ok(())
    }

    /// Leaves a run out from now on: it has a page that is damaged.
    pub(super) fn leave_out(&self, run: u32) {
        self.damaged.lock().insert(run);
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

    fn view(&self, transaction: &ReadTransaction, waiting: Vec<Arc<Packed>>) -> Result<View, redb::Error> {
        let damaged = self.damaged.lock().clone();
        let list = list(transaction)?;
        let mut live = Vec::with_capacity(waiting.len() + list.runs.len());
        for packed in waiting {
            let run = Arc::new(packed.run.clone());
            live.push(Live { run, prefixes: 0..=MAX_PREFIX, waiting: Some(packed), whole: true });
        }
        for (id, prefixes, whole) in list.readable() {
            let seen = live.iter().any(|live| live.run.id == id);
            if let Some(run) = self.head(transaction, id)?.filter(|_| !seen) {
                live.push(Live { run, prefixes, waiting: None, whole });
            }
        }
        live.retain(|live| !damaged.contains(&live.run.id));
        let table = |kind| transaction.open_table(page_table(kind));
        let tables =
            Tables { txids: table(Kind::Txids)?, scripts: table(Kind::Scripts)?, spends: table(Kind::Spends)? };
        Ok(View { live, tables, sizes: transaction.open_table(HEIGHT_TO_SIZES)? })
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

/// A page that cannot be read, and whose it is.
#[derive(Clone, Copy, Debug)]
pub struct BadPage {
    run: u32,
    error: PageError,
}

/// One state of all runs.
#[derive(Debug)]
pub struct View {
    live: Vec<Live>,
    tables: Tables,
    sizes: ReadOnlyTable<u32, &'static [u8]>,
}

#[derive(Debug)]
struct Tables {
    txids: Stored,
    scripts: Stored,
    spends: Stored,
}

/// A run that can be read.
#[derive(Clone, Debug)]
pub struct Live {
    /// Its head.
    pub run: Arc<Run>,
    /// Those that it answers for: while runs are merged, the new one has what the old ones have no more.
    prefixes: RangeInclusive<Prefix>,
    waiting: Option<Arc<Packed>>,
    /// Whether its range counts: not for one that others are being merged into.
    whole: bool,
}

impl View {
    /// The runs of a level, in no order.
    pub fn runs(&self, level: Level) -> impl Iterator<Item = &Live> {
        self.live.iter().filter(move |live| live.run.level == level)
    }

    /// The transactions of a run whose txid, or an outpoint that they spend, has one of these prefixes.
    ///
    /// # Errors
    /// Where a page is damaged.
    pub fn entries(&self, live: &Live, kind: Kind, wanted: RangeInclusive<Prefix>) -> Result<Vec<Entry>, BadPage> {
        let shape = shape(&live.run, kind);
        let wanted = common(&wanted, &live.prefixes);
        let find = |(first, page): (Prefix, Vec<u8>)| PageView::new(shape, first, &page)?.find(&wanted);
        self.find(live, kind, &wanted, find)
    }

    /// What the transactions of a run do with scripts of these prefixes.
    ///
    /// # Errors
    /// Where a page is damaged.
    pub fn postings(&self, live: &Live, wanted: RangeInclusive<Prefix>) -> Result<Vec<Posting>, BadPage> {
        let shape = live.run.postings();
        let wanted = common(&wanted, &live.prefixes);
        let find = |(first, page): (Prefix, Vec<u8>)| postings::find(shape, first, &page, &wanted);
        self.find(live, Kind::Scripts, &wanted, find)
    }

    /// Up to `most` of what the transactions of a run do with a script, the newest first: of those before a place, if one is
    /// given. Of a long list only the end is read.
    ///
    /// # Errors
    /// Where a page is damaged.
    pub fn newest(
        &self,
        live: &Live,
        script: Prefix,
        before: Option<TxPosition>,
        most: usize,
    ) -> Result<Vec<(TxPosition, Role)>, BadPage> {
        let wanted = common(&(script..=script), &live.prefixes);
        let mut found = Vec::new();
        if wanted.is_empty() {
            return Ok(found);
        }
        let bad = |error| BadPage { run: live.run.id, error };
        let shape = live.run.postings();
        let mut take = |first: Prefix, page: &[u8]| {
            let postings = postings::find(shape, first, page, &wanted).map_err(bad)?;
            let positions =
                postings.iter().rev().filter_map(|posting| Some((live.run.position(posting.number)?, posting.role)));
            let wanted = positions.filter(|(position, _)| before.is_none_or(|before| *position < before));
            found.extend(wanted.take(most - found.len()));
            // In front of a page that begins with another script there is none of this one.
            Ok(found.len() == most || first < script)
        };
        match &live.waiting {
            Some(packed) => {
                let pages = packed.pages.get(&Kind::Scripts).into_iter();
                for ((first, _), page) in pages.flat_map(|pages| pages.range(..=(script, u32::MAX)).rev()) {
                    if take(*first, page)? {
                        break;
                    }
                }
            }
            None => {
                let range = (live.run.id, 0, 0)..=(live.run.id, script, u32::MAX);
                let rows = self.tables.scripts.range(range).map_err(|_| bad(PageError::Unreadable))?;
                for row in rows.rev() {
                    let (key, page) = row.map_err(|_| bad(PageError::Unreadable))?;
                    let page = unsealed_page(page.value()).ok_or_else(|| bad(PageError::Checksum))?;
                    if take(key.value().1, page)? {
                        break;
                    }
                }
            }
        }
        Ok(found)
    }

    /// Where a transaction lies in its block and its undo; `None` where that is not known.
    pub fn place(&self, position: TxPosition) -> Option<Place> {
        let of_waiting = self.live.iter().filter(|live| live.run.covers(position.height)).find_map(|live| {
            let (first, page) = live.waiting.as_ref()?.sizes.range(..=position.height).next_back()?;
            sizes::place(page, position.height.0 - first.0, position.index).ok()
        });
        of_waiting.or_else(|| {
            let (first, page) = self.sizes.range(..=position.height.0).ok()?.next_back()?.ok()?;
            sizes::place(unsealed_page(page.value())?, position.height.0 - first.value(), position.index).ok()
        })
    }

    fn find<T>(
        &self,
        live: &Live,
        kind: Kind,
        wanted: &RangeInclusive<Prefix>,
        find: impl Fn((Prefix, Vec<u8>)) -> Result<Vec<T>, PageError>,
    ) -> Result<Vec<T>, BadPage> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let bad = |error| BadPage { run: live.run.id, error };
        let pages = match &live.waiting {
            Some(packed) => Ok(packed.pages.get(&kind).map(|pages| pages_within(pages, wanted)).unwrap_or_default()),
            None => stored_within(self.tables.of(kind), live.run.id, wanted),
        };
        let found: Result<Vec<Vec<T>>, PageError> = pages.map_err(bad)?.into_iter().map(find).collect();
        Ok(found.map_err(bad)?.into_iter().flatten().collect())
    }
}

impl Tables {
    const fn of(&self, kind: Kind) -> &Stored {
        match kind {
            Kind::Txids => &self.txids,
            Kind::Scripts => &self.scripts,
            Kind::Spends => &self.spends,
        }
    }
}

pub(super) fn shape(run: &Run, kind: Kind) -> Shape {
    if kind == Kind::Spends { run.named() } else { run.txids() }
}

fn common(a: &RangeInclusive<Prefix>, b: &RangeInclusive<Prefix>) -> RangeInclusive<Prefix> {
    *a.start().max(b.start())..=*a.end().min(b.end())
}

/// The pages that may hold prefixes of a range: those that begin in it, and the one in front of them.
fn pages_within(pages: &BTreeMap<PageKey, Vec<u8>>, wanted: &RangeInclusive<Prefix>) -> Vec<(Prefix, Vec<u8>)> {
    let before = pages.range(..(*wanted.start(), 0)).next_back();
    let within = pages.range((*wanted.start(), 0)..=(*wanted.end(), u32::MAX));
    before.into_iter().chain(within).map(|((first, _), page)| (*first, page.clone())).collect()
}

/// The same of pages that are written.
pub(super) fn stored_within(
    table: &impl ReadableTable<(u32, Prefix, u32), &'static [u8]>,
    run: u32,
    wanted: &RangeInclusive<Prefix>,
) -> Result<Vec<(Prefix, Vec<u8>)>, PageError> {
    let unreadable = |_| PageError::Unreadable;
    let before = table.range((run, 0, 0)..(run, *wanted.start(), 0)).map_err(unreadable)?.next_back();
    let within = table.range((run, *wanted.start(), 0)..=(run, *wanted.end(), u32::MAX)).map_err(unreadable)?;
    let pages = before.into_iter().chain(within).map(|row| {
        let (key, page) = row.map_err(unreadable)?;
        Ok((key.value().1, unsealed_page(page.value()).ok_or(PageError::Checksum)?.to_vec()))
    });
    pages.collect()
}

/// The list of live runs.
fn list(transaction: &ReadTransaction) -> Result<RunList, redb::Error> {
    match transaction.open_table(LIVE) {
        Err(TableError::TableDoesNotExist(_)) => Ok(RunList::default()),
        table => read_list_of(&table?),
    }
}

pub(super) fn read_list(transaction: &WriteTransaction) -> Result<RunList, redb::Error> {
    read_list_of(&transaction.open_table(LIVE)?)
}

/// A list that is damaged names no run: all are made anew.
fn read_list_of(table: &impl ReadableTable<&'static str, &'static [u8]>) -> Result<RunList, redb::Error> {
    let found = table.get(LIVE_RUNS)?;
    Ok(found.and_then(|value| RunList::unpack(unsealed(value.value())?)).unwrap_or_default())
}

pub(super) fn write_list(transaction: &WriteTransaction, list: &RunList) -> Result<(), redb::Error> {
    transaction.open_table(LIVE)?.insert(LIVE_RUNS, &sealed(list.pack())[..])?;
    Ok(())
}

fn write_run(transaction: &WriteTransaction, packed: &Packed) -> Result<(), redb::Error> {
    write_head(transaction, &packed.run)?;
    for (kind, pages) in &packed.pages {
        let mut table = transaction.open_table(page_table(*kind))?;
        for (key, page) in pages {
            write_page(&mut table, packed.run.id, *key, page.clone())?;
        }
    }
    write_sizes(transaction, &packed.sizes)
}

pub(super) fn write_head(transaction: &WriteTransaction, run: &Run) -> Result<(), redb::Error> {
    transaction.open_table(RUN_TO_HEAD)?.insert(run.id, &sealed(run.pack())[..])?;
    Ok(())
}

pub(super) fn write_page(table: &mut PageTable<'_>, run: u32, key: PageKey, page: Vec<u8>) -> Result<(), redb::Error> {
    table.insert((run, key.0, key.1), &sealed_page(page)[..])?;
    Ok(())
}

pub(super) fn write_sizes(transaction: &WriteTransaction, pages: &SizePages) -> Result<(), redb::Error> {
    let mut table = transaction.open_table(HEIGHT_TO_SIZES)?;
    for (height, page) in pages {
        table.insert(height.0, &sealed_page(page.clone())[..])?;
    }
    Ok(())
}

pub(super) fn delete_pages(transaction: &WriteTransaction, run: &Run) -> Result<(), redb::Error> {
    for kind in Kind::of(run.level) {
        let mut table = transaction.open_table(page_table(*kind))?;
        table.retain_in((run.id, 0, 0)..=(run.id, Prefix::MAX, u32::MAX), |_, _| false)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
