//! Line icons, drawn here: no font, no request.

use leptos::prelude::*;

/// One icon as the path of its strokes on a grid of 16.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Icon {
    /// Holds.
    Tick,
    /// Does not.
    Cross,
    /// Not known.
    Dash,
    /// Older.
    Left,
    /// Newer.
    Right,
    /// Opens below.
    Down,
    /// Copies.
    Copy,
    /// Searches.
    Search,
    /// Colours as the system says.
    System,
    /// Light colours.
    Sun,
    /// Dark colours.
    Moon,
}

impl Icon {
    const fn path(self) -> &'static str {
        match self {
            Self::Tick => "M3 8.5 6.5 12 13 4.5",
            Self::Cross => "M4 4l8 8M12 4l-8 8",
            Self::Dash => "M4 8h8",
            Self::Left => "M10 3 5 8l5 5",
            Self::Right => "M6 3l5 5-5 5",
            Self::Down => "M3 6l5 5 5-5",
            Self::Copy => "M6 6h7v7H6zM3 10V3h7",
            Self::Search => "M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9M10.5 10.5 14 14",
            Self::System => "M2.5 3h11v8h-11zM6 14h4M8 11v3",
            Self::Sun => {
                "M8 5.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6M8 1v1.6M8 13.4V15M1 8h1.6M13.4 8H15M3 3l1.2 1.2M11.8 11.8 13 13M13 3l-1.2 1.2M4.2 11.8 3 13"
            }
            Self::Moon => "M13.5 9.5A6 6 0 1 1 6.5 2.5a4.8 4.8 0 0 0 7 7z",
        }
    }
}

/// Draws an icon; it says nothing to a screen reader, whatever it stands beside does.
#[component]
pub fn Glyph(
    /// Which.
    #[prop(into)]
    icon: Signal<Icon>,
) -> impl IntoView {
    view! {
        <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
            <path d=move || icon.get().path() />
        </svg>
    }
}
