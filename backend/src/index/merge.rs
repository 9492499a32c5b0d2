//! Merges runs, a slice of the prefixes at a time: each slice is one commit, so that a merge stops and goes on anywhere,
//! takes little more room than what it merges, and holds up other writers for a moment only.

use std::ops::RangeInclusive;
use std::sync::Arc;

use itertools::Itertools;
use redb::{ReadableDatabase, ReadableTable};

use super::run_list::Merge;
use super::run_rows::{delete_run, read_list, write_head, write_list, write_page, write_sizes};
use super::tables::{HEIGHT_TO_SIZES, page_table};
use super::view::{Cause, Failure, shape, stored_within};
use super::{IndexError, Runs};
use crate::index::entries::unsealed_page;
use crate::runs::PageError;
use crate::runs::hashes::Prefix;
use crate::runs::postings::{self, Posting};
use crate::runs::prefixes::{self, Entry, PageView};
use crate::runs::run::{Kind, PageKey, Run, SizePages, keyed};
use crate::runs::{seal, sizes};
use hindsight_shared::api::IndexLevel;

/// Runs up to this many transactions have the pages of their sizes packed anew, since those of single blocks are not
/// full.
const SMALL: u32 = 1 << 18;

/// Pages of a slice, by kind.
type Slice = Vec<(Kind, Vec<(PageKey, Vec<u8>)>)>;

impl Runs {
    /// Merges a slice of what is being merged or, where nothing is, of what `choose` names among all written runs of one
    /// level, lowest first; whether there was anything to do.
    ///
    /// # Errors
    /// As the index fails; [`IndexError::Page`] where a page is damaged.
    pub fn merge(&self, choose: impl Fn(&[Arc<Run>]) -> Option<Vec<u32>>) -> Result<bool, IndexError> {
        let _writing = self.writing.lock();
        let (list, heads) = self.listed()?;
        if let Some(merge) = list.merges.first() {
            let into = heads.iter().find(|run| run.id == merge.into);
            let parts = parts_of(&merge.parts, &heads);
            if let Some((into, parts)) = into.zip(parts) {
                return self.merge_slice(Run::clone(into), &parts, merge.clone()).map(|()| true);
            }
            return Ok(false);
        }
        for level in [IndexLevel::Transactions, IndexLevel::Addresses] {
            let mut runs: Vec<_> = heads.iter().filter(|run| run.level == level).cloned().collect();
            runs.sort_by_key(|run| run.from);
            let Some(parts) = choose(&runs).and_then(|ids| parts_of(&ids, &runs)) else { continue };
            let Some(into) = joined(self.new_id(), &parts) else { continue };
            let slices = u64::from(into.transactions()).div_ceil(self.slice).max(1);
            let merge = Merge {
                into: into.id,
                parts: parts.iter().map(|run| run.id).collect(),
                slices: u32::try_from(slices).unwrap_or(u32::MAX),
                done: 0,
            };
            return self.merge_slice(into, &parts, merge).map(|()| true);
        }
        Ok(false)
    }

    fn merge_slice(&self, into: Run, parts: &[Arc<Run>], merge: Merge) -> Result<(), IndexError> {
        self.write_slice(into, parts, merge)?;
        self.changed();
        Ok(())
    }

    fn write_slice(&self, mut into: Run, parts: &[Arc<Run>], merge: Merge) -> Result<(), IndexError> {
        let prefixes = merge.slice(merge.done);
        let slice = self.pages_of_slice(&mut into, parts, &prefixes, &merge)?;
        let sizes = if merge.done == 0 { self.sizes_of(&into)? } else { SizePages::new() };
        let last = merge.done + 1 == merge.slices;
        self.store().has_room()?;
        self.store().write(|transaction| {
            if merge.done == 0 {
                write_head(transaction, &into)?;
            }
            for (kind, pages) in slice {
                let mut table = transaction.open_table(page_table(kind))?;
                for (key, page) in pages {
                    write_page(&mut table, into.id, key, page)?;
                }
                for part in parts.iter().filter(|_| !last) {
                    // The last page that begins in the slice may reach beyond it.
                    let range = || (part.id, 0, 0)..=(part.id, *prefixes.end(), u32::MAX);
                    let reaching = table.range(range())?.next_back().transpose()?.map(|(key, _)| key.value());
                    table.retain_in(range(), |key, _| Some(key) == reaching)?;
                }
            }
            if !sizes.is_empty() {
                let mut table = transaction.open_table(HEIGHT_TO_SIZES)?;
                table.retain_in(into.from.0..=into.to().0, |_, _| false)?;
                drop(table);
                write_sizes(transaction, &sizes)?;
            }
            let mut list = read_list(transaction)?;
            list.merges.retain(|other| other.into != into.id);
            if last {
                for part in parts {
                    delete_run(transaction, part.id)?;
                }
                list.runs.retain(|id| !merge.parts.contains(id));
                list.runs.push(into.id);
            } else {
                list.merges.push(Merge { done: merge.done + 1, ..merge.clone() });
            }
            write_list(transaction, &list)
        })
    }

    /// The new run's pages of a slice. The first slice tells about how many scripts there are in all.
    fn pages_of_slice(
        &self,
        into: &mut Run,
        parts: &[Arc<Run>],
        prefixes: &RangeInclusive<Prefix>,
        merge: &Merge,
    ) -> Result<Slice, IndexError> {
        let mut slice = Vec::new();
        for kind in Kind::of(into.level) {
            let pages: Vec<_> = if *kind == Kind::Scripts {
                let postings = self.postings_of(into, parts, prefixes)?;
                if merge.done == 0 {
                    let scripts = postings.iter().dedup_by(|a, b| a.script == b.script).count() as u64;
                    into.scripts = scripts * u64::from(merge.slices);
                }
                keyed(postings::Pages::new(into.postings(), postings.into_iter())).collect()
            } else {
                let entries = self.entries_of(*kind, into, parts, prefixes)?;
                keyed(prefixes::Pages::new(shape(into, *kind), entries.into_iter())).collect()
            };
            slice.push((*kind, pages));
        }
        Ok(slice)
    }

