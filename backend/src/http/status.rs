//! How the server is doing.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::blocks::fresh;
use super::state::AppState;

/// `GET /api/v1/status`
pub async fn status(State(state): State<AppState>) -> Response {
    fresh(state.explorer.status())
}

/// `GET /healthz`: 200 while the blocks directory can be read, for whoever restarts services.
pub async fn health(State(state): State<AppState>) -> Response {
    let (status, text) = match state.explorer.reads_source() {
        true => (StatusCode::OK, "ok\n"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "the blocks directory cannot be read: see api/v1/status\n"),
    };
    (status, [(header::CACHE_CONTROL, "no-store")], text).into_response()
}
