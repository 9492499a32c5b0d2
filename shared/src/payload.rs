//! The payload, version 1: a block exactly as in `blk*.dat` behind its prevouts exactly as in `rev*.dat`.
//!
//! Everything is little endian. The table stands in this crate's README.

use bitcoin::BlockHash;
use bitcoin::p2p::Magic;

use crate::block::{BlockView, HEADER_SIZE};
use crate::bytes::Reader;
use crate::prevouts::{CHECKSUM_SIZE, PrevoutsView, undo_checksum};
use crate::{DecodeError, Height};

/// The first four bytes of every payload.
pub const MAGIC: [u8; 4] = *b"HSB1";

/// The format's version: the digit in [`MAGIC`].
pub const VERSION: u32 = 1;

/// Bytes in front of the prevouts.
pub const PREFIX_SIZE: usize = 32;

/// The media type of a payload, and of several one after another.
pub const MEDIA_TYPE: &str = "application/vnd.hindsight.block";

const UNKNOWN_HEIGHT: u32 = u32::MAX;

/// A block with the outputs that it spends, borrowed from where the bytes lie.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Payload<'a> {
    /// The network's magic, as in the block files.
    pub network: Magic,
    /// The block's height, where it is known.
    pub height: Option<Height>,
    /// What kind of block it is.
    pub kind: Kind,
    /// Why something is absent; `None` where nothing is.
    pub absence: Option<Absence>,
    /// The spent outputs.
    pub prevouts: Prevouts<'a>,
    /// The block in consensus serialization with witnesses; empty where it is missing.
    pub block: &'a [u8],
}

/// The spent outputs, in one of the forms that Core hands out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Prevouts<'a> {
    /// None are there.
    Absent,
    /// Core's undo record followed by its checksum, as in the rev files.
    Undo(&'a [u8]),
    /// The answer of Core's `/rest/spenttxouts/<hash>.bin`.
    SpentTxouts(&'a [u8]),
}

/// What kind of block a payload holds.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Kind {
    /// A mined block.
    #[default]
    Block,
    /// A block that might be mined next: no proof of work, no witness commitment to check.
    Projected,
}

/// Why prevouts, or the block itself, are absent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Absence {
    /// The first block spends nothing and has no undo record.
    Genesis,
    /// The node has stored the block but never connected it to a chain.
    NotConnected,
    /// The node has deleted the file.
    Pruned,
    /// The bytes on disk are not what they should be.
    Damaged,
    /// The server has not read that far, or the node is still writing.
    NotReadYet,
}

impl Absence {
    /// The code that stands for a reason in every format; 0 for none.
    pub(crate) const fn to_code(absence: Option<Self>) -> u8 {
        match absence {
            None => 0,
            Some(Self::Genesis) => 1,
            Some(Self::NotConnected) => 2,
            Some(Self::Pruned) => 3,
            Some(Self::Damaged) => 4,
            Some(Self::NotReadYet) => 5,
        }
    }

    pub(crate) fn from_code(code: u8) -> Result<Option<Self>, DecodeError> {
        Ok(Some(match code {
            0 => return Ok(None),
            1 => Self::Genesis,
            2 => Self::NotConnected,
            3 => Self::Pruned,
            4 => Self::Damaged,
            5 => Self::NotReadYet,
            _ => return Err(DecodeError::Unknown { field: "absence", value: code.into() }),
        }))
    }
}

impl<'a> Prevouts<'a> {
    const fn parts(self) -> (u8, &'a [u8]) {
        match self {
            Self::Absent => (0, &[]),
            Self::Undo(bytes) => (1, bytes),
            Self::SpentTxouts(bytes) => (2, bytes),
        }
    }

    fn from_parts(encoding: u8, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match encoding {
            0 if bytes.is_empty() => Ok(Self::Absent),
            0 => Err(DecodeError::Contradiction("prevouts are absent and have a length")),
            1 if bytes.len() <= CHECKSUM_SIZE => {
                Err(DecodeError::Contradiction("an undo record is longer than its checksum"))
            }
            1 => Ok(Self::Undo(bytes)),
            2 if bytes.is_empty() => Err(DecodeError::Contradiction("prevouts are there and have no length")),
            2 => Ok(Self::SpentTxouts(bytes)),
            _ => Err(DecodeError::Unknown { field: "prevout encoding", value: encoding.into() }),
        }
    }

