//! The web app: its files lie in the binary, compressed when it was built.
//!
//! Every path that is no file is one of the app's pages, and gets `index.html` with a `<base>` that leads from that path
//! back to the root, however deep it is and whatever prefix a proxy has taken off.

use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};

use super::coding::weight;
use super::error::HttpError;

#[cfg(feature = "embed")]
#[derive(rust_embed::RustEmbed)]
#[folder = "../dist"]
struct Dist;

/// What the build writes into the page's head and the server replaces.
const BASE: &str = "<base href=\"/\">";

/// Serves a file of the app, or the page that the app starts from. Its methods are the router's business.
pub async fn file(uri: Uri, request: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    let last = path.rsplit('/').next().unwrap_or_default();
    if path != "index.html" && last.contains('.') {
        // The app's pages have no dots, and links are relative: a file may be asked for from any depth.
        return asset(path, &request).unwrap_or_else(|| {
            HttpError::not_found(format!("there is no file '{}' here", shorten(path))).into_response()
        });
    }
    page(uri.path())
}

fn asset(path: &str, request: &HeaderMap) -> Option<Response> {
    let (bytes, coding) = [("br", ".br"), ("gzip", ".gz")]
        .into_iter()
        .filter(|(coding, _)| weight(request, coding) > 0)
        .find_map(|(coding, suffix)| Some((embedded(&format!("{path}{suffix}"))?, Some(coding))))
        .or_else(|| Some((embedded(path)?, None)))?;
    let mut response = bytes.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type(path)));
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    let caching = if names_its_content(path) { "public, max-age=31536000, immutable" } else { "no-cache" };
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching));
    if let Some(coding) = coding {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding));
    }
    Some(response)
}

/// Whether a hash of the content is in the file's name, as Trunk puts it there: `name-0123456789abcdef_bg.wasm`.
fn names_its_content(path: &str) -> bool {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let name = path.rsplit('/').next().unwrap_or_default();
    // Trunk leaves leading zeros out.
    name.split('-').skip(1).any(|text| (12..=16).contains(&text.bytes().take_while(|&byte| is_hex(byte)).count()))
}

fn page(path: &str) -> Response {
    let Some(index) = embedded("index.html") else {
        let text = "This hindsight was built without its web app (cargo xtask run builds it in). The interfaces below /api/v1 and /rest work.\n";
        // A 404 may be kept otherwise, and the next build has it.
        return (StatusCode::NOT_FOUND, [(header::CACHE_CONTROL, "no-store")], text).into_response();
    };
    let page = String::from_utf8_lossy(&index).replacen(BASE, &format!("<base href=\"{}\">", way_up(path)), 1);
    let headers = [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CACHE_CONTROL, "no-cache")];
    (headers, page).into_response()
}

/// From a path back to the root, as a relative URL.
fn way_up(path: &str) -> String {
    match path.matches('/').count() {
        0 | 1 => "./".to_owned(),
        depth => "../".repeat((depth - 1).min(64)),
    }
}

fn shorten(path: &str) -> String {
    path.chars().take(200).collect()
}

#[cfg(feature = "embed")]
fn embedded(path: &str) -> Option<std::borrow::Cow<'static, [u8]>> {
    Dist::get(path).map(|file| file.data)
}

#[cfg(not(feature = "embed"))]
fn embedded(_: &str) -> Option<std::borrow::Cow<'static, [u8]>> {
    None
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "js" => "text/javascript; charset=utf-8",
        "wasm" => "application/wasm",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "html" => "text/html; charset=utf-8",
        "json" | "webmanifest" => "application/json",
        "png" => "image/png",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_with_a_hash_last() {
        for name in [
            "app-0123456789abcdef.js",
            "start-28d69f5bef0e323.js",
            "hindsight-frontend-00aa11bb22cc33dd_bg.wasm",
            "x/style-ffffffffffffffff.css",
        ] {
            assert!(names_its_content(name), "{name}");
        }
        for name in [
            "favicon.svg",
            "app-0123.js",
            "decade-face.js",
            "start-28d69f5bef0e323f0.js",
            "dir-0123456789abcdef/icon.png",
            "a-0123456789abcdef0.js",
        ] {
            assert!(!names_its_content(name), "{name}");
        }
    }

    #[test]
    fn the_base_leads_back_to_the_root() {
        assert_eq!(way_up("/"), "./");
        assert_eq!(way_up("/status"), "./");
        assert_eq!(way_up("/block/5"), "../");
        assert_eq!(way_up("/block/5/"), "../../");
        assert_eq!(way_up("/block/abc/tx/1"), "../../../");
    }
}
