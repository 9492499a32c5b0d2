//! An address, or a script without one: what it holds, what it held, and every transaction that touched it.

use bitcoin::ScriptBuf;
use hindsight_shared::address::{BalanceAt, Coin, Totals};
use hindsight_shared::api::{IndexLevel, SearchHit, address_path, balance_path, search_path, unspent_path};
use hindsight_shared::script::{ScriptKind, address};
use leptos::prelude::*;

use super::address_lists::{CoinList, HistoryList};
use super::ledger::Ledger;
use crate::chain::{Answer, Chain, ask, ask_rows};
use crate::components::amount::Amount;
use crate::components::balance::BalanceChart;
use crate::components::copy::Hash;
use crate::components::fact::Fact;
use crate::components::filters::kind_class;
use crate::components::loaded::{Failure, Wanted};
use crate::components::notice::{Notice, Tone};
use crate::components::qr::{Qr, qr_text};
use crate::components::script::ScriptView;
use crate::format::{count, ends, group};
use crate::live::{Derived, State, effect, live};
use crate::navigation::Navigator;
use crate::route::encode_path;

/// Characters of a name that is shown whole.
const LONGEST: usize = 140;

/// The page.
#[component]
pub fn AddressPage(
    /// The address, or the script in hex.
    name: String,
) -> impl IntoView {
    crate::app::set_title(&["Address ", &ends(&name, 8, 8)].concat());
    let (chain, navigator) = (expect_context::<Chain>(), expect_context::<Navigator>());
    let path = encode_path("", &name);
    let ledger = Ledger::new(path.clone());
    let totals: Answer<Vec<Totals>> = State::new(None);
    let balance: Answer<Vec<BalanceAt>> = State::new(None);
    let coins: Answer<Vec<Coin>> = State::new(None);
    let (tip, indexed) = (chain.tip(), chain.index(IndexLevel::Addresses));
    let coins_open = RwSignal::new(false);
    let asked = path.clone();
    // Once at the start, and again whenever the chain or the index has moved.
    let moved = Derived::new(move || {
        let place = || (tip.with(|tip| tip.as_ref().map(|tip| tip.hash)), indexed.get());
        chain.status.with(Option::is_some).then(place)
    });
    effect(move || {
        if moved.get().is_none() {
            return;
        }
        ledger.top();
        ask_rows(&address_path(&asked), totals);
        ask_rows(&balance_path(&asked), balance);
    });
    let asked = path.clone();
    effect(move || {
        moved.track();
        if coins_open.get() {
            ask_rows(&unspent_path(&asked), coins);
        }
    });
    effect(move || {
        if ledger.history.with(|history| !history.rows().is_empty()) {
            navigator.arrived();
        }
    });
    let sums = Derived::new(move || totals.with(|totals| totals.as_ref()?.as_ref().ok()?.first().copied()));
    let trouble = Derived::new(move || ledger.trouble.get().filter(|_| ledger.items.with(|items| items.is_empty())));
    let broken = Derived::new(move || trouble.with(Option::is_some));
    let again = Callback::new(move |()| ledger.top());
    let drawn = move || {
        let points = balance.with(|balance| balance.as_ref()?.as_ref().ok().cloned())?;
        let end = tip.with(|tip| tip.as_ref().map(|tip| tip.time))?;
        (!points.is_empty()).then(|| {
            view! {
                <section class="card" aria-labelledby="balance-title">
                    <h2 id="balance-title">"Balance over time"</h2>
                    <BalanceChart points end />
                </section>
            }
        })
    };
    let file = [&ends(&name, 12, 8).replace('\u{2026}', "-"), ".csv"].concat();
    view! {
        <article class="address" data-test="address">
            <AddressHead name sums totals broken />
            {live(move || match trouble.get() {
                Some(error) => view! { <Failure error retry=again wanted=Wanted::Address /> }.into_any(),
                None => view! { {live(drawn)} <Lists ledger sums coins coins_open file=file.clone() /> }.into_any(),
            })}
        </article>
    }
}

/// The history and the coins, one of them in sight.
#[component]
fn Lists(
    ledger: Ledger,
    sums: Derived<Option<Totals>>,
    coins: Answer<Vec<Coin>>,
    coins_open: RwSignal<bool>,
    file: String,
) -> impl IntoView {
    let choose = move |coins: bool| move |_| coins_open.set(coins);
    let number = move |of: fn(&Totals) -> u32| {
        live(move || sums.get().map(|sums| view! { <span class="muted">{group(of(&sums))}</span> }))
    };
    view! {
        <section class="card list" aria-label="History and coins">
            <nav class="tabs" role="tablist">
                <button type="button" role="tab" aria-selected=move || (!coins_open.get()).to_string() on:click=choose(false)>
                    "History" {number(|sums| sums.transactions)}
                </button>
                <button type="button" role="tab" aria-selected=move || coins_open.get().to_string() on:click=choose(true) data-test="coins-tab">
                    "Unspent coins" {number(Totals::unspent_outputs)}
                </button>
            </nav>
            <div hidden=coins_open><HistoryList ledger sums file /></div>
            {live(move || coins_open.get().then(|| view! { <CoinList coins /> }))}
        </section>
    }
}

