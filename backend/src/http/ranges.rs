//! Range requests (RFC 9110, section 14): which bytes of an answer a client wants.
//!
//! What is sent is sliced from where it lies. Ranges are bounded in number and in sum, so that no request makes an
//! answer longer than the whole.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

use axum::http::{HeaderMap, header};
use bytes::Bytes;

/// More ranges than this get the whole instead.
const MOST: usize = 16;

/// What a request asks for of an answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Wanted {
    /// All of it: no range, none that is meant for this answer, or one that cannot be understood.
    Whole,
    /// These bytes, in this order. At least one range, none empty.
    Ranges(Vec<Range<u64>>),
    /// Bytes that it does not have.
    Unsatisfiable,
}

/// What a request asks for of `size` bytes with the strong tag `etag`.
pub fn wanted(request: &HeaderMap, etag: &str, size: u64) -> Wanted {
    let mut fields = request.get_all(header::RANGE).iter();
    let (Some(field), None) = (fields.next(), fields.next()) else { return Wanted::Whole };
    // A range of another version would be a piece that does not fit. Dates never hold: there are none here.
    if request.get(header::IF_RANGE).is_some_and(|tag| tag.as_bytes() != etag.as_bytes()) {
        return Wanted::Whole;
    }
    let specs = field.to_str().ok().and_then(specs);
    let Some(specs) = specs.filter(|specs| specs.len() <= MOST) else { return Wanted::Whole };
    let ranges: Vec<Range<u64>> = specs.into_iter().filter_map(|spec| spec.within(size)).collect();
    if ranges.is_empty() {
        return Wanted::Unsatisfiable;
    }
    let sum = ranges.iter().fold(0_u64, |sum, range| sum.saturating_add(range.end - range.start));
    if sum > size { Wanted::Whole } else { Wanted::Ranges(ranges) }
}

/// One range as it was written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Spec {
    From(u64),
    FromTo(u64, u64),
    Last(u64),
}

impl Spec {
    fn parse(text: &str) -> Option<Self> {
        let (first, last) = text.split_once('-')?;
        match (first, last) {
            ("", last) => Some(Self::Last(digits(last)?)),
            (first, "") => Some(Self::From(digits(first)?)),
            (first, last) => {
                let (first, last) = (digits(first)?, digits(last)?);
                (first <= last).then_some(Self::FromTo(first, last))
            }
        }
    }

    /// The bytes that it means, if there are any.
    fn within(self, size: u64) -> Option<Range<u64>> {
        let range = match self {
            Self::From(first) => first..size,
            Self::FromTo(first, last) => first..last.saturating_add(1).min(size),
            Self::Last(count) => size.saturating_sub(count)..size,
        };
        (range.start < range.end).then_some(range)
    }
}

/// All ranges of a field; `None` where it is no list of byte ranges.
fn specs(field: &str) -> Option<Vec<Spec>> {
    let (unit, list) = field.split_once('=')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    // A list may have empty elements.
    let elements = list.split(',').map(|element| element.trim_matches([' ', '\t'])).filter(|text| !text.is_empty());
    let specs: Vec<Spec> = elements.map(Spec::parse).collect::<Option<_>>()?;
    (!specs.is_empty()).then_some(specs)
}

/// A number however large; what is beyond 64 bits is beyond every answer.
fn digits(text: &str) -> Option<u64> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().unwrap_or(u64::MAX))
}

/// The bytes of a range of what lies in several pieces.
pub fn slice(pieces: &[Bytes], range: &Range<u64>) -> Vec<Bytes> {
    let mut sliced = Vec::new();
    let mut start = 0;
    for piece in pieces {
        let size = piece.len() as u64;
        let within = |at: u64| usize::try_from(at.saturating_sub(start).min(size)).unwrap_or(piece.len());
        let (from, to) = (within(range.start), within(range.end));
        if from < to {
            sliced.push(piece.slice(from..to));
        }
        start += size;
    }
    sliced
}

/// `Content-Range` of a range.
pub fn content_range(range: &Range<u64>, size: u64) -> String {
    format!("bytes {}-{}/{size}", range.start, range.end.saturating_sub(1))
}

