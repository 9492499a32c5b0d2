//! The keys, on a sheet that `?` opens.

use leptos::prelude::*;

use crate::live::effect;

const KEYS: [(&str, &str); 14] = [
    ("s", "search for a block, transaction, address, key or script"),
    ("g", "in the list of blocks: go to a height or date"),
    ("h", "newest blocks"),
    ("← →", "previous, next block; on a transaction: previous, next transaction"),
    ("j k ↓ ↑", "move in the list"),
    ("Home End", "first, last row of the list"),
    ("Enter", "open the row"),
    ("/", "find and filter in the block"),
    ("Esc", "clear the filter, close this sheet"),
    ("b", "from a transaction to its block"),
    ("e", "open all scripts of a transaction, or close them"),
    ("u", "bitcoin or satoshis"),
    ("t", "colours: system, light, dark"),
    ("?", "this sheet"),
];

/// The sheet, where it is open.
#[component]
pub fn Keys(
    /// Whether it is open.
    open: RwSignal<bool>,
) -> impl IntoView {
    let rows = || {
        KEYS.map(|(keys, what)| {
            let keys: Vec<_> = keys.split(' ').map(|key| view! { <kbd>{key}</kbd> }).collect();
            view! {
                <div>
                    <dt>{keys}</dt>
                    <dd>{what}</dd>
                </div>
            }
        })
        .into_iter()
        .collect_view()
    };
    effect(move || {
        if open.get() {
            // The sheet stands from the next frame on.
            request_animation_frame(|| crate::browser::focus("keys"));
        }
    });
    move || {
        open.get().then(|| {
            view! {
                <div class="veil" on:click=move |_| open.set(false)>
                    <section class="sheet" role="dialog" aria-modal="true" aria-labelledby="keys-title" id="keys" tabindex="-1">
                        <h2 id="keys-title">"Keys"</h2>
                        <dl>{rows()}</dl>
                        <button type="button" class="button" on:click=move |_| open.set(false)>
                            "Close"
                        </button>
                    </section>
                </div>
            }
        })
    }
}
