//! The payload: what decodes encodes back to the same bytes, alone and in a row.

use hindsight_shared::bytes::Reader;
use hindsight_shared::payload::{PREFIX_SIZE, Payload};

/// Reads `bytes` as they are, and with the prefix's two lengths mended: a mutation that moves the end of a part would
/// otherwise never get behind the prefix.
pub fn run(bytes: &[u8]) {
    check(bytes);
    check(&mended(bytes));
}

fn check(bytes: &[u8]) {
    if let Ok(payload) = Payload::decode(bytes) {
        assert_eq!(payload.encode().as_deref(), Ok(bytes));
        let _ = payload.view();
    }
    let mut reader = Reader::new(bytes);
    while let Ok(payload) = Payload::read(&mut reader) {
        let whole = payload.encode().expect("what was read can be written");
        assert_eq!(Payload::decode(&whole), Ok(payload));
    }
}

/// The same bytes with lengths that add up: the prevouts keep theirs as far as there are bytes, the block has the rest.
pub fn mended(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let Some(left) = bytes.len().checked_sub(PREFIX_SIZE) else { return bytes };
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[16..20]);
    let left = u32::try_from(left).unwrap_or(u32::MAX);
    let prevouts = u32::from_le_bytes(word).min(left);
    bytes[16..20].copy_from_slice(&prevouts.to_le_bytes());
    bytes[20..24].copy_from_slice(&(left - prevouts).to_le_bytes());
    bytes
}
