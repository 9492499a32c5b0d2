//! Rows and checks of a payload: exact sums, rows that return when packed, and every check answered.

use hindsight_shared::bytes::Reader;
use hindsight_shared::payload::Payload;
use hindsight_shared::summary::{ROW_SIZE, TxRow, rows};
use hindsight_shared::verify::{Outcome, Subject, verify};

use crate::payload::mended;

/// Opens a payload as the page does.
pub fn run(bytes: &[u8]) {
    let bytes = mended(bytes);
    let Ok(payload) = Payload::decode(&bytes) else { return };
    let Ok((block, prevouts)) = payload.view() else { return };
    let Ok(rows) = rows(&block, prevouts.as_ref()) else { return };
    assert_eq!(rows.len(), block.tx_count());
    let mut packed = Vec::new();
    for row in &rows {
        row.pack(&mut packed);
        assert_eq!(u64::from(row.vsize()), u64::from(row.weight).div_ceil(4));
        let (fee, weight) = (u128::from(row.fee.unwrap_or_default().to_sat()), u128::from(row.weight));
        match row.fee_rate_milli().map(u128::from) {
            Some(rate) => assert!(rate * weight <= fee * 4000 && fee * 4000 < (rate + 1) * weight),
            None => assert!(row.fee.is_none() || fee * 4000 / weight > u64::MAX.into()),
        }
    }
    assert_eq!(packed.len(), rows.len() * ROW_SIZE);
    let mut reader = Reader::new(&packed);
    for row in &rows {
        assert_eq!(TxRow::unpack(&mut reader), Ok(*row));
    }
    let mut sorted = rows.clone();
    // Sorting panics where an order is none.
    sorted.sort_by(TxRow::cmp_fee_rate);
    let checks = verify(&payload, &block, &rows, Some(block.hash()));
    assert_eq!(checks.len(), 10);
    assert!(checks.iter().all(|check| !check.detail.is_empty()));
    let hash = checks.iter().find(|check| check.subject == Subject::BlockHash);
    assert_eq!(hash.map(|check| check.outcome), Some(Outcome::Passed));
}
