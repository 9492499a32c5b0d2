//! A block: its header, what this browser checked of it, its fees, and all its transactions.

use std::sync::Arc;

use hindsight_shared::api::{BlockFacts, block_path};
use hindsight_shared::payload::Absence;
use hindsight_shared::search::BlockId;
use leptos::prelude::*;

use super::block_head::{BlockHead, HeaderFacts};
use crate::blocks::Blocks;
use crate::browser::{is_taken, on_key};
use crate::chain::{Answer, Chain, ask, ask_stats};
use crate::charts::fee_histogram::FeeHistogram;
use crate::charts::geometry::{EDGES, buckets, heat};
use crate::charts::strip::Strip;
use crate::components::checks::Checks;
use crate::components::loaded::Loaded;
use crate::components::notice::{Notice, Tone};
use crate::components::stats::Stats;
use crate::components::tx_table::TxTable;
use crate::format::{group, milli_short};
use crate::live::{Derived, State, effect};
use crate::model::block::{LoadedBlock, absence_notice};
use crate::model::bound::{Column, Side};
use crate::model::query::Query;
use crate::model::table::rate_range;
use crate::navigation::Navigator;
use crate::number::{narrow, wide};
use crate::route::{Page, TxId};

/// The transaction that was opened last, as a context: going back finds its row chosen.
#[derive(Clone, Copy, Debug)]
pub struct LastTx(pub StoredValue<Option<(bitcoin::BlockHash, u32)>>);

/// The page.
#[component]
pub fn BlockPage(
    /// What was asked for.
    id: BlockId,
) -> impl IntoView {
    crate::app::set_title(&["Block ", &short_id(id)].concat());
    let blocks = expect_context::<Blocks>();
    let chain = expect_context::<Chain>();
    let facts: Answer<BlockFacts> = State::new(None);
    let tip = chain.tip();
    // A new tip may mean one confirmation more, a next block, or a reorg that made this block stale.
    effect(move || {
        let _ = tip.with(|tip| tip.as_ref().map(|tip| tip.hash));
        ask(&block_path(id), facts);
    });
    let load = blocks.open(id);
    let loaded = load.clone();
    effect(move || reload_if_moved(blocks, id, &loaded, facts));
    let retry = Callback::new(move |()| blocks.reload(id));
    let more = Signal::derive(move || {
        let height = tip.with(|tip| tip.as_ref()?.height).filter(|_| matches!(id, BlockId::Height(_)))?;
        Some(["The tip is block ", &group(height), "."].concat())
    });
    view! { <Loaded load retry more ready=move |block| view! { <BlockView block id facts again=retry /> } /> }
}

/// A height can get another block. The page of a height follows, that of a hash never does.
fn reload_if_moved(blocks: Blocks, id: BlockId, load: &ArcRwSignal<crate::blocks::Load>, facts: Answer<BlockFacts>) {
    let here = facts.with(|facts| facts.as_ref()?.as_ref().ok().map(|facts| facts.hash));
    let shown = load.with_untracked(|load| match load {
        crate::blocks::Load::Ready(block) => Some(block.hash),
        _ => None,
    });
    if let (BlockId::Height(_), Some(here), Some(shown)) = (id, here, shown)
        && here != shown
    {
        blocks.reload(id);
    }
}

fn short_id(id: BlockId) -> String {
    match id {
        BlockId::Height(height) => group(height),
        BlockId::Hash(hash) => crate::format::ends(&hash.to_string(), 6, 10),
    }
}

