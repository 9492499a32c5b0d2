#![doc = include_str!("../README.md")]

pub mod api;
pub mod app;
pub mod blocks;
pub mod browser;
pub mod chain;
pub mod charts;
pub mod components;
pub mod fetched;
pub mod format;
pub mod json;
pub mod live;
pub mod model;
pub mod navigation;
#[cfg(target_arch = "wasm32")]
pub mod no_signing;
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
