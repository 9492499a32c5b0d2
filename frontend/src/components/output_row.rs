//! One output of a transaction: who gets how much.

use std::collections::BTreeSet;

use bitcoin::{Amount as Sats, Network};
use hindsight_shared::found_tx::Fate;
use hindsight_shared::script::{ScriptKind, address, is_unspendable};
use leptos::html::Div;
use leptos::prelude::*;
use wasm_bindgen::prelude::*;

use super::amount::Amount;
use super::copy::Hash;
use super::fact::Fact;
use super::filters::kind_class;
use super::icon::{Glyph, Icon};
use super::script::{Piece, ScriptView, return_text};
use super::virtual_list::ListPlace;
use crate::format::{ends, group};
use crate::live::{Derived, State, effect, live};
use crate::model::tx::Output;

/// Which rows of a list are open.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Opened {
    all: bool,
    /// The rows that differ from `all`.
    turned: BTreeSet<usize>,
}

impl Opened {
    /// Whether a row is open.
    pub fn has(&self, at: usize) -> bool {
        self.all != self.turned.contains(&at)
    }

    /// Opens a closed row and closes an open one.
    pub fn turn(&mut self, at: usize) {
        if !self.turned.remove(&at) {
            self.turned.insert(at);
        }
    }

    /// Opens all rows, or closes all.
    pub fn turn_all(&mut self) {
        self.all = !self.all;
        self.turned.clear();
    }
}

/// Who an output belongs to, as far as anybody can tell from its script.
pub fn who(address: Option<String>, kind: ScriptKind) -> String {
    address.unwrap_or_else(|| {
        match kind {
            ScriptKind::P2pk => "public key",
            ScriptKind::Multisig => "several public keys",
            ScriptKind::NullData => "data",
            _ => "script without an address",
        }
        .to_owned()
    })
}

/// The head of a row: whose it is, and a button with the amount that opens the rest.
#[component]
pub fn RowHead(
    /// Position in the list.
    at: usize,
    /// All of the name; it is cut before its end where there is no room, since ends are what readers compare.
    name: String,
    /// The page of that name.
    owner: Signal<Option<String>>,
    /// How much.
    value: Option<Sats>,
    /// Which rows are open.
    open: State<Opened>,
) -> impl IntoView {
    let (start, end) = name.split_at_checked(name.len().saturating_sub(8)).unwrap_or((&name, ""));
    let is_open = move || open.with(|open| open.has(at)).to_string();
    view! {
        <div class="io-top">
            <a class="io-who" href=owner><span>{start.to_owned()}</span>{end.to_owned()}</a>
            <button type="button" class="io-head" aria-expanded=is_open title="Scripts and all the rest"
                on:click=move |_| open.update(|open| open.turn(at))>
                {value.map(|value| view! { <span class="io-value"><Amount value /></span> })}
                <Glyph icon=Icon::Down />
            </button>
        </div>
    }
}

/// What became of an output, and the page of the input that spends it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Fated {
    /// What.
    pub fate: Fate,
    /// Where.
    pub href: Option<String>,
}

fn fate_view(Fated { fate, href }: Fated) -> AnyView {
    let said = match fate {
        Fate::Spent(spender) => {
            let input = [&ends(&spender.txid.to_string(), 8, 6), ":", &spender.input.to_string()].concat();
            return view! {
                <span data-test="spent-by">
                    <span class="muted">"spent by "</span>
                    <a href=href title="The input that spends it"><code>{input}</code></a>
                    <span class="muted">" in " {group(spender.height)}</span>
                </span>
            }
            .into_any();
        }
        Fate::Unspent => ("kind unspent", "unspent"),
        Fate::Unknown => ("muted", "not known yet whether spent"),
        Fate::Unspendable => ("muted", "can never be spent"),
    };
    view! { <span class=said.0 data-test="fate">{said.1}</span> }.into_any()
}

