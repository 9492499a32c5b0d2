//! One transaction with what it spends: what decodes encodes back to the same bytes, and reads as the `bitcoin` crate
//! reads it.

use bitcoin::Transaction;
use bitcoin::consensus::deserialize;
use hindsight_shared::tx_payload::TxPayload;

use crate::block_view::same_tx;

/// Bytes in front of the prevouts.
pub const HEAD: usize = 64;

/// Reads `bytes` as they are, and with a head that fits them: a mutation that moves the end of a part would otherwise
/// never get behind it.
pub fn run(bytes: &[u8]) {
    check(bytes);
    check(&mended(bytes));
}

fn check(bytes: &[u8]) {
    let Ok(answer) = TxPayload::decode(bytes) else { return };
    assert_eq!(answer.encode().as_deref(), Ok(bytes));
    let Ok((tx, prevouts)) = answer.view() else { return };
    if let Ok(judge) = deserialize::<Transaction>(answer.tx) {
        same_tx(&tx, &judge);
    }
    assert_eq!(prevouts.is_none(), answer.prevouts.is_empty());
    if let Some(prevouts) = prevouts {
        assert_eq!(prevouts.len(), tx.input_count());
        assert_eq!(prevouts.count(), tx.input_count());
    }
}

/// The same bytes with lengths that add up and an encoding that fits them: the prevouts keep their length as far as
/// there are bytes, the transaction has the rest.
pub fn mended(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let Some(left) = bytes.len().checked_sub(HEAD) else { return bytes };
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[20..24]);
    let left = u32::try_from(left).unwrap_or(u32::MAX);
    let prevouts = u32::from_le_bytes(word).min(left);
    bytes[12] = u8::from(prevouts > 0);
    bytes[20..24].copy_from_slice(&prevouts.to_le_bytes());
    bytes[24..28].copy_from_slice(&(left - prevouts).to_le_bytes());
    bytes
}
