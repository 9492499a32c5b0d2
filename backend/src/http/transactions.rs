//! One transaction of a block, with the outputs that it spends.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use hindsight_shared::search::BlockId;
use hindsight_shared::tx_payload::MEDIA_TYPE;

use super::error::HttpError;
use super::extract::Steps;
use super::respond::{Caching, Parts, bytes};
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

fn parse(text: &str) -> Result<TxInBlock, HttpError> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let index = || plain.then(|| text.parse().ok()).flatten().map(TxInBlock::Index);
    let txid = || (text.len() == 64).then(|| text.parse().ok()).flatten().map(TxInBlock::Txid);
    txid().or_else(index).ok_or_else(|| {
        let text: String = text.chars().take(80).collect();
        HttpError::bad_request(format!("'{text}' is neither a place in a block nor a txid (64 hex digits)"))
    })
}
