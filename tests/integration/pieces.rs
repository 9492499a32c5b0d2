//! What every route of bytes has in common: a strong tag, 304 for who has it, HEAD, and ranges of all forms (RFC 9110).

use hindsight_tests::client::{Connection, Response};
use hindsight_tests::kernel_chain::KernelChain;
use hindsight_tests::scenes::rich;
use hindsight_tests::test_server::TestServer;
use hindsight_tests::wait::until_true;

const FOREVER: &str = "public, max-age=31536000, immutable";
const A_DAY: &str = "public, immutable, max-age=86400";
const ASK_AGAIN: &str = "no-cache";
const KEEP_NOTHING: &str = "no-store";

struct Route {
    path: String,
    accept: &'static str,
    media_type: &'static str,
    caching: &'static str,
}

struct Setting {
    _kernel: KernelChain,
    server: TestServer,
    routes: Vec<Route>,
}

fn setting() -> Setting {
    let kernel = KernelChain::new().unwrap();
    kernel.extend(&rich().blocks).unwrap();
    let server = TestServer::start(kernel.datadir());
    let (tip, _) = kernel.tip().unwrap();
    // Rows that are still to come would change the summaries between two requests.
    until_true("all statistics are there", || server.status().progress.statistics > tip);
    // The block with the most transactions.
    let facts = (0..=tip).map(|height| server.facts(height)).max_by_key(|facts| facts.tx_count).unwrap();
    let (hash, height) = (facts.hash, facts.height.unwrap());
    let mut routes = Vec::new();
    let mut add = |path: String, media_type, caching| {
        let row = path.ends_with("/stats");
        let accept = if row { "application/vnd.hindsight.summary" } else { "*/*" };
        routes.push(Route { path, accept, media_type, caching });
    };
    for (id, caching) in [(hash.to_string(), FOREVER), (height.to_string(), ASK_AGAIN)] {
        add(format!("/api/v1/block/{id}/payload"), "application/vnd.hindsight.block", caching);
        add(format!("/api/v1/block/{id}/tx/3"), "application/vnd.hindsight.transaction", caching);
        add(format!("/api/v1/block/{id}/stats"), "application/vnd.hindsight.summary", ASK_AGAIN);
    }
    add(format!("/api/v1/blocks/3/{height}/payload"), "application/vnd.hindsight.block", ASK_AGAIN);
    add("/api/v1/blocks/summaries?count=50".into(), "application/vnd.hindsight.summary", ASK_AGAIN);
    for (suffix, media_type) in [("bin", "application/octet-stream"), ("hex", "text/plain")] {
        for name in ["block", "block/notxdetails", "spenttxouts"] {
            add(format!("/rest/{name}/{hash}.{suffix}"), media_type, A_DAY);
        }
        add(format!("/rest/blockpart/{hash}.{suffix}?offset=80&size=1000"), media_type, A_DAY);
        add(format!("/rest/headers/{hash}.{suffix}?count=9"), media_type, KEEP_NOTHING);
        add(format!("/rest/blockhashbyheight/{height}.{suffix}"), media_type, KEEP_NOTHING);
    }
    Setting { _kernel: kernel, server, routes }
}

impl Setting {
    #[track_caller]
    fn ask(&self, route: &Route, method: &str, headers: &[(&str, &str)]) -> Response {
        self.server.request(method, &route.path, &[&[("Accept", route.accept)], headers].concat())
    }

    /// The whole answer, and its tag.
    #[track_caller]
    fn whole(&self, route: &Route) -> (Response, String) {
        let whole = self.ask(route, "GET", &[]);
        let Route { path, media_type, caching, .. } = route;
        assert_eq!(whole.status, 200, "{path}: {}", whole.text());
        assert_eq!(whole.header("content-type"), Some(*media_type), "{path}");
        assert_eq!(whole.header("cache-control"), Some(*caching), "{path}");
        assert_eq!(whole.header("accept-ranges"), Some("bytes"), "{path}");
        assert_eq!(whole.header("content-length"), Some(&whole.body.len().to_string()[..]), "{path}");
        let tag = whole.header("etag").unwrap_or_else(|| panic!("{path} has no tag")).to_owned();
        let inner = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"')).unwrap();
        assert!(
            inner.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-' || byte.is_ascii_lowercase()),
            "{tag}"
        );
        (whole, tag)
    }
}

