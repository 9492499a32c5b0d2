//! How the server is doing.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use hindsight_shared::api::Status;

use super::blocks::fresh;
use super::state::AppState;

/// `GET /api/v1/status`
pub async fn status(State(state): State<AppState>) -> Response {
    fresh(Status { chains: state.chains.to_vec(), ..state.explorer.status() })
}

/// `GET /healthz`: 200 while the blocks directory can be read and is followed, for whoever restarts services.
pub async fn health(State(state): State<AppState>) -> Response {
    let unavailable = StatusCode::SERVICE_UNAVAILABLE;
    let (status, text) = if !state.explorer.follows_source() {
        (unavailable, "new blocks are no longer looked for: the server has to be started again\n")
    } else if !state.explorer.reads_source() {
        (unavailable, "the blocks directory cannot be read: see api/v1/status\n")
    } else {
        (StatusCode::OK, "ok\n")
    };
    (status, [(header::CACHE_CONTROL, "no-store")], text).into_response()
}
