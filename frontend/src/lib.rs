//! Hindsight's pages: fetches a block as binary, decodes, checks and shows it.
//!
//! One module for page and worker: whoever starts it (`public/start.js`) decides by having a window or not.
//!
//! `model`, `format`, `charts::geometry` and `route` are pure; `api` is the only network, `navigation` the only
//! history; `components` take values and give views, `pages` fetch and arrange.

pub mod api;
pub mod app;
pub mod blocks;
pub mod browser;
pub mod chain;
pub mod charts;
pub mod components;
pub mod format;
pub mod model;
pub mod navigation;
pub mod number;
pub mod pages;
pub mod route;
pub mod settings;
pub mod worker;

/// Mounts the app in a page, serves it in a worker.
pub fn run() {
    if web_sys::window().is_some() {
        leptos::mount::mount_to_body(app::App);
    } else {
        worker::serve::serve();
    }
}
