//! All transactions of a block in one table: filtered and sorted as asked, walked with the keys.

use std::sync::Arc;

use leptos::html::Div;
use leptos::prelude::*;

use super::filters::{FIND_ID, Filters};
use super::tx_row::{Row, occurring, row_at};
use super::virtual_list::{DrawRow, ListPlace, VirtualList};
use crate::browser::{focus, focus_quietly, is_taken, media, on_key};
use crate::format::{bytes, count, group};
use crate::live::{Derived, State, effect, live};
use crate::model::block::LoadedBlock;
use crate::model::bound::Column;
use crate::model::query::Query;
use crate::model::table::{Totals, select, totals};
use crate::number::{index, wide};
use crate::settings::Settings;

/// Pixels of a row on a desk, and on a phone, where it has two lines. The stylesheet says the same.
const ROW: (u32, u32) = (36, 62);

/// Pixels at the window's top that the frame and the table's head cover.
const COVERED: u32 = 100;

/// Widths at which a row has two lines.
pub const NARROW: &str = "(max-width: 760px)";

/// The table.
#[component]
pub fn TxTable(
    /// The block.
    block: Arc<LoadedBlock>,
    /// What the table is filtered and sorted by.
    query: Derived<Query>,
    /// Changes that.
    change: Callback<String>,
    /// The position in the block that is chosen.
    chosen: State<Option<u32>>,
    /// The page of the transaction at a position.
    href: Callback<u32, String>,
    /// Opens that page.
    open: Callback<u32>,
) -> impl IntoView {
    let (kinds, flags) = occurring(&block.rows);
    let selecting = Arc::clone(&block);
    let order = Derived::new(move || Arc::new(query.with(|query| select(&selecting.rows, query))));
    let place = ListPlace::new(ROW.0);
    let narrow = media(NARROW);
    effect(move || {
        let row = if narrow.get() { ROW.1 } else { ROW.0 };
        place.heights.update(|heights| heights.row = row);
    });
    let frame = NodeRef::<Div>::new();
    let reveal = move |at: u32| {
        if let Some(position) = order.with_untracked(|order| order.iter().position(|&known| known == at)) {
            place.reveal(position, COVERED);
        }
    };
    effect(move || {
        if let Some(at) = chosen.get() {
            reveal(at);
        }
    });
    on_key(move |event| {
        if walk(event, order, chosen, open, change) {
            // So that a screen reader says which row is chosen, and arrows go on from there.
            focus_quietly(frame);
        }
    });
    let all = block.rows.len();
    let summing = Arc::clone(&block);
    let summary = move || order.with(|order| summary(&totals(&summing.rows, order), all));
    let rows = Arc::clone(&block);
    let row = DrawRow::new(move |(place, at)| {
        let chosen = Signal::derive(move || chosen.get() == Some(at));
        row_at(&rows.rows, at).map(|row| view! { <Row at place row href=href.run(at) chosen /> }).into_any()
    });
    let active = move || chosen.get().map(|at| ["tx-", &at.to_string()].concat());
    view! {
        <section class="table" aria-label="Transactions">
            <Filters query kinds flags change />
            <p class="summary" role="status" data-test="summary">{summary}</p>
            <div
                class="grid"
                role="grid"
                tabindex="0"
                node_ref=frame
                aria-label="Transactions of this block"
                aria-rowcount=move || order.with(|order| (order.len() + 1).to_string())
                aria-activedescendant=active
                data-test="table"
            >
                <Heads query change />
                <VirtualList items=order.signal() place row />
                {live(move || order.with(|order| order.is_empty()).then(|| view! {
                    <p class="empty" data-test="empty">"No transaction of this block is like that. " <kbd>"Esc"</kbd> " clears the filter."</p>
                }))}
            </div>
        </section>
    }
}

/// What is shown, and what it comes to.
fn summary(shown: &Totals, all: usize) -> String {
    let mut out = if index(shown.rows) == all {
        count(wide(all), "transaction")
    } else {
        [&group(shown.rows), " of ", &count(wide(all), "transaction")].concat()
    };
    out.push_str(" · ");
    out.push_str(&bytes(shown.weight.div_ceil(4)).replace('B', "vB"));
    if let Some(fees) = shown.fees {
        out.push_str(" · fees ");
        out.push_str(&group(fees));
        out.push_str(" sat");
    }
    out
}

