//! Core's REST interface: every byte of its answers, computed with the `bitcoin` crate from the chain that the kernel
//! wrote, and every word of its errors (`src/rest.cpp`).

use bitcoin::block::Header;
use bitcoin::consensus::{deserialize, serialize};
use bitcoin::hashes::Hash;
use bitcoin::hex::DisplayHex;
use bitcoin::{Amount, Block, BlockHash, VarInt, Work};
use hindsight_tests::core_files::age;
use hindsight_tests::judge::{Expected, spent_txouts};
use hindsight_tests::kernel_chain::KernelChain;
use hindsight_tests::scenes::{Scene, rich, with_spends};
use hindsight_tests::test_server::TestServer;

const A_DAY: &str = "public, immutable, max-age=86400";
const BIN: &str = "application/octet-stream";
const HEX: &str = "text/plain";
const JSON: &str = "application/json";

struct Setting {
    kernel: KernelChain,
    server: TestServer,
    tip: u32,
    asked: std::cell::Cell<u32>,
}

impl Setting {
    fn of(kernel: KernelChain) -> Self {
        let server = TestServer::start(kernel.datadir());
        let (tip, _) = kernel.tip().unwrap();
        Self { kernel, server, tip, asked: 0.into() }
    }

    fn rich() -> Self {
        let kernel = KernelChain::new().unwrap();
        kernel.extend(&rich().blocks).unwrap();
        Self::of(kernel)
    }

    fn small() -> (Self, Scene) {
        let (kernel, scene) = with_spends(3).unwrap();
        (Self::of(kernel), scene)
    }

    fn hash(&self, height: u32) -> BlockHash {
        self.kernel.hash_at(height).unwrap()
    }

    fn header(&self, height: u32) -> Header {
        deserialize(&self.kernel.block(self.hash(height)).unwrap()[..80]).unwrap()
    }

    #[track_caller]
    fn gives(&self, path: &str, media_type: &str, caching: &str, body: &[u8]) {
        self.asked.set(self.asked.get() + 1);
        let response = self.server.get(path);
        assert_eq!(response.status, 200, "{path}: {}", response.text());
        assert_eq!(response.header("content-type"), Some(media_type), "{path}");
        assert_eq!(response.header("cache-control"), Some(caching), "{path}");
        assert!(response.body == body, "{path}: {} bytes instead of {}", response.body.len(), body.len());
    }

    /// Bytes and their hex, which end in a line break.
    #[track_caller]
    fn gives_both(&self, path: &str, query: &str, caching: &str, body: &[u8]) {
        self.gives(&format!("{path}.bin{query}"), BIN, caching, body);
        self.gives(&format!("{path}.hex{query}"), HEX, caching, format!("{}\n", body.to_lower_hex_string()).as_bytes());
    }

    #[track_caller]
    fn refuses(&self, path: &str, status: u16, text: &str) {
        self.asked.set(self.asked.get() + 1);
        let response = self.server.get(path);
        assert_eq!((response.status, response.text()), (status, format!("{text}\r\n")), "{path}");
        assert_eq!(response.header("content-type"), Some("text/plain"), "{path}");
        assert_eq!(response.header("cache-control"), Some("no-store"), "{path}");
    }
}

#[test]
fn blocks_their_parts_and_what_they_spend() {
    let setting = Setting::rich();
    for height in 0..=setting.tip {
        let expected = Expected::of_kernel(&setting.kernel, setting.hash(height));
        let (hash, bytes) = (setting.hash(height), &expected.bytes);
        setting.gives_both(&format!("/rest/block/{hash}"), "", A_DAY, bytes);
        setting.gives_both(&format!("/rest/block/notxdetails/{hash}"), "", A_DAY, bytes);
        setting.gives_both(&format!("/rest/spenttxouts/{hash}"), "", A_DAY, &spent_txouts(&expected.spent));
        let part = |offset: usize, size: usize| {
            let query = format!("?offset={offset}&size={size}");
            setting.gives_both(&format!("/rest/blockpart/{hash}"), &query, A_DAY, &bytes[offset..offset + size]);
        };
        part(0, 80);
        part(0, bytes.len());
        part(bytes.len() - 1, 1);
        // Each transaction, found by what comes before it.
        let block: Block = deserialize(bytes).unwrap();
        let mut offset = 80 + VarInt::from(block.txdata.len()).size();
        for tx in &block.txdata {
            assert_eq!(serialize(tx), bytes[offset..offset + tx.total_size()]);
            part(offset, tx.total_size());
            offset += tx.total_size();
        }
        assert_eq!(offset, bytes.len());
    }
    println!("{} answers equal", setting.asked.get());
}

