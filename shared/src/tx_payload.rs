//! One transaction with the outputs that it spends: the small sister of the block's payload.
//!
//! Everything is little endian. The table stands in this crate's README.

use bitcoin::BlockHash;
use bitcoin::hashes::Hash;
use bitcoin::p2p::Magic;

use crate::block::TxView;
use crate::bytes::Reader;
use crate::payload::Absence;
use crate::prevouts::TxPrevouts;
use crate::{DecodeError, Height};

/// The first four bytes of every such answer.
pub const MAGIC: [u8; 4] = *b"HST1";

/// The media type.
pub const MEDIA_TYPE: &str = "application/vnd.hindsight.transaction";

const UNKNOWN_HEIGHT: u32 = u32::MAX;

/// A transaction in its block.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TxPayload<'a> {
    /// The network's magic, as in the block files.
    pub network: Magic,
    /// The block's height, where it is known.
    pub height: Option<Height>,
    /// Why the prevouts are absent; `None` where they are not. A coinbase has none, and nothing is absent.
    pub absence: Option<Absence>,
    /// Its place in the block, from 0.
    pub index: u32,
    /// The block.
    pub block: BlockHash,
    /// The spent outputs as Core's undo record has them for one transaction: a count, then each; empty where absent.
    pub prevouts: &'a [u8],
    /// The transaction in consensus serialization with witnesses.
    pub tx: &'a [u8],
}

impl<'a> TxPayload<'a> {
    /// The bytes of the answer.
    ///
    /// # Errors
    /// Where a part is longer than 32 bits can say, or the parts contradict one another.
    pub fn encode(&self) -> Result<Vec<u8>, DecodeError> {
        let checked = self.consistent()?;
        let size = |field, bytes: &[u8]| {
            u32::try_from(bytes.len()).map_err(|_| DecodeError::Unknown { field, value: bytes.len() as u64 })
        };
        let mut out = Vec::with_capacity(64 + checked.prevouts.len() + checked.tx.len());
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&checked.network.to_bytes());
        out.extend_from_slice(&checked.height.map_or(UNKNOWN_HEIGHT, |height| height.0).to_le_bytes());
        out.extend_from_slice(&[u8::from(!checked.prevouts.is_empty()), 0, Absence::to_code(checked.absence), 0]);
        out.extend_from_slice(&checked.index.to_le_bytes());
        out.extend_from_slice(&size("prevouts length", checked.prevouts)?.to_le_bytes());
        out.extend_from_slice(&size("transaction length", checked.tx)?.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(checked.block.as_byte_array());
        out.extend_from_slice(checked.prevouts);
        out.extend_from_slice(checked.tx);
        Ok(out)
    }

