//! How much of a block's weight pays which fee rate. A bar filters the table to its rates.

use leptos::html::Div;
use leptos::prelude::*;

use super::geometry::{Bar, Bucket, bars, labels};
use crate::browser::on_window;
use crate::format::{count, milli_short, weight};
use crate::live::{State, effect};
use crate::number::{pixels, share};

const HEIGHT: u32 = 150;
const LABEL_ROOM: u32 = 38;

/// The histogram.
#[component]
pub fn FeeHistogram(
    /// The buckets, from the lowest rate to the highest.
    buckets: Vec<Bucket>,
    /// The colour step of each bucket.
    heats: Vec<u32>,
    /// The range that the table is filtered to: from, below.
    #[prop(into)]
    range: Signal<(Option<u64>, Option<u64>)>,
    /// A bar was chosen.
    choose: Callback<(u64, Option<u64>)>,
) -> impl IntoView {
    let frame = NodeRef::<Div>::new();
    let width = State::new(600_u32);
    let measure = move || {
        if let Some(frame) = frame.get_untracked() {
            let measured = u32::try_from(frame.client_width()).unwrap_or(0);
            if measured > 0 && measured != width.get_untracked() {
                width.set(measured);
            }
        }
    };
    effect(move || {
        frame.track();
        measure();
    });
    on_window("resize", move |_| measure());
    let weights: Vec<u64> = buckets.iter().map(|bucket| bucket.weight).collect();
    let total: u64 = weights.iter().sum();
    let drawn = move || {
        let bars = bars(&weights, width.get(), HEIGHT);
        let labelled = labels(&bars, LABEL_ROOM);
        let columns = bars.iter().zip(&buckets).zip(&heats).enumerate().map(|(at, ((&bar, &bucket), &heat))| {
            let label = labelled.contains(&at).then(|| milli_short(bucket.from));
            view! { <Column bar bucket total heat label range choose /> }
        });
        columns.collect_view()
    };
    let view_box = move || ["0 0 ", &width.get().to_string(), " ", &(HEIGHT + 22).to_string()].concat();
    view! {
        <div class="histogram" node_ref=frame data-test="histogram">
            <svg viewBox=view_box role="group" aria-label="Weight by fee rate; a bar filters the table">
                {drawn}
            </svg>
        </div>
    }
}

#[component]
fn Column(
    bar: Bar,
    bucket: Bucket,
    total: u64,
    heat: u32,
    label: Option<String>,
    range: Signal<(Option<u64>, Option<u64>)>,
    choose: Callback<(u64, Option<u64>)>,
) -> impl IntoView {
    let title = describe(&bucket, total);
    let name = title.clone();
    let within = move || {
        let (from, below) = range.get();
        from.is_none_or(|from| bucket.from >= from)
            && below.is_none_or(|below| bucket.below.is_some_and(|end| end <= below))
    };
    let run = move || choose.run((bucket.from, bucket.below));
    let on_key = move |event: leptos::ev::KeyboardEvent| {
        if matches!(event.key().as_str(), "Enter" | " ") {
            event.prevent_default();
            run();
        }
    };
    view! {
        <g
            class="bar"
            class:dim=move || !within()
            data-test="bar"
            role="button"
            tabindex="0"
            aria-label=name
            on:click=move |_| run()
            on:keydown=on_key
        >
            <title>{title}</title>
            <rect class="hit" x=bar.x y=0 width=bar.width + 1 height=HEIGHT />
            <rect class=["heat-", &heat.to_string()].concat() x=bar.x y=bar.y width=bar.width height=bar.height rx=1 />
            {label
                .map(|label| {
                    view! {
                        <text x=bar.x y=HEIGHT + 16>
                            {label}
                        </text>
                    }
                })}
        </g>
    }
}

fn describe(bucket: &Bucket, total: u64) -> String {
    let range = match bucket.below {
        Some(below) => [&milli_short(bucket.from), " to ", &milli_short(below)].concat(),
        None => [&milli_short(bucket.from), " and more"].concat(),
    };
    let part = crate::format::percent(share(bucket.weight, total, 1000));
    let number = count(bucket.count.into(), "transaction");
    [&range, " sat/vB: ", &number, ", ", &weight(bucket.weight), ", ", &part].concat()
}

/// A browser's coordinate within an element, in pixels from its left edge.
pub fn offset_x(event: &leptos::ev::MouseEvent, left: f64) -> u32 {
    u32::try_from(event.client_x() - pixels(left)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_says_what_it_is() {
        let bucket = Bucket { from: 2000, below: Some(3000), weight: 400_000, count: 1 };
        assert_eq!(describe(&bucket, 4_000_000), "2 to 3 sat/vB: 1 transaction, 400 kWU, 10.0%");
        let last = Bucket { from: 2_000_000, below: None, weight: 0, count: 0 };
        assert_eq!(describe(&last, 0), "2,000 and more sat/vB: 0 transactions, 0 WU, 0.0%");
    }
}
