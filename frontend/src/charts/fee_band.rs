//! The fee rates of one block as a band on an axis that all blocks share: under each other they show the market's course.

use leptos::prelude::*;

use super::geometry::{AXIS, EDGES, heat, on_axis};
use crate::format::milli_short;
use crate::model::brief::Rates;

/// Where the axis has a line, in thousandths of a satoshi per virtual byte.
const LINES: [u64; 3] = [1000, 10_000, 100_000];

/// The band: a thin line from the lowest to the highest rate, a thick one for the middle eight tenths of the weight, and
/// a mark at the median, by whose rate it is coloured.
#[component]
pub fn FeeBand(
    /// The block's rates.
    rates: Rates,
) -> impl IntoView {
    view! { <span class="band" title=title(&rates) inner_html=svg(&rates)></span> }
}

/// What the axis says, as the head of a column of bands.
#[component]
pub fn FeeAxis() -> impl IntoView {
    let label = |&rate: &u64| {
        let x = percent(on_axis(rate));
        ["<text x=\"", &x, "\" y=\"12\">", &milli_short(rate), "</text>"].concat()
    };
    let text: String =
        ["<svg>".to_owned()].into_iter().chain(LINES.iter().map(label)).chain(["</svg>".to_owned()]).collect();
    view! { <span class="band" inner_html=text></span> }
}

fn title(rates: &Rates) -> String {
    let Rates { min, p10, median, p90, max } = rates;
    let [min, p10, median, p90, max] = [min, p10, median, p90, max].map(|&milli| milli_short(milli));
    ["sat/vB: from ", &min, " to ", &max, ", eight tenths of the weight ", &p10, " to ", &p90, ", median ", &median]
        .concat()
}

fn svg(rates: &Rates) -> String {
    let rect = |class: &str, from: u32, to: u32, (y, height): (&str, &str)| {
        let width = percent(to.saturating_sub(from).max(4));
        let x = percent(from.min(AXIS - 4));
        ["<rect class=\"", class, "\" x=\"", &x, "\" width=\"", &width, "\" y=\"", y, "\" height=\"", height, "\"/>"]
            .concat()
    };
    let heat =
        ["heat-", &heat(EDGES.partition_point(|&edge| edge <= rates.median).saturating_sub(1)).to_string()].concat();
    let line = |&rate: &u64| rect("grid", on_axis(rate), on_axis(rate), ("0", "100%"));
    let parts = [
        rect("whole", on_axis(rates.min), on_axis(rates.max), ("47%", "6%")),
        rect(&heat, on_axis(rates.p10), on_axis(rates.p90), ("25%", "50%")),
        rect("median", on_axis(rates.median), on_axis(rates.median), ("12%", "76%")),
        "</svg>".to_owned(),
    ];
    ["<svg>".to_owned()].into_iter().chain(LINES.iter().map(line)).chain(parts).collect()
}

/// A place on the axis, as SVG writes it.
fn percent(place: u32) -> String {
    crate::format::percent(place * 1000 / AXIS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: Rates = Rates { min: 1000, p10: 2000, median: 5000, p90: 20_000, max: 300_000 };

    #[test]
    fn a_band_lies_on_the_axis() {
        let svg = svg(&RATES);
        assert!(svg.contains("<rect class=\"whole\" x=\"25.0%\" width=\"61.9%\""), "{svg}");
        assert!(svg.contains("x=\"32.5%\" width=\"25.0%\" y=\"25%\""), "{svg}");
        assert!(svg.contains("<rect class=\"median\" x=\"42.4%\""), "{svg}");
    }

    #[test]
    fn its_title_says_it_in_words() {
        let expect = "sat/vB: from 1 to 300, eight tenths of the weight 2 to 20, median 5";
        assert_eq!(title(&RATES), expect);
    }
}
