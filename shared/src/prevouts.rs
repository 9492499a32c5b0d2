//! The outputs that a block spends, in the two forms that Bitcoin Core hands out: its undo record (`rev*.dat`) and
//! the answer of `/rest/spenttxouts`.
//!
//! Undo keeps the height and the coinbase flag of each coin and packs amounts and well-known scripts; spenttxouts
//! drops the former and packs nothing. One view reads both, so that nothing behind it knows the difference.
//! Sources: Core's `src/undo.h`, `src/coins.h`, `src/compressor.cpp`, `src/rest.cpp`.

use bitcoin::hashes::{Hash, HashEngine, sha256d};
use bitcoin::secp256k1::PublicKey;
use bitcoin::{Amount, BlockHash, PubkeyHash, ScriptBuf, ScriptHash};

use crate::bytes::{Reader, push_compact_size};
use crate::{DecodeError, Height};

/// Bytes of the checksum behind an undo record.
pub const CHECKSUM_SIZE: usize = 32;

/// Core reads a stored script beyond this size as a lone OP_RETURN (`MAX_SCRIPT_SIZE`).
const MAX_SCRIPT_SIZE: u64 = 10_000;

/// One spent output.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Prevout<'a> {
    /// What it held.
    pub value: Amount,
    /// What locked it.
    pub script: PrevoutScript<'a>,
    /// Where it came from; `None` in spenttxouts and in very old undo records.
    pub created: Option<Created>,
}

/// The block that created a coin.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Created {
    /// The block's height.
    pub height: Height,
    /// Whether the coin was the block's reward.
    pub coinbase: bool,
}

