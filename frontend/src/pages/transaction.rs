//! A transaction within its block: fees and rules in words, every input and output down to the last byte.

use std::sync::Arc;

use hindsight_shared::Height;
use hindsight_shared::search::BlockId;
use leptos::prelude::*;

use super::block::LastTx;
use super::tx_head::TxHead;
use crate::blocks::Blocks;
use crate::browser::{is_taken, media, on_key};
use crate::components::input_row::{InputContext, InputRow};
use crate::components::loaded::Loaded;
use crate::components::notice::{Notice, Tone};
use crate::components::output_row::{Opened, OutputRow};
use crate::components::tx_table::NARROW;
use crate::components::virtual_list::{DrawRow, ListPlace, VirtualList};
use crate::format::{count, ends};
use crate::model::block::{LoadedBlock, absence_notice};
use crate::model::tx::Tx;
use crate::navigation::Navigator;
use crate::number::{index, narrow, wide};
use crate::route::{Page, TxId};

/// Pixels of a closed row. The stylesheet says the same.
const ROW: (u32, u32) = (58, 82);

/// The page.
#[component]
pub fn TransactionPage(
    /// The block.
    id: BlockId,
    /// The transaction in it.
    tx: TxId,
) -> impl IntoView {
    let name = match tx {
        TxId::Index(at) => ["Transaction ", &at.to_string()].concat(),
        TxId::Txid(txid) => ["Transaction ", &ends(&txid.to_string(), 8, 8)].concat(),
    };
    crate::app::set_title(&name);
    let blocks = expect_context::<Blocks>();
    let load = blocks.open(id);
    let retry = Callback::new(move |()| blocks.reload(id));
    let ready = move |block: Arc<LoadedBlock>| {
        let at = match tx {
            TxId::Index(at) => Some(index(at)),
            TxId::Txid(txid) => block.position(&txid),
        };
        match at.and_then(|at| Tx::of(&block, at)) {
            Some(tx) => view! { <TransactionView block tx=Arc::new(tx) /> }.into_any(),
            None => view! { <Missing block /> }.into_any(),
        }
    };
    view! { <Loaded load retry ready /> }
}

#[component]
fn Missing(block: Arc<LoadedBlock>) -> impl IntoView {
    let href = Page::block(block.hash).href();
    view! {
        <Notice tone=Tone::Error title="This block has no such transaction" name="error">
            <p>"The block is here, all " {count(wide(block.rows.len()), "transaction")} " of it, but not the one asked for."</p>
            <p><a class="button" href=href>"To the block"</a></p>
        </Notice>
    }
}

#[component]
fn TransactionView(block: Arc<LoadedBlock>, tx: Arc<Tx>) -> impl IntoView {
    let navigator = expect_context::<Navigator>();
    expect_context::<LastTx>().0.set_value(Some((block.hash, narrow(tx.index))));
    Effect::new(move || navigator.arrived());
    let (opened_in, opened_out) = (RwSignal::new(Opened::default()), RwSignal::new(Opened::default()));
    let (place_in, place_out) = (ListPlace::new(ROW.0), ListPlace::new(ROW.0));
    let narrow_window = media(NARROW);
    Effect::new(move || {
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
    keys(&block, &tx, turn_all);
    let absent = block.absence.filter(|_| !tx.inputs.iter().all(|input| input.coinbase)).map(|absence| {
        let (title, text) = absence_notice(absence);
        view! { <Notice tone=Tone::Warning title name="absence"><p>{text}</p></Notice> }
    });
    let inputs = {
        let (block, tx) = (Arc::clone(&block), Arc::clone(&tx));
        DrawRow::new(move |(at, _)| {
            let row = tx.inputs.get(at).cloned().map(|input| {
                let context = context(&block, &tx, at);
                view! { <InputRow input context place=place_in open=opened_in /> }
            });
            row.into_any()
        })
    };
    let outputs = {
        let (network, tx) = (block.network, Arc::clone(&tx));
        DrawRow::new(move |(at, _)| {
            let output = tx.outputs.get(at).cloned();
            output.map(|output| view! { <OutputRow at output network place=place_out open=opened_out /> }).into_any()
        })
    };
    let (in_count, out_count) = (tx.inputs.len(), tx.outputs.len());
    // On a desk both lists stand side by side: only long ones need a jump there.
    let jumps = if in_count.max(out_count) > 12 { "jumps long" } else { "jumps" };
    view! {
        <article class="transaction" data-test="transaction" data-txid=tx.row.txid.to_string()>
            <TxHead block=Arc::clone(&block) tx=Arc::clone(&tx) />
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

/// Where an input's coin came from: its block's height is all that the undo record knows, and all that a link needs.
fn context(block: &LoadedBlock, tx: &Tx, at: usize) -> InputContext {
    let input = tx.inputs.get(at);
    let created = input.and_then(|input| input.created);
    let here = |height: Height| {
        // Within this block the hash is known, and going there costs nothing.
        if block.height == Some(height) { BlockId::Hash(block.hash) } else { BlockId::Height(height) }
    };
    let txid = input.map(|input| TxId::Txid(input.txid));
    InputContext {
        at,
        version: tx.version,
        height: block.height.map(|height| height.0),
        network: block.network,
        source: created.zip(txid).map(|(created, txid)| Page::Transaction(here(created.height), txid).href()),
        source_block: created.map(|created| Page::Block(here(created.height)).href()),
    }
}

fn keys(block: &Arc<LoadedBlock>, tx: &Arc<Tx>, turn_all: impl Fn() + 'static) {
    let navigator = expect_context::<Navigator>();
    let (hash, at) = (block.hash, tx.index);
    let neighbours = (neighbour(block, at.checked_sub(1)), neighbour(block, at.checked_add(1)));
    on_key(move |event| {
        if is_taken(event) {
            return;
        }
        let page = match event.key().as_str() {
            "ArrowLeft" => neighbours.0,
            "ArrowRight" => neighbours.1,
            "b" | "Escape" => Some(Page::block(hash)),
            "e" => return turn_all(),
            _ => None,
        };
        if let Some(page) = page {
            event.prevent_default();
            navigator.go(page);
        }
    });
}

/// The page of the transaction at a position of the same block.
pub fn neighbour(block: &LoadedBlock, at: Option<usize>) -> Option<Page> {
    let row = block.rows.get(at?)?;
    Some(Page::Transaction(BlockId::Hash(block.hash), TxId::Txid(row.txid)))
}
