//! Inputs that other explorers got wrong, from their public reports, rebuilt: each with the answer that it should have had.

use std::fs;

use bitcoin::block::Header;
use bitcoin::consensus::{deserialize, serialize};
use bitcoin::hashes::{Hash, sha256d};
use bitcoin::hex::FromHex;
use bitcoin::opcodes::Opcode;
use bitcoin::{Amount, Block, Network, OutPoint, Script, ScriptBuf, Transaction};
use hindsight_shared::block::BlockView;
use hindsight_shared::payload::{Absence, Payload};
use hindsight_shared::script::{ScriptKind, asm, is_unspendable, text};
use hindsight_shared::search::{BlockId, Term, parse_search};
use hindsight_shared::stats::content::tapscript;
use hindsight_shared::stats::row::Summary;
use hindsight_shared::tx_payload::TxPayload;
use hindsight_shared::{DecodeError, Height};
use hindsight_tests::chain_builder::{Coin, share, subsidy, work};
use hindsight_tests::core_files::{Directory, Piece, Records, block_pieces, hash_of};
use hindsight_tests::differential::Differential;
use hindsight_tests::locks::{Lock, op_return};
use hindsight_tests::oddities::{self, output, pay};
use hindsight_tests::scenes::{Scene, with_spends};
use hindsight_tests::test_server::TestServer;
use serde_json::Value;

const GENESIS_COINBASE: &str = "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b";

/// A chain whose last block holds these transactions, compared in everything, and a server of it.
#[track_caller]
fn with_block(txs: impl Fn(&mut Scene) -> Vec<Vec<Transaction>>) -> (Differential, Scene) {
    let mut scene = oddities::ground();
    let mut both = Differential::regtest();
    both.submit_at_once(&scene.blocks);
    for txs in txs(&mut scene) {
        // What is not claimed is burnt: these tests are not about it.
        let block = scene.builder.mine(scene.tip(), txs, Amount::ZERO);
        both.submit(std::slice::from_ref(&block));
        scene.blocks.push(block);
    }
    (both, scene)
}

