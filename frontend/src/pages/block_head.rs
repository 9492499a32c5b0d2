//! The head of a block's page: which block it is, where it stands, and what its header says.

use std::sync::Arc;

use bitcoin::Network;
use bitcoin::block::Header;
use hindsight_shared::api::{BlockFacts, HeightFrom};
use leptos::prelude::*;

use super::block::{next, previous};
use crate::chain::{Answer, Chain};
use crate::components::amount::Amount;
use crate::components::copy::Hash;
use crate::components::fact::{Fact, Meter};
use crate::components::icon::{Glyph, Icon};
use crate::components::input_row::hex_word;
use crate::components::notice::Badge;
use crate::components::time::Moment;
use crate::format::{bytes, count, group, percent, short, weight};
use crate::model::block::{LoadedBlock, Reward};
use crate::model::brief::miner_of;
use crate::number::{share, wide};

/// Height, hash, neighbours, and whether the best chain goes through it.
#[component]
pub fn BlockHead(
    /// The block.
    block: Arc<LoadedBlock>,
    /// What the chain map knows of it.
    facts: Answer<BlockFacts>,
) -> impl IntoView {
    let chain = expect_context::<Chain>();
    let title =
        block.height.map_or_else(|| "Block of unknown height".to_owned(), |height| ["Block ", &group(height)].concat());
    let older = previous(&block).map(|page| page.href());
    let newer = move || next(facts).map(|page| page.href());
    let status = move || facts.with(|facts| facts.as_ref()?.as_ref().ok().cloned());
    let place = move || status().map(|facts| view! { <Place facts chain /> });
    view! {
        <header class="title">
            <div class="row">
                <h1 data-test="title">{title}</h1>
                <nav class="steps" aria-label="Neighbouring blocks">
                    <Step href=Signal::derive(move || older.clone()) icon=Icon::Left name="Previous block (←)" test="previous" />
                    <Step href=Signal::derive(newer) icon=Icon::Right name="Next block (→)" test="next" />
                </nav>
                <span class="badges">{place}</span>
            </div>
            <Hash text=block.hash.to_string() what="block hash" />
        </header>
    }
}

/// A step to a neighbour, or its place where there is none.
#[component]
pub fn Step(
    /// The neighbour's page.
    href: Signal<Option<String>>,
    /// The direction.
    icon: Icon,
    /// What it is, for those who cannot see it.
    name: &'static str,
    /// What a browser test looks for.
    test: &'static str,
) -> impl IntoView {
    view! {
        <a class="step" href=href title=name aria-label=name data-test=test aria-disabled=move || href.get().is_none().to_string()>
            <Glyph icon />
        </a>
    }
}

#[component]
fn Place(facts: BlockFacts, chain: Chain) -> impl IntoView {
    if !facts.best_chain {
        let title = "The best chain does not go through this block: it was replaced, or never connected.";
        return view! { <Badge look="bad" title>"stale block"</Badge> }.into_any();
    }
    let height = facts.height;
    let confirmations = move || {
        let tip = chain.status.with(|status| status.as_ref()?.tip.as_ref()?.height);
        let since = tip.zip(height).and_then(|(tip, height)| tip.0.checked_sub(height.0)).map(|since| since + 1);
        count(since.unwrap_or(facts.confirmations).into(), "confirmation")
    };
    let by_coinbase = (facts.height_from == Some(HeightFrom::Bip34)).then(|| {
        let title = "Its parents are not on this disk: the height is what the block's own coinbase says (BIP34).";
        view! { <Badge look="quiet" title>"height by coinbase"</Badge> }
    });
    view! {
        <span data-test="confirmations"><Badge look="good">{confirmations}</Badge></span>
        {by_coinbase}
    }
    .into_any()
}

/// Core's `GetDifficulty` (`src/rpc/blockchain.cpp`): against the easiest target of mainnet, whatever the network.
fn difficulty(header: &Header) -> String {
    let (whole, exact) = (header.difficulty(Network::Bitcoin), header.target().difficulty_float());
    if exact >= 1000.0 || exact.fract() == 0.0 {
        return short(whole);
    }
    js_sys::Number::from(exact).to_precision(3).map_or_else(|_| String::new(), Into::into)
}

