//! Content codings on the wire: what is compressed and what never is, tags, caches, ranges and HEAD.

use std::io::Read;

use hindsight_tests::client::Response;
use hindsight_tests::kernel_chain::KernelChain;
use hindsight_tests::scenes::with_spends;
use hindsight_tests::test_server::TestServer;

const SUMMARIES: &str = "/api/v1/blocks/summaries?count=2016";
const CODINGS: [&str; 3] = ["zstd", "br", "gzip"];

fn setting() -> (KernelChain, TestServer) {
    let (kernel, _) = with_spends(10).unwrap();
    let server = TestServer::start(kernel.datadir());
    // The rows of the summaries follow after the blocks.
    hindsight_tests::wait::until("statistics are complete", || {
        let progress = server.status().progress;
        (progress.statistics == progress.blocks).then_some(())
    });
    (kernel, server)
}

/// Undone by decoders that are not the server's encoders.
fn decoded(response: &Response) -> Vec<u8> {
    let (mut bytes, body) = (Vec::new(), &response.body[..]);
    match response.header("content-encoding") {
        Some("zstd") => ruzstd::decoding::StreamingDecoder::new(body).unwrap().read_to_end(&mut bytes).unwrap(),
        Some("br") => brotli::Decompressor::new(body, 4096).read_to_end(&mut bytes).unwrap(),
        Some("gzip") => flate2::read::GzDecoder::new(body).read_to_end(&mut bytes).unwrap(),
        other => panic!("coding {other:?}"),
    };
    bytes
}

fn get_in(server: &TestServer, coding: &str, path: &str) -> Response {
    server.request("GET", path, &[("Accept-Encoding", coding)])
}

#[test]
fn rows_and_json_come_in_the_coding_that_is_wanted() {
    let (_kernel, server) = setting();
    for path in [SUMMARIES, "/api/v1/blocks?count=100"] {
        let plain = server.get(path);
        assert_eq!((plain.status, plain.header("content-encoding")), (200, None), "{path}");
        assert_eq!(plain.header("vary"), Some("Accept-Encoding"), "{path}");
        for coding in CODINGS {
            let coded = get_in(&server, coding, path);
            assert_eq!((coded.status, coded.header("content-encoding")), (200, Some(coding)), "{path}");
            assert_eq!(decoded(&coded), plain.body, "{path} {coding}");
            assert!(coded.body.len() < plain.body.len(), "{path} {coding}");
            assert_eq!(coded.header("content-length"), Some(coded.body.len().to_string().as_str()));
            assert_eq!(coded.header("vary"), Some("Accept-Encoding"), "{path}");
            for same in ["content-type", "cache-control"] {
                assert_eq!(coded.header(same), plain.header(same), "{path}");
            }
        }
    }
    // As browsers ask, on secure connections and on others.
    let coding = |accepted| get_in(&server, accepted, SUMMARIES).header("content-encoding").map(str::to_owned);
    assert_eq!(coding("gzip, deflate, br, zstd").as_deref(), Some("zstd"));
    assert_eq!(coding("gzip, deflate").as_deref(), Some("gzip"));
    assert_eq!(coding("zstd;q=0, br;q=0.5, gzip;q=0.4").as_deref(), Some("br"));
    assert_eq!(coding("zstd;q=0, *;q=0"), None);
}

/// Byte for byte and header for header: whoever asks for Core's bytes, and blocks on the way to the page.
#[test]
fn bytes_of_blocks_are_sent_as_they_are() {
    let (kernel, server) = setting();
    let hash = kernel.tip().unwrap().1;
    let first = kernel.hash_at(0).unwrap();
    for path in [
        format!("/api/v1/block/{hash}/payload"),
        "/api/v1/blocks/0/110/payload".into(),
        format!("/api/v1/block/{hash}/tx/1"),
        format!("/rest/block/{hash}.bin"),
        format!("/rest/block/{hash}.hex"),
        format!("/rest/blockpart/{hash}.hex?offset=0&size=80"),
        format!("/rest/spenttxouts/{hash}.bin"),
        format!("/rest/headers/{first}.json?count=2000"),
        format!("/rest/blockhashbyheight/{}.json", kernel.tip().unwrap().0),
    ] {
        let plain = server.get(&path);
        let asked = get_in(&server, "zstd, br, gzip", &path);
        assert_eq!((plain.status, plain.header("vary")), (200, None), "{path}");
        let without_date = |response: &Response| {
            response.headers.iter().filter(|(name, _)| name != "date").cloned().collect::<Vec<_>>()
        };
        assert_eq!(without_date(&asked), without_date(&plain), "{path}");
        assert_eq!(asked.body, plain.body, "{path}");
    }
}

