//! A transaction found by its id: where it is, its bytes and what it spends, and who spends each of its outputs.
//!
//! Everything is little endian. The table stands in this crate's README.

use bitcoin::hashes::Hash;
use bitcoin::{BlockHash, Txid};

use crate::bytes::Reader;
use crate::tx_payload::TxPayload;
use crate::{DecodeError, Height};

/// The first four bytes of every such answer.
pub const MAGIC: [u8; 4] = *b"HSF1";

/// The media type.
pub const MEDIA_TYPE: &str = "application/vnd.hindsight.found-transaction";

/// The media type of rows of fates alone.
pub const FATE_MEDIA_TYPE: &str = "application/vnd.hindsight.fate";

/// Outputs whose fates are told in one answer; of the others each is to be asked for alone.
pub const MOST_FATES: usize = 1000;

/// Bytes of a place and of a fate.
pub const ROW_SIZE: usize = 40;

const NONE: u32 = u32::MAX;
const UNKNOWN: u32 = u32::MAX - 1;
const UNSPENDABLE: u32 = u32::MAX - 2;

/// A found transaction.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FoundTx<'a> {
    /// The best chain's height, for confirmations.
    pub tip: Height,
    /// Every block of the best chain that holds it, highest first: more than one only of coinbases before BIP30.
    pub places: Vec<TxPlace>,
    /// What became of its first [`MOST_FATES`] outputs.
    pub fates: Vec<Fate>,
    /// It, in the first of its places.
    pub payload: TxPayload<'a>,
}

/// Where a transaction is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TxPlace {
    /// The block.
    pub block: BlockHash,
    /// The block's height.
    pub height: Height,
    /// Its place in the block, from 0.
    pub index: u32,
}

/// What became of an output.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fate {
    /// A transaction of the best chain spends it.
    Spent(Spender),
    /// None does.
    Unspent,
    /// Not all of the blocks above it have been indexed.
    Unknown,
    /// Its script can never succeed, or the rules lost it (Core: `IsUnspendable`, `IsBIP30Unspendable`, genesis).
    Unspendable,
}

/// Who spends an output.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Spender {
    /// The transaction.
    pub txid: Txid,
    /// Which of its inputs.
    pub input: u32,
    /// The height of its block.
    pub height: Height,
}

impl FoundTx<'_> {
    /// The bytes of the answer.
    ///
    /// # Errors
    /// As those of its transaction.
    pub fn encode(&self) -> Result<Vec<u8>, DecodeError> {
        let payload = self.payload.encode()?;
        let count =
            |field, count: usize| u32::try_from(count).map_err(|_| DecodeError::Unknown { field, value: count as u64 });
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&self.tip.0.to_le_bytes());
        out.extend_from_slice(&count("places", self.places.len())?.to_le_bytes());
        out.extend_from_slice(&count("fates", self.fates.len())?.to_le_bytes());
        for place in &self.places {
            out.extend_from_slice(place.block.as_byte_array());
            out.extend_from_slice(&place.height.0.to_le_bytes());
            out.extend_from_slice(&place.index.to_le_bytes());
        }
        for fate in &self.fates {
            out.extend_from_slice(&fate.encode());
        }
        out.extend_from_slice(&payload);
        Ok(out)
    }

    /// Reads an answer that fills the slice.
    ///
    /// # Errors
    /// Where it is none, or something is left over.
    pub fn decode(bytes: &[u8]) -> Result<FoundTx<'_>, DecodeError> {
        let mut reader = Reader::new(bytes);
        let magic = *reader.array::<4>()?;
        if magic != MAGIC {
            return Err(DecodeError::Unknown {
                field: "found transaction magic",
                value: u32::from_be_bytes(magic).into(),
            });
        }
        let tip = Height(reader.u32()?);
        let (places, fates) = (reader.u32()?, reader.u32()?);
        let place = |reader: &mut Reader<'_>| {
            let block = BlockHash::from_byte_array(*reader.array()?);
            Ok(TxPlace { block, height: Height(reader.u32()?), index: reader.u32()? })
        };
        let places = (0..places).map(|_| place(&mut reader)).collect::<Result<Vec<_>, DecodeError>>()?;
        let fates = (0..fates).map(|_| Fate::read(&mut reader)).collect::<Result<Vec<_>, DecodeError>>()?;
        let payload = TxPayload::decode(reader.take(reader.left() as u64)?)?;
        let first = places.first().ok_or(DecodeError::Contradiction("a found transaction is in a block"))?;
        if (first.block, first.index) != (payload.block, payload.index) {
            return Err(DecodeError::Contradiction("a found transaction is in the first of its places"));
        }
        Ok(FoundTx { tip, places, fates, payload })
    }
}

