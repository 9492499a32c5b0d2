//! The blocks of the first page, as a context: going back finds them where they were. Facts come first; statistics are
//! filled in as they arrive, and asked for again while the server still computes them.

use std::sync::Arc;

use hindsight_shared::Height;
use hindsight_shared::api::{BlockFacts, blocks_path, summaries_path};
use hindsight_shared::search::ListStart;
use leptos::prelude::*;

use crate::api::{self, ApiError};
use crate::live::State;
use crate::model::brief::Brief;
use crate::navigation::absolute;
use crate::number::{index, narrow};

/// Blocks of one request.
pub const BATCH: u32 = 60;

/// One block of the list.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What the chain map knows of it.
    pub facts: BlockFacts,
    /// Its statistics, once they are there.
    pub brief: ArcRwSignal<Option<Brief>>,
}

/// The list.
#[derive(Clone, Copy, Debug)]
pub struct Fetched {
    /// Where it starts; at the tip without a start.
    pub start: State<Option<ListStart>>,
    /// How often another start was taken: an answer for an earlier one is dropped.
    starts: StoredValue<u32>,
    /// Every block ever fetched; a row is a position in it.
    store: State<Vec<Entry>>,
    /// The rows, newest first.
    pub order: State<Arc<Vec<u32>>>,
    /// Why the last request failed, if it did.
    pub trouble: State<Option<ApiError>>,
    /// Whether a request is under way.
    pub busy: RwSignal<bool>,
    /// Whether the oldest block is there.
    pub complete: RwSignal<bool>,
}

impl Fetched {
    /// Nothing yet.
    pub fn new() -> Self {
        Self {
            start: State::new(None),
            starts: StoredValue::new(0),
            store: State::new(Vec::new()),
            order: State::new(Arc::new(Vec::new())),
            trouble: State::new(None),
            busy: RwSignal::new(false),
            complete: RwSignal::new(false),
        }
    }

    /// The block of a row.
    pub fn entry(self, row: u32) -> Option<Entry> {
        self.store.with_untracked(|store| store.get(index(row)).cloned())
    }

    /// The block at a position of the list.
    pub fn at(self, position: usize) -> Option<Entry> {
        self.entry(self.order.with_untracked(|order| order.get(position).copied())?)
    }

    /// Shows the blocks from a start downwards; nothing happens where they are shown already.
    pub fn open(self, start: Option<ListStart>) {
        if self.start.get_untracked() != start {
            self.start.set(start);
            self.starts.update_value(|count| *count += 1);
            self.order.set(Arc::default());
            self.store.update(Vec::clear);
            self.complete.set(false);
            self.busy.set(false);
        }
        if start.is_none() || self.order.with_untracked(|order| order.is_empty()) {
            self.again();
        }
    }

    /// Fetches the top of the list again; blocks that are there already stay where they are.
    pub fn again(self) {
        if !self.busy.get_untracked() {
            self.fetch(self.start.get_untracked(), true);
        }
    }

    /// Fetches the blocks below the lowest.
    pub fn older(self) {
        if self.busy.get_untracked() || self.complete.get_untracked() || self.trouble.with_untracked(Option::is_some) {
            return;
        }
        let Some(last) = self.order.with_untracked(|order| order.len().checked_sub(1)) else { return };
        let below = self.at(last).and_then(|entry| entry.facts.height).and_then(Height::previous);
        match below {
            None => self.complete.set(true),
            Some(below) => self.fetch(Some(ListStart::Height(below)), false),
        }
    }

    fn fetch(self, from: Option<ListStart>, top: bool) {
        self.busy.set(true);
        self.trouble.set(None);
        let asked = self.starts.get_value();
        leptos::task::spawn_local(async move {
            let answer = api::json::<Vec<BlockFacts>>(&absolute(&blocks_path(from, BATCH)), None).await;
            if self.starts.get_value() != asked {
                return;
            }
            match answer {
                Ok(blocks) if top => self.put_on_top(blocks),
                Ok(blocks) => self.put_below(blocks),
                Err(error) => self.trouble.set(Some(error)),
            }
            self.busy.set(false);
            self.fill(from);
        });
    }

    /// Fetches statistics again where rows lack some.
    pub fn fill_gaps(self) {
        let lacking = self.order.with_untracked(|order| {
            let mut entries = order.iter().filter_map(|&row| self.entry(row));
            entries.find(|entry| entry.brief.with_untracked(Option::is_none))
        });
        if let Some(height) = lacking.and_then(|entry| entry.facts.height) {
            self.fill(Some(ListStart::Height(height)));
        }
    }

    fn fill(self, from: Option<ListStart>) {
        leptos::task::spawn_local(async move {
            // A list without statistics says so itself; the next look asks again.
            let Ok(rows) = api::get(&absolute(&summaries_path(from, BATCH)), None).await else { return };
            let Ok(briefs) = Brief::read(&rows) else { return };
            self.store.with_untracked(|store| {
                for brief in briefs {
                    if let Some(entry) = store.iter().rev().find(|entry| entry.facts.hash == brief.hash) {
                        entry.brief.set(Some(brief));
                    }
                }
            });
        });
    }

    /// Keeps blocks; where they are kept.
    fn keep(self, blocks: Vec<BlockFacts>) -> Vec<u32> {
        let first = self.store.with_untracked(Vec::len);
        let rows = (first..first + blocks.len()).map(narrow).collect();
        let entry = |facts| Entry { facts, brief: ArcRwSignal::new(None) };
        self.store.update(|store| store.extend(blocks.into_iter().map(entry)));
        rows
    }

    fn put_below(self, blocks: Vec<BlockFacts>) {
        if blocks.is_empty() {
            self.complete.set(true);
        }
        let rows = self.keep(blocks);
        self.order.update(|order| *order = order.iter().copied().chain(rows).collect::<Vec<_>>().into());
    }

    /// The newest blocks replace whatever stood at their heights and above; those that are in the list already stay as
    /// they are, statistics included. Below, a list that no longer joins is dropped.
    fn put_on_top(self, blocks: Vec<BlockFacts>) {
        let Some(last) = blocks.last().map(|facts| facts.hash) else { return };
        if self.at(0).map(|entry| entry.facts.hash) == blocks.first().map(|facts| facts.hash) {
            return;
        }
        let old = self.order.get_untracked();
        let position = |hash| old.iter().position(|&row| self.entry(row).is_some_and(|entry| entry.facts.hash == hash));
        let known: Vec<Option<usize>> = blocks.iter().map(|facts| position(facts.hash)).collect();
        let below = position(last).and_then(|joint| old.get(joint + 1..)).unwrap_or_default();
        let fresh = blocks.into_iter().zip(&known).filter(|(_, known)| known.is_none()).map(|(facts, _)| facts);
        let mut fresh = self.keep(fresh.collect()).into_iter();
        let top = known.iter().filter_map(|known| known.map_or_else(|| fresh.next(), |at| old.get(at).copied()));
        let rows = top.chain(below.iter().copied()).collect();
        self.complete.set(false);
        self.order.set(Arc::new(rows));
    }
}

impl Default for Fetched {
    fn default() -> Self {
        Self::new()
    }
}
