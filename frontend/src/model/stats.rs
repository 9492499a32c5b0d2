//! A block's statistics as tables of text: what each is called, what it means, and its value by each definition.
//!
//! Core's numbers stand under the names that `getblockstats` gives them.

use hindsight_shared::script::ScriptKind;
use hindsight_shared::stats::core::{CoreStats, UtxoOverhead};
use hindsight_shared::stats::exact::FeeRate;
use hindsight_shared::stats::row::Summary;

use crate::format::{count, group, milli, span};
use crate::settings::Unit;

/// A table: a title, what its columns are, and its lines.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Table {
    /// What it is about, with its unit.
    pub title: String,
    /// Heads of the columns of values.
    pub heads: &'static [&'static str],
    /// Its lines.
    pub lines: Vec<Line>,
}

/// One statistic.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Line {
    /// What it is called; a name of Core's in `code`.
    pub name: String,
    /// How it is defined.
    pub meaning: &'static str,
    /// A value for each column.
    pub values: Vec<String>,
}

const RATES: [(&str, &str); 7] = [
    ("minfeerate", "The lowest fee rate of any transaction but the coinbase."),
    ("10 %", "A tenth of the block's weight pays this rate or less. Core: feerate_percentiles, the first of five."),
    ("25 %", "A quarter of the block's weight pays this rate or less."),
    ("50 %", "Half of the block's weight pays this rate or less: the median by weight."),
    ("75 %", "Three quarters of the block's weight pay this rate or less."),
    ("90 %", "Nine tenths of the block's weight pay this rate or less."),
    ("maxfeerate", "The highest fee rate of any transaction but the coinbase."),
];

/// All tables of a block, amounts in a unit.
pub fn tables(summary: &Summary, unit: Unit) -> Vec<Table> {
    let core = &summary.core;
    vec![rates(summary), fees(core, unit), sizes(core), contents(summary), kinds(summary, unit), coins(summary, unit)]
}

/// Fee rates, three definitions side by side.
fn rates(summary: &Summary) -> Table {
    let Summary { core, by_transaction, by_package, .. } = summary;
    let [p10, p25, p50, p75, p90] = core.feerate_percentiles;
    let truncated = [core.minfeerate, p10, p25, p50, p75, p90, core.maxfeerate];
    let spread = |spread: &hindsight_shared::stats::exact::Spread| {
        let [p10, p25, p50, p75, p90] = spread.percentiles;
        [spread.min, p10, p25, p50, p75, p90, spread.max]
    };
    let exact = spread(by_transaction).into_iter().zip(spread(by_package));
    let mut lines: Vec<Line> = RATES
        .iter()
        .zip(truncated.into_iter().zip(exact))
        .map(|(&(name, meaning), (core, (own, package)))| {
            line(name, meaning, vec![group(core), rate(own), rate(package)])
        })
        .collect();
    let mean = rate(FeeRate { fee: core.totalfee, weight: core.total_weight });
    lines.push(line(
        "avgfeerate",
        "All fees over all weight, the coinbase's left out. Packages cannot change it.",
        vec![group(core.avgfeerate), mean.clone(), mean],
    ));
    Table { title: "Fee rates in sat/vB".to_owned(), heads: &["Core", "exact", "packages"], lines }
}

fn rate(rate: FeeRate) -> String {
    milli(rate.milli(), 3)
}

fn amount(unit: Unit, sats: u64) -> String {
    unit.write(bitcoin::Amount::from_sat(sats))
}

fn fees(core: &CoreStats, unit: Unit) -> Table {
    let amount = |sats| amount(unit, sats);
    let lines = vec![
        line("totalfee", "Sum of all fees: spent outputs minus created ones.", vec![amount(core.totalfee)]),
        line("minfee", "The smallest fee.", vec![amount(core.minfee)]),
        line("medianfee", "The middle one of all fees, each counting once.", vec![amount(core.medianfee)]),
        line("avgfee", "totalfee over the transactions without the coinbase, truncated.", vec![amount(core.avgfee)]),
        line("maxfee", "The largest fee.", vec![amount(core.maxfee)]),
        line(
            "total_out",
            "Sum of all outputs but the coinbase's: mostly change, so no measure of payments.",
            vec![amount(core.total_out)],
        ),
        line(
            "subsidy",
            "What a block of this height may create, whatever its coinbase claims.",
            vec![amount(core.subsidy)],
        ),
    ];
    Table { title: ["Amounts in ", unit.name()].concat(), heads: &["Core"], lines }
}

