//! What an address held over time, as steps. What lies below the pointer is said under the drawing.

use bitcoin::Amount;
use hindsight_shared::address::BalanceAt;
use leptos::html::Div;
use leptos::prelude::*;

use super::amount::Amount as AmountView;
use super::time::Moment;
use crate::browser::{minutes_east, on_window};
use crate::charts::fee_histogram::offset_x;
use crate::charts::steps::Steps;
use crate::format::{date_time, short};
use crate::live::{Derived, State, effect, live};
use crate::settings::{Settings, Unit};

const HEIGHT: u32 = 160;

/// Room at the left for amounts.
const LEFT: u32 = 64;

/// Room at the right for the mark.
const RIGHT: u32 = 6;

/// The drawing.
#[component]
pub fn BalanceChart(
    /// What was held after blocks that changed it, oldest first.
    points: Vec<BalanceAt>,
    /// The time up to which the last of them holds.
    end: u32,
) -> impl IntoView {
    let settings = expect_context::<Settings>();
    let frame = NodeRef::<Div>::new();
    let width = State::new(600_u32);
    let measure = move || {
        let measured = frame.get_untracked().and_then(|frame| u32::try_from(frame.client_width()).ok()).unwrap_or(0);
        if measured > LEFT + RIGHT && measured != width.get_untracked() {
            width.set(measured);
        }
    };
    effect(move || {
        frame.track();
        measure();
    });
    on_window("resize", move |_| measure());
    let points = StoredValue::new(points);
    let steps =
        Derived::new(move || points.with_value(|points| Steps::new(points, end, (width.get() - LEFT - RIGHT, HEIGHT))));
    let pointed = State::new(None::<usize>);
    let point = move |event: leptos::ev::MouseEvent| {
        let Some(frame) = frame.get_untracked() else { return };
        let x = offset_x(&event, frame.get_bounding_client_rect().left()).saturating_sub(LEFT);
        let at = steps.with_untracked(|steps| steps.at(x));
        if pointed.get_untracked() != at {
            pointed.set(at);
        }
    };
    let view_box = move || ["0 0 ", &width.get().to_string(), " ", &(HEIGHT + 36).to_string()].concat();
    let label = points.with_value(|points| describe(points, settings.unit.get_untracked()));
    let rules = move || {
        let unit = settings.unit.get();
        let steps = steps.get();
        let rule = |amount| {
            let y = steps.y(amount) + 8;
            view! {
                <path class="grid" d=["M", &LEFT.to_string(), " ", &y.to_string(), "H", &(width.get() - RIGHT).to_string()].concat() />
                <text class="amounts" x=LEFT - 8 y=y + 4>{brief(unit, amount)}</text>
            }
        };
        steps.rules().into_iter().map(rule).collect_view()
    };
    let dates = move || {
        let steps = steps.get();
        let times = steps.times(if width.get() < 500 { 2 } else { 4 });
        let last = times.len().saturating_sub(1);
        let date = |(at, time): (usize, u32)| {
            let anchor = if at == 0 {
                "start"
            } else if at == last {
                "end"
            } else {
                "middle"
            };
            view! { <text x=LEFT + steps.x(time) y=HEIGHT + 30 text-anchor=anchor>{day_or_minute(time, steps.to - steps.from)}</text> }
        };
        times.into_iter().enumerate().map(date).collect_view()
    };
    let mark = move || {
        let point = points.with_value(|points| points.get(pointed.get()?).copied())?;
        let (x, y) = steps.with(|steps| (steps.x(point.time) + LEFT, steps.y(point.balance) + 8));
        Some(view! { <circle class="mark" cx=x cy=y r=4 /> })
    };
    let said = move || {
        let point = points.with_value(|points| match pointed.get() {
            Some(at) => points.get(at).copied(),
            None => points.last().copied(),
        })?;
        Some(view! { <Moment time=point.time /> " " <AmountView value=point.balance /> })
    };
    let line = move || steps.with(Steps::line);
    let area = move || steps.with(Steps::area);
    view! {
        <div class="balance" node_ref=frame data-test="balance-chart" on:mousemove=point on:mouseleave=move |_| pointed.set(None)>
            <svg viewBox=view_box role="img" aria-label=label>
                {live(rules)}
                {live(dates)}
                <g transform=["translate(", &LEFT.to_string(), " 8)"].concat()>
                    <path class="area" d=area />
                    <path class="line" d=line />
                </g>
                {live(mark)}
            </svg>
        </div>
        <p class="muted small said">{live(said)}</p>
    }
}

/// An amount in few characters, for a scale.
fn brief(unit: Unit, amount: Amount) -> String {
    match unit {
        Unit::Btc => unit.write(amount).trim_end_matches('0').trim_end_matches('.').to_owned(),
        Unit::Sat => short(amount.to_sat().into()),
    }
}

/// A week and more is told in days.
fn day_or_minute(time: u32, span: u32) -> String {
    let text = date_time(time, minutes_east(time));
    let kept = if span < 7 * 86_400 { 16 } else { 10 };
    text.get(..kept).unwrap_or(&text).to_owned()
}

/// The drawing in words.
fn describe(points: &[BalanceAt], unit: Unit) -> String {
    let amount = |point: &BalanceAt| [&unit.write(point.balance), " ", unit.name()].concat();
    let when = |point: &BalanceAt| date_time(point.time, 0) + " UTC";
    let most = points.iter().max_by_key(|point| point.balance);
    match (points.first(), points.last(), most) {
        (Some(first), Some(last), Some(most)) => [
            "Balance over time: first changed ",
            &when(first),
            ", most ",
            &amount(most),
            " from ",
            &when(most),
            ", last changed ",
            &when(last),
            " to ",
            &amount(last),
        ]
        .concat(),
        _ => "No balance yet".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hindsight_shared::Height;

    #[test]
    fn a_drawing_is_told_in_words() {
        let point = |time, sats| BalanceAt { height: Height(0), time, balance: Amount::from_sat(sats) };
        let said = describe(&[point(1_231_006_505, 5_000_000_000), point(1_231_469_665, 1)], Unit::Sat);
        assert_eq!(
            said,
            "Balance over time: first changed 2009-01-03 18:15:05 UTC, most 5,000,000,000 sat from 2009-01-03 18:15:05 UTC, last changed 2009-01-09 02:54:25 UTC to 1 sat"
        );
        assert_eq!(describe(&[], Unit::Btc), "No balance yet");
    }

    #[test]
    fn scales_are_short() {
        assert_eq!(brief(Unit::Btc, Amount::from_sat(150_000_000)), "1.5");
        assert_eq!(brief(Unit::Btc, Amount::from_sat(2_000_000_000_000)), "20,000");
        assert_eq!(brief(Unit::Btc, Amount::ZERO), "0");
    }
}