/// A scriptPubKey, packed as Core stores it in undo records.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PrevoutScript<'a> {
    /// Pay to public key hash.
    P2pkh(&'a [u8; 20]),
    /// Pay to script hash.
    P2sh(&'a [u8; 20]),
    /// Pay to a compressed public key: its prefix (2 or 3) and x.
    P2pkCompressed(u8, &'a [u8; 32]),
    /// Pay to an uncompressed public key: the parity of y (0 or 1) and x.
    P2pkUncompressed(u8, &'a [u8; 32]),
    /// Any other script, as it is.
    Raw(&'a [u8]),
    /// A script over 10,000 bytes, which Core reads as a lone OP_RETURN.
    Oversized,
}

impl PrevoutScript<'_> {
    /// Bytes of the script in full.
    pub fn len(self) -> usize {
        match self {
            Self::P2pkh(_) => 25,
            Self::P2sh(_) => 23,
            Self::P2pkCompressed(..) => 35,
            Self::P2pkUncompressed(..) => 67,
            Self::Raw(bytes) => bytes.len(),
            Self::Oversized => 1,
        }
    }

    /// Whether the script holds nothing.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The script in full. A key that is not on the curve gives an empty script, as in Core.
    pub fn to_script(self) -> ScriptBuf {
        match self {
            Self::P2pkh(hash) => ScriptBuf::new_p2pkh(&PubkeyHash::from_byte_array(*hash)),
            Self::P2sh(hash) => ScriptBuf::new_p2sh(&ScriptHash::from_byte_array(*hash)),
            Self::P2pkCompressed(prefix, x) => pay_to_key(&key(prefix, x)),
            Self::P2pkUncompressed(parity, x) => PublicKey::from_slice(&key(2 + parity, x))
                .map(|key| pay_to_key(&key.serialize_uncompressed()))
                .unwrap_or_default(),
            Self::Raw(bytes) => ScriptBuf::from_bytes(bytes.to_vec()),
            Self::Oversized => ScriptBuf::from_bytes(vec![bitcoin::opcodes::all::OP_RETURN.to_u8()]),
        }
    }
}

fn key(prefix: u8, x: &[u8; 32]) -> [u8; 33] {
    let mut key = [prefix; 33];
    key[1..].copy_from_slice(x);
    key
}

fn pay_to_key(key: &[u8]) -> ScriptBuf {
    let length = if key.len() == 33 { 33 } else { 65 };
    let checksig = bitcoin::opcodes::all::OP_CHECKSIG.to_u8();
    ScriptBuf::from_bytes([&[length], key, &[checksig]].concat())
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Form {
    Undo,
    SpentTxouts,
}

/// All prevouts of one block, checked whole once and read in place afterwards.
#[derive(Clone, Debug)]
pub struct PrevoutsView<'a> {
    bytes: &'a [u8],
    form: Form,
    /// Where each transaction's list starts, from the block's second transaction on.
    offsets: Vec<u32>,
}

impl<'a> PrevoutsView<'a> {
    /// Reads an undo record without its checksum.
    pub fn from_undo(undo: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(undo);
        let count = reader.compact_size()?;
        Self::read(undo, Form::Undo, reader, count)
    }

    /// Reads the binary answer of `/rest/spenttxouts`, whose first list is the coinbase's and empty.
    pub fn from_spent_txouts(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let count = reader.compact_size()?;
        let coinbase = reader.compact_size()?;
        if count == 0 || coinbase != 0 {
            return Err(DecodeError::Contradiction("spenttxouts starts with the coinbase's empty list"));
        }
        Self::read(bytes, Form::SpentTxouts, reader, count - 1)
    }

    fn read(bytes: &'a [u8], form: Form, mut reader: Reader<'a>, count: u64) -> Result<Self, DecodeError> {
        // A claimed count allocates no more than a block of ordinary size needs; what is really there may grow it.
        let mut offsets = Vec::with_capacity(usize::try_from(count).unwrap_or(usize::MAX).min(1 << 13));
        for _ in 0..count {
            let at = u32::try_from(reader.position())
                .map_err(|_| DecodeError::Unknown { field: "prevouts length", value: bytes.len() as u64 })?;
            offsets.push(at);
            for _ in 0..reader.compact_size()? {
                form.read(&mut reader)?;
            }
        }
        reader.finish()?;
        Ok(Self { bytes, form, offsets })
    }

    /// Transactions of the block, the coinbase included.
    pub fn tx_count(&self) -> usize {
        self.offsets.len() + 1
    }

    /// What the transaction at `index` of the block spends, in input order; nothing for the coinbase.
    pub fn tx(&self, index: usize) -> TxPrevouts<'a> {
        let offset = index.checked_sub(1).and_then(|index| self.offsets.get(index));
        offset.map_or_else(|| TxPrevouts::empty(self.form), |&offset| self.tx_at(offset))
    }

    /// The bytes of one transaction's list in an undo record: a count, then each prevout. Empty for the coinbase, for an
    /// index beyond the block, and where the prevouts came as spenttxouts.
    pub fn tx_undo(&self, index: usize) -> &'a [u8] {
        let start = index.checked_sub(1).and_then(|index| self.offsets.get(index));
        let Some(&start) = start.filter(|_| self.form == Form::Undo) else { return &[] };
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        let end = self.offsets.get(index).and_then(|&end| usize::try_from(end).ok()).unwrap_or(self.bytes.len());
        self.bytes.get(start..end).unwrap_or_default()
    }

    fn tx_at(&self, offset: u32) -> TxPrevouts<'a> {
        let mut reader = Reader::at(self.bytes, usize::try_from(offset).unwrap_or(usize::MAX));
        let left = reader.compact_size().ok().and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
        TxPrevouts { reader, form: self.form, left }
    }

    /// The block's prevouts as `/rest/spenttxouts/<hash>.bin` writes them (Core `src/rest.cpp`).
    pub fn to_spent_txouts(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes.len() * 3 / 2);
        push_compact_size(&mut out, self.tx_count() as u64);
        for index in 0..self.tx_count() {
            let prevouts = self.tx(index);
            push_compact_size(&mut out, prevouts.len() as u64);
            for prevout in prevouts {
                out.extend_from_slice(&prevout.value.to_sat().to_le_bytes());
                push_script(&mut out, prevout.script);
            }
        }
        out
    }
}