fn sizes(core: &CoreStats) -> Table {
    let utxo = &core.utxo;
    let signed = |value: i64| [if value < 0 { "−" } else { "" }, &group(value.unsigned_abs())].concat();
    let both = |grown: &dyn Fn(UtxoOverhead) -> i64| {
        [&signed(grown(UtxoOverhead::Forty)), " / ", &signed(grown(UtxoOverhead::FortyOne))].concat()
    };
    let lines = vec![
        number("txs", "Transactions, the coinbase included.", core.txs),
        number("ins", "Inputs, without the coinbase's.", core.ins),
        number("outs", "Outputs, the coinbase's included.", core.outs),
        number("mintxsize", "Bytes of the smallest transaction, witnesses included.", core.mintxsize),
        number("mediantxsize", "Bytes of the middle one.", core.mediantxsize),
        number("avgtxsize", "total_size over the transactions without the coinbase, truncated.", core.avgtxsize),
        number("maxtxsize", "Bytes of the largest.", core.maxtxsize),
        number("total_size", "Bytes of all transactions but the coinbase; header and count left out.", core.total_size),
        number("total_weight", "Weight of the same.", core.total_weight),
        number("swtxs", "Transactions with witnesses, the coinbase left out.", core.swtxs),
        number("swtotal_size", "Their bytes.", core.swtotal_size),
        number("swtotal_weight", "Their weight.", core.swtotal_weight),
        line("utxo_increase", "Outputs minus inputs.", vec![signed(utxo.increase())]),
        line(
            "utxo_increase_actual",
            "The same, without outputs that nobody can ever spend.",
            vec![signed(utxo.increase_actual())],
        ),
        line(
            "utxo_size_inc",
            "Bytes by which the set of unspent outputs grew: as Core counts after release 31 / up to it, when each output \
             weighed a byte more.",
            vec![both(&|overhead| utxo.size_increase(overhead))],
        ),
        line(
            "utxo_size_inc_actual",
            "The same, without outputs that nobody can ever spend.",
            vec![both(&|overhead| utxo.size_increase_actual(overhead))],
        ),
    ];
    Table { title: "Counts and sizes".to_owned(), heads: &["Core"], lines }
}

fn contents(summary: &Summary) -> Table {
    let content = &summary.content;
    let lines = vec![
        number(
            "Witness bytes",
            "Bytes that count a quarter (BIP141), marker and flag included.",
            content.witness_bytes,
        ),
        number("OP_RETURN bytes", "Scripts of outputs that carry data only.", content.op_return_bytes),
        number("Inscriptions", "Envelopes in tapscripts: OP_FALSE OP_IF \"ord\" … OP_ENDIF.", content.envelopes),
        number("Inscription bytes", "Bytes of those envelopes.", content.envelope_bytes),
        number("Sigop cost", "Signature operations as the limit of 80,000 counts them (BIP141).", content.sigop_cost),
    ];
    Table { title: "Contents".to_owned(), heads: &["exact"], lines }
}

fn number(name: &str, meaning: &'static str, value: u64) -> Line {
    line(name, meaning, vec![group(value)])
}

fn kinds(summary: &Summary, unit: Unit) -> Table {
    let amount = |sats| amount(unit, sats);
    let (spent, created) = (&summary.content.spent, &summary.content.created);
    let all = ScriptKind::ALL.iter().zip(spent.iter().zip(created));
    let lines = all.filter(|(_, (spent, created))| spent.count + created.count > 0).map(|(kind, (spent, created))| {
        let values = vec![group(spent.count), amount(spent.value), group(created.count), amount(created.value)];
        line(kind.name(), "Outputs with such a script that this block spends, and creates.", values)
    });
    Table {
        title: ["Scripts, ", unit.name()].concat(),
        heads: &["spent", "worth", "made", "worth"],
        lines: lines.collect(),
    }
}

