//! The block as one band: its transactions from first to last, as wide as their weight, coloured by fee rate. A click
//! goes to the transaction that lies there.

use std::sync::Arc;

use leptos::html::Div;
use leptos::prelude::*;

use super::fee_histogram::offset_x;
use super::geometry::{Slice, slice_at, strip};
use crate::browser::on_window;
use crate::live::{State, effect, live};
use crate::model::block::LoadedBlock;

const HEIGHT: u32 = 26;

/// The band.
#[component]
pub fn Strip(
    /// The block.
    block: Arc<LoadedBlock>,
    /// A place was chosen: the position of the transaction there.
    choose: Callback<usize>,
) -> impl IntoView {
    let frame = NodeRef::<Div>::new();
    let slices = State::new(Vec::<Slice>::new());
    let width = State::new(0_u32);
    let measure = move || {
        let Some(frame) = frame.get_untracked() else { return };
        let measured = u32::try_from(frame.client_width()).unwrap_or(0);
        if measured > 0 && measured != width.get_untracked() {
            width.set(measured);
            slices.set(strip(&block.rows, measured));
        }
    };
    let first = measure.clone();
    effect(move || {
        frame.track();
        first();
    });
    on_window("resize", move |_| measure());
    let pick = move |event: leptos::ev::MouseEvent| {
        let Some(frame) = frame.get_untracked() else { return };
        let x = offset_x(&event, frame.get_bounding_client_rect().left());
        if let Some(at) = slices.with_untracked(|slices| slice_at(slices, x)) {
            choose.run(at);
        }
    };
    let view_box = move || ["0 0 ", &width.get().max(1).to_string(), " ", &HEIGHT.to_string()].concat();
    view! {
        <div
            class="strip"
            node_ref=frame
            on:click=pick
            title="The block from first to last transaction, coloured by fee rate: click to go there"
            data-test="strip"
            aria-hidden="true"
        >
            <svg viewBox=view_box preserveAspectRatio="none">
                {live(move || {
                    slices
                        .get()
                        .into_iter()
                        .map(|slice| {
                            let class = slice
                                .heat
                                .map_or_else(|| "heat-none".to_owned(), |heat| ["heat-", &heat.to_string()].concat());
                            view! { <rect class=class x=slice.x y=0 width=slice.width height=HEIGHT /> }
                        })
                        .collect_view()
                })}
            </svg>
        </div>
        <p class="muted small">"The block in order, coloured by fee rate"</p>
    }
}