#[test]
fn what_fits_into_a_packet_is_sent_as_it_is() {
    let (kernel, server) = setting();
    let (height, hash) = kernel.tip().unwrap();
    let row = format!("/api/v1/blocks/summaries?from={height}&count=1");
    for path in [row, format!("/api/v1/block/{hash}"), "/api/v1/tip".into()] {
        let answer = get_in(&server, "gzip", &path);
        assert_eq!((answer.status, answer.header("content-encoding")), (200, None), "{path}");
        assert_eq!(answer.header("vary"), Some("Accept-Encoding"), "{path}");
    }
    let refused = get_in(&server, "gzip", "/api/v1/block/x");
    assert_eq!((refused.status, refused.header("content-encoding")), (400, None));
}

/// A strong tag is of the bytes as they are; in any coding the same tag is weak, and either is known again.
#[test]
fn a_tag_of_either_kind_is_known_again() {
    let (_kernel, server) = setting();
    let strong = server.get(SUMMARIES).header("etag").unwrap().to_owned();
    assert!(strong.starts_with('"'));
    let weak = format!("W/{strong}");
    for accepted in ["", "identity", "zstd", "br", "gzip"] {
        let expect = if CODINGS.contains(&accepted) { &weak } else { &strong };
        let whole = get_in(&server, accepted, SUMMARIES);
        assert_eq!((whole.status, whole.header("etag")), (200, Some(expect.as_str())), "{accepted}");
        for known in [&strong, &weak] {
            let headers = [("Accept-Encoding", accepted), ("If-None-Match", known)];
            let same = server.request("GET", SUMMARIES, &headers);
            assert_eq!((same.status, same.body.len(), same.header("content-encoding")), (304, 0, None));
            assert_eq!(same.header("etag"), Some(expect.as_str()), "{accepted}");
            assert_eq!(same.header("vary"), Some("Accept-Encoding"));
        }
        let other = [("Accept-Encoding", accepted), ("If-None-Match", "W/\"other\"")];
        assert_eq!(server.request("GET", SUMMARIES, &other).status, 200);
    }
}

#[test]
fn ranges_are_of_the_bytes_as_they_are() {
    let (_kernel, server) = setting();
    let plain = server.get(SUMMARIES);
    let (strong, accepted) = (plain.header("etag").unwrap(), ("Accept-Encoding", "zstd, br, gzip"));
    let part = server.request("GET", SUMMARIES, &[accepted, ("Range", "bytes=756-2267")]);
    assert_eq!((part.status, &part.body[..]), (206, &plain.body[756..2268]));
    assert_eq!((part.header("content-encoding"), part.header("etag")), (None, Some(strong)));
    assert_eq!(part.header("vary"), Some("Accept-Encoding"));
    let range = [accepted, ("Range", "bytes=0-9")];
    let goes_on = server.request("GET", SUMMARIES, &[&range[..], &[("If-Range", strong)]].concat());
    assert_eq!(goes_on.status, 206);
    // A weak tag is not enough to put pieces together.
    let weak = format!("W/{strong}");
    let anew = server.request("GET", SUMMARIES, &[&range[..], &[("If-Range", &weak)]].concat());
    assert_eq!((anew.status, anew.body == plain.body), (200, true));
    assert_eq!((anew.header("content-encoding"), anew.header("etag")), (None, Some(strong)));
}

#[test]
fn a_head_tells_what_a_get_would() {
    let (_kernel, server) = setting();
    for accepted in ["", "zstd", "br", "gzip"] {
        let whole = get_in(&server, accepted, SUMMARIES);
        let head = server.request("HEAD", SUMMARIES, &[("Accept-Encoding", accepted)]);
        assert_eq!((head.status, head.body.len()), (200, 0));
        for name in ["content-length", "content-encoding", "content-type", "etag", "vary", "cache-control"] {
            assert_eq!(head.header(name), whole.header(name), "{accepted} {name}");
        }
    }
}
