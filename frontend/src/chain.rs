//! What the server says of itself and of its chain, asked again every few seconds while somebody looks.

use std::time::Duration;

use bitcoin::{BlockHash, Network, OutPoint, Txid};
use hindsight_shared::address::Row;
use hindsight_shared::api::{
    BlockFacts, IndexLevel, IndexProgress, STATUS, Status, outpoint_path, stats_path, tx_path,
};
use hindsight_shared::bytes::Reader;
use hindsight_shared::found_tx::Fate;
use hindsight_shared::search::BlockId;
use hindsight_shared::stats::row::MEDIA_TYPE as ROW_TYPE;
use leptos::prelude::*;

use crate::api::{self, ANY_TYPE, Abort, ApiError};
use crate::browser::{is_hidden, now};
use crate::json::FromJson;
use crate::live::{Derived, State};
use crate::model::found::Found;
use crate::navigation::absolute;

/// The pause between two looks.
const EVERY: Duration = Duration::from_secs(4);

/// The server's state, as a context.
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    /// What the server said last.
    pub status: State<Option<Status>>,
    /// Why it says nothing now, if so.
    pub trouble: State<Option<ApiError>>,
    /// The reader's clock in seconds, moved on with every look.
    pub clock: State<u64>,
}

impl Chain {
    /// Looks for as long as the app stands.
    pub fn start() -> Self {
        let chain = Self { status: State::new(None), trouble: State::new(None), clock: State::new(now()) };
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
    pub fn index(self, level: IndexLevel) -> Derived<Option<IndexProgress>> {
        let find = move |status: &Status| status.index.iter().find(|progress| progress.level == level).copied();
        Derived::new(move || self.status.with(|status| status.as_ref().and_then(find)))
    }

    /// The chain's network.
    pub fn network(self) -> Option<Network> {
        self.status.with(|status| Network::from_core_arg(&status.as_ref()?.network).ok())
    }

    /// The best chain's last block.
    pub fn tip(self) -> Derived<Option<BlockFacts>> {
        Derived::new(move || self.status.with(|status| status.as_ref()?.tip.clone()))
    }
}

/// An answer that a component waits for; the request stops when the component goes.
pub type Answer<T> = State<Option<Result<T, ApiError>>>;

/// Asks for a small answer.
pub fn ask<T: FromJson + Send + Sync + 'static>(path: &str, answer: Answer<T>) {
    wait(path, move |bytes| answer_with(answer, bytes.and_then(|bytes| api::read_json(&bytes))));
}

/// Asks for rows of a fixed size.
pub fn ask_rows<T: Row + Send + Sync + 'static>(path: &str, answer: Answer<Vec<T>>) {
    wait(path, move |bytes| answer_with(answer, bytes.and_then(|bytes| api::read_rows(&bytes))));
}

/// Asks for a transaction by its id, and believes an answer only if it is about this one.
pub fn ask_found(txid: Txid, answer: Answer<Found>) {
    let read = move |bytes: Vec<u8>| Found::read(&bytes, txid).map_err(api::unreadable);
    wait(&tx_path(txid), move |bytes| answer_with(answer, bytes.and_then(read)));
}

/// Asks what became of an output.
pub fn ask_fate(outpoint: OutPoint, answer: Answer<Fate>) {
    let read = |bytes: Vec<u8>| Fate::read(&mut Reader::new(&bytes)).map_err(api::unreadable);
    wait(&outpoint_path(outpoint), move |bytes| answer_with(answer, bytes.and_then(read)));
}

/// Asks for the statistics that the server has of a block, as one packed row.
pub fn ask_stats(block: BlockHash, answer: Answer<Vec<u8>>) {
    wait_for(&stats_path(BlockId::Hash(block)), ROW_TYPE, Box::new(move |bytes| answer_with(answer, bytes)));
}

/// Tells an answer; the component that waited for it may be gone.
fn answer_with<T: Send + Sync + 'static>(answer: Answer<T>, result: Result<T, ApiError>) {
    let _ = answer.try_set(Some(result));
}

fn wait(path: &str, tell: impl FnOnce(Result<Vec<u8>, ApiError>) + 'static) {
    wait_for(path, ANY_TYPE, Box::new(tell));
}

/// What is told when bytes are there, or why not. Boxed, so that waiting is there once.
type Tell = Box<dyn FnOnce(Result<Vec<u8>, ApiError>)>;

/// Waits for an answer as long as the component stands that asks; an effect that asks again drops its last question.
fn wait_for(path: &str, accept: &'static str, tell: Tell) {
    let abort = Abort::new();
    let (url, signal) = (absolute(path), abort.signal());
    let _ = StoredValue::new_local(abort);
    leptos::task::spawn_local(async move {
        let result = api::get_as(&url, accept, signal.as_ref()).await;
        if !signal.is_some_and(|signal| signal.aborted()) {
            tell(result);
        }
    });
}
