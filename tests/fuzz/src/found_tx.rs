//! A transaction found by its id: what decodes encodes back to the same bytes, and its transaction is a decoder's of its
//! own; rows of fates return.

use hindsight_shared::bytes::Reader;
use hindsight_shared::found_tx::{Fate, FoundTx, ROW_SIZE};

use crate::tx_payload;

/// Bytes in front of the places.
const HEAD: usize = 16;

/// Reads `bytes` as they are, and with a head that fits them: a mutation that moves the end of a part would otherwise
/// never get behind it.
pub fn run(bytes: &[u8]) {
    check(bytes);
    check(&mended(bytes));
    for row in bytes.as_chunks::<ROW_SIZE>().0 {
        if let Ok(fate) = Fate::read(&mut Reader::new(row)) {
            assert_eq!(&fate.encode(), row);
        }
    }
}

fn check(bytes: &[u8]) {
    let Ok(found) = FoundTx::decode(bytes) else { return };
    assert_eq!(found.encode().as_deref(), Ok(bytes));
    let first = found.places.first().expect("a found transaction is in a block");
    assert_eq!((first.block, first.index), (found.payload.block, found.payload.index));
    let payload = found.payload.encode().expect("what was read can be written");
    assert!(bytes.ends_with(&payload));
    tx_payload::run(&payload);
}

/// The same bytes with as many places and fates as there are, and a transaction that is in the first of its places.
fn mended(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let Some(rows) = bytes.len().checked_sub(HEAD).map(|left| left / ROW_SIZE) else { return bytes };
    let places = word(&bytes, 8).clamp(1, 3).min(rows);
    let fates = word(&bytes, 12).min(rows - places);
    bytes[8..12].copy_from_slice(&u32::try_from(places).unwrap_or(0).to_le_bytes());
    bytes[12..16].copy_from_slice(&u32::try_from(fates).unwrap_or(0).to_le_bytes());
    let mut payload = tx_payload::mended(&bytes[HEAD + ROW_SIZE * (places + fates)..]);
    if places > 0 && payload.len() >= tx_payload::HEAD {
        payload[16..20].copy_from_slice(&bytes[HEAD + 36..HEAD + 40]);
        payload[32..64].copy_from_slice(&bytes[HEAD..HEAD + 32]);
    }
    bytes.truncate(HEAD + ROW_SIZE * (places + fates));
    bytes.extend(payload);
    bytes
}

fn word(bytes: &[u8], at: usize) -> usize {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    usize::try_from(u32::from_le_bytes(word)).unwrap_or(usize::MAX)
}
