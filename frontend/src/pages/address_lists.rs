//! The two lists of an address's page: its history, and its coins.

use std::sync::Arc;

use bitcoin::OutPoint;
use hindsight_shared::address::{Coin, Totals};
use leptos::prelude::*;

use super::ledger::Ledger;
use super::walk::walk;
use crate::browser::{download, media, on_key, on_window};
use crate::chain::Answer;
use crate::components::history_row::{CoinRow, HistoryRow};
use crate::components::tx_table::NARROW;
use crate::components::virtual_list::{DrawRow, ListPlace, VirtualList};
use crate::live::{Derived, State, effect, live};
use crate::model::history::csv;
use crate::navigation::Navigator;
use crate::number::{index, narrow};
use crate::route::{Page, Spot};
use crate::settings::Settings;

/// Pixels of a row on a desk and on a phone. The stylesheet says the same.
const ROW: (u32, u32) = (40, 68);

fn place_for(rows: (u32, u32)) -> ListPlace {
    let (place, narrow) = (ListPlace::new(rows.0), media(NARROW));
    effect(move || {
        let row = if narrow.get() { rows.1 } else { rows.0 };
        place.heights.update(|heights| heights.row = row);
    });
    place
}

/// The history.
#[component]
pub fn HistoryList(
    /// It.
    ledger: Ledger,
    /// The sums that its balances run down from.
    sums: Derived<Option<Totals>>,
    /// What the table for spreadsheets is called.
    file: String,
) -> impl IntoView {
    let (navigator, settings) = (expect_context::<Navigator>(), expect_context::<Settings>());
    let place = place_for(ROW);
    let look = move || {
        if place.is_end_near() {
            ledger.older(false);
        }
    };
    on_window("scroll", move |_| look());
    effect(move || {
        ledger.items.track();
        request_animation_frame(look);
    });
    let chosen = State::new(None::<usize>);
    let open = move |at: usize| {
        let row = ledger.history.with_untracked(|history| history.rows().get(at).copied());
        row.into_iter().for_each(|row| navigator.go(Page::Found(row.txid, None)));
    };
    on_key(move |event| walk(event, ledger.items.with_untracked(|items| items.len()), chosen, place, &open));
    let row = DrawRow::new(move |(at, item)| {
        let row = ledger.row(item).map(|row| {
            let href = Page::Found(row.txid, None).href();
            let balance = Signal::derive(move || {
                sums.with(|sums| ledger.history.with(|history| history.balance(at, sums.as_ref()?)))
            });
            let is_chosen = Signal::derive(move || chosen.get() == Some(at));
            view! { <HistoryRow row href balance chosen=is_chosen /> }
        });
        row.into_any()
    });
    let exporting = RwSignal::new(false);
    effect(move || {
        if !exporting.get() || ledger.busy.get() {
            return;
        }
        if ledger.history.with_untracked(|history| history.complete) {
            let sums = sums.get_untracked();
            download(&file, &ledger.history.with_untracked(|history| csv(history, sums.as_ref())));
        } else if ledger.trouble.with_untracked(Option::is_none) {
            return ledger.older(true);
        }
        exporting.set(false);
    });
    let unit = move || settings.unit.get().name();
    let end = move || {
        let (rows, complete) = ledger.history.with(|history| (history.rows().len(), history.complete));
        match (ledger.busy.get(), complete, rows) {
            (true, _, _) => "Loading\u{2026}",
            (_, true, 0) => "No transaction of the blocks that are indexed has touched it.",
            (_, true, _) => "These are all.",
            _ => "",
        }
    };
    let trouble = move || ledger.trouble.get().map(|error| view! { <p class="trouble">{error.to_string()}</p> });
    view! {
        <div class="history-row history-heads" aria-hidden="true">
            <span class="when">"age"</span>
            <span class="height">"block"</span>
            <span class="txid">"transaction"</span>
            <span class="in">"in, " {unit}</span>
            <span class="out">"out, " {unit}</span>
            <span class="left">"left, " {unit}</span>
        </div>
        <VirtualList items=ledger.items.signal() place row />
        {live(trouble)}
        <p class="muted end">
            <span role="status">{live(end)}</span>
            <button type="button" class="plain" data-test="csv" disabled=exporting on:click=move |_| exporting.set(true) title="The whole history, made in this browser">
                {live(move || if exporting.get() { "Fetching all of it\u{2026}" } else { "Save as CSV" })}
            </button>
        </p>
    }
}

/// The coins.
#[component]
pub fn CoinList(
    /// They.
    coins: Answer<Vec<Coin>>,
) -> impl IntoView {
    let settings = expect_context::<Settings>();
    let place = place_for((ROW.0, ROW.0));
    let items = Derived::new(move || {
        let count = coins.with(|coins| coins.as_ref().and_then(|coins| coins.as_ref().ok().map(Vec::len)));
        Arc::new((0..narrow(count.unwrap_or(0))).collect::<Vec<u32>>())
    });
    let row = DrawRow::new(move |(_, item)| {
        let coin = coins.with_untracked(|coins| coins.as_ref()?.as_ref().ok()?.get(index(item)).copied());
        let row = coin.map(|coin| {
            let OutPoint { txid, vout } = coin.outpoint;
            view! { <CoinRow coin href=Page::Found(txid, Some(Spot::Output(vout))).href() /> }
        });
        row.into_any()
    });
    let end = move || {
        coins.with(|coins| match coins {
            None => "Loading\u{2026}".to_owned(),
            Some(Ok(coins)) if coins.is_empty() => "Nothing is left unspent.".to_owned(),
            Some(Ok(_)) => "These are all.".to_owned(),
            Some(Err(error)) => error.to_string(),
        })
    };
    view! {
        <div class="history-row history-heads coin" aria-hidden="true">
            <span class="height">"block"</span>
            <span class="txid">"output"</span>
            <span class="when"></span>
            <span class="left">"value, " {live(move || settings.unit.get().name())}</span>
        </div>
        <VirtualList items=items.signal() place row />
        <p class="muted end" role="status">{live(end)}</p>
    }
}