impl Fate {
    /// Spending txid (32) ‖ its input (4) ‖ height of its block (4); where nothing spends the output, zeros and
    /// `0xFFFFFFFF` unspent, `0xFFFFFFFE` unknown, `0xFFFFFFFD` can never be spent.
    pub fn encode(&self) -> [u8; ROW_SIZE] {
        let (txid, input, height) = match self {
            Self::Spent(spender) => (spender.txid.to_byte_array(), spender.input, spender.height.0),
            Self::Unspent => ([0; 32], 0, NONE),
            Self::Unknown => ([0; 32], 0, UNKNOWN),
            Self::Unspendable => ([0; 32], 0, UNSPENDABLE),
        };
        let mut row = [0; ROW_SIZE];
        row[..32].copy_from_slice(&txid);
        row[32..36].copy_from_slice(&input.to_le_bytes());
        row[36..].copy_from_slice(&height.to_le_bytes());
        row
    }

    /// Reads a row.
    ///
    /// # Errors
    /// Where it ends early, or a fate without spender names one.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let txid = Txid::from_byte_array(*reader.array()?);
        let (input, height) = (reader.u32()?, reader.u32()?);
        let alone = match height {
            NONE => Self::Unspent,
            UNKNOWN => Self::Unknown,
            UNSPENDABLE => Self::Unspendable,
            height => return Ok(Self::Spent(Spender { txid, input, height: Height(height) })),
        };
        if input == 0 && txid == Txid::all_zeros() {
            Ok(alone)
        } else {
            Err(DecodeError::Contradiction("what is not spent has no spender"))
        }
    }
}

#[cfg(test)]
mod tests {
    use bitcoin::consensus::serialize;
    use bitcoin::p2p::Magic;
    use proptest::prelude::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn tx() -> Vec<u8> {
        serialize(&bitcoin::blockdata::constants::genesis_block(bitcoin::Network::Bitcoin).txdata[0])
    }

    fn found(tx: &[u8]) -> FoundTx<'_> {
        let block = BlockHash::from_byte_array([1; 32]);
        let place = TxPlace { block, height: Height(7), index: 0 };
        let spender = Spender { txid: Txid::from_byte_array([2; 32]), input: 3, height: Height(8) };
        let payload = TxPayload {
            network: Magic::BITCOIN,
            height: Some(Height(7)),
            absence: None,
            index: 0,
            block,
            prevouts: &[],
            tx,
        };
        let fates = vec![Fate::Spent(spender), Fate::Unspent, Fate::Unknown, Fate::Unspendable];
        FoundTx { tip: Height(9), places: vec![place], fates, payload }
    }

    #[test]
    fn answers_return_and_cuts_are_refused() {
        let tx = tx();
        let bytes = found(&tx).encode().unwrap();
        assert_eq!(FoundTx::decode(&bytes), Ok(found(&tx)));
        for end in 0..bytes.len() {
            assert!(FoundTx::decode(&bytes[..end]).is_err(), "{end}");
        }
        assert!(FoundTx::decode(&[&bytes[..], &[0]].concat()).is_err());
    }

    #[test]
    fn contradictions_are_refused() {
        let tx = tx();
        let elsewhere = TxPlace { block: BlockHash::all_zeros(), height: Height(7), index: 0 };
        assert!(FoundTx::decode(&FoundTx { places: vec![elsewhere], ..found(&tx) }.encode().unwrap()).is_err());
        assert!(FoundTx::decode(&FoundTx { places: Vec::new(), ..found(&tx) }.encode().unwrap()).is_err());
        let mut row = Fate::Unspent.encode();
        row[0] = 1;
        assert!(Fate::read(&mut Reader::new(&row)).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let bytes = [&MAGIC[..], &bytes].concat();
            if let Ok(found) = FoundTx::decode(&bytes) {
                prop_assert_eq!(found.encode().unwrap(), bytes);
            }
        }
    }
}
