//! Directories without all their blocks: single blocks without parents, pruned nodes, the gap of an assumeutxo node.

use std::fs;

use bitcoin::consensus::serialize;
use bitcoin::{Amount, Block, Network};
use hindsight_shared::Height;
use hindsight_shared::api::{HeightFrom, HeightRange};
use hindsight_shared::bytes::Reader;
use hindsight_shared::payload::{Absence, Payload, Prevouts};
use hindsight_shared::summary::rows;
use hindsight_shared::verify::{Outcome, Subject, verify};
use hindsight_tests::chain_builder::genesis;
use hindsight_tests::core_files::{Directory, Records};
use hindsight_tests::fixtures;
use hindsight_tests::judge::spent_txouts;
use hindsight_tests::kernel_chain::KernelChain;
use hindsight_tests::scenes::{MATURITY, with_spends};
use hindsight_tests::test_server::{Setup, TestServer};
use hindsight_tests::wait::until_true;

#[test]
fn mainnet_blocks_of_all_eras() {
    let Some(eras) = fixtures::mainnet_eras() else { return };
    let expected: Vec<serde_json::Value> =
        serde_json::from_slice(&fs::read(eras.datadir().join("expected.json")).unwrap()).unwrap();
    let server = TestServer::start(&eras.datadir());
    assert_eq!(server.status().network, "main");
    for block in &expected {
        check_era(&server, block);
    }
    let heights = expected.iter().map(|block| number(block, "height") as u32);
    let singles: Vec<HeightRange> = heights
        .filter(|height| *height > 599)
        .map(|height| HeightRange { from: Height(height), to: Height(height) })
        .collect();
    let ranges = server.status().ranges;
    assert_eq!(ranges[0], HeightRange { from: Height(0), to: Height(599) });
    assert!(singles.iter().all(|single| ranges.contains(single)), "{ranges:?}");
    println!("{} blocks agree with expected.json", expected.len());
}

fn number(block: &serde_json::Value, field: &str) -> u64 {
    block[field].as_u64().unwrap()
}

#[track_caller]
fn check_era(server: &TestServer, expected: &serde_json::Value) {
    let field = |name: &str| number(expected, name);
    let hash = expected["hash"].as_str().unwrap();
    let facts = server.facts(hash);
    assert_eq!(facts.height, Some(Height(field("height") as u32)), "{hash}");
    assert_eq!((u64::from(facts.size), u64::from(facts.tx_count)), (field("size"), field("n_tx")));
    assert_eq!(u64::from(facts.time), field("time"));
    let wire = server.payload(facts.height.unwrap());
    assert_eq!(wire, server.payload(hash));
    let payload = Payload::decode(&wire).unwrap();
    let (block, prevouts) = payload.view().unwrap();
    let prevouts = prevouts.unwrap();
    let rows = rows(&block, Some(&prevouts)).unwrap();
    assert_eq!(block.hash().to_string(), hash);
    assert_eq!(block.weight().to_wu(), field("weight"));
    let sum = |of: fn(&hindsight_shared::summary::TxRow) -> u64| rows.iter().map(of).sum::<u64>();
    assert_eq!(sum(|row| u64::from(row.inputs)) - 1, field("n_in"));
    assert_eq!(sum(|row| u64::from(row.outputs)), field("n_out"));
    assert_eq!(sum(|row| row.fee.map_or(0, Amount::to_sat)), field("total_fee"));
    assert_eq!(rows[0].value.to_sat(), field("coinbase_value"));
    let created =
        (1..prevouts.tx_count()).flat_map(|index| prevouts.tx(index)).all(|prevout| prevout.created.is_some());
    assert_eq!(created, expected["undo_has_coin_heights"].as_bool().unwrap());
    for check in verify(&payload, &block, &rows, Some(block.hash())) {
        assert_ne!(check.outcome, Outcome::Failed, "{hash}: {}: {}", check.subject, check.detail);
        let must_hold =
            [Subject::BlockHash, Subject::ProofOfWork, Subject::MerkleRoot, Subject::UndoChecksum, Subject::Fees];
        assert!(!must_hold.contains(&check.subject) || check.outcome == Outcome::Passed, "{hash}: {}", check.subject);
    }
}

