//! Bytes as a response: sent in the parts they lie in, with what a cache needs to know.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

/// How long an answer may be kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Caching {
    /// These bytes can never change.
    Immutable,
    /// As Core's REST interface says it of bytes that cannot change: for a day.
    ImmutableDay,
    /// To be asked about again every time, which an ETag makes cheap.
    Revalidate,
}

impl Caching {
    const fn header(self) -> &'static str {
        match self {
            Self::Immutable => "public, max-age=31536000, immutable",
            Self::ImmutableDay => "public, immutable, max-age=86400",
            Self::Revalidate => "no-cache",
        }
    }
}

/// A body of several pieces that lie in different places, sent without joining them.
#[derive(Debug)]
pub struct Parts {
    left: VecDeque<Bytes>,
    size: u64,
}

impl Parts {
    /// A body of these pieces.
    pub fn new(parts: impl IntoIterator<Item = Bytes>) -> Self {
        let left: VecDeque<Bytes> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let size = left.iter().map(|part| part.len() as u64).sum();
        Self { left, size }
    }
}

impl HttpBody for Parts {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let part = self.left.pop_front();
        self.size -= part.as_ref().map_or(0, |part| part.len() as u64);
        Poll::Ready(part.map(|part| Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.size)
    }
}

/// Answers with bytes, or with 304 where the client has them already.
pub fn bytes(
    request: &HeaderMap,
    media_type: &'static str,
    parts: Parts,
    tag: &str,
    caching: Caching,
) -> Response<Body> {
    let etag = format!("\"{tag}\"");
    let known = has_already(request, &etag);
    let mut response = Response::new(if known { Body::empty() } else { Body::new(parts) });
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching.header()));
    // A tag is made of hex digits and dashes.
    if let Ok(etag) = HeaderValue::try_from(etag) {
        headers.insert(header::ETAG, etag);
    }
    response
}

/// Whether `If-None-Match` names the tag (RFC 9110, weak comparison).
fn has_already(request: &HeaderMap, etag: &str) -> bool {
    let lists = request.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    lists.flat_map(|list| list.split(',')).map(str::trim).any(|tag| tag == "*" || tag.trim_start_matches("W/") == etag)
}