#[test]
fn parts_that_are_none_are_refused() {
    let (setting, _) = Setting::small();
    let hash = setting.hash(setting.tip);
    let size = setting.kernel.block(hash).unwrap().len();
    let unknown = BlockHash::from_byte_array([7; 32]);
    let path = |query: &str| format!("/rest/blockpart/{hash}.bin{query}");
    let no_offset = "Block part offset missing or invalid";
    for query in ["", "?", "?size=1", "?offset=&size=1", "?offset=x&size=1", "?offset=-1&size=1", "?offset=+1&size=1"] {
        setting.refuses(&path(query), 400, no_offset);
    }
    for offset in ["1.0", "0x1", "1e1", "%201", "1%20", "-0", "18446744073709551616"] {
        setting.refuses(&path(&format!("?offset={offset}&size=1")), 400, no_offset);
    }
    // Nothing but the first value of a name counts, whatever stands around it.
    setting.refuses(&path("?offset=x&offset=1&size=1"), 400, no_offset);
    setting.refuses(&path("?OFFSET=1&size=1"), 400, no_offset);
    // The offset is looked at before the size, and both before the hash.
    setting.refuses("/rest/blockpart/abc.bin", 400, no_offset);
    let no_size = "Block part size missing or invalid";
    for query in ["?offset=0", "?offset=0&size=", "?offset=0&size=-1", "?offset=0&size=%2D1"] {
        setting.refuses(&path(query), 400, no_size);
    }
    setting.refuses(&path("?offset=1;size=1"), 400, no_offset);
    setting.refuses("/rest/blockpart/abc.bin?offset=1", 400, no_size);
    setting.refuses("/rest/blockpart/abc.bin?offset=0&size=1", 400, "Invalid hash: abc");
    setting.refuses(&format!("/rest/blockpart/{unknown}.bin?offset=0&size=1"), 404, &format!("{unknown} not found"));
    let most = u64::MAX.to_string();
    for (offset, length) in [
        ("0", "0"),
        ("0", &(size + 1).to_string()[..]),
        (&size.to_string(), "1"),
        (&(size - 1).to_string(), "2"),
        (&most, "1"),
        ("1", &most),
        (&most, &most),
    ] {
        let text = format!("Bad block part offset/size {offset}/{length} for {hash}");
        setting.refuses(&path(&format!("?offset={offset}&size={length}")), 400, &text);
        // What is wrong with the part is said before what is wrong with the format.
        setting.refuses(&format!("/rest/blockpart/{hash}.json?offset={offset}&size={length}"), 400, &text);
        setting.refuses(&format!("/rest/blockpart/{hash}?offset={offset}&size={length}"), 400, &text);
    }
    let no_json = "JSON output is not supported for this request type";
    setting.refuses(&format!("/rest/blockpart/{hash}.json?offset=0&size=1"), 400, no_json);
    let block = setting.kernel.block(hash).unwrap();
    for query in
        ["?size=2&offset=1", "?offset=%31&size=2", "?off%73et=1&size=2", "?&&offset=1&&size=2&", "?offset=01&size=02"]
    {
        setting.gives(&path(query), BIN, A_DAY, &block[1..3]);
    }
}

