//! Statistics of a block, recomputed from their definitions with nothing but the `bitcoin` crate: plainly, one number
//! after another, without a thought of speed.
//!
//! Core's are those of `getblockstats` (`src/rpc/blockchain.cpp`), the rest is what `shared/README.md` defines. The row
//! is put together by the table of that page.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use bitcoin::consensus::{deserialize, serialize};
use bitcoin::script::Instruction;
use bitcoin::{Block, Script, Transaction, TxIn, TxOut};
use serde_json::{Map, Value, json};

use crate::chain_builder;
use crate::judge::Expected;
use crate::kernel_chain::SpentCoin;

/// Kinds of scripts as Core's RPC names them, in the order of the row.
const KINDS: [&str; 11] = [
    "pubkey",
    "pubkeyhash",
    "scripthash",
    "multisig",
    "witness_v0_keyhash",
    "witness_v0_scripthash",
    "witness_v1_taproot",
    "anchor",
    "nulldata",
    "witness_unknown",
    "nonstandard",
];

/// Lowest rate, 10, 25, 50, 75, 90 % of the weight, highest; each satoshis and weight units.
pub type Rates = [(u64, u64); 7];

/// Where the row holds its two lists of rates, and how long both are.
pub const RATES_AT: usize = 212;
/// Bytes of one list of rates.
pub const RATES_SIZE: usize = 84;

/// What is true of a block's statistics.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The answer of Core's `getblockstats`, without `mediantime`.
    pub core: Map<String, Value>,
    /// What the block holds besides fees.
    pub content: Map<String, Value>,
    /// Exact rates of transactions.
    pub by_transaction: Rates,
    /// Exact rates of packages.
    pub by_package: Rates,
    block: Block,
    utxo: Utxo,
}

/// Outputs that enter the set, and bytes of all created, of those that enter, of those spent; without overhead.
#[derive(Clone, Copy, Debug)]
struct Utxo {
    entering: i64,
    created_bytes: i64,
    entering_bytes: i64,
    spent_bytes: i64,
}

/// A transaction with what it spends.
struct Spend<'a> {
    tx: &'a Transaction,
    coins: &'a [SpentCoin],
}

impl Spend<'_> {
    fn fee(&self) -> u64 {
        sum(self.coins.iter().map(|coin| &coin.output)) - sum(&self.tx.output)
    }

    fn weight(&self) -> u64 {
        self.tx.weight().to_wu()
    }

    /// In whole satoshis per virtual byte.
    fn rate(&self) -> u64 {
        self.fee() * 4 / self.weight()
    }

    fn has_witness(&self) -> bool {
        self.tx.input.iter().any(|input| !input.witness.is_empty())
    }
}

fn sum<'a>(outputs: impl IntoIterator<Item = &'a TxOut>) -> u64 {
    outputs.into_iter().map(|output| output.value.to_sat()).sum()
}

impl Judged {
    /// Computes everything. An output spent whose height is 0 is of unknown height, as in undo records of old.
    ///
    /// `subsidy` is what the block may create; `overhead` what Core adds to each unspent output.
    pub fn of(expected: &Expected, subsidy: u64, overhead: i64) -> Self {
        let block: Block = deserialize(&expected.bytes).unwrap();
        let txs = block.txdata.iter().skip(1).zip(&expected.spent);
        let spends: Vec<Spend<'_>> = txs.map(|(tx, coins)| Spend { tx, coins }).collect();
        assert_eq!(spends.len() + 1, block.txdata.len(), "what every transaction spends is known");
        let utxo = utxo(&block, expected);
        let core = core(&block, expected.height, &spends, (subsidy, overhead), &utxo);
        let content = content(&block, expected.height, &spends, subsidy);
        let by_transaction =
            rates(spends.iter().map(|spend| ((spend.fee(), spend.weight()), spend.weight())).collect());
        let by_package = rates(packages(&spends).into_iter().zip(spends.iter().map(Spend::weight)).collect());
        drop(spends);
        Self { core, content, by_transaction, by_package, block, utxo }
    }

    /// The same of a regtest block.
    pub fn regtest(expected: &Expected) -> Self {
        Self::of(expected, chain_builder::subsidy(expected.height).to_sat(), 40)
    }

