//! What the server says of itself and of its chain, asked again every few seconds while somebody looks.

use std::time::Duration;

use bitcoin::BlockHash;
use hindsight_shared::api::{BlockFacts, STATUS, Status, stats_path};
use hindsight_shared::search::BlockId;
use leptos::prelude::*;

use crate::api::{self, Abort, ApiError};
use crate::browser::{is_hidden, now};
use crate::json::FromJson;
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

    /// The best chain's last block.
    pub fn tip(self) -> Memo<Option<BlockFacts>> {
        Memo::new(move |_| self.status.with(|status| status.as_ref()?.tip.clone()))
    }
}

/// An answer that a component waits for; the request stops when the component goes.
pub type Answer<T> = RwSignal<Option<Result<T, ApiError>>>;

/// Asks for a small answer.
pub fn ask<T: FromJson + Send + Sync + 'static>(path: &str, answer: Answer<T>) {
    let (url, signal) = (absolute(path), abort_with_component());
    leptos::task::spawn_local(async move {
        let result = api::json(&url, signal.as_ref()).await;
        // The component may be gone.
        let _ = answer.try_set(Some(result));
    });
}

/// Asks for the statistics that the server has of a block, as one packed row.
pub fn ask_stats(block: BlockHash, answer: Answer<Vec<u8>>) {
    let (url, signal) = (absolute(&stats_path(BlockId::Hash(block))), abort_with_component());
    leptos::task::spawn_local(async move {
        let result = api::stats_row(&url, signal.as_ref()).await;
        let _ = answer.try_set(Some(result));
    });
}

/// What a request listens to that stops together with the component that asks.
fn abort_with_component() -> Option<web_sys::AbortSignal> {
    let abort = Abort::new();
    let signal = abort.signal();
    let _ = StoredValue::new_local(abort);
    signal
}
