//! What every handler is given.

use std::sync::Arc;

use hindsight_shared::api::ServedChain;
use hindsight_shared::stats::core::UtxoOverhead;

use crate::query::{Explorer, QueryError};

/// What the operator has decided: who may ask, who may read the answers from another origin, whose definitions hold.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Names that `Host` may hold besides addresses and `localhost`, in lower case and without port.
    pub hosts: Vec<String>,
    /// Whether pages of any origin may read every answer, not only hash-addressed bytes.
    pub cors: bool,
    /// The release of Bitcoin Core whose statistics are answered where a request names none.
    pub core_compat: UtxoOverhead,
}

/// Shared by all handlers.
#[derive(Clone, Debug)]
pub struct AppState {
    /// Answers the questions.
    pub explorer: Arc<Explorer>,
    /// Who may ask.
    pub access: Arc<Access>,
    /// The chains that readers can switch between, as `several` knows them; none where this is the only one.
    pub chains: Arc<[ServedChain]>,
}

impl AppState {
    /// Asks a question of the map of blocks, which is in memory when all files have been read.
    pub async fn ask_map<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Explorer) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, QueryError> {
        if self.explorer.awaits_files() { self.ask(question).await } else { question(&self.explorer) }
    }

    /// Asks a question that may have to read files, on a thread that may wait for them.
    pub async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Explorer) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, QueryError> {
        let explorer = self.explorer.clone();
        tokio::task::spawn_blocking(move || question(&explorer)).await.unwrap_or_else(|error| {
            tracing::error!(%error, "a question panicked");
            Err(QueryError::Failed)
        })
    }
}