/// A chain of 160 blocks that the kernel wrote, cut into three pairs of files at these heights.
fn cut(at: [usize; 2]) -> (KernelChain, Directory, Vec<Vec<u8>>) {
    let (kernel, scene) = with_spends(30).unwrap();
    let records = Records::read(&kernel.blocks_dir(), Network::Regtest);
    let genesis = bitcoin::blockdata::constants::genesis_block(Network::Regtest);
    let blocks: Vec<Vec<u8>> = std::iter::once(&genesis).chain(&scene.blocks).map(serialize::<Block>).collect();
    let directory = Directory::new(Network::Regtest);
    for (number, part) in [&blocks[..at[0]], &blocks[at[0]..at[1]], &blocks[at[1]..]].into_iter().enumerate() {
        directory.write_pair(number as u32, part, &records);
    }
    (kernel, directory, blocks)
}

fn range(from: u32, to: u32) -> HeightRange {
    HeightRange { from: Height(from), to: Height(to) }
}

/// A height or hash whose body is gone is known, and says that it is gone.
#[track_caller]
fn is_pruned(server: &TestServer, block: &[u8], height: u32) {
    let hash = hindsight_tests::core_files::hash_of(block);
    let facts = server.facts(hash);
    assert_eq!(facts.height, Some(Height(height)));
    for id in [hash.to_string(), height.to_string()] {
        for what in ["payload", "stats", "tx/0"] {
            let response = server.get(&format!("/api/v1/block/{id}/{what}"));
            assert_eq!(response.status, 410, "{what}: {}", response.text());
            assert!(response.text().contains("pruned"), "{what}: {}", response.text());
        }
    }
    for name in [
        format!("block/{hash}.bin"),
        format!("block/notxdetails/{hash}.hex"),
        format!("blockpart/{hash}.bin?offset=0&size=80"),
    ] {
        let rest = server.get(&format!("/rest/{name}"));
        assert_eq!((rest.status, rest.text()), (404, format!("{hash} not available (pruned data)\r\n")), "{name}");
    }
    let rest = server.get(&format!("/rest/spenttxouts/{hash}.bin"));
    assert_eq!((rest.status, rest.text()), (404, format!("{hash} undo not available\r\n")));
    // Its header is known all the same.
    assert_eq!(server.get_ok(&format!("/rest/headers/{hash}.bin?count=1")), block[..80]);
}

#[test]
fn files_pruned_before_the_first_start() {
    let (kernel, directory, blocks) = cut([50, 120]);
    fs::remove_file(directory.path("blk", 0)).unwrap();
    fs::remove_file(directory.path("rev", 0)).unwrap();
    let server = TestServer::start(directory.datadir());
    assert_eq!(server.status().ranges, [range(50, 160)]);
    for height in [50, 119, 120, 160] {
        let facts = server.facts(height);
        assert_eq!(facts.hash, kernel.hash_at(height).unwrap());
        assert_eq!(facts.height_from, Some(HeightFrom::Bip34));
    }
    let hash = kernel.hash_at(150).unwrap();
    let spent = spent_txouts(&kernel.spent(hash).unwrap());
    assert_eq!(server.get_ok(&format!("/rest/spenttxouts/{hash}.bin")), spent);
    assert_eq!(server.get("/api/v1/block/49/payload").status, 404);
    let unknown = hindsight_tests::core_files::hash_of(&blocks[49]);
    assert_eq!(server.get(&format!("/api/v1/block/{unknown}/payload")).status, 404);
    genesis_spends_nothing(&server);
}