#[test]
fn every_answer_has_a_tag_of_its_own_that_stays() {
    let setting = setting();
    let mut answers: Vec<(String, Vec<u8>, &str)> = Vec::new();
    for route in &setting.routes {
        let (whole, tag) = setting.whole(route);
        assert_eq!(setting.whole(route).1, tag, "{}", route.path);
        // One tag for two bodies of one media type would be a lie to whoever keeps them.
        for (other, body, path) in &answers {
            assert!(*other != tag || *body == whole.body, "{} and {path} share {tag}", route.path);
        }
        answers.push((tag, whole.body, &route.path));
    }
}

#[test]
fn who_has_the_bytes_gets_none() {
    let setting = setting();
    let mut asked = 0;
    for route in &setting.routes {
        let (whole, tag) = setting.whole(route);
        for known in [tag.clone(), format!("W/{tag}"), format!("\"a\", {tag} ,\"b\""), "*".into()] {
            for headers in [&[("If-None-Match", &known[..])][..], &[("If-None-Match", &known), ("Range", "bytes=0-1")]]
            {
                for method in ["GET", "HEAD"] {
                    let answer = setting.ask(route, method, headers);
                    assert_eq!((answer.status, answer.body.len()), (304, 0), "{} {known}", route.path);
                    assert_eq!(answer.header("etag"), Some(&tag[..]), "{}", route.path);
                    assert_eq!(answer.header("cache-control"), Some(route.caching), "{}", route.path);
                    asked += 1;
                }
            }
        }
        for other in ["\"a\"", "", &tag[1..tag.len() - 1], &tag.to_uppercase().replace("W/", "")] {
            if other == tag {
                continue;
            }
            let answer = setting.ask(route, "GET", &[("If-None-Match", other)]);
            assert_eq!((answer.status, answer.body == whole.body), (200, true), "{} {other}", route.path);
            asked += 1;
        }
    }
    println!("{asked} requests on {} routes", setting.routes.len());
}

#[test]
fn a_head_is_the_answer_without_its_body() {
    let setting = setting();
    for route in &setting.routes {
        let (whole, tag) = setting.whole(route);
        // On a connection that stays open a stray body would spoil the next answer.
        let mut connection = Connection::open(setting.server.address).unwrap();
        let accept = ("Accept", route.accept);
        for headers in [&[accept][..], &[accept, ("Range", "bytes=0-1")], &[accept, ("Range", "bytes=99999999-")]] {
            let head = connection.request("HEAD", &route.path, headers).unwrap();
            // Ranges are defined for GET alone.
            assert_eq!((head.status, head.header("etag")), (200, Some(&tag[..])), "{}", route.path);
            for name in ["content-length", "content-type", "cache-control", "accept-ranges"] {
                assert_eq!(head.header(name), whole.header(name), "{}: {name}", route.path);
            }
        }
        assert_eq!(connection.request("GET", &route.path, &[accept]).unwrap().body, whole.body, "{}", route.path);
    }
}

