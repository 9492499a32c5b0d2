//! Waiting for a block, the block, or why there is none: the same on every page.

use std::sync::Arc;

use leptos::prelude::*;

use super::notice::{Notice, Tone};
use crate::api::ApiError;
use crate::blocks::Load;
use crate::format::bytes;
use crate::live::{Derived, live};
use crate::model::block::LoadedBlock;
use crate::number::share;

/// Shows a block when it is there.
#[component]
pub fn Loaded<F, V>(
    /// How far it is.
    load: ArcRwSignal<Load>,
    /// What to do for another try.
    retry: Callback<()>,
    /// What else there is to say where there is no such block.
    #[prop(default = Signal::stored(None))]
    more: Signal<Option<String>>,
    /// Shows the block.
    ready: F,
) -> impl IntoView
where
    F: Fn(Arc<LoadedBlock>) -> V + Send + 'static,
    V: IntoView + 'static,
{
    let state = load.clone();
    // Progress must not build the page anew, so only the change from one state to another does.
    let stage = Derived::new(move || {
        state.with(|load| match load {
            Load::Fetching(..) | Load::Decoding => Stage::Waiting,
            Load::Ready(block) => Stage::Ready(Arc::clone(block)),
            Load::Failed(error) => Stage::Failed(error.clone()),
        })
    });
    move || match stage.get() {
        Stage::Waiting => view! { <Progress load=load.clone() /> }.into_any(),
        Stage::Ready(block) => ready(block).into_any(),
        Stage::Failed(error) => view! { <Failure error retry more /> }.into_any(),
    }
}

#[derive(Clone)]
enum Stage {
    Waiting,
    Ready(Arc<LoadedBlock>),
    Failed(ApiError),
}

impl PartialEq for Stage {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Waiting, Self::Waiting) => true,
            (Self::Ready(a), Self::Ready(b)) => Arc::ptr_eq(a, b),
            (Self::Failed(a), Self::Failed(b)) => a == b,
            _ => false,
        }
    }
}

#[component]
fn Progress(load: ArcRwSignal<Load>) -> impl IntoView {
    let state = load.clone();
    let thousandths = move || match state.get() {
        Load::Fetching(received, Some(total)) => share(received, total, 1000),
        Load::Fetching(..) => 0,
        _ => 1000,
    };
    let text = move || match load.get() {
        Load::Fetching(0, _) => "Asking for the block…".to_owned(),
        Load::Fetching(received, Some(total)) => ["Fetching: ", &bytes(received), " of ", &bytes(total)].concat(),
        Load::Fetching(received, None) => ["Fetching: ", &bytes(received)].concat(),
        _ => "Decoding and checking…".to_owned(),
    };
    let width = move || crate::format::percent(thousandths());
    view! {
        <div class="progress" data-test="progress" role="status">
            <p>{text}</p>
            <div class="track">
                <div style:width=width></div>
            </div>
        </div>
    }
}

/// Waiting for an answer that is small.
#[component]
pub fn Waiting() -> impl IntoView {
    view! { <p class="muted waiting" role="status">"Asking the server…"</p> }
}

/// What was asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Wanted {
    /// A block, or a list of them.
    Block,
    /// A transaction by its id.
    Transaction,
    /// An address or script.
    Address,
}

/// Why something is not there, and what to do.
#[component]
pub fn Failure(
    /// What went wrong.
    error: ApiError,
    /// What to do for another try.
    retry: Callback<()>,
    /// What was asked for.
    #[prop(default = Wanted::Block)]
    wanted: Wanted,
    /// What else there is to say where something was not found.
    #[prop(default = Signal::stored(None))]
    more: Signal<Option<String>>,
) -> impl IntoView {
    let (title, advice) = advice(&error, wanted);
    let missing = matches!(error, ApiError::Refused { status: 404, .. });
    let sentence = sentence(&error.to_string());
    view! {
        <Notice tone=Tone::Error title name="error">
            <p>{sentence}</p>
            {live(move || more.get().filter(|_| missing).map(|text| view! { <p>{text}</p> }))}
            <p>{advice}</p>
            <p>
                <button type="button" class="button" on:click=move |_| retry.run(())>
                    "Try again"
                </button>
                " "
                <a class="button" href=crate::route::HOME>
                    "Newest blocks"
                </a>
            </p>
        </Notice>
    }
}

/// A message as a sentence: with a capital letter and a full stop.
fn sentence(message: &str) -> String {
    let mut chars = message.chars();
    let mut out: String = chars.next().map(|first| first.to_ascii_uppercase().to_string()).unwrap_or_default();
    out.push_str(chars.as_str());
    if !out.ends_with(['.', '!', '?']) {
        out.push('.');
    }
    out
}

const fn advice(error: &ApiError, wanted: Wanted) -> (&'static str, &'static str) {
    match error {
        ApiError::Unreachable(_) => {
            ("No answer from the server", "Is Hindsight still running, and is this machine still connected to it?")
        }
        ApiError::Refused { status, .. } => match (*status, wanted) {
            (400, Wanted::Address) => (
                "That is no address",
                "An address of another network has no history here. Base58 addresses are told apart by case; a script is written in hex.",
            ),
            (400, _) => ("That is no block", "A block is named by its height, or by its hash: 64 hex digits."),
            (404, Wanted::Block) => ("Not found", "A height beyond the tip does not exist yet."),
            (404, _) => (
                "Not found",
                "Only what stands in blocks of the best chain is found: a transaction that waits in the mempool, or stands in a stale block alone, is not.",
            ),
            (503, Wanted::Transaction | Wanted::Address) => (
                "Not indexed yet",
                "The server is still indexing, newest blocks first. This page looks again by itself.",
            ),
            (410, _) => (
                "Pruned",
                "The node has deleted this block to save space. A node without -prune, or one that fetches the block again, would have it.",
            ),
            (503, _) => ("Not read yet", "The server is still reading the node's files. The newest blocks come first."),
            (500, _) => (
                "Damaged",
                "The bytes on the server's disk are not the block's. Bitcoin Core can write them anew with -reindex; a look at the disk's health is due.",
            ),
            _ => ("The server refuses", "The server's log may say more."),
        },
        ApiError::Unreadable(_) => (
            "The answer cannot be decoded",
            "What arrived is not this block: another version of Hindsight, something between you and the server, or damage.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_become_sentences() {
        assert_eq!(sentence("there is no block 5"), "There is no block 5.");
        assert_eq!(sentence("Done."), "Done.");
        assert_eq!(sentence(""), ".");
    }
}
