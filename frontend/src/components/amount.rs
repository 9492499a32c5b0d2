//! An amount in the unit that the reader chose.

use bitcoin::Amount as Sats;
use leptos::prelude::*;

use crate::live::live;
use crate::settings::{Settings, Unit};

/// An amount with its unit. Trailing decimals of whole bitcoin are dimmed, so that columns stay aligned and large
/// numbers stand out.
#[component]
pub fn Amount(
    /// How much.
    value: Sats,
    /// Whether the unit stands behind the number.
    #[prop(default = true)]
    unit: bool,
) -> impl IntoView {
    let settings = expect_context::<Settings>();
    let parts = move || {
        let unit = settings.unit.get();
        let text = unit.write(value);
        // Zeros at the end say nothing, but keep the column straight.
        let kept = if unit == Unit::Btc { text.trim_end_matches('0').trim_end_matches('.').len() } else { text.len() };
        let (strong, faint) = text.split_at(kept);
        (strong.to_owned(), faint.to_owned())
    };
    view! {
        <span class="amount">
            {live(move || parts().0)}<span class="faint">{live(move || parts().1)}</span>
            {unit.then(|| view! { <span class="unit">{live(move || settings.unit.get().name())}</span> })}
        </span>
    }
}
