//! What follows signals: parts of a page and effects, each kind as one type.
//!
//! Leptos makes everything that draws a closure anew for the type of each closure. Boxed they are of one type, which is a
//! tenth of the module less to download.

use leptos::prelude::*;

/// A part of a page that is drawn again whenever a signal in it changes.
pub fn live<V: IntoView + 'static>(mut part: impl FnMut() -> V + Send + 'static) -> AnyView {
    let part: Box<dyn FnMut() -> AnyView + Send> = Box::new(move || part().into_any());
    part.into_any()
}

/// Does something now, and again whenever a signal in it changes, as long as the caller's component stands.
pub fn effect(run: impl FnMut() + 'static) {
    let run: Box<dyn FnMut()> = Box::new(run);
    Effect::new(run);
}
