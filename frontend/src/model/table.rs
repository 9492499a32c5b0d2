//! Which rows of a block a query lets through, and in which order. Comparisons are exact: a fee rate is the fraction
//! fee over weight, never a rounded number.

use bitcoin::Txid;
use bitcoin::hashes::Hash;
use hindsight_shared::stats::exact::Spread;
use hindsight_shared::summary::TxRow;

use super::bound::{Bound, Column, Side};
use super::query::{Query, Sort};
use crate::number::narrow;

/// Positions in the block of the rows that pass, in the order asked for.
pub fn select(rows: &[TxRow], query: &Query) -> Vec<u32> {
    let prefix = nibbles(&query.prefix);
    let mut order: Vec<u32> =
        (0..).zip(rows).filter(|&(at, row)| passes(query, &prefix, at, row)).map(|(at, _)| at).collect();
    if let Some(sort) = query.sort {
        sort_by(&mut order, rows, sort);
    }
    order
}

fn passes(query: &Query, prefix: &[u8], at: u32, row: &TxRow) -> bool {
    row.flags.contains(query.with)
        && row.flags.0 & query.without.0 == 0
        && (query.kinds.0 == 0 || row.kinds.0 & query.kinds.0 != 0)
        && query.bounds.iter().all(|bound| holds(bound, at, row))
        && starts_with(&row.txid, prefix)
}

/// Whether a row is within a bound; a row without a fee is within none of its bounds.
fn holds(bound: &Bound, at: u32, row: &TxRow) -> bool {
    let against = |number: u64| number.cmp(&bound.value);
    let order = match bound.column {
        Column::Index => against(at.into()),
        Column::Txid => return false,
        Column::Rate => {
            let Some(fee) = row.fee else { return false };
            (u128::from(fee.to_sat()) * 4000).cmp(&(u128::from(bound.value) * u128::from(row.weight)))
        }
        Column::Fee => {
            let Some(fee) = row.fee else { return false };
            against(fee.to_sat())
        }
        Column::Size => against(row.vsize().into()),
        Column::Value => against(row.value.to_sat()),
        Column::Inputs => against(row.inputs.into()),
        Column::Outputs => against(row.outputs.into()),
    };
    match bound.side {
        Side::From => order.is_ge(),
        Side::Above => order.is_gt(),
        Side::Below => order.is_lt(),
        Side::UpTo => order.is_le(),
        Side::Equal => order.is_eq(),
    }
}

/// Sorts positions; equals stay in block order, and rows without a fee come last either way.
fn sort_by(order: &mut [u32], rows: &[TxRow], sort: Sort) {
    let row = |at: u32| &rows[crate::number::index(at)];
    order.sort_by(|&left, &right| {
        let (a, b) = (row(left), row(right));
        let by_fee = matches!(sort.column, Column::Fee | Column::Rate);
        if by_fee && (a.fee.is_none() || b.fee.is_none()) {
            return a.fee.is_none().cmp(&b.fee.is_none());
        }
        let ascending = match sort.column {
            Column::Index => left.cmp(&right),
            Column::Txid => displayed(&a.txid).cmp(displayed(&b.txid)),
            Column::Rate => a.cmp_fee_rate(b),
            Column::Fee => a.fee.cmp(&b.fee),
            Column::Size => a.weight.cmp(&b.weight),
            Column::Value => a.value.cmp(&b.value),
            Column::Inputs => a.inputs.cmp(&b.inputs),
            Column::Outputs => a.outputs.cmp(&b.outputs),
        };
        if sort.descending { ascending.reverse() } else { ascending }
    });
}

/// A txid's bytes in the order in which they are written.
fn displayed(txid: &Txid) -> impl Iterator<Item = &u8> {
    txid.as_byte_array().iter().rev()
}

fn nibbles(hex: &str) -> Vec<u8> {
    hex.chars().filter_map(|digit| u8::try_from(digit.to_digit(16)?).ok()).collect()
}

fn starts_with(txid: &Txid, prefix: &[u8]) -> bool {
    displayed(txid).flat_map(|byte| [byte >> 4, byte & 15]).zip(prefix).all(|(digit, wanted)| digit == *wanted)
}

/// What the rows of a selection come to.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Totals {
    /// How many rows.
    pub rows: u32,
    /// Their weight.
    pub weight: u64,
    /// The fees that are known; absent where none is.
    pub fees: Option<u64>,
    /// The sum of their outputs in satoshis; beyond 64 bits the largest number.
    pub value: u64,
}

/// Adds up a selection.
pub fn totals(rows: &[TxRow], order: &[u32]) -> Totals {
    order.iter().filter_map(|&at| rows.get(crate::number::index(at))).fold(
        Totals { rows: narrow(order.len()), ..Totals::default() },
        |sum, row| Totals {
            weight: sum.weight + u64::from(row.weight),
            fees: match (sum.fees, row.fee) {
                (sum, None) => sum,
                (sum, Some(fee)) => Some(sum.unwrap_or(0).saturating_add(fee.to_sat())),
            },
            value: sum.value.saturating_add(row.value.to_sat()),
            ..sum
        },
    )
}

