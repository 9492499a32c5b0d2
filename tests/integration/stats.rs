//! Statistics over HTTP, JSON and rows, held against a plain recomputation with the `bitcoin` crate: of everything that a
//! kernel's chain can hold, of the chains that the project carries, and of mainnet's blocks of all eras.

use std::collections::BTreeMap;

use bitcoin::block::Header;
use bitcoin::consensus::deserialize;
use bitcoin::{Amount, Network, TxOut};
use hindsight_shared::payload::Payload;
use hindsight_shared::stats::core::UtxoOverhead;
use hindsight_tests::client::request;
use hindsight_tests::core_files::{Directory, Piece, Records, age, undo_piece};
use hindsight_tests::fixtures;
use hindsight_tests::judge::Expected;
use hindsight_tests::kernel_chain::{KernelChain, SpentCoin};
use hindsight_tests::process::Process;
use hindsight_tests::replay::{in_order, replay};
use hindsight_tests::scenes::{RICH_ENVELOPES, rich, with_spends};
use hindsight_tests::stats_compare::{Compared, ROW, ROW_SIZE, Truth, compare, row};
use hindsight_tests::test_server::{Setup, TestServer, refused};
use hindsight_tests::wait::until_true;
use serde_json::Value;

/// Each block of a chain from genesis on.
fn truths(chain: &[Expected], subsidy: impl Fn(u32) -> u64) -> Vec<Truth> {
    let time = |block: &Expected| deserialize::<Header>(&block.bytes[..80]).unwrap().time;
    let times: Vec<u32> = chain.iter().map(time).collect();
    let median_time = |height: usize| {
        let mut times = times[height.saturating_sub(10)..=height].to_vec();
        times.sort_unstable();
        times[times.len() / 2]
    };
    let truth = |(height, expected): (usize, &Expected)| {
        Truth::of(expected, subsidy(expected.height), Some(median_time(height)))
    };
    chain.iter().enumerate().map(truth).collect()
}

/// Halved every so many blocks.
fn halving(interval: u32) -> impl Fn(u32) -> u64 {
    move |height| 50_0000_0000_u64.checked_shr(height / interval).unwrap_or(0)
}

/// Waits for the statistics of all blocks, and holds every summary against the block's own row.
#[track_caller]
fn compare_summaries(server: &TestServer, chain: &[Truth], compared: &mut Compared) {
    until_true("all statistics are there", || server.status().progress.statistics >= chain.len() as u32);
    let rows: Vec<Vec<u8>> = (0..chain.len()).map(|height| row(server, height).body).collect();
    let tip = chain.len() - 1;
    let mut summaries = |query: &str, from: usize, count: usize| {
        let response = server.get(&format!("/api/v1/blocks/summaries{query}"));
        assert_eq!((response.status, response.header("content-type")), (200, Some(ROW)), "{query}");
        assert_eq!(response.header("cache-control"), Some("no-cache"));
        let expected: Vec<u8> = (0..=from).rev().take(count).flat_map(|height| rows[height].clone()).collect();
        assert!(response.body == expected, "{query}: {} rows", response.body.len() / ROW_SIZE);
        compared.rows += (response.body.len() / ROW_SIZE) as u32;
    };
    summaries("", tip, 20);
    summaries("?count=2016", tip, 2016);
    summaries("?count=1", tip, 1);
    summaries("?from=0&count=5", 0, 5);
    summaries(&format!("?from={tip}"), tip, 20);
    summaries("?from=4294967294&count=3", tip, 3);
    for from in (0..=tip).rev().step_by(17) {
        summaries(&format!("?from={from}&count=17"), from, 17);
    }
}

#[track_caller]
fn compare_chain(server: &TestServer, chain: &[Truth]) -> Compared {
    let mut compared = Compared::default();
    chain.iter().for_each(|truth| compare(server, truth, &mut compared));
    compare_summaries(server, chain, &mut compared);
    println!("{compared:?}");
    compared
}

fn of_kernel(kernel: &KernelChain) -> Vec<Expected> {
    let (tip, _) = kernel.tip().unwrap();
    (0..=tip).map(|height| Expected::of_kernel(kernel, kernel.hash_at(height).unwrap())).collect()
}