fn coins(summary: &Summary, unit: Unit) -> Table {
    const BLOCKS_A_DAY: u128 = 144;
    const SATS: u128 = 100_000_000;
    let content = &summary.content;
    let ages = &content.ages;
    // Ten minutes are what a block is meant to take.
    let blocks = |blocks: u64| [&count(blocks, "block"), ", about ", &span(blocks.saturating_mul(600))].concat();
    let amount = |sats| [&amount(unit, sats), " ", unit.name()].concat();
    let mean = ages.destroyed.checked_div(ages.known.value.into()).and_then(|mean| u64::try_from(mean).ok());
    let oldest = ages.oldest.and_then(|oldest| summary.height.0.checked_sub(oldest.0));
    let unknown = || "unknown".to_owned();
    let lines = vec![
        line(
            "Mean age of coins",
            "Blocks since the spent outputs were created, weighted by their value.",
            vec![mean.map_or_else(unknown, blocks)],
        ),
        line(
            "Oldest coin",
            "The age of the oldest output spent here.",
            vec![oldest.map_or_else(unknown, |age| blocks(age.into()))],
        ),
        line(
            "Coin days destroyed",
            "Bitcoin times days that the spent outputs lay still; 144 blocks are a day.",
            vec![group(ages.destroyed / (BLOCKS_A_DAY * SATS))],
        ),
        line(
            "Coins of unknown age",
            "Their undo record keeps no height, as Core's before 2017 did not.",
            vec![group(ages.unknown.count)],
        ),
        line("Claimed by the coinbase", "What the miner pays out to itself.", vec![amount(content.claimed)]),
        line(
            "Left unclaimed",
            "Subsidy and fees minus what was claimed: lost for good.",
            vec![content.unclaimed().map_or_else(unknown, amount)],
        ),
    ];
    Table { title: "Coins and coinbase".to_owned(), heads: &["exact"], lines }
}

fn line(name: &str, meaning: &'static str, values: Vec<String>) -> Line {
    Line { name: name.to_owned(), meaning, values }
}

#[cfg(test)]
mod tests {
    use bitcoin::{Network, consensus::serialize};
    use hindsight_shared::Height;
    use hindsight_shared::block::BlockView;

    use super::*;

    fn genesis() -> Summary {
        let bytes = serialize(&bitcoin::blockdata::constants::genesis_block(Network::Bitcoin));
        Summary::compute(Network::Bitcoin, Height(0), &BlockView::parse(&bytes).unwrap(), None).unwrap()
    }

    #[track_caller]
    fn value(tables: &[Table], name: &str) -> Vec<String> {
        tables.iter().flat_map(|table| &table.lines).find(|line| line.name == name).unwrap().values.clone()
    }

    /// What `getblockstats 0` says, and has said up to release 31.
    #[test]
    fn genesis_is_cores() {
        let tables = tables(&genesis(), Unit::Sat);
        assert_eq!(value(&tables, "subsidy"), ["5,000,000,000"]);
        assert_eq!(value(&tables, "txs"), ["1"]);
        assert_eq!(value(&tables, "utxo_increase"), ["1"]);
        assert_eq!(value(&tables, "utxo_increase_actual"), ["0"]);
        assert_eq!(value(&tables, "utxo_size_inc"), ["116 / 117"]);
        assert_eq!(value(&tables, "Oldest coin"), ["unknown"]);
        assert_eq!(value(&tables, "P2PK"), ["0", "0", "1", "5,000,000,000"]);
    }

    #[test]
    fn rates_stand_side_by_side() {
        let mut summary = genesis();
        summary.core.minfeerate = 1;
        summary.by_transaction.min = FeeRate { fee: 1, weight: 3 };
        summary.by_package.min = FeeRate { fee: 7, weight: 4 };
        assert_eq!(value(&tables(&summary, Unit::Btc), "minfeerate"), ["1", "1.333", "7.000"]);
    }

    #[test]
    fn every_line_has_a_value_for_every_column_and_a_meaning() {
        for table in tables(&genesis(), Unit::Btc) {
            for line in table.lines {
                assert_eq!(line.values.len(), table.heads.len(), "{}", line.name);
                assert!(line.meaning.ends_with('.'), "{}", line.name);
            }
        }
    }
}
