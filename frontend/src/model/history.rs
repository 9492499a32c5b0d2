//! The history of an address as its page holds it: rows that come page by page, newest first, and what was left after
//! each of them.

use bitcoin::Amount;
use hindsight_shared::Height;
use hindsight_shared::address::{Totals, Touched};

use crate::format::date_time;

/// Rows of a history from the newest downwards.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct History {
    rows: Vec<Touched>,
    /// What the rows up to each have changed together, that row included, in satoshis.
    changes: Vec<i64>,
    /// Whether the oldest row is among them.
    pub complete: bool,
}

impl History {
    /// Appends a page of up to `asked` rows.
    pub fn extend(&mut self, page: Vec<Touched>, asked: u32) {
        self.complete = page.len() < crate::number::index(asked);
        for row in page {
            let before = self.changes.last().copied().unwrap_or(0);
            self.changes.push(before.saturating_add(change(&row)));
            self.rows.push(row);
        }
    }

    /// The rows.
    pub fn rows(&self) -> &[Touched] {
        &self.rows
    }

    /// What the next page lies before.
    pub fn end(&self) -> Option<(Height, u32)> {
        self.rows.last().map(|row| (row.height, row.index))
    }

    /// What was left after a row; `None` where the sums leave out blocks, or are of another moment than the row.
    pub fn balance(&self, at: usize, totals: &Totals) -> Option<Amount> {
        if totals.missing > 0 || self.rows.first()?.height > totals.height {
            return None;
        }
        if totals.lost == totals.received {
            // Nothing that was paid here can be spent.
            return totals.balance();
        }
        let above = at.checked_sub(1).map_or(Some(0), |above| self.changes.get(above).copied())?;
        let now = i64::try_from(totals.balance()?.to_sat()).ok()?;
        u64::try_from(now.checked_sub(above)?).ok().map(Amount::from_sat)
    }
}

/// What a row adds to what can be spent, in satoshis.
fn change(row: &Touched) -> i64 {
    if row.height == Height(0) {
        // Genesis is never connected: what it pays can never be spent.
        return 0;
    }
    let signed = |amount: Amount| i64::try_from(amount.to_sat()).unwrap_or(i64::MAX);
    signed(row.received).saturating_sub(signed(row.spent))
}

/// The history as a table for spreadsheets, in satoshis; the balance stands where it is known.
pub fn csv(history: &History, totals: Option<&Totals>) -> String {
    let mut out = "time (UTC),height,place in block,txid,received (sat),spent (sat),balance (sat)\n".to_owned();
    for (at, row) in history.rows().iter().enumerate() {
        let balance = totals.and_then(|totals| history.balance(at, totals));
        let fields = [
            date_time(row.time, 0),
            row.height.to_string(),
            row.index.to_string(),
            row.txid.to_string(),
            row.received.to_sat().to_string(),
            row.spent.to_sat().to_string(),
            balance.map_or_else(String::new, |balance| balance.to_sat().to_string()),
        ];
        out.push_str(&fields.join(","));
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitcoin::hashes::Hash;
    use bitcoin::{BlockHash, Txid};

    fn row(height: u32, received: u64, spent: u64) -> Touched {
        Touched {
            txid: Txid::all_zeros(),
            height: Height(height),
            index: 1,
            time: 1_231_006_505,
            received: Amount::from_sat(received),
            spent: Amount::from_sat(spent),
        }
    }

    fn totals(missing: u32) -> Totals {
        Totals {
            tip: BlockHash::all_zeros(),
            height: Height(9),
            transactions: 3,
            outputs: 3,
            spent_outputs: 2,
            received: Amount::from_sat(160),
            spent: Amount::from_sat(100),
            lost: Amount::ZERO,
            missing,
            lost_outputs: 0,
        }
    }

    fn history() -> History {
        let mut history = History::default();
        history.extend(vec![row(9, 50, 100), row(5, 10, 0)], 2);
        assert!(!history.complete);
        history.extend(vec![row(3, 100, 0)], 2);
        assert!(history.complete);
        history
    }

    #[test]
    fn balances_run_down_from_the_totals() {
        let history = history();
        let balances = |missing| [0, 1, 2].map(|at| history.balance(at, &totals(missing)).map(Amount::to_sat));
        assert_eq!(balances(0), [Some(60), Some(110), Some(100)]);
        assert_eq!(balances(1), [None; 3], "sums that leave something out tell no balance");
        assert_eq!(history.end(), Some((Height(3), 1)));
        assert_eq!(history.balance(0, &Totals { height: Height(8), ..totals(0) }), None, "sums from before the row");
        assert_eq!(
            history.balance(2, &Totals { received: Amount::from_sat(100), ..totals(0) }),
            Some(Amount::from_sat(40))
        );
    }

    #[test]
    fn what_can_never_be_spent_is_in_no_balance() {
        let mut history = History::default();
        history.extend(vec![row(5, 10, 0), row(0, 50, 0)], 3);
        let of = |received, lost| Totals {
            received: Amount::from_sat(received),
            spent: Amount::ZERO,
            lost: Amount::from_sat(lost),
            ..totals(0)
        };
        let balances = |totals| [0, 1].map(|at| history.balance(at, &totals).map(Amount::to_sat));
        assert_eq!(balances(of(60, 50)), [Some(10), Some(0)], "genesis");
        assert_eq!(balances(of(60, 60)), [Some(0), Some(0)], "a script that can never succeed");
    }

    #[test]
    fn a_table_has_a_line_for_each_row() {
        let text = csv(&history(), Some(&totals(0)));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        let zeros = "0".repeat(64);
        assert_eq!(lines[1], format!("2009-01-03 18:15:05,9,1,{zeros},50,100,60"));
        assert_eq!(csv(&history(), None).lines().nth(3), Some(&*format!("2009-01-03 18:15:05,3,1,{zeros},100,0,")));
    }
}