#[test]
fn everything_that_a_chain_can_hold() {
    let kernel = KernelChain::new().unwrap();
    kernel.extend(&rich().blocks).unwrap();
    let server = TestServer::start(kernel.datadir());
    let chain = truths(&of_kernel(&kernel), halving(150));
    compare_chain(&server, &chain);

    // The chain holds what the comparison is for.
    let sum = |field: &str| chain.iter().map(|truth| truth.forty.content[field].as_u64().unwrap()).sum::<u64>();
    let envelopes = (sum("inscription_envelopes"), sum("inscription_envelope_bytes"));
    assert_eq!(envelopes, RICH_ENVELOPES);
    let kinds = |list: &str| -> BTreeMap<String, u64> {
        let mut kinds = BTreeMap::new();
        for (kind, tally) in chain.iter().flat_map(|truth| truth.forty.content[list].as_object().unwrap()) {
            *kinds.entry(kind.clone()).or_default() += tally["count"].as_u64().unwrap();
        }
        kinds
    };
    assert_eq!((kinds("spent").len(), kinds("created").len()), (10, 11));
    let differ = |truth: &&Truth| truth.forty.by_package[0] != truth.forty.by_transaction[0];
    assert!(chain.iter().filter(differ).count() > 0, "children pay for their parents");
    assert!(chain.iter().any(|truth| truth.forty.content["coinbase"]["unclaimed"].as_u64() > Some(0)));
    assert!(chain.iter().any(|truth| truth.forty.core["subsidy"] == 25_0000_0000_u64), "the subsidy is halved");
}

#[test]
fn the_chains_that_the_project_carries() {
    for (fixture, network, interval) in
        [(fixtures::regtest(), Network::Regtest, 150), (fixtures::testnet3(), Network::Testnet, 210_000)]
    {
        let records = Records::read(&fixture.blocks_dir(), network);
        let blocks = in_order(records.blocks.into_iter().map(|record| record.payload).collect());
        let server = TestServer::start(&fixture.datadir());
        compare_chain(&server, &truths(&replay(network, blocks), halving(interval)));
    }
}

/// Mainnet: the first 600 blocks, replayed, and ten of later times whose prevouts are the server's own (which
/// `islands` checks), and whose sizes, counts and fees are those of `expected.json`.
#[test]
fn mainnet_blocks_of_all_eras() {
    let Some(eras) = fixtures::mainnet_eras() else { return };
    let server = TestServer::start(&eras.datadir());
    let records = Records::read(&eras.blocks_dir(), Network::Bitcoin);
    let first = in_order(records.blocks.into_iter().map(|record| record.payload).collect());
    assert_eq!(first.len(), 600);
    let mut compared = Compared::default();
    for truth in truths(&replay(Network::Bitcoin, first), halving(210_000)) {
        compare(&server, &truth, &mut compared);
    }
    let text = std::fs::read(eras.datadir().join("expected.json")).unwrap();
    let facts: Vec<Value> = serde_json::from_slice(&text).unwrap();
    for fact in &facts {
        let hash = fact["hash"].as_str().unwrap();
        let expected = as_served(&server, hash, fact["height"].as_u64().unwrap() as u32);
        let truth = Truth::of(&expected, halving(210_000)(expected.height), None);
        compare(&server, &truth, &mut compared);
        compare_facts(&server, hash, fact);
    }
    // The archive's list says so of this block.
    let last: Value = server.get("/api/v1/block/866342/stats").json();
    assert_eq!(last["content"]["inscription_envelopes"], 147);
    println!("{compared:?}, {} of them in expected.json", facts.len());
}

/// A block with what it spends, as the server's payload has it.
fn as_served(server: &TestServer, hash: &str, height: u32) -> Expected {
    let wire = server.payload(hash);
    let payload = Payload::decode(&wire).unwrap();
    let (_, prevouts) = payload.view().unwrap();
    let prevouts = prevouts.unwrap();
    let coin = |prevout: hindsight_shared::prevouts::Prevout<'_>| SpentCoin {
        output: TxOut { value: prevout.value, script_pubkey: prevout.script.to_script() },
        height: prevout.created.map_or(0, |created| created.height.0),
        coinbase: prevout.created.is_some_and(|created| created.coinbase),
    };
    let spent = (1..prevouts.tx_count()).map(|index| prevouts.tx(index).map(coin).collect()).collect();
    Expected { network: Network::Bitcoin, height, bytes: payload.block.to_vec(), spent, best_chain: true }
}

#[track_caller]
fn compare_facts(server: &TestServer, hash: &str, fact: &Value) {
    let stats: Value = server.get(&format!("/api/v1/block/{hash}/stats")).json();
    let (core, content) = (&stats["core"], &stats["content"]);
    for (ours, theirs) in [
        (&core["height"], "height"),
        (&core["time"], "time"),
        (&core["txs"], "n_tx"),
        (&core["ins"], "n_in"),
        (&core["outs"], "n_out"),
        (&core["totalfee"], "total_fee"),
        (&content["coinbase"]["claimed"], "coinbase_value"),
    ] {
        assert_eq!(ours, &fact[theirs], "{hash}: {theirs}");
    }
    assert_eq!(content["ages"]["unknown"]["count"] == 0, fact["undo_has_coin_heights"], "{hash}");
    assert_eq!(core["swtxs"] != 0, fact["segwit"], "{hash}");
    let row = row(server, hash).body;
    let word = |at: usize| u64::from(u32::from_le_bytes(row[at..at + 4].try_into().unwrap()));
    assert_eq!((word(40), word(44)), (fact["size"].as_u64().unwrap(), fact["weight"].as_u64().unwrap()), "{hash}");
}