    /// Reads an answer that fills the slice.
    ///
    /// # Errors
    /// Where it is none, or something is left over.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let magic = *reader.array::<4>()?;
        if magic != MAGIC {
            return Err(DecodeError::Unknown { field: "transaction magic", value: u32::from_be_bytes(magic).into() });
        }
        let network = Magic::from_bytes(*reader.array()?);
        let height = Some(reader.u32()?).filter(|&height| height != UNKNOWN_HEIGHT).map(Height);
        let [encoding, zero, absence, zero2] = *reader.array()?;
        let absence = Absence::from_code(absence)?;
        let index = reader.u32()?;
        let (prevouts_size, tx_size, reserved) = (reader.u32()?, reader.u32()?, reader.u32()?);
        if encoding > 1 {
            return Err(DecodeError::Unknown { field: "prevout encoding", value: encoding.into() });
        }
        if (zero | zero2) != 0 || reserved != 0 {
            return Err(DecodeError::Unknown { field: "reserved", value: reserved.into() });
        }
        let block = BlockHash::from_byte_array(*reader.array()?);
        let prevouts = reader.take(prevouts_size.into())?;
        let tx = reader.take(tx_size.into())?;
        reader.finish()?;
        if prevouts.is_empty() != (encoding == 0) {
            return Err(DecodeError::Contradiction("prevouts and their encoding"));
        }
        Self { network, height, absence, index, block, prevouts, tx }.consistent()
    }

    /// Reads the transaction and what it spends; `None` where the prevouts are absent.
    ///
    /// # Errors
    /// Where either does not decode, or their counts differ.
    pub fn view(&self) -> Result<(TxView<'a>, Option<TxPrevouts<'a>>), DecodeError> {
        let tx = TxView::parse(self.tx)?;
        if self.prevouts.is_empty() {
            return Ok((tx, None));
        }
        let prevouts = TxPrevouts::from_undo(self.prevouts)?;
        if prevouts.len() != tx.input_count() {
            let (block, prevouts) = (tx.input_count(), prevouts.len());
            return Err(DecodeError::Mismatch { what: "inputs of transaction", index: 0, block, prevouts });
        }
        Ok((tx, Some(prevouts)))
    }

    fn consistent(self) -> Result<Self, DecodeError> {
        if self.tx.is_empty() {
            return Err(DecodeError::Contradiction("a transaction has bytes"));
        }
        match (self.prevouts.is_empty(), self.index, self.absence) {
            (false, 0, _) => Err(DecodeError::Contradiction("a coinbase spends nothing")),
            (false, _, Some(_)) => Err(DecodeError::Contradiction("prevouts are there and said to be absent")),
            (true, 1.., None) => Err(DecodeError::Contradiction("prevouts are absent without a reason")),
            _ => Ok(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use bitcoin::consensus::serialize;
    use proptest::prelude::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn tx() -> Vec<u8> {
        serialize(&bitcoin::blockdata::constants::genesis_block(bitcoin::Network::Bitcoin).txdata[0])
    }

    fn payload<'a>(tx: &'a [u8], prevouts: &'a [u8]) -> TxPayload<'a> {
        let block = BlockHash::from_byte_array([9; 32]);
        TxPayload { network: Magic::BITCOIN, height: Some(Height(5)), absence: None, index: 1, block, prevouts, tx }
    }

    #[test]
    fn an_answer_returns_and_can_be_read() {
        let (tx, undo) = (tx(), [&[1, 4, 0, 9, 0][..], &[7; 20]].concat());
        let bytes = payload(&tx, &undo).encode().unwrap();
        let decoded = TxPayload::decode(&bytes).unwrap();
        assert_eq!(decoded, payload(&tx, &undo));
        let (view, prevouts) = decoded.view().unwrap();
        assert_eq!(view.output_count(), 1);
        assert_eq!(prevouts.unwrap().next().unwrap().created.unwrap().height, Height(2));
        for end in 0..bytes.len() {
            assert!(TxPayload::decode(&bytes[..end]).is_err());
        }
    }

    #[test]
    fn contradictions_are_refused() {
        let (tx, undo) = (tx(), [&[1, 4, 0, 9, 0][..], &[7; 20]].concat());
        assert!(TxPayload { index: 0, ..payload(&tx, &undo) }.encode().is_err());
        assert!(TxPayload { absence: Some(Absence::Pruned), ..payload(&tx, &undo) }.encode().is_err());
        assert!(payload(&tx, &[]).encode().is_err());
        assert!(payload(&[], &undo).encode().is_err());
        assert!(TxPayload { absence: Some(Absence::Pruned), ..payload(&tx, &[]) }.encode().is_ok());
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(
            height in proptest::option::of(0..u32::MAX),
            absence in 0..=5_u8,
            index in 0..3_u32,
            hash: [u8; 32],
            prevouts in proptest::collection::vec(any::<u8>(), 0..3),
            tx in proptest::collection::vec(any::<u8>(), 0..3),
        ) {
            let payload = TxPayload {
                network: Magic::REGTEST,
                height: height.map(Height),
                absence: Absence::from_code(absence).unwrap(),
                index,
                block: BlockHash::from_byte_array(hash),
                prevouts: &prevouts,
                tx: &tx,
            };
            // Prevouts are there, or a reason why not; a coinbase has none.
            let whole = match (index, prevouts.is_empty()) {
                (0, empty) => empty,
                (_, empty) => empty != payload.absence.is_none(),
            };
            match payload.encode() {
                Ok(bytes) => prop_assert_eq!(TxPayload::decode(&bytes).unwrap(), payload),
                Err(_) => prop_assert!(!whole || tx.is_empty()),
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), honest: bool) {
            if honest && bytes.len() > 4 {
                bytes[..4].copy_from_slice(&MAGIC);
            }
            if let Ok(payload) = TxPayload::decode(&bytes) {
                prop_assert_eq!(payload.encode().unwrap(), bytes.clone());
                let _ = payload.view();
            }
        }
    }
}
