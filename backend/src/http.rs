//! The HTTP surface: extract, ask one question, respond.
//!
//! Questions are answered on a blocking thread, except those whose answer is already in memory. What an answer may be
//! cached for, and who may read it from another origin, is decided in `respond`; who may ask at all, in `guard`.

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{any, get};
use tower_http::catch_panic::CatchPanicLayer;

mod addresses;
mod blocks;
mod coding;
mod descriptors;
mod error;
mod extract;
mod guard;
mod pace;
mod ranges;
mod respond;
mod rest;
mod server;
mod several;
mod state;
mod stats;
mod stats_json;
mod status;
mod transactions;
mod web_app;

#[cfg(test)]
mod tests;

pub use descriptors::raise_limit;
pub use guard::host_name;
pub use server::{Limits, serve};
pub use several::{Named, several};
pub use state::{Access, AppState};

/// Every route, for the binary and the tests alike.
pub fn router(state: AppState) -> Router {
    let compressed = Router::new()
        .route("/api/v1/block/{id}", get(blocks::facts))
        .route("/api/v1/block/{id}/stats", get(stats::stats))
        .route("/api/v1/blocks", get(blocks::list))
        .route("/api/v1/blocks/summaries", get(stats::summaries))
        .route("/api/v1/tip", get(blocks::tip))
        .route("/api/v1/status", get(status::status))
        .route("/api/v1/address/{address}/history", get(addresses::history))
        .route("/api/v1/search/{text}", get(addresses::search))
        .route_layer(from_fn(coding::compress));
    compressed
        .route("/api/v1/block/{id}/payload", get(blocks::payload))
        .route("/api/v1/block/{id}/tx/{tx}", get(transactions::transaction))
        .route("/api/v1/blocks/{from}/{to}/payload", get(blocks::range))
        .route("/api/v1/tx/{txid}", get(transactions::find))
        .route("/api/v1/outpoint/{outpoint}", get(transactions::outpoint))
        .route("/api/v1/address/{address}", get(addresses::totals))
        .route("/api/v1/address/{address}/unspent", get(addresses::unspent))
        .route("/api/v1/address/{address}/balance", get(addresses::balance))
        .route("/healthz", get(status::health))
        .route("/api", any(error::no_such_route))
        .route("/api/", any(error::no_such_route))
        .route("/api/{*rest}", any(error::no_such_route))
        .route("/rest", any(rest::rest))
        .route("/rest/", any(rest::rest))
        .route("/rest/{*rest}", any(rest::rest))
        .method_not_allowed_fallback(error::no_such_method)
        .fallback_service(get(web_app::file).fallback(error::no_such_method).with_state(()))
        .layer(from_fn_with_state(state.clone(), guard::guard))
        .layer(CatchPanicLayer::custom(error::panicked))
        .with_state(state)
}
