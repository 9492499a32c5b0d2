//! An address that names nothing.

use leptos::prelude::*;

use crate::components::notice::{Notice, Tone};

/// The page.
#[component]
pub fn NotFoundPage() -> impl IntoView {
    crate::app::set_title("Not found");
    view! {
        <Notice tone=Tone::Error title="There is no such page" name="error">
            <p>"Blocks are under block/ followed by a height or a hash, transactions under tx/ and their txid, addresses under address/."</p>
            <p><a class="button" href=crate::route::HOME>"Newest blocks"</a></p>
        </Notice>
    }
}