/// Writes the usual scripts without a detour over the heap: a block has thousands of them.
fn push_script(out: &mut Vec<u8>, script: PrevoutScript<'_>) {
    match script {
        PrevoutScript::P2pkh(hash) => {
            out.extend_from_slice(&[25, 0x76, 0xa9, 20]);
            out.extend_from_slice(hash);
            out.extend_from_slice(&[0x88, 0xac]);
        }
        PrevoutScript::P2sh(hash) => {
            out.extend_from_slice(&[23, 0xa9, 20]);
            out.extend_from_slice(hash);
            out.push(0x87);
        }
        PrevoutScript::Raw(bytes) => {
            push_compact_size(out, bytes.len() as u64);
            out.extend_from_slice(bytes);
        }
        other => {
            let script = other.to_script();
            push_compact_size(out, script.len() as u64);
            out.extend_from_slice(script.as_bytes());
        }
    }
}

/// The prevouts of one transaction, in input order.
#[derive(Clone, Debug)]
pub struct TxPrevouts<'a> {
    reader: Reader<'a>,
    form: Form,
    left: usize,
}

impl<'a> TxPrevouts<'a> {
    /// Reads one transaction's list of an undo record, and refuses leftovers.
    pub fn from_undo(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let count = reader.compact_size()?;
        let start = reader;
        for _ in 0..count {
            undo_prevout(&mut reader)?;
        }
        reader.finish()?;
        let left = usize::try_from(count).unwrap_or(usize::MAX);
        Ok(Self { reader: start, form: Form::Undo, left })
    }

    const fn empty(form: Form) -> Self {
        Self { reader: Reader::new(&[]), form, left: 0 }
    }
}

impl<'a> Iterator for TxPrevouts<'a> {
    type Item = Prevout<'a>;

    fn next(&mut self) -> Option<Prevout<'a>> {
        self.left = self.left.checked_sub(1)?;
        // The view was checked whole before it handed out this iterator.
        self.form.read(&mut self.reader).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for TxPrevouts<'_> {}

impl Form {
    fn read<'a>(self, reader: &mut Reader<'a>) -> Result<Prevout<'a>, DecodeError> {
        match self {
            Self::Undo => undo_prevout(reader),
            Self::SpentTxouts => Ok(Prevout {
                value: Amount::from_sat(reader.u64()?),
                script: PrevoutScript::Raw(reader.sized()?),
                created: None,
            }),
        }
    }
}

fn undo_prevout<'a>(reader: &mut Reader<'a>) -> Result<Prevout<'a>, DecodeError> {
    let code = reader.varint()?;
    let height =
        u32::try_from(code >> 1).map_err(|_| DecodeError::Unknown { field: "coin height", value: code >> 1 })?;
    if height > 0 {
        // Once the spent transaction's version; written as 0 today, read as any VARINT.
        reader.varint()?;
    }
    // Height 0 stands for "not recorded": the genesis coinbase cannot be spent.
    let created = (height > 0).then_some(Created { height: Height(height), coinbase: code & 1 == 1 });
    let value = decompress_amount(reader.varint()?);
    Ok(Prevout { value: Amount::from_sat(value), script: undo_script(reader)?, created })
}

fn undo_script<'a>(reader: &mut Reader<'a>) -> Result<PrevoutScript<'a>, DecodeError> {
    Ok(match reader.varint()? {
        0 => PrevoutScript::P2pkh(reader.array()?),
        1 => PrevoutScript::P2sh(reader.array()?),
        2 => PrevoutScript::P2pkCompressed(2, reader.array()?),
        3 => PrevoutScript::P2pkCompressed(3, reader.array()?),
        4 => PrevoutScript::P2pkUncompressed(0, reader.array()?),
        5 => PrevoutScript::P2pkUncompressed(1, reader.array()?),
        size => {
            let bytes = reader.take(size - 6)?;
            if size - 6 > MAX_SCRIPT_SIZE { PrevoutScript::Oversized } else { PrevoutScript::Raw(bytes) }
        }
    })
}

/// Undoes Core's `CompressAmount`; wraps around like Core where the packed amount is none that Core writes.
fn decompress_amount(packed: u64) -> u64 {
    let Some(packed) = packed.checked_sub(1) else { return 0 };
    let zeros = packed % 10;
    let packed = packed / 10;
    let digits =
        if zeros < 9 { (packed / 9).wrapping_mul(10).wrapping_add(packed % 9 + 1) } else { packed.wrapping_add(1) };
    (0..zeros).fold(digits, |value, _| value.wrapping_mul(10))
}

