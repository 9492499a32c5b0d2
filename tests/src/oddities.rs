//! Blocks of what nodes hold besides ordinary payments: scripts of every shape, locks on time, full blocks, blocks that
//! break a rule only when they are connected, and blocks that no node stores.

use bitcoin::absolute::LockTime;
use bitcoin::opcodes::all::{OP_CHECKSIG, OP_CLTV, OP_CSV, OP_DROP, OP_PUSHNUM_1};
use bitcoin::script::{Builder, PushBytesBuf};
use bitcoin::{Amount, Block, OutPoint, ScriptBuf, Sequence, Transaction, TxOut, Weight};

use crate::chain_builder::{Coin, reward, share, spend, work};
use crate::locks::{Lock, op_return};
use crate::scenes::{MATURITY, Scene};

const FEE: Amount = Amount::from_sat(1_000);

/// A script as it stands in hex.
fn hex(text: &str) -> ScriptBuf {
    ScriptBuf::from_hex(text).unwrap()
}

fn key() -> String {
    format!("2102{}", "11".repeat(32))
}

/// Scripts that nobody can unlock, or nobody does.
pub fn locked_scripts() -> Vec<ScriptBuf> {
    let key = key();
    let opcodes: Vec<u8> = [0].into_iter().chain(0x4f..=0xff).collect();
    vec![
        // Data: nothing, an empty push, large, several pushes; and what is no push or ends within one.
        hex("6a"),
        hex("6a00"),
        op_return(&[b'x'; 80]),
        op_return(&vec![b'y'; 99_000]),
        hex("6a0548656c6c6f0148"),
        hex("6aac"),
        hex("6a4c"),
        // Longer than any script may be.
        ScriptBuf::from_bytes(vec![0x51; 10_001]),
        // Every opcode, a push of 36 bytes, one that announces 117 and has 75.
        ScriptBuf::from_bytes(opcodes),
        hex(&format!("24{}", "aa".repeat(36))),
        hex(&format!("4c75{}", "bb".repeat(75))),
        // No multisig, one behind another check, one that asks for more than it has, a whole one.
        hex("0000ae"),
        hex(&format!("{key}ad51{key}{key}{key}53ae")),
        hex(&format!("52{key}51ae")),
        hex(&format!("53{key}{key}{key}53ae")),
        // Keys that are on no curve.
        hex(&format!("{key}ac")),
        hex(&format!("4104{}ac", "11".repeat(64))),
        hex(&format!("4107{}ac", "11".repeat(64))),
        // Programs of version 0 that are too short, of version 1 and 2, the shortest and the longest of version 16.
        hex(&format!("0015{}", "22".repeat(21))),
        hex(&format!("5114{}", "22".repeat(20))),
        hex(&format!("5220{}", "22".repeat(32))),
        hex("60020000"),
        hex(&format!("6028{}", "22".repeat(40))),
        hex("6001ff"),
    ]
}

/// Scripts that anyone unlocks with nothing, of 1 byte to the 10,000 that a script may have.
fn open_scripts() -> Vec<ScriptBuf> {
    let chunk = |size: usize| PushBytesBuf::try_from(vec![0x5a; size]).unwrap();
    let dropped = |builder: Builder, size: usize| builder.push_slice(chunk(size)).push_opcode(OP_DROP);
    let longest = (0..19).fold(Builder::new(), |builder, _| dropped(builder, 520));
    let longest = dropped(longest, 41).push_opcode(OP_PUSHNUM_1).into_script();
    assert_eq!(longest.len(), 10_000);
    vec![hex("51"), hex("5161"), hex("0151"), dropped(Builder::new(), 520).push_int(1).into_script(), longest]
}

/// An output of a transaction that anyone can spend with nothing, whatever its script says of it.
fn open_coin(tx: &Transaction, vout: usize) -> Coin {
    let outpoint = OutPoint { txid: tx.compute_txid(), vout: vout as u32 };
    Coin { outpoint, value: tx.output[vout].value, lock: Lock::True }
}

