//! The switches in the frame: unit and colours.

use leptos::prelude::*;

use super::icon::{Glyph, Icon};
use crate::live::live;
use crate::settings::{Settings, Theme};

/// Switches between bitcoin and satoshis.
#[component]
pub fn UnitSwitch() -> impl IntoView {
    let unit = expect_context::<Settings>().unit;
    view! {
        <button
            type="button"
            class="switch"
            data-test="unit"
            title="Write amounts in bitcoin or in satoshis (u)"
            on:click=move |_| unit.update(|unit| *unit = unit.other())
        >
            <span class="unseen">"Amounts in "</span>
            {live(move || unit.get().name())}
        </button>
    }
}

/// Goes through the system's colours, light and dark.
#[component]
pub fn ThemeSwitch() -> impl IntoView {
    let theme = expect_context::<Settings>().theme;
    let icon = Signal::derive(move || match theme.get() {
        Theme::System => Icon::System,
        Theme::Light => Icon::Sun,
        Theme::Dark => Icon::Moon,
    });
    let label = move || ["Colours: ", theme.get().word()].concat();
    let turn = move |_| theme.update(|theme| *theme = theme.next());
    view! {
        <button type="button" class="switch" data-test="theme" title=label on:click=turn>
            <Glyph icon />
            <span class="unseen">{label}</span>
        </button>
    }
}
