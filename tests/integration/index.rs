//! The index of transactions and addresses, held against a plain reading of the blocks: on everything that Core's kernel
//! has written here, after reorgs and restarts.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use hindsight_tests::core_files::Records;
use hindsight_tests::fixtures;
use hindsight_tests::kernel_chain::KernelChain;
use hindsight_tests::ledger::Ledger;
use hindsight_tests::oddities;
use hindsight_tests::replay::in_order;
use hindsight_tests::scenes::Scene;
use hindsight_tests::test_server::{Setup, TestServer, refused};

/// The best chain of a kernel, from genesis on.
fn chain_of(kernel: &KernelChain) -> Vec<Vec<u8>> {
    let (height, _) = kernel.tip().unwrap();
    (0..=height).map(|height| kernel.block(kernel.hash_at(height).unwrap()).unwrap()).collect()
}

/// A node with the blocks of a scene, and its server.
fn served(scene: &Scene) -> (KernelChain, TestServer) {
    let kernel = KernelChain::new().unwrap();
    kernel.extend(&scene.blocks).unwrap();
    let server = TestServer::start(kernel.datadir());
    (kernel, server)
}

#[test]
fn scripts_of_every_shape_their_histories_and_spenders() {
    let mut scene = oddities::ground();
    oddities::scripts(&mut scene);
    oddities::locktimes(&mut scene);
    oddities::family_line(&mut scene, 25);
    oddities::fan(&mut scene, 1_200);
    let (kernel, server) = served(&scene);
    let compared = Ledger::of(&chain_of(&kernel)).compare(&server, 1);
    println!("{compared:?}");
    assert!(compared.transactions > 100 && compared.fates > 1_200 && compared.scripts > 20, "{compared:?}");
}

#[test]
fn the_demo_chains() {
    for (fixture, network, step) in
        [(fixtures::testnet3(), bitcoin::Network::Testnet, 5), (fixtures::showcase(), bitcoin::Network::Regtest, 97)]
    {
        let blocks = in_order(Records::read(&fixture.blocks_dir(), network).payloads());
        let server = TestServer::start(&fixture.datadir());
        println!("{:?}", Ledger::of(&blocks).compare(&server, step));
    }
}

#[test]
fn after_reorgs_and_restarts() {
    let mut scene = oddities::ground();
    let kernel = KernelChain::new().unwrap();
    kernel.extend(&scene.blocks).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let setup = Setup::new(kernel.datadir()).index_dir(dir.path());
    let mut server = setup.clone().start().unwrap();
    let fork = scene.tip();
    for depth in [1, 2, 6] {
        let mut tip = fork;
        for _ in 0..depth {
            let block = scene.spend_on(tip);
            tip = block.block_hash();
            kernel.submit(&block).unwrap();
        }
        assert_eq!(kernel.tip().unwrap().1, tip);
        let ledger = Ledger::of(&chain_of(&kernel));
        ledger.compare(&server, 1);
        drop(server);
        server = setup.clone().start().unwrap();
        ledger.compare(&server, 5);
    }
}

#[test]
fn sums_that_are_asked_for_all_the_while() {
    let mut scene = oddities::ground();
    let (kernel, server) = served(&scene);
    let script = &scene.blocks.last().unwrap().txdata[0].output[0].script_pubkey;
    let sums = format!("/api/v1/address/{}", script.to_hex_string());
    let (mut tip, done) = (scene.tip(), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                server.get_ok(&sums);
            }
        });
        for _ in 0..12 {
            let block = scene.spend_on(tip);
            tip = block.block_hash();
            kernel.submit(&block).unwrap();
            server.wait_for_tip(tip);
        }
        done.store(true, Ordering::Relaxed);
    });
    Ledger::of(&chain_of(&kernel)).compare(&server, 1);
}

#[test]
fn what_is_not_there_and_what_is_no_question() {
    let scene = oddities::ground();
    let (kernel, server) = served(&scene);
    Ledger::of(&chain_of(&kernel)).wait_until_indexed(&server);
    let nowhere = "ab".repeat(32);
    refused(&server.get(&format!("/api/v1/tx/{nowhere}")), 404, "is in none of the");
    refused(&server.get("/api/v1/tx/abc"), 400, "txid");
    refused(&server.get(&format!("/api/v1/outpoint/{nowhere}")), 400, "outpoint");
    refused(&server.get("/api/v1/address/bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"), 400, "not one of regtest");
    refused(&server.get("/api/v1/address/nobody"), 400, "neither an address");
    refused(&server.get("/api/v1/address/51/history?before=x"), 400, "no place in the chain");
    refused(&server.get("/api/v1/address/51/history?count=0"), 400, "count");
    assert!(server.get_ok("/api/v1/address/0014aabb/history").is_empty());
}
