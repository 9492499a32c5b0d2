//! Names and values, as a list of definitions.

use leptos::prelude::*;

/// One name and its value.
#[component]
pub fn Fact(
    /// The name.
    name: &'static str,
    /// What a hover explains.
    #[prop(optional)]
    title: &'static str,
    /// Whether it takes the whole width.
    #[prop(optional)]
    wide: bool,
    /// Whether it takes the place of two.
    #[prop(optional)]
    double: bool,
    /// The value.
    value: AnyView,
) -> impl IntoView {
    view! {
        <div class="fact" class:wide=wide class:double=double>
            <dt title=title>{name}</dt>
            <dd>{value}</dd>
        </div>
    }
}

/// How full something is, as a bar.
#[component]
pub fn Meter(
    /// Thousandths.
    share: u32,
    /// What it says to those who cannot see it.
    label: String,
) -> impl IntoView {
    let width = crate::format::percent(share.min(1000));
    view! {
        <span class="meter" role="img" aria-label=label>
            <span style:width=width></span>
        </span>
    }
}
