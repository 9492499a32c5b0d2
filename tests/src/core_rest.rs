//! Requests that Core's REST interface and ours both answer, good and bad, and what of an answer has to be the same.

use std::net::SocketAddr;

use bitcoin::BlockHash;
use bitcoin::hashes::{Hash, sha256};
use serde::{Deserialize, Serialize};

use crate::client::{Connection, Response};

/// What has to be the same of two answers; of a body, its length and hash, and its beginning to be looked at.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// `Content-Type`
    pub media_type: Option<String>,
    /// `Cache-Control`
    pub caching: Option<String>,
    /// Bytes of the body.
    pub length: usize,
    /// The first half of the body's SHA-256; that is enough against accidents, and a recording has thousands.
    pub digest: String,
    /// A short text, such as an error's, as it is.
    pub text: Option<String>,
}

/// Bodies up to this size are kept whole, if they are text.
const SHORT: usize = 120;

impl Answer {
    /// Of what came back.
    pub fn of(response: &Response) -> Self {
        let header = |name| response.header(name).map(str::to_owned);
        let text = std::str::from_utf8(&response.body).ok().filter(|text| text.len() <= SHORT);
        Self {
            status: response.status,
            media_type: header("content-type"),
            caching: header("cache-control"),
            length: response.body.len(),
            digest: sha256::Hash::hash(&response.body).to_string()[..32].to_owned(),
            text: text.map(str::to_owned),
        }
    }
}

/// Asks one server again and again, on one connection as long as it keeps it.
pub struct Asker {
    address: SocketAddr,
    connection: Option<Connection>,
}

impl Asker {
    /// Of a server.
    pub fn new(address: SocketAddr) -> Self {
        Self { address, connection: None }
    }

    /// Any request without a body.
    #[track_caller]
    pub fn ask(&mut self, method: &str, path: &str) -> Response {
        let mut connection = self.connection.take().unwrap_or_else(|| Connection::open(self.address).unwrap());
        let headers: &[(&str, &str)] = if method == "GET" { &[] } else { &[("Content-Length", "0")] };
        let response = match connection.request(method, path, headers) {
            Ok(response) => response,
            Err(error) => panic!("{method} {path}: {error}"),
        };
        if response.header("connection") != Some("close") {
            self.connection = Some(connection);
        }
        response
    }
}

/// Everything good that can be asked about a block of the best chain, and parts that reach too far.
pub fn about_block(height: u32, hash: BlockHash, size: usize) -> Vec<String> {
    [about_body(hash, size), about_header(height, hash)].concat()
}

/// What can be asked about a block of the best chain without its body.
pub fn about_header(height: u32, hash: BlockHash) -> Vec<String> {
    let mut paths = Vec::new();
    for suffix in ["bin", "hex", "json"] {
        paths.push(format!("/rest/headers/{hash}.{suffix}"));
        paths.push(format!("/rest/headers/{hash}.{suffix}?count=3"));
        paths.push(format!("/rest/headers/12/{hash}.{suffix}"));
        paths.push(format!("/rest/blockhashbyheight/{height}.{suffix}"));
    }
    paths
}

/// What can be asked about any block's body and undo, on the best chain or not.
pub fn about_body(hash: BlockHash, size: usize) -> Vec<String> {
    let mut paths = Vec::new();
    let parts = [(0, 80), (80, size - 80), (0, size), (size - 1, 1), (size / 2, 9), (size, 1), (1, size), (7, 0)];
    for suffix in ["bin", "hex"] {
        for route in ["block", "block/notxdetails", "spenttxouts"] {
            paths.push(format!("/rest/{route}/{hash}.{suffix}"));
        }
        let part = |(offset, size)| format!("/rest/blockpart/{hash}.{suffix}?offset={offset}&size={size}");
        paths.extend(parts.map(part));
    }
    paths.push(format!("/rest/blockpart/{hash}.json?offset=0&size=1"));
    paths.push(format!("/rest/blockpart/{hash}.json?offset=0&size=0"));
    paths
}