    /// Reads the prevouts; `None` where they are absent.
    pub fn view(self) -> Result<Option<PrevoutsView<'a>>, DecodeError> {
        match self {
            Self::Absent => Ok(None),
            Self::Undo(bytes) => PrevoutsView::from_undo(split_checksum(bytes).0).map(Some),
            Self::SpentTxouts(bytes) => PrevoutsView::from_spent_txouts(bytes).map(Some),
        }
    }

    /// Reads the prevouts of a block, which has to be theirs by checksum and counts; `None` where they are absent.
    ///
    /// # Errors
    /// Where they do not decode, or belong to another block.
    pub fn view_of(self, block: &BlockView<'_>) -> Result<Option<PrevoutsView<'a>>, DecodeError> {
        if self.checksum_holds(&block.header().prev_blockhash) == Some(false) {
            return Err(DecodeError::Contradiction(
                "the undo record's checksum fits neither it nor the block's parent",
            ));
        }
        let view = self.view()?;
        view.as_ref().map_or(Ok(()), |view| same_counts(block, view))?;
        Ok(view)
    }

    /// Whether the checksum that Core stored with the undo record fits it and the block's parent; `None` for a form
    /// that has no checksum.
    pub fn checksum_holds(self, previous: &BlockHash) -> Option<bool> {
        let Self::Undo(bytes) = self else { return None };
        let (undo, checksum) = split_checksum(bytes);
        Some(undo_checksum(previous, undo) == checksum)
    }
}

/// Parts an undo record from the checksum behind it.
pub fn split_checksum(undo: &[u8]) -> (&[u8], &[u8]) {
    undo.split_at(undo.len().saturating_sub(CHECKSUM_SIZE))
}

impl<'a> Payload<'a> {
    /// Reads one payload that fills the slice.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let payload = Self::read(&mut reader)?;
        reader.finish()?;
        Ok(payload)
    }

    /// Reads the next of several payloads that follow one another.
    pub fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let magic = *reader.array::<4>()?;
        if magic != MAGIC {
            return Err(DecodeError::Unknown { field: "payload magic", value: u32::from_be_bytes(magic).into() });
        }
        let network = Magic::from_bytes(*reader.array()?);
        let height = Some(reader.u32()?).filter(|&height| height != UNKNOWN_HEIGHT).map(Height);
        let encoding = reader.u8()?;
        let kind = match reader.u8()? {
            0 => Kind::Block,
            1 => Kind::Projected,
            other => return Err(DecodeError::Unknown { field: "payload kind", value: other.into() }),
        };
        let absence = Absence::from_code(reader.u8()?)?;
        let reserved = u64::from(reader.u8()?);
        let prevouts_size = reader.u32()?;
        let block_size = reader.u32()?;
        let reserved = reserved | reader.u64()?;
        if reserved != 0 {
            return Err(DecodeError::Unknown { field: "reserved", value: reserved });
        }
        let prevouts = Prevouts::from_parts(encoding, reader.take(prevouts_size.into())?)?;
        let block = reader.take(block_size.into())?;
        Self { network, height, kind, absence, prevouts, block }.consistent()
    }

    fn consistent(self) -> Result<Self, DecodeError> {
        let complete = self.prevouts != Prevouts::Absent && !self.block.is_empty();
        if complete == self.absence.is_some() {
            return Err(DecodeError::Contradiction(
                "something is absent without a reason, or nothing is and there is one",
            ));
        }
        if self.block.is_empty() && self.prevouts != Prevouts::Absent {
            return Err(DecodeError::Contradiction("prevouts of a missing block"));
        }
        if !self.block.is_empty() && self.block.len() <= HEADER_SIZE {
            return Err(DecodeError::Contradiction("a block is longer than its header"));
        }
        Ok(self)
    }

    /// The bytes in front of the prevouts: `prefix ‖ prevouts ‖ block` is the payload.
    ///
    /// Fails where a part is longer than 32 bits can say, or the parts contradict one another.
    pub fn prefix(&self) -> Result<[u8; PREFIX_SIZE], DecodeError> {
        self.consistent()?;
        let (encoding, prevouts) = self.prevouts.parts();
        let size = |field, bytes: &[u8]| {
            u32::try_from(bytes.len()).map_err(|_| DecodeError::Unknown { field, value: bytes.len() as u64 })
        };
        let mut prefix = [0; PREFIX_SIZE];
        prefix[0..4].copy_from_slice(&MAGIC);
        prefix[4..8].copy_from_slice(&self.network.to_bytes());
        prefix[8..12].copy_from_slice(&self.height.map_or(UNKNOWN_HEIGHT, |height| height.0).to_le_bytes());
        prefix[12] = encoding;
        prefix[13] = u8::from(self.kind == Kind::Projected);
        prefix[14] = Absence::to_code(self.absence);
        prefix[16..20].copy_from_slice(&size("prevouts length", prevouts)?.to_le_bytes());
        prefix[20..24].copy_from_slice(&size("block length", self.block)?.to_le_bytes());
        Ok(prefix)
    }

    /// The payload's bytes.
    pub fn encode(&self) -> Result<Vec<u8>, DecodeError> {
        Ok([&self.prefix()?[..], self.prevouts.parts().1, self.block].concat())
    }

    /// Reads the block and its prevouts, and holds the counts of the one against those of the other.
    pub fn view(&self) -> Result<(BlockView<'a>, Option<PrevoutsView<'a>>), DecodeError> {
        let block = BlockView::parse(self.block)?;
        let prevouts = self.prevouts.view()?;
        if let Some(prevouts) = &prevouts {
            same_counts(&block, prevouts)?;
        }
        Ok((block, prevouts))
    }
}

