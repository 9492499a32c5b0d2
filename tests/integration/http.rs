//! Every route as a client sees it: statuses, headers, bodies, and what may be cached.

use bitcoin::Network;
use bitcoin::block::Header;
use bitcoin::consensus::deserialize;
use bitcoin::hashes::Hash;
use hindsight_shared::api::{BlockFacts, ErrorBody, Status};
use hindsight_shared::bytes::Reader;
use hindsight_shared::calendar::civil;
use hindsight_shared::payload::{MEDIA_TYPE, Payload};
use hindsight_tests::chain_builder::genesis;
use hindsight_tests::client::{Connection, Response};
use hindsight_tests::fixtures::testnet3;
use hindsight_tests::kernel_chain::KernelChain;
use hindsight_tests::scenes::with_spends;
use hindsight_tests::test_server::{Setup, TestServer, refused};

const IMMUTABLE: &str = "public, max-age=31536000, immutable";
const A_DAY: &str = "public, immutable, max-age=86400";

fn setting() -> (KernelChain, TestServer) {
    let (kernel, _) = with_spends(10).unwrap();
    let server = TestServer::start(kernel.datadir());
    (kernel, server)
}

/// The last block, and paths to its bytes.
fn last(kernel: &KernelChain) -> (u32, String) {
    let (height, hash) = kernel.tip().unwrap();
    (height, hash.to_string())
}

#[track_caller]
fn refuses(server: &TestServer, path: &str, status: u16, sentence: &str) {
    refused(&server.get(path), status, sentence);
}

#[test]
fn bad_input_is_answered_with_a_sentence() {
    let (kernel, server) = setting();
    let (height, hash) = last(&kernel);
    let unknown = "00".repeat(32);
    for path in ["block/{}", "block/{}/payload"] {
        let path = |id: &str| format!("/api/v1/{}", path.replace("{}", id));
        let no_id = "is neither a block height (0 to 4294967294) nor a block hash (64 hex digits)";
        for id in
            ["x", "-1", "+1", "1.0", "4294967295", "99999999999", "0x10", "%20", "1e3", &hash[1..], &format!("{hash}0")]
        {
            refuses(&server, &path(id), 400, no_id);
        }
        refuses(&server, &path(&"z".repeat(64)), 400, no_id);
        refuses(&server, &path(&(height + 1).to_string()), 404, "is in none of the block files");
        refuses(&server, &path("4294967294"), 404, "is in none of the block files");
        refuses(&server, &path(&unknown), 404, "is in none of the block files");
    }
    refuses(&server, "/api/v1/blocks/5/4/payload", 400, "ends before it starts");
    refuses(&server, "/api/v1/blocks/x/4/payload", 400, "is neither a block height");
    refuses(&server, &format!("/api/v1/blocks/0/{hash}/payload"), 400, "from height to height");
    refuses(&server, &format!("/api/v1/blocks/0/{}/payload", height + 1), 404, &format!("ends at {height}"));
    refuses(&server, "/api/v1/blocks?count=0", 400, "'0' is not a count from 1 to 100");
    refuses(&server, "/api/v1/blocks?count=101", 400, "'101' is not a count");
    refuses(&server, "/api/v1/blocks?count=x", 400, "'x' is not a count");
    refuses(&server, "/api/v1/blocks?from=x", 400, "is neither a block height");
    refuses(&server, "/api/v2/tip", 404, "there is no /api/v2/tip here");
    refuses(&server, "/api/v1/", 404, "there is no");
    refuses(&server, "/nothing.js", 404, "there is no file 'nothing.js' here");
    // Heights in other spellings are the same heights, and upper case is a hash too.
    assert_eq!(server.payload("007"), server.payload("7"));
    assert_eq!(server.payload(hash.to_uppercase()), server.payload(&hash));
}

#[test]
fn other_methods_are_refused() {
    let (_kernel, server) = setting();
    for method in ["POST", "PUT", "DELETE", "PATCH", "TRACE"] {
        for path in ["/api/v1/tip", "/api/v1/block/1/payload", "/healthz"] {
            let response = server.request(method, path, &[("Content-Length", "0")]);
            assert_eq!(response.status, 405, "{method} {path}");
        }
    }
}