    fn entries_of(
        &self,
        kind: Kind,
        into: &Run,
        parts: &[Arc<Run>],
        prefixes: &RangeInclusive<Prefix>,
    ) -> Result<Vec<Entry>, IndexError> {
        let mut all = Vec::new();
        for part in parts {
            let before = numbers_before(into, part);
            for (first, page) in self.pages_of(kind, part, prefixes)? {
                let page = PageView::new(shape(part, kind), first, &page);
                let entries = self.whole(part, page.and_then(|page| page.find(prefixes)))?.into_iter();
                all.extend(entries.map(|entry| Entry { number: entry.number.saturating_add(before), ..entry }));
            }
        }
        // The parts are sorted: a stable sort merges them.
        all.sort();
        Ok(all)
    }

    fn postings_of(
        &self,
        into: &Run,
        parts: &[Arc<Run>],
        prefixes: &RangeInclusive<Prefix>,
    ) -> Result<Vec<Posting>, IndexError> {
        let mut all = Vec::new();
        for part in parts {
            let before = numbers_before(into, part);
            for (first, page) in self.pages_of(Kind::Scripts, part, prefixes)? {
                let postings = self.whole(part, postings::find(part.postings(), first, &page, prefixes))?.into_iter();
                all.extend(
                    postings.map(|posting| Posting { number: posting.number.saturating_add(before), ..posting }),
                );
            }
        }
        all.sort();
        Ok(all)
    }

    fn pages_of(
        &self,
        kind: Kind,
        part: &Run,
        prefixes: &RangeInclusive<Prefix>,
    ) -> Result<Vec<(Prefix, Vec<u8>)>, IndexError> {
        let pages = self.store().run(|db| {
            let table = db.begin_read()?.open_table(page_table(kind))?;
            match stored_within(&table, part.id, prefixes) {
                Ok(pages) => Ok(Ok(pages)),
                Err(Failure(Cause::Page { error, .. })) => Ok(Err(error)),
                Err(Failure(Cause::Store(error))) => Err(error.into()),
            }
        })?;
        self.whole(part, pages)
    }

    /// What was read of a run; where that is damaged, the run is left out.
    fn whole<T>(&self, part: &Run, read: Result<T, PageError>) -> Result<T, IndexError> {
        read.map_err(|error| {
            self.leave_out(part.id);
            IndexError::Page(error)
        })
    }

    /// The sizes of a small run's blocks, packed anew; nothing where they stay as they are.
    fn sizes_of(&self, run: &Run) -> Result<SizePages, IndexError> {
        if run.level != IndexLevel::Transactions || run.transactions() > SMALL {
            return Ok(SizePages::new());
        }
        let pages = self.store().run(|db| {
            let table = db.begin_read()?.open_table(HEIGHT_TO_SIZES)?;
            let mut pages = Vec::new();
            for row in table.range(run.from.0..=run.to().0)? {
                let (first, page) = row?;
                pages.push((first.value(), unsealed_page(page.value()).map(<[u8]>::to_vec)));
            }
            Ok(pages)
        })?;
        let ends = pages.iter().skip(1).map(|(first, _)| *first).chain([run.to().0 + 1]).collect::<Vec<_>>();
        let sizes =
            pages.iter().zip(ends).map(|((first, page), end)| sizes::blocks(page.as_deref()?, end - first).ok());
        // Where a page is damaged all stay as they are: its blocks are read whole.
        let blocks = sizes.collect::<Option<Vec<_>>>().unwrap_or_default().concat();
        if blocks.len() + 1 != run.firsts.len() {
            return Ok(SizePages::new());
        }
        Ok(seal::pack_sizes(run.from, blocks.iter().map(|sizes| &sizes[..])))
    }
}

fn parts_of(ids: &[u32], heads: &[Arc<Run>]) -> Option<Vec<Arc<Run>>> {
    ids.iter().map(|id| heads.iter().find(|run| run.id == *id).cloned()).collect()
}

/// How many of the new run's transactions are in front of a part's.
fn numbers_before(into: &Run, part: &Run) -> u32 {
    let blocks = usize::try_from(part.from.0.saturating_sub(into.from.0)).unwrap_or(usize::MAX);
    into.firsts.get(blocks).copied().unwrap_or_default()
}

/// The head of what consecutive runs become; `None` where they are not, or have too many transactions for one.
fn joined(id: u32, parts: &[Arc<Run>]) -> Option<Run> {
    let (first, last) = (parts.first()?, parts.last()?);
    let mut firsts = vec![0_u32];
    for (part, next) in parts.iter().zip(parts.iter().skip(1).map(Some).chain([None])) {
        let before = *firsts.last()?;
        for end in &part.firsts[1..] {
            firsts.push(before.checked_add(*end)?);
        }
        if next.is_some_and(|next| next.from.0 != part.to().0 + 1) {
            return None;
        }
    }
    let scripts = parts.iter().map(|part| part.scripts).sum();
    let spends = parts.iter().map(|part| part.spends).sum();
    Some(Run { id, level: first.level, from: first.from, last: last.last, firsts, scripts, spends })
}
