//! Several chains in one server: the first at the root, each other below its name.
//!
//! Each is a server of its own with all routes; addresses are relative, so that its pages work wherever they begin.

use axum::Router;
use axum::http::{StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use hindsight_shared::api::ServedChain;

use super::{AppState, error, guard, router};

/// A chain that is served beside others.
#[derive(Clone, Debug)]
pub struct Named {
    /// The part of the path that its pages begin with, unless it is the first.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// How its requests are answered.
    pub state: AppState,
}

/// The routes of all of them.
pub fn several(chains: &[Named]) -> Router {
    let mut all = Router::new();
    for (at, chain) in chains.iter().enumerate() {
        let links = chains
            .iter()
            .enumerate()
            .map(|(to, other)| ServedChain { title: other.title.to_owned(), path: path(at, to, other.name) });
        let routes = router(AppState { chains: links.collect(), ..chain.state.clone() });
        all = match at {
            0 => all.merge(routes),
            _ => all.merge(to_root(chain)).nest_service(&format!("/{}/", chain.name), routes),
        };
    }
    all
}

/// From the root of one chain to that of another.
fn path(from: usize, to: usize, name: &str) -> String {
    match (from, to) {
        _ if from == to => "./".to_owned(),
        (0, _) => format!("{name}/"),
        (_, 0) => "../".to_owned(),
        _ => format!("../{name}/"),
    }
}

/// Without the slash a chain's relative addresses would lead to the first one.
fn to_root(chain: &Named) -> Router {
    let name = chain.name;
    let redirect =
        get(move || async move { (StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, format!("{name}/"))]) });
    Router::new()
        .route(&format!("/{name}"), redirect.fallback(error::no_such_method))
        .layer(from_fn_with_state(chain.state.clone(), guard::guard))
}
