//! Statistics of one block, as JSON or as the row that summaries are made of.

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use bitcoin::hashes::{Hash, sha256};
use hindsight_shared::search::BlockId;
use hindsight_shared::stats::core::UtxoOverhead;
use hindsight_shared::stats::row::MEDIA_TYPE;
use serde::Deserialize;

use super::blocks::{ListQuery, fresh};
use super::error::HttpError;
use super::extract::{Parameters, Steps};
use super::respond::{Caching, Parts, bytes};
use super::state::AppState;
use super::stats_json::stats_json;

/// Most rows in one answer: some 1.5 MB.
const MOST_SUMMARIES: u32 = 2016;

/// Which Core the answer should equal.
#[derive(Debug, Deserialize)]
pub struct StatsQuery {
    core_compat: Option<String>,
}

/// `GET /api/v1/block/{hash|height}/stats`: JSON, or with `Accept: application/vnd.hindsight.summary` the binary row.
/// With `?core_compat=31` sizes of unspent outputs are counted as Core counted them up to release 31.
pub async fn stats(
    State(state): State<AppState>,
    Steps(id): Steps<String>,
    Parameters(query): Parameters<StatsQuery>,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let id: BlockId = id.parse()?;
    let overhead = overhead(query.core_compat.as_deref(), state.access.core_compat)?;
    let stats = state.ask(move |explorer| explorer.stats(id)).await?;
    if wants_row(&headers) {
        let tag = format!("{}-stats", stats.summary.hash);
        return Ok(bytes(&headers, MEDIA_TYPE, Parts::new([stats.summary.pack().into()]), &tag, Caching::Revalidate));
    }
    Ok(fresh(stats_json(&stats, overhead)))
}

/// `GET /api/v1/blocks/summaries?from=&count=`: rows one after another, newest first.
pub async fn summaries(
    State(state): State<AppState>,
    Parameters(query): Parameters<ListQuery>,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let (from, count) = query.parse(MOST_SUMMARIES)?;
    // Which rows there are says nothing about what is in them, so the tag is made of all of it.
    let answer = state.ask(move |explorer| {
        let rows = explorer.summaries(from, count)?;
        Ok((sha256::Hash::hash(&rows).to_string(), rows))
    });
    let (tag, rows) = answer.await?;
    Ok(bytes(&headers, MEDIA_TYPE, Parts::new([rows.into()]), &tag, Caching::Revalidate))
}

fn overhead(asked: Option<&str>, configured: UtxoOverhead) -> Result<UtxoOverhead, HttpError> {
    match asked {
        None => Ok(configured),
        Some(text) => text.parse().map(UtxoOverhead::of_release).map_err(|_| {
            let text: String = text.chars().take(40).collect();
            HttpError::bad_request(format!("'{text}' is no release of Bitcoin Core: give its first number, such as 31"))
        }),
    }
}

fn wants_row(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted.split(',').any(|item| item.split(';').next().unwrap_or_default().trim() == MEDIA_TYPE)
}