#[test]
fn payloads_may_be_kept_forever_by_hash_and_never_by_height() {
    let (kernel, server) = setting();
    for height in [0, 1, 60, last(&kernel).0] {
        let hash = kernel.hash_at(height).unwrap();
        let by_hash = server.get(&format!("/api/v1/block/{hash}/payload"));
        let by_height = server.get(&format!("/api/v1/block/{height}/payload"));
        assert_eq!(by_hash.body, by_height.body);
        assert_eq!(by_hash.header("cache-control"), Some(IMMUTABLE));
        assert_eq!(by_height.header("cache-control"), Some("no-cache"));
        for response in [&by_hash, &by_height] {
            assert_eq!(response.header("content-type"), Some(MEDIA_TYPE));
            assert_eq!(response.header("content-length"), Some(response.body.len().to_string().as_str()));
            let name = format!("inline; filename=\"{hash}.hsb\"");
            assert_eq!(response.header("content-disposition"), Some(name.as_str()));
            let etag = response.header("etag").unwrap();
            assert!(etag.starts_with(&format!("\"{hash}")) && etag.ends_with('"'), "{etag} is strong");
            let kept = hindsight_tests::core_files::Records::read(&kernel.blocks_dir(), Network::Regtest);
            if let Some(undo) = kept.undo(&kept.block(hash)) {
                let checksum: String =
                    undo.payload[undo.payload.len() - 32..][..8].iter().map(|byte| format!("{byte:02x}")).collect();
                assert!(etag.contains(&checksum), "{etag} names the undo {checksum}");
                let payload = Payload::decode(&response.body).unwrap();
                assert_eq!(payload.prevouts, hindsight_shared::payload::Prevouts::Undo(&undo.payload), "as on disk");
            }
        }
    }
}

#[test]
fn what_the_client_has_is_not_sent_again() {
    let (kernel, server) = setting();
    let (height, hash) = last(&kernel);
    for path in [
        format!("/api/v1/block/{hash}/payload"),
        format!("/api/v1/block/{height}/payload"),
        format!("/rest/block/{hash}.bin"),
        format!("/rest/spenttxouts/{hash}.bin"),
    ] {
        let whole = server.get(&path);
        let etag = whole.header("etag").unwrap().to_owned();
        let lists = [
            etag.clone(),
            format!("W/{etag}"),
            format!("\"a\", {etag}"),
            format!("\"a\",\"b\" , W/{etag}"),
            "*".into(),
        ];
        for known in lists {
            let response = server.request("GET", &path, &[("If-None-Match", &known)]);
            assert_eq!((response.status, response.body.len()), (304, 0), "{path} {known}");
            assert_eq!(response.header("etag"), Some(etag.as_str()));
            assert_eq!(response.header("cache-control"), whole.header("cache-control"));
        }
        for known in ["\"a\"", "", &etag[1..etag.len() - 1]] {
            let response = server.request("GET", &path, &[("If-None-Match", known)]);
            assert_eq!((response.status, response.body == whole.body), (200, true), "{path} {known}");
        }
    }
}

#[test]
fn a_head_is_the_answer_without_its_body() {
    let (kernel, server) = setting();
    let (height, hash) = last(&kernel);
    for path in [
        format!("/api/v1/block/{hash}/payload"),
        format!("/api/v1/block/{height}"),
        "/api/v1/tip".into(),
        "/api/v1/status".into(),
        "/healthz".into(),
        format!("/rest/block/{hash}.bin"),
        format!("/rest/spenttxouts/{hash}.bin"),
    ] {
        let whole = server.get(&path);
        // On a connection that stays open a stray body would spoil the next answer.
        let mut connection = Connection::open(server.address).unwrap();
        for _ in 0..2 {
            let head = connection.request("HEAD", &path, &[]).unwrap();
            assert_eq!((head.status, head.header("content-length")), (200, whole.header("content-length")), "{path}");
            assert_eq!(head.header("etag"), whole.header("etag"));
        }
        assert_eq!(connection.request("GET", &path, &[]).unwrap().body, whole.body, "{path}");
    }
}

#[track_caller]
fn rest(server: &TestServer, path: &str, status: u16, text: &str) {
    let response = server.get(path);
    assert_eq!((response.status, response.text()), (status, format!("{text}\r\n")), "{path}");
    assert_eq!(response.header("content-type"), Some("text/plain"), "{path}");
    assert_eq!(response.header("cache-control"), Some("no-store"), "{path}");
}

