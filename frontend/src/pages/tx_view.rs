//! What a transaction's page shows: fees and rules in words, every input and output down to the last byte, where each
//! coin came from and, where the server's index knows, where it went.

use std::sync::Arc;

use bitcoin::{Network, OutPoint, Txid};
use hindsight_shared::Height;
use hindsight_shared::api::IndexLevel;
use hindsight_shared::found_tx::{Fate, Spender};
use hindsight_shared::script::address;
use hindsight_shared::search::BlockId;
use leptos::prelude::*;

use super::block::LastTx;
use super::tx_head::TxHead;
use crate::browser::{is_taken, media, on_key};
use crate::chain::{Answer, Chain, ask_fate, ask_found};
use crate::components::input_row::{InputContext, InputRow};
use crate::components::notice::{Notice, Tone};
use crate::components::output_row::{Fated, Opened, OutputRow};
use crate::components::tx_table::NARROW;
use crate::components::virtual_list::{DrawRow, ListPlace, VirtualList};
use crate::format::count;
use crate::live::{Derived, State, effect};
use crate::model::block::absence_notice;
use crate::model::found::{Afterlife, Found, Home};
use crate::model::tx::{Output, Tx};
use crate::navigation::Navigator;
use crate::number::{narrow, wide};
use crate::route::{Page, Spot, TxId};

/// Pixels of a closed row. The stylesheet says the same.
const ROW: (u32, u32) = (58, 82);

/// Pixels at the window's top that the frame's head covers, and a little more.
const COVERED: u32 = 140;

/// The transaction.
#[component]
pub fn TransactionView(
    /// Its block.
    home: Home,
    /// It.
    tx: Arc<Tx>,
    /// The transactions before and after it in the block.
    neighbours: (Option<Page>, Option<Page>),
    /// What is known already beyond its bytes.
    #[prop(optional)]
    known: Option<Afterlife>,
    /// The input or output that is meant.
    #[prop(default = None)]
    spot: Option<Spot>,
) -> impl IntoView {
    let navigator = expect_context::<Navigator>();
    expect_context::<LastTx>().0.set_value(Some((home.block, narrow(tx.index))));
    effect(move || navigator.arrived());
    let after = State::new(known);
    follow(tx.row.txid, after);
    let (opened_in, opened_out) = (State::new(Opened::default()), State::new(Opened::default()));
    let (place_in, place_out) = (ListPlace::new(ROW.0), ListPlace::new(ROW.0));
    let narrow_window = media(NARROW);
    effect(move || {
        let row = if narrow_window.get() { ROW.1 } else { ROW.0 };
        for place in [place_in, place_out] {
            place.heights.update(|heights| heights.row = row);
        }
    });
    let turn_all = move || {
        for (opened, place) in [(opened_in, place_in), (opened_out, place_out)] {
            place.heights.update(|heights| heights.extra.clear());
            opened.update(Opened::turn_all);
        }
    };
    keys(home.block, neighbours.clone(), turn_all);
    let (named_in, named_out) = match spot {
        Some(Spot::Input(at)) => (Some(crate::number::index(at)), None),
        Some(Spot::Output(at)) => (None, Some(crate::number::index(at))),
        None => (None, None),
    };
    let reveal = move || {
        for (named, place) in [(named_in, place_in), (named_out, place_out)] {
            named.into_iter().for_each(|at| place.reveal(at, COVERED));
        }
    };
    // After the page has been scrolled to where it was left.
    effect(move || request_animation_frame(move || request_animation_frame(reveal)));
    let absent = home.absence.filter(|_| !tx.inputs.iter().all(|input| input.coinbase)).map(|absence| {
        let (title, text) = absence_notice(absence);
        view! { <Notice tone=Tone::Warning title name="absence"><p>{text}</p></Notice> }
    });
    let links = Links::new(home.network);
    let inputs = {
        let (home, tx) = (home.clone(), Arc::clone(&tx));
        DrawRow::new(move |(at, _)| {
            let row = tx.inputs.get(at).cloned().map(|input| {
                let context = InputContext { named: named_in == Some(at), ..context(&home, &tx, at, links) };
                view! { <InputRow input context place=place_in open=opened_in /> }
            });
            row.into_any()
        })
    };
    let outputs = {
        let (network, tx) = (home.network, Arc::clone(&tx));
        DrawRow::new(move |(at, _)| {
            let row = tx.outputs.get(at).cloned().map(|output| {
                let owner = links.owner(Some(&output));
                let fate = fate_of(OutPoint { txid: tx.row.txid, vout: narrow(at) }, after, opened_out);
                let named = named_out == Some(at);
                view! { <OutputRow at output network owner fate named place=place_out open=opened_out /> }
            });
            row.into_any()
        })
    };
    let (in_count, out_count) = (tx.inputs.len(), tx.outputs.len());
    // On a desk both lists stand side by side: only long ones need a jump there.
    let jumps = if in_count.max(out_count) > 12 { "jumps long" } else { "jumps" };
    view! {
        <article class="transaction" data-test="transaction" data-txid=tx.row.txid.to_string()>
            <TxHead home=home.clone() tx=Arc::clone(&tx) neighbours after />
            {absent}
            <nav class=jumps aria-label="Parts">
                <button type="button" class="plain" on:click=move |_| place_in.reveal_start()>{count(wide(in_count), "input")}</button>
                <button type="button" class="plain" on:click=move |_| place_out.reveal_start()>{count(wide(out_count), "output")}</button>
                <button type="button" class="plain" data-test="open-all" title="Open or close all (e)" on:click=move |_| turn_all()>"All scripts"</button>
            </nav>
            <div class="columns even">
                <section class="card io" aria-labelledby="inputs-title" data-test="inputs">
                    <h2 id="inputs-title">{count(wide(in_count), "input")}</h2>
                    <div role="list"><VirtualList items=numbers(in_count) place=place_in row=inputs /></div>
                </section>
                <section class="card io" aria-labelledby="outputs-title" data-test="outputs">
                    <h2 id="outputs-title">{count(wide(out_count), "output")}</h2>
                    <div role="list"><VirtualList items=numbers(out_count) place=place_out row=outputs /></div>
                </section>
            </div>
        </article>
    }
}

