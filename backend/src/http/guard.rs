//! Who may ask, and what every answer carries.
//!
//! A server on localhost can be reached from every page that its user opens. A page cannot read the answers unless CORS
//! lets it, and it cannot reach the server under a name of its own (DNS rebinding) because `Host` has to be an address,
//! `localhost`, or a name that the operator gave.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::error::HttpError;
use super::state::{Access, AppState};

/// What the page may do: run its own scripts and wasm, and talk to this server only.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; \
                      img-src 'self' data:; connect-src 'self'; base-uri 'self'; frame-ancestors 'none'; form-action 'none'";

/// Bytes of a URL, and of all headers together, that are answered. What is much longer is refused by the server before
/// it gets here, without a word.
pub const MOST_HEAD_BYTES: usize = 8 << 10;

/// Refuses foreign names and endless heads, and adds the security headers and those of CORS.
pub async fn guard(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let open = state.access.cors || is_hash_addressed(request.uri().path());
    if request.method() != Method::GET {
        // Ranges are defined for GET alone.
        request.headers_mut().remove(header::RANGE);
    }
    let mut response = if let Some(part) = endless(&request) {
        HttpError::too_long(part, MOST_HEAD_BYTES).into_response()
    } else if let Some(host) = foreign_host(&state.access, &request) {
        HttpError::bad_request(format!(
            "this server does not answer to the name '{host}': start it with --host {host} if that is its name"
        ))
        .into_response()
    } else if request.method() == Method::OPTIONS && open {
        preflight()
    } else {
        next.run(request).await
    };
    add_headers(response.headers_mut(), open);
    response
}

/// The part of a request's head that is too long.
fn endless(request: &Request) -> Option<&'static str> {
    let url = request.uri().path_and_query().map_or(0, |url| url.as_str().len());
    let headers: usize = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    (url > MOST_HEAD_BYTES).then_some("URL").or_else(|| (headers > MOST_HEAD_BYTES).then_some("headers"))
}

/// A name that a server may be given: in lower case and without a port; `None` where there is no name in it.
pub fn host_name(text: &str) -> Option<String> {
    let name = without_port(text.trim()).to_ascii_lowercase();
    let plain = !name.is_empty() && !name.contains(|char: char| char.is_whitespace() || "/:@".contains(char));
    plain.then_some(name)
}

/// The `Host` of a request that is neither an address, `localhost`, nor a given name.
fn foreign_host(access: &Access, request: &Request) -> Option<String> {
    let host = match request.headers().get(header::HOST) {
        Some(host) => String::from_utf8_lossy(host.as_bytes()).into_owned(),
        // No browser leaves it out, and what is no browser needs no protection.
        None => request.uri().authority()?.to_string(),
    };
    let name = without_port(&host).to_ascii_lowercase();
    let known = name == "localhost" || is_address(&name) || (!name.is_empty() && access.hosts.contains(&name));
    (!known).then(|| name.chars().take(100).collect())
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

fn is_address(name: &str) -> bool {
    let inner = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    match inner {
        Some(inner) => inner.parse::<std::net::Ipv6Addr>().is_ok(),
        None => name.parse::<IpAddr>().is_ok_and(|address| address.is_ipv4()),
    }
}

/// Bytes named by a block hash are the same for everybody and say nothing about this server's user.
fn is_hash_addressed(path: &str) -> bool {
    let mut steps = path.trim_start_matches('/').split('/');
    match (steps.next(), steps.next(), steps.next(), steps.next(), steps.next(), steps.next()) {
        (Some("rest"), Some("block" | "blockpart" | "spenttxouts"), Some(_), None, ..)
        | (Some("rest"), Some("block"), Some("notxdetails"), Some(_), None, _) => true,
        (Some("api"), Some("v1"), Some("block"), Some(id), Some("payload"), None)
        | (Some("api"), Some("v1"), Some("block"), Some(id), Some("tx"), Some(_)) => id.len() == 64,
        _ => false,
    }
}

fn preflight() -> Response {
    let allowed = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "If-None-Match, If-Range, Range"),
        (header::ACCESS_CONTROL_MAX_AGE, "86400"),
    ];
    (StatusCode::NO_CONTENT, allowed).into_response()
}

fn add_headers(headers: &mut HeaderMap, open: bool) {
    let mut add = |name: HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    add(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    add(header::REFERRER_POLICY, "no-referrer");
    add(header::CONTENT_SECURITY_POLICY, POLICY);
    add(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    if open {
        add(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*");
        add(header::ACCESS_CONTROL_EXPOSE_HEADERS, "Accept-Ranges, Content-Length, Content-Range, ETag");
        add(HeaderName::from_static("cross-origin-resource-policy"), "cross-origin");
    } else {
        add(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(host: &str, allowed: bool) {
        let access = Access { hosts: vec!["explorer.example".into(), String::new()], ..Access::default() };
        let mut request = Request::new(axum::body::Body::empty());
        request.headers_mut().insert(header::HOST, HeaderValue::from_bytes(host.as_bytes()).unwrap());
        assert_eq!(foreign_host(&access, &request).is_none(), allowed, "{host}");
    }

    #[test]
    fn addresses_localhost_and_given_names_are_answered() {
        for host in [
            "127.0.0.1",
            "127.0.0.1:3000",
            "10.1.2.3:80",
            "[::1]",
            "[::1]:3000",
            "localhost",
            "LOCALHOST:1",
            "Explorer.Example:443",
        ] {
            check(host, true);
        }
        for host in [
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example:3000",
            "",
            "[evil]",
            "::1",
            "1.2.3.4:x",
            "explorer.example.evil",
        ] {
            check(host, false);
        }
    }

    #[test]
    fn configured_names_are_taken_with_and_without_a_port() {
        assert_eq!(host_name("Explorer.Example:443").as_deref(), Some("explorer.example"));
        assert_eq!(host_name(" abc.onion ").as_deref(), Some("abc.onion"));
        for wrong in ["", " ", ":443", "https://explorer.example", "a b", "name/path", "me@name"] {
            assert_eq!(host_name(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn only_bytes_named_by_a_hash_are_open() {
        let hash = "0".repeat(64);
        assert!(is_hash_addressed(&format!("/rest/block/{hash}.bin")));
        assert!(is_hash_addressed(&format!("/api/v1/block/{hash}/payload")));
        assert!(!is_hash_addressed("/api/v1/block/5/payload"));
        assert!(!is_hash_addressed("/api/v1/status"));
        assert!(!is_hash_addressed(&format!("/api/v1/block/{hash}")));
        assert!(!is_hash_addressed("/"));
    }
}
