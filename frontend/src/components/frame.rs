//! What stands around every page: name, network, search, switches, and what is wrong with the server.

use hindsight_shared::api::ServedChain;
use leptos::prelude::*;

use super::search_box::{SEARCH_ID, Search, SearchBox};
use super::switches::{ThemeSwitch, UnitSwitch};
use crate::chain::Chain;
use crate::live::{Derived, live};
use crate::route::HOME;

/// The head of every page.
#[component]
pub fn Head(
    /// Opens a search.
    search: Search,
) -> impl IntoView {
    let chain = expect_context::<Chain>();
    let network = move || chain.status.with(|status| status.as_ref().map(|status| network_name(&status.network)));
    let chains = Derived::new(move || chain.status.with(|status| status.as_ref().map(|status| status.chains.clone())));
    view! {
        <a class="skip" href="#main" on:click=|_| crate::browser::focus("main")>
            "To the content"
        </a>
        <header class="head">
            <div class="inner">
                <a class="name" href=HOME title="Newest blocks (h)">
                    <Mark />
                    <span>"Hindsight"</span>
                </a>
                <span class="network" data-test="network">
                    {network}
                </span>
                {live(move || chains.get().map(|chains| view! { <ChainSwitch chains /> }))}
                <SearchBox search id=SEARCH_ID what="Block, transaction, address, date" key="s" />
                <div class="switches">
                    <UnitSwitch />
                    <ThemeSwitch />
                </div>
            </div>
        </header>
        {live(move || {
            chain
                .trouble
                .get()
                .map(|error| {
                    view! {
                        <p class="banner" role="status" data-test="offline">
                            "What is shown stays, but nothing new arrives: " {error.to_string()} "."
                        </p>
                    }
                })
        })}
    }
}

/// Links to the chains of a server that has several.
#[component]
fn ChainSwitch(
    /// All of them.
    chains: Vec<ServedChain>,
) -> impl IntoView {
    let links = |chains: Vec<ServedChain>| {
        chains
            .into_iter()
            .map(|ServedChain { title, path }| {
                let current = (path == HOME).then_some("true");
                view! { <a href=path rel="external" aria-current=current>{title}</a> }
            })
            .collect_view()
    };
    (chains.len() > 1)
        .then(|| view! { <nav class="chains" aria-label="Chains" data-test="chains">{links(chains)}</nav> })
}

/// The name that people use for a network that Core's RPC names in its own way.
fn network_name(core_name: &str) -> String {
    match core_name {
        "main" => "mainnet",
        "test" => "testnet3",
        other => other,
    }
    .to_owned()
}

/// The mark: layers laid down one after another, and the look back at them.
#[component]
fn Mark() -> impl IntoView {
    view! {
        <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
            <path class="layer one" d="M3 24h26" />
            <path class="layer two" d="M3 18h26" />
            <path class="layer three" d="M13 12h16" />
            <path class="look" d="M17 5H8a5 5 0 0 0-5 5v1m-2.5-2.5L3 11l2.5-2.5" />
        </svg>
    }
}

/// The foot of every page.
#[component]
pub fn Foot(
    /// Opens the sheet of keys.
    keys: RwSignal<bool>,
) -> impl IntoView {
    let chain = expect_context::<Chain>();
    let version = move || chain.status.with(|status| status.as_ref().map(|status| status.version.clone()));
    view! {
        <footer class="foot">
            <div class="inner">
                <span>"Hindsight " {version}</span>
                <span>"Decoded and checked in this browser. No request to anyone but this server."</span>
                <button type="button" class="plain" on:click=move |_| keys.set(true)>
                    "Keys " <kbd>"?"</kbd>
                </button>
            </div>
        </footer>
    }
}