/// The row.
#[component]
pub fn OutputRow(
    /// Position among the outputs.
    at: usize,
    /// The output.
    output: Output,
    /// Whose addresses.
    network: Network,
    /// The page of its address or script.
    owner: Signal<Option<String>>,
    /// What became of it, where that is known.
    fate: Signal<Option<Fated>>,
    /// Whether the page's address names it.
    named: bool,
    /// Where the list stands.
    place: ListPlace,
    /// Which rows are open.
    open: State<Opened>,
) -> impl IntoView {
    let is_open = Derived::new(move || open.with(|open| open.has(at)));
    effect(move || {
        if !is_open.get() {
            place.stretch(at, 0);
        }
    });
    let text = (output.kind == ScriptKind::NullData).then(|| return_text(&output.script));
    let quote = text.clone().filter(|text| !text.is_empty()).map(|text| view! { <span class="quote">{text}</span> });
    let unspendable = is_unspendable(&output.script).then_some(Fated { fate: Fate::Unspendable, href: None });
    let kind = output.kind;
    let name = who(address(&output.script, network), kind);
    let value = Some(output.value);
    view! {
        <div class="io-row" class:named=named role="listitem" data-test="output" data-index=at.to_string()>
            <span class="io-index">{group(at)}</span>
            <RowHead at name owner value open />
            <div class="io-line">
                <span class=kind_class(kind)>{kind.name()}</span>
                {quote}
                {live(move || fate.get().or_else(|| unspendable.clone()).map(fate_view))}
            </div>
            {live(move || is_open.get().then(|| {
                let output = output.clone();
                view! { <Measured at place><Details output network /></Measured> }
            }))}
        </div>
    }
}

#[component]
fn Details(output: Output, network: Network) -> impl IntoView {
    let text =
        (output.kind == ScriptKind::NullData).then(|| return_text(&output.script)).filter(|text| !text.is_empty());
    let address = address(&output.script, network);
    view! {
        {address.map(|address| view! { <dl class="facts"><Fact name="Address" wide=true value=view! { <Hash text=address what="address" /> }.into_any() /></dl> })}
        {text.map(|text| view! { <Piece name="Text" text shown=3000 /> })}
        <ScriptView name=["scriptPubKey: ", output.kind.core_name()].concat() script=output.script />
    }
}

/// The opened part of a row: tells the list how high it is, whenever that changes.
#[component]
pub fn Measured(
    /// The row's position.
    at: usize,
    /// Where the list stands.
    place: ListPlace,
    /// What is inside.
    children: Children,
) -> impl IntoView {
    let frame = NodeRef::<Div>::new();
    let observer = StoredValue::new_local(None::<Observer>);
    effect(move || {
        if let Some(element) = frame.get() {
            let measured = element.clone();
            let tell = move || place.stretch(at, u32::try_from(measured.offset_height()).unwrap_or(0));
            tell();
            observer.set_value(Observer::start(&element, tell));
        }
    });
    on_cleanup(move || {
        // A row that only left the window keeps its height; a closed one gives it back.
        drop(observer.try_update_value(Option::take));
    });
    view! { <div class="io-details" node_ref=frame>{children()}</div> }
}

/// Watches an element's size until it is dropped.
struct Observer {
    observer: web_sys::ResizeObserver,
    _tell: Closure<dyn Fn()>,
}

impl Observer {
    fn start(element: &web_sys::Element, tell: impl Fn() + 'static) -> Option<Self> {
        let tell = Closure::<dyn Fn()>::new(tell);
        let observer = web_sys::ResizeObserver::new(tell.as_ref().unchecked_ref()).ok()?;
        observer.observe(element);
        Some(Self { observer, _tell: tell })
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.observer.disconnect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_open_and_close() {
        let mut opened = Opened::default();
        opened.turn(3);
        assert!(opened.has(3) && !opened.has(4));
        opened.turn_all();
        assert!(opened.has(3) && opened.has(4));
        opened.turn(4);
        assert!(!opened.has(4));
        opened.turn_all();
        assert!(!opened.has(3) && !opened.has(4));
    }
}
