//! Long names: shown whole or cut in the middle, copied with a click.

use leptos::prelude::*;

use super::icon::{Glyph, Icon};
use crate::format::ends;
use crate::live::live;

/// A button that copies a text.
#[component]
pub fn Copy(
    /// What is copied.
    text: String,
    /// What it is, for those who cannot see it.
    what: &'static str,
) -> impl IntoView {
    let copied = RwSignal::new(false);
    let copy = move |_| {
        let text = text.clone();
        leptos::task::spawn_local(async move {
            let written = window().navigator().clipboard().write_text(&text);
            if wasm_bindgen_futures::JsFuture::from(written).await.is_ok() {
                copied.try_set(true);
                let back = move || {
                    let _ = copied.try_set(false);
                };
                set_timeout(back, std::time::Duration::from_secs(2));
            }
        });
    };
    let icon = Signal::derive(move || if copied.get() { Icon::Tick } else { Icon::Copy });
    view! {
        <button class="copy" class:copied=copied type="button" title=["Copy ", what].concat() on:click=copy>
            <Glyph icon />
            <span class="unseen" role="status">{live(move || if copied.get() { "copied" } else { "" })}</span>
            <span class="unseen">"Copy " {what}</span>
        </button>
    }
}

/// A hash that may be long: whole where there is room, with its ends where there is not.
#[component]
pub fn Hash(
    /// All of it.
    text: String,
    /// What it is, for the copy button.
    what: &'static str,
) -> impl IntoView {
    let short = ends(&text, 12, 12);
    view! {
        <span class="hash">
            <code class="whole">{text.clone()}</code>
            <code class="cut" aria-hidden="true">{short}</code>
            <Copy text what />
        </span>
    }
}
