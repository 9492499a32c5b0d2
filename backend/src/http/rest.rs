//! Bitcoin Core's REST interface, byte for byte (`src/rest.cpp`, `src/httpserver.cpp`): its formats, errors and cache
//! headers. Added to it: ETag, CORS, and a HEAD without a body.

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bitcoin::BlockHash;
use bytes::Bytes;
use hindsight_shared::payload::Absence;

use super::respond::{Caching, Parts, bytes};
use super::state::AppState;
use crate::query::{Explorer, QueryError};

/// An error as Core writes it.
pub struct RestError(StatusCode, String);

impl IntoResponse for RestError {
    fn into_response(self) -> Response {
        let headers = [(header::CONTENT_TYPE, "text/plain"), (header::CACHE_CONTROL, "no-store")];
        (self.0, headers, format!("{}\r\n", self.1)).into_response()
    }
}

/// `GET /rest/block/<hash>.bin`
pub async fn block(
    State(state): State<AppState>,
    Path(file): Path<String>,
    headers: HeaderMap,
) -> Result<Response, RestError> {
    let hash = hash_in(&file)?;
    let block = match state.explorer.block_bytes_in_memory(&hash) {
        Some(block) => block,
        None => ask(&state, hash, move |explorer| explorer.block_bytes(hash)).await?,
    };
    Ok(binary(&headers, block, &hash.to_string()))
}

/// `GET /rest/spenttxouts/<hash>.bin`
pub async fn spent_txouts(
    State(state): State<AppState>,
    Path(file): Path<String>,
    headers: HeaderMap,
) -> Result<Response, RestError> {
    if file.contains('/') {
        let text = "Invalid URI format. Expected /rest/spenttxouts/<hash>.<ext>";
        return Err(RestError(StatusCode::BAD_REQUEST, text.to_owned()));
    }
    let hash = hash_in(&file)?;
    let spent = match state.explorer.spent_txouts_in_memory(&hash) {
        Some(spent) => spent,
        None => ask(&state, hash, move |explorer| explorer.spent_txouts(hash)).await?,
    };
    Ok(binary(&headers, spent, &format!("{hash}-spent")))
}

/// Core answers an unknown path with 404 and nothing else.
pub async fn no_such_route() -> StatusCode {
    StatusCode::NOT_FOUND
}

fn binary(headers: &HeaderMap, body: Bytes, tag: &str) -> Response {
    bytes(headers, "application/octet-stream", Parts::new([body]), tag, Caching::ImmutableDay)
}

/// The hash in `<hash>.bin`. As in Core the format is looked at last, so that an unknown suffix spoils the hash.
fn hash_in(file: &str) -> Result<BlockHash, RestError> {
    let (name, format) = match file.rsplit_once('.') {
        Some((name, format @ ("bin" | "hex" | "json"))) => (name, format),
        _ => (file, ""),
    };
    let hash = Some(name).filter(|name| name.len() == 64).and_then(|name| name.parse().ok());
    let shown: String = name.chars().take(200).collect();
    let hash = hash.ok_or_else(|| RestError(StatusCode::BAD_REQUEST, format!("Invalid hash: {shown}")))?;
    if format == "bin" {
        return Ok(hash);
    }
    Err(RestError(StatusCode::NOT_FOUND, "output format not found (available: .bin)".to_owned()))
}

async fn ask(
    state: &AppState,
    hash: BlockHash,
    question: impl FnOnce(&Explorer) -> Result<Bytes, QueryError> + Send + 'static,
) -> Result<Bytes, RestError> {
    let explorer = state.explorer.clone();
    let answer = tokio::task::spawn_blocking(move || question(&explorer)).await;
    match answer {
        Ok(answer) => answer.map_err(|error| rest_error(hash, &error)),
        Err(error) => {
            tracing::error!(%error, "a question panicked");
            Err(RestError(StatusCode::INTERNAL_SERVER_ERROR, "Internal error".to_owned()))
        }
    }
}

fn rest_error(hash: BlockHash, error: &QueryError) -> RestError {
    match error {
        QueryError::NotFound(_) | QueryError::NoHeight(_) | QueryError::NoTransaction { .. } => {
            RestError(StatusCode::NOT_FOUND, format!("{hash} not found"))
        }
        QueryError::Pruned(_) => RestError(StatusCode::NOT_FOUND, format!("{hash} not available (pruned data)")),
        QueryError::NoUndo { absence: Absence::NotReadYet, .. } | QueryError::BeingWritten(_) | QueryError::Busy => {
            unavailable(error)
        }
        QueryError::NotReadYet(..) => unavailable(error),
        QueryError::NoUndo { .. } => RestError(StatusCode::NOT_FOUND, format!("{hash} undo not available")),
        QueryError::Damaged { .. } | QueryError::Source(_) | QueryError::Decode(_) | QueryError::Index(_) => {
            tracing::error!(%error, "a block could not be read");
            RestError(StatusCode::INTERNAL_SERVER_ERROR, format!("I/O error reading {hash}"))
        }
    }
}

fn unavailable(error: &QueryError) -> RestError {
    RestError(StatusCode::SERVICE_UNAVAILABLE, format!("Service temporarily unavailable: {error}"))
}
