//! One state of all runs, as a question looks through it: pages in memory and pages in the store, read alike.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use redb::{ReadOnlyTable, ReadTransaction, ReadableTable};

use super::entries::unsealed_page;
use super::tables::{HEIGHT_TO_SIZES, page_table};
use crate::runs::PageError;
use crate::runs::hashes::{MAX_PREFIX, Prefix};
use crate::runs::postings::{self, Posting, Role};
use crate::runs::prefixes::{Entry, PageView, Shape};
use crate::runs::run::{Kind, Packed, PageKey, Run, TxPosition};
use crate::runs::sizes::{self, Place};
use hindsight_shared::api::IndexLevel;

type Stored = ReadOnlyTable<(u32, Prefix, u32), &'static [u8]>;

/// Why a question has no answer.
#[derive(Debug)]
pub struct Failure(pub(super) Cause);

#[derive(Debug)]
pub(super) enum Cause {
    /// A page holds what none does: its run is at fault.
    Page {
        /// Whose it is.
        run: u32,
        /// What is wrong with it.
        error: PageError,
    },
    /// The store fails, for all runs alike.
    Store(redb::StorageError),
}

impl Failure {
    fn page(run: u32) -> impl Fn(PageError) -> Self {
        move |error| Self(Cause::Page { run, error })
    }

    const fn store(error: redb::StorageError) -> Self {
        Self(Cause::Store(error))
    }
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

impl Live {
    /// A run that waits to be written.
    pub(super) fn waiting(packed: Arc<Packed>) -> Self {
        Self { run: Arc::new(packed.run.clone()), prefixes: 0..=MAX_PREFIX, waiting: Some(packed), whole: true }
    }

    /// A run of the store that answers for some prefixes.
    pub(super) const fn stored(run: Arc<Run>, prefixes: RangeInclusive<Prefix>, whole: bool) -> Self {
        Self { run, prefixes, waiting: None, whole }
    }

    /// Whether its range counts.
    pub(super) const fn is_whole(&self) -> bool {
        self.whole
    }
}

impl View {
    /// These runs, whose stored pages are those of a transaction.
    pub(super) fn new(transaction: &ReadTransaction, live: Vec<Live>) -> Result<Self, redb::Error> {
        let table = |kind| transaction.open_table(page_table(kind));
        let tables =
            Tables { txids: table(Kind::Txids)?, scripts: table(Kind::Scripts)?, spends: table(Kind::Spends)? };
        Ok(Self { live, tables, sizes: transaction.open_table(HEIGHT_TO_SIZES)? })
    }

    /// All runs, in no order.
    pub(super) fn all(&self) -> &[Live] {
        &self.live
    }

    /// The runs of a level, in no order.
    pub fn runs(&self, level: IndexLevel) -> impl Iterator<Item = &Live> {
        self.live.iter().filter(move |live| live.run.level == level)
    }

    /// The transactions of a run whose txid, or an outpoint that they spend, has one of these prefixes.
    ///
    /// # Errors
    /// Where a page is damaged.
    pub fn entries(&self, live: &Live, kind: Kind, wanted: RangeInclusive<Prefix>) -> Result<Vec<Entry>, Failure> {
        let shape = shape(&live.run, kind);
        let wanted = common(&wanted, &live.prefixes);
        let find = |(first, page): (Prefix, Vec<u8>)| PageView::new(shape, first, &page)?.find(&wanted);
        self.find(live, kind, &wanted, find)
    }

    /// What the transactions of a run do with scripts of these prefixes.
    ///
    /// # Errors
    /// Where a page is damaged.
    pub fn postings(&self, live: &Live, wanted: RangeInclusive<Prefix>) -> Result<Vec<Posting>, Failure> {
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
    ) -> Result<Vec<(TxPosition, Role)>, Failure> {
        let wanted = common(&(script..=script), &live.prefixes);
        let mut found = Vec::new();
        if wanted.is_empty() {
            return Ok(found);
        }
        let bad = Failure::page(live.run.id);
        let shape = live.run.postings();
        let mut take = |first: Prefix, page: &[u8]| {
            let postings = postings::find(shape, first, page, &wanted).map_err(&bad)?;
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
                let rows = self.tables.scripts.range(range).map_err(Failure::store)?;
                for row in rows.rev() {
                    let (key, page) = row.map_err(Failure::store)?;
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
    ) -> Result<Vec<T>, Failure> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let bad = Failure::page(live.run.id);
        let pages = match &live.waiting {
            Some(packed) => packed.pages.get(&kind).map(|pages| pages_within(pages, wanted)).unwrap_or_default(),
            None => stored_within(self.tables.of(kind), live.run.id, wanted)?,
        };
        let found: Result<Vec<Vec<T>>, PageError> = pages.into_iter().map(find).collect();
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
) -> Result<Vec<(Prefix, Vec<u8>)>, Failure> {
    let bad = Failure::page(run);
    let before = table.range((run, 0, 0)..(run, *wanted.start(), 0)).map_err(Failure::store)?.next_back();
    let within = table.range((run, *wanted.start(), 0)..=(run, *wanted.end(), u32::MAX)).map_err(Failure::store)?;
    let pages = before.into_iter().chain(within).map(|row| {
        let (key, page) = row.map_err(Failure::store)?;
        Ok((key.value().1, unsealed_page(page.value()).ok_or_else(|| bad(PageError::Checksum))?.to_vec()))
    });
    pages.collect()
}
