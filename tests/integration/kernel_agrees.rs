//! What the server says of blocks is what Core's kernel says of them: heights, tip, every prevout, every number.

use bitcoin::{Amount, Network, TxOut};
use hindsight_tests::chain_builder::{Coin, share, spend};
use hindsight_tests::core_files::Records;
use hindsight_tests::fixtures::{self, Fixture};
use hindsight_tests::judge::{Compared, Expected, compare};
use hindsight_tests::kernel_chain::KernelChain;
use hindsight_tests::locks::{Lock, op_return};
use hindsight_tests::replay::{in_order, replay};
use hindsight_tests::scenes::{MATURITY, Scene};
use hindsight_tests::test_server::TestServer;

const FEE: Amount = Amount::from_sat(777);

/// Every block of the best chain, and that it is the best chain.
#[track_caller]
fn compare_all(scene: &Scene) -> Compared {
    let kernel = KernelChain::new().unwrap();
    kernel.extend(&scene.blocks).unwrap();
    let server = TestServer::start(kernel.datadir());
    let (height, hash) = kernel.tip().unwrap();
    let tip = server.tip().unwrap();
    assert_eq!((tip.height.map(|height| height.0), tip.hash), (Some(height), hash));
    let mut compared = Compared::default();
    for height in 0..=height {
        let hash = kernel.hash_at(height).unwrap();
        assert_eq!(server.facts(height).hash, hash);
        compared.add(compare(&server, &Expected::of_kernel(&kernel, hash)));
    }
    println!("{compared:?}");
    compared
}

/// As many mature coinbases of a chain as there are kinds of scripts: one of each.
fn one_of_each(scene: &mut Scene) -> Vec<Coin> {
    Lock::ALL.iter().map(|_| scene.take_coinbase()).collect()
}

#[test]
fn coins_of_every_kind_of_script() {
    let mut scene = Scene::empty(MATURITY + Lock::ALL.len() as u32);
    let mut txs = Vec::new();
    let mut coins = Vec::new();
    // Coinbases of every kind, each spent alone and shared among all kinds …
    for coin in one_of_each(&mut scene) {
        let (tx, made) = share(&[coin], &Lock::ALL, FEE);
        txs.push(tx);
        coins.extend(made);
    }
    let fees = FEE * txs.len() as u64;
    scene.push(txs, fees);
    // … what that made spent by one transaction …
    let (tx, coins) = share(&coins, &Lock::ALL, FEE);
    scene.push(vec![tx], FEE);
    // … and once more one by one.
    let txs: Vec<_> = coins.iter().map(|coin| share(std::slice::from_ref(coin), &[coin.lock], FEE).0).collect();
    let fees = FEE * txs.len() as u64;
    scene.push(txs, fees);
    let kinds = Lock::ALL.len() as u64;
    assert_eq!(compare_all(&scene).prevouts, kinds + kinds * kinds + kinds);
}

#[test]
fn transactions_that_spend_each_other_within_a_block() {
    let mut scene = Scene::empty(MATURITY + 4);
    let mut coins = vec![scene.take_coinbase()];
    let mut txs = Vec::new();
    for _ in 0..25 {
        let (tx, made) = share(&coins, &[Lock::Wpkh, Lock::Pkh, Lock::TrKey], FEE);
        coins = made;
        txs.push(tx);
    }
    let fees = FEE * txs.len() as u64;
    scene.push(txs, fees);
    // The last coins are spent by siblings of one block, the newest first.
    let txs: Vec<_> = coins.iter().rev().map(|coin| share(std::slice::from_ref(coin), &[Lock::True], FEE).0).collect();
    let fees = FEE * txs.len() as u64;
    scene.push(txs, fees);
    compare_all(&scene);
}

#[test]
fn one_input_to_many_outputs_and_back() {
    let mut scene = Scene::empty(MATURITY + 2);
    let locks: Vec<Lock> = Lock::ALL.into_iter().cycle().take(200 * Lock::ALL.len()).collect();
    let (tx, coins) = share(&[scene.take_coinbase()], &locks, FEE);
    scene.push(vec![tx], FEE);
    let trivial: Vec<Coin> =
        coins.into_iter().filter(|coin| matches!(coin.lock, Lock::True | Lock::Long | Lock::Empty)).collect();
    let (tx, _) = share(&trivial, &[Lock::TrScript], FEE);
    scene.push(vec![tx], FEE);
    assert_eq!(compare_all(&scene).prevouts, 1 + 600);
}

/// Mainnet 501,726 claimed nothing of its 12.5 BTC: fees are not what the coinbase takes above the subsidy.
#[test]
fn coinbases_that_claim_less_than_they_may() {
    let mut scene = Scene::empty(MATURITY + 3);
    for claim in [0, 1, 123_456_789] {
        let (tx, _) = share(&[scene.take_coinbase()], &[Lock::Wpkh], FEE);
        let block = scene.builder.mine_claiming(scene.tip(), vec![tx], Amount::from_sat(claim));
        scene.blocks.push(block);
    }
    compare_all(&scene);
}

/// Zero, one satoshi, numbers that the amount compression treats differently, and the whole coin.
#[test]
fn amounts_of_every_shape() {
    let mut scene = Scene::empty(MATURITY + 2);
    let values = [0, 1, 9, 10, 11, 99, 100, 12_345, 100_000, 1_000_000_000, 99_999_999, 100_000_001, 900_000_000];
    let coin = scene.take_coinbase();
    let left = coin.value - Amount::from_sat(values.iter().sum()) - FEE;
    let output = |value| TxOut { value, script_pubkey: Lock::True.script() };
    let mut outputs: Vec<TxOut> = values.iter().map(|&value| output(Amount::from_sat(value))).collect();
    outputs.push(output(left));
    outputs.push(TxOut { value: Amount::ZERO, script_pubkey: op_return(b"nothing to see here") });
    let tx = spend(&[coin], outputs);
    let txid = tx.compute_txid();
    let made = tx.output.iter().zip(0..).take(values.len() + 1).map(|(output, vout)| Coin {
        outpoint: bitcoin::OutPoint { txid, vout },
        value: output.value,
        lock: Lock::True,
    });
    let coins: Vec<Coin> = made.collect();
    scene.push(vec![tx], FEE);
    scene.push(vec![share(&coins, &[Lock::ShTrue], FEE).0], FEE);
    compare_all(&scene);
}

#[test]
fn nothing_but_coinbases_over_two_halvings() {
    let compared = compare_all(&Scene::empty(320));
    assert_eq!((compared.blocks, compared.prevouts), (321, 0));
}

#[track_caller]
fn compare_fixture(fixture: &Fixture, network: Network) -> Compared {
    let records = Records::read(&fixture.blocks_dir(), network);
    let server = TestServer::start(&fixture.datadir());
    let chain = in_order(records.blocks.into_iter().map(|record| record.payload).collect());
    let mut compared = Compared::default();
    for expected in replay(network, chain) {
        compared.add(compare(&server, &expected));
    }
    println!("{compared:?}");
    compared
}

#[test]
fn a_replay_of_the_demo_chain_agrees() {
    let compared = compare_fixture(&fixtures::testnet3(), Network::Testnet);
    assert_eq!((compared.blocks, compared.txs, compared.prevouts), (2017, 2958, 1919));
}

#[test]
fn a_replay_of_the_regtest_fixture_agrees() {
    let compared = compare_fixture(&fixtures::regtest(), Network::Regtest);
    assert_eq!((compared.blocks, compared.prevouts), (207, 26));
}