/// Spends a coin for these outputs; the first gets what is left of it.
pub fn pay(coin: &Coin, mut outputs: Vec<TxOut>, fee: Amount) -> Transaction {
    let others: Amount = outputs.iter().skip(1).map(|output| output.value).sum();
    outputs[0].value = coin.value - others - fee;
    spend(std::slice::from_ref(coin), outputs)
}

/// An output of this value.
pub fn output(script_pubkey: ScriptBuf, sats: u64) -> TxOut {
    TxOut { value: Amount::from_sat(sats), script_pubkey }
}

/// Two blocks: scripts of every shape with nothing, dust or a little in them, and those spent that can be.
pub fn scripts(scene: &mut Scene) {
    let open = open_scripts();
    let all = open.iter().cloned().chain(locked_scripts());
    let outputs = all.zip([546, 0, 1, 294, 330].into_iter().cycle()).map(|(script, sats)| output(script, sats));
    let tx = pay(&scene.take_coinbase(), outputs.collect(), FEE);
    scene.push(vec![tx.clone()], FEE);
    let coins: Vec<Coin> = (0..open.len()).map(|vout| open_coin(&tx, vout)).collect();
    scene.push(vec![share(&coins, &[Lock::Wpkh, Lock::Anchor], FEE).0], FEE);
}

/// How a spend is held back.
struct Hold {
    script: ScriptBuf,
    lock_time: LockTime,
    sequence: Sequence,
}

/// Absolute (BIP65) and relative (BIP68, BIP112) locks by height and by time, in scripts and without.
fn holds(now: u32) -> Vec<Hold> {
    let absolute = |lock_time: LockTime| {
        let script = Builder::new().push_int(lock_time.to_consensus_u32().into()).push_opcode(OP_CLTV).into_script();
        Hold { script, lock_time, sequence: Sequence::ENABLE_LOCKTIME_NO_RBF }
    };
    let relative = |sequence: Sequence| {
        let script = Builder::new().push_int(sequence.0.into()).push_opcode(OP_CSV).into_script();
        Hold { script, lock_time: LockTime::ZERO, sequence }
    };
    let plain = |lock_time, sequence| Hold { script: hex("51"), lock_time, sequence };
    vec![
        absolute(LockTime::from_height(100).unwrap()),
        absolute(LockTime::from_time(now - 86_400).unwrap()),
        relative(Sequence::from_height(3)),
        relative(Sequence::from_512_second_intervals(2)),
        plain(LockTime::from_height(100).unwrap(), Sequence::ZERO),
        plain(LockTime::from_time(now - 86_400).unwrap(), Sequence::ENABLE_RBF_NO_LOCKTIME),
        // Not final for two thousand years, and yet: no input minds.
        plain(LockTime::from_consensus(u32::MAX), Sequence::MAX),
    ]
}

fn release(coin: Coin, hold: &Hold) -> Transaction {
    let (mut tx, _) = share(&[coin], &[Lock::Anchor], FEE);
    tx.lock_time = hold.lock_time;
    tx.input[0].sequence = hold.sequence;
    tx
}

/// Blocks of coins that are locked by height and time, and one that spends all of them as soon as it may.
pub fn locktimes(scene: &mut Scene) {
    let holds = holds(scene.blocks.last().unwrap().header.time);
    let outputs = holds.iter().map(|hold| output(hold.script.clone(), 10_000)).collect();
    let tx = pay(&scene.take_coinbase(), outputs, FEE);
    scene.push(vec![tx.clone()], FEE);
    for _ in 0..2 {
        scene.push(Vec::new(), Amount::ZERO);
    }
    let txs = holds.iter().enumerate().map(|(vout, hold)| release(open_coin(&tx, vout), hold));
    let txs: Vec<Transaction> = txs.collect();
    let fees = FEE * txs.len() as u64;
    scene.push(txs, fees);
}

