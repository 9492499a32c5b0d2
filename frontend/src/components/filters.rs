//! The tools above a block's table: one line that finds and filters, and buttons that write into it.

use hindsight_shared::script::{KindSet, ScriptKind};
use hindsight_shared::summary::Flags;
use leptos::prelude::*;

use super::icon::{Glyph, Icon};
use crate::live::{Derived, effect, live};
use crate::model::bound::{Column, FROM, TO};
use crate::model::query::{FLAGS, Query, kind_word};

/// Where the cursor goes for a find.
pub const FIND_ID: &str = "find";

/// The tools.
#[component]
pub fn Filters(
    /// What the table is filtered by.
    query: Derived<Query>,
    /// Kinds that occur in the block.
    kinds: KindSet,
    /// Traits that occur in the block.
    flags: Flags,
    /// Changes the query.
    change: Callback<String>,
) -> impl IntoView {
    let edit = move |edit: &dyn Fn(&mut Query)| {
        let mut edited = query.get_untracked();
        edit(&mut edited);
        change.run(edited.to_string());
    };
    let text = RwSignal::new(String::new());
    // What is being typed stays as it is typed; the line is rewritten only where something else changed it.
    effect(move || {
        let asked = query.get();
        if Query::parse(&text.get_untracked()) != asked {
            text.set(asked.to_string());
        }
    });
    let type_in = move |event| {
        let typed = event_target_value(&event);
        text.set(typed.clone());
        change.run(typed.split_whitespace().collect::<Vec<_>>().join(" "));
    };
    let escape = move |event: web_sys::KeyboardEvent| {
        if event.key() != "Escape" {
        } else if text.with_untracked(String::is_empty) {
            // Not the filter's key then, nor the chosen row's.
            event.prevent_default();
            // Losing the cursor cannot fail for an element that has it.
            let _ = event_target::<web_sys::HtmlElement>(&event).blur();
        } else {
            text.set(String::new());
        }
    };
    let unknown = move || {
        let unknown = query.with(|query| query.unknown.join(" "));
        (!unknown.is_empty()).then(|| {
            ["Not understood: ", &unknown, ". Try a txid's first digits, rate>=2, size<500, in>10, p2tr, rbf, #12."]
                .concat()
        })
    };
    let kind_chips = kinds.iter().map(|kind| {
        let on = move || query.with(|query| query.kinds.contains(kind));
        view! {
            <button type="button" class="chip" class:on=on aria-pressed=move || on().to_string() data-test="kind" data-kind=kind_word(kind)
                on:click=move |_| edit(&|query| query.toggle_kind(kind))>
                {kind.name()}
            </button>
        }
    });
    let flag_chips = FLAGS.into_iter().filter(|(flag, _)| flags.contains(*flag)).map(|(flag, word)| {
        let on = move || query.with(|query| query.with.contains(flag));
        let off = move || query.with(|query| query.without.contains(flag));
        view! {
            <button type="button" class="chip" class:on=on class:off=off data-test="flag" data-flag=word
                title=flag_meaning(flag)
                on:click=move |_| edit(&|query| query.turn_flag(flag))>
                {live(move || if off() { "not " } else { "" })}{word}
            </button>
        }
    });
    view! {
        <div class="filters">
            <div class="find">
                <Glyph icon=Icon::Search />
                <label class="unseen" for=FIND_ID>"Find by txid, or filter"</label>
                <input id=FIND_ID data-test="find" type="search" autocomplete="off" autocapitalize="off" spellcheck="false"
                    placeholder="txid… or rate>=2 size<500 in>10 p2tr rbf"
                    prop:value=text
                    on:keydown=escape
                    on:input=type_in />
                <kbd aria-hidden="true">"/"</kbd>
            </div>
            <div class="chips" role="group" aria-label="Kinds and traits">
                {kind_chips.collect_view()}
                <span class="rule"></span>
                {flag_chips.collect_view()}
            </div>
            <details class="ranges">
                <summary>"Ranges"</summary>
                <div class="fields">
                    {Column::BOUNDED.into_iter().skip(1).map(|column| view! { <RangeField column query change /> }).collect_view()}
                </div>
            </details>
            {live(move || unknown().map(|text| view! { <p class="trouble" role="status" data-test="not-understood">{text}</p> }))}
        </div>
    }
}

/// From and to of one column.
#[component]
fn RangeField(column: Column, query: Derived<Query>, change: Callback<String>) -> impl IntoView {
    let value = move |end| query.with(|query| query.end_text(column, end));
    let set = move |end, text: String| {
        let mut edited = query.get_untracked();
        edited.set_end(column, end, text.trim());
        change.run(edited.to_string());
    };
    let (name, unit) = column_name(column);
    view! {
        <fieldset>
            <legend>{name} " " <span class="muted">{unit}</span></legend>
            <input type="text" inputmode="decimal" placeholder="from" aria-label=[name, " from"].concat()
                prop:value=move || value(FROM)
                on:change=move |event| set(FROM, event_target_value(&event)) />
            <span aria-hidden="true">"–"</span>
            <input type="text" inputmode="decimal" placeholder="to" aria-label=[name, " to"].concat()
                prop:value=move || value(TO)
                on:change=move |event| set(TO, event_target_value(&event)) />
        </fieldset>
    }
}

/// A column's name and unit.
pub const fn column_name(column: Column) -> (&'static str, &'static str) {
    match column {
        Column::Index => ("Position", ""),
        Column::Txid => ("Transaction", ""),
        Column::Rate => ("Fee rate", "sat/vB"),
        Column::Fee => ("Fee", "sat"),
        Column::Size => ("Size", "vB"),
        Column::Value => ("Value", "sat"),
        Column::Inputs => ("Inputs", ""),
        Column::Outputs => ("Outputs", ""),
    }
}

/// What a trait means.
pub const fn flag_meaning(flag: Flags) -> &'static str {
    match flag {
        Flags::SEGWIT => "Carries witnesses",
        Flags::RBF => "Signalled that it might be replaced (BIP125)",
        Flags::SPENDS_IN_BLOCK => "Spends an output of a transaction of the same block",
        Flags::COINBASE => "Pays the miner",
        _ => "Its prevouts hold less than its outputs, which no valid transaction does",
    }
}

/// The name of a script kind's colour.
pub const fn kind_class(kind: ScriptKind) -> &'static str {
    match kind {
        ScriptKind::P2tr => "kind taproot",
        ScriptKind::P2wpkh | ScriptKind::P2wsh | ScriptKind::P2a | ScriptKind::WitnessUnknown => "kind segwit",
        ScriptKind::NullData | ScriptKind::Nonstandard => "kind data",
        _ => "kind legacy",
    }
}
