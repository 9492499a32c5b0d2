//! Requests: whatever is asked of the demo chain is answered or refused in a sentence, and ranges, codings and tags
//! change nothing of what the bytes are.

use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri, header};
use hindsight::app::{App, Options};
use hindsight::http::{Access, AppState, router};
use hindsight::source::DatadirOptions;
use hindsight_shared::api::IndexLevel;
use hindsight_shared::api::{ErrorBody, Progress, Status};
use tokio::runtime::Runtime;
use tower::ServiceExt;

/// Headers that choose in what form an answer comes, not which.
const FORM: [HeaderName; 4] = [header::RANGE, header::IF_RANGE, header::IF_NONE_MATCH, header::ACCEPT_ENCODING];

/// A server without a socket, of the chain that the program carries.
struct Server {
    router: Router,
    runtime: Runtime,
    _app: App,
}

static SERVER: LazyLock<Server> = LazyLock::new(Server::start);

impl Server {
    fn start() -> Self {
        let dir = tempfile::tempdir().expect("a place for the index");
        let options = Options {
            datadir: DatadirOptions { datadir: datadir(), ..DatadirOptions::default() },
            index_dir: dir.path().to_owned(),
            cache_bytes: 64 << 20,
            levels: IndexLevel::ALL.to_vec(),
            index_memory: 64 << 20,
            demo: None,
        };
        let app = App::open(&options).expect("the demo chain and its index");
        // A fuzzer ends without dropping anything; an open file needs no name.
        drop(dir);
        let end = Instant::now() + Duration::from_secs(120);
        while !is_whole(&app.explorer.status()) {
            assert!(Instant::now() < end, "the demo chain was not read in time");
            std::thread::sleep(Duration::from_millis(20));
        }
        let state =
            AppState { explorer: app.explorer.clone(), access: Arc::new(Access::default()), chains: Arc::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        Self { router: router(state), runtime, _app: app }
    }

    fn ask(&self, asked: &Asked) -> Answer {
        let mut request = Request::new(Body::empty());
        *request.method_mut() = asked.method.clone();
        *request.uri_mut() = asked.uri.clone();
        *request.headers_mut() = asked.headers.clone();
        self.runtime.block_on(async {
            let answer = self.router.clone().oneshot(request).await.expect("a router does not fail");
            let (head, body) = answer.into_parts();
            let body = to_bytes(body, usize::MAX).await.expect("the whole body").to_vec();
            Answer { status: head.status, headers: head.headers, body }
        })
    }
}

/// Whether answers change no more: every file has been read, and everything filled in.
fn is_whole(status: &Status) -> bool {
    let Progress { complete, blocks, statistics, .. } = status.progress;
    let index = &status.index;
    complete && statistics == blocks && index.len() == 2 && index.iter().all(|level| level.whole)
}

/// Where the demo chain lies. A fuzzer ends without dropping anything, so there is one folder for all runs.
fn datadir() -> PathBuf {
    let kept = std::env::temp_dir().join("hindsight-fuzz-demo");
    let dir = tempfile::tempdir_in(std::env::temp_dir()).expect("a place for files");
    let unpacked = hindsight::demo::DemoChain::Testnet3.unpack(dir.path()).expect("room for files");
    if std::fs::rename(unpacked, &kept).is_err() {
        assert!(kept.join("blocks").is_dir(), "an earlier run has left it");
    }
    kept
}

/// What is asked.
#[derive(Clone, Debug)]
struct Asked {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
}

impl Asked {
    /// `METHOD TARGET`, and a header on each line behind; `None` where a server would not get to see it.
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut lines = bytes.split(|&byte| byte == b'\n');
        let line = lines.next()?;
        let end = line.iter().position(|&byte| byte == b' ')?;
        let mut headers = HeaderMap::new();
        for line in lines {
            let Some(end) = line.iter().position(|&byte| byte == b':') else { continue };
            let name = HeaderName::from_bytes(&line[..end]).ok()?;
            headers.append(name, HeaderValue::from_bytes(line[end + 1..].trim_ascii()).ok()?);
        }
        let (method, uri) = (Method::from_bytes(&line[..end]).ok()?, Uri::try_from(&line[end + 1..]).ok()?);
        Some(Self { method, uri, headers })
    }

    /// Whether a header has this in it, or a star, which stands for everything.
    fn names(&self, name: &HeaderName, what: &str) -> bool {
        let values = self.headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
        values.map(|value| value.to_ascii_lowercase()).any(|value| value.contains(what) || value.contains('*'))
    }
}

