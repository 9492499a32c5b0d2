//! Rows of an address's page: a transaction that touched it, and a coin that nobody has spent.

use bitcoin::Amount as Sats;
use hindsight_shared::address::{Coin, Touched};
use leptos::prelude::*;

use super::amount::Amount;
use super::time::Ago;
use crate::format::{ends, group};
use crate::live::live;

/// A transaction of the history.
#[component]
pub fn HistoryRow(
    /// What it did.
    row: Touched,
    /// Its page.
    href: String,
    /// What was left after it, where that is known.
    balance: Signal<Option<Sats>>,
    /// Whether it is chosen.
    chosen: Signal<bool>,
) -> impl IntoView {
    let txid = row.txid.to_string();
    // An output of nothing is paid as well.
    let (paid, spent) = (row.received > Sats::ZERO || row.spent == Sats::ZERO, row.spent > Sats::ZERO);
    let moved = |class: &'static str, sign: &'static str, name: &'static str, value: Sats, shown: bool| {
        let shown = shown.then(|| view! { <span class="narrow-only muted">{name}</span> {sign} <Amount value /> });
        view! { <span class=class data-value=value.to_sat().to_string()>{shown}</span> }
    };
    let left =
        move || balance.get().map(|value| view! { <span class="narrow-only muted">"left "</span> <Amount value /> });
    let left_value = move || balance.get().map_or_else(String::new, |value| value.to_sat().to_string());
    view! {
        <a class="history-row" class:chosen=chosen href=href title=txid.clone() data-test="history-row" data-txid=txid.clone()>
            <span class="when"><Ago time=row.time /></span>
            <span class="height"><span class="narrow-only">"block "</span>{group(row.height)}</span>
            <code class="txid">{ends(&txid, 10, 8)}</code>
            {moved("in", "+", "in ", row.received, paid)}
            {moved("out", "\u{2212}", "out ", row.spent, spent)}
            <span class="left" data-value=left_value>{live(left)}</span>
        </a>
    }
}

/// A coin.
#[component]
pub fn CoinRow(
    /// It.
    coin: Coin,
    /// The page of its output.
    href: String,
) -> impl IntoView {
    let outpoint = coin.outpoint.to_string();
    let short = [&ends(&coin.outpoint.txid.to_string(), 10, 8), ":", &coin.outpoint.vout.to_string()].concat();
    view! {
        <a class="history-row coin" href=href title=outpoint data-test="coin-row" data-value=coin.value.to_sat().to_string()>
            <span class="height">{group(coin.height)}</span>
            <code class="txid">{short}</code>
            <span class="when">{coin.coinbase.then_some("coinbase")}</span>
            <span class="left"><Amount value=coin.value /></span>
        </a>
    }
}