#[track_caller]
fn refuses(server: &TestServer, path: &str, status: u16, sentence: &str) {
    for accept in ["application/json", ROW] {
        refused(&server.request("GET", path, &[("Accept", accept)]), status, sentence);
    }
}

#[test]
fn bad_input_is_answered_with_a_sentence() {
    let (kernel, mut scene) = with_spends(2).unwrap();
    let server = TestServer::start(kernel.datadir());
    let (tip, hash) = kernel.tip().unwrap();
    for id in ["x", "-1", "4294967295", &hash.to_string()[1..]] {
        refuses(&server, &format!("/api/v1/block/{id}/stats"), 400, "is neither a block height");
    }
    for id in [(tip + 1).to_string(), "07".repeat(32)] {
        refuses(&server, &format!("/api/v1/block/{id}/stats"), 404, "is in none of the block files");
    }
    for release in ["x", "", "-1", "31.0", "4294967296"] {
        let sentence = format!("'{release}' is no release of Bitcoin Core");
        refuses(&server, &format!("/api/v1/block/1/stats?core_compat={release}"), 400, &sentence);
    }
    let summaries = |query: &str| format!("/api/v1/blocks/summaries?{query}");
    for count in ["0", "2017", "-1", "x", "", "1.0"] {
        let sentence = format!("'{count}' is not a count from 1 to 2016");
        refuses(&server, &summaries(&format!("count={count}")), 400, &sentence);
    }
    refuses(&server, &summaries("from=x"), 400, "is neither a block height");
    refuses(&server, &summaries(&format!("from={hash}")), 400, "is neither a block height");
    refuses(&server, &summaries("from=2011-02-30"), 400, "nor a date");

    // Without undo there are no fees, and nothing is made up.
    let stale = scene.spend_on(kernel.hash_at(tip - 1).unwrap());
    kernel.submit(&stale).unwrap();
    // Undo of a block that was written just now might be still to come.
    age(&kernel.blocks_dir());
    let path = format!("/api/v1/block/{}/stats", stale.block_hash());
    until_true("the stale block is found", || {
        server.get(&path).status == 404 && server.get(&path).text().contains("undo")
    });
    refuses(&server, &path, 404, "undo not available (the node never connected the block)");
}

#[test]
fn the_release_whose_sizes_are_told_is_the_operator_s_and_the_reader_s_choice() {
    let (kernel, _) = with_spends(1).unwrap();
    let mut setup = Setup::new(kernel.datadir());
    setup.access.core_compat = UtxoOverhead::of_release(31);
    let older = setup.start().unwrap();
    older.wait_until_read();
    let newer = TestServer::start(kernel.datadir());
    let index = tempfile::tempdir().unwrap();
    let flagged = Process::start_with(kernel.datadir(), index.path(), &["--core-compat", "31"]);
    let get = |address, query: &str| -> Value {
        request(address, "GET", &format!("/api/v1/block/0/stats{query}"), &[]).unwrap().json()
    };
    until_true("the binary has read the directory", || {
        request(flagged.address, "GET", "/api/v1/block/0/stats", &[]).unwrap().status == 200
    });
    // `rpc_getblockstats.py` of Core, after release 31 and up to it.
    for (address, default) in [(newer.address, 116), (older.address, 117), (flagged.address, 117)] {
        for (query, size) in
            [("", default), ("?core_compat=30", 117), ("?core_compat=31", 117), ("?core_compat=32", 116)]
        {
            assert_eq!(get(address, query)["core"]["utxo_size_inc"], size, "{query}");
            assert_eq!(get(address, query)["core"]["utxo_size_inc_actual"], 0, "{query}");
        }
    }
}

#[test]
fn rows_are_given_to_those_who_accept_them() {
    let (kernel, _) = with_spends(1).unwrap();
    let server = TestServer::start(kernel.datadir());
    let media_type = |accept: &str| {
        let response = server.request("GET", "/api/v1/block/1/stats", &[("Accept", accept)]);
        assert_eq!(response.status, 200);
        response.header("content-type").unwrap().to_owned()
    };
    for accept in [ROW, "text/html, application/vnd.hindsight.summary;q=0.9", " application/vnd.hindsight.summary "] {
        assert_eq!(media_type(accept), ROW, "{accept}");
    }
    for accept in ["", "*/*", "application/json", "application/*", "application/vnd.hindsight.summaryx"] {
        assert_eq!(media_type(accept), "application/json", "{accept}");
    }
}