#[component]
fn BlockView(block: Arc<LoadedBlock>, id: BlockId, facts: Answer<BlockFacts>, again: Callback<()>) -> impl IntoView {
    let navigator = expect_context::<Navigator>();
    let last = expect_context::<LastTx>().0;
    if let Some(height) = block.height {
        crate::app::set_title(&["Block ", &group(height)].concat());
    }
    let hash = block.hash;
    let asked = match id {
        BlockId::Hash(hash) => Some(hash),
        BlockId::Height(_) => None,
    };
    let before = last.get_value().filter(|(of, _)| *of == hash).map(|(_, at)| at);
    let chosen = State::new(before);
    let query = Derived::new(move || Query::parse(&navigator.query.get()));
    let change = Callback::new(move |text| navigator.set_query(text));
    let page = move |at: u32| Page::Transaction(BlockId::Hash(hash), TxId::Index(at));
    let txids = Arc::clone(&block);
    let page = move |at: u32| {
        let row = txids.rows.get(crate::number::index(at));
        row.map_or_else(|| page(at), |row| Page::Transaction(BlockId::Hash(hash), TxId::Txid(row.txid)))
    };
    let open_page = page.clone();
    let open = Callback::new(move |at| {
        last.set_value(Some((hash, at)));
        navigator.go(open_page(at));
    });
    let href = Callback::new(move |at| page(at).href());
    let go_to = Callback::new(move |at: usize| {
        let mut edited = query.get_untracked();
        // The place in the block exists only in block order.
        edited.sort = None;
        change.run(edited.to_string());
        chosen.set(Some(narrow(at)));
    });
    keys_between_blocks(&block, facts);
    effect(move || navigator.arrived());
    let checks = block.checks(asked);
    let stats = block.stats.clone().map(|summary| {
        let server = State::new(None);
        ask_stats(hash, server);
        view! { <Stats summary server /> }
    });
    let absent = block.absence.map(|absence| {
        let (title, text) = absence_notice(absence);
        let tone = if absence == Absence::Genesis { Tone::Note } else { Tone::Warning };
        view! { <Notice tone title name="absence"><p>{text}</p></Notice> }
    });
    view! {
        <article class="block" data-test="block" data-hash=hash.to_string()>
            <BlockHead block=Arc::clone(&block) facts />
            {absent}
            <Strip block=Arc::clone(&block) choose=go_to />
            <div class="columns">
                <div class="column">
                    <HeaderFacts block=Arc::clone(&block) />
                    <FeePanel block=Arc::clone(&block) query change />
                </div>
                <Checks checks report=block.report().clone() size=wide(block.payload_size()) again />
            </div>
            {stats}
            <TxTable block query change chosen href open />
        </article>
    }
}

fn keys_between_blocks(block: &LoadedBlock, facts: Answer<BlockFacts>) {
    let navigator = expect_context::<Navigator>();
    let previous = previous(block);
    on_key(move |event| {
        if is_taken(event) {
            return;
        }
        let page = match event.key().as_str() {
            "ArrowLeft" => previous.clone(),
            "ArrowRight" => next(facts),
            _ => None,
        };
        if let Some(page) = page {
            event.prevent_default();
            navigator.go(page);
        }
    });
}

/// The parent's page; genesis has none.
pub fn previous(block: &LoadedBlock) -> Option<Page> {
    use bitcoin::hashes::Hash;
    let parent = block.header.prev_blockhash;
    (parent != bitcoin::BlockHash::all_zeros()).then_some(Page::block(parent))
}

/// The page of the best chain's next block, where the server knows one.
pub fn next(facts: Answer<BlockFacts>) -> Option<Page> {
    facts.with(|facts| facts.as_ref()?.as_ref().ok()?.next.map(Page::block))
}

#[component]
fn FeePanel(block: Arc<LoadedBlock>, query: Derived<Query>, change: Callback<String>) -> impl IntoView {
    let buckets = buckets(&block.rows);
    let range = rate_range(&block.rows);
    let (Some((lowest, median, highest)), false) = (range, buckets.is_empty()) else {
        return view! {
            <section class="card" aria-label="Fee rates">
                <h2>"Fee rates"</h2>
                <p class="muted" data-test="no-fees">{no_fees(&block)}</p>
            </section>
        }
        .into_any();
    };
    let heats =
        buckets.iter().map(|bucket| heat(EDGES.partition_point(|&edge| edge < bucket.from))).collect::<Vec<_>>();
    let filtered = Signal::derive(move || {
        query.with(|query| (query.bound(Column::Rate, Side::From), query.bound(Column::Rate, Side::Below)))
    });
    let choose = Callback::new(move |(from, below): (u64, Option<u64>)| {
        let mut edited = query.get_untracked();
        // A second click on the only bar that is lit puts it out.
        let again = filtered.get_untracked() == (Some(from), below);
        edited.set_range(Column::Rate, (!again).then_some(from), below.filter(|_| !again));
        change.run(edited.to_string());
    });
    let numbers = [&milli_short(lowest), " – ", &milli_short(highest), " sat/vB"].concat();
    view! {
        <section class="card" aria-labelledby="fees-title">
            <h2 id="fees-title">
                "Fee rates" <span class="muted" title="Half of the block's weight pays at least this rate">
                    "median by weight " <strong data-test="median">{milli_short(median)}</strong> ", " {numbers}
                </span>
            </h2>
            <FeeHistogram buckets heats range=filtered choose />
            <p class="muted small">"Height: weight paying that rate. A bar filters the table."</p>
        </section>
    }
    .into_any()
}

fn no_fees(block: &LoadedBlock) -> &'static str {
    if block.rows.len() == 1 {
        "The coinbase is this block's only transaction: nobody paid a fee."
    } else {
        "Without the spent outputs' amounts no fee is known."
    }
}
