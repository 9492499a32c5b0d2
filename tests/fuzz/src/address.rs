//! Rows of scripts: sums, histories, coins and balances return as the bytes that they were read from.

use std::fmt::Debug;

use hindsight_shared::address::{BalanceAt, Coin, Row, Totals, Touched};

/// Reads `bytes` as rows of each kind.
pub fn run(bytes: &[u8]) {
    check::<Totals>(bytes, |_| true);
    check::<Touched>(bytes, |_| true);
    // Of a coinbase or not: what else stands there is refused.
    check::<Coin>(bytes, |row| row[40] < 2 && row[41..44] == [0; 3]);
    check::<BalanceAt>(bytes, |_| true);
    for totals in Totals::read_all(&bytes[..bytes.len() / Totals::SIZE * Totals::SIZE]).unwrap_or_default() {
        let gone = totals.spent.checked_add(totals.lost);
        assert_eq!(totals.balance().is_some(), gone.is_some_and(|gone| totals.received >= gone));
    }
}

fn check<T: Row + Debug + PartialEq>(bytes: &[u8], is_row: impl Fn(&[u8]) -> bool) {
    let whole = &bytes[..bytes.len() / T::SIZE * T::SIZE];
    let rows = T::read_all(whole);
    assert_eq!(rows.is_ok(), whole.chunks(T::SIZE).all(is_row), "{rows:?}");
    if let Ok(rows) = rows {
        assert_eq!(T::pack_all(&rows), whole);
    }
    if whole.len() < bytes.len() {
        assert!(T::read_all(bytes).is_err(), "half a row");
    }
}