#[test]
fn one_range_is_those_bytes() {
    let setting = setting();
    for route in &setting.routes {
        let (whole, tag) = setting.whole(route);
        let size = whole.body.len();
        for (range, from, to) in [
            ("bytes=0-0".to_owned(), 0, 1),
            ("bytes=3-9".into(), 3, 10),
            (format!("bytes=0-{}", size * 2), 0, size),
            (format!("bytes={}-", size - 1), size - 1, size),
            ("bytes=-5".into(), size - 5, size),
            (format!("bytes=-{}", size * 2), 0, size),
            ("bytes=7-8, 99999999-".into(), 7, 9),
        ] {
            for headers in [&[("Range", &range[..])][..], &[("Range", &range), ("If-Range", &tag)]] {
                let answer = setting.ask(route, "GET", headers);
                assert_eq!((answer.status, &answer.body[..]), (206, &whole.body[from..to]), "{} {range}", route.path);
                let told = format!("bytes {from}-{}/{size}", to - 1);
                assert_eq!(answer.header("content-range"), Some(&told[..]), "{} {range}", route.path);
                assert_eq!(answer.header("content-type"), Some(route.media_type), "{}", route.path);
                assert_eq!(answer.header("content-length"), Some(&(to - from).to_string()[..]), "{}", route.path);
                assert_eq!(answer.header("etag"), Some(&tag[..]), "{}", route.path);
                assert_eq!(answer.header("cache-control"), Some(route.caching), "{}", route.path);
            }
        }
    }
}

#[test]
fn several_ranges_come_in_an_envelope() {
    let setting = setting();
    for route in &setting.routes {
        let (whole, tag) = setting.whole(route);
        let size = whole.body.len();
        let answer = setting.ask(route, "GET", &[("Range", "bytes=8-9,0-3 , -2")]);
        assert_eq!((answer.status, answer.header("etag")), (206, Some(&tag[..])), "{}", route.path);
        assert_eq!(answer.header("content-range"), None);
        let envelope = answer.header("content-type").unwrap();
        let boundary = envelope.strip_prefix("multipart/byteranges; boundary=").unwrap();
        let mut expected = Vec::new();
        for (from, to) in [(8, 10), (0, 4), (size - 2, size)] {
            let head = format!(
                "\r\n--{boundary}\r\nContent-Type: {}\r\nContent-Range: bytes {from}-{}/{size}\r\n\r\n",
                route.media_type,
                to - 1
            );
            expected.extend(head.into_bytes());
            expected.extend(&whole.body[from..to]);
        }
        expected.extend(format!("\r\n--{boundary}--\r\n").into_bytes());
        assert!(answer.body == expected, "{}: {}", route.path, answer.text());
        assert_eq!(answer.header("content-length"), Some(&expected.len().to_string()[..]));
    }
}

#[test]
fn bytes_that_are_not_there_are_said_not_to_be() {
    let setting = setting();
    for route in &setting.routes {
        let (whole, tag) = setting.whole(route);
        let size = whole.body.len();
        for range in [format!("bytes={size}-"), format!("bytes={size}-{}", size + 5), "bytes=-0".into()] {
            for headers in [&[("Range", &range[..])][..], &[("Range", &range), ("If-Range", &tag)]] {
                let answer = setting.ask(route, "GET", headers);
                assert_eq!(answer.status, 416, "{} {range}", route.path);
                assert_eq!(answer.header("content-range"), Some(&format!("bytes */{size}")[..]), "{}", route.path);
            }
        }
    }
}

#[test]
fn what_is_no_range_of_this_answer_gets_the_whole() {
    let setting = setting();
    for route in &setting.routes {
        let (whole, tag) = setting.whole(route);
        let weak = format!("W/{tag}");
        let date = "Sat, 29 Oct 1994 19:43:31 GMT";
        for headers in [
            &[("Range", "bytes=0-1"), ("If-Range", "\"other\"")][..],
            &[("Range", "bytes=0-1"), ("If-Range", &weak)],
            &[("Range", "bytes=0-1"), ("If-Range", date)],
            &[("Range", "lines=0-1")],
            &[("Range", "bytes=5-1")],
            &[("Range", "bytes=x-1")],
            &[("Range", "bytes=0-,0-")],
            &[("Range", "bytes=0-0,1-1,2-2,3-3,4-4,5-5,6-6,7-7,8-8,9-9,0-0,1-1,2-2,3-3,4-4,5-5,6-6")],
        ] {
            let answer = setting.ask(route, "GET", headers);
            assert_eq!((answer.status, answer.body == whole.body), (200, true), "{} {headers:?}", route.path);
            assert_eq!(answer.header("content-range"), None);
        }
    }
}