/// Whether an undo record's checksum, `sha256d(prev hash ‖ undo)`, is the one behind it in the file.
pub fn undo_checksum(previous: &BlockHash, undo: &[u8]) -> [u8; CHECKSUM_SIZE] {
    let mut engine = sha256d::Hash::engine();
    engine.input(previous.as_byte_array());
    engine.input(undo);
    sha256d::Hash::from_engine(engine).to_byte_array()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    /// Pairs of Core's `src/test/compress_tests.cpp`.
    #[test]
    fn amounts_unpack_as_in_core() {
        const COIN: u64 = 100_000_000;
        for (packed, value) in
            [(0, 0), (1, 1), (7, COIN / 100), (9, COIN), (0x32, 50 * COIN), (0x0140_6f40, 21_000_000 * COIN)]
        {
            assert_eq!(decompress_amount(packed), value);
        }
    }

    /// An inverse after Core's description of the format, written apart from the decoder.
    fn compress_amount(value: u64) -> u64 {
        if value == 0 {
            return 0;
        }
        let text = value.to_string();
        let zeros = text.bytes().rev().take_while(|&digit| digit == b'0').count().min(9);
        let digits: u64 = text[..text.len() - zeros].parse().unwrap();
        if zeros < 9 {
            1 + 10 * (9 * (digits / 10) + digits % 10 - 1) + zeros as u64
        } else {
            1 + 10 * (digits - 1) + 9
        }
    }

    proptest! {
        #[test]
        fn amounts_return(value in 0..=21_000_000 * 100_000_000_u64) {
            prop_assert_eq!(decompress_amount(compress_amount(value)), value);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            if let Ok(view) = PrevoutsView::from_undo(&bytes) {
                let prevouts = (0..view.tx_count()).flat_map(|index| view.tx(index)).count();
                prop_assert_eq!(prevouts, (0..view.tx_count()).map(|index| view.tx(index).len()).sum::<usize>());
                let spent = view.to_spent_txouts();
                let again = PrevoutsView::from_spent_txouts(&spent).unwrap();
                prop_assert_eq!(again.to_spent_txouts(), spent);
            }
            let _ = PrevoutsView::from_spent_txouts(&bytes);
        }
    }

    #[test]
    fn a_coin_without_height_has_no_origin() {
        // one transaction, one input: code 0, 1 BTC, P2PKH
        let bytes = [&[1, 1, 0, 9, 0][..], &[7; 20]].concat();
        let view = PrevoutsView::from_undo(&bytes).unwrap();
        let prevout = view.tx(1).next().unwrap();
        assert_eq!(prevout.created, None);
        assert_eq!(prevout.value, Amount::ONE_BTC);
        assert_eq!(view.tx(0).len(), 0);
        assert_eq!(view.tx(2).len(), 0);
    }

    #[test]
    fn an_oversized_script_is_read_as_op_return() {
        let bytes = [&[1, 1, 3, 0, 9][..], &[0xcd, 0x17], &[0; 10_001]].concat();
        let view = PrevoutsView::from_undo(&bytes).unwrap();
        let prevout = view.tx(1).next().unwrap();
        assert_eq!(prevout.script.to_script().as_bytes(), [0x6a]);
        assert_eq!(prevout.created, Some(Created { height: Height(1), coinbase: true }));
    }

    /// The genesis coinbase's key, whose full form is in every copy of Core.
    #[test]
    fn an_uncompressed_key_is_recovered() {
        let genesis = bitcoin::blockdata::constants::genesis_block(bitcoin::Network::Bitcoin);
        let script = &genesis.txdata[0].output[0].script_pubkey;
        let x: &[u8; 32] = script.as_bytes()[2..34].try_into().unwrap();
        let parity = script.as_bytes()[65] & 1;
        assert_eq!(&PrevoutScript::P2pkUncompressed(parity, x).to_script(), script);
        assert!(PrevoutScript::P2pkUncompressed(0, &[0xff; 32]).to_script().is_empty());
    }
}
