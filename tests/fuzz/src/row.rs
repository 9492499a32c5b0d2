//! Packed rows of statistics: any bytes are rows, and each returns as the bytes that it was read from.

use hindsight_shared::bytes::Reader;
use hindsight_shared::stats::row::{SUMMARY_SIZE, Summary};

/// Reads `bytes` as rows one after another, as the page reads an answer of summaries.
pub fn run(bytes: &[u8]) {
    let mut reader = Reader::new(bytes);
    for row in bytes.chunks(SUMMARY_SIZE) {
        match Summary::unpack(&mut reader) {
            Ok(summary) => {
                assert_eq!(summary.pack(), row);
                // What the page shows of it.
                let spreads = [summary.by_transaction, summary.by_package];
                for spread in spreads {
                    let _ = spread.percentiles.map(|rate| rate.milli());
                }
                let _ = summary.content.unclaimed();
            }
            Err(_) => assert!(row.len() < SUMMARY_SIZE, "a whole row is refused"),
        }
    }
}
