//! The first page: the newest blocks, and older ones as far as one scrolls.

use hindsight_shared::search::{BlockId, ListStart, Term, parse_search};
use leptos::prelude::*;

use super::walk::walk;
use crate::browser::{media, on_key, on_window};
use crate::chain::Chain;
use crate::components::block_row::{BlockHeads, BlockRow};
use crate::components::loaded::Failure;
use crate::components::search_box::SearchBox;
use crate::components::server::{Notices, Server};
use crate::components::tx_table::NARROW;
use crate::components::virtual_list::{DrawRow, ListPlace, VirtualList};
use crate::fetched::{Entry, Fetched};
use crate::live::{Derived, State, effect, live};
use crate::navigation::Navigator;
use crate::route::{HOME, Page};

/// Where the cursor goes for a jump.
pub const JUMP_ID: &str = "jump";

/// Pixels of a row on a desk and on a phone.
const ROW: (u32, u32) = (44, 88);

/// The page.
#[component]
pub fn HomePage() -> impl IntoView {
    crate::app::set_title("");
    let (chain, fetched, navigator) =
        (expect_context::<Chain>(), expect_context::<Fetched>(), expect_context::<Navigator>());
    let tip = chain.tip();
    let start = Derived::new(move || navigator.query.with(|query| query.parse::<ListStart>().ok()));
    effect(move || {
        // Once at the start, and again whenever the tip has moved or the reader jumps.
        let _ = tip.get();
        fetched.open(start.get());
    });
    let computed =
        Derived::new(move || chain.status.with(|status| status.as_ref().map(|status| status.progress.statistics)));
    effect(move || {
        let _ = computed.get();
        fetched.fill_gaps();
    });
    let jump = Callback::new(move |(text, answer): (String, Callback<Option<String>>)| match parse_search(&text) {
        Ok(Term::Block(BlockId::Hash(hash))) => {
            navigator.go(Page::block(hash));
            answer.run(None);
        }
        Ok(term) => {
            navigator.go_with(Page::Home, term.to_string());
            answer.run(None);
        }
        Err(error) => answer.run(Some(error.to_string())),
    });
    let place = ListPlace::new(ROW.0);
    let narrow = media(NARROW);
    effect(move || {
        let row = if narrow.get() { ROW.1 } else { ROW.0 };
        place.heights.update(|heights| heights.row = row);
    });
    let look = move || {
        if place.is_end_near() {
            fetched.older();
        }
    };
    on_window("scroll", move |_| look());
    effect(move || {
        if fetched.order.with(|order| !order.is_empty()) {
            navigator.arrived();
            request_animation_frame(look);
        }
    });
    let chosen = State::new(None::<usize>);
    let open = move |at| fetched.at(at).into_iter().for_each(|entry| navigator.go(Page::block(entry.facts.hash)));
    on_key(move |event| walk(event, fetched.order.with_untracked(|order| order.len()), chosen, place, &open));
    let row = DrawRow::new(move |(at, item)| {
        let row = fetched.entry(item).map(|Entry { facts, brief }| {
            let href = Page::block(facts.hash).href();
            let is_chosen = Signal::derive(move || chosen.get() == Some(at));
            view! { <BlockRow facts brief=brief.into() href chosen=is_chosen /> }
        });
        row.into_any()
    });
    let retry = Callback::new(move |()| fetched.again());
    let is_known = Derived::new(move || chain.status.with(Option::is_some));
    let notices = Derived::new(move || {
        chain
            .status
            .with(|status| status.as_ref().map(|status| (status.demo.clone(), status.warnings.clone())))
            .unwrap_or_default()
    });
    let link = |hash: Option<bitcoin::BlockHash>| hash.map(|hash| Page::block(hash).href());
    let tip = Signal::derive(move || link(tip.with(|tip| tip.as_ref().map(|tip| tip.hash))));
    let tie = Signal::derive(move || link(chain.status.with(|status| status.as_ref()?.tied_with)));
    view! {
        <h1 class="unseen">"Newest blocks"</h1>
        {live(move || {
            let (demo, warnings) = notices.get();
            view! { <Notices demo warnings /> }
        })}
        <div class="home">
            <section class="card blocks" aria-label="Blocks, newest first" data-test="blocks">
                <div class="jump">
                    <SearchBox search=jump id=JUMP_ID what="Go to height or date" key="g" />
                    <Show when=move || start.get().is_some()>
                        <a class="plain" href=HOME data-test="newest">"Newest blocks"</a>
                    </Show>
                </div>
                <BlockHeads />
                <VirtualList items=fetched.order.signal() place row />
                {live(move || fetched.trouble.get().map(|error| view! { <Failure error retry /> }))}
                <p class="muted end" role="status">{live(move || end_text(fetched))}</p>
            </section>
            <aside>
                <Show when=move || is_known.get()>
                    <Server status=chain.status tip tie />
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
        (false, false) if empty && fetched.start.get().is_some() => "There is no block that early on this disk.",
        (false, false) if empty => "No block is known yet. They appear here as the server reads the node's files.",
        (false, false) => "",
    }
}
