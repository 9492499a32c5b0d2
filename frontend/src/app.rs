//! The app: contexts, frame, the open page, and the keys that work everywhere.

use hindsight_shared::search::{BlockId, Term, parse_search};
use leptos::prelude::*;

use crate::blocks::Blocks;
use crate::browser::{focus, is_taken, on_key};
use crate::chain::Chain;
use crate::components::frame::{Foot, Head};
use crate::components::keys::Keys;
use crate::components::search_box::SEARCH_ID;
use crate::fetched::Fetched;
use crate::navigation::Navigator;
use crate::pages::block::{BlockPage, LastTx};
use crate::pages::home::{HomePage, JUMP_ID};
use crate::pages::not_found::NotFoundPage;
use crate::pages::transaction::TransactionPage;
use crate::route::{Page, TxId};
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
    provide_context(Chain::start());
    provide_context(Fetched::new());
    provide_context(LastTx(StoredValue::new(None)));
    let sheet = RwSignal::new(false);
    on_key(move |event| global_key(event, navigator, settings, sheet));
    let search = Callback::new(move |text: String| open_search(&text, navigator, blocks));
    let page = Memo::new(move |_| navigator.page.get());
    view! {
        <Head search />
        <main id="main" tabindex="-1">
            {move || match page.get() {
                Page::Home => view! { <HomePage /> }.into_any(),
                Page::Block(id) => view! { <BlockPage id /> }.into_any(),
                Page::Transaction(id, tx) => view! { <TransactionPage id tx /> }.into_any(),
                Page::NotFound => view! { <NotFoundPage /> }.into_any(),
            }}
        </main>
        <Foot keys=sheet />
        <Keys open=sheet />
    }
}

/// Opens what was typed, or says why it names nothing.
fn open_search(text: &str, navigator: Navigator, blocks: Blocks) -> Option<String> {
    match parse_search(text) {
        Ok(Term::Block(BlockId::Hash(hash))) => {
            // The same digits may be a transaction's of a block that is open already.
            let txid = text.trim().parse().ok();
            let block = txid.and_then(|txid| blocks.with_tx(&txid));
            navigator.go(match (block, txid) {
                (Some(block), Some(txid)) => Page::Transaction(BlockId::Hash(block), TxId::Txid(txid)),
                _ => Page::block(hash),
            });
            None
        }
        Ok(Term::Block(height)) => {
            navigator.go(Page::Block(height));
            None
        }
        Ok(Term::Day(day)) => {
            navigator.go_with(Page::Home, day.to_string());
            None
        }
        Err(error) => Some(error.to_string()),
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
        "/" if !matches!(navigator.page.get_untracked(), Page::Block(_)) => focus(SEARCH_ID),
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
