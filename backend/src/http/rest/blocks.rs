//! Blocks, parts of them, and what they spend, as bytes or hex. (Their JSON forms follow with the RPC interface.)

use axum::response::Response;
use bytes::Bytes;
use hindsight_shared::payload::Absence;

use super::{Asked, RestError, hash_in, no_such_format};
use crate::query::QueryError;

/// Our formats where JSON is not among them yet.
fn not_yet() -> RestError {
    no_such_format("(available: .bin, .hex)")
}

/// `/rest/block/<hash>` and `/rest/block/notxdetails/<hash>`, which differ in JSON only.
pub async fn block(asked: Asked<'_>) -> Result<Response, RestError> {
    let hash = hash_in(asked.argument)?;
    let block = whole_block(&asked, hash).await?;
    asked.immutable(block, &hash.to_string(), not_yet)
}

async fn whole_block(asked: &Asked<'_>, hash: bitcoin::BlockHash) -> Result<Bytes, RestError> {
    match asked.state.explorer.block_bytes_in_memory(&hash) {
        Some(block) => Ok(block),
        None => asked.ask(move |explorer| explorer.block_bytes(hash)).await,
    }
}

/// `/rest/blockpart/<hash>?offset=&size=`: bytes of the block, without clamping.
pub async fn block_part(asked: Asked<'_>) -> Result<Response, RestError> {
    let number = |name| asked.parameter(name).and_then(|text| integer::<usize>(&text));
    let missing = |what| RestError::bad_request(format!("Block part {what} missing or invalid"));
    let offset = number("offset").ok_or_else(|| missing("offset"))?;
    let size = number("size").ok_or_else(|| missing("size"))?;
    let hash = hash_in(asked.argument)?;
    let block = whole_block(&asked, hash).await?;
    let end = offset.checked_add(size).filter(|&end| size > 0 && end <= block.len());
    let bad = || RestError::bad_request(format!("Bad block part offset/size {offset}/{size} for {}", asked.argument));
    let part = block.slice(offset..end.ok_or_else(bad)?);
    let no_json = || RestError::bad_request("JSON output is not supported for this request type");
    asked.immutable(part, &format!("{hash}-{offset}-{size}"), no_json)
}

/// `/rest/spenttxouts/<hash>`
pub async fn spent_txouts(asked: Asked<'_>) -> Result<Response, RestError> {
    if asked.argument.contains('/') {
        return Err(RestError::bad_request("Invalid URI format. Expected /rest/spenttxouts/<hash>.<ext>"));
    }
    let hash = hash_in(asked.argument)?;
    let spent = match asked.state.explorer.spent_txouts_in_memory(&hash) {
        Some(spent) => spent,
        None => asked.ask(move |explorer| explorer.spent_txouts(hash).map_err(without_undo)).await?,
    };
    asked.immutable(spent, &format!("{hash}-spent"), not_yet)
}

/// Core looks for the undo alone: of a pruned block it says nothing else.
fn without_undo(error: QueryError) -> QueryError {
    match error {
        QueryError::Pruned(hash) => QueryError::NoUndo { hash, absence: Absence::Pruned },
        other => other,
    }
}

/// Core's `ToIntegral`: digits only, with a minus sign where the type has one.
pub fn integer<T: std::str::FromStr>(text: &str) -> Option<T> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}
