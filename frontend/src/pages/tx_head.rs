//! The head of a transaction's page: what it is, what it paid, and which rules it asked for.

use std::sync::Arc;

use leptos::prelude::*;

use super::block_head::Step;
use super::transaction::neighbour;
use crate::components::amount::Amount;
use crate::components::copy::Hash;
use crate::components::fact::Fact;
use crate::components::icon::Icon;
use crate::components::notice::Badge;
use crate::components::time::Moment;
use crate::format::{count, group, milli};
use crate::model::block::LoadedBlock;
use crate::model::explain::{lock_time, version};
use crate::model::tx::Tx;
use crate::number::wide;
use crate::route::Page;
use hindsight_shared::summary::Flags;

/// The head.
#[component]
pub fn TxHead(
    /// Its block.
    block: Arc<LoadedBlock>,
    /// The transaction.
    tx: Arc<Tx>,
) -> impl IntoView {
    let row = tx.row;
    let step = |at: Option<usize>| {
        let href = neighbour(&block, at).map(|page| page.href());
        Signal::stored(href)
    };
    let (before, after) = (step(tx.index.checked_sub(1)), step(tx.index.checked_add(1)));
    let block_name = block.height.map_or_else(|| "of unknown height".to_owned(), group);
    let block_href = Page::block(block.hash).href();
    let position =
        [&group(tx.index + 1), " of ", &group(block.rows.len()), " (#", &group(tx.index), ", counted from 0)"].concat();
    let (number, locked) = (tx.version, tx.lock_time);
    let lock_meaning = lock_time(locked, tx.all_final());
    let spent = tx.spent().filter(|_| !row.flags.contains(Flags::COINBASE));
    let fees = fee_facts(&tx);
    let time = block.header.time;
    let badge = |flag, name: &'static str, title: &'static str| {
        row.flags.contains(flag).then(|| view! { <Badge look="quiet" title>{name}</Badge> })
    };
    view! {
        <header class="title">
            <div class="row">
                <h1>"Transaction"</h1>
                <nav class="steps" aria-label="Neighbouring transactions">
                    <Step href=before icon=Icon::Left name="Previous transaction (←)" test="previous" />
                    <Step href=after icon=Icon::Right name="Next transaction (→)" test="next" />
                </nav>
                <span class="badges">
                    {badge(Flags::COINBASE, "coinbase", "Pays the miner")}
                    {badge(Flags::RBF, "signalled RBF", "Some input's sequence is below 0xfffffffe (BIP125)")}
                    {badge(Flags::SPENDS_IN_BLOCK, "chained", "Spends an output of a transaction of the same block")}
                    {badge(Flags::OVERSPENT, "overspent", "Its prevouts hold less than its outputs")}
                </span>
            </div>
            <Hash text=row.txid.to_string() what="txid" />
        </header>
        <section class="card" aria-label="Summary">
            <dl class="facts" data-test="facts">
                <Fact name="Block" value=view! { <a href=block_href data-test="block-link" title="To the block (b)">{block_name}</a>
                    " · " <span class="muted">{position}</span> }.into_any() />
                <Fact name="Time of the block" value=view! { <Moment time /> }.into_any() />
                {fees}
                {spent.map(|value| view! { <Fact name="Inputs" value=view! { <Amount value /> }.into_any() /> })}
                <Fact name="Outputs" value=view! { <span data-test="value" data-value=row.value.to_sat().to_string()><Amount value=row.value /></span> }.into_any() />
                <Fact name="Virtual size" value=view! { <span data-test="vsize">{group(row.vsize())}</span> " vB" }.into_any() />
                <Fact name="Weight" value=view! { <span data-test="weight">{group(row.weight)}</span> " WU" }.into_any() />
                <Fact name="Size" value=view! { {count(u64::from(row.size), "byte")} }.into_any() />
                <Fact name="Version" value=view! { <span data-test="version">{group(number)}</span> " " <span class="muted">{version(number)}</span> }.into_any() />
                <Fact name="Locktime" double=true value=view! { <span data-test="locktime">{group(locked)}</span> " " <span class="muted">{lock_meaning}</span> }.into_any() />
                {row.flags.contains(Flags::SEGWIT).then(|| view! {
                    <Fact name="wtxid" wide=true value=view! { <Hash text=row.wtxid.to_string() what="wtxid" /> }.into_any() />
                })}
            </dl>
        </section>
    }
}

fn fee_facts(tx: &Tx) -> Option<impl IntoView + use<>> {
    let (fee, rate) = (tx.row.fee?, tx.row.fee_rate_milli()?);
    let exact =
        [&group(fee.to_sat()), " sat for ", &count(wide(crate::number::index(tx.row.weight)), "weight unit")].concat();
    Some(view! {
        <Fact name="Fee" value=view! { <span data-test="fee" data-value=fee.to_sat().to_string()><Amount value=fee /></span> }.into_any() />
        <Fact name="Fee rate" title="Fee over weight, exact, rounded down to thousandths" value=view! { <span data-test="fee-rate" title=exact><strong>{milli(rate, 3)}</strong> " sat/vB"</span> }.into_any() />
    })
}