/// Requests that go wrong, or nearly, with a block of the best chain that is 80 bytes long at least.
pub fn bad_and_odd(height: u32, hash: BlockHash) -> Vec<String> {
    let hash = hash.to_string();
    let mut paths = wrong_arguments(&hash);
    paths.extend(odd_parts(&hash));
    paths.extend(odd_headers(&hash));
    for argument in ["-1", "x", "99999999", "99999999999", "", "+3", "03", "3.0", "%33", "-0", "3 ", "2147483647"] {
        let argument = argument.replace(' ', "%20");
        paths.extend(SUFFIXES.map(|suffix| format!("/rest/blockhashbyheight/{argument}{suffix}")));
    }
    paths.extend(SUFFIXES.map(|suffix| format!("/rest/blockhashbyheight/{height}{suffix}?x=1.hex")));
    for path in
        ["/rest/", "/rest", "/rest/nothing", "/rest/nothing.bin", "/rest/block", "/rest/headers", "/rest/blocks/1"]
    {
        paths.push(path.to_owned());
    }
    paths
}

const SUFFIXES: [&str; 6] = [".bin", ".hex", ".json", "", ".", ".xyz"];

fn wrong_arguments(hash: &str) -> Vec<String> {
    let unknown = "07".repeat(32);
    let wrong = ["", "abc", &hash[1..], "%20", "%C3%A9", "/", &unknown, &unknown.to_uppercase()].map(str::to_owned);
    let changed = [
        format!("{hash}0"),
        format!("{}g", &hash[1..]),
        format!("0x{}", &hash[2..]),
        format!("%30{}", &hash[1..]),
        format!("{hash}/x"),
        format!("x/{hash}"),
        format!("{hash}/"),
        format!("{hash}.bin"),
    ];
    let routes = [
        ("block", ""),
        ("block/notxdetails", ""),
        ("spenttxouts", ""),
        ("blockpart", "?offset=0&size=1"),
        ("headers", ""),
    ];
    let mut paths = Vec::new();
    for (route, query) in routes {
        for argument in wrong.iter().chain(&changed) {
            paths.extend(SUFFIXES.map(|suffix| format!("/rest/{route}/{argument}{suffix}{query}")));
        }
        for known in [hash.to_owned(), hash.to_uppercase()] {
            // JSON of blocks is Core's alone.
            let suffixes = SUFFIXES.into_iter().filter(|&suffix| suffix != ".json" || route == "headers");
            paths.extend(suffixes.map(|suffix| format!("/rest/{route}/{known}{suffix}{query}")));
        }
    }
    paths.push(format!("/rest/block/{hash}.bin?x=1.hex"));
    paths.push(format!("/rest/block/{hash}.bin?"));
    paths
}

fn odd_parts(hash: &str) -> Vec<String> {
    let most = u64::MAX;
    let queries = [
        "",
        "?",
        "?offset=0",
        "?size=1",
        "?offset=&size=1",
        "?offset=0&size=",
        "?offset=x&size=1",
        "?offset=-1&size=1",
        "?offset=+1&size=1",
        "?offset=0&size=-1",
        "?offset=1.0&size=1",
        "?offset=0x1&size=1",
        "?offset=%201&size=1",
        "?offset=1%20&size=1",
        "?offset=-0&size=1",
        "?offset=01&size=02",
        "?size=2&offset=1",
        "?offset=%31&size=2",
        "?off%73et=1&size=2",
        "?&&offset=1&&size=2&",
        "?offset=x&offset=1&size=1",
        "?OFFSET=1&size=1",
        "?offset=1;size=1",
        "?offset=1&size=2#x",
        "?offset=18446744073709551616&size=1",
        "?offset=0&size=99999999",
    ]
    .map(str::to_owned);
    let far =
        [format!("?offset={most}&size=1"), format!("?offset=1&size={most}"), format!("?offset={most}&size={most}")];
    let mut paths = Vec::new();
    for argument in [hash, "abc"] {
        for query in queries.iter().chain(&far) {
            paths.extend(SUFFIXES.map(|suffix| format!("/rest/blockpart/{argument}{suffix}{query}")));
        }
    }
    paths
}

fn odd_headers(hash: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for count in ["0", "1", "2000", "2001", "-1", "+3", "", "x", "%33", "3.0", "99999999999999999999", "03"] {
        for suffix in SUFFIXES {
            paths.push(format!("/rest/headers/{hash}{suffix}?count={count}"));
            paths.push(format!("/rest/headers/{count}/{hash}{suffix}"));
            paths.push(format!("/rest/headers/{count}/abc{suffix}"));
        }
    }
    for query in ["?count=1&count=4", "?count=x&count=4", "?COUNT=2", "?count", "?c%6funt=2"] {
        paths.push(format!("/rest/headers/{hash}.bin{query}"));
        paths.push(format!("/rest/headers/2/{hash}.json{query}"));
    }
    paths.push(format!("/rest/headers/a/b/{hash}.bin"));
    paths.push("/rest/headers/a/b/c.bin".to_owned());
    paths
}
