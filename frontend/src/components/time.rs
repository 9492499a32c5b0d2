//! Times of blocks: how long ago, and when exactly.

use leptos::prelude::*;

use crate::browser::minutes_east;
use crate::chain::Chain;
use crate::format::{ago, date_time, zone};
use crate::live::live;

/// How long ago, moving on with the clock; the exact time stands in the tooltip.
#[component]
pub fn Ago(
    /// Seconds since 1970.
    time: u32,
) -> impl IntoView {
    let clock = expect_context::<Chain>().clock;
    let exact = date_time(time, 0) + " UTC";
    view! { <time title=exact>{live(move || ago(time, clock.get()))}</time> }
}

/// The reader's local time, the same in UTC, and how long ago.
#[component]
pub fn Moment(
    /// Seconds since 1970.
    time: u32,
) -> impl IntoView {
    let east = minutes_east(time);
    let utc = date_time(time, 0) + " UTC";
    let local = (east != 0).then(|| [&date_time(time, east), " ", &zone(east)].concat());
    view! {
        <span class="moment">
            <span>{local.clone().unwrap_or_else(|| utc.clone())}</span>
            {local.is_some().then(|| view! { <span class="muted">{utc.clone()}</span> })}
            <span class="muted">
                <Ago time />
            </span>
        </span>
    }
}
