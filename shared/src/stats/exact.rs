//! Fee rates without truncation: fractions of satoshis and weight units, spread by weight.

use std::cmp::Ordering;

use crate::summary::TxRow;

/// A fee rate: satoshis for weight units. Compared as the fraction that it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct FeeRate {
    /// Satoshis.
    pub fee: u64,
    /// Weight units; 0 in the rate of nothing, which is below every other.
    pub weight: u64,
}

impl FeeRate {
    /// What a transaction pays itself; `None` where its fee is unknown, and for a coinbase.
    pub fn of(row: &TxRow) -> Option<Self> {
        Some(Self { fee: row.fee?.to_sat(), weight: row.weight.into() })
    }

    /// Thousandths of a satoshi per virtual byte, rounded down; 0 of nothing.
    pub fn milli(self) -> u64 {
        let milli = (u128::from(self.fee) * 4000).checked_div(self.weight.into()).unwrap_or(0);
        u64::try_from(milli).unwrap_or(u64::MAX)
    }

    /// Both taken together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self { fee: self.fee.saturating_add(other.fee), weight: self.weight.saturating_add(other.weight) }
    }

    /// What is left when a part is taken out.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self { fee: self.fee.saturating_sub(other.fee), weight: self.weight.saturating_sub(other.weight) }
    }
}

impl Ord for FeeRate {
    // Sorting has a dozen places to inline this into, which would double the code of a sort.
    #[inline(never)]
    fn cmp(&self, other: &Self) -> Ordering {
        let cross = |a: &Self, b: &Self| u128::from(a.fee) * u128::from(b.weight);
        cross(self, other).cmp(&cross(other, self)).then((self.weight > 0).cmp(&(other.weight > 0)))
    }
}

impl PartialOrd for FeeRate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for FeeRate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for FeeRate {}

/// Rates at shares of the weight.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Spread {
    /// The lowest rate.
    pub min: FeeRate,
    /// The rates at which 10, 25, 50, 75 and 90 % of the weight are reached, counted from the lowest.
    pub percentiles: [FeeRate; 5],
    /// The highest rate.
    pub max: FeeRate,
}

impl Spread {
    /// Spreads rates, each over the weight beside it. Of nothing: zeros.
    pub fn of(mut rates: Vec<(FeeRate, u64)>) -> Self {
        const SHARES: [u128; 5] = [10, 25, 50, 75, 90];
        // Equal rates of different weights have an order too: else each way of sorting would keep another of them.
        rates.sort_unstable_by_key(|&(rate, weight)| (rate, weight, rate.weight));
        let (Some(&(min, _)), Some(&(max, _))) = (rates.first(), rates.last()) else { return Self::default() };
        let total: u128 = rates.iter().map(|&(_, weight)| u128::from(weight)).sum();
        let mut percentiles = [max; 5];
        let (mut reached, mut next) = (0, 0);
        for (rate, weight) in rates {
            reached += u128::from(weight);
            while next < SHARES.len() && reached * 100 >= total * SHARES[next] {
                percentiles[next] = rate;
                next += 1;
            }
        }
        Self { min, percentiles, max }
    }

    /// Rates that single transactions pay, each over its own weight.
    pub fn by_transaction(rows: &[TxRow]) -> Self {
        Self::of(rows.iter().filter_map(FeeRate::of).map(|rate| (rate, rate.weight)).collect())
    }

    /// Rates of the packages that transactions were mined in (`package::rates`), each over the transaction's weight.
    pub fn by_package(rows: &[TxRow], rates: &[Option<FeeRate>]) -> Self {
        Self::of(rows.iter().zip(rates).filter_map(|(row, rate)| Some(((*rate)?, row.weight.into()))).collect())
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    const fn rate(fee: u64, weight: u64) -> FeeRate {
        FeeRate { fee, weight }
    }

    #[test]
    fn rates_compare_as_fractions() {
        assert_eq!(rate(1, 4), rate(2, 8));
        assert!(rate(141, 561) > rate(141, 562));
        assert!(rate(0, 0) < rate(0, 4));
        assert!(rate(u64::MAX, 1) > rate(u64::MAX, 2));
        assert_eq!(rate(141, 561).milli(), 1005);
        assert_eq!(rate(0, 0).milli(), 0);
    }

    #[test]
    fn percentiles_count_weight() {
        let rates = [(5, 10), (1, 9), (9, 15), (2, 16), (4, 50)].map(|(fee, weight)| (rate(fee, 1), weight));
        let spread = Spread::of(rates.to_vec());
        assert_eq!((spread.min, spread.max), (rate(1, 1), rate(9, 1)));
        assert_eq!(spread.percentiles, [2, 2, 4, 4, 9].map(|fee| rate(fee, 1)));
        assert_eq!(Spread::of(Vec::new()), Spread::default());
    }

    #[test]
    fn equal_rates_are_kept_alike_in_any_order() {
        let rates = [(0, 900), (3, 12), (1, 4), (0, 400), (2, 8)].map(|(fee, weight)| (rate(fee, weight), 100));
        let kept = |spread: Spread| spread.percentiles.map(|rate| (rate.fee, rate.weight));
        let expected = kept(Spread::of(rates.to_vec()));
        assert_eq!(expected, [(0, 400), (0, 900), (1, 4), (2, 8), (3, 12)]);
        for first in 0..rates.len() {
            let mut turned = rates.to_vec();
            turned.rotate_left(first);
            assert_eq!(kept(Spread::of(turned.clone())), expected);
            turned.reverse();
            assert_eq!(kept(Spread::of(turned)), expected);
        }
    }
}
