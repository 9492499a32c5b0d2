//! The router, asked in this process: the demo chain is its node.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use hindsight_shared::Height;
use hindsight_shared::api::Status;
use tempfile::TempDir;
use tower::ServiceExt;

use super::{Access, AppState, Named, router, several};
use crate::app::{App, Options};
use crate::source::DatadirOptions;
use hindsight_shared::api::IndexLevel;

struct Explorer {
    router: Router,
    runtime: tokio::runtime::Runtime,
    app: Option<App>,
    _dir: TempDir,
}

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Explorer {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let datadir = DatadirOptions {
            datadir: crate::demo::DemoChain::Testnet3.unpack(dir.path()).unwrap(),
            ..DatadirOptions::default()
        };
        let index_dir = dir.path().join("index");
        let app = App::open(&Options {
            datadir,
            index_dir,
            cache_bytes: 8 << 20,
            levels: IndexLevel::ALL.to_vec(),
            index_memory: 64 << 20,
            demo: None,
        })
        .unwrap();
        let state =
            AppState { explorer: app.explorer.clone(), access: Arc::new(Access::default()), chains: Arc::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let end = Instant::now() + Duration::from_secs(60);
        while !app.explorer.status().progress.complete {
            assert!(Instant::now() < end, "the demo chain was not read in time");
            std::thread::sleep(Duration::from_millis(20));
        }
        Self { router: router(state), runtime, app: Some(app), _dir: dir }
    }

    #[track_caller]
    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if !headers.iter().any(|(name, _)| *name == "host") {
            request = request.header("host", "localhost");
        }
        let request = request.body(Body::empty()).unwrap();
        self.runtime.block_on(async {
            let (head, body) = self.router.clone().oneshot(request).await.unwrap().into_parts();
            let body = axum::body::to_bytes(body, usize::MAX).await.unwrap().to_vec();
            Answer { status: head.status, headers: head.headers, body }
        })
    }

    #[track_caller]
    fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[])
    }

    /// The hash of block 100.
    fn hash(&self) -> String {
        let hash = self.app.as_ref().and_then(|app| app.explorer.hash_at(Height(100)));
        hash.map(|hash| hash.to_string()).unwrap_or_default()
    }

    /// An error of the native interface: a status, a sentence in JSON, and nothing to keep.
    #[track_caller]
    fn is_refused(&self, method: &str, path: &str, status: u16) {
        let answer = self.ask(method, path, &[]);
        assert_eq!(answer.status.as_u16(), status, "{method} {path}: {}", answer.text());
        assert_eq!(answer.header("cache-control"), "no-store", "{method} {path}");
        if method != "HEAD" {
            let body: hindsight_shared::api::ErrorBody = serde_json::from_slice(&answer.body).unwrap();
            assert!(!body.error.is_empty());
        }
    }
}

#[test]
fn errors_of_the_native_interface_are_json() {
    let explorer = Explorer::start();
    for path in ["/api/v1/block/%ff", "/api/v1/block/%ff/payload", "/api/v1/blocks/%ff/3/payload"] {
        explorer.is_refused("GET", path, 400);
    }
    explorer.is_refused("GET", "/api/v1/blocks?count=1&count=2", 400);
    explorer.is_refused("GET", "/api/v1/block/1/stats?core_compat=31&core_compat=30", 400);
    for path in ["/api", "/api/", "/api/v1", "/api/v1/nothing", "/nothing.js"] {
        explorer.is_refused("GET", path, 404);
    }
    for path in ["/api/v1/tip", "/healthz", "/", "/block/5"] {
        explorer.is_refused("POST", path, 405);
        assert_eq!(explorer.ask("DELETE", path, &[]).header("allow"), "GET,HEAD", "{path}");
    }
    explorer.is_refused("GET", &format!("/api/v1/block/{}", "a".repeat(9000)), 414);
    let long = explorer.ask("GET", "/api/v1/tip", &[("x-long", &"a".repeat(9000))]);
    assert_eq!(long.status.as_u16(), 431);
    assert!(long.text().starts_with('{'));
}

#[test]
fn errors_of_the_rest_interface_are_cores() {
    let explorer = Explorer::start();
    let answer = explorer.get("/rest/block/%ff.bin");
    assert_eq!((answer.status.as_u16(), answer.text().as_str()), (400, "Invalid hash: %ff\r\n"));
    for (method, path, status) in
        [("GET", "/rest", 404), ("GET", "/rest/nothing", 404), ("DELETE", "/rest/block/x", 405)]
    {
        let answer = explorer.ask(method, path, &[]);
        assert_eq!((answer.status.as_u16(), answer.text().as_str()), (status, ""), "{method} {path}");
        assert_eq!(answer.header("cache-control"), "no-store");
    }
    let posted = explorer.ask("POST", "/rest/blockhashbyheight/100.hex", &[]);
    assert_eq!((posted.status.as_u16(), posted.text()), (200, format!("{}\n", explorer.hash())));
}

#[test]
fn every_binary_route_takes_ranges() {
    let explorer = Explorer::start();
    let hash = explorer.hash();
    for path in [
        format!("/api/v1/block/{hash}/payload"),
        "/api/v1/block/100/payload".to_owned(),
        format!("/api/v1/block/{hash}/tx/0"),
        "/api/v1/blocks/summaries?from=100&count=3".to_owned(),
        format!("/rest/block/{hash}.bin"),
        format!("/rest/blockpart/{hash}.bin?offset=0&size=80"),
        format!("/rest/spenttxouts/{hash}.bin"),
    ] {
        takes_ranges(&explorer, &path);
    }
}