#[test]
fn errors_are_told_in_cores_words() {
    let (setting, _) = Setting::small();
    let hash = setting.hash(setting.tip).to_string();
    let unknown = "07".repeat(32);
    let routes = [("block", ""), ("block/notxdetails", ""), ("spenttxouts", ""), ("blockpart", "?offset=0&size=1")];
    for (route, query) in routes.into_iter().chain([("headers", "")]) {
        for suffix in [".bin", ".hex", ".json", "", "."] {
            let path = |argument: &str| format!("/rest/{route}/{argument}{suffix}{query}");
            for wrong in ["", "abc", &hash[1..], &format!("{hash}0"), &format!("{}g", &hash[1..]), "%20", "%C3%A9"] {
                setting.refuses(&path(wrong), 400, &format!("Invalid hash: {wrong}"));
            }
            let xyz = format!("{hash}.xyz");
            // An unknown suffix, and all of several but the last known one, are part of the argument.
            setting.refuses(&path(&xyz), 400, &format!("Invalid hash: {xyz}"));
            if route != "headers" {
                setting.refuses(&path(&unknown), 404, &format!("{unknown} not found"));
            }
        }
    }
    // Hashes are named as they were written.
    let (known, other) = (hash.to_uppercase(), "AB".repeat(32));
    for route in ["block", "block/notxdetails", "spenttxouts", "blockpart"] {
        setting.refuses(&format!("/rest/{route}/{other}.bin?offset=0&size=1"), 404, &format!("{other} not found"));
    }
    let bad = format!("Bad block part offset/size 1/0 for {known}");
    setting.refuses(&format!("/rest/blockpart/{known}.bin?offset=1&size=0"), 400, &bad);
    // Core has JSON of these, which this server does not give yet.
    for (route, query) in routes {
        let formats = "output format not found (available: .bin, .hex, .json)";
        for suffix in ["", "."] {
            setting.refuses(&format!("/rest/{route}/{hash}{suffix}{query}"), 404, formats);
        }
        if route != "blockpart" {
            let formats = "output format not found (available: .bin, .hex)";
            setting.refuses(&format!("/rest/{route}/{hash}.json"), 404, formats);
        }
    }
    let uri = "Invalid URI format. Expected /rest/spenttxouts/<hash>.<ext>";
    for argument in [format!("{hash}/0"), format!("0/{hash}"), format!("{hash}/"), "/".into()] {
        setting.refuses(&format!("/rest/spenttxouts/{argument}.bin"), 400, uri);
        setting.refuses(&format!("/rest/block/{argument}.bin"), 400, &format!("Invalid hash: {argument}"));
    }
    println!("{} errors equal", setting.asked.get());
}

#[test]
fn only_methods_that_core_answers_are_answered() {
    let (setting, _) = Setting::small();
    let path = format!("/rest/block/{}.bin", setting.hash(1));
    let whole = setting.server.get_ok(&path);
    for method in ["POST", "PUT"] {
        let response = setting.server.request(method, &path, &[("Content-Length", "0")]);
        assert_eq!((response.status, response.body == whole), (200, true), "{method}");
    }
    for method in ["DELETE", "PATCH", "TRACE"] {
        let response = setting.server.request(method, &path, &[("Content-Length", "0")]);
        assert_eq!((response.status, response.body.len()), (405, 0), "{method}");
    }
    for path in
        ["/rest", "/rest/", "/rest/nothing", "/rest/nothing.bin", "/rest/block", "/rest/headers", "/rest/blocks/1"]
    {
        let response = setting.server.get(path);
        assert_eq!((response.status, response.body.len()), (404, 0), "{path}");
        assert_eq!(response.header("cache-control"), Some("no-store"), "{path}");
    }
}