/// Core's `src/rest.cpp`, byte for byte.
#[test]
fn rest_answers_as_core_does() {
    let (kernel, server) = setting();
    let (_, hash) = last(&kernel);
    let unknown = bitcoin::BlockHash::from_byte_array([7; 32]);
    for name in ["block", "spenttxouts"] {
        let ok = server.get(&format!("/rest/{name}/{hash}.bin"));
        assert_eq!(ok.status, 200);
        assert_eq!(ok.header("content-type"), Some("application/octet-stream"));
        assert_eq!(ok.header("cache-control"), Some(A_DAY));
        assert_eq!(server.get_ok(&format!("/rest/{name}/{}.bin", hash.to_uppercase())), ok.body);
        let path = |file: &str| format!("/rest/{name}/{file}");
        rest(&server, &path(&format!("{unknown}.bin")), 404, &format!("{unknown} not found"));
        rest(&server, &path("abc.bin"), 400, "Invalid hash: abc");
        rest(&server, &path(&format!("{hash}.xyz")), 400, &format!("Invalid hash: {hash}.xyz"));
        rest(&server, &path(&format!("{hash}0.bin")), 400, &format!("Invalid hash: {hash}0"));
        rest(&server, &path(&format!("{hash}.bin.bin")), 400, &format!("Invalid hash: {hash}.bin"));
        rest(&server, &path("zz.bin?x=1"), 400, "Invalid hash: zz");
        let response = server.get(&path(&hash));
        assert_eq!(response.status, 404, "without a suffix");
        assert!(response.text().starts_with("output format not found (available: "), "{}", response.text());
    }
    let uri = "Invalid URI format. Expected /rest/spenttxouts/<hash>.<ext>";
    rest(&server, &format!("/rest/spenttxouts/{hash}/0.bin"), 400, uri);
    assert_eq!(server.get_ok(&format!("/rest/spenttxouts/{}.bin", genesis())), [1, 0]);
    for path in ["/rest/", "/rest/nothing", "/rest/nothing.bin"] {
        let response = server.get(path);
        assert_eq!((response.status, response.body.len()), (404, 0), "{path}");
    }
}

#[test]
fn ranges_are_payloads_one_after_another() {
    let (kernel, server) = setting();
    let (tip, _) = last(&kernel);
    for (from, to) in [(0, 0), (0, tip), (3, 9), (tip, tip)] {
        let response = server.get(&format!("/api/v1/blocks/{from}/{to}/payload"));
        assert_eq!(response.status, 200);
        assert_eq!(response.header("content-type"), Some(MEDIA_TYPE));
        assert_eq!(response.header("cache-control"), Some("no-cache"));
        let mut reader = Reader::new(&response.body);
        for height in from..=to {
            let payload = Payload::read(&mut reader).unwrap();
            assert_eq!(payload.block, kernel.block(kernel.hash_at(height).unwrap()).unwrap());
            assert_eq!(payload.encode().unwrap(), server.payload(height));
        }
        reader.finish().unwrap();
    }
}

#[test]
fn lists_and_status_tell_what_the_kernel_tells() {
    let (kernel, server) = setting();
    let (tip, hash) = last(&kernel);
    let list = |path: &str| server.get(path).json::<Vec<BlockFacts>>();
    let heights = |list: &[BlockFacts]| list.iter().map(|block| block.height.unwrap().0).collect::<Vec<_>>();
    assert_eq!(heights(&list("/api/v1/blocks")), (tip - 19..=tip).rev().collect::<Vec<_>>());
    assert_eq!(heights(&list("/api/v1/blocks?from=5&count=100")), [5, 4, 3, 2, 1, 0]);
    assert_eq!(heights(&list("/api/v1/blocks?from=4294967294&count=1")), [tip]);
    for block in list("/api/v1/blocks?count=100") {
        assert_eq!(block.hash, kernel.hash_at(block.height.unwrap().0).unwrap());
        assert_eq!(block.confirmations, tip - block.height.unwrap().0 + 1);
    }
    let status: Status = server.status();
    assert_eq!((status.network.as_str(), status.magic.as_str(), status.demo), ("regtest", "fabfb5da", None));
    assert_eq!((status.payload_version, status.index_version), (1, hindsight::index::SCHEMA_VERSION));
    assert_eq!(status.version, "0.1.0");
    assert_eq!(status.tip.unwrap().hash.to_string(), hash);
    assert_eq!((status.warnings.len(), status.unknown.is_empty()), (0, false));
    assert_eq!((status.progress.complete, status.progress.blocks), (true, tip + 1));
    assert_eq!((server.get("/healthz").status, server.get("/healthz").text().as_str()), (200, "ok\n"));
}

/// Testnet's times jump ahead and back again, as miners use its rule for easy blocks: for every day, and days without a
/// block, the list starts with the highest block whose time is not behind the day's end.
#[test]
fn a_list_that_starts_with_a_day_starts_with_its_last_block() {
    let fixture = testnet3();
    let server = TestServer::start(&fixture.datadir());
    let header = |height: u32| server.get_ok(&format!("/rest/headers/{}.bin?count=1", server.facts(height).hash));
    let headers: Vec<Header> = (0..=2016).map(|height| deserialize(&header(height)).unwrap()).collect();
    assert!(headers.windows(2).any(|pair| pair[1].time < pair[0].time));
    let (first, last) = (headers[0].time, headers.iter().map(|header| header.time).max().unwrap());
    for day in (first / 86_400 - 1)..=(last / 86_400 + 1) {
        let end = day * 86_400 + 86_399;
        let expect = headers.iter().rposition(|header| header.time <= end);
        let date = civil(day.into());
        let path = format!("/api/v1/blocks?from={}-{:02}-{:02}&count=1", date.0, date.1, date.2);
        let found = server.get(&path).json::<Vec<BlockFacts>>();
        assert_eq!(found.first().map(|block| block.hash), expect.map(|at| headers[at].block_hash()), "{path}");
    }
    refuses(&server, "/api/v1/blocks?from=2011-02-30", 400, "'2011-02-30' is neither a block height");
    refuses(&server, "/api/v1/blocks/summaries?from=yesterday", 400, "nor a date (2009-01-03)");
}

