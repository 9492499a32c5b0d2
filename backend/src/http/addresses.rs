//! Addresses and scripts: their sums, histories and coins; and what a text may mean.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use bitcoin::ScriptBuf;
use hindsight_shared::Height;
use hindsight_shared::address::{BALANCE_MEDIA_TYPE, COINS_MEDIA_TYPE, HISTORY_MEDIA_TYPE, Row, TOTALS_MEDIA_TYPE};
use hindsight_shared::search::NotAScript;
use serde::Deserialize;

use super::blocks::{count, fresh};
use super::error::HttpError;
use super::extract::{Parameters, Steps};
use super::respond::rows;
use super::state::AppState;
use crate::query::{Before, Explorer, QueryError};

/// Rows of a page of a history, unless told otherwise.
const PAGE: &str = "50";

/// Most rows of a page.
const MOST: u32 = 1000;

/// Longest text that is searched for: no script that is worth typing is longer.
const LONGEST_SEARCH: usize = 4000;

/// Which page of a history.
#[derive(Debug, Deserialize)]
pub struct PageQuery {
    before: Option<String>,
    count: Option<String>,
}

/// `GET /api/v1/address/{address|scriptPubKey}`
pub async fn totals(
    State(state): State<AppState>,
    Steps(address): Steps<String>,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let totals = ask(&state, &address, |explorer, script| explorer.totals(&script)).await?;
    Ok(rows(&headers, TOTALS_MEDIA_TYPE, Row::pack_all(&[totals])))
}

/// `GET /api/v1/address/{address|scriptPubKey}/history?before={height}:{index}&count={count}`
pub async fn history(
    State(state): State<AppState>,
    Steps(address): Steps<String>,
    Parameters(query): Parameters<PageQuery>,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let before = query.before.as_deref().map(parse_before).transpose()?;
    let count = count(query.count.as_deref().unwrap_or(PAGE), MOST)?;
    let page = ask(&state, &address, move |explorer, script| explorer.history(&script, before, count)).await?;
    Ok(rows(&headers, HISTORY_MEDIA_TYPE, Row::pack_all(&page)))
}

/// `GET /api/v1/address/{address|scriptPubKey}/unspent`
pub async fn unspent(
    State(state): State<AppState>,
    Steps(address): Steps<String>,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let coins = ask(&state, &address, |explorer, script| explorer.coins(&script)).await?;
    Ok(rows(&headers, COINS_MEDIA_TYPE, Row::pack_all(&coins)))
}

/// `GET /api/v1/address/{address|scriptPubKey}/balance`
pub async fn balance(
    State(state): State<AppState>,
    Steps(address): Steps<String>,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let points = ask(&state, &address, |explorer, script| explorer.balance(&script)).await?;
    Ok(rows(&headers, BALANCE_MEDIA_TYPE, Row::pack_all(&points)))
}

/// `GET /api/v1/search/{text}`
pub async fn search(State(state): State<AppState>, Steps(text): Steps<String>) -> Result<Response, HttpError> {
    if text.len() > LONGEST_SEARCH {
        return Err(HttpError::bad_request(format!("a search may take {LONGEST_SEARCH} bytes")));
    }
    Ok(fresh(state.ask(move |explorer| explorer.search(&text)).await?))
}

async fn ask<T: Send + 'static>(
    state: &AppState,
    address: &str,
    question: impl FnOnce(&Explorer, ScriptBuf) -> Result<T, QueryError> + Send + 'static,
) -> Result<T, HttpError> {
    let script = state.explorer.script(address)?;
    Ok(state.ask(move |explorer| question(explorer, script)).await?)
}

fn parse_before(text: &str) -> Result<Before, HttpError> {
    let parse = || {
        let (height, index) = text.split_once(':')?;
        Some(Before::new(Height(height.parse().ok()?), index.parse().ok()?))
    };
    parse().ok_or_else(|| {
        let text: String = text.chars().take(80).collect();
        HttpError::bad_request(format!("'{text}' is no place in the chain: a height, a colon and a place in its block"))
    })
}

impl From<NotAScript> for HttpError {
    fn from(error: NotAScript) -> Self {
        Self::bad_request(error.to_string())
    }
}
