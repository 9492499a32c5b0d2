//! Content codings: which of them a client takes, and the answers that are sent in one.
//!
//! JSON and summary rows shrink to a fifth and less for a millisecond of CPU a megabyte. Bytes of blocks are never
//! compressed: they would cost many times what sending them does (the figures stand in this crate's README). What is
//! compressed lies whole in memory before and after, so a slow reader holds less than without.

use std::io::{self, Write};

use axum::body::{Body, HttpBody, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;

/// What fits into one packet arrives no sooner for being shorter.
const LEAST: u64 = 1400;

/// Nothing that is compressed is longer: it is collected in memory.
const MOST: u64 = 8 << 20;

/// Bytes that are compressed where they are, in a tenth of a millisecond; more is given to a thread that may take longer.
const IN_PLACE: usize = 64 << 10;

/// A coding that answers are sent in, better ones last.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Coding {
    Gzip,
    Brotli,
    Zstd,
}

impl Coding {
    const ALL: [Self; 3] = [Self::Gzip, Self::Brotli, Self::Zstd];

    const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }

    /// The coding that a client wants most; of several the best one.
    fn wanted(request: &HeaderMap) -> Option<Self> {
        // A range is one of the bytes as they are.
        let whole = !request.contains_key(header::RANGE);
        let weights = Self::ALL.map(|coding| (weight(request, coding.name()), coding));
        let wanted = weights.into_iter().filter(|&(weight, _)| whole && weight > 0).max_by_key(|&(weight, _)| weight);
        wanted.map(|(_, coding)| coding)
    }

    /// The quickest level of each: the next ones take several times as long for a point or two.
    fn encode(self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut coded = match self {
            Self::Gzip => {
                let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                gzip.write_all(bytes)?;
                gzip.finish()?
            }
            Self::Brotli => {
                let mut brotli = brotli::CompressorWriter::new(Vec::new(), 4096, 1, 22);
                brotli.write_all(bytes)?;
                brotli.into_inner()
            }
            Self::Zstd => zstd::bulk::compress(bytes, 1)?,
        };
        // Room for the worst case would be held until the last byte is sent.
        coded.shrink_to_fit();
        Ok(coded)
    }
}

/// Sends what a route answers in the coding that the client wants. Tags become weak for clients that take a coding (RFC
/// 9110, section 8.8.3.3): their bytes may be others, and `If-None-Match` compares weakly.
pub async fn compress(request: Request, next: Next) -> Response {
    let coding = Coding::wanted(request.headers());
    let mut response = next.run(request).await;
    if !(response.status().is_success() || response.status() == StatusCode::NOT_MODIFIED) {
        return response;
    }
    response.headers_mut().append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    let Some(coding) = coding else { return response };
    weaken(response.headers_mut());
    let size = response.body().size_hint().exact();
    let pays = response.status() == StatusCode::OK && size.is_some_and(|size| (LEAST..=MOST).contains(&size));
    if pays { in_coding(coding, response).await } else { response }
}

fn weaken(headers: &mut HeaderMap) {
    let Some(tag) = headers.get_mut(header::ETAG).filter(|tag| !tag.as_bytes().starts_with(b"W/")) else { return };
    if let Ok(weak) = HeaderValue::from_bytes(&[b"W/", tag.as_bytes()].concat()) {
        *tag = weak;
    }
}

async fn in_coding(coding: Coding, response: Response) -> Response {
    let (mut head, body) = response.into_parts();
    // The body is not longer than MOST, and memory does not fail to be read.
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    match encode(coding, bytes.clone()).await {
        Ok(coded) => {
            head.headers.remove(header::ACCEPT_RANGES);
            head.headers.remove(header::CONTENT_LENGTH);
            head.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
            Response::from_parts(head, coded.into())
        }
        Err(error) => {
            tracing::error!(%error, coding = coding.name(), "an answer could not be compressed");
            Response::from_parts(head, Body::from(bytes))
        }
    }
}

async fn encode(coding: Coding, bytes: Bytes) -> io::Result<Vec<u8>> {
    if bytes.len() <= IN_PLACE {
        return coding.encode(&bytes);
    }
    tokio::task::spawn_blocking(move || coding.encode(&bytes))
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error)))
}

/// How much a client wants a coding, in thousandths; 0 where it does not take it (RFC 9110, section 12.5.3).
pub fn weight(request: &HeaderMap, coding: &str) -> u16 {
    let of = |wanted: &str| {
        let fields = request.get_all(header::ACCEPT_ENCODING).iter().filter_map(|field| field.to_str().ok());
        let items = fields.flat_map(|field| field.split(','));
        items.map(item).find_map(|(name, weight)| name.eq_ignore_ascii_case(wanted).then_some(weight))
    };
    of(coding).or_else(|| of("*")).unwrap_or(0)
}

/// A name and its weight; what cannot be understood is not taken.
fn item(text: &str) -> (&str, u16) {
    match text.split_once(';') {
        Some((name, weight)) => (name.trim(), thousandths(weight.trim()).unwrap_or(0)),
        None => (text.trim(), 1000),
    }
}

/// `q=` and a number from 0 to 1 with at most three decimals.
fn thousandths(text: &str) -> Option<u16> {
    let number = text.strip_prefix(['q', 'Q'])?.strip_prefix('=')?;
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let plain = decimals.len() <= 3 && decimals.bytes().all(|byte| byte.is_ascii_digit());
    let part = plain.then(|| format!("{decimals:0<3}").parse().ok()).flatten()?;
    match (whole, part) {
        ("0", part) => Some(part),
        ("1", 0) => Some(1000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(fields: &[&str]) -> Option<&'static str> {
        let mut request = HeaderMap::new();
        for field in fields {
            request.append(header::ACCEPT_ENCODING, HeaderValue::from_str(field).unwrap());
        }
        Coding::wanted(&request).map(Coding::name)
    }

    /// The examples of RFC 9110, section 12.5.3, as far as they name what is known here.
    #[test]
    fn the_examples_of_the_standard() {
        assert_eq!(wanted(&["compress, gzip"]), Some("gzip"));
        assert_eq!(wanted(&[""]), None);
        assert_eq!(wanted(&["*"]), Some("zstd"));
        assert_eq!(wanted(&["compress;q=0.5, gzip;q=1.0"]), Some("gzip"));
        assert_eq!(wanted(&["gzip;q=1.0, identity; q=0.5, *;q=0"]), Some("gzip"));
    }

    #[test]
    fn what_is_wanted_most_is_taken_and_what_is_refused_never() {
        assert_eq!(wanted(&[]), None);
        assert_eq!(wanted(&["gzip, deflate, br, zstd"]), Some("zstd"));
        assert_eq!(wanted(&["gzip, deflate, br"]), Some("br"));
        assert_eq!(wanted(&["zstd;q=0.5, GZIP;Q=0.9", "br;q=0.899"]), Some("gzip"));
        assert_eq!(wanted(&["zstd;q=0, br ; q=0.000, gzip;q=0.001"]), Some("gzip"));
        assert_eq!(wanted(&["*;q=0.3, zstd;q=0"]), Some("br"));
        for refused in
            ["identity", "*;q=0", "gzip;q=0.0", "gzip;q=1.001", "gzip;q=2", "br;q=0.1234", "zstd;q=x", "zstd;x"]
        {
            assert_eq!(wanted(&[refused]), None, "{refused}");
        }
    }
}