#[test]
fn only_names_of_this_server_are_answered() {
    let (kernel, _) = with_spends(1).unwrap();
    let mut setup = Setup::new(kernel.datadir());
    setup.access.hosts = vec!["explorer.example".into()];
    let server = setup.start().unwrap();
    server.wait_until_read();
    let status = |host: &str| server.request("GET", "/api/v1/tip", &[("Host", host)]).status;
    for host in ["localhost", "LOCALHOST:81", "127.0.0.1", "192.168.1.5:80", "[::1]:3110", "explorer.example:443"] {
        assert_eq!(status(host), 200, "{host}");
    }
    for host in ["evil.example", "localhost.evil.example", "explorer.example.evil", "", "127.0.0.1.evil", "a@localhost"]
    {
        assert_eq!(status(host), 400, "{host}");
    }
    let response = server.request("GET", "/api/v1/tip", &[("Host", "evil.example")]);
    assert!(response.json::<ErrorBody>().error.contains("start it with --host evil.example"));
}

/// The policy of the design, word for word where pages depend on it.
#[track_caller]
fn is_secure(response: &Response) {
    let policy = response.header("content-security-policy").unwrap();
    for part in [
        "default-src 'none'",
        "script-src 'self' 'wasm-unsafe-eval'",
        "worker-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'self'",
        "frame-ancestors 'none'",
    ] {
        assert!(policy.split("; ").any(|rule| rule == part), "{part} is not in {policy}");
    }
    assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(response.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(response.header("cross-origin-opener-policy"), Some("same-origin"));
}

#[test]
fn only_bytes_named_by_a_hash_are_open_to_other_origins() {
    let (kernel, server) = setting();
    let (height, hash) = last(&kernel);
    let origin = [("Origin", "https://evil.example")];
    let preflight =
        [origin[0], ("Access-Control-Request-Method", "GET"), ("Access-Control-Request-Headers", "if-none-match")];
    for path in [
        format!("/api/v1/block/{hash}/payload"),
        format!("/api/v1/block/{hash}/tx/0"),
        format!("/rest/block/{hash}.bin"),
        format!("/rest/block/notxdetails/{hash}.hex"),
        format!("/rest/blockpart/{hash}.bin?offset=0&size=80"),
        format!("/rest/spenttxouts/{hash}.bin"),
    ] {
        let response = server.request("GET", &path, &origin);
        is_secure(&response);
        assert_eq!(response.header("access-control-allow-origin"), Some("*"), "{path}");
        assert_eq!(response.header("cross-origin-resource-policy"), Some("cross-origin"));
        assert!(response.header("access-control-expose-headers").unwrap().contains("ETag"));
        let allowed = server.request("OPTIONS", &path, &preflight);
        assert_eq!(allowed.status, 204);
        assert_eq!(allowed.header("access-control-allow-origin"), Some("*"));
        assert_eq!(allowed.header("access-control-allow-methods"), Some("GET, HEAD"));
    }
    for path in [
        "/api/v1/tip",
        "/api/v1/status",
        "/api/v1/blocks",
        "/api/v1/blocks/summaries",
        "/healthz",
        "/",
        &format!("/api/v1/block/{height}/payload"),
        &format!("/api/v1/block/{height}/tx/0"),
        &format!("/api/v1/block/{height}/stats"),
        &format!("/rest/blockhashbyheight/{height}.bin"),
    ] {
        let response = server.request("GET", path, &origin);
        is_secure(&response);
        assert_eq!(response.header("access-control-allow-origin"), None, "{path}");
        assert_eq!(response.header("cross-origin-resource-policy"), Some("same-origin"));
        let refused = server.request("OPTIONS", path, &preflight);
        assert_eq!(refused.header("access-control-allow-origin"), None, "{path}");
    }
    let mut setup = Setup::new(kernel.datadir());
    setup.access.cors = true;
    let open = setup.start().unwrap();
    open.wait_until_read();
    for path in ["/api/v1/tip", "/api/v1/status", "/healthz"] {
        assert_eq!(open.request("GET", path, &origin).header("access-control-allow-origin"), Some("*"));
    }
}