#[track_caller]
fn takes_ranges(explorer: &Explorer, path: &str) {
    let whole = explorer.get(path);
    assert_eq!(whole.status.as_u16(), 200, "{path}: {}", whole.text());
    assert_eq!(whole.header("accept-ranges"), "bytes", "{path}");
    let size = whole.body.len();
    let part = explorer.ask("GET", path, &[("range", "bytes=1-")]);
    assert_eq!((part.status.as_u16(), &part.body[..]), (206, &whole.body[1..]), "{path}");
    assert_eq!(part.header("content-range"), format!("bytes 1-{}/{size}", size - 1));
    assert_eq!(part.header("etag"), whole.header("etag"));
    assert_eq!(part.header("cache-control"), whole.header("cache-control"));
    let beyond = explorer.ask("GET", path, &[("range", &format!("bytes={size}-"))]);
    assert_eq!((beyond.status.as_u16(), beyond.header("content-range")), (416, format!("bytes */{size}").as_str()));
    assert_eq!(beyond.header("cache-control"), "no-store");
    let tag = whole.header("etag");
    assert_eq!(explorer.ask("GET", path, &[("range", "bytes=0-0"), ("if-range", tag)]).status.as_u16(), 206);
    assert_eq!(explorer.ask("GET", path, &[("range", "bytes=0-0"), ("if-range", "\"other\"")]).body, whole.body);
    assert_eq!(explorer.ask("GET", path, &[("range", "bytes=0-0"), ("if-none-match", tag)]).status.as_u16(), 304);
    let head = explorer.ask("HEAD", path, &[("range", "bytes=0-0")]);
    assert_eq!((head.status.as_u16(), head.header("content-length")), (200, size.to_string().as_str()));
}

#[test]
fn several_ranges_come_in_an_envelope() {
    let explorer = Explorer::start();
    let path = format!("/rest/block/{}.bin", explorer.hash());
    let whole = explorer.get(&path).body;
    let answer = explorer.ask("GET", &path, &[("range", "bytes=0-3, 10-19,-1")]);
    assert_eq!(answer.status.as_u16(), 206);
    assert_eq!(answer.header("content-length"), answer.body.len().to_string());
    let boundary = answer.header("content-type").strip_prefix("multipart/byteranges; boundary=").unwrap();
    let size = whole.len();
    let mut expected = Vec::new();
    for (from, to) in [(0, 4), (10, 20), (size - 1, size)] {
        let range = format!("bytes {from}-{}/{size}", to - 1);
        let head =
            format!("\r\n--{boundary}\r\nContent-Type: application/octet-stream\r\nContent-Range: {range}\r\n\r\n");
        expected.extend_from_slice(head.as_bytes());
        expected.extend_from_slice(&whole[from..to]);
    }
    expected.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    assert_eq!(answer.body, expected);
}

#[test]
fn the_status_names_no_folder() {
    let explorer = Explorer::start();
    let status = explorer.get("/api/v1/status").text();
    assert!(status.contains("block files of Bitcoin Core") && !status.contains("/tmp"), "{status}");
}

#[test]
fn health_ends_with_the_thread_that_follows() {
    let mut explorer = Explorer::start();
    assert_eq!(explorer.get("/healthz").text(), "ok\n");
    drop(explorer.app.take());
    let health = explorer.get("/healthz");
    assert_eq!(health.status.as_u16(), 503, "{}", health.text());
    assert!(explorer.get("/api/v1/status").text().contains("started again"));
}

#[test]
fn several_chains_are_served_below_their_names() {
    let mut explorer = Explorer::start();
    let state = AppState {
        explorer: explorer.app.as_ref().unwrap().explorer.clone(),
        access: Arc::new(Access::default()),
        chains: Arc::default(),
    };
    let named = |name, title| Named { name, title, state: state.clone() };
    explorer.router = several(&[named("one", "One"), named("two", "Two"), named("three", "Three")]);
    for (root, paths) in
        [("/", ["./", "two/", "three/"]), ("/two/", ["../", "./", "../three/"]), ("/three/", ["../", "../two/", "./"])]
    {
        let status: Status = serde_json::from_slice(&explorer.get(&format!("{root}api/v1/status")).body).unwrap();
        let chains: Vec<(&str, &str)> = status.chains.iter().map(|c| (c.title.as_str(), c.path.as_str())).collect();
        assert_eq!(chains, ["One", "Two", "Three"].into_iter().zip(paths).collect::<Vec<_>>());
        for path in ["api/v1/tip", "api/v1/block/100/payload", "rest/blockhashbyheight/100.hex", "healthz"] {
            let (here, first) = (explorer.get(&format!("{root}{path}")), explorer.get(&format!("/{path}")));
            assert_eq!((here.status.as_u16(), &here.body), (200, &first.body), "{root}{path}");
        }
        explorer.is_refused("GET", &format!("{root}api/v1/nothing"), 404);
        explorer.is_refused("POST", &format!("{root}block/5"), 405);
        explorer.is_refused("GET", &format!("{root}nothing.js"), 404);
    }
    let moved = explorer.get("/two");
    assert_eq!((moved.status.as_u16(), moved.header("location")), (308, "two/"));
    assert_eq!(moved.header("x-content-type-options"), "nosniff");
    explorer.is_refused("POST", "/two", 405);
    for path in ["/two", "/two/", "/two/api/v1/tip"] {
        let foreign = explorer.ask("GET", path, &[("host", "elsewhere.example")]);
        assert_eq!(foreign.status.as_u16(), 400, "{path}: {}", foreign.text());
    }
    explorer.is_refused("GET", "/one.js", 404);
}
