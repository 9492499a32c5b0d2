//! What the server says of itself and of its chain, asked again every few seconds while somebody looks.

use std::time::Duration;

use bitcoin::{BlockHash, Network, OutPoint, Txid};
use hindsight_shared::address::Row;
use hindsight_shared::api::{
    BlockFacts, IndexLevel, IndexProgress, STATUS, Status, outpoint_path, stats_path, tx_path,
};
use hindsight_shared::found_tx::Fate;
use hindsight_shared::search::BlockId;
use leptos::prelude::*;

use crate::api::{self, Abort, ApiError};
use crate::browser::{is_hidden, now};
use crate::json::FromJson;
use crate::model::found::Found;
use crate::navigation::absolute;

/// The pause between two looks.
const EVERY: Duration = Duration::from_secs(4);

/// The server's state, as a context.
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    /// What the server said last.
    pub status: RwSignal<Option<Status>>,
    /// Why it says nothing now, if so.
    pub trouble: RwSignal<Option<ApiError>>,
    /// The reader's clock in seconds, moved on with every look.
    pub clock: RwSignal<u64>,
}

impl Chain {
    /// Looks for as long as the app stands.
    pub fn start() -> Self {
        let chain = Self { status: RwSignal::new(None), trouble: RwSignal::new(None), clock: RwSignal::new(now()) };
        chain.look();
        set_interval(
            move || {
                if !is_hidden() {
                    chain.look();
                }
            },
            EVERY,
        );
        chain
    }

    fn look(self) {
        self.clock.set(now());
        leptos::task::spawn_local(async move {
            match api::json::<Status>(&absolute(STATUS), None).await {
                Ok(status) => {
                    if self.status.with_untracked(|known| known.as_ref() != Some(&status)) {
                        self.status.set(Some(status));
                    }
                    if self.trouble.with_untracked(Option::is_some) {
                        self.trouble.set(None);
                    }
                }
                Err(error) => self.trouble.set(Some(error)),
            }
        });
    }

    /// How far a level of the index is; nothing where the server makes none.
    pub fn index(self, level: IndexLevel) -> Memo<Option<IndexProgress>> {
        let find = move |status: &Status| status.index.iter().find(|progress| progress.level == level).copied();
        Memo::new(move |_| self.status.with(|status| status.as_ref().and_then(find)))
    }

    /// The chain's network.
    pub fn network(self) -> Option<Network> {
        self.status.with(|status| Network::from_core_arg(&status.as_ref()?.network).ok())
    }

    /// The best chain's last block.
    pub fn tip(self) -> Memo<Option<BlockFacts>> {
        Memo::new(move |_| self.status.with(|status| status.as_ref()?.tip.clone()))
    }
}

/// An answer that a component waits for; the request stops when the component goes.
pub type Answer<T> = RwSignal<Option<Result<T, ApiError>>>;

/// Asks for a small answer.
pub fn ask<T: FromJson + Send + Sync + 'static>(path: &str, answer: Answer<T>) {
    let url = absolute(path);
    wait(answer, async move |signal| api::json(&url, signal.as_ref()).await);
}

/// Asks for rows of a fixed size.
pub fn ask_rows<T: Row + Send + Sync + 'static>(path: &str, answer: Answer<Vec<T>>) {
    let url = absolute(path);
    wait(answer, async move |signal| api::rows(&url, signal.as_ref()).await);
}

/// Asks for a transaction by its id.
pub fn ask_found(txid: Txid, answer: Answer<Found>) {
    let url = absolute(&tx_path(txid));
    wait(answer, async move |signal| api::found(&url, txid, signal.as_ref()).await);
}

/// Asks what became of an output.
pub fn ask_fate(outpoint: OutPoint, answer: Answer<Fate>) {
    let url = absolute(&outpoint_path(outpoint));
    wait(answer, async move |signal| api::fate(&url, signal.as_ref()).await);
}

/// Asks for the statistics that the server has of a block, as one packed row.
pub fn ask_stats(block: BlockHash, answer: Answer<Vec<u8>>) {
    let url = absolute(&stats_path(BlockId::Hash(block)));
    wait(answer, async move |signal| api::stats_row(&url, signal.as_ref()).await);
}

/// Waits for an answer as long as the component stands that asks; an effect that asks again drops its last question.
fn wait<T: Send + Sync + 'static>(
    answer: Answer<T>,
    question: impl AsyncFnOnce(Option<web_sys::AbortSignal>) -> Result<T, ApiError> + 'static,
) {
    let abort = Abort::new();
    let signal = abort.signal();
    let _ = StoredValue::new_local(abort);
    leptos::task::spawn_local(async move {
        let result = question(signal.clone()).await;
        if !signal.is_some_and(|signal| signal.aborted()) {
            // The component may be gone.
            let _ = answer.try_set(Some(result));
        }
    });
}
