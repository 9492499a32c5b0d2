//! The search box in the frame: a height or a hash.

use leptos::prelude::*;

use super::icon::{Glyph, Icon};

/// Where the cursor goes for a search.
pub const SEARCH_ID: &str = "search";

/// A search box. `search` opens what was typed, or says why it cannot.
#[component]
pub fn SearchBox(
    /// Opens a search.
    search: Callback<String, Option<String>>,
) -> impl IntoView {
    let (text, trouble) = (RwSignal::new(String::new()), RwSignal::new(None::<String>));
    let submit = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        let asked = text.get_untracked();
        if asked.trim().is_empty() {
            return;
        }
        let answer = search.run(asked);
        if answer.is_none() {
            text.set(String::new());
        }
        trouble.set(answer);
    };
    let clear = move |event: leptos::ev::KeyboardEvent| {
        if event.key() == "Escape" {
            event.prevent_default();
            text.set(String::new());
            trouble.set(None);
            let input: web_sys::HtmlElement = event_target(&event);
            // Losing the cursor cannot fail for an element that has it.
            let _ = input.blur();
        }
    };
    view! {
        <form class="search" role="search" on:submit=submit>
            <Glyph icon=Icon::Search />
            <label class="unseen" for=SEARCH_ID>
                "Block height or hash"
            </label>
            <input
                id=SEARCH_ID
                data-test="search"
                type="search"
                autocomplete="off"
                autocapitalize="off"
                spellcheck="false"
                enterkeyhint="go"
                placeholder="Block height or hash"
                aria-describedby="search-trouble"
                aria-invalid=move || trouble.get().is_some().to_string()
                prop:value=text
                on:keydown=clear
                on:input=move |event| {
                    text.set(event_target_value(&event));
                    trouble.set(None);
                }
            />
            <kbd aria-hidden="true">"s"</kbd>
            <p id="search-trouble" class="trouble" role="status">{trouble}</p>
        </form>
    }
}
