//! A block as one row of the chain: what the chain map knows of it, and its statistics once they are there.

use hindsight_shared::api::BlockFacts;
use leptos::prelude::*;

use super::amount::Amount;
use super::fact::Meter;
use super::time::Ago;
use crate::charts::fee_band::{FeeAxis, FeeBand};
use crate::format::{bytes, group, milli_short, percent, weight};
use crate::live::live;
use crate::model::brief::{Brief, Rates};
use crate::number::share;
use crate::settings::Settings;

/// What the columns are.
#[component]
pub fn BlockHeads() -> impl IntoView {
    let settings = expect_context::<Settings>();
    view! {
        <div class="block-row block-heads" aria-hidden="true">
            <span class="height">"height"</span>
            <span class="when">"age"</span>
            <span class="miner">"miner"</span>
            <span class="txs">"txs"</span>
            <span class="median">"sat/vB"</span>
            <FeeAxis />
            <span class="fees">"fees, " {live(move || settings.unit.get().name())}</span>
            <span class="bytes">"size"</span>
            <span class="fill">"weight"</span>
        </div>
    }
}

/// The row.
#[component]
pub fn BlockRow(
    /// The block.
    facts: BlockFacts,
    /// Its statistics.
    brief: Signal<Option<Brief>>,
    /// Its page.
    href: String,
    /// Whether it is chosen.
    #[prop(into)]
    chosen: Signal<bool>,
) -> impl IntoView {
    let hash = facts.hash.to_string();
    let height = facts.height.map_or_else(|| "?".to_owned(), group);
    let txs = if facts.tx_count == 1 { " tx" } else { " txs" };
    view! {
        <a class="block-row" class:chosen=chosen href=href data-test="block-row" title=hash.clone() data-hash=hash>
            <span class="height">{height}</span>
            <span class="when"><Ago time=facts.time /></span>
            <span class="txs">{group(facts.tx_count)} <span class="muted narrow-only">{txs}</span></span>
            <span class="bytes">{bytes(facts.size.into())}</span>
            {live(move || brief.get().map(|brief| view! { <Statistics brief /> }))}
        </a>
    }
}

#[component]
fn Statistics(brief: Brief) -> impl IntoView {
    let (rates, fees) = match brief.rates {
        Some(rates) => (view! { <Paid rates /> }.into_any(), view! { <Amount value=brief.fees /> }.into_any()),
        None => (view! { <span class="band muted">"no fees paid"</span> }.into_any(), ().into_any()),
    };
    let full = share(brief.weight.into(), 4_000_000, 1000);
    let label = [weight(brief.weight.into()), ", ".to_owned(), percent(full), " full".to_owned()].concat();
    let title = label.clone();
    view! {
        <span class="miner">{if brief.miner.is_empty() { "unknown".to_owned() } else { brief.miner }}</span>
        {rates}
        <span class="fees">{fees}</span>
        <span class="fill" title=title><Meter share=full label /></span>
    }
}

#[component]
fn Paid(rates: Rates) -> impl IntoView {
    view! {
        <span class="median" title="Median by weight" data-test="median-rate">{milli_short(rates.median)} <span class="muted narrow-only">" sat/vB"</span></span>
        <FeeBand rates />
    }
}
