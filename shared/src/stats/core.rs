//! `getblockstats` as Bitcoin Core defines it (`src/rpc/blockchain.cpp`).
//!
//! The coinbase counts only in `txs`, `outs` and the `utxo_*` fields. All divisions truncate. Core's UTXO overhead was 41
//! bytes up to release 31 and is 40 since, so the sums are kept without it: [`UtxoOverhead`] picks.

use bitcoin::{Amount, BlockHash, Network, Script};

use crate::block::{BlockView, TxView};
use crate::network::NetworkExt;
use crate::prevouts::{Prevout, PrevoutsView};
use crate::script::is_unspendable;
use crate::summary::TxRow;
use crate::{DecodeError, Height};

/// Everything that `getblockstats` answers, but for `blockhash`, `height`, `time` (the block's own) and `mediantime`
/// (which takes ten ancestors). Amounts in satoshis, sizes in bytes, weights in weight units, rates in sat/vB.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct CoreStats {
    /// `totalfee` over the transactions, without the coinbase.
    pub avgfee: u64,
    /// Four times `totalfee` over `total_weight`.
    pub avgfeerate: u64,
    /// `total_size` over the transactions, without the coinbase.
    pub avgtxsize: u64,
    /// Truncated rates at 10, 25, 50, 75 and 90 % of the weight.
    pub feerate_percentiles: [u64; 5],
    /// Inputs.
    pub ins: u64,
    /// Largest fee.
    pub maxfee: u64,
    /// Largest truncated rate.
    pub maxfeerate: u64,
    /// Largest transaction.
    pub maxtxsize: u64,
    /// Truncated median of the fees.
    pub medianfee: u64,
    /// Truncated median of the sizes.
    pub mediantxsize: u64,
    /// Smallest fee.
    pub minfee: u64,
    /// Smallest truncated rate.
    pub minfeerate: u64,
    /// Smallest transaction.
    pub mintxsize: u64,
    /// Outputs, the coinbase's included.
    pub outs: u64,
    /// What the block may create.
    pub subsidy: u64,
    /// Size of the transactions with witnesses.
    pub swtotal_size: u64,
    /// Weight of the transactions with witnesses.
    pub swtotal_weight: u64,
    /// Transactions with witnesses.
    pub swtxs: u64,
    /// Sum of the outputs.
    pub total_out: u64,
    /// Sum of the sizes.
    pub total_size: u64,
    /// Sum of the weights.
    pub total_weight: u64,
    /// Sum of the fees.
    pub totalfee: u64,
    /// Transactions, the coinbase included.
    pub txs: u64,
    /// What spent and created outputs take, without overhead.
    pub utxo: UtxoChange,
}

/// How the block changes the set of unspent outputs.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct UtxoChange {
    /// Outputs, the coinbase's included.
    pub created: u64,
    /// Outputs that enter the set: neither unspendable, nor genesis', nor a repeated coinbase's (BIP30).
    pub created_actual: u64,
    /// Outputs spent.
    pub spent: u64,
    /// Serialized bytes of `created`.
    pub created_bytes: u64,
    /// Serialized bytes of `created_actual`.
    pub created_actual_bytes: u64,
    /// Serialized bytes of `spent`.
    pub spent_bytes: u64,
}

/// Bytes that Core adds to each output of the set: outpoint, height and coinbase flag.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum UtxoOverhead {
    /// 40 bytes: after release 31 (Core #31449).
    #[default]
    Forty,
    /// 41 bytes: up to release 31.
    FortyOne,
}

impl UtxoOverhead {
    /// The overhead of a release, by its first number.
    pub const fn of_release(release: u32) -> Self {
        if release <= 31 { Self::FortyOne } else { Self::Forty }
    }

    const fn bytes(self) -> i128 {
        match self {
            Self::Forty => 40,
            Self::FortyOne => 41,
        }
    }
}

impl UtxoChange {
    /// `utxo_increase`.
    pub fn increase(&self) -> i64 {
        difference(self.created, self.spent)
    }

    /// `utxo_increase_actual`.
    pub fn increase_actual(&self) -> i64 {
        difference(self.created_actual, self.spent)
    }

    /// `utxo_size_inc`.
    pub fn size_increase(&self, overhead: UtxoOverhead) -> i64 {
        grown((self.created, self.created_bytes), (self.spent, self.spent_bytes), overhead)
    }

    /// `utxo_size_inc_actual`.
    pub fn size_increase_actual(&self, overhead: UtxoOverhead) -> i64 {
        grown((self.created_actual, self.created_actual_bytes), (self.spent, self.spent_bytes), overhead)
    }
}

