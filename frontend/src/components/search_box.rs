//! A box to search with: the frame's, for any block, and the list's, for a place in it.

use leptos::prelude::*;

use super::icon::{Glyph, Icon};

/// Where the cursor goes for a search.
pub const SEARCH_ID: &str = "search";

/// Opens what was typed, and then says nothing, or why it cannot.
pub type Search = Callback<(String, Callback<Option<String>>)>;

/// A search box.
#[component]
pub fn SearchBox(
    /// Opens a search.
    search: Search,
    /// Its id.
    id: &'static str,
    /// What it takes.
    what: &'static str,
    /// The key that puts the cursor here.
    key: &'static str,
) -> impl IntoView {
    let (text, trouble) = (RwSignal::new(String::new()), RwSignal::new(None::<String>));
    let answer = Callback::new(move |why: Option<String>| {
        if why.is_none() {
            text.set(String::new());
        }
        trouble.set(why);
    });
    let submit = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        let asked = text.get_untracked();
        if asked.trim().is_empty() {
            return;
        }
        search.run((asked, answer));
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
    let trouble_id = [id, "-trouble"].concat();
    view! {
        <form class="search" role="search" on:submit=submit>
            <Glyph icon=Icon::Search />
            <label class="unseen" for=id>{what}</label>
            <input
                id=id
                data-test=id
                type="search"
                autocomplete="off"
                autocapitalize="off"
                spellcheck="false"
                enterkeyhint="go"
                placeholder=what
                aria-describedby=trouble_id.clone()
                aria-invalid=move || trouble.get().is_some().to_string()
                prop:value=text
                on:keydown=clear
                on:input=move |event| {
                    text.set(event_target_value(&event));
                    trouble.set(None);
                }
            />
            <kbd aria-hidden="true">{key}</kbd>
            <p id=trouble_id class="trouble" role="status">{trouble}</p>
        </form>
    }
}
