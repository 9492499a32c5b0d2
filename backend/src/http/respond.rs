//! Bytes as a response: sent in the parts they lie in, with what a cache needs to know.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use bitcoin::hashes::{Hash, sha256};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use super::error::HttpError;
use super::ranges::{self, Wanted};

/// How long an answer may be kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Caching {
    /// These bytes can never change.
    Immutable,
    /// As Core's REST interface says it of bytes that cannot change: for a day.
    ImmutableDay,
    /// To be asked about again every time, which an ETag makes cheap.
    Revalidate,
    /// Not to be kept.
    Never,
}

impl Caching {
    const fn header(self) -> &'static str {
        match self {
            Self::Immutable => "public, max-age=31536000, immutable",
            Self::ImmutableDay => "public, immutable, max-age=86400",
            Self::Revalidate => "no-cache",
            Self::Never => "no-store",
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

/// Answers with bytes, with some of them where a range was asked for, or with 304 where the client has them already.
pub fn bytes(
    request: &HeaderMap,
    media_type: &'static str,
    parts: Parts,
    tag: &str,
    caching: Caching,
) -> Response<Body> {
    let etag = format!("\"{tag}\"");
    let size = parts.size;
    let mut response = if has_already(request, &etag) {
        answer(StatusCode::NOT_MODIFIED, media_type, Body::empty())
    } else {
        match ranges::wanted(request, &etag, size) {
            Wanted::Whole => answer(StatusCode::OK, media_type, Body::new(parts)),
            Wanted::Ranges(ranges) => some(media_type, &Vec::from(parts.left), &ranges, size),
            Wanted::Unsatisfiable => return no_such_range(size),
        }
    };
    let headers = response.headers_mut();
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching.header()));
    // A tag is made of hex digits and dashes.
    if let Ok(etag) = HeaderValue::try_from(etag) {
        headers.insert(header::ETAG, etag);
    }
    response
}

/// Answers with what the next block may change: its tag is its hash.
pub fn rows(request: &HeaderMap, media_type: &'static str, rows: impl Into<Bytes>) -> Response<Body> {
    let rows = rows.into();
    let tag = sha256::Hash::hash(&rows).to_string();
    bytes(request, media_type, Parts::new([rows]), &tag[..32], Caching::Revalidate)
}

fn answer(status: StatusCode, media_type: &str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    set(&mut response, header::CONTENT_TYPE, media_type);
    response
}

/// One range as it is, several in an envelope.
fn some(media_type: &str, pieces: &[Bytes], ranges: &[Range<u64>], size: u64) -> Response<Body> {
    if let [range] = ranges {
        let body = Body::new(Parts::new(ranges::slice(pieces, range)));
        let mut response = answer(StatusCode::PARTIAL_CONTENT, media_type, body);
        set(&mut response, header::CONTENT_RANGE, &ranges::content_range(range, size));
        return response;
    }
    let (body, envelope) = ranges::multipart(pieces, ranges, media_type);
    answer(StatusCode::PARTIAL_CONTENT, &envelope, Body::new(Parts::new(body)))
}

fn no_such_range(size: u64) -> Response<Body> {
    let mut response = HttpError::no_such_range(size).into_response();
    set(&mut response, header::CONTENT_RANGE, &format!("bytes */{size}"));
    response
}

/// Sets a header to a value of our own making.
fn set(response: &mut Response<Body>, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::try_from(value) {
        response.headers_mut().insert(name, value);
    }
}

/// Whether `If-None-Match` names the tag (RFC 9110, weak comparison).
fn has_already(request: &HeaderMap, etag: &str) -> bool {
    let lists = request.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    lists.flat_map(|list| list.split(',')).map(str::trim).any(|tag| tag == "*" || tag.trim_start_matches("W/") == etag)
}