fn numbers(count: usize) -> Signal<Arc<Vec<u32>>> {
    Signal::stored(Arc::new((0..narrow(count)).collect()))
}

/// Keeps what the index knows of a transaction: asked for where there is an index, and again when the answer may have
/// changed.
fn follow(txid: Txid, after: State<Option<Afterlife>>) {
    let chain = expect_context::<Chain>();
    let (transactions, addresses) = (chain.index(IndexLevel::Transactions), chain.index(IndexLevel::Addresses));
    let (tip, answer): (_, Answer<Found>) = (chain.tip(), State::new(None));
    let mut asked = false;
    effect(move || {
        addresses.track();
        let tip = tip.with(|tip| tip.as_ref()?.height);
        let Some(progress) = transactions.get() else { return };
        let is_old = after.with_untracked(|after| after.as_ref().is_none_or(|after| after.is_old(tip)));
        // What was not found once need not be asked for every few seconds while the index grows.
        let may_be_there = after.with_untracked(Option::is_some) || progress.whole;
        if is_old && (may_be_there || !asked) {
            asked = true;
            ask_found(txid, answer);
        }
    });
    effect(move || {
        if let Some(Ok(found)) = answer.get() {
            after.set(Some(found.after));
        }
    });
}

/// What the server's index makes reachable.
#[derive(Clone, Copy)]
struct Links {
    network: Network,
    /// Every transaction is found by its id.
    all: Signal<bool>,
    /// Addresses have pages.
    addresses: Signal<bool>,
}