fn difference(plus: u64, minus: u64) -> i64 {
    saturate(i128::from(plus) - i128::from(minus))
}

fn grown(created: (u64, u64), spent: (u64, u64), overhead: UtxoOverhead) -> i64 {
    let size = |(count, bytes)| i128::from(bytes) + i128::from(count) * overhead.bytes();
    saturate(size(created) - size(spent))
}

fn saturate(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

/// The statistics of a block at a height. `rows` are the block's (`summary::rows`), made with the same prevouts.
///
/// # Errors
/// Where a fee is unknown: a transaction pays out more than it spends.
pub fn core_stats(
    network: Network,
    height: Height,
    block: &BlockView<'_>,
    prevouts: Option<&PrevoutsView<'_>>,
    rows: &[TxRow],
) -> Result<CoreStats, DecodeError> {
    let mut stats = CoreStats {
        subsidy: network.subsidy(height).to_sat(),
        txs: rows.len() as u64,
        utxo: utxo_change(height, block, prevouts),
        ..CoreStats::default()
    };
    stats.outs = stats.utxo.created;
    let rows = rows.get(1..).unwrap_or_default();
    let mut fees = Vec::with_capacity(rows.len());
    let mut sizes = Vec::with_capacity(rows.len());
    let mut rates = Vec::with_capacity(rows.len());
    for (row, tx) in rows.iter().zip(block.txs().skip(1)) {
        let fee = row.fee.ok_or(DecodeError::Contradiction("a fee is unknown"))?.to_sat();
        stats.add(row, fee, tx.is_segwit());
        fees.push(fee);
        sizes.push(u64::from(row.size));
        rates.push((rate(fee, row.weight.into()), u64::from(row.weight)));
    }
    stats.finish(fees, sizes, rates);
    Ok(stats)
}

impl CoreStats {
    fn add(&mut self, row: &TxRow, fee: u64, segwit: bool) {
        self.ins += u64::from(row.inputs);
        self.total_out = self.total_out.saturating_add(row.value.to_sat());
        self.total_size += u64::from(row.size);
        self.total_weight += u64::from(row.weight);
        self.totalfee = self.totalfee.saturating_add(fee);
        if segwit {
            self.swtxs += 1;
            self.swtotal_size += u64::from(row.size);
            self.swtotal_weight += u64::from(row.weight);
        }
    }

    fn finish(&mut self, mut fees: Vec<u64>, mut sizes: Vec<u64>, mut rates: Vec<(u64, u64)>) {
        fees.sort_unstable();
        sizes.sort_unstable();
        rates.sort_unstable();
        self.fill_means();
        (self.minfee, self.maxfee, self.medianfee) = spread(&fees);
        (self.mintxsize, self.maxtxsize, self.mediantxsize) = spread(&sizes);
        self.minfeerate = rates.first().map_or(0, |&(rate, _)| rate);
        self.maxfeerate = rates.last().map_or(0, |&(rate, _)| rate);
        self.feerate_percentiles = percentiles(&rates, self.total_weight);
    }
}

impl CoreStats {
    /// Computes the means from the sums.
    pub(super) fn fill_means(&mut self) {
        let count = self.txs.saturating_sub(1);
        self.avgfee = self.totalfee.checked_div(count).unwrap_or(0);
        self.avgfeerate = rate(self.totalfee, self.total_weight);
        self.avgtxsize = self.total_size.checked_div(count).unwrap_or(0);
    }
}

/// Four times the fee over the weight, truncated; 0 over nothing.
fn rate(fee: u64, weight: u64) -> u64 {
    let rate = (u128::from(fee) * 4).checked_div(weight.into()).unwrap_or(0);
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// Least, greatest and Core's truncated median of sorted numbers; zeros of none.
fn spread(sorted: &[u64]) -> (u64, u64, u64) {
    let (Some(&least), Some(&greatest)) = (sorted.first(), sorted.last()) else { return (0, 0, 0) };
    let upper = sorted[sorted.len() / 2];
    let median = match sorted.len() % 2 {
        0 => sorted[sorted.len() / 2 - 1].midpoint(upper),
        _ => upper,
    };
    (least, greatest, median)
}

/// The rate at which each share of the weight is reached (Core's `CalculatePercentilesByWeight`). The thresholds are
/// fractions of the weight, so that both sides are multiplied instead of divided.
fn percentiles(sorted: &[(u64, u64)], total_weight: u64) -> [u64; 5] {
    const SHARES: [(u64, u64); 5] = [(1, 10), (1, 4), (1, 2), (3, 4), (9, 10)];
    let mut found = [sorted.last().map_or(0, |&(rate, _)| rate); 5];
    let mut weight = 0;
    let mut next = 0;
    for &(rate, own) in sorted {
        weight += own;
        while let Some(&(share, of)) = SHARES.get(next)
            && weight * of >= total_weight * share
        {
            found[next] = rate;
            next += 1;
        }
    }
    found
}

fn utxo_change(height: Height, block: &BlockView<'_>, prevouts: Option<&PrevoutsView<'_>>) -> UtxoChange {
    let mut change = UtxoChange::default();
    let repeated = is_bip30_repeat(height, &block.hash());
    for (index, tx) in block.txs().enumerate() {
        let enters = height.0 != 0 && !(repeated && index == 0);
        add_created(&mut change, &tx, enters);
        for prevout in prevouts.into_iter().flat_map(|prevouts| prevouts.tx(index)) {
            change.spent += 1;
            change.spent_bytes += prevout_bytes(&prevout);
        }
    }
    change
}

fn add_created(change: &mut UtxoChange, tx: &TxView<'_>, enters: bool) {
    for output in tx.outputs() {
        let bytes = output_bytes(output.script);
        change.created += 1;
        change.created_bytes += bytes;
        if enters && !is_unspendable(output.script) {
            change.created_actual += 1;
            change.created_actual_bytes += bytes;
        }
    }
}

fn output_bytes(script: &Script) -> u64 {
    serialized_bytes(script.len())
}

fn prevout_bytes(prevout: &Prevout<'_>) -> u64 {
    serialized_bytes(prevout.script.len())
}

/// Amount, compact size, script.
fn serialized_bytes(script: usize) -> u64 {
    (Amount::SIZE + bitcoin::VarInt::from(script).size() + script) as u64
}

/// Coinbases of mainnet that repeat an earlier one's txid, and so overwrote its coins (Core's `IsBIP30Repeat`).
fn is_bip30_repeat(height: Height, hash: &BlockHash) -> bool {
    const REPEATS: [(u32, &str); 2] = [
        (91_842, "00000000000a4d0a398161ffc163c503763b1f4360639393e0e4c8e300e0caec"),
        (91_880, "00000000000743f190a18c5577a3c2d2a1f610ae9601ac046a38084ccb7cd721"),
    ];
    REPEATS.iter().any(|&(repeat, text)| height.0 == repeat && text.parse() == Ok(*hash))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use bitcoin::consensus::{deserialize, serialize};
    use bitcoin::hex::FromHex;
    use bitcoin::{Block, OutPoint, TxOut, VarInt};
    use serde_json::Value;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use crate::summary;

    /// Core's own vectors: 104 blocks, and what a node answers for three of them (`rpc_getblockstats.py`).
    const VECTORS: &str = include_str!("../../../tests/fixtures/rpc_getblockstats.json");

    /// The prevouts of a block in the form of spenttxouts, from the outputs of the blocks before it.
    fn spent(block: &Block, coins: &mut HashMap<OutPoint, TxOut>) -> Vec<u8> {
        let mut out = serialize(&VarInt(block.txdata.len() as u64));
        for tx in &block.txdata {
            let inputs: &[_] = if tx.is_coinbase() { &[] } else { &tx.input };
            out.extend(serialize(&VarInt(inputs.len() as u64)));
            for input in inputs {
                out.extend(serialize(&coins[&input.previous_output]));
            }
            let txid = tx.compute_txid();
            let outputs = (0..).zip(&tx.output);
            coins.extend(outputs.map(|(vout, output)| (OutPoint { txid, vout }, output.clone())));
        }
        out
    }

    fn stats_of_vectors() -> Vec<CoreStats> {
        let vectors: Value = serde_json::from_str(VECTORS).unwrap();
        let mut coins = HashMap::new();
        let blocks = vectors["blocks"].as_array().unwrap().iter().map(|hex| hex.as_str().unwrap());
        (0..)
            .zip(blocks)
            .map(|(height, hex)| {
                let bytes = Vec::from_hex(hex).unwrap();
                let spent = spent(&deserialize(&bytes).unwrap(), &mut coins);
                let block = BlockView::parse(&bytes).unwrap();
                let prevouts = PrevoutsView::from_spent_txouts(&spent).unwrap();
                let rows = summary::rows(&block, Some(&prevouts)).unwrap();
                core_stats(Network::Regtest, Height(height), &block, Some(&prevouts), &rows).unwrap()
            })
            .collect()
    }

    fn as_json(stats: &CoreStats) -> Value {
        serde_json::json!({
            "avgfee": stats.avgfee, "avgfeerate": stats.avgfeerate, "avgtxsize": stats.avgtxsize,
            "feerate_percentiles": stats.feerate_percentiles, "ins": stats.ins, "maxfee": stats.maxfee,
            "maxfeerate": stats.maxfeerate, "maxtxsize": stats.maxtxsize, "medianfee": stats.medianfee,
            "mediantxsize": stats.mediantxsize, "minfee": stats.minfee, "minfeerate": stats.minfeerate,
            "mintxsize": stats.mintxsize, "outs": stats.outs, "subsidy": stats.subsidy,
            "swtotal_size": stats.swtotal_size, "swtotal_weight": stats.swtotal_weight, "swtxs": stats.swtxs,
            "total_out": stats.total_out, "total_size": stats.total_size, "total_weight": stats.total_weight,
            "totalfee": stats.totalfee, "txs": stats.txs, "utxo_increase": stats.utxo.increase(),
            "utxo_increase_actual": stats.utxo.increase_actual(),
            "utxo_size_inc": stats.utxo.size_increase(UtxoOverhead::Forty),
            "utxo_size_inc_actual": stats.utxo.size_increase_actual(UtxoOverhead::Forty),
        })
    }

    #[test]
    fn cores_vectors_hold() {
        let vectors: Value = serde_json::from_str(VECTORS).unwrap();
        let stats = stats_of_vectors();
        for (expect, height) in vectors["stats"].as_array().unwrap().iter().zip(101..) {
            let mut expect = expect.as_object().unwrap().clone();
            assert_eq!(expect["height"], height);
            for other in ["blockhash", "height", "time", "mediantime"] {
                expect.remove(other);
            }
            assert_eq!(as_json(&stats[height]), Value::Object(expect), "height {height}");
        }
    }

    /// Further values of `rpc_getblockstats.py`, and those of release 31 (`rpc_getblockstats.json` at v31.0).
    #[test]
    fn genesis_and_both_overheads() {
        let stats = stats_of_vectors();
        let genesis = &stats[0].utxo;
        assert_eq!((genesis.increase(), genesis.increase_actual()), (1, 0));
        assert_eq!(genesis.size_increase(UtxoOverhead::Forty), 116);
        assert_eq!(genesis.size_increase(UtxoOverhead::FortyOne), 117);
        assert_eq!(genesis.size_increase_actual(UtxoOverhead::Forty), 0);
        let last = &stats[103].utxo;
        assert_eq!((last.increase(), last.increase_actual()), (6, 4));
        assert_eq!((last.size_increase(UtxoOverhead::Forty), last.size_increase(UtxoOverhead::FortyOne)), (435, 441));
        let actual = |overhead| last.size_increase_actual(overhead);
        assert_eq!((actual(UtxoOverhead::Forty), actual(UtxoOverhead::FortyOne)), (296, 300));
        assert_eq!(stats[103].feerate_percentiles, [20, 20, 20, 301, 301]);
    }

    /// Core's `CalculateTruncatedMedian`; the last two no valid block holds, but bytes from outside may.
    #[test]
    fn medians_are_truncated() {
        let median = |sorted: &[u64]| spread(sorted).2;
        assert_eq!(median(&[]), 0);
        assert_eq!(median(&[1, 5, 10, 20]), 7);
        assert_eq!(median(&[0, 30]), 15);
        assert_eq!(median(&[u64::MAX - 2, u64::MAX]), u64::MAX - 1);
        assert_eq!(median(&[u64::MAX - 1, u64::MAX]), u64::MAX - 1);
    }

    /// Core's `src/test/rpc_tests.cpp`, `rpc_getblockstats_calculate_percentiles_by_weight`.
    #[test]
    fn percentiles_are_cores() {
        assert_eq!(percentiles(&[(1, 1); 200], 200), [1; 5]);
        let halves = [[(1, 1); 100], [(2, 1); 100]].concat();
        assert_eq!(percentiles(&halves, 200), [1, 1, 1, 2, 2]);
        assert_eq!(percentiles(&[(1, 9), (2, 16), (4, 50), (5, 10), (9, 15)], 100), [2, 2, 4, 4, 9]);
        assert_eq!(percentiles(&[], 0), [0; 5]);
    }
}
