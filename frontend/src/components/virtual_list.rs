//! A list of any length of which only the rows in sight are in the document. It scrolls with the window, so that a
//! page has one scroll bar, on a phone as on a desk.

use std::sync::Arc;

use leptos::html::Div;
use leptos::prelude::*;

use crate::browser::{on_toggle, on_window, window_height};
use crate::live::{State, effect};
use crate::model::scroll::{Heights, scroll_to, visible_range};
use crate::navigation::scroll_by;
use crate::number::pixels;

/// Where a list stands: what scrolls a row into sight.
#[derive(Clone, Copy, Debug)]
pub struct ListPlace {
    frame: NodeRef<Div>,
    /// How high its rows are.
    pub heights: State<Heights>,
}

impl ListPlace {
    /// A place for a list with rows of this height.
    pub fn new(row: u32) -> Self {
        Self { frame: NodeRef::new(), heights: State::new(Heights { row, ..Heights::default() }) }
    }

    fn scrolled(self) -> Option<i32> {
        let frame = self.frame.try_get_untracked()??;
        Some(-pixels(frame.get_bounding_client_rect().top()))
    }

    /// Scrolls the window so that a row stands below the `covered` pixels at its top.
    pub fn reveal(self, at: usize, covered: u32) {
        let Some(scrolled) = self.scrolled() else { return };
        let by = self.heights.with_untracked(|heights| scroll_to(heights, at, scrolled, window_height(), covered));
        if by != 0 {
            scroll_by(by);
        }
    }

    /// Scrolls the window so that the list starts below the frame's head.
    pub fn reveal_start(self) {
        if let Some(scrolled) = self.scrolled() {
            scroll_by(-scrolled - 120);
        }
    }

    /// Whether the list's end is less than two windows away.
    pub fn is_end_near(self) -> bool {
        let Some(frame) = self.frame.get_untracked() else { return false };
        let window = i64::from(window_height());
        i64::from(pixels(frame.get_bounding_client_rect().bottom())) < 3 * window
    }

    /// Notes how high an opened row has become beyond a plain one.
    pub fn stretch(self, at: usize, extra: u32) {
        let known = self.heights.with_untracked(|heights| heights.extra.get(&at).copied().unwrap_or(0));
        if known != extra {
            self.heights.update(|heights| {
                if extra == 0 {
                    heights.extra.remove(&at);
                } else {
                    heights.extra.insert(at, extra);
                }
            });
        }
    }
}

/// Draws a row from its position and its item.
pub type DrawRow = Callback<(usize, u32), AnyView>;

/// The list. It is not generic over its rows: each kind of list would be another 8 KB to download.
#[component]
pub fn VirtualList(
    /// What the rows stand for.
    #[prop(into)]
    items: Signal<Arc<Vec<u32>>>,
    /// Where the list stands.
    place: ListPlace,
    /// Draws a row.
    row: DrawRow,
) -> impl IntoView {
    let range = State::new(0..0);
    let look = move || {
        let Some(scrolled) = place.scrolled() else { return };
        let count = items.with_untracked(|items| items.len());
        let seen = place.heights.with_untracked(|heights| visible_range(heights, count, scrolled, window_height()));
        if range.with_untracked(|known| *known != seen) {
            range.set(seen);
        }
    };
    effect(move || {
        items.track();
        place.heights.track();
        place.frame.track();
        look();
    });
    on_window("scroll", move |_| look());
    on_window("resize", move |_| look());
    on_toggle(look);
    let height = move || {
        let count = items.with(|items| items.len());
        px(place.heights.with(|heights| heights.top(count)))
    };
    let shift = move || {
        let top = place.heights.with(|heights| heights.top(range.get().start));
        ["translateY(", &px(top), ")"].concat()
    };
    let drawn = move || {
        let range = range.get();
        items.with(|items| {
            let seen = items.get(range.start..range.end.min(items.len())).unwrap_or_default();
            (range.start..).zip(seen.iter().copied()).collect::<Vec<_>>()
        })
    };
    view! {
        <div class="long-list" node_ref=place.frame style:height=height role="presentation">
            <div class="window" style:transform=shift role="presentation">
                <For each=drawn key=|seen| *seen children=move |seen| row.run(seen) />
            </div>
        </div>
    }
}

/// Pixels as CSS writes them.
pub fn px(pixels: u64) -> String {
    pixels.to_string() + "px"
}
