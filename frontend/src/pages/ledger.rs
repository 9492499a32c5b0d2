//! The history of an address as it arrives: page by page, newest first, and from the top again when the chain has moved.

use std::sync::Arc;

use hindsight_shared::Height;
use hindsight_shared::address::Touched;
use hindsight_shared::api::history_path;
use leptos::prelude::*;

use crate::api::{self, ApiError};
use crate::live::State;
use crate::model::history::History;
use crate::navigation::absolute;
use crate::number::{index, narrow};

/// Rows of one request.
const PAGE: u32 = 50;

/// Rows of one request of a reader who wants all.
const LARGE_PAGE: u32 = 1000;

/// The history.
#[derive(Clone, Copy, Debug)]
pub struct Ledger {
    /// Whose, as it stands in a path.
    name: StoredValue<String>,
    /// What is there.
    pub history: State<History>,
    /// The rows: numbers that no other row has had before, so that a list draws anew what has changed.
    pub items: State<Arc<Vec<u32>>>,
    /// Why the last request failed, if it did.
    pub trouble: State<Option<ApiError>>,
    /// Whether a request is under way.
    pub busy: RwSignal<bool>,
    /// The number of the first row.
    first: StoredValue<u32>,
}

impl Ledger {
    /// Nothing yet.
    pub fn new(name: String) -> Self {
        Self {
            name: StoredValue::new(name),
            history: State::new(History::default()),
            items: State::new(Arc::default()),
            trouble: State::new(None),
            busy: RwSignal::new(false),
            first: StoredValue::new(0),
        }
    }

    /// The row of a number.
    pub fn row(self, item: u32) -> Option<Touched> {
        let at = item.checked_sub(self.first.get_value())?;
        self.history.with_untracked(|history| history.rows().get(index(at)).copied())
    }

    /// Fetches the newest rows again. Where they are what is there already, only the end is open again: what lies below the
    /// lowest row may have been indexed since.
    pub fn top(self) {
        if self.busy.get_untracked() {
            return;
        }
        self.busy.set(true);
        leptos::task::spawn_local(async move {
            match self.page(None, PAGE).await {
                // Nothing was asked for below it: whether it is complete is open.
                Some(page) if self.begins_with(&page) => self.put(Vec::new(), 0),
                Some(page) => {
                    let rows = self.history.with_untracked(|history| narrow(history.rows().len()));
                    self.first.update_value(|first| *first += rows);
                    self.history.set(History::default());
                    self.put(page, PAGE);
                }
                None => {}
            }
            let _ = self.busy.try_set(false);
        });
    }

    /// Fetches rows below the lowest: as many as a scroll wants, or as many as there may be at once.
    pub fn older(self, many: bool) {
        let end = self.history.with_untracked(|history| history.end().filter(|_| !history.complete));
        if end.is_none() || self.busy.get_untracked() || self.trouble.with_untracked(Option::is_some) {
            return;
        }
        self.busy.set(true);
        let count = if many { LARGE_PAGE } else { PAGE };
        leptos::task::spawn_local(async move {
            if let Some(page) = self.page(end, count).await {
                self.put(page, count);
            }
            let _ = self.busy.try_set(false);
        });
    }

    /// One page; `None` where it failed or nobody waits for it any more.
    async fn page(self, before: Option<(Height, u32)>, count: u32) -> Option<Vec<Touched>> {
        let path = history_path(&self.name.get_value(), before, count);
        let answer = api::get(&absolute(&path), None).await.and_then(|bytes| api::read_rows(&bytes));
        // The page may have been left.
        self.trouble.try_set(answer.as_ref().err().cloned()).is_none().then_some(())?;
        answer.ok()
    }

    fn begins_with(self, page: &[Touched]) -> bool {
        self.history.with_untracked(|history| !history.rows().is_empty() && history.rows().starts_with(page))
    }

    fn put(self, page: Vec<Touched>, asked: u32) {
        self.history.update(|history| history.extend(page, asked));
        let (first, rows) =
            (self.first.get_value(), self.history.with_untracked(|history| narrow(history.rows().len())));
        self.items.set(Arc::new((first..first + rows).collect()));
    }
}
