//! The browser as far as the app asks it for something: clock, storage, where the window stands.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::Closure;

use crate::number::{pixels, whole};

/// Seconds since 1970.
pub fn now() -> u64 {
    whole(js_sys::Date::now() / 1000.0)
}

/// Milliseconds since 1970.
pub fn now_ms() -> u64 {
    whole(js_sys::Date::now())
}

/// How many minutes east of Greenwich the reader's clock was at a time.
pub fn minutes_east(time: u32) -> i32 {
    let date = js_sys::Date::new(&(f64::from(time) * 1000.0).into());
    -pixels(date.get_timezone_offset())
}

/// Reads a setting; a browser that keeps none has none.
pub fn load(name: &str) -> Option<String> {
    window().local_storage().ok()??.get_item(name).ok()?
}

/// Keeps a setting, where the browser does.
pub fn save(name: &str, value: &str) {
    if let Ok(Some(storage)) = window().local_storage() {
        // A full or forbidden storage costs the reader a click next time, nothing more.
        let _ = storage.set_item(name, value);
    }
}

/// Saves a text as a file, as if downloaded: it never leaves the browser.
pub fn download(name: &str, text: &str) {
    let parts = js_sys::Array::of1(&text.into());
    let url =
        web_sys::Blob::new_with_str_sequence(&parts).and_then(|blob| web_sys::Url::create_object_url_with_blob(&blob));
    let link = document().create_element("a").ok().and_then(|link| link.dyn_into::<web_sys::HtmlAnchorElement>().ok());
    if let (Ok(url), Some(link)) = (url, link) {
        link.set_href(&url);
        link.set_download(name);
        link.click();
        // The browser has taken the blob by then; to forget its name cannot fail.
        let _ = web_sys::Url::revoke_object_url(&url);
    }
}

/// Height of the window in pixels.
pub fn window_height() -> u32 {
    let height = window().inner_height().ok().and_then(|height| height.as_f64());
    u32::try_from(pixels(height.unwrap_or(800.0))).unwrap_or(800)
}

/// Whether a media query holds.
pub fn matches(query: &str) -> bool {
    window().match_media(query).ok().flatten().is_some_and(|list| list.matches())
}

/// Whether the page lies in the background.
pub fn is_hidden() -> bool {
    document().hidden()
}

/// Whether a key was meant for something else: typed into a field, pressed with a modifier, or on a button.
pub fn is_taken(event: &web_sys::KeyboardEvent) -> bool {
    let target = event.target().and_then(|target| target.dyn_into::<web_sys::Element>().ok());
    let tag = target.map(|element| element.tag_name()).unwrap_or_default();
    let typing = matches!(tag.as_str(), "INPUT" | "TEXTAREA" | "SELECT");
    let pressing = matches!(event.key().as_str(), "Enter" | " ") && matches!(tag.as_str(), "A" | "BUTTON" | "SUMMARY");
    typing || pressing || event.ctrl_key() || event.meta_key() || event.alt_key() || event.default_prevented()
}

/// Puts the cursor into the element with this id, and selects what stands there.
pub fn focus(id: &str) {
    let Some(element) = document().get_element_by_id(id) else { return };
    if let Some(input) = element.dyn_ref::<web_sys::HtmlInputElement>() {
        input.select();
    }
    if let Some(element) = element.dyn_ref::<web_sys::HtmlElement>() {
        // Focus is refused to what is hidden; then it stays where it is.
        let _ = element.focus();
    }
}

/// Puts the focus on an element without scrolling to it.
pub fn focus_quietly(element: NodeRef<leptos::html::Div>) {
    if let Some(element) = element.get_untracked() {
        let options = web_sys::FocusOptions::new();
        options.set_prevent_scroll(true);
        // An element with a tab index takes it.
        let _ = element.focus_with_options(&options);
    }
}

/// Calls back with every such event of the window, as long as the caller's component stands.
pub fn on_window(event: &'static str, listener: impl Fn(web_sys::Event) + 'static) {
    // Boxed, so that Leptos's part is there once.
    let listener: Box<dyn Fn(web_sys::Event)> = Box::new(listener);
    let handle = window_event_listener_untyped(event, listener);
    on_cleanup(move || handle.remove());
}

/// Calls back whenever a part of the page has been opened or closed, which moves what lies below it.
pub fn on_toggle(listener: impl Fn() + 'static) {
    let listener = Closure::<dyn Fn()>::new(listener).into_js_value();
    let listener = StoredValue::new_local(listener);
    let with = move |change: fn(&web_sys::Window, &js_sys::Function)| {
        listener.with_value(|listener| change(&window(), listener.unchecked_ref()));
    };
    // These events do not bubble; a window can refuse no listener.
    with(|window, listener| drop(window.add_event_listener_with_callback_and_bool("toggle", listener, true)));
    on_cleanup(move || {
        with(|window, listener| drop(window.remove_event_listener_with_callback_and_bool("toggle", listener, true)))
    });
}

/// Calls back with every key pressed anywhere, as long as the caller's component stands.
pub fn on_key(listener: impl Fn(&web_sys::KeyboardEvent) + 'static) {
    on_window("keydown", move |event| {
        if let Some(event) = event.dyn_ref() {
            listener(event);
        }
    });
}

/// A signal that follows a media query.
pub fn media(query: &'static str) -> RwSignal<bool> {
    let signal = RwSignal::new(matches(query));
    on_window("resize", move |_| {
        let holds = matches(query);
        if signal.get_untracked() != holds {
            signal.set(holds);
        }
    });
    signal
}
