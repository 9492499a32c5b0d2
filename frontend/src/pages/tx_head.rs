//! The head of a transaction's page: what it is, what it paid, and which rules it asked for.

use std::sync::Arc;

use leptos::prelude::*;

use super::block_head::Step;
use crate::chain::Chain;
use crate::components::amount::Amount;
use crate::components::copy::Hash;
use crate::components::fact::Fact;
use crate::components::icon::Icon;
use crate::components::notice::Badge;
use crate::components::time::Moment;
use crate::format::{count, group, milli};
use crate::live::{State, live};
use crate::model::explain::{lock_time, version};
use crate::model::found::{Afterlife, Home};
use crate::model::tx::Tx;
use crate::number::wide;
use crate::route::{Page, TxId};
use hindsight_shared::found_tx::TxPlace;
use hindsight_shared::search::BlockId;
use hindsight_shared::summary::Flags;

/// The head.
#[component]
pub fn TxHead(
    /// Its block.
    home: Home,
    /// The transaction.
    tx: Arc<Tx>,
    /// The transactions before and after it in the block.
    neighbours: (Option<Page>, Option<Page>),
    /// What the index knows of it.
    after: State<Option<Afterlife>>,
) -> impl IntoView {
    let row = tx.row;
    let step = |page: Option<Page>| Signal::stored(page.map(|page| page.href()));
    let (before, next) = (step(neighbours.0), step(neighbours.1));
    let block_name = home.height.map_or_else(|| "of unknown height".to_owned(), group);
    let block_href = Page::block(home.block).href();
    let of = home.count.map_or_else(String::new, |count| " of ".to_owned() + &group(count));
    let position = [&group(tx.index + 1), &*of, " (#", &group(tx.index), ", counted from 0)"].concat();
    let (number, locked) = (tx.version, tx.lock_time);
    let lock_meaning = lock_time(locked, tx.all_final());
    let spent = tx.spent().filter(|_| !row.flags.contains(Flags::COINBASE));
    let fees = fee_facts(&tx);
    let time =
        home.time.map(|time| view! { <Fact name="Time of the block" value=view! { <Moment time /> }.into_any() /> });
    let block = home.block;
    let tip = expect_context::<Chain>().tip();
    let confirmed = move || {
        let place = after.with(|after| after.as_ref()?.places.iter().find(|place| place.block == block).copied())?;
        let tip = tip.with(|tip| tip.as_ref()?.height).or_else(|| after.with(|after| Some(after.as_ref()?.tip)))?;
        let confirmations = tip.0.checked_sub(place.height.0)?.checked_add(1)?;
        Some(
            view! { <span data-test="confirmations"><Badge look="good">{count(confirmations.into(), "confirmation")}</Badge></span> },
        )
    };
    let elsewhere = move || {
        let mut places = after.with(|after| after.as_ref().map(|after| after.places.clone()).unwrap_or_default());
        places.retain(|place| place.block != block);
        (!places.is_empty()).then(|| view! { <Fact name="Also in block" title="The same txid stands in several blocks, which BIP30 forbids since 2012" value=places_view(places) /> })
    };
    let badge = |flag, name: &'static str, title: &'static str| {
        row.flags.contains(flag).then(|| view! { <Badge look="quiet" title>{name}</Badge> })
    };
    view! {
        <header class="title">
            <div class="row">
                <h1>"Transaction"</h1>
                <nav class="steps" aria-label="Neighbouring transactions">
                    <Step href=before icon=Icon::Left name="Previous transaction (←)" test="previous" />
                    <Step href=next icon=Icon::Right name="Next transaction (→)" test="next" />
                </nav>
                <span class="badges">
                    {live(confirmed)}
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
                {live(elsewhere)}
                {time}
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

fn places_view(places: Vec<TxPlace>) -> AnyView {
    let links = places.into_iter().map(|place| {
        let href = Page::Transaction(BlockId::Hash(place.block), TxId::Index(place.index)).href();
        view! { <a href=href data-test="place">{group(place.height)}</a> " " }
    });
    links.collect_view().into_any()
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
