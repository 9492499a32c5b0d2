//! The app: contexts, frame, the open page, and the keys that work everywhere.

use leptos::prelude::*;

use crate::blocks::Blocks;
use crate::browser::{focus, is_taken, on_key};
use crate::chain::Chain;
use crate::components::frame::{Foot, Head};
use crate::components::keys::Keys;
use crate::components::search_box::SEARCH_ID;
use crate::fetched::Fetched;
use crate::live::{Derived, live};
use crate::navigation::Navigator;
use crate::pages::address::AddressPage;
use crate::pages::block::{BlockPage, LastTx};
use crate::pages::home::{HomePage, JUMP_ID};
use crate::pages::not_found::NotFoundPage;
use crate::pages::search::{SearchPage, open_search};
use crate::pages::transaction::{FoundPage, TransactionPage};
use crate::route::Page;
use crate::settings::{Settings, Theme};

/// Everything that is shown.
#[component]
pub fn App() -> impl IntoView {
    let settings = Settings::start();
    let navigator = Navigator::start();
    let blocks = Blocks::start();
    provide_context(settings);
    provide_context(navigator);
    provide_context(blocks);
    provide_context(Fetched::new());
    provide_context(LastTx(StoredValue::new(None)));
    let sheet = RwSignal::new(false);
    on_key(move |event| global_key(event, navigator, settings, sheet));
    let chain = Chain::start();
    provide_context(chain);
    let search = Callback::new(move |(text, answer): (String, _)| open_search(&text, answer, navigator, blocks, chain));
    let page = Derived::new(move || navigator.page.get());
    view! {
        <Head search />
        <main id="main" tabindex="-1">
            {live(move || match page.get() {
                Page::Home => view! { <HomePage /> }.into_any(),
                Page::Block(id) => view! { <BlockPage id /> }.into_any(),
                Page::Transaction(id, tx) => view! { <TransactionPage id tx /> }.into_any(),
                Page::Found(txid, spot) => view! { <FoundPage txid spot /> }.into_any(),
                Page::Address(name) => view! { <AddressPage name /> }.into_any(),
                Page::Search(text) => view! { <SearchPage text /> }.into_any(),
                Page::NotFound => view! { <NotFoundPage /> }.into_any(),
            })}
        </main>
        <Foot keys=sheet />
        <Keys open=sheet />
    }
}

fn global_key(event: &web_sys::KeyboardEvent, navigator: Navigator, settings: Settings, sheet: RwSignal<bool>) {
    if event.key() == "Escape" && sheet.get_untracked() {
        event.prevent_default();
        return sheet.set(false);
    }
    if is_taken(event) {
        return;
    }
    match event.key().as_str() {
        "s" => focus(SEARCH_ID),
        // A block's page has its own find for this key and hears it first.
        "/" if !navigator.page.with_untracked(|page| matches!(page, Page::Block(_))) => focus(SEARCH_ID),
        "g" => focus(JUMP_ID),
        "h" => navigator.go(Page::Home),
        "u" => settings.unit.update(|unit| *unit = unit.other()),
        "t" => settings.theme.update(|theme| *theme = Theme::next(*theme)),
        "?" => sheet.set(true),
        _ => return,
    }
    event.prevent_default();
}

/// Names the window after the page.
pub fn set_title(name: &str) {
    let title = if name.is_empty() { "Hindsight".to_owned() } else { [name, " · Hindsight"].concat() };
    document().set_title(&title);
}