/// The address, its script and its sums.
#[component]
fn AddressHead(
    name: String,
    sums: Derived<Option<Totals>>,
    totals: Answer<Vec<Totals>>,
    broken: Derived<bool>,
) -> impl IntoView {
    let chain = expect_context::<Chain>();
    let indexed = chain.index(IndexLevel::Addresses);
    let known = StoredValue::new(name.clone());
    // The server reads the address, so that no reader of addresses has to be downloaded; this page writes the script that
    // it names as an address again, and believes it only if that is the same.
    let hits: Answer<Vec<SearchHit>> = State::new(None);
    let hex = ScriptBuf::from_hex(&name).ok();
    if hex.is_none() {
        ask(&search_path(&encode_path("", &name)), hits);
    }
    let script = Derived::new(move || {
        let network = chain.network()?;
        let of_hit = |hit: &SearchHit| match hit {
            SearchHit::Address { script, .. } => Some(script.clone()),
            _ => None,
        };
        let found = hits.with(|hits| hits.as_ref()?.as_ref().ok()?.iter().find_map(of_hit));
        let is_meant = |address: &String| known.with_value(|name| address.eq_ignore_ascii_case(name));
        let script =
            hex.clone().or(found.filter(|script| address(script, network).is_some_and(|text| is_meant(&text))))?;
        Some((address(&script, network), script))
    });
    let title = move || match script.get() {
        Some((None, _)) => "Script",
        _ => "Address",
    };
    let shown = move || script.get().and_then(|(address, _)| address).unwrap_or_else(|| known.get_value());
    // Ten thousand digits are no title; all of them stand below, as a script.
    let shown = move || {
        let name = shown();
        if name.len() > LONGEST {
            return view! { <code class="muted">{ends(&name, 64, 16)}</code> }.into_any();
        }
        view! { <Hash text=name what="address" /> }.into_any()
    };
    let badge = move || {
        script.get().map(|(_, script)| {
            let kind = ScriptKind::of(&script);
            view! { <span class=kind_class(kind) data-test="kind">{kind.name()}</span> }
        })
    };
    let code =
        move || script.get()?.0.map(|address| view! { <Qr text=qr_text(&address) name="The address as a QR code" /> });
    let details = move || {
        script.get().map(|(_, script)| {
            let name = ["scriptPubKey: ", ScriptKind::of(&script).core_name()].concat();
            view! { <details><summary>"Script"</summary><ScriptView name script /></details> }
        })
    };
    let missing = move || {
        let sums = sums.get().filter(|sums| sums.missing > 0)?;
        let still = indexed.get().is_some_and(|progress| !progress.whole);
        let why = if still {
            " that are not indexed yet. The newest come first, and this page follows."
        } else {
            " that are not on this node's disk."
        };
        Some(view! {
            <Notice tone=Tone::Warning title="These sums leave something out" name="missing">
                <p>"They are without " {count(sums.missing.into(), "block")} {why} " What is listed is so in any case."</p>
            </Notice>
        })
    };
    let waiting = move || match totals.with(|totals| totals.as_ref().map(|totals| totals.as_ref().err().cloned())) {
        // Then there is nothing to add up, and the page says why.
        _ if broken.get() => None,
        None => Some("Adding up the whole history\u{2026}".to_owned()),
        Some(Some(error)) => Some(["The sums are not known: ", &error.to_string()].concat()),
        Some(None) => None,
    };
    let facts = move || {
        sums.get().map(|sums| {
            let amount = |test: &'static str, value: bitcoin::Amount| {
                view! { <span data-test=test data-value=value.to_sat().to_string()><Amount value /></span> }.into_any()
            };
            let balance = sums.balance().map(|value| view! { <Fact name="Balance" value=view! { <strong>{amount("balance", value)}</strong> }.into_any() /> });
            let lost = (sums.lost_outputs > 0).then(|| view! { <Fact name="Can never be spent" value=amount("lost", sums.lost) /> });
            view! {
                {balance}
                <Fact name="Received" value=amount("received", sums.received) />
                <Fact name="Spent" value=amount("spent", sums.spent) />
                {lost}
                <Fact name="Transactions" value=view! { <span data-test="transactions">{group(sums.transactions)}</span> }.into_any() />
                <Fact name="Outputs" value=view! { {group(sums.outputs)} " · " <span class="muted">{group(sums.unspent_outputs())} " unspent"</span> }.into_any() />
            }
        })
    };
    view! {
        <header class="title">
            <div class="row">
                <h1>{live(title)}</h1>
                <span class="badges">{live(badge)}</span>
            </div>
            {live(shown)}
        </header>
        {live(missing)}
        <section class="card address-head" aria-label="Summary" style:display=move || (broken.get() && script.get().is_none()).then_some("none")>
            <div>
                {live(move || waiting().map(|text| view! { <p class="muted" role="status">{text}</p> }))}
                <dl class="facts" data-test="facts">{live(facts)}</dl>
                {live(details)}
            </div>
            {live(code)}
        </section>
    }
}