fn stats(server: &TestServer, id: impl std::fmt::Display) -> Value {
    let answer = server.get(&format!("/api/v1/block/{id}/stats"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

/// mempool/mempool PR#1156, bitcoin/bitcoin#12057: fees were coinbase − subsidy, −12.5 BTC in block 501,726.
#[test]
fn a_coinbase_that_claims_nothing() {
    let (mut both, mut scene) = with_block(|_| Vec::new());
    for paid in [0, 4_321] {
        let (tx, _) = share(&[scene.take_coinbase()], &[Lock::Wpkh], Amount::from_sat(paid));
        let txs = if paid > 0 { vec![tx] } else { Vec::new() };
        let block = scene.builder.mine_claiming(scene.tip(), txs, Amount::ZERO);
        both.submit(std::slice::from_ref(&block));
        scene.blocks.push(block);
        let stats = stats(both.server(), scene.tip());
        let subsidy = subsidy(scene.blocks.len() as u32).to_sat();
        assert_eq!(stats["core"]["totalfee"], paid);
        assert_eq!(stats["content"]["coinbase"]["claimed"], 0);
        assert_eq!(stats["content"]["coinbase"]["unclaimed"], subsidy + paid);
    }
}

/// Blockstream/esplora#186, romanz/electrs#928: of two blocks with the same coinbase one was shown. Regtest's rules allow
/// no such blocks, so these files are hand-made.
#[test]
fn two_blocks_with_the_same_coinbase() {
    let mut scene = Scene::empty(6);
    let mut blocks = scene.blocks.split_off(0);
    let first = blocks[1].txdata[0].clone();
    for at in 4..blocks.len() {
        blocks[at].header.prev_blockhash = blocks[at - 1].block_hash();
        if at == 4 {
            blocks[at].txdata[0] = first.clone();
        }
        work(&mut blocks[at]);
    }
    let directory = Directory::new(Network::Regtest);
    let genesis = bitcoin::blockdata::constants::genesis_block(Network::Regtest);
    directory.write("blk", 0, &block_pieces(std::iter::once(&genesis).chain(&blocks)));
    directory.write("rev", 0, &blocks.iter().map(undo_of_nothing).collect::<Vec<_>>());
    let server = TestServer::start(directory.datadir());
    assert_eq!(server.tip().unwrap().hash, blocks[5].block_hash());
    let txid = first.compute_txid();
    for height in [2_u32, 5] {
        let block = &blocks[height as usize - 1];
        assert_eq!(server.facts(height).hash, block.block_hash());
        let answer = server.get_ok(&format!("/api/v1/block/{height}/tx/{txid}"));
        let tx = TxPayload::decode(&answer).unwrap();
        assert_eq!((tx.height, tx.block), (Some(Height(height)), block.block_hash()));
        assert_eq!(server.payload(height)[32 + 33..], serialize(block));
    }
    assert_eq!(server.get(&format!("/api/v1/block/4/tx/{txid}")).status, 404);
}

/// The undo record of a block with nothing but its coinbase.
fn undo_of_nothing(block: &Block) -> Piece {
    let sum = sha256d::Hash::hash(&[&serialize(&block.header.prev_blockhash)[..], &[0]].concat());
    Piece::Undo([&[0][..], sum.as_byte_array()].concat())
}

/// Mainnet's block 91,842 repeats the coinbase of 91,812, whose coin it overwrote (Core's `IsBIP30Repeat`): one output, and
/// none more in the set. Its hash says that these are its bytes.
#[test]
fn a_bip30_repeat_adds_nothing_to_the_utxo_set() {
    let header = "0100000020114beba985ecbf1351bf5f4d5495105dc2ca94f5bdbcac921e0a00000000009985d82954e10f2233a08905dc7b490eb4\
                  44660c8759e324c7dfa3d28779d2d5f34ee04c56720e1b021838e1";
    let coinbase = "01000000010000000000000000000000000000000000000000000000000000000000000000ffffffff060456720e1b00ffffffff01\
                    00f2052a010000004341046896ecfc449cb8560594eb7f413f199deb9b4e5d947a142e7dc7d2de0b811b8e204833ea2a2fd9d4c7\
                    b153a8ca7661d0a0b7fc981df1f42f55d64b26b3da1e9cac00000000";
    let bytes = Vec::<u8>::from_hex(&format!("{header}01{coinbase}")).unwrap();
    let block: Block = deserialize(&bytes).unwrap();
    assert_eq!(block.block_hash().to_string(), "00000000000a4d0a398161ffc163c503763b1f4360639393e0e4c8e300e0caec");
    let repeated = "d5d27987d2a3dfc724e359870c6644b40e497bdc0589a033220fe15429d88599";
    assert_eq!(block.txdata[0].compute_txid().to_string(), repeated);
    let increases = |height| -> Result<(i64, i64), DecodeError> {
        let summary = Summary::compute(Network::Bitcoin, Height(height), &BlockView::parse(&bytes)?, None)?;
        Ok((summary.core.utxo.increase(), summary.core.utxo.increase_actual()))
    };
    assert_eq!(increases(91_842).unwrap(), (1, 0));
    // At any other height it would be no repeat.
    assert_eq!(increases(91_843).unwrap(), (1, 1));
}

/// trezor/blockbook#624, ordinals/ord#409, bitcoin/bitcoin#3303: genesis opened and its coinbase did not.
#[test]
fn the_coinbase_of_genesis() {
    let (kernel, _) = with_spends(1).unwrap();
    let server = TestServer::start(kernel.datadir());
    let genesis = kernel.hash_at(0).unwrap();
    for id in ["0".to_owned(), genesis.to_string()] {
        let answer = server.get_ok(&format!("/api/v1/block/{id}/tx/{GENESIS_COINBASE}"));
        let (tx, prevouts) = TxPayload::decode(&answer).unwrap().view().unwrap();
        assert_eq!((tx.txid().to_string(), prevouts.is_none()), (GENESIS_COINBASE.to_owned(), true));
        let payload = server.payload(id);
        assert_eq!(Payload::decode(&payload).unwrap().absence, Some(Absence::Genesis));
    }
    assert_eq!(stats(&server, 0)["core"]["utxo_increase_actual"], 0);
}

/// mempool/mempool PR#3932, bitcoin/bitcoin#6787: the hash of a stale block gave the best chain's block of that height.
#[test]
fn a_stale_block_by_its_hash() {
    let (kernel, mut scene) = with_spends(3).unwrap();
    let server = TestServer::start(kernel.datadir());
    let stale = scene.blocks.last().unwrap().clone();
    let parent = stale.header.prev_blockhash;
    let new = scene.builder.mine_empty(parent, 2);
    kernel.extend(&new).unwrap();
    server.wait_for_tip(new[1].block_hash());
    let hash = stale.block_hash();
    let facts = server.facts(hash);
    assert_eq!((facts.hash, facts.best_chain, facts.confirmations), (hash, false, 0));
    assert_eq!(server.get_ok(&format!("/rest/block/{hash}.bin")), serialize(&stale));
    let payload = server.payload(hash);
    assert_eq!(Payload::decode(&payload).unwrap().block, serialize(&stale));
    assert_eq!(server.facts(scene.blocks.len()).hash, new[0].block_hash());
    // Its transaction is that block's, and in no other.
    let txid = stale.txdata[1].compute_txid();
    assert_eq!(server.get(&format!("/api/v1/block/{hash}/tx/{txid}")).status, 200);
    assert_eq!(server.get(&format!("/api/v1/block/{}/tx/{txid}", new[0].block_hash())).status, 404);
}

/// Blockstream/electrs, seen in 0xB10C/fork-observer#111: a start that is no height gave the tip's list.
#[test]
fn a_list_that_starts_nowhere() {
    let (kernel, _) = with_spends(1).unwrap();
    let server = TestServer::start(kernel.datadir());
    for path in ["blocks?from=stale", "blocks/summaries?from=stale", "block/stale", "blocks/stale/5/payload"] {
        assert_eq!(server.get(&format!("/api/v1/{path}")).status, 400, "{path}");
    }
}

/// mempool/mempool#5971, #5104: rates below 1 sat/vB were missing, or 0, or 1. Core truncates to 0; the exact rate is kept.
#[test]
fn fee_rates_below_one() {
    let (both, scene) = with_block(|scene| {
        let fees = [1, 11, 30, 59];
        vec![fees.map(|fee| share(&[scene.take_coinbase()], &[Lock::Wpkh], Amount::from_sat(fee)).0).to_vec()]
    });
    let block = scene.blocks.last().unwrap();
    let stats = stats(both.server(), scene.tip());
    assert_eq!((&stats["core"]["maxfeerate"], &stats["core"]["totalfee"]), (&0.into(), &101.into()));
    let weights: Vec<u64> = block.txdata[1..].iter().map(|tx| tx.weight().to_wu()).collect();
    let lowest = weights.iter().zip([1, 11, 30, 59]).min_by_key(|&(weight, fee)| fee * 1_000_000 / weight).unwrap();
    let exact = &stats["exact"]["by_transaction"]["min"];
    assert_eq!((exact["fee"].as_u64().unwrap(), exact["weight"].as_u64().unwrap()), (lowest.1, *lowest.0));
}

/// mempool/mempool#2672: 69,420 outputs of one transaction; RCasatta/fbbe's test cases: 13,107 outputs, and most inputs.
#[test]
fn a_transaction_with_69420_outputs_and_one_with_13107_inputs() {
    let (both, scene) = with_block(|scene| {
        let outputs = (0..69_420).map(|number| output(Lock::True.script(), number)).collect();
        let many = pay(&scene.take_coinbase(), outputs, Amount::ZERO);
        let txid = many.compute_txid();
        let coin = |vout: u32| Coin {
            outpoint: OutPoint { txid, vout },
            value: many.output[vout as usize].value,
            lock: Lock::True,
        };
        let coins: Vec<Coin> = (0..13_107).map(coin).collect();
        let back = share(&coins, &[Lock::Pkh], Amount::ZERO).0;
        vec![vec![many], vec![back]]
    });
    let [many, back] = [2, 1].map(|back| scene.blocks.len() - back).map(|at| &scene.blocks[at]);
    for (block, inputs, outputs) in [(many, 1, 69_420), (back, 13_107, 1)] {
        let answer = both.server().get_ok(&format!("/api/v1/block/{}/tx/1", block.block_hash()));
        let (tx, prevouts) = TxPayload::decode(&answer).unwrap().view().unwrap();
        assert_eq!((tx.input_count(), tx.output_count(), tx.outputs().count()), (inputs, outputs, outputs));
        assert_eq!(prevouts.unwrap().count(), inputs);
    }
}

/// Blockstream/esplora#131: outputs of nothing crashed the page.
#[test]
fn outputs_of_nothing() {
    let (both, scene) = with_block(|scene| {
        let nothing = || output(Lock::True.script(), 0);
        let tx = pay(&scene.take_coinbase(), vec![nothing(), nothing(), nothing()], Amount::ZERO);
        let coin =
            Coin { outpoint: OutPoint { txid: tx.compute_txid(), vout: 1 }, value: Amount::ZERO, lock: Lock::True };
        let spend = share(&[coin], &[Lock::True], Amount::ZERO).0;
        vec![vec![tx, spend]]
    });
    let stats = stats(both.server(), scene.tip());
    assert_eq!(stats["content"]["spent"]["nonstandard"]["value"], 0);
    assert_eq!(stats["exact"]["by_transaction"]["max"]["fee"], 0);
}

/// bitcoin/bitcoin#11561, PR#12430, PR#16525: version 2,591,798,512 was shown as −1,703,168,784.
#[test]
fn a_version_beyond_31_bits() {
    let (both, scene) = with_block(|scene| {
        let (mut tx, _) = share(&[scene.take_coinbase()], &[Lock::True], Amount::ZERO);
        // Signed anew: the version is part of what is signed.
        tx.version = bitcoin::transaction::Version(-1_703_168_784);
        vec![vec![resigned(tx, scene)]]
    });
    let answer = both.server().get_ok(&format!("/api/v1/block/{}/tx/1", scene.tip()));
    let (tx, _) = TxPayload::decode(&answer).unwrap().view().unwrap();
    assert_eq!(tx.version(), 2_591_798_512);
}

/// The same transaction with a signature that fits it.
fn resigned(mut tx: Transaction, scene: &Scene) -> Transaction {
    let block = scene.blocks.iter().find(|block| block.txdata[0].compute_txid() == tx.input[0].previous_output.txid);
    let spent = block.unwrap().txdata[0].output[0].clone();
    let lock = Lock::ALL.into_iter().find(|lock| lock.script() == spent.script_pubkey).unwrap();
    lock.unlock(&mut tx, 0, &[spent]);
    tx
}

/// mempool/mempool#1210, PR#1500: opcodes 0x4f to 0xff were named wrongly ("OP_PUSHNUM_2DROP", −1 as a push).
#[test]
fn every_opcode_is_a_word_of_its_own() {
    let bytes: Vec<u8> = [0].into_iter().chain(0x4f..=0xff).collect();
    let asm = asm(Script::from_bytes(&bytes));
    let words: Vec<&str> = asm.split(' ').collect();
    assert_eq!(words.len(), bytes.len());
    assert_eq!(words[..4], ["OP_0", "OP_PUSHNUM_NEG1", "OP_RESERVED", "OP_PUSHNUM_1"]);
    for (byte, word) in bytes.iter().zip(words).skip(1) {
        assert_eq!(word, Opcode::from(*byte).to_string());
    }
    assert!(asm.contains(" OP_2DROP ") && !asm.contains("PUSHNUM_2D"));
}

/// mempool/mempool#1260: a push of 36 bytes was shown as one of 4; bitpay/bitcore PR#188: a push that announces 117 bytes
/// and has 75 threw; and what can never be spent was shown as unspent.
#[test]
fn pushes_that_are_long_or_cut_short() {
    let script = |text: &str| ScriptBuf::from_hex(text).unwrap();
    let data = "ab".repeat(36);
    assert_eq!(asm(&script(&format!("24{data}"))), format!("OP_PUSHBYTES_36 {data}"));
    assert_eq!(asm(&script(&format!("4c75{}", "bb".repeat(75)))), "OP_PUSHDATA1 <push past end>");
    assert!(is_unspendable(&script(&format!("6a24{data}"))));
    assert!(!is_unspendable(&script(&format!("24{data}"))));
}

/// mempool/mempool#368, openscan-explorer/explorer PR#303, 1Hyena/cryptograffiti#70: text in OP_RETURN.
#[test]
fn text_in_op_return() {
    for words in ["☂️", "{(₿)} Bitcoin.ar en bloque 940000"] {
        assert_eq!(text(words.as_bytes()), words);
        assert!(op_return(words.as_bytes()).is_op_return());
    }
    let pieces = [&b"one "[..], &[0xff, 0xfe], "zwei ü".as_bytes(), &[0x80], "три".as_bytes(), &[0xe2, 0x98]].concat();
    let shown = text(&pieces);
    assert!(["one ", "zwei ü", "три"].iter().all(|piece| shown.contains(piece)), "{shown}");
}

/// mempool/mempool PR#5961 and others: a lone signature that starts with 0x50 was taken for an annex; and where there is
/// one, the tapscript is the third item from the end.
#[test]
fn a_signature_that_looks_like_an_annex() {
    let (both, scene) = with_block(|scene| {
        let tx = pay(&scene.take_coinbase(), vec![output(Lock::TrKey.script(), 0)], Amount::ZERO);
        let outpoint = OutPoint { txid: tx.compute_txid(), vout: 0 };
        let coin = Coin { outpoint, value: tx.output[0].value, lock: Lock::TrKey };
        let by_fee = |fee| share(std::slice::from_ref(&coin), &[Lock::TrScriptAnnex], Amount::from_sat(fee));
        let (spend, made) = (0..).map(by_fee).find(|(tx, _)| tx.input[0].witness[0][0] == 0x50).unwrap();
        let (annexed, _) = share(&made, &[Lock::Wpkh], Amount::ZERO);
        vec![vec![tx, spend, annexed]]
    });
    let block = scene.blocks.last().unwrap();
    let witness = |index: usize| block.txdata[index].input[0].witness.to_vec();
    let (lone, annexed) = (witness(2), witness(3));
    let slices =
        |witness: &[Vec<u8>]| tapscript(&witness.iter().map(Vec::as_slice).collect::<Vec<_>>()).map(Script::to_owned);
    assert_eq!((lone.len(), slices(&lone)), (1, None));
    assert_eq!((annexed.len(), annexed[3][0]), (4, 0x50));
    // A key and OP_CHECKSIG.
    assert_eq!(slices(&annexed).unwrap().as_bytes(), annexed[1]);
    assert_eq!((annexed[1].len(), annexed[1][33]), (34, 0xac));
    assert_eq!(stats(both.server(), scene.tip())["content"]["inscription_envelopes"], 0);
}

/// mempool/mempool PR#5494, #1091, PR#1745: what is a bare multisig, and what is not.
#[test]
fn what_is_no_multisig() {
    let key = format!("2102{}", "11".repeat(32));
    let kind = |text: &str| ScriptKind::of(&ScriptBuf::from_hex(text).unwrap());
    for script in [
        "0000ae".to_owned(),
        format!("{key}ad51{key}{key}{key}53ae"),
        // Either the master key or two of three.
        format!("63{key}ac6752{key}{key}{key}53ae68"),
    ] {
        assert_eq!(kind(&script), ScriptKind::Nonstandard, "{script}");
    }
    assert_eq!(kind(&format!("52{key}{key}{key}53ae")), ScriptKind::Multisig);
}

/// mempool/mempool PR#3745: txids that match the pattern of an address could not be searched for.
#[test]
fn hashes_that_look_like_addresses() {
    for hash in [
        "beef1148f71f2361f927f79de502251afeebfbdc3feb67ec164084576103ba2e",
        "eddcf1b57634c7348d969e3a49f06026d70537bd2ad84aa475fce45bb98bb239",
    ] {
        assert_eq!(parse_search(hash), Ok(Term::Block(BlockId::Hash(hash.parse().unwrap()))));
    }
}

/// gcarq/rusty-blockparser#110, RCasatta/blocks_iterator#88, Blockstream/electrs#93, bitcoin/bitcoin PR#35938: files with a
/// key, with a key of zeros, without one, and with a key that was lost.
#[test]
fn every_kind_of_xor_dat() {
    let (kernel, scene) = with_spends(2).unwrap();
    let records = Records::read(&kernel.blocks_dir(), Network::Regtest);
    let blocks: Vec<Vec<u8>> =
        (0..=scene.blocks.len() as u32).map(|height| kernel.block(kernel.hash_at(height).unwrap()).unwrap()).collect();
    for (key, kept) in [([7; 8], true), ([0; 8], true), ([0; 8], false)] {
        let mut directory = Directory::new(Network::Regtest);
        directory.set_key(key);
        directory.write_pair(0, &blocks, &records);
        if !kept {
            fs::remove_file(directory.blocks_dir().join("xor.dat")).unwrap();
        }
        let server = TestServer::start(directory.datadir());
        assert_eq!(server.tip().unwrap().hash, scene.tip());
        let undo = server.get(&format!("/rest/spenttxouts/{}.bin", scene.tip()));
        assert_eq!(undo.status, 200);
    }
    // A lost key is said, and nothing is made up.
    let directory = Directory::new(Network::Regtest);
    directory.write_pair(0, &blocks, &records);
    fs::remove_file(directory.blocks_dir().join("xor.dat")).unwrap();
    let error = hindsight_tests::test_server::Setup::new(directory.datadir()).start().err().unwrap().to_string();
    assert!(error.contains("xor.dat"), "{error}");
}

/// alecalve/python-bitcoin-blockchain-parser#50, Congyuwang/Rusty-Bitcoin-Explorer#26: a start beside a running node failed
/// on LevelDB's lock.
#[test]
fn a_node_that_holds_its_locks() {
    let (kernel, mut scene) = with_spends(1).unwrap();
    assert!(kernel.blocks_dir().join("index/LOCK").exists());
    let server = TestServer::start(kernel.datadir());
    assert_eq!(server.tip().unwrap().hash, scene.tip());
    // And the node is not kept from anything.
    kernel.submit(&scene.grow_by_a_spend()).unwrap();
    server.wait_for_tip(scene.tip());
}

/// janoside/btc-rpc-explorer PR#279: of a pruned block the header is there, and the rest is said to be gone.
#[test]
fn a_pruned_block_has_its_header() {
    let (kernel, scene) = with_spends(2).unwrap();
    let records = Records::read(&kernel.blocks_dir(), Network::Regtest);
    let blocks = records.payloads();
    let directory = Directory::new(Network::Regtest);
    directory.write_pair(0, &blocks[..50], &records);
    directory.write_pair(1, &blocks[50..], &records);
    let server = TestServer::start(directory.datadir());
    fs::remove_file(directory.path("blk", 0)).unwrap();
    fs::remove_file(directory.path("rev", 0)).unwrap();
    let hash = hash_of(&blocks[20]);
    let path = format!("/api/v1/block/{hash}/payload");
    hindsight_tests::wait::until_true("the file is known to be gone", || server.get(&path).status == 410);
    assert!(server.get(&path).text().contains("pruned"));
    let header: Header = deserialize(&blocks[20][..80]).unwrap();
    let facts = server.facts(hash);
    assert_eq!((facts.hash, facts.time, facts.previous), (hash, header.time, header.prev_blockhash));
    assert_eq!(server.get_ok(&format!("/rest/headers/{hash}.bin?count=1")), serialize(&header));
    assert_eq!(server.tip().unwrap().hash, scene.tip());
}
