//! Searching: what a text plainly is opens at once; of everything else the server is asked. One thing found is opened,
//! several are listed.

use hindsight_shared::api::{IndexLevel, SearchHit, search_path};
use hindsight_shared::search::{BlockId, Term, parse_search};
use leptos::prelude::*;

use crate::api::{self, ApiError};
use crate::blocks::Blocks;
use crate::chain::{Answer, Chain, ask};
use crate::components::hits::{Hit, Hits};
use crate::components::loaded::Waiting;
use crate::components::notice::{Notice, Tone};
use crate::format::{ends, group};
use crate::live::{State, live};
use crate::navigation::{Navigator, absolute};
use crate::route::{Page, Spot, TxId, encode_path};

/// Opens what was typed, or says why it leads nowhere.
pub fn open_search(text: &str, answer: Callback<Option<String>>, navigator: Navigator, blocks: Blocks, chain: Chain) {
    let text = text.trim().to_owned();
    let page = match parse_search(&text) {
        Ok(Term::Block(BlockId::Hash(_))) => {
            // The digits may be a transaction's of a block that is open already.
            let txid = text.parse().ok();
            let of_txid = |txid| Some(Page::Transaction(BlockId::Hash(blocks.with_tx(&txid)?), TxId::Txid(txid)));
            txid.and_then(of_txid).map(|page| (page, String::new()))
        }
        Ok(Term::Block(height)) => Some((Page::Block(height), String::new())),
        Ok(Term::Day(day)) => Some((Page::Home, day.to_string())),
        Err(_) => None,
    };
    if let Some((page, query)) = page {
        answer.run(None);
        return navigator.go_with(page, query);
    }
    leptos::task::spawn_local(async move {
        match api::json::<Vec<SearchHit>>(&absolute(&search_path(&encode_path("", &text))), None).await {
            Ok(hits) => match &hits[..] {
                [] => answer.run(Some(nothing(&text, chain))),
                [hit] => {
                    let (page, query) = page_of(hit);
                    answer.run(None);
                    navigator.go_with(page, query);
                }
                _ => {
                    answer.run(None);
                    navigator.go(Page::Search(text));
                }
            },
            Err(error) => answer.run(Some(failed(&error))),
        }
    });
}

/// Why nothing was found: not everything may be indexed.
fn nothing(text: &str, chain: Chain) -> String {
    let short: String = text.chars().take(80).collect();
    let levels = [IndexLevel::Transactions, IndexLevel::Addresses].map(|level| chain.index(level).get_untracked());
    let why = match levels {
        [None, None] => {
            ". This server indexes neither transactions nor addresses: it knows blocks by height, hash and day."
                .to_owned()
        }
        [Some(progress), _] | [_, Some(progress)] if !progress.whole => [
            " as far as is known yet: ",
            &group(progress.blocks),
            " of ",
            &group(progress.of),
            " blocks have been indexed.",
        ]
        .concat(),
        _ => ": no block, transaction, output, address, key or script of this chain.".to_owned(),
    };
    ["'", &short, "' is found nowhere", &why].concat()
}

fn failed(error: &ApiError) -> String {
    ["The search failed: ", &error.to_string(), "."].concat()
}

fn page_of(hit: &SearchHit) -> (Page, String) {
    let page = match hit {
        SearchHit::Block { hash, .. } => Page::block(*hash),
        SearchHit::Day { day } => return (Page::Home, day.to_string()),
        SearchHit::Transaction { txid } => Page::Found(*txid, None),
        SearchHit::Output { txid, vout } => Page::Found(*txid, Some(Spot::Output(*vout))),
        SearchHit::Address { address, script } => {
            Page::Address(address.clone().unwrap_or_else(|| script.to_hex_string()))
        }
    };
    (page, String::new())
}

/// The page of a text that may mean several things.
#[component]
pub fn SearchPage(
    /// It.
    text: String,
) -> impl IntoView {
    crate::app::set_title(&["Search for ", &ends(&text, 12, 8)].concat());
    let (chain, navigator) = (expect_context::<Chain>(), expect_context::<Navigator>());
    let answer: Answer<Vec<SearchHit>> = State::new(None);
    ask(&search_path(&encode_path("", &text)), answer);
    let asked = text.clone();
    let found = move || match answer.get() {
        None => view! { <Waiting /> }.into_any(),
        Some(Ok(hits)) if !hits.is_empty() => {
            navigator.arrived();
            let hits = hits.iter().map(hit).collect();
            view! { <section class="card" aria-label="Found" data-test="hits"><Hits hits /></section> }.into_any()
        }
        Some(Ok(_)) => sorry(nothing(&asked, chain)).into_any(),
        Some(Err(error)) => sorry(failed(&error)).into_any(),
    };
    view! {
        <header class="title">
            <h1>"Search"</h1>
            <p class="muted query">{text}</p>
        </header>
        {live(found)}
    }
}

fn sorry(text: String) -> impl IntoView {
    view! { <Notice tone=Tone::Error title="Nothing found" name="error"><p>{text}</p></Notice> }
}

fn hit(hit: &SearchHit) -> Hit {
    let (what, name) = match hit {
        SearchHit::Block { hash, height } => {
            (height.map_or_else(|| "Block".to_owned(), |height| ["Block ", &group(height)].concat()), hash.to_string())
        }
        SearchHit::Day { day } => ("Blocks of the day".to_owned(), day.to_string()),
        SearchHit::Transaction { txid } => ("Transaction".to_owned(), txid.to_string()),
        SearchHit::Output { txid, vout } => (["Output ", &group(vout), " of"].concat(), txid.to_string()),
        SearchHit::Address { address, script } => {
            let kind = hindsight_shared::script::ScriptKind::of(script).name();
            match address {
                Some(address) => (["Address, ", kind].concat(), address.clone()),
                None => (["Script, ", kind].concat(), script.to_hex_string()),
            }
        }
    };
    let (page, query) = page_of(hit);
    Hit { what, name, href: [page.href(), crate::route::encode_query(&query)].concat() }
}