impl Links {
    fn new(network: Network) -> Self {
        let chain = expect_context::<Chain>();
        let (transactions, addresses) = (chain.index(IndexLevel::Transactions), chain.index(IndexLevel::Addresses));
        let is_whole = move || transactions.get().is_some_and(|progress| progress.whole);
        Self {
            network,
            all: Derived::new(is_whole).signal(),
            addresses: Derived::new(move || addresses.get().is_some()).signal(),
        }
    }

    /// The page of an output's address, or of its script.
    fn owner(self, output: Option<&Output>) -> Signal<Option<String>> {
        // An empty script is one, but a path cannot name it.
        let Some(output) = output.filter(|output| !output.script.is_empty()) else { return Signal::stored(None) };
        let name = address(&output.script, self.network).unwrap_or_else(|| output.script.to_hex_string());
        let href = Page::Address(name).href();
        Signal::derive(move || self.addresses.get().then(|| href.clone()))
    }
}

/// What became of an output. Beyond those that the answer tells of, each is asked for when its row is opened.
fn fate_of(outpoint: OutPoint, after: State<Option<Afterlife>>, open: State<Opened>) -> Signal<Option<Fated>> {
    let at = crate::number::index(outpoint.vout);
    let alone: Answer<Fate> = State::new(None);
    effect(move || {
        let beyond = after.with(|after| after.as_ref().is_some_and(|after| after.fates.len() <= at));
        if beyond && open.with(|open| open.has(at)) && alone.with_untracked(Option::is_none) {
            ask_fate(outpoint, alone);
        }
    });
    Signal::derive(move || {
        let told = after.with(|after| after.as_ref()?.fates.get(at).copied());
        let fate = told.or_else(|| alone.with(|alone| alone.as_ref()?.as_ref().ok().copied()))?;
        let page = |spender: Spender| Page::Found(spender.txid, Some(Spot::Input(spender.input)));
        let href = match fate {
            Fate::Spent(spender) => Some(page(spender).href()),
            _ => None,
        };
        Some(Fated { fate, href })
    })
}

/// Where an input's coin came from. Without an index of every transaction, its block's height is all that the undo record
/// knows, and all that a link needs.
fn context(home: &Home, tx: &Tx, at: usize, links: Links) -> InputContext {
    let input = tx.inputs.get(at);
    let created = input.and_then(|input| input.created);
    let (block, height) = (home.block, home.height);
    // Within this block the hash is known, and going there costs nothing.
    let here = move |made: Height| if height == Some(made) { BlockId::Hash(block) } else { BlockId::Height(made) };
    let outpoint = input.map(|input| (input.txid, input.vout));
    let source = move || {
        let (txid, vout) = outpoint?;
        let page = match created {
            Some(created) if !links.all.get() => Page::Transaction(here(created.height), TxId::Txid(txid)),
            None if !links.all.get() => return None,
            _ => Page::Found(txid, Some(Spot::Output(vout))),
        };
        Some(page.href())
    };
    InputContext {
        at,
        version: tx.version,
        height: home.height.map(|height| height.0),
        network: home.network,
        source: Signal::derive(source),
        owner: links.owner(input.and_then(|input| input.spent.as_ref())),
        named: false,
        source_block: created.map(|created| Page::Block(here(created.height)).href()),
    }
}

fn keys(block: bitcoin::BlockHash, neighbours: (Option<Page>, Option<Page>), turn_all: impl Fn() + 'static) {
    let navigator = expect_context::<Navigator>();
    on_key(move |event| {
        if is_taken(event) {
            return;
        }
        let page = match event.key().as_str() {
            "ArrowLeft" => neighbours.0.clone(),
            "ArrowRight" => neighbours.1.clone(),
            "b" | "Escape" => Some(Page::block(block)),
            "e" => return turn_all(),
            _ => None,
        };
        if let Some(page) = page {
            event.prevent_default();
            navigator.go(page);
        }
    });
}
