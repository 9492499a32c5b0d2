//! A block's statistics in JSON: each definition under its own name, amounts in satoshis, rates as exact fractions beside
//! Core's truncated ones.

use hindsight_shared::script::ScriptKind;
use hindsight_shared::stats::content::{ByKind, Content, Tally};
use hindsight_shared::stats::core::UtxoOverhead;
use hindsight_shared::stats::exact::{FeeRate, Spread};
use serde_json::{Map, Value, json};

use crate::query::BlockStats;

/// Everything that is known of the block's statistics.
pub fn stats_json(stats: &BlockStats, overhead: UtxoOverhead) -> Value {
    json!({
        "core": core(stats, overhead),
        "exact": { "by_transaction": spread(&stats.summary.by_transaction), "by_package": spread(&stats.summary.by_package) },
        "content": content(&stats.summary.content),
        "miner": {
            "name": stats.miner,
            "tag": String::from_utf8_lossy(&stats.summary.miner).trim_end_matches('\0'),
        },
    })
}

/// The answer of Core's `getblockstats`, field by field.
fn core(stats: &BlockStats, overhead: UtxoOverhead) -> Value {
    let (summary, core) = (&stats.summary, &stats.summary.core);
    json!({
        "avgfee": core.avgfee,
        "avgfeerate": core.avgfeerate,
        "avgtxsize": core.avgtxsize,
        "blockhash": summary.hash,
        "feerate_percentiles": core.feerate_percentiles,
        "height": summary.height,
        "ins": core.ins,
        "maxfee": core.maxfee,
        "maxfeerate": core.maxfeerate,
        "maxtxsize": core.maxtxsize,
        "medianfee": core.medianfee,
        "mediantime": stats.median_time,
        "mediantxsize": core.mediantxsize,
        "minfee": core.minfee,
        "minfeerate": core.minfeerate,
        "mintxsize": core.mintxsize,
        "outs": core.outs,
        "subsidy": core.subsidy,
        "swtotal_size": core.swtotal_size,
        "swtotal_weight": core.swtotal_weight,
        "swtxs": core.swtxs,
        "time": summary.time,
        "total_out": core.total_out,
        "total_size": core.total_size,
        "total_weight": core.total_weight,
        "totalfee": core.totalfee,
        "txs": core.txs,
        "utxo_increase": core.utxo.increase(),
        "utxo_size_inc": core.utxo.size_increase(overhead),
        "utxo_increase_actual": core.utxo.increase_actual(),
        "utxo_size_inc_actual": core.utxo.size_increase_actual(overhead),
    })
}

fn spread(spread: &Spread) -> Value {
    let [p10, p25, p50, p75, p90] = spread.percentiles.map(rate);
    json!({ "min": rate(spread.min), "p10": p10, "p25": p25, "p50": p50, "p75": p75, "p90": p90, "max": rate(spread.max) })
}

/// Satoshis and the weight units that they were paid for: 4 · fee / weight satoshis per virtual byte.
fn rate(rate: FeeRate) -> Value {
    json!({ "fee": rate.fee, "weight": rate.weight })
}

fn content(content: &Content) -> Value {
    json!({
        "spent": by_kind(&content.spent),
        "created": by_kind(&content.created),
        "ages": {
            "known": tally(content.ages.known),
            "unknown": tally(content.ages.unknown),
            // A number of JSON's would lose its last digits.
            "sat_blocks_destroyed": content.ages.destroyed.to_string(),
            "oldest_height": content.ages.oldest,
        },
        "witness_bytes": content.witness_bytes,
        "op_return_bytes": content.op_return_bytes,
        "inscription_envelopes": content.envelopes,
        "inscription_envelope_bytes": content.envelope_bytes,
        "sigop_cost": content.sigop_cost,
        "coinbase": { "claimed": content.claimed, "claimable": content.claimable, "unclaimed": content.unclaimed() },
    })
}

fn by_kind(kinds: &ByKind) -> Value {
    let named = ScriptKind::ALL.iter().zip(kinds).filter(|(_, tally)| tally.count > 0);
    Value::Object(
        named.map(|(kind, kind_tally)| (kind.core_name().to_owned(), tally(*kind_tally))).collect::<Map<_, _>>(),
    )
}

fn tally(tally: Tally) -> Value {
    json!({ "count": tally.count, "value": tally.value })
}