#[test]
fn files_pruned_while_they_are_served_and_after_a_restart() {
    let (kernel, directory, blocks) = cut([50, 120]);
    directory.age();
    let index = tempfile::tempdir().unwrap();
    let serve = || {
        let server = Setup::new(directory.datadir()).index_dir(index.path()).start().unwrap();
        server.wait_until_read();
        server
    };
    let server = serve();
    assert_eq!(server.status().ranges, [range(0, 160)]);
    let hash = kernel.hash_at(10).unwrap();
    server.payload(hash);
    drop(server);
    // So that nothing is in memory; then it goes away under the server's hands.
    let server = serve();
    fs::remove_file(directory.path("blk", 0)).unwrap();
    fs::remove_file(directory.path("rev", 0)).unwrap();
    until_true("the file is gone", || server.get("/api/v1/block/10/payload").status == 410);
    let check = |server: &TestServer| {
        for height in [1, 10, 49] {
            is_pruned(server, &blocks[height as usize], height);
        }
        assert_eq!(server.payload(50_u32), server.payload(kernel.hash_at(50).unwrap()));
        assert_eq!(server.facts(49_u32).next, Some(kernel.hash_at(50).unwrap()));
        assert_eq!(server.facts(50_u32).height_from, Some(HeightFrom::Linked));
        range_across_a_gap(server, 45, 55);
    };
    check(&server);
    genesis_spends_nothing(&server);
    drop(server);
    check(&serve());
}

/// As a pruned node says it (`0100`): that takes no file.
#[track_caller]
fn genesis_spends_nothing(server: &TestServer) {
    let path = format!("/rest/spenttxouts/{}", genesis());
    assert_eq!(server.get_ok(&format!("{path}.hex")), b"0100\n");
    assert_eq!(server.get_ok(&format!("{path}.bin")), [1, 0]);
}

/// Payloads one after another: those that are gone say so, those that are there are whole.
#[track_caller]
fn range_across_a_gap(server: &TestServer, from: u32, to: u32) {
    let bytes = server.get_ok(&format!("/api/v1/blocks/{from}/{to}/payload"));
    let mut reader = Reader::new(&bytes);
    for height in from..=to {
        let payload = Payload::read(&mut reader).unwrap();
        assert_eq!(payload.height, Some(Height(height)));
        if height < 50 {
            let gone = (payload.absence, payload.prevouts, payload.block.len());
            assert_eq!(gone, (Some(Absence::Pruned), Prevouts::Absent, 0));
        } else {
            assert_eq!(payload.encode().unwrap(), server.payload(height));
        }
    }
    reader.finish().unwrap();
}

/// Background validation has reached 79, the snapshot's chain starts at 120: both are served, the rest is a gap.
#[test]
fn an_assumeutxo_gap() {
    let (kernel, directory, blocks) = cut([80, 120]);
    fs::remove_file(directory.path("blk", 1)).unwrap();
    fs::remove_file(directory.path("rev", 1)).unwrap();
    let server = TestServer::start(directory.datadir());
    assert_eq!(server.status().ranges, [range(0, 79), range(120, 160)]);
    assert_eq!(server.tip().unwrap().hash, kernel.tip().unwrap().1);
    assert_eq!(server.facts(79_u32).height_from, Some(HeightFrom::Linked));
    assert_eq!(server.facts(120_u32).height_from, Some(HeightFrom::Bip34));
    assert_eq!(server.get("/api/v1/block/100").status, 404);
    let bytes = server.get_ok("/api/v1/blocks/78/121/payload");
    let mut reader = Reader::new(&bytes);
    for height in 78..=121 {
        let payload = Payload::read(&mut reader).unwrap();
        assert_eq!(payload.height, Some(Height(height)));
        assert_eq!(payload.block.is_empty(), (80..120).contains(&height), "{height}");
    }
    reader.finish().unwrap();
    // The gap closes, and everything is linked from genesis.
    let records = Records::read(&kernel.blocks_dir(), Network::Regtest);
    directory.write_pair(1, &blocks[80..120], &records);
    until_true("the gap has closed", || server.status().ranges == [range(0, 160)]);
    assert_eq!(server.facts(120_u32).height_from, Some(HeightFrom::Linked));
    assert_eq!(server.facts(MATURITY).hash, kernel.hash_at(MATURITY).unwrap());
}