/// What came back.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    fn header(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("headers are plain"))
    }

    fn body_in_words(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Asks what `bytes` say, and the same for the bytes as they are.
pub fn run(bytes: &[u8]) {
    let Some(asked) = Asked::read(bytes) else { return };
    let answer = SERVER.ask(&asked);
    assert!(!answer.status.is_server_error(), "{asked:?}: {} {}", answer.status, answer.body_in_words());
    if asked.method == Method::HEAD {
        // What is left of a body is the connection's to drop.
        return;
    }
    if let Some(length) = answer.header(&header::CONTENT_LENGTH)
        && answer.status != StatusCode::NOT_MODIFIED
    {
        assert_eq!(length, answer.body.len().to_string());
    }
    if answer.status.is_client_error() {
        is_an_error(&asked, &answer);
    }
    let plain = Asked { headers: asked.headers.clone(), ..asked.clone() };
    let plain = SERVER.ask(&FORM.iter().fold(plain, |mut plain, name| {
        plain.headers.remove(name);
        plain
    }));
    match answer.status {
        StatusCode::PARTIAL_CONTENT => are_pieces(&answer, &plain.body),
        StatusCode::NOT_MODIFIED => {
            assert!(answer.body.is_empty() && asked.headers.contains_key(header::IF_NONE_MATCH), "{asked:?}");
        }
        StatusCode::RANGE_NOT_SATISFIABLE => {
            assert_eq!(answer.header(&header::CONTENT_RANGE), Some(&*format!("bytes */{}", plain.body.len())));
        }
        // Too many bytes of headers may be too many only with these.
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => {}
        status => {
            assert_eq!(status, plain.status, "{asked:?}");
            assert!(decoded(&asked, &answer) == plain.body, "{asked:?}: other bytes");
        }
    }
}

fn is_an_error(asked: &Asked, answer: &Answer) {
    assert_eq!(answer.header(&header::CACHE_CONTROL), Some("no-store"), "{asked:?}");
    if asked.uri.path().starts_with("/api/") {
        let body: ErrorBody = serde_json::from_slice(&answer.body).expect("errors are JSON");
        assert!(!body.error.is_empty() && body.error.len() < 1000, "{asked:?}: {}", body.error);
    }
}

/// The body without its coding, which the client has to have named.
fn decoded(asked: &Asked, answer: &Answer) -> Vec<u8> {
    let Some(coding) = answer.header(&header::CONTENT_ENCODING) else { return answer.body.clone() };
    assert!(asked.names(&header::ACCEPT_ENCODING, coding), "{asked:?}: {coding}");
    let (mut plain, body) = (Vec::new(), &answer.body[..]);
    let read = match coding {
        "gzip" => flate2::read::GzDecoder::new(body).read_to_end(&mut plain),
        "br" => brotli::Decompressor::new(body, 4096).read_to_end(&mut plain),
        _ => ruzstd::decoding::StreamingDecoder::new(body).expect("zstd").read_to_end(&mut plain),
    };
    read.expect("the coding that is named");
    plain
}

/// One range, or several in an envelope: each is what lies there, and together they are no more than the whole.
fn are_pieces(answer: &Answer, whole: &[u8]) {
    if let Some(range) = answer.header(&header::CONTENT_RANGE) {
        assert!(answer.body == piece(range, whole));
        return;
    }
    let envelope = answer.header(&header::CONTENT_TYPE).expect("a media type");
    let boundary = envelope.strip_prefix("multipart/byteranges; boundary=").expect("an envelope");
    let (mut rest, mut sum) = (&answer.body[..], 0);
    let head = format!("\r\n--{boundary}\r\n");
    while let Some(part) = rest.strip_prefix(head.as_bytes()) {
        let end = part.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("the end of a head");
        let fields = std::str::from_utf8(&part[..end]).expect("plain headers");
        let range = fields.lines().find_map(|line| line.strip_prefix("Content-Range: ")).expect("a range");
        let expected = piece(range, whole);
        rest = part[end + 4..].strip_prefix(expected).expect("the bytes of the range");
        sum += expected.len();
    }
    assert_eq!(rest, format!("\r\n--{boundary}--\r\n").as_bytes());
    assert!(sum <= whole.len());
}

/// The bytes that `bytes 5-9/100` names.
fn piece<'a>(range: &str, whole: &'a [u8]) -> &'a [u8] {
    let numbers = range.strip_prefix("bytes ").and_then(|range| range.split_once('/'));
    let (range, size) = numbers.expect("bytes, a range and a size");
    assert_eq!(size, whole.len().to_string());
    let (first, last) = range.split_once('-').expect("two ends");
    let number = |text: &str| text.parse::<usize>().expect("a number");
    &whole[number(first)..=number(last)]
}