#[test]
fn headers_upwards_from_a_block() {
    let setting = Setting::rich();
    let headers = |from: u32, count: u32| -> Vec<u8> {
        (from..from + count)
            .take_while(|&height| height <= setting.tip)
            .flat_map(|height| serialize(&setting.header(height)))
            .collect()
    };
    for height in 0..=setting.tip {
        let hash = setting.hash(height);
        setting.gives_both(&format!("/rest/headers/{hash}"), "", "no-store", &headers(height, 5));
        for count in [1, 2, 2000] {
            let query = format!("?count={count}");
            setting.gives_both(&format!("/rest/headers/{hash}"), &query, "no-store", &headers(height, count));
            setting.gives_both(&format!("/rest/headers/{count}/{hash}"), "", "no-store", &headers(height, count));
        }
        setting.gives(&format!("/rest/blockhashbyheight/{height}.bin"), BIN, "no-store", hash.as_byte_array());
        setting.gives(
            &format!("/rest/blockhashbyheight/{height}.hex"),
            HEX,
            "no-store",
            format!("{hash}\n").as_bytes(),
        );
        let json = format!("{{\"blockhash\":\"{hash}\"}}\n");
        setting.gives(&format!("/rest/blockhashbyheight/{height}.json"), JSON, "no-store", json.as_bytes());
    }
    let hash = setting.hash(7).to_string();
    setting.gives(&format!("/rest/headers/{}.bin", hash.to_uppercase()), BIN, "no-store", &headers(7, 5));
    // What stands in the path wins over what is asked for behind it.
    setting.gives(&format!("/rest/headers/2/{hash}.bin?count=1"), BIN, "no-store", &headers(7, 2));
    setting.gives(&format!("/rest/headers/{hash}.bin?count=%32&count=1"), BIN, "no-store", &headers(7, 2));
    println!("{} answers equal", setting.asked.get());
}

/// `blockheaderToJSON` of Core, in its order.
#[test]
fn headers_in_json() {
    let setting = Setting::rich();
    let mut work = Work::from_be_bytes([0; 32]);
    let mut all = Vec::new();
    for height in 0..=setting.tip {
        let header = setting.header(height);
        work = work + header.work();
        let block: Block = deserialize(&setting.kernel.block(setting.hash(height)).unwrap()).unwrap();
        let mut times: Vec<u32> =
            (height.saturating_sub(10)..=height).map(|height| setting.header(height).time).collect();
        times.sort_unstable();
        let mut text = format!(
            "{{\"hash\":\"{}\",\"confirmations\":{},\"height\":{height},\"version\":{},\"versionHex\":\"{:08x}\",\
             \"merkleroot\":\"{}\",\"time\":{},\"mediantime\":{},\"nonce\":{},\"bits\":\"{:08x}\",\"target\":\"{:064x}\",\
             \"difficulty\":4.656542373906925e-10,\"chainwork\":\"{work:064x}\",\"nTx\":{}",
            header.block_hash(),
            setting.tip - height + 1,
            header.version.to_consensus(),
            header.version.to_consensus(),
            header.merkle_root,
            header.time,
            times[times.len() / 2],
            header.nonce,
            header.bits.to_consensus(),
            header.target(),
            block.txdata.len(),
        );
        if height > 0 {
            text.push_str(&format!(",\"previousblockhash\":\"{}\"", header.prev_blockhash));
        }
        if height < setting.tip {
            text.push_str(&format!(",\"nextblockhash\":\"{}\"", setting.hash(height + 1)));
        }
        text.push('}');
        all.push(text);
    }
    for height in 0..all.len() {
        let list = |count: usize| format!("[{}]\n", all[height..(height + count).min(all.len())].join(","));
        let path = format!("/rest/headers/{}.json", setting.hash(height as u32));
        setting.gives(&path, JSON, "no-store", list(5).as_bytes());
        setting.gives(&format!("{path}?count=1"), JSON, "no-store", list(1).as_bytes());
    }
    println!("{} answers equal", setting.asked.get());
}