    /// The binary row, without the text of the coinbase at its end.
    pub fn row(&self) -> Vec<u8> {
        let number = |fields: &Map<String, Value>, name: &str| fields[name].as_u64().unwrap();
        let core = |name: &str| number(&self.core, name);
        let mut row = serialize(&self.block.block_hash());
        words(&mut row, &[core("height"), core("time"), self.block.total_size() as u64, self.block.weight().to_wu()]);
        longs(&mut row, &["minfee", "medianfee", "maxfee", "totalfee", "minfeerate", "maxfeerate"].map(core));
        let percentiles = self.core["feerate_percentiles"].as_array().unwrap();
        longs(&mut row, &percentiles.iter().map(|rate| rate.as_u64().unwrap()).collect::<Vec<_>>());
        longs(&mut row, &["total_out", "subsidy"].map(core));
        let counts = ["txs", "ins", "outs", "mintxsize", "mediantxsize", "maxtxsize", "total_size", "total_weight"];
        words(&mut row, &counts.map(core));
        words(&mut row, &["swtxs", "swtotal_size", "swtotal_weight"].map(core));
        let Utxo { entering, created_bytes, entering_bytes, spent_bytes } = self.utxo;
        words(
            &mut row,
            &[entering, created_bytes, entering_bytes, spent_bytes].map(|value| u64::try_from(value).unwrap()),
        );
        for (fee, weight) in self.by_transaction.into_iter().chain(self.by_package) {
            longs(&mut row, &[fee]);
            words(&mut row, &[weight]);
        }
        for list in ["spent", "created"] {
            KINDS.iter().for_each(|kind| put_tally(&mut row, self.content[list].get(kind)));
        }
        let ages = &self.content["ages"];
        ["known", "unknown"].iter().for_each(|age| put_tally(&mut row, ages.get(age)));
        let destroyed: u128 = ages["sat_blocks_destroyed"].as_str().unwrap().parse().unwrap();
        row.extend(destroyed.to_le_bytes());
        words(&mut row, &[ages["oldest_height"].as_u64().unwrap_or(u32::MAX.into())]);
        let bytes = ["witness_bytes", "op_return_bytes", "inscription_envelopes", "inscription_envelope_bytes"];
        words(&mut row, &bytes.map(|name| number(&self.content, name)));
        words(&mut row, &[number(&self.content, "sigop_cost")]);
        let coinbase = &self.content["coinbase"];
        longs(&mut row, &["claimed", "claimable"].map(|name| coinbase[name].as_u64().unwrap()));
        row
    }
}

fn words(row: &mut Vec<u8>, values: &[u64]) {
    row.extend(values.iter().flat_map(|&value| u32::try_from(value).unwrap().to_le_bytes()));
}