/// What the header says, and what the whole block comes to.
#[component]
pub fn HeaderFacts(
    /// The block.
    block: Arc<LoadedBlock>,
) -> impl IntoView {
    let header = block.header;
    let size = wide(block.bytes().len());
    let (txs, weight_units) = (block.rows.len(), block.weight);
    let full = share(block.weight, 4_000_000, 1000);
    let times = match header.difficulty(Network::Bitcoin) {
        0 => "A part of".to_owned(),
        times => [&group(times), " times"].concat(),
    };
    let work_title = times + " the work of mainnet's easiest block, as Bitcoin Core counts on every network";
    let (inputs, outputs) = block.rows.iter().enumerate().fold((0_u64, 0_u64), |(inputs, outputs), (at, row)| {
        // The coinbase's one input spends nothing.
        let spends = if at == 0 { 0 } else { u64::from(row.inputs) };
        (inputs + spends, outputs + u64::from(row.outputs))
    });
    let reward = block.reward();
    let text = block.coinbase_text();
    let miner = block.stats.as_ref().map(|stats| miner_of(&stats.miner)).filter(|miner| !miner.is_empty());
    view! {
        <section class="card" aria-label="Header">
            <dl class="facts" data-test="facts">
                <Fact name="Time" wide=true value=view! { <Moment time=header.time /> }.into_any() />
                {miner.map(|miner| view! { <Fact name="Miner" title="As the coinbase says; nothing proves it" value=view! { <span data-test="miner">{miner}</span> }.into_any() /> })}
                <Fact name="Transactions" value=view! { <span data-test="tx-count">{group(txs)}</span> }.into_any() />
                <Fact name="Inputs" title="Without the coinbase's" value=view! { <span data-test="inputs">{group(inputs)}</span> }.into_any() />
                <Fact name="Outputs" value=view! { <span data-test="outputs">{group(outputs)}</span> }.into_any() />
                <Fact name="Size" value=view! { <span title=count(size, "byte") data-test="size" data-value=size.to_string()>{bytes(size)}</span> }.into_any() />
                <Fact name="Weight" value=view! { <span title=count(weight_units, "weight unit") data-test="weight" data-value=weight_units.to_string()>{weight(weight_units)}</span>
                    // In one piece, so that the number never stands under its meter.
                    " "
                    <span class="amount muted"><Meter share=full label=percent(full) />{percent(full)}</span> }.into_any() />
                {reward.map(|reward| view! { <RewardFacts reward /> })}
                <Fact name="Version" value=view! { <code>{hex_word(u32::from_le_bytes(header.version.to_consensus().to_le_bytes()))}</code> }.into_any() />
                <Fact name="Difficulty" value=view! { <span title=work_title data-test="difficulty">{difficulty(&header)}</span> " " <code class="muted" title="bits: the target in compact form">{hex_word(header.bits.to_consensus())}</code> }.into_any() />
                <Fact name="Nonce" value=view! { <code>{hex_word(header.nonce)}</code> " " <span class="muted">{group(header.nonce)}</span> }.into_any() />
                <Fact name="Merkle root" wide=true value=view! { <Hash text=header.merkle_root.to_string() what="merkle root" /> }.into_any() />
                <Fact name="Coinbase says" wide=true value=view! { <span class="quote" data-test="coinbase-text">{text}</span> }.into_any() />
            </dl>
        </section>
    }
}

#[component]
fn RewardFacts(reward: Reward) -> impl IntoView {
    let unclaimed = reward.unclaimed().filter(|&left| left > bitcoin::Amount::ZERO);
    view! {
        {reward.fees.map(|fees| view! { <Fact name="Fees" value=view! { <span data-test="fees" data-value=fees.to_sat().to_string()><Amount value=fees /></span> }.into_any() /> })}
        {reward.subsidy.map(|subsidy| view! { <Fact name="Subsidy" title="New coins that a block of this height may create" value=view! { <Amount value=subsidy /> }.into_any() /> })}
        <Fact name="Claimed" title="What the coinbase pays out" value=view! { <Amount value=reward.claimed />
            {unclaimed.map(|left| view! { <span class="muted">", "<Amount value=left />" left unclaimed"</span> })} }.into_any() />
    }
}
