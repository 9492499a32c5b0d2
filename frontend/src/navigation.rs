//! Which page is open: links, history and scroll positions.
//!
//! Three kinds of pages whose addresses the app writes itself need no router library; what they do need is that going
//! back finds the list where it was left, so every entry of the history remembers how far it was scrolled.

use leptos::prelude::*;
use wasm_bindgen::{JsCast, JsValue};

use crate::browser::{now_ms, on_window};
use crate::live::State;
use crate::number::pixels;
use crate::route::{Page, decode_query, encode_query};

/// The open page, as a context.
#[derive(Clone, Copy, Debug)]
pub struct Navigator {
    /// The page.
    pub page: State<Page>,
    /// The table's query, as it stands in the address.
    pub query: State<String>,
    /// The history entry that is open, and where it still has to be scrolled to.
    entry: StoredValue<Entry>,
}

#[derive(Clone, Debug, Default)]
struct Entry {
    key: String,
    restore: Option<i32>,
}

/// The address that every link is relative to, ending in a slash.
fn base() -> String {
    let base = document().base_uri().ok().flatten().unwrap_or_default();
    let end = base.rfind('/').map_or(0, |at| at + 1);
    base[..end].to_owned()
}

/// A relative address in full: a worker has another base.
pub fn absolute(path: &str) -> String {
    base() + path
}

/// An address of this app as its page and query; `None` for one of somebody else.
fn parse(href: &str) -> Option<(Page, String)> {
    let path = href.strip_prefix(&base())?;
    let path = path.split('#').next().unwrap_or_default();
    let (path, search) = path.split_at(path.find('?').unwrap_or(path.len()));
    Some((Page::parse(path), decode_query(search)))
}

impl Navigator {
    /// Opens the page that the address names, and listens to links and to the history from then on.
    pub fn start() -> Self {
        let (page, query) = here();
        let key = history_key().unwrap_or_default();
        let entry = Entry { restore: remembered(&key), key };
        let navigator = Self { page: State::new(page), query: State::new(query), entry: StoredValue::new(entry) };
        if let Ok(history) = window().history() {
            // The browser restores before the list is long enough to.
            let _ = history.set_scroll_restoration(web_sys::ScrollRestoration::Manual);
        }
        if navigator.entry.with_value(|entry| entry.key.is_empty()) {
            navigator.write(None, true);
        }
        on_window("click", move |event| {
            if let Some(event) = event.dyn_ref() {
                navigator.follow(event);
            }
        });
        on_window("popstate", move |_| navigator.arrive_back());
        on_window("pagehide", move |_| navigator.remember());
        navigator
    }

    /// Opens a page as a new entry of the history.
    pub fn go(self, page: Page) {
        self.go_with(page, String::new());
    }

    /// Opens a page with a query.
    pub fn go_with(self, page: Page, query: String) {
        self.remember();
        self.write(Some([page.href(), encode_query(&query)].concat()), false);
        self.entry.update_value(|entry| entry.restore = Some(0));
        self.show(page, query);
        self.arrived();
        crate::browser::focus("main");
    }

    /// Changes the table's query in place: typing is no travelling.
    pub fn set_query(self, query: String) {
        if self.query.with_untracked(|known| *known != query) {
            self.write(Some([self.page.get_untracked().href(), encode_query(&query)].concat()), true);
            self.query.set(query);
        }
    }

    /// Scrolls to where the entry was left; pages call it when what they show stands.
    pub fn arrived(self) {
        let Some(y) = self.entry.with_value(|entry| entry.restore) else { return };
        request_animation_frame(move || {
            window().scroll_to_with_x_and_y(0.0, y.into());
            let scrolled = scroll_y();
            // A page that is still loading is too short; the next call tries again.
            if scrolled >= y {
                self.entry.update_value(|entry| entry.restore = None);
            }
        });
    }

    fn show(self, page: Page, query: String) {
        if self.page.get_untracked() != page {
            self.page.set(page);
        }
        if self.query.with_untracked(|known| *known != query) {
            self.query.set(query);
        }
    }

    fn arrive_back(self) {
        self.remember();
        let key = history_key().unwrap_or_default();
        self.entry.set_value(Entry { restore: Some(remembered(&key).unwrap_or(0)), key });
        let (page, query) = here();
        self.show(page, query);
        self.arrived();
    }

    /// A plain click on a link of this app opens its page; everything else is the browser's.
    fn follow(self, event: &web_sys::MouseEvent) {
        let modified = event.ctrl_key() || event.meta_key() || event.shift_key() || event.alt_key();
        if event.default_prevented() || event.button() != 0 || modified {
            return;
        }
        let link = event.target().and_then(|target| target.dyn_into::<web_sys::Element>().ok());
        let link = link.and_then(|element| element.closest("a[href]").ok().flatten());
        let Some(link) = link.and_then(|link| link.dyn_into::<web_sys::HtmlAnchorElement>().ok()) else { return };
        // The server's other chains lie below the same address and are another app.
        let elsewhere = ["target", "download", "rel"].iter().any(|name| link.has_attribute(name));
        if elsewhere || !link.hash().is_empty() {
            return;
        }
        if let Some((page, query)) = parse(&link.href()) {
            event.prevent_default();
            self.go_with(page, query);
        }
    }

    /// Writes an entry of the history, in place of the open one or after it.
    fn write(self, path: Option<String>, replace: bool) {
        let key = if replace { self.entry.with_value(|entry| entry.key.clone()) } else { String::new() };
        let key = if key.is_empty() { now_ms().to_string() } else { key };
        let state = JsValue::from_str(&key);
        let url = path.map(|path| absolute(path.trim_start_matches("./")));
        if let Ok(history) = window().history() {
            // Browsers refuse too many entries in a short time: the page changes all the same.
            let _ = if replace {
                history.replace_state_with_url(&state, "", url.as_deref())
            } else {
                history.push_state_with_url(&state, "", url.as_deref())
            };
        }
        self.entry.update_value(|entry| entry.key = key);
    }

    fn remember(self) {
        let key = self.entry.with_value(|entry| entry.key.clone());
        if let Ok(Some(storage)) = window().session_storage() {
            // Without storage the list starts at its top: no harm.
            let _ = storage.set_item(&key, &scroll_y().to_string());
        }
    }
}

/// How far the window is scrolled.
pub fn scroll_y() -> i32 {
    window().scroll_y().map_or(0, pixels)
}

/// Scrolls the window by some pixels.
pub fn scroll_by(y: i32) {
    window().scroll_by_with_x_and_y(0.0, y.into());
}

fn here() -> (Page, String) {
    let href = window().location().href().unwrap_or_default();
    parse(&href).unwrap_or((Page::NotFound, String::new()))
}

fn history_key() -> Option<String> {
    window().history().ok()?.state().ok()?.as_string()
}

fn remembered(key: &str) -> Option<i32> {
    window().session_storage().ok()??.get_item(key).ok()??.parse().ok()
}
