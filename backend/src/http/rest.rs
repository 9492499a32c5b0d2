//! Bitcoin Core's REST interface, byte for byte (`src/rest.cpp`, `src/httpserver.cpp`): its formats, errors and cache
//! headers. Added to it: ETag, Range, CORS, and a HEAD without a body.
//!
//! Core compares the raw path with its prefixes in order and looks at the format last, so one dispatcher does the same
//! here instead of the router, which would decode the path first.

use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use bitcoin::BlockHash;
use bitcoin::hashes::{Hash, sha256};
use bitcoin::hex::DisplayHex;
use bytes::Bytes;
use hindsight_shared::payload::Absence;
use percent_encoding::percent_decode_str;

use super::respond::{self, Caching, Parts};
use super::state::AppState;
use crate::query::{Explorer, QueryError};

mod blocks;
mod headers;

/// An error as Core writes it.
pub struct RestError(StatusCode, String);

impl RestError {
    fn bad_request(text: impl Into<String>) -> Self {
        Self(StatusCode::BAD_REQUEST, text.into())
    }

    fn not_found(text: impl Into<String>) -> Self {
        Self(StatusCode::NOT_FOUND, text.into())
    }
}

impl IntoResponse for RestError {
    fn into_response(self) -> Response {
        let headers = [(header::CONTENT_TYPE, "text/plain"), (header::CACHE_CONTROL, "no-store")];
        (self.0, headers, format!("{}\r\n", self.1)).into_response()
    }
}

/// What a path ends in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Format {
    Bin,
    Hex,
    Json,
}

/// A request as Core sees it: what follows the prefix without its suffix, the format, the query.
struct Asked<'a> {
    state: &'a AppState,
    headers: &'a HeaderMap,
    argument: &'a str,
    format: Option<Format>,
    query: &'a str,
}

/// Answers everything below `/rest/`.
pub async fn rest(State(state): State<AppState>, method: Method, uri: Uri, headers: HeaderMap) -> Response {
    // Core's handlers do not look at the method any further.
    if ![Method::GET, Method::HEAD, Method::POST, Method::PUT].contains(&method) {
        return nothing(StatusCode::METHOD_NOT_ALLOWED);
    }
    let path = uri.path();
    let ask = |rest| Asked::new(&state, &headers, rest, uri.query().unwrap_or_default());
    let answer = if let Some(rest) = path.strip_prefix("/rest/block/notxdetails/") {
        blocks::block(ask(rest)).await
    } else if let Some(rest) = path.strip_prefix("/rest/block/") {
        blocks::block(ask(rest)).await
    } else if let Some(rest) = path.strip_prefix("/rest/blockpart/") {
        blocks::block_part(ask(rest)).await
    } else if let Some(rest) = path.strip_prefix("/rest/spenttxouts/") {
        blocks::spent_txouts(ask(rest)).await
    } else if let Some(rest) = path.strip_prefix("/rest/headers/") {
        headers::headers(&ask(rest))
    } else if let Some(rest) = path.strip_prefix("/rest/blockhashbyheight/") {
        headers::block_hash_by_height(&ask(rest))
    } else {
        return nothing(StatusCode::NOT_FOUND);
    };
    answer.unwrap_or_else(IntoResponse::into_response)
}

/// How Core refuses what it has no handler for.
fn nothing(status: StatusCode) -> Response {
    let headers = [(header::CONTENT_TYPE, "text/html; charset=ISO-8859-1"), (header::CACHE_CONTROL, "no-store")];
    (status, headers).into_response()
}

impl<'a> Asked<'a> {
    fn new(state: &'a AppState, headers: &'a HeaderMap, rest: &'a str, query: &'a str) -> Self {
        let (argument, format) = match rest.rsplit_once('.') {
            Some((argument, "bin")) => (argument, Some(Format::Bin)),
            Some((argument, "hex")) => (argument, Some(Format::Hex)),
            Some((argument, "json")) => (argument, Some(Format::Json)),
            Some((argument, "")) => (argument, None),
            // An unknown suffix is left in the argument and spoils it.
            _ => (rest, None),
        };
        Self { state, headers, argument, format, query }
    }

