//! The showcase chain that the program carries: what it promises is there, and everything served of it is right.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::{Block, Network, Script, Weight};
use hindsight_shared::stats::miner;
use hindsight_tests::core_files::{Records, hash_of};
use hindsight_tests::fixtures;
use hindsight_tests::judge::{Compared, Expected, compare};
use hindsight_tests::replay::replay;
use hindsight_tests::showcase::{FULL, TIP, TIP_TIME};
use hindsight_tests::test_server::TestServer;

/// Best chain first to last, and the blocks that are not in it.
fn chain() -> (Vec<Expected>, Vec<Vec<u8>>) {
    let records = Records::read(&fixtures::showcase().blocks_dir(), Network::Regtest);
    let by_hash: BTreeMap<_, _> =
        records.blocks.into_iter().map(|record| (hash_of(&record.payload), record.payload)).collect();
    let parent = |bytes: &[u8]| bitcoin::consensus::deserialize::<bitcoin::block::Header>(&bytes[..80]).unwrap();
    let tips = by_hash.keys().filter(|hash| by_hash.values().all(|other| parent(other).prev_blockhash != **hash));
    let lines = tips.map(|tip| {
        let line = std::iter::successors(by_hash.get(tip), |bytes| by_hash.get(&parent(bytes).prev_blockhash));
        line.cloned().collect::<Vec<_>>()
    });
    let mut best = lines.max_by_key(Vec::len).unwrap();
    best.reverse();
    let stale = by_hash.into_values().filter(|bytes| !best.contains(bytes)).collect();
    (replay(Network::Regtest, best), stale)
}

/// A script's kind, as the `bitcoin` crate sees it.
fn kind(script: &Script) -> &'static str {
    let key = script.p2pk_public_key();
    match () {
        () if script.is_empty() => "empty",
        () if script.is_op_return() => "op_return",
        () if script.is_p2pkh() => "p2pkh",
        () if script.is_p2sh() => "p2sh",
        () if script.is_p2wpkh() => "p2wpkh",
        () if script.is_p2wsh() => "p2wsh",
        () if script.is_p2tr() => "p2tr",
        () if key.is_some_and(|key| key.compressed) => "p2pk compressed",
        () if key.is_some() => "p2pk",
        () if script.is_multisig() => "multisig",
        () if script.as_bytes() == [0x51, 2, 0x4e, 0x73] => "p2a",
        () if script.is_witness_program() => "unknown witness",
        () => "nonstandard",
    }
}

fn block(expected: &Expected) -> Block {
    bitcoin::consensus::deserialize(&expected.bytes).unwrap()
}

#[test]
fn everything_that_is_served_of_it_is_right() {
    let fixture = fixtures::showcase();
    let (best, stale) = chain();
    let server = TestServer::start(&fixture.datadir());
    let tip = server.tip().unwrap();
    assert_eq!((tip.height.unwrap().0, tip.time, best.len()), (TIP, TIP_TIME, TIP as usize + 1));
    assert_eq!(tip.hash, hash_of(&best.last().unwrap().bytes));
    let mut compared = Compared::default();
    best.iter().for_each(|expected| compared.add(compare(&server, expected)));
    assert_eq!(stale.len(), 3);
    for bytes in stale {
        let facts = server.facts(hash_of(&bytes));
        assert!(!facts.best_chain, "{}", facts.hash);
    }
    println!("{compared:?}");
}

#[test]
fn its_last_blocks_look_like_those_of_mainnet() {
    let (best, _) = chain();
    for expected in best.iter().rev().take(FULL as usize) {
        let block = block(expected);
        let (txs, weight) = (block.txdata.len(), block.weight());
        assert!((3_000..6_000).contains(&txs), "{txs} transactions at {}", expected.height);
        assert!(weight > Weight::from_wu(3_950_000), "{weight} at {}", expected.height);
    }
    // Every miner is invented: no real pool's tag is found.
    let miner = |block: &Expected| miner::name(self::block(block).txdata[0].input[0].script_sig.as_bytes());
    assert_eq!(best.iter().find_map(miner), None);
    let empty = |block: &&Expected| block.height + 20 > TIP && self::block(block).txdata.len() == 1;
    assert_eq!(best.iter().filter(empty).count(), 1);
}

#[test]
fn it_shows_every_kind_of_script_and_of_transaction() {
    let (best, _) = chain();
    let (mut made, mut spent) = (BTreeMap::<_, u32>::new(), BTreeMap::<_, u32>::new());
    // In millisatoshis a virtual byte.
    let (mut lowest, mut highest, mut in_block_parents) = (u64::MAX, 0, 0);
    let (mut annexes, mut script_paths, mut most_in, mut most_out, mut versions) = (0, 0, 0, 0, BTreeSet::new());
    for expected in &best[best.len() - FULL as usize..] {
        let block = block(expected);
        let txids: BTreeSet<_> = block.txdata.iter().map(|tx| tx.compute_txid()).collect();
        for (tx, coins) in block.txdata[1..].iter().zip(&expected.spent) {
            tx.output.iter().for_each(|output| *made.entry(kind(&output.script_pubkey)).or_default() += 1);
            coins.iter().for_each(|coin| *spent.entry(kind(&coin.output.script_pubkey)).or_default() += 1);
            for (input, coin) in tx.input.iter().zip(coins).filter(|(_, coin)| coin.output.script_pubkey.is_p2tr()) {
                annexes += u32::from(input.witness.taproot_annex().is_some());
                script_paths += u32::from(input.witness.taproot_control_block().is_some());
                assert_eq!(coin.output.script_pubkey.len(), 34);
            }
            (most_in, most_out) = (most_in.max(tx.input.len()), most_out.max(tx.output.len()));
            versions.insert(tx.version.0);
            let is_child = tx.input.iter().any(|input| txids.contains(&input.previous_output.txid));
            in_block_parents += u32::from(is_child);
            let value = |outputs: Vec<bitcoin::Amount>| outputs.into_iter().map(|value| value.to_sat()).sum::<u64>();
            let paid = value(coins.iter().map(|coin| coin.output.value).collect())
                - value(tx.output.iter().map(|output| output.value).collect());
            let rate = paid * 4_000 / tx.weight().to_wu();
            highest = highest.max(rate);
            if paid > 0 {
                lowest = lowest.min(rate);
            }
        }
    }
    println!("made {made:?}, spent {spent:?}, {annexes} annexes, {script_paths} script paths");
    println!("{lowest} to {highest} msat/vB, {in_block_parents} children, {most_in} inputs, {most_out} outputs");
    let all = ["multisig", "nonstandard", "p2a", "p2pk", "p2pk compressed", "p2pkh", "p2sh", "p2tr", "p2wpkh", "p2wsh"];
    for kind in all {
        assert!(made.get(kind).is_some_and(|count| *count > 0), "no output is {kind}: {made:?}");
        assert!(spent.get(kind).is_some_and(|count| *count > 0), "no input spends {kind}: {spent:?}");
    }
    assert!(made["op_return"] > 500 && made["p2wpkh"] > 10_000 && made["p2tr"] > 5_000, "{made:?}");
    assert!(annexes > 0 && script_paths > 100, "{annexes} {script_paths}");
    assert!(lowest < 210 && (450_000..505_000).contains(&highest), "{lowest} {highest}");
    assert!(in_block_parents > 500 && most_in > 200 && most_out > 900, "{in_block_parents} {most_in} {most_out}");
    assert_eq!(versions, BTreeSet::from([1, 2, 3]));
}
