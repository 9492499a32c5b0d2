//! One transaction with the outputs that it spends: of a block, or found by its id.

use std::str::FromStr;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use bitcoin::{OutPoint, Txid};
use hindsight_shared::found_tx;
use hindsight_shared::search::BlockId;
use hindsight_shared::tx_payload::MEDIA_TYPE;

use super::error::HttpError;
use super::extract::Steps;
use super::respond::{Caching, Parts, bytes, rows};
use super::state::AppState;
use crate::query::TxInBlock;

/// `GET /api/v1/block/{hash|height}/tx/{index|txid}`
pub async fn transaction(
    State(state): State<AppState>,
    Steps((id, tx)): Steps<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let id: BlockId = id.parse()?;
    let which = parse(&tx)?;
    let answer = state.ask(move |explorer| explorer.transaction(id, which)).await?;
    let caching = match id {
        BlockId::Hash(_) if answer.immutable => Caching::Immutable,
        _ => Caching::Revalidate,
    };
    Ok(bytes(&headers, MEDIA_TYPE, Parts::new([answer.bytes]), &answer.tag, caching))
}

/// `GET /api/v1/tx/{txid}`
pub async fn find(
    State(state): State<AppState>,
    Steps(txid): Steps<String>,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let txid: Txid = parse_as(&txid, "a txid (64 hex digits)")?;
    let answer = state.ask(move |explorer| explorer.find(txid)).await?;
    Ok(rows(&headers, found_tx::MEDIA_TYPE, answer))
}

/// `GET /api/v1/outpoint/{txid}:{n}`
pub async fn outpoint(
    State(state): State<AppState>,
    Steps(outpoint): Steps<String>,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let outpoint: OutPoint = parse_as(&outpoint, "an outpoint (a txid, a colon and a number)")?;
    let fate = state.ask(move |explorer| explorer.fate(outpoint.txid, outpoint.vout)).await?;
    Ok(rows(&headers, found_tx::FATE_MEDIA_TYPE, fate.encode().to_vec()))
}

fn parse_as<T: FromStr>(text: &str, what: &str) -> Result<T, HttpError> {
    text.parse().map_err(|_| {
        let text: String = text.chars().take(100).collect();
        HttpError::bad_request(format!("'{text}' is not {what}"))
    })
}

fn parse(text: &str) -> Result<TxInBlock, HttpError> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let index = || plain.then(|| text.parse().ok()).flatten().map(TxInBlock::Index);
    let txid = || (text.len() == 64).then(|| text.parse().ok()).flatten().map(TxInBlock::Txid);
    txid().or_else(index).ok_or_else(|| {
        let text: String = text.chars().take(80).collect();
        HttpError::bad_request(format!("'{text}' is neither a place in a block nor a txid (64 hex digits)"))
    })
}
