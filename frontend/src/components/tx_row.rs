//! A transaction as one row of its block's table.

use hindsight_shared::script::KindSet;
use hindsight_shared::summary::{Flags, TxRow};
use leptos::prelude::*;

use super::amount::Amount;
use super::filters::kind_class;
use crate::charts::geometry::row_heat;
use crate::format::{ends, group, milli};
use crate::number::index;

/// The row. Its cells stand in one line, or in two on a phone.
#[component]
pub fn Row(
    /// Position in the block.
    at: u32,
    /// Position in the list.
    place: usize,
    /// The transaction.
    row: TxRow,
    /// Its page.
    href: String,
    /// Whether it is chosen.
    #[prop(into)]
    chosen: Signal<bool>,
) -> impl IntoView {
    let heat = row_heat(&row).map_or_else(|| "heat-none".to_owned(), |heat| ["heat-", &heat.to_string()].concat());
    let txid = row.txid.to_string();
    let weight = [&group(row.weight), " WU, ", &group(row.size), " bytes"].concat();
    view! {
        <div
            class="tx-row"
            class:chosen=chosen
            role="row"
            id=["tx-", &at.to_string()].concat()
            aria-rowindex=(place + 2).to_string()
            aria-selected=move || chosen.get().to_string()
            data-test="tx-row"
            data-index=at.to_string()
        >
            <span class=["mark-heat ", &heat].concat() aria-hidden="true"></span>
            <span class="index" role="gridcell">{group(at)}</span>
            <a class="txid" role="gridcell" href=href title=txid.clone() tabindex="-1">
                <code>{ends(&txid, 16, 8)}</code>
            </a>
            <span class="rate" class:known=row.fee.is_some() role="gridcell">{rate(&row)}</span>
            <span class="fee" role="gridcell">
                {row.fee.map(|value| view! { <Amount value unit=false /> })}
            </span>
            <span class="size" role="gridcell" title=weight>{group(row.vsize())}</span>
            <span class="value" role="gridcell">
                <Amount value=row.value />
            </span>
            <span class="counts" role="gridcell" title="inputs → outputs">
                {group(row.inputs)} <span class="faint">" → "</span> {group(row.outputs)}
            </span>
            <span class="kinds" role="gridcell">
                <Kinds kinds=row.kinds flags=row.flags />
            </span>
        </div>
    }
}

/// A fee rate with two decimals, or three below 1.
fn rate(row: &TxRow) -> String {
    match row.fee_rate_milli() {
        Some(rate) if rate < 1000 => milli(rate, 3),
        Some(rate) => milli(rate, 2),
        None if row.flags.contains(Flags::COINBASE) => "coinbase".to_owned(),
        None => "–".to_owned(),
    }
}

#[component]
fn Kinds(kinds: KindSet, flags: Flags) -> impl IntoView {
    let kinds = kinds.iter().map(|kind| view! { <span class=kind_class(kind)>{kind.name()}</span> }).collect_view();
    let flag =
        |flag, name, title| flags.contains(flag).then(|| view! { <span class="kind trait" title=title>{name}</span> });
    view! {
        {kinds}
        {flag(Flags::RBF, "RBF", "Signalled that it might be replaced (BIP125)")}
        {flag(Flags::SPENDS_IN_BLOCK, "chained", "Spends an output of a transaction of the same block")}
        {flag(Flags::OVERSPENT, "overspent", "Its prevouts hold less than its outputs")}
    }
}

/// Traits and kinds that occur among rows: what a filter can be about.
pub fn occurring(rows: &[TxRow]) -> (KindSet, Flags) {
    rows.iter().fold((KindSet::default(), Flags::default()), |(kinds, flags), row| {
        (KindSet(kinds.0 | row.kinds.0), Flags(flags.0 | row.flags.0))
    })
}

/// The row at a position, where there is one.
pub fn row_at(rows: &[TxRow], at: u32) -> Option<TxRow> {
    rows.get(index(at)).copied()
}