/// Whether the key chose a row.
fn walk(
    event: &web_sys::KeyboardEvent,
    order: Derived<Arc<Vec<u32>>>,
    chosen: State<Option<u32>>,
    open: Callback<u32>,
    change: Callback<String>,
) -> bool {
    if event.key() == "Escape" && !event.default_prevented() {
        change.run(String::new());
        chosen.set(None);
        return false;
    }
    if is_taken(event) {
        return false;
    }
    let count = order.with_untracked(|order| order.len());
    let position =
        chosen.get_untracked().and_then(|at| order.with_untracked(|order| order.iter().position(|&known| known == at)));
    let next = match event.key().as_str() {
        "j" | "ArrowDown" => Some(position.map_or(0, |at| at + 1)),
        "k" | "ArrowUp" => Some(position.map_or(0, |at| at.saturating_sub(1))),
        "Home" => Some(0),
        "End" => Some(count.saturating_sub(1)),
        "/" => {
            event.prevent_default();
            focus(FIND_ID);
            return false;
        }
        "Enter" => {
            chosen.get_untracked().into_iter().for_each(|at| open.run(at));
            return false;
        }
        _ => return false,
    };
    // Arrows and the like scroll the page until the reader has chosen a row.
    let letter = matches!(event.key().as_str(), "j" | "k");
    if !letter && position.is_none() {
        return false;
    }
    event.prevent_default();
    let at = next.filter(|_| count > 0).map(|next| next.min(count - 1));
    chosen.set(at.and_then(|at| order.with_untracked(|order| order.get(at).copied())));
    true
}

/// The table's head: every column sorts.
#[component]
fn Heads(query: Derived<Query>, change: Callback<String>) -> impl IntoView {
    let unit = expect_context::<Settings>().unit;
    let head = move |column: Column, class: &'static str, name: &'static str| {
        let amount = matches!(column, Column::Fee | Column::Value);
        let sort = move || query.with(|query| query.sort.filter(|sort| sort.column == column));
        let state = move || match sort() {
            Some(sort) if sort.descending => "descending",
            Some(_) => "ascending",
            None => "none",
        };
        let turn = move |_| {
            let mut edited = query.get_untracked();
            edited.turn_sort(column);
            change.run(edited.to_string());
        };
        view! {
            <span class=class role="columnheader" aria-sort=state>
                <button type="button" on:click=turn data-test="sort" data-column=column.word()>
                    {name}
                    {amount.then(|| view! { <span class="unit">{live(move || unit.get().name())}</span> })}
                </button>
            </span>
        }
    };
    view! {
        <div class="heads" role="row" aria-rowindex="1">
            <span class="mark-heat" aria-hidden="true"></span>
            {head(Column::Index, "index", "#")}
            {head(Column::Txid, "txid", "txid")}
            {head(Column::Rate, "rate", "sat/vB")}
            {head(Column::Fee, "fee", "fee")}
            {head(Column::Size, "size", "vB")}
            {head(Column::Value, "value", "value")}
            <span class="counts" role="presentation">
                {head(Column::Inputs, "in", "in")}
                <span class="faint" aria-hidden="true">"→"</span>
                {head(Column::Outputs, "out", "out")}
            </span>
            <span class="kinds" role="columnheader">"kinds"</span>
        </div>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_says_what_it_comes_to() {
        let shown = Totals { rows: 1234, weight: 4_000_000, fees: Some(5000), value: 0 };
        assert_eq!(summary(&shown, 4864), "1,234 of 4,864 transactions · 1 MvB · fees 5,000 sat");
        let unknown = Totals { fees: None, ..shown };
        assert_eq!(summary(&unknown, 1234), "1,234 transactions · 1 MvB");
        assert_eq!(summary(&shown, 1234), "1,234 transactions · 1 MvB · fees 5,000 sat");
    }
}