fn longs(row: &mut Vec<u8>, values: &[u64]) {
    row.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

fn put_tally(row: &mut Vec<u8>, tally: Option<&Value>) {
    let field = |name: &str| tally.map_or(0, |tally| tally[name].as_u64().unwrap());
    words(row, &[field("count")]);
    longs(row, &[field("value")]);
}

fn signed(count: usize) -> i64 {
    i64::try_from(count).unwrap()
}

fn utxo(block: &Block, expected: &Expected) -> Utxo {
    let bytes = |output: &TxOut| signed(serialize(output).len());
    let created: Vec<&TxOut> = block.txdata.iter().flat_map(|tx| &tx.output).collect();
    // The first block's output cannot be spent; nor what begins with OP_RETURN or is too long.
    let enters = |output: &&&TxOut| {
        let script = output.script_pubkey.as_bytes();
        expected.height > 0 && script.first() != Some(&0x6a) && script.len() <= 10_000
    };
    let entering: Vec<&TxOut> = created.iter().filter(enters).copied().collect();
    Utxo {
        entering: signed(entering.len()),
        created_bytes: created.iter().map(|output| bytes(output)).sum(),
        entering_bytes: entering.iter().map(|output| bytes(output)).sum(),
        spent_bytes: expected.spent.iter().flatten().map(|coin| bytes(&coin.output)).sum(),
    }
}

fn core(
    block: &Block,
    height: u32,
    spends: &[Spend<'_>],
    (subsidy, overhead): (u64, i64),
    utxo: &Utxo,
) -> Map<String, Value> {
    let fees: Vec<u64> = spends.iter().map(Spend::fee).collect();
    let sizes: Vec<u64> = spends.iter().map(|spend| spend.tx.total_size() as u64).collect();
    let rates: Vec<u64> = spends.iter().map(Spend::rate).collect();
    let weights: Vec<u64> = spends.iter().map(Spend::weight).collect();
    let ins: usize = spends.iter().map(|spend| spend.tx.input.len()).sum();
    let outs: usize = block.txdata.iter().map(|tx| tx.output.len()).sum();
    let (ins, outs) = (signed(ins), signed(outs));
    let segwit: Vec<&Spend<'_>> = spends.iter().filter(|spend| spend.has_witness()).collect();
    let total = |numbers: &[u64]| numbers.iter().sum::<u64>();
    let mean = |numbers: &[u64]| total(numbers).checked_div(numbers.len() as u64).unwrap_or(0);
    let least = |numbers: &[u64]| numbers.iter().copied().min().unwrap_or(0);
    let most = |numbers: &[u64]| numbers.iter().copied().max().unwrap_or(0);
    let weighted: Vec<((u64, u64), u64)> =
        rates.iter().zip(&weights).map(|(&rate, &weight)| ((rate, 1), weight)).collect();
    let core = json!({
        "avgfee": mean(&fees),
        "avgfeerate": (total(&fees) * 4).checked_div(total(&weights)).unwrap_or(0),
        "avgtxsize": mean(&sizes),
        "blockhash": block.block_hash(),
        "feerate_percentiles": SHARES.map(|share| percentile(&weighted, share).0),
        "height": height,
        "ins": ins,
        "maxfee": most(&fees),
        "maxfeerate": most(&rates),
        "maxtxsize": most(&sizes),
        "medianfee": median(fees.clone()),
        "mediantxsize": median(sizes.clone()),
        "minfee": least(&fees),
        "minfeerate": least(&rates),
        "mintxsize": least(&sizes),
        "outs": outs,
        "subsidy": subsidy,
        "swtotal_size": segwit.iter().map(|spend| spend.tx.total_size()).sum::<usize>(),
        "swtotal_weight": segwit.iter().map(|spend| spend.weight()).sum::<u64>(),
        "swtxs": segwit.len(),
        "time": block.header.time,
        "total_out": spends.iter().map(|spend| sum(&spend.tx.output)).sum::<u64>(),
        "total_size": total(&sizes),
        "total_weight": total(&weights),
        "totalfee": total(&fees),
        "txs": block.txdata.len(),
        "utxo_increase": outs - ins,
        "utxo_size_inc": utxo.created_bytes + outs * overhead - utxo.spent_bytes - ins * overhead,
        "utxo_increase_actual": utxo.entering - ins,
        "utxo_size_inc_actual": utxo.entering_bytes + utxo.entering * overhead - utxo.spent_bytes - ins * overhead,
    });
    object(core)
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn median(mut numbers: Vec<u64>) -> u64 {
    numbers.sort_unstable();
    match numbers.len() {
        0 => 0,
        count if count % 2 == 1 => numbers[count / 2],
        count => (numbers[count / 2 - 1] + numbers[count / 2]) / 2,
    }
}

const SHARES: [u128; 5] = [10, 25, 50, 75, 90];

/// Whether one fraction is at most another.
fn at_most(one: (u64, u64), other: (u64, u64)) -> bool {
    u128::from(one.0) * u128::from(other.1) <= u128::from(other.0) * u128::from(one.1)
}

/// The lowest rate at or below which this share of the weight lies; zeros of nothing.
fn percentile(rates: &[((u64, u64), u64)], share: u128) -> (u64, u64) {
    let mut rates = rates.to_vec();
    rates.sort_by(|&(one, _), &(other, _)| match (at_most(one, other), at_most(other, one)) {
        (true, true) => Ordering::Equal,
        (less, _) => {
            if less {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        }
    });
    let total: u128 = rates.iter().map(|&(_, weight)| u128::from(weight)).sum();
    let mut reached = 0;
    let found = rates.iter().find(|&&(_, weight)| {
        reached += u128::from(weight);
        reached * 100 >= total * share
    });
    found.map_or((0, 0), |&(rate, _)| rate)
}

fn rates(rates: Vec<((u64, u64), u64)>) -> Rates {
    let all = || rates.iter().map(|&(rate, _)| rate);
    let least = all().reduce(|a, b| if at_most(a, b) { a } else { b }).unwrap_or_default();
    let most = all().reduce(|a, b| if at_most(a, b) { b } else { a }).unwrap_or_default();
    let [p10, p25, p50, p75, p90] = SHARES.map(|share| percentile(&rates, share));
    [least, p10, p25, p50, p75, p90, most]
}

/// What each transaction is taken in with: again and again the best set of a transaction and its ancestors of the
/// block that are not taken yet, of equal ones that of the first transaction.
fn packages(spends: &[Spend<'_>]) -> Vec<(u64, u64)> {
    let places: BTreeMap<_, _> = spends.iter().enumerate().map(|(at, spend)| (spend.tx.compute_txid(), at)).collect();
    let mut sets: Vec<Vec<usize>> = Vec::new();
    for (at, spend) in spends.iter().enumerate() {
        let parents = spend.tx.input.iter().filter_map(|input| places.get(&input.previous_output.txid));
        let mut set: Vec<usize> = parents.flat_map(|&parent| sets[parent].clone()).chain([at]).collect();
        set.sort_unstable();
        set.dedup();
        sets.push(set);
    }
    let own: Vec<(u64, u64)> = spends.iter().map(|spend| (spend.fee(), spend.weight())).collect();
    let rate = |set: &[usize]| set.iter().fold((0, 0), |sum, &at| (sum.0 + own[at].0, sum.1 + own[at].1));
    let mut taken_with = own.clone();
    let mut set_rates: Vec<(u64, u64)> = sets.iter().map(|set| rate(set)).collect();
    let mut left: Vec<usize> = (0..sets.len()).collect();
    while let Some(&first) = left.first() {
        let better = |best, &at: &usize| if at_most(set_rates[at], set_rates[best]) { best } else { at };
        let taken = sets[left.iter().fold(first, better)].clone();
        taken.iter().for_each(|&at| taken_with[at] = rate(&taken));
        left.retain(|at| !taken.contains(at));
        for &at in &left {
            let before = sets[at].len();
            sets[at].retain(|member| !taken.contains(member));
            if sets[at].len() < before {
                set_rates[at] = rate(&sets[at]);
            }
        }
    }
    taken_with
}

fn content(block: &Block, height: u32, spends: &[Spend<'_>], subsidy: u64) -> Map<String, Value> {
    let coins = || spends.iter().flat_map(|spend| spend.coins);
    let outputs = || block.txdata.iter().flat_map(|tx| &tx.output);
    let known = || coins().filter(|coin| coin.height > 0);
    let destroyed = |coin: &SpentCoin| u128::from(coin.output.value.to_sat()) * u128::from(height - coin.height);
    let op_returns = outputs().filter(|output| output.script_pubkey.is_op_return());
    let envelopes: Vec<usize> =
        spends.iter().flat_map(|spend| spend.tx.input.iter().zip(spend.coins)).flat_map(envelopes).collect();
    let claimed = sum(&block.txdata[0].output);
    let claimable = spends.iter().map(Spend::fee).sum::<u64>() + subsidy;
    object(json!({
        "spent": by_kind(coins().map(|coin| &coin.output)),
        "created": by_kind(outputs()),
        "ages": {
            "known": tally(known().map(|coin| &coin.output)),
            "unknown": tally(coins().filter(|coin| coin.height == 0).map(|coin| &coin.output)),
            "sat_blocks_destroyed": known().map(destroyed).sum::<u128>().to_string(),
            "oldest_height": known().map(|coin| coin.height).min(),
        },
        "witness_bytes": block.txdata.iter().map(|tx| tx.total_size() - tx.base_size()).sum::<usize>(),
        "op_return_bytes": op_returns.map(|output| output.script_pubkey.len()).sum::<usize>(),
        "inscription_envelopes": envelopes.len(),
        "inscription_envelope_bytes": envelopes.iter().sum::<usize>(),
        "sigop_cost": sigop_cost(block, spends),
        "coinbase": { "claimed": claimed, "claimable": claimable, "unclaimed": claimable - claimed },
    }))
}

/// As the `bitcoin` crate counts them.
fn sigop_cost(block: &Block, spends: &[Spend<'_>]) -> usize {
    let of_spend = |spend: &Spend<'_>| {
        let outputs = spend.tx.input.iter().map(|input| input.previous_output).zip(spend.coins);
        let outputs: BTreeMap<_, _> = outputs.collect();
        spend.tx.total_sigop_cost(|outpoint| outputs.get(outpoint).map(|coin| coin.output.clone()))
    };
    block.txdata[0].total_sigop_cost(|_| None) + spends.iter().map(of_spend).sum::<usize>()
}

fn tally<'a>(outputs: impl Iterator<Item = &'a TxOut>) -> Value {
    let values: Vec<u64> = outputs.map(|output| output.value.to_sat()).collect();
    json!({ "count": values.len(), "value": values.iter().sum::<u64>() })
}

fn by_kind<'a>(outputs: impl Iterator<Item = &'a TxOut>) -> Value {
    let mut kinds: BTreeMap<&str, Vec<&TxOut>> = BTreeMap::new();
    for output in outputs {
        kinds.entry(kind(&output.script_pubkey)).or_default().push(output);
    }
    kinds.into_iter().map(|(kind, outputs)| (kind.to_owned(), tally(outputs.into_iter()))).collect()
}

/// Core's name of a script's kind, by the `bitcoin` crate's tests.
fn kind(script: &Script) -> &'static str {
    let pushes_only = || script.as_bytes().get(1..).is_some_and(|rest| Script::from_bytes(rest).is_push_only());
    match script {
        script if script.is_p2pk() => "pubkey",
        script if script.is_p2pkh() => "pubkeyhash",
        script if script.is_p2sh() => "scripthash",
        script if script.is_multisig() && keys_fit(script) => "multisig",
        script if script.is_p2wpkh() => "witness_v0_keyhash",
        script if script.is_p2wsh() => "witness_v0_scripthash",
        script if script.is_p2tr() => "witness_v1_taproot",
        script if script.as_bytes() == [0x51, 2, 0x4e, 0x73] => "anchor",
        script if script.is_witness_program() && script.as_bytes()[0] != 0 => "witness_unknown",
        script if script.is_op_return() && pushes_only() => "nulldata",
        _ => "nonstandard",
    }
}

/// Whether every push is as long as its first byte says of a key, which Core demands and the crate does not.
fn keys_fit(script: &Script) -> bool {
    script.instructions().filter_map(Result::ok).all(|item| match item {
        Instruction::PushBytes(key) => matches!((key.as_bytes(), key.len()), ([2 | 3, ..], 33) | ([4 | 6 | 7, ..], 65)),
        Instruction::Op(_) => true,
    })
}

/// Sizes of the envelopes that a taproot input reveals: `OP_FALSE OP_IF "ord"` by its bytes, up to the next `OP_ENDIF`.
fn envelopes((input, coin): (&TxIn, &SpentCoin)) -> Vec<usize> {
    const START: [u8; 6] = [0x00, 0x63, 0x03, b'o', b'r', b'd'];
    const OP_ENDIF: u8 = 0x68;
    let leaf = input.witness.taproot_leaf_script().filter(|_| coin.output.script_pubkey.is_p2tr());
    let script = leaf.map_or(&[][..], |leaf| leaf.script.as_bytes());
    let starts = (0..script.len()).filter(|&at| script[at..].starts_with(&START));
    let size = |at: usize| {
        let items = Script::from_bytes(&script[at..]).instruction_indices().map_while(Result::ok);
        items
            .into_iter()
            .find(|(_, item)| item.opcode().is_some_and(|code| code.to_u8() == OP_ENDIF))
            .map(|(end, _)| end + 1)
    };
    starts.filter_map(size).collect()
}
