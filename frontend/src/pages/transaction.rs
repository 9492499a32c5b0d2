//! A transaction: of a block that is fetched whole, or found by its id wherever it is. Both are shown alike.

use std::sync::Arc;

use bitcoin::Txid;
use hindsight_shared::api::{BlockFacts, IndexLevel, block_path};
use hindsight_shared::search::BlockId;
use leptos::prelude::*;

use super::tx_view::TransactionView;
use crate::blocks::Blocks;
use crate::chain::{Answer, Chain, ask, ask_found};
use crate::components::loaded::{Failure, Loaded, Waiting, Wanted};
use crate::components::notice::{Notice, Tone};
use crate::format::{count, ends};
use crate::live::{Derived, State, effect};
use crate::model::block::LoadedBlock;
use crate::model::found::{Found, Home};
use crate::model::tx::Tx;
use crate::number::{index, wide};
use crate::route::{Page, Spot, TxId};

/// The page of a transaction of a block.
#[component]
pub fn TransactionPage(
    /// The block.
    id: BlockId,
    /// The transaction in it.
    tx: TxId,
) -> impl IntoView {
    match tx {
        TxId::Index(at) => crate::app::set_title(&["Transaction ", &at.to_string()].concat()),
        TxId::Txid(txid) => name_window(txid),
    }
    let blocks = expect_context::<Blocks>();
    let load = blocks.open(id);
    let retry = Callback::new(move |()| blocks.reload(id));
    let ready = move |block: Arc<LoadedBlock>| {
        let at = match tx {
            TxId::Index(at) => Some(index(at)),
            TxId::Txid(txid) => block.position(&txid),
        };
        match at.and_then(|at| Tx::of(&block, at)) {
            Some(tx) => {
                let beside = |at: Option<usize>| {
                    let row = block.rows.get(at?)?;
                    Some(Page::Transaction(BlockId::Hash(block.hash), TxId::Txid(row.txid)))
                };
                let neighbours = (beside(tx.index.checked_sub(1)), beside(tx.index.checked_add(1)));
                view! { <TransactionView home=Home::of(&block) tx=Arc::new(tx) neighbours /> }.into_any()
            }
            None => view! { <Missing block /> }.into_any(),
        }
    };
    view! { <Loaded load retry ready /> }
}

#[component]
fn Missing(block: Arc<LoadedBlock>) -> impl IntoView {
    let href = Page::block(block.hash).href();
    view! {
        <Notice tone=Tone::Error title="This block has no such transaction" name="error">
            <p>"The block is here, all " {count(wide(block.rows.len()), "transaction")} " of it, but not the one asked for."</p>
            <p><a class="button" href=href>"To the block"</a></p>
        </Notice>
    }
}

/// The page of a transaction that is found by its id.
#[component]
pub fn FoundPage(
    /// Which.
    txid: Txid,
    /// One of its inputs or outputs.
    spot: Option<Spot>,
) -> impl IntoView {
    name_window(txid);
    let chain = expect_context::<Chain>();
    let answer: Answer<Found> = State::new(None);
    let facts: Answer<BlockFacts> = State::new(None);
    let indexed = chain.index(IndexLevel::Transactions);
    let known = Derived::new(move || chain.status.with(Option::is_some));
    effect(move || {
        // The first answer of the server tells whether there is an index. What is not found while it grows may be later.
        indexed.track();
        if known.get() && !answer.with_untracked(|answer| matches!(answer, Some(Ok(_)))) {
            ask_found(txid, answer);
        }
    });
    let block = Derived::new(move || answer.with(|answer| Some(answer.as_ref()?.as_ref().ok()?.home.block)));
    effect(move || block.get().into_iter().for_each(|block| ask(&block_path(BlockId::Hash(block)), facts)));
    let retry = Callback::new(move |()| ask_found(txid, answer));
    let is_ready = Derived::new(move || facts.with(Option::is_some));
    let trouble = Derived::new(move || answer.with(|answer| answer.as_ref()?.as_ref().err().cloned()));
    move || match (is_ready.get(), trouble.get()) {
        (true, _) => {
            let found = answer.with_untracked(|answer| answer.as_ref()?.as_ref().ok().cloned());
            let facts = facts.with_untracked(|facts| facts.as_ref()?.as_ref().ok().cloned());
            found
                .map(|Found { tx, home, after }| {
                    let home = home.with(facts.as_ref());
                    let beside = |at: Option<u32>| {
                        let at = at.filter(|&at| home.count.is_some_and(|count| at < count))?;
                        Some(Page::Transaction(BlockId::Hash(home.block), TxId::Index(at)))
                    };
                    let at = crate::number::narrow(tx.index);
                    let neighbours = (beside(at.checked_sub(1)), beside(at.checked_add(1)));
                    view! { <TransactionView home tx=Arc::new(tx) neighbours known=after spot /> }
                })
                .into_any()
        }
        (false, Some(error)) => view! { <Failure error retry wanted=Wanted::Transaction /> }.into_any(),
        (false, None) => view! { <Waiting /> }.into_any(),
    }
}

fn name_window(txid: Txid) {
    crate::app::set_title(&["Transaction ", &ends(&txid.to_string(), 8, 8)].concat());
}
