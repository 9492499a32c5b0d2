//! What a search has found, where that is several things.

use leptos::prelude::*;

/// One of them, in words.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Hit {
    /// What it is.
    pub what: String,
    /// Its name.
    pub name: String,
    /// Its page.
    pub href: String,
}

/// The list.
#[component]
pub fn Hits(
    /// All of them, likeliest first.
    hits: Vec<Hit>,
) -> impl IntoView {
    let rows = hits.into_iter().map(|Hit { what, name, href }| {
        view! { <li><a href=href data-test="hit"><span class="muted">{what}</span><code>{name}</code></a></li> }
    });
    view! { <ul class="hits">{rows.collect_view()}</ul> }
}