/// The scene's blocks are ten minutes apart from genesis on, which is of 23:16:42 on 2011-02-02 (UTC).
#[test]
fn summaries_start_at_a_date() {
    let (kernel, _) = with_spends(60).unwrap();
    let server = TestServer::start(kernel.datadir());
    let (tip, _) = kernel.tip().unwrap();
    until_true("all statistics are there", || server.status().progress.statistics > tip);
    let rows = |from: &str| server.get_ok(&format!("/api/v1/blocks/summaries?from={from}&count=3"));
    for (date, last) in [("2011-02-02", 4), ("2011-02-03", 148), ("2011-02-04", tip), ("2026-01-01", tip)] {
        let header: Header = deserialize(&kernel.block(kernel.hash_at(last).unwrap()).unwrap()[..80]).unwrap();
        assert_eq!(header.time, 1_296_688_602 + 600 * last);
        assert_eq!(hash_in_row(&rows(date)), header.block_hash().to_string(), "{date}");
        assert_eq!(rows(date), rows(&last.to_string()), "{date}");
    }
    assert!(rows("2011-02-01").is_empty());
}

/// A reorg changes what stands at a height, and a row with it.
#[test]
fn summaries_follow_a_reorg() {
    let (kernel, mut scene) = with_spends(3).unwrap();
    let server = TestServer::start(kernel.datadir());
    let (tip, old) = kernel.tip().unwrap();
    until_true("all statistics are there", || server.status().progress.statistics > tip);
    let newest = server.get_ok("/api/v1/blocks/summaries?count=1");
    assert_eq!(hash_in_row(&newest), old.to_string());
    let fork = kernel.hash_at(tip - 1).unwrap();
    let one = scene.builder.mine(fork, Vec::new(), Amount::ZERO);
    let two = scene.builder.mine(one.block_hash(), Vec::new(), Amount::ZERO);
    kernel.submit(&one).unwrap();
    kernel.submit(&two).unwrap();
    assert_eq!(kernel.tip().unwrap().1, two.block_hash());
    server.wait_for_tip(two.block_hash());
    until_true("the new blocks have rows", || {
        let rows = server.get_ok("/api/v1/blocks/summaries?count=3");
        let hashes: Vec<String> = rows.chunks(ROW_SIZE).map(hash_in_row).collect();
        hashes == [two.block_hash(), one.block_hash(), fork].map(|hash| hash.to_string())
    });
    // By its hash the old block still has its own.
    assert_eq!(hash_in_row(&row(&server, old).body), old.to_string());
}

/// The node may write a block's undo after the server has looked for it: rows that could not be made are made then, and
/// not only the few that are computed while somebody waits.
#[test]
fn rows_whose_undo_comes_late() {
    const LATE: usize = 12;
    let (kernel, _) = with_spends(3).unwrap();
    let records = Records::read(&kernel.blocks_dir(), Network::Regtest);
    let blocks = records.payloads();
    let undo_of = |blocks: &[Vec<u8>]| -> Vec<Piece> {
        blocks.iter().filter_map(|block| records.undo(block)).map(undo_piece).collect()
    };
    let (tip, first_late) = (blocks.len() - 1, blocks.len() - 1 - LATE);
    let directory = Directory::new(Network::Regtest);
    directory.write("blk", 0, &blocks.iter().cloned().map(Piece::Block).collect::<Vec<_>>());
    directory.write("rev", 0, &[undo_of(&blocks[..first_late]), undo_of(&blocks[tip..])].concat());
    let server = TestServer::start(directory.datadir());
    assert_eq!(server.tip().unwrap().hash, kernel.tip().unwrap().1, "the tip's undo connects all of its ancestors");
    until_true("all statistics have been tried", || server.status().progress.statistics as usize >= blocks.len());
    let path = format!("/api/v1/blocks/summaries?count={}", blocks.len());
    let rows = || server.get_ok(&path).len() / ROW_SIZE;
    assert_eq!(rows(), blocks.len() - LATE);
    directory.append("rev", 0, &undo_of(&blocks[first_late..tip]));
    until_true("all rows are there", || rows() == blocks.len());
}

fn hash_in_row(row: &[u8]) -> String {
    deserialize::<bitcoin::BlockHash>(&row[..32]).unwrap().to_string()
}