/// A transaction with thousands of outputs and one that spends as many of them as need no signature.
pub fn fan(scene: &mut Scene, outputs: usize) {
    let open = [Lock::True, Lock::Empty, Lock::ShTrue, Lock::WshTrue, Lock::TrScript, Lock::Anchor];
    let locks: Vec<Lock> = open.into_iter().cycle().take(outputs).collect();
    let (tx, coins) = share(&[scene.take_coinbase()], &locks, FEE);
    scene.push(vec![tx], FEE);
    scene.push(vec![share(&coins, &[Lock::TrKey], FEE).0], FEE);
}

/// Each transaction of a block spends the one before it.
pub fn family_line(scene: &mut Scene, generations: usize) {
    let mut coins = vec![scene.take_coinbase()];
    let mut txs = Vec::new();
    for _ in 0..generations {
        let (tx, made) = share(&coins, &[Lock::TrKeyAnnex, Lock::Wpkh], FEE);
        (txs, coins) = ([txs, vec![tx]].concat(), made);
    }
    let fees = FEE * txs.len() as u64;
    scene.push(txs, fees);
}

/// The most that the signature operations of a block may cost (BIP141).
pub const MOST_SIGOPS: usize = 80_000;

/// A block whose signature operations cost exactly as much as is allowed: those of an output that nobody can spend, each
/// four, and what the block's other parts cost, which the `bitcoin` crate counts.
pub fn sigops(scene: &mut Scene) {
    let coin = scene.take_coinbase();
    let with = |count: usize| {
        let script = ScriptBuf::from_bytes(vec![OP_CHECKSIG.to_u8(); count]);
        pay(&coin, vec![output(Lock::Wpkh.script(), 0), output(script, 0)], FEE)
    };
    let spent = output(coin.lock.script(), coin.value.to_sat());
    let mut probe = scene.builder.mine(scene.tip(), vec![with(0)], FEE);
    let others: usize = probe.txdata.iter().map(|tx| tx.total_sigop_cost(|_| Some(spent.clone()))).sum();
    probe = scene.builder.mine(scene.tip(), vec![with((MOST_SIGOPS - others) / 4)], FEE);
    scene.blocks.push(probe);
}

/// A block of `count` transactions with a signature each, filled to the last weight units with data; and one before it
/// that makes their coins.
pub fn full_block(scene: &mut Scene, count: usize) {
    let (tx, coins) = share(&[scene.take_coinbase()], &vec![Lock::Wpkh; count], FEE);
    scene.push(vec![tx], FEE);
    let fee = |number: usize| Amount::from_sat(200 + number as u64 % 977);
    let mut txs: Vec<Transaction> = coins
        .iter()
        .enumerate()
        .skip(1)
        .map(|(number, coin)| share(std::slice::from_ref(coin), &[Lock::Wpkh, Lock::Pkh], fee(number)).0)
        .collect();
    let fees = (0..count).map(fee).sum();
    let filler = |bytes: usize| {
        let data = op_return(&vec![b'f'; bytes]);
        pay(&coins[0], vec![output(Lock::Wpkh.script(), 0), output(data, 0)], fee(0))
    };
    txs.insert(0, filler(70_000));
    let room = Weight::MAX_BLOCK - scene.builder.mine(scene.tip(), txs.clone(), fees).weight();
    txs[0] = filler(70_000 + room.to_wu() as usize / 4);
    scene.push(txs, fees);
}

/// Time that runs backwards every other block, as far as the median of eleven allows, from height 12 on.
pub fn backwards(height: u32) -> u32 {
    let start = bitcoin::blockdata::constants::genesis_block(bitcoin::Network::Regtest).header.time;
    start + 600 * height - if height > 11 && height.is_multiple_of(2) { 2_500 } else { 0 }
}