/// Several ranges as one body, and the media type that names its boundary.
pub fn multipart(pieces: &[Bytes], ranges: &[Range<u64>], media_type: &str) -> (Vec<Bytes>, String) {
    // Nobody can have put into a block what is only chosen now.
    let random = || RandomState::new().build_hasher().finish();
    let boundary = format!("{:016x}{:016x}", random(), random());
    let size = pieces.iter().map(|piece| piece.len() as u64).sum();
    let mut body = Vec::new();
    for range in ranges {
        let part = content_range(range, size);
        let head = format!("\r\n--{boundary}\r\nContent-Type: {media_type}\r\nContent-Range: {part}\r\n\r\n");
        body.push(head.into());
        body.extend(slice(pieces, range));
    }
    body.push(format!("\r\n--{boundary}--\r\n").into());
    (body, format!("multipart/byteranges; boundary={boundary}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn ask(fields: &[(header::HeaderName, &'static str)], size: u64) -> Wanted {
        let mut request = HeaderMap::new();
        for (name, value) in fields {
            request.append(name, HeaderValue::from_static(value));
        }
        wanted(&request, "\"tag\"", size)
    }

    #[track_caller]
    fn check(range: &'static str, expected: Wanted) {
        assert_eq!(ask(&[(header::RANGE, range)], 10_000), expected, "{range}");
    }

    fn ranges<const N: usize>(ranges: [(u64, u64); N]) -> Wanted {
        Wanted::Ranges(ranges.into_iter().map(|(start, end)| start..end).collect())
    }

    /// The examples of RFC 9110, section 14.1.2, of 10,000 bytes.
    #[test]
    fn the_examples_of_the_standard() {
        check("bytes=0-499", ranges([(0, 500)]));
        check("bytes=500-999", ranges([(500, 1000)]));
        check("bytes=-500", ranges([(9500, 10_000)]));
        check("bytes=9500-", ranges([(9500, 10_000)]));
        check("bytes=0-0,-1", ranges([(0, 1), (9999, 10_000)]));
        check("bytes= 0-0, -2", ranges([(0, 1), (9998, 10_000)]));
        check("bytes= 0-999, 4500-5499, -1000", ranges([(0, 1000), (4500, 5500), (9000, 10_000)]));
        check("bytes=500-600,601-999", ranges([(500, 601), (601, 1000)]));
        check("bytes=500-700,601-999", ranges([(500, 701), (601, 1000)]));
    }

    #[test]
    fn ranges_end_where_the_answer_does() {
        check("BYTES=9990-20000", ranges([(9990, 10_000)]));
        check("bytes=-20000", ranges([(0, 10_000)]));
        check("bytes=0-99999999999999999999999", ranges([(0, 10_000)]));
        check("bytes=1-2,20000-", ranges([(1, 3)]));
        for beyond in ["bytes=10000-", "bytes=10000-20000,30000-", "bytes=-0", "bytes=99999999999999999999999-"] {
            check(beyond, Wanted::Unsatisfiable);
        }
        assert_eq!(ask(&[(header::RANGE, "bytes=0-")], 0), Wanted::Unsatisfiable);
    }

    #[test]
    fn what_is_no_range_or_too_many_gets_the_whole() {
        for text in ["", "bytes", "bytes=", "bytes=,", "lines=1-2", "bytes=2-1", "bytes=x-1", "bytes=1", "bytes=+1-2"] {
            check(text, Wanted::Whole);
        }
        check("bytes=0-9999,0-0", Wanted::Whole);
        check("bytes=1-1,2-2,3-3,4-4,5-5,6-6,7-7,8-8,9-9,1-1,1-1,1-1,1-1,1-1,1-1,1-1,1-1", Wanted::Whole);
        let twice = [(header::RANGE, "bytes=0-1"), (header::RANGE, "bytes=2-3")];
        assert_eq!(ask(&twice, 10), Wanted::Whole);
    }

    #[test]
    fn a_range_of_another_version_gets_the_whole() {
        let ask = |tag| ask(&[(header::RANGE, "bytes=0-1"), (header::IF_RANGE, tag)], 10);
        assert_eq!(ask("\"tag\""), ranges([(0, 2)]));
        for other in ["\"other\"", "W/\"tag\"", "Sat, 29 Oct 1994 19:43:31 GMT"] {
            assert_eq!(ask(other), Wanted::Whole, "{other}");
        }
    }

    #[test]
    fn slices_cross_pieces_without_copying() {
        let pieces = [Bytes::from_static(b"abc"), Bytes::new(), Bytes::from_static(b"defg")];
        assert_eq!(slice(&pieces, &(1..5)), [&b"bc"[..], b"de"]);
        assert_eq!(slice(&pieces, &(3..7)), [&b"defg"[..]]);
        assert_eq!(slice(&pieces, &(0..7)).concat(), b"abcdefg");
        assert_eq!(slice(&pieces, &(4..5))[0].as_ptr(), pieces[2][1..].as_ptr());
    }
}
