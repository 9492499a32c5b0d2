//! Blocks: payloads, ranges of them, and what the chain map knows.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use hindsight_shared::Height;
use hindsight_shared::payload::MEDIA_TYPE;
use hindsight_shared::search::{BlockId, ListStart};
use serde::Deserialize;

use super::error::HttpError;
use super::extract::{Parameters, Steps};
use super::respond::{Caching, Parts, bytes};
use super::state::AppState;
use crate::query::BlockPayload;

/// Most blocks in one list.
const MOST_LISTED: u32 = 100;

/// `GET /api/v1/block/{hash|height}/payload`
pub async fn payload(
    State(state): State<AppState>,
    Steps(id): Steps<String>,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let id: BlockId = id.parse()?;
    let payload = match state.explorer.payload_in_memory(id)? {
        Some(payload) => payload,
        None => state.ask(move |explorer| explorer.payload(id)).await?,
    };
    Ok(payload_response(&headers, id, payload))
}

fn payload_response(headers: &HeaderMap, id: BlockId, payload: BlockPayload) -> Response {
    let caching = match id {
        BlockId::Hash(_) if payload.immutable => Caching::Immutable,
        _ => Caching::Revalidate,
    };
    let mut response = bytes(headers, MEDIA_TYPE, Parts::new(payload.parts), &payload.tag, caching);
    let name = format!("inline; filename=\"{}.hsb\"", payload.hash);
    if let Ok(name) = HeaderValue::try_from(name) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
    }
    response
}

/// Bytes of blocks up to which a range is put together before it is sent.
const WHOLE: u64 = 16 << 20;

/// `GET /api/v1/blocks/{from}/{to}/payload`: both ends included. A short range is one body like any other, with a tag and
/// ranges of bytes. Of a long one each block is read when the one before it has been taken, so that a slow reader holds
/// one block and one that leaves costs nothing more; its length is not known before its end.
pub async fn range(
    State(state): State<AppState>,
    Steps((from, to)): Steps<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let (from, to) = (height(&from)?, height(&to)?);
    if from > to {
        return Err(HttpError::bad_request(format!("the range {from} to {to} ends before it starts")));
    }
    let tip = state.explorer.tip().and_then(|tip| tip.height);
    if tip.is_none_or(|tip| to > tip) {
        let tip = tip.map_or_else(|| "there is no chain yet".to_owned(), |tip| format!("the best chain ends at {tip}"));
        return Err(HttpError::not_found(format!("the range ends at {to}: {tip}")));
    }
    if state.explorer.size_of_range(from, to) <= WHOLE {
        let (tag, parts) = state.ask(move |explorer| explorer.payloads(from, to)).await?;
        return Ok(bytes(&headers, MEDIA_TYPE, Parts::new(parts), &tag, Caching::Revalidate));
    }
    Ok(stream_range(state, from, to))
}

fn stream_range(state: AppState, from: Height, to: Height) -> Response {
    let payloads = stream::iter(from.0..=to.0).then(move |height| {
        let state = state.clone();
        async move { state.ask(move |explorer| explorer.payload_or_gap(Height(height))).await }
    });
    // An error in mid-stream can only be told by ending without the end that chunked coding has.
    let payloads = payloads.map_err(move |error| {
        tracing::warn!(%error, %from, %to, "a range of blocks ends early");
        std::io::Error::other(error)
    });
    let parts = payloads.map_ok(|parts| stream::iter(parts.into_iter().filter(|part| !part.is_empty())));
    let frames = parts.map_ok(|parts| parts.map(Ok::<_, std::io::Error>)).try_flatten();
    let mut response = Body::from_stream(frames).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("none"));
    response
}

fn height(text: &str) -> Result<Height, HttpError> {
    match text.parse()? {
        BlockId::Height(height) => Ok(height),
        BlockId::Hash(_) => Err(HttpError::bad_request("a range goes from height to height, not by hash")),
    }
}

/// `GET /api/v1/block/{hash|height}`
pub async fn facts(State(state): State<AppState>, Steps(id): Steps<String>) -> Result<Response, HttpError> {
    let id = id.parse()?;
    Ok(fresh(state.ask_map(move |explorer| explorer.block(id)).await?))
}

/// `GET /api/v1/tip`
pub async fn tip(State(state): State<AppState>) -> Result<Response, HttpError> {
    let tip = state.explorer.tip();
    tip.map(fresh).ok_or_else(|| HttpError::not_found("no chain has been found yet: see api/v1/status"))
}

/// Where a list starts and how long it is.
#[derive(Debug, Deserialize)]
pub struct ListQuery {
    from: Option<String>,
    count: Option<String>,
}

impl ListQuery {
    /// Where to start, and how many; at most `most`.
    pub fn parse(&self, most: u32) -> Result<(Option<ListStart>, usize), HttpError> {
        let from = self.from.as_deref().map(str::parse).transpose()?;
        Ok((from, count(self.count.as_deref().unwrap_or("20"), most)?))
    }
}

/// How many rows are wanted: from 1 to `most`.
pub fn count(text: &str, most: u32) -> Result<usize, HttpError> {
    let count: Option<u32> = text.parse().ok().filter(|count| (1..=most).contains(count));
    count.and_then(|count| usize::try_from(count).ok()).ok_or_else(|| {
        let text: String = text.chars().take(40).collect();
        HttpError::bad_request(format!("'{text}' is not a count from 1 to {most}"))
    })
}

/// `GET /api/v1/blocks?from=&count=`: newest first.
pub async fn list(
    State(state): State<AppState>,
    Parameters(query): Parameters<ListQuery>,
) -> Result<Response, HttpError> {
    let (from, count) = query.parse(MOST_LISTED)?;
    Ok(fresh(state.ask_map(move |explorer| explorer.blocks(from, count)).await?))
}

/// JSON that is true now.
pub fn fresh(value: impl serde::Serialize) -> Response {
    ([(header::CACHE_CONTROL, "no-cache")], Json(value)).into_response()
}