/// Refuses prevouts of another block: each transaction has to have as many as it has inputs.
pub fn same_counts(block: &BlockView<'_>, prevouts: &PrevoutsView<'_>) -> Result<(), DecodeError> {
    let differ = |what, index, block, prevouts| DecodeError::Mismatch { what, index, block, prevouts };
    if block.tx_count() != prevouts.tx_count() {
        return Err(differ("transactions of block", 0, block.tx_count(), prevouts.tx_count()));
    }
    for (index, tx) in block.txs().enumerate().skip(1) {
        let count = prevouts.tx(index).len();
        if count != tx.input_count() {
            return Err(differ("inputs of transaction", index, tx.input_count(), count));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitcoin::consensus::serialize;
    use proptest::prelude::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn genesis() -> Vec<u8> {
        serialize(&bitcoin::blockdata::constants::genesis_block(bitcoin::Network::Bitcoin))
    }

    fn payload(block: &[u8]) -> Payload<'_> {
        Payload {
            network: Magic::BITCOIN,
            height: Some(Height(0)),
            kind: Kind::Block,
            absence: Some(Absence::Genesis),
            prevouts: Prevouts::Absent,
            block,
        }
    }

    /// Byte by byte after the table of the design.
    #[test]
    fn the_prefix_is_the_documented_one() {
        let block = genesis();
        let bytes = payload(&block).encode().unwrap();
        let expect = [
            b'H', b'S', b'B', b'1', 0xf9, 0xbe, 0xb4, 0xd9, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0x1d, 0x01, 0, 0, 0, 0,
            0, 0, 0, 0, 0, 0,
        ];
        assert_eq!(bytes[..32], expect);
        assert_eq!(bytes[32..], block[..]);
    }

    #[test]
    fn what_the_format_does_not_know_is_refused() {
        let block = genesis();
        let bytes = payload(&block).encode().unwrap();
        for (at, byte) in [
            (0, b'X'),
            (3, b'2'),
            (12, 1),
            (12, 2),
            (12, 3),
            (13, 2),
            (14, 0),
            (14, 6),
            (15, 1),
            (16, 1),
            (20, 0),
            (24, 1),
            (31, 1),
        ] {
            let mut bad = bytes.clone();
            bad[at] = byte;
            assert!(Payload::decode(&bad).is_err(), "byte {at} = {byte}");
        }
        for end in 0..bytes.len() {
            assert!(Payload::decode(&bytes[..end]).is_err(), "cut at {end}");
        }
        let more = [&bytes[..], &[0]].concat();
        assert_eq!(Payload::decode(&more), Err(DecodeError::Leftover { count: 1 }));
    }

    #[test]
    fn payloads_follow_one_another() {
        let block = genesis();
        let missing =
            Payload { block: &[], height: Some(Height(1)), absence: Some(Absence::Pruned), ..payload(&block) };
        let bytes = [payload(&block).encode().unwrap(), missing.encode().unwrap()].concat();
        let mut reader = Reader::new(&bytes);
        assert_eq!(Payload::read(&mut reader), Ok(payload(&block)));
        assert_eq!(Payload::read(&mut reader), Ok(missing));
        assert_eq!(reader.finish(), Ok(()));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(mut bytes: Vec<u8>, honest: bool) {
            if honest && bytes.len() > 4 {
                bytes[..4].copy_from_slice(&MAGIC);
            }
            if let Ok(payload) = Payload::decode(&bytes) {
                prop_assert_eq!(payload.encode().unwrap(), bytes.clone());
                let _ = payload.view();
            }
        }

        #[test]
        fn payloads_return(height: Option<u16>, undo in proptest::collection::vec(any::<u8>(), 33..99), form in 1_u8..3) {
            let block = genesis();
            let prevouts = Prevouts::from_parts(form, &undo).unwrap();
            let payload = Payload { height: height.map(|height| Height(height.into())), absence: None, prevouts, ..payload(&block) };
            let bytes = payload.encode().unwrap();
            prop_assert_eq!(Payload::decode(&bytes), Ok(payload));
        }
    }
}
