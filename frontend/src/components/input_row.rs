//! One input of a transaction: what it spends, and how it was allowed to.

use bitcoin::Network;
use hindsight_shared::script::{address, text};
use leptos::prelude::*;

use super::copy::Hash;
use super::fact::Fact;
use super::filters::kind_class;
use super::output_row::{Measured, Opened, RowHead, who};
use super::script::{Bytes, Piece, ScriptView, WitnessItem};
use super::virtual_list::ListPlace;
use crate::format::{count, ends, group};
use crate::live::{Derived, State, effect, live};
use crate::model::explain::{coin_age, sequence};
use crate::model::tx::Input;
use crate::model::witness::Spend;

/// What an input's row needs beside the input.
#[derive(Clone, Debug)]
pub struct InputContext {
    /// Position among the inputs.
    pub at: usize,
    /// The transaction's version, which decides about relative locks.
    pub version: u32,
    /// The height of the block that spends.
    pub height: Option<u32>,
    /// Whose addresses.
    pub network: Network,
    /// The page of the spent output, where it is known to be there.
    pub source: Signal<Option<String>>,
    /// The page of the spent output's address or script.
    pub owner: Signal<Option<String>>,
    /// Whether the page's address names this input.
    pub named: bool,
    /// The page of the block that created the coin.
    pub source_block: Option<String>,
}

/// The row.
#[component]
pub fn InputRow(
    /// The input.
    input: Input,
    /// What else there is to know.
    context: InputContext,
    /// Where the list stands.
    place: ListPlace,
    /// Which rows are open.
    open: State<Opened>,
) -> impl IntoView {
    let at = context.at;
    let is_open = Derived::new(move || open.with(|open| open.has(at)));
    effect(move || {
        if !is_open.get() {
            place.stretch(at, 0);
        }
    });
    let title = input.spent.as_ref().map_or_else(
        || if input.coinbase { "coinbase: new coins and fees".to_owned() } else { "spent output not known".to_owned() },
        |spent| who(address(&spent.script, context.network), spent.kind),
    );
    let kind =
        input.spent.as_ref().map(|spent| view! { <span class=kind_class(spent.kind)>{spent.kind.name()}</span> });
    let value = input.spent.as_ref().map(|spent| spent.value);
    let spend = input.spend().map(|spend| view! { <span class="kind trait">{spend_name(spend)}</span> });
    let line = second_line(&input, &context);
    let (owner, named) = (context.owner, context.named);
    let rest = (input, context);
    view! {
        <div class="io-row" class:named=named role="listitem" data-test="input" data-index=at.to_string()>
            <span class="io-index">{group(at)}</span>
            <RowHead at name=title owner value open />
            <div class="io-line">{kind}{spend}{line}</div>
            {live(move || is_open.get().then(|| {
                let (input, context) = rest.clone();
                view! { <Measured at place><Details input context /></Measured> }
            }))}
        </div>
    }
}

/// How a coin was spent, in a few words.
fn spend_name(spend: Spend) -> String {
    match spend {
        Spend::KeyPath => "key path".to_owned(),
        Spend::ScriptPath { leaf_version: 0xc0, depth } => ["script path, depth ", &depth.to_string()].concat(),
        Spend::ScriptPath { leaf_version, depth } => {
            ["script path, depth ", &depth.to_string(), ", leaf version ", &leaf_version.to_string()].concat()
        }
        Spend::Nested(kind) => "nested ".to_owned() + kind.name(),
    }
}

fn second_line(input: &Input, context: &InputContext) -> AnyView {
    if input.coinbase {
        return view! { <span class="quote">{text(input.script_sig.as_bytes())}</span> }.into_any();
    }
    let outpoint = [&ends(&input.txid.to_string(), 8, 6), ":", &input.vout.to_string()].concat();
    let outpoint = view! { <a href=context.source title="The output that it spends" data-test="source"><code>{outpoint}</code></a> };
    let age = input.created.map(|created| {
        let age = match context.height.map(|height| height.saturating_sub(created.height.0)) {
            Some(0) => "from this block, ".to_owned(),
            Some(blocks) => count(blocks.into(), "block") + " old, from ",
            None => "from ".to_owned(),
        };
        let made = if created.coinbase { "coinbase of " } else { "" };
        view! { <span class="muted">{age} {made} <a href=context.source_block.clone()>{group(created.height)}</a></span> }
    });
    view! { {outpoint}{age} }.into_any()
}

#[component]
fn Details(input: Input, context: InputContext) -> impl IntoView {
    let roles = input.roles();
    // A coinbase spends nothing that could be locked, and is never replaced.
    let meaning = if input.coinbase { String::new() } else { sequence(input.sequence, context.version) };
    let sequence_text = hex_word(input.sequence);
    let age = input.created.and_then(|created| Some(coin_age(context.height?.checked_sub(created.height.0)?)));
    let created = input.created.map(|created| {
        let made = if created.coinbase { " (coinbase)" } else { "" };
        view! {
            <Fact name="Created in" value=view! { <a href=context.source_block.clone()>"block " {group(created.height)}</a>
                {made} }.into_any() />
        }
    });
    let spent = input.spent.clone().map(|spent| {
        view! {
            <ScriptView name=["Spent output's script: ", spent.kind.core_name()].concat() script=spent.script />
        }
    });
    let coinbase = input.coinbase;
    let script_sig = input.script_sig.clone();
    let unlocking = if script_sig.is_empty() {
        None
    } else if coinbase {
        let said = text(script_sig.as_bytes());
        Some(view! { <Piece name="Coinbase text" text=said shown=3000 /><Bytes name="Coinbase (hex)" bytes=script_sig.into_bytes() /> }.into_any())
    } else {
        Some(view! { <ScriptView name="scriptSig" script=script_sig /> }.into_any())
    };
    let witness = input.witness.into_iter().zip(roles).enumerate();
    let witness = witness.map(|(at, (item, role))| view! { <WitnessItem at role item /> }).collect_view();
    view! {
        <dl class="facts">
            {(!coinbase).then(|| view! {
                <Fact name="Spends output" wide=true value=view! { <span>{group(input.vout)} " of "</span> <Hash text=input.txid.to_string() what="txid" /> }.into_any() />
            })}
            {created}
            {age.map(|age| view! { <Fact name="Coin age" value=view! { {age} }.into_any() /> })}
            <Fact name="Sequence" double=true value=view! { <code>{sequence_text}</code> " " <span class="muted">{meaning}</span> }.into_any() />
        </dl>
        {unlocking}
        {witness}
        {spent}
    }
}

/// A 32-bit number as hex: `0xfffffffd`.
pub fn hex_word(word: u32) -> String {
    "0x".to_owned() + &crate::format::hex(&word.to_be_bytes())
}