/// The fee rate, in thousandths, that half of the block's weight pays at least, and the lowest and highest. Rows
/// without a fee are left out; `None` where no row has one.
pub fn rate_range(rows: &[TxRow]) -> Option<(u64, u64, u64)> {
    let Spread { min, percentiles: [_, _, median, ..], max } = Spread::by_transaction(rows);
    rows.iter().any(|row| row.fee.is_some()).then_some((min.milli(), median.milli(), max.milli()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitcoin::{Amount, Wtxid};
    use hindsight_shared::script::{KindSet, ScriptKind};
    use hindsight_shared::summary::Flags;

    fn row(first: u8, fee: Option<u64>, weight: u32) -> TxRow {
        let mut txid = [0; 32];
        txid[31] = first;
        TxRow {
            txid: Txid::from_byte_array(txid),
            wtxid: Wtxid::all_zeros(),
            offset: 0,
            size: weight / 4,
            weight,
            inputs: 1,
            outputs: u32::from(first),
            value: Amount::from_sat(u64::from(first) * 10),
            fee: fee.map(Amount::from_sat),
            kinds: KindSet::one(if first.is_multiple_of(2) { ScriptKind::P2tr } else { ScriptKind::P2pkh }),
            flags: if fee.is_none() { Flags::COINBASE } else { Flags::SEGWIT },
        }
    }

    fn rows() -> Vec<TxRow> {
        // rates: none, 1.0, 0.998, 40, 1.0
        vec![
            row(0x4a, None, 800),
            row(0x4b, Some(100), 400),
            row(0x5c, Some(140), 561),
            row(0x5d, Some(4000), 400),
            row(0x5e, Some(200), 800),
        ]
    }

    #[track_caller]
    fn check(text: &str, expect: &[u32]) {
        assert_eq!(select(&rows(), &Query::parse(text)), expect, "{text}");
    }

    #[test]
    fn filters_are_exact() {
        check("", &[0, 1, 2, 3, 4]);
        check("rate>=1", &[1, 3, 4]);
        check("rate<1", &[2]);
        check("rate>=0.999", &[1, 3, 4]);
        check("rate>0.998 rate<=1", &[1, 2, 4]);
        check("fee>=140 fee<=200", &[2, 4]);
        check("size=141", &[2]);
        check("out>92", &[3, 4]);
        check("value<=750", &[0, 1]);
        check("in=1 #3", &[3]);
        check("p2tr", &[0, 2, 4]);
        check("p2tr p2pkh", &[0, 1, 2, 3, 4]);
        check("p2wsh", &[]);
        check("coinbase", &[0]);
        check("-coinbase segwit 5", &[2, 3, 4]);
        check("5d", &[3]);
        check("5d0", &[3]);
        check("5d1", &[]);
    }

    #[test]
    fn equals_keep_block_order_and_missing_fees_come_last() {
        check("sort:-rate", &[3, 1, 4, 2, 0]);
        check("sort:rate", &[2, 1, 4, 3, 0]);
        check("sort:-fee", &[3, 4, 2, 1, 0]);
        check("sort:fee", &[1, 2, 4, 3, 0]);
        check("sort:-index", &[4, 3, 2, 1, 0]);
        check("sort:-txid", &[4, 3, 2, 1, 0]);
        check("sort:size", &[1, 3, 2, 0, 4]);
        check("sort:-in", &[0, 1, 2, 3, 4]);
    }

    #[test]
    fn sums_and_medians() {
        let rows = rows();
        let sum = totals(&rows, &[1, 3]);
        assert_eq!((sum.rows, sum.weight, sum.fees, sum.value), (2, 800, Some(4100), 0x4b * 10 + 0x5d * 10));
        // by weight: 561 at 0.998, 1200 at 1, 400 at 40: half of 2161 is reached at 1
        assert_eq!(rate_range(&rows), Some((998, 1000, 40_000)));
        assert_eq!(rate_range(&rows[..1]), None);
        assert_eq!(totals(&rows, &[0]).fees, None);
    }

    #[test]
    fn seventy_thousand_rows_are_quick_enough() {
        let many: Vec<_> = (0..70_000_u32)
            .map(|at| row((at % 251) as u8, Some(u64::from(at * 7919 % 65_537)), 400 + at % 97))
            .collect();
        let order = select(&many, &Query::parse("sort:-rate"));
        assert_eq!(order.len(), 70_000);
        let ordered = |pair: &[u32]| many[pair[0] as usize].cmp_fee_rate(&many[pair[1] as usize]).is_ge();
        assert!(order.windows(2).all(ordered));
    }
}
