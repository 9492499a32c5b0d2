//! The first page: the newest blocks, and older ones as far as one scrolls.

use std::sync::Arc;

use hindsight_shared::Height;
use hindsight_shared::api::{BlockFacts, blocks_path};
use leptos::prelude::*;

use crate::api::{self, ApiError};
use crate::browser::{is_taken, media, on_key};
use crate::chain::Chain;
use crate::components::block_row::{BlockHeads, BlockRow};
use crate::components::loaded::Failure;
use crate::components::server::{Notices, Server};
use crate::components::tx_table::NARROW;
use crate::components::virtual_list::{ListPlace, VirtualList};
use crate::navigation::{Navigator, absolute};
use crate::number::{index, narrow};
use crate::route::Page;

/// Blocks of one request.
const BATCH: u32 = 60;

/// Pixels of a row on a desk and on a phone.
const ROW: (u32, u32) = (44, 64);

/// The blocks that have been fetched, as a context: going back finds them where they were.
#[derive(Clone, Copy, Debug)]
pub struct Fetched {
    /// Every block ever fetched; a row is a position in it.
    store: RwSignal<Vec<BlockFacts>>,
    /// The rows, newest first.
    order: RwSignal<Arc<Vec<u32>>>,
    trouble: RwSignal<Option<ApiError>>,
    busy: RwSignal<bool>,
    /// Whether the oldest block is there.
    complete: RwSignal<bool>,
}

impl Fetched {
    /// Nothing yet.
    pub fn new() -> Self {
        Self {
            store: RwSignal::new(Vec::new()),
            order: RwSignal::new(Arc::new(Vec::new())),
            trouble: RwSignal::new(None),
            busy: RwSignal::new(false),
            complete: RwSignal::new(false),
        }
    }

    fn lowest(self) -> Option<Height> {
        let last = self.order.with_untracked(|order| order.last().copied())?;
        self.store.with_untracked(|store| store.get(index(last)).and_then(|facts| facts.height))
    }

    /// Fetches the blocks below the lowest.
    fn older(self) {
        if self.busy.get_untracked() || self.complete.get_untracked() || self.trouble.with_untracked(Option::is_some) {
            return;
        }
        match self.lowest() {
            None if self.order.with_untracked(|order| !order.is_empty()) => self.complete.set(true),
            Some(Height(0)) => self.complete.set(true),
            lowest => self.fetch(lowest.and_then(Height::previous), false),
        }
    }

    /// Fetches the newest blocks again; those already there stay where they are.
    fn newer(self) {
        if !self.busy.get_untracked() {
            self.fetch(None, true);
        }
    }

    fn fetch(self, from: Option<Height>, newest: bool) {
        self.busy.set(true);
        self.trouble.set(None);
        leptos::task::spawn_local(async move {
            let url = absolute(&blocks_path(from, BATCH));
            match api::json::<Vec<BlockFacts>>(&url, None).await {
                Ok(blocks) if newest => self.put_on_top(blocks),
                Ok(blocks) => self.put_below(blocks),
                Err(error) => self.trouble.set(Some(error)),
            }
            self.busy.set(false);
        });
    }

    fn put_below(self, blocks: Vec<BlockFacts>) {
        if blocks.is_empty() {
            self.complete.set(true);
        }
        let first = self.store.with_untracked(Vec::len);
        let rows = (first..first + blocks.len()).map(narrow);
        let order = self.order.with_untracked(|order| order.iter().copied().chain(rows).collect());
        self.store.update(|store| store.extend(blocks));
        self.order.set(Arc::new(order));
    }

    /// The newest blocks replace whatever stood at their heights and above; below, a list that no longer joins is
    /// dropped.
    fn put_on_top(self, blocks: Vec<BlockFacts>) {
        let Some(last) = blocks.last().cloned() else { return };
        let unchanged = self.order.with_untracked(|order| {
            self.store
                .with_untracked(|store| order.first().and_then(|&top| store.get(index(top))).map(|facts| facts.hash))
        });
        if unchanged == blocks.first().map(|facts| facts.hash) {
            return;
        }
        let first = self.store.with_untracked(Vec::len);
        let mut rows: Vec<u32> = (first..first + blocks.len()).map(narrow).collect();
        let below = self.store.with_untracked(|store| {
            self.order.with_untracked(|order| {
                let joint =
                    order.iter().position(|&at| store.get(index(at)).is_some_and(|facts| facts.hash == last.hash));
                joint.map(|joint| order.iter().skip(joint + 1).copied().collect::<Vec<_>>())
            })
        });
        rows.extend(below.unwrap_or_default());
        self.complete.set(false);
        self.store.update(|store| store.extend(blocks));
        self.order.set(Arc::new(rows));
    }
}

