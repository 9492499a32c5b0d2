//! Scripts, witness items and other bytes: as words and as hex, cut where they are too long to read.

use bitcoin::{Script, ScriptBuf};
use hindsight_shared::script;
use leptos::prelude::*;

use super::copy::Copy;
use crate::format::{bytes, hex};
use crate::live::live;
use crate::model::witness::Role;
use crate::number::wide;

/// Bytes shown before a reader asks for all: a witness may hold megabytes.
const SHOWN: usize = 1200;

/// Characters of asm shown likewise.
const ASM_SHOWN: usize = 3000;

/// A named piece of text in a box of its own.
#[component]
pub fn Piece(
    /// What it is.
    #[prop(into)]
    name: String,
    /// All of it.
    text: String,
    /// How much of it is shown at first.
    shown: usize,
    /// Whether there is a copy button.
    #[prop(default = true)]
    copy: bool,
) -> impl IntoView {
    let all = RwSignal::new(false);
    let cut = text.char_indices().nth(shown).map(|(at, _)| text[..at].to_owned() + "…");
    let (is_cut, size) = (cut.is_some(), bytes(wide(text.len())));
    let whole = text.clone();
    let body = move || if all.get() { whole.clone() } else { cut.clone().unwrap_or_else(|| whole.clone()) };
    view! {
        <div class="piece">
            <h4>{name} {copy.then(|| view! { <Copy text what="it" /> })}</h4>
            <pre>{body}</pre>
            {live(move || {
                (is_cut && !all.get())
                    .then(|| {
                        view! {
                            <button type="button" class="plain" on:click=move |_| all.set(true)>
                                "Show all " {size.clone()}
                            </button>
                        }
                    })
            })}
        </div>
    }
}

/// Bytes as hex.
#[component]
pub fn Bytes(
    /// What they are.
    #[prop(into)]
    name: String,
    /// The bytes.
    bytes: Vec<u8>,
) -> impl IntoView {
    view! { <Piece name text=hex(&bytes) shown=2 * SHOWN /> }
}

/// A script in words and as hex.
#[component]
pub fn ScriptView(
    /// What it is.
    #[prop(into)]
    name: String,
    /// The script.
    script: ScriptBuf,
) -> impl IntoView {
    let hex_name = name.clone() + " (hex)";
    view! {
        <Piece name text=script::asm(&script) shown=ASM_SHOWN />
        <Bytes name=hex_name bytes=script.into_bytes() />
    }
}

/// One item of a witness.
#[component]
pub fn WitnessItem(
    /// Its position.
    at: usize,
    /// What it is for.
    role: Role,
    /// The item.
    item: Vec<u8>,
) -> impl IntoView {
    let size = bytes(wide(item.len()));
    let name = ["Witness ", &at.to_string(), ": ", role.name(), ", ", &size].concat();
    if item.is_empty() {
        view! {
            <div class="piece" data-test="witness-item">
                <h4>{name}</h4>
                <pre class="faint">"(empty)"</pre>
            </div>
        }
        .into_any()
    } else {
        let asm = role.is_script().then(|| {
            let name = role.name().to_owned() + " in words";
            view! { <Piece name text=script::asm(Script::from_bytes(&item)) shown=ASM_SHOWN /> }
        });
        view! {
            <div data-test="witness-item">
                <Bytes name bytes=item />
                {asm}
            </div>
        }
        .into_any()
    }
}

/// What the pushes of an OP_RETURN output say.
pub fn return_text(script: &Script) -> String {
    let pushes = script.instructions().filter_map(|item| match item {
        Ok(bitcoin::script::Instruction::PushBytes(push)) => Some(script::text(push.as_bytes())),
        _ => None,
    });
    pushes.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_op_return_says_its_text() {
        let script = ScriptBuf::from_hex("6a0548656c6c6f03e29882").unwrap();
        assert_eq!(return_text(&script), "Hello ☂");
        assert_eq!(return_text(&ScriptBuf::from_hex("6a").unwrap()), "");
        // A push beyond the end is no text, and no panic.
        assert_eq!(return_text(&ScriptBuf::from_hex("6a4c75aabb").unwrap()), "");
    }
}