#[test]
fn headers_that_nobody_has_and_counts_that_are_none() {
    let (setting, mut scene) = Setting::small();
    let stale = scene.builder.mine(setting.hash(setting.tip - 1), Vec::new(), Amount::ZERO);
    setting.kernel.submit(&stale).unwrap();
    let hash = setting.hash(setting.tip);
    let unknown = BlockHash::from_byte_array([7; 32]);
    // A block off the best chain is as unknown here as any other.
    hindsight_tests::wait::until_true("the stale block is found", || {
        setting.server.get(&format!("/rest/block/{}.bin", stale.block_hash())).status == 200
    });
    for other in [unknown, stale.block_hash()] {
        setting.gives(&format!("/rest/headers/{other}.bin"), BIN, "no-store", b"");
        setting.gives(&format!("/rest/headers/{other}.hex"), HEX, "no-store", b"\n");
        setting.gives(&format!("/rest/headers/{other}.json"), JSON, "no-store", b"[]\n");
        setting.refuses(
            &format!("/rest/headers/{other}"),
            404,
            "output format not found (available: .bin, .hex, .json)",
        );
    }
    let range = |count: &str| format!("Header count is invalid or out of acceptable range (1-2000): {count}");
    for count in ["0", "2001", "-1", "x", "5.0", "+5", "1e1", "99999999999999999999", "", "-0"] {
        setting.refuses(&format!("/rest/headers/{hash}.bin?count={count}"), 400, &range(count));
        setting.refuses(&format!("/rest/headers/{count}/{hash}.json"), 400, &range(count));
        // Before the hash and the format are looked at.
        setting.refuses(&format!("/rest/headers/abc?count={count}"), 400, &range(count));
    }
    let header = serialize(&setting.header(setting.tip));
    setting.gives(&format!("/rest/headers/{hash}.bin?count=005"), BIN, "no-store", &header);
    let uri = "Invalid URI format. Expected /rest/headers/<hash>.<ext>?count=<count>";
    setting.refuses(&format!("/rest/headers/1/2/{hash}.bin"), 400, uri);
    setting.refuses(&format!("/rest/headers/1/{hash}/.bin"), 400, uri);
    for suffix in [".bin", ".hex", ".json", "", "."] {
        for height in ["-1", "+1", "1.0", "x", "", "2147483648", "4294967296", "%31", "1%20", "1e1", "0x1", "1/2"] {
            setting.refuses(
                &format!("/rest/blockhashbyheight/{height}{suffix}"),
                400,
                &format!("Invalid height: {height}"),
            );
        }
        for height in [setting.tip + 1, i32::MAX as u32] {
            setting.refuses(&format!("/rest/blockhashbyheight/{height}{suffix}"), 404, "Block height out of range");
        }
    }
    let formats = "output format not found (available: .bin, .hex, .json)";
    setting.refuses("/rest/blockhashbyheight/1", 404, formats);
    setting.refuses("/rest/blockhashbyheight/1.xyz", 400, "Invalid height: 1.xyz");
    setting.gives("/rest/blockhashbyheight/-0.bin?x=.json", BIN, "no-store", setting.hash(0).as_byte_array());
    setting.gives("/rest/blockhashbyheight/01.bin", BIN, "no-store", setting.hash(1).as_byte_array());
}

#[test]
fn a_block_that_was_never_connected_has_no_undo() {
    let (setting, mut scene) = Setting::small();
    let stale = scene.spend_on(setting.hash(setting.tip - 1));
    setting.kernel.submit(&stale).unwrap();
    // Undo of a block that was written just now might be still to come.
    age(&setting.kernel.blocks_dir());
    let hash = stale.block_hash();
    hindsight_tests::wait::until_true("the stale block is found", || {
        setting.server.get(&format!("/rest/spenttxouts/{hash}.bin")).text().contains("undo not available\r\n")
    });
    setting.gives_both(&format!("/rest/block/{hash}"), "", A_DAY, &serialize(&stale));
    setting.gives_both(&format!("/rest/blockpart/{hash}"), "?offset=80&size=1", A_DAY, &[2]);
    for suffix in [".bin", ".hex"] {
        setting.refuses(&format!("/rest/spenttxouts/{hash}{suffix}"), 404, &format!("{hash} undo not available"));
    }
}
