//! Single transactions with what they spend: put together by the table of `shared/README.md` from the blocks and the
//! undo records that the kernel wrote.

use bitcoin::consensus::{deserialize, serialize};
use bitcoin::{Block, Network, VarInt};
use hindsight_shared::api::ErrorBody;
use hindsight_tests::core_files::{Records, age};
use hindsight_tests::kernel_chain::KernelChain;
use hindsight_tests::scenes::{rich, with_spends};
use hindsight_tests::test_server::TestServer;
use hindsight_tests::wait::until_true;

const IMMUTABLE: &str = "public, max-age=31536000, immutable";
const HEAD: usize = 64;

#[test]
fn every_transaction_by_its_place_and_by_its_id() {
    let kernel = KernelChain::new().unwrap();
    kernel.extend(&rich().blocks).unwrap();
    let server = TestServer::start(kernel.datadir());
    let records = Records::read(&kernel.blocks_dir(), Network::Regtest);
    let (tip, _) = kernel.tip().unwrap();
    let mut asked = 0;
    for height in 0..=tip {
        let hash = kernel.hash_at(height).unwrap();
        let bytes = kernel.block(hash).unwrap();
        let block: Block = deserialize(&bytes).unwrap();
        let mut undo = Vec::new();
        for (index, tx) in block.txdata.iter().enumerate() {
            let txid = tx.compute_txid();
            let answer = server.get(&format!("/api/v1/block/{hash}/tx/{index}"));
            assert_eq!((answer.status, answer.header("cache-control")), (200, Some(IMMUTABLE)));
            assert_eq!(answer.header("content-type"), Some("application/vnd.hindsight.transaction"));
            let prevouts = check(&answer.body, height, index, &block, 0);
            assert_eq!(
                index > 0,
                prevouts.starts_with(&serialize(&VarInt::from(tx.input.len()))) && !prevouts.is_empty()
            );
            undo.extend_from_slice(prevouts);
            for path in [format!("{hash}/tx/{txid}"), format!("{height}/tx/{index}"), format!("{height}/tx/{txid}")] {
                let other = server.get(&format!("/api/v1/block/{path}"));
                assert_eq!((other.status, other.body == answer.body), (200, true), "{path}");
                let by_hash = path.starts_with(&hash.to_string());
                assert_eq!(other.header("cache-control"), Some(if by_hash { IMMUTABLE } else { "no-cache" }), "{path}");
                assert_eq!(other.header("etag"), answer.header("etag"));
            }
            asked += 4;
        }
        // Put together again they are the undo record that the kernel wrote, without a byte more or less.
        if height > 0 {
            let record = records.undo(&bytes).unwrap();
            let count = serialize(&VarInt::from(block.txdata.len() - 1));
            let checksum = &record.payload[record.payload.len() - 32..];
            assert_eq!([&count[..], &undo, checksum].concat(), record.payload, "height {height}");
        }
    }
    println!("{asked} answers equal");
}

/// Everything but the prevouts, which are given back.
#[track_caller]
fn check<'a>(answer: &'a [u8], height: u32, index: usize, block: &Block, absence: u8) -> &'a [u8] {
    let tx = serialize(&block.txdata[index]);
    let prevouts = &answer[HEAD..answer.len() - tx.len()];
    let head = [
        &b"HST1"[..],
        &Network::Regtest.magic().to_bytes(),
        &height.to_le_bytes(),
        &[u8::from(!prevouts.is_empty()), 0, absence, 0],
        &(index as u32).to_le_bytes(),
        &(prevouts.len() as u32).to_le_bytes(),
        &(tx.len() as u32).to_le_bytes(),
        &[0; 4],
        &serialize(&block.block_hash()),
    ];
    assert_eq!(answer[..HEAD], head.concat());
    assert_eq!(answer[HEAD + prevouts.len()..], tx);
    prevouts
}

#[test]
fn what_is_in_no_block_is_refused_with_a_sentence() {
    let (kernel, _) = with_spends(1).unwrap();
    let server = TestServer::start(kernel.datadir());
    let (tip, hash) = kernel.tip().unwrap();
    let refuses = |path: &str, status: u16, sentence: &str| {
        let response = server.get(&format!("/api/v1/block/{path}"));
        assert_eq!(response.status, status, "{path}: {}", response.text());
        assert_eq!(response.header("content-type"), Some("application/json"), "{path}");
        assert_eq!(response.header("cache-control"), Some("no-store"), "{path}");
        let error = response.json::<ErrorBody>().error;
        assert!(error.contains(sentence), "{path}: {error}");
    };
    let neither = "is neither a place in a block nor a txid (64 hex digits)";
    for tx in ["x", "-1", "+1", "1.0", "0x1", "%20", "18446744073709551616", &"z".repeat(64), &"a".repeat(63), "1e3"] {
        refuses(&format!("{tip}/tx/{tx}"), 400, neither);
    }
    for tx in ["2", "4294967296", "18446744073709551615"] {
        refuses(&format!("{tip}/tx/{tx}"), 404, &format!("holds no transaction number {tx}"));
    }
    let other = "07".repeat(32);
    refuses(&format!("{hash}/tx/{other}"), 404, &format!("block {hash} holds no transaction {other}"));
    // A block's own hash is no txid of it.
    refuses(&format!("{hash}/tx/{hash}"), 404, "holds no transaction");
    refuses("x/tx/0", 400, "is neither a block height");
    refuses(&format!("{}/tx/0", tip + 1), 404, "is in none of the block files");
    refuses(&format!("{other}/tx/0"), 404, "is in none of the block files");
    refuses(&format!("{hash}/tx/0/1"), 404, "there is no");
    refuses(&format!("{hash}/tx/"), 404, "there is no");
    let upper = server.get_ok(&format!("/api/v1/block/{hash}/tx/{}", txid(&kernel, 1).to_uppercase()));
    assert_eq!(upper, server.get_ok(&format!("/api/v1/block/{tip}/tx/01")));
}

fn txid(kernel: &KernelChain, index: usize) -> String {
    let bytes = kernel.block(kernel.tip().unwrap().1).unwrap();
    deserialize::<Block>(&bytes).unwrap().txdata[index].compute_txid().to_string()
}

/// A stale block's transactions are there, and the answer says why what they spend is not.
#[test]
fn a_block_that_was_never_connected_has_transactions_without_prevouts() {
    let (kernel, mut scene) = with_spends(2).unwrap();
    let server = TestServer::start(kernel.datadir());
    let (tip, _) = kernel.tip().unwrap();
    let stale = scene.spend_on(kernel.hash_at(tip - 1).unwrap());
    kernel.submit(&stale).unwrap();
    let path = format!("/api/v1/block/{}/tx", stale.block_hash());
    // Undo of a block that was written just now might be still to come.
    age(&kernel.blocks_dir());
    until_true("it is certain that there is no undo", || {
        let answer = server.get(&format!("{path}/1"));
        answer.status == 200 && answer.body[14] == 2
    });
    for (index, absence, caching) in [(0, 0, IMMUTABLE), (1, 2, "no-cache")] {
        let answer = server.get(&format!("{path}/{index}"));
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert!(check(&answer.body, tip, index, &stale, absence).is_empty());
        assert_eq!(answer.header("cache-control"), Some(caching), "{index}");
    }
}