/// Blocks on the tip that hold what only shows when they are connected: stored, since they look right.
pub fn stored_and_invalid(scene: &mut Scene) -> Vec<(&'static str, Block)> {
    let (tip, height) = (scene.tip(), scene.builder.height(&scene.tip()));
    let coin = scene.take_coinbase();
    let (good, _) = share(std::slice::from_ref(&coin), &[Lock::Wpkh], FEE);
    let mut more_than_it_has = good.clone();
    more_than_it_has.output[0].value = coin.value + FEE;
    let mut unsigned = good.clone();
    unsigned.input[0].script_sig = ScriptBuf::new();
    unsigned.input[0].witness.clear();
    let of_nothing = Coin { outpoint: OutPoint { vout: 7, ..coin.outpoint }, ..coin.clone() };
    let young = reward(scene.blocks.last().unwrap(), height);
    let mut too_early = good.clone();
    too_early.input[0].sequence = Sequence::from_height(height as u16);
    let (child, _) = share(&[open_coin(&good, 0)], &[Lock::True], FEE);
    let subsidy = crate::chain_builder::subsidy(height + 1);
    let mut claiming = |txs: Vec<Transaction>, claim: Amount| scene.builder.mine_claiming(tip, txs, claim);
    vec![
        ("claims more than subsidy and fees", claiming(Vec::new(), subsidy + Amount::from_sat(1))),
        ("pays more than it spends", claiming(vec![more_than_it_has], subsidy)),
        ("is not signed", claiming(vec![unsigned], subsidy)),
        ("spends what is not there", claiming(vec![share(&[of_nothing], &[Lock::True], FEE).0], subsidy)),
        ("spends a coinbase that is too young", claiming(vec![share(&[young], &[Lock::True], FEE).0], subsidy)),
        ("spends too early", claiming(vec![too_early], subsidy)),
        ("spends twice", claiming(vec![good.clone(), share(&[coin], &[Lock::Pkh], FEE * 2).0], subsidy)),
        ("spends before it is made", claiming(vec![child, good], subsidy)),
    ]
}

/// Blocks on the tip that are wrong in themselves: no node stores them.
pub fn not_even_stored(scene: &mut Scene) -> Vec<(&'static str, Block)> {
    let (tip, next) = (scene.tip(), scene.builder.height(&scene.tip()) + 1);
    let good = scene.builder.mine(tip, Vec::new(), Amount::ZERO);
    let changed = |change: fn(&mut Block)| {
        let mut block = good.clone();
        change(&mut block);
        work(&mut block);
        block
    };
    let mut wrong_root = good.clone();
    wrong_root.txdata[0].output[0].value = Amount::ZERO;
    let mut not_final = share(&[scene.take_coinbase()], &[Lock::True], FEE).0;
    not_final.input[0].sequence = Sequence::ZERO;
    not_final.lock_time = LockTime::from_height(next).unwrap();
    let mut other_height = good.clone();
    other_height.txdata[0].input[0].script_sig = Builder::new().push_int((next + 1).into()).push_int(1).into_script();
    work(&mut other_height);
    vec![
        ("has another merkle root", wrong_root),
        ("has no coinbase", changed(|block| block.txdata[0].input[0].previous_output.vout = 0)),
        ("has two coinbases", changed(|block| block.txdata.push(block.txdata[0].clone()))),
        ("is older than the median of eleven", changed(|block| block.header.time -= 6 * 3_600)),
        ("states another height", other_height),
        ("holds what is not final", scene.builder.mine(tip, vec![not_final], FEE)),
        ("weighs too much", changed(|block| block.txdata[0].output[0].script_pubkey = heavy())),
    ]
}

fn heavy() -> ScriptBuf {
    ScriptBuf::from_bytes(vec![0x6a; 1_000_000])
}

/// A chain on which all of this can be done.
pub fn ground() -> Scene {
    Scene::empty(MATURITY + 30)
}