    /// The first value of a query parameter. As in Core nothing but percent signs is decoded: a plus stays a plus.
    fn parameter(&self, name: &str) -> Option<String> {
        let decode = |text| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let pairs = self.query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        pairs.map(|(key, value)| (decode(key), value)).find(|(key, _)| key == name).map(|(_, value)| decode(value))
    }

    /// Asks a question about the block of the path that may have to read files. Errors name it as it was written.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Explorer) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, RestError> {
        self.state.ask(question).await.map_err(|error| rest_error(self.argument, &error))
    }

    /// Bytes that cannot change, in the format asked for. JSON of them is `json`'s to refuse or give.
    fn immutable(&self, body: Bytes, tag: &str, json: impl FnOnce() -> RestError) -> Result<Response, RestError> {
        let answer = |media_type, body, tag: &str| {
            Ok(respond::bytes(self.headers, media_type, Parts::new([body]), tag, Caching::ImmutableDay))
        };
        match self.format {
            Some(Format::Bin) => answer("application/octet-stream", body, tag),
            Some(Format::Hex) => answer("text/plain", hex_line(&body).into(), &format!("{tag}-hex")),
            Some(Format::Json) => Err(json()),
            None => Err(no_such_format("(available: .bin, .hex, .json)")),
        }
    }
}

/// An answer that may change with the next block. Core lets nobody keep it; who has it nevertheless can ask by its tag.
fn changing(asked: &Asked<'_>, media_type: &'static str, body: impl Into<Bytes>) -> Response {
    let body = body.into();
    let tag = sha256::Hash::hash(&body).to_string();
    respond::bytes(asked.headers, media_type, Parts::new([body]), &tag, Caching::Never)
}

fn hex_line(bytes: &[u8]) -> String {
    let mut line = bytes.to_lower_hex_string();
    line.push('\n');
    line
}

fn no_such_format(available: &str) -> RestError {
    RestError::not_found(format!("output format not found {available}"))
}

/// Exactly 64 hex digits, in either case.
fn hash_in(text: &str) -> Result<BlockHash, RestError> {
    let hash = Some(text).filter(|text| text.len() == 64).and_then(|text| text.parse().ok());
    hash.ok_or_else(|| {
        let shown: String = text.chars().take(200).collect();
        RestError::bad_request(format!("Invalid hash: {shown}"))
    })
}

fn rest_error(hash: &str, error: &QueryError) -> RestError {
    match error {
        QueryError::NotFound(_)
        | QueryError::NoHeight(_)
        | QueryError::NoTransaction { .. }
        | QueryError::NoSuchTransaction { .. }
        | QueryError::NoOutput(..)
        | QueryError::NotIndexed(_)
        | QueryError::TooMany(..) => RestError::not_found(format!("{hash} not found")),
        QueryError::Pruned(_) => RestError::not_found(format!("{hash} not available (pruned data)")),
        QueryError::NoUndo { absence: Absence::NotReadYet, .. }
        | QueryError::NotReadYet(..)
        | QueryError::NotIndexedYet(..)
        | QueryError::BeingWritten(_)
        | QueryError::Busy => {
            RestError(StatusCode::SERVICE_UNAVAILABLE, format!("Service temporarily unavailable: {error}"))
        }
        QueryError::NoUndo { .. } => RestError::not_found(format!("{hash} undo not available")),
        QueryError::Failed => RestError(StatusCode::INTERNAL_SERVER_ERROR, "Internal error".to_owned()),
        QueryError::Damaged { .. } | QueryError::Source(_) | QueryError::Decode(_) | QueryError::Index(_) => {
            tracing::error!(%error, "a block could not be read");
            RestError(StatusCode::INTERNAL_SERVER_ERROR, format!("I/O error reading {hash}"))
        }
    }
}