impl Default for Fetched {
    fn default() -> Self {
        Self::new()
    }
}

/// The page.
#[component]
pub fn HomePage() -> impl IntoView {
    crate::app::set_title("");
    let (chain, fetched, navigator) =
        (expect_context::<Chain>(), expect_context::<Fetched>(), expect_context::<Navigator>());
    let tip = chain.tip();
    Effect::new(move || {
        // Once at the start, and again whenever the tip has moved.
        let _ = tip.get();
        fetched.newer();
    });
    let place = ListPlace::new(ROW.0);
    let narrow = media(NARROW);
    Effect::new(move || {
        let row = if narrow.get() { ROW.1 } else { ROW.0 };
        place.heights.update(|heights| heights.row = row);
    });
    let look = move || {
        if place.is_end_near() {
            fetched.older();
        }
    };
    let handle = window_event_listener(leptos::ev::scroll, move |_| look());
    on_cleanup(move || handle.remove());
    Effect::new(move || {
        if fetched.order.with(|order| !order.is_empty()) {
            navigator.arrived();
            request_animation_frame(look);
        }
    });
    let largest =
        Memo::new(move |_| fetched.store.with(|store| store.iter().map(|facts| facts.size).max().unwrap_or(1)));
    let chosen = RwSignal::new(None::<usize>);
    on_key(move |event| walk(&event, fetched, chosen, place, navigator));
    let row = move |at: usize, item: u32| {
        let facts = fetched.store.with_untracked(|store| store.get(index(item)).cloned());
        facts.map(|facts| {
            let href = Page::block(facts.hash).href();
            let is_chosen = Signal::derive(move || chosen.get() == Some(at));
            view! { <BlockRow facts href largest chosen=is_chosen /> }
        })
    };
    let retry = Callback::new(move |()| fetched.newer());
    let is_known = Memo::new(move |_| chain.status.with(Option::is_some));
    let notices = Memo::new(move |_| {
        chain
            .status
            .with(|status| status.as_ref().map(|status| (status.demo, status.warnings.clone())))
            .unwrap_or_default()
    });
    let link = |hash: Option<bitcoin::BlockHash>| hash.map(|hash| Page::block(hash).href());
    let tip = Signal::derive(move || link(tip.with(|tip| tip.as_ref().map(|tip| tip.hash))));
    let tie = Signal::derive(move || link(chain.status.with(|status| status.as_ref()?.tied_with)));
    view! {
        <h1 class="unseen">"Newest blocks"</h1>
        {move || {
            let (demo, warnings) = notices.get();
            view! { <Notices demo warnings /> }
        }}
        <div class="home">
            <section class="card blocks" aria-label="Blocks, newest first" data-test="blocks">
                <BlockHeads />
                <VirtualList items=fetched.order place row />
                {move || fetched.trouble.get().map(|error| view! { <Failure error retry /> })}
                <p class="muted end" role="status">{move || end_text(fetched)}</p>
            </section>
            <aside>
                <Show when=move || is_known.get()>
                    <Server status=chain.status.into() tip tie />
                </Show>
            </aside>
        </div>
    }
}

fn end_text(fetched: Fetched) -> &'static str {
    let empty = fetched.order.with(|order| order.is_empty());
    match (fetched.busy.get(), fetched.complete.get()) {
        (true, _) => "Loading…",
        (false, true) => "These are all.",
        (false, false) if empty => "No block is known yet. They appear here as the server reads the node's files.",
        (false, false) => "",
    }
}

fn walk(
    event: &web_sys::KeyboardEvent,
    fetched: Fetched,
    chosen: RwSignal<Option<usize>>,
    place: ListPlace,
    navigator: Navigator,
) {
    if is_taken(event) {
        return;
    }
    let order = fetched.order.get_untracked();
    let position = chosen.get_untracked();
    let next = match event.key().as_str() {
        "j" => position.map_or(0, |at| at + 1),
        "k" => position.map_or(0, |at| at.saturating_sub(1)),
        "ArrowDown" if position.is_some() => position.map_or(0, |at| at + 1),
        "ArrowUp" if position.is_some() => position.map_or(0, |at| at.saturating_sub(1)),
        "Enter" => {
            let row = position.and_then(|at| order.get(at).copied());
            let hash =
                row.and_then(|row| fetched.store.with_untracked(|store| store.get(index(row)).map(|facts| facts.hash)));
            return hash.into_iter().for_each(|hash| navigator.go(Page::block(hash)));
        }
        _ => return,
    };
    if order.is_empty() {
        return;
    }
    event.prevent_default();
    let next = next.min(order.len() - 1);
    chosen.set(Some(next));
    place.reveal(next, 80);
}
