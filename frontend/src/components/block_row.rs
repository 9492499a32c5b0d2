//! A block as one row of the chain: what the chain map knows of it.

use hindsight_shared::api::BlockFacts;
use leptos::prelude::*;

use super::fact::Meter;
use super::time::Ago;
use crate::format::{bytes, date_time, ends, group};
use crate::number::share;

/// What the columns are.
#[component]
pub fn BlockHeads() -> impl IntoView {
    view! {
        <div class="block-row block-heads" aria-hidden="true">
            <span class="height">"height"</span>
            <span class="block-hash">"hash"</span>
            <span class="date">"time (UTC)"</span>
            <span class="when">"age"</span>
            <span class="txs">"transactions"</span>
            <span class="bytes">"size"</span>
            <span>"relative size"</span>
        </div>
    }
}

/// The row.
#[component]
pub fn BlockRow(
    /// The block.
    facts: BlockFacts,
    /// Its page.
    href: String,
    /// The size of the largest block shown, for the bar.
    #[prop(into)]
    largest: Signal<u32>,
    /// Whether it is chosen.
    #[prop(into)]
    chosen: Signal<bool>,
) -> impl IntoView {
    let hash = facts.hash.to_string();
    let height = facts.height.map_or_else(|| "?".to_owned(), group);
    let size = facts.size;
    let label = move || ["size: ", &bytes(size.into())].concat();
    // Beside what a block could hold before segwit at least, so that a chain of tiny blocks does not look full.
    let width = Memo::new(move |_| share(size.into(), largest.get().max(1_000_000).into(), 1000));
    view! {
        <a class="block-row" class:chosen=chosen href=href data-test="block-row" data-hash=hash.clone()>
            <span class="height">{height}</span>
            <code class="block-hash" title=hash.clone()>{ends(&hash, 6, 12)}</code>
            <span class="date muted">{date_time(facts.time, 0)}</span>
            <span class="when"><Ago time=facts.time /></span>
            <span class="txs">{group(facts.tx_count)} <span class="muted narrow-only">{if facts.tx_count == 1 { " tx" } else { " txs" }}</span></span>
            <span class="bytes">{bytes(size.into())}</span>
            {move || view! { <Meter share=width.get() label=label() /> }}
        </a>
    }
}
