//! A text as a QR code, for a wallet's camera.

use leptos::prelude::*;
use qrcodegen::{QrCode, QrCodeEcc};

/// Light modules around the code (ISO/IEC 18004).
const QUIET: i32 = 4;

/// The code; nothing where the text is too long for one.
#[component]
pub fn Qr(
    /// What it says.
    text: String,
    /// What it is, for those who cannot see it.
    name: &'static str,
) -> impl IntoView {
    let code = QrCode::encode_text(&text, QrCodeEcc::Medium).ok();
    code.map(|code| {
        let side = code.size() + 2 * QUIET;
        let view_box = ["0 0 ", &side.to_string(), " ", &side.to_string()].concat();
        view! {
            <svg class="qr" viewBox=view_box role="img" aria-label=name shape-rendering="crispEdges" data-test="qr">
                <path d=path(&code) />
            </svg>
        }
    })
}

/// The dark modules, row by row.
fn path(code: &QrCode) -> String {
    let mut path = String::new();
    for y in 0..code.size() {
        for x in (0..code.size()).filter(|&x| code.get_module(x, y)) {
            path.push_str(&["M", &(x + QUIET).to_string(), " ", &(y + QUIET).to_string(), "h1v1h-1z"].concat());
        }
    }
    path
}

/// What a code says of an address: where its case says nothing, capitals make a smaller code (BIP173).
pub fn qr_text(address: &str) -> String {
    let is_segwit = address.bytes().all(|byte| !byte.is_ascii_uppercase());
    if is_segwit { address.to_ascii_uppercase() } else { address.to_owned() }
}
