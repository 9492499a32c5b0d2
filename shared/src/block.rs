//! A block in place: one walk over the bytes finds every transaction, and everything else is read from the slice
//! when it is asked for.
//!
//! The walk is this crate's own, not the `bitcoin` crate's, because a page needs each transaction's place and the
//! slices it is hashed from, and needs them for thousands of transactions without an allocation for each. The tests
//! hold it against the `bitcoin` crate.

use bitcoin::block::Header;
use bitcoin::hashes::{Hash, HashEngine, sha256d};
use bitcoin::{Amount, BlockHash, Script, Txid, Weight, Wtxid};

use crate::DecodeError;
use crate::bytes::Reader;

mod merkle;

pub use merkle::merkle_root;

/// A header's size.
pub const HEADER_SIZE: usize = 80;

/// No transaction is smaller: version, one empty list of inputs and one of outputs, locktime.
const MIN_TX_SIZE: usize = 10;

/// A block whose every transaction has been found.
#[derive(Clone, Debug)]
pub struct BlockView<'a> {
    bytes: &'a [u8],
    header: Header,
    txs: Vec<TxPlace>,
}

/// Where one transaction lies and how it is divided; offsets count from the transaction's start.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct TxPlace {
    offset: u32,
    parts: TxParts,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct TxParts {
    size: u32,
    /// Start of the outputs, at their count.
    outputs: u32,
    /// End of the outputs: the witnesses where there are any, else the locktime.
    base_end: u32,
    input_count: u32,
    output_count: u32,
    segwit: bool,
}

impl<'a> BlockView<'a> {
    /// Finds every transaction of a block in consensus serialization, and refuses leftovers.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let header = header(reader.array()?);
        let count = reader.compact_size()?;
        let most = reader.left() / MIN_TX_SIZE;
        let mut txs = Vec::with_capacity(usize::try_from(count).unwrap_or(usize::MAX).min(most));
        for _ in 0..count {
            let offset = offset_u32(reader.position())?;
            txs.push(TxPlace { offset, parts: TxParts::read(&mut reader)? });
        }
        reader.finish()?;
        Ok(Self { bytes, header, txs })
    }

    /// The block's bytes.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The block's header.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The header's hash.
    pub fn hash(&self) -> BlockHash {
        self.header.block_hash()
    }

    /// How many transactions there are.
    pub fn tx_count(&self) -> usize {
        self.txs.len()
    }

    /// The transaction at `index`.
    pub fn tx(&self, index: usize) -> Option<TxView<'a>> {
        self.txs.get(index).map(|place| self.view(place))
    }

    /// All transactions in block order.
    pub fn txs(&self) -> impl ExactSizeIterator<Item = TxView<'a>> + '_ {
        self.txs.iter().map(|place| self.view(place))
    }

    fn view(&self, place: &TxPlace) -> TxView<'a> {
        let start = index(place.offset);
        let bytes = self.bytes.get(start..start + index(place.parts.size)).unwrap_or_default();
        TxView { bytes, offset: place.offset, parts: place.parts }
    }

    /// Weight of the whole block (BIP141): three times the size without witnesses plus the size with them.
    pub fn weight(&self) -> Weight {
        let witness: usize = self.txs().map(|tx| tx.size() - tx.base_size()).sum();
        Weight::from_wu((4 * self.bytes.len() - 3 * witness) as u64)
    }
}

/// Reads a header: any 80 bytes are one.
pub fn header(bytes: &[u8; HEADER_SIZE]) -> Header {
    let field = |at: usize| {
        let mut word = [0; 4];
        word.copy_from_slice(&bytes[at..at + 4]);
        u32::from_le_bytes(word)
    };
    let hash = |at: usize| {
        let mut hash = [0; 32];
        hash.copy_from_slice(&bytes[at..at + 32]);
        hash
    };
    Header {
        version: bitcoin::block::Version::from_consensus(i32::from_le_bytes(field(0).to_le_bytes())),
        prev_blockhash: BlockHash::from_byte_array(hash(4)),
        merkle_root: bitcoin::TxMerkleNode::from_byte_array(hash(36)),
        time: field(68),
        bits: bitcoin::CompactTarget::from_consensus(field(72)),
        nonce: field(76),
    }
}

fn index(offset: u32) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

fn offset_u32(offset: usize) -> Result<u32, DecodeError> {
    u32::try_from(offset).map_err(|_| DecodeError::Unknown { field: "offset", value: offset as u64 })
}

impl TxParts {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let start = reader.position();
        reader.take(4)?;
        let (segwit, input_count) = match reader.compact_size()? {
            0 => {
                let flags = reader.u8()?;
                if flags != 1 {
                    return Err(DecodeError::Unknown { field: "transaction flags", value: flags.into() });
                }
                (true, reader.compact_size()?)
            }
            count => (false, count),
        };
        for _ in 0..input_count {
            reader.take(36)?;
            reader.sized()?;
            reader.take(4)?;
        }
        let outputs = reader.position() - start;
        let output_count = reader.compact_size()?;
        for _ in 0..output_count {
            reader.take(8)?;
            reader.sized()?;
        }
        let base_end = reader.position() - start;
        if segwit {
            read_witnesses(reader, input_count)?;
        }
        reader.take(4)?;
        Ok(Self {
            size: offset_u32(reader.position() - start)?,
            outputs: offset_u32(outputs)?,
            base_end: offset_u32(base_end)?,
            input_count: count_u32("input count", input_count)?,
            output_count: count_u32("output count", output_count)?,
            segwit,
        })
    }
}

fn read_witnesses(reader: &mut Reader<'_>, input_count: u64) -> Result<(), DecodeError> {
    let mut items = 0;
    for _ in 0..input_count {
        let count = reader.compact_size()?;
        for _ in 0..count {
            reader.sized()?;
        }
        items |= count;
    }
    // Core: "Superfluous witness record".
    if items == 0 { Err(DecodeError::Contradiction("witness flag without a witness")) } else { Ok(()) }
}

fn count_u32(field: &'static str, value: u64) -> Result<u32, DecodeError> {
    u32::try_from(value).map_err(|_| DecodeError::Unknown { field, value })
}

/// One transaction, read in place.
#[derive(Clone, Copy, Debug)]
pub struct TxView<'a> {
    bytes: &'a [u8],
    offset: u32,
    parts: TxParts,
}

impl<'a> TxView<'a> {
    /// Reads a lone transaction, and refuses leftovers.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let parts = TxParts::read(&mut reader)?;
        reader.finish()?;
        Ok(Self { bytes, offset: 0, parts })
    }

    /// The transaction's bytes, witnesses included.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Where it starts in its block.
    pub const fn offset(&self) -> u32 {
        self.offset
    }

    /// The version as the unsigned number that Core shows since 28.0.
    pub fn version(&self) -> u32 {
        Reader::new(self.bytes).u32().unwrap_or_default()
    }

    /// The locktime as it stands.
    pub fn lock_time(&self) -> u32 {
        Reader::at(self.bytes, self.bytes.len().saturating_sub(4)).u32().unwrap_or_default()
    }

    /// How many inputs it has.
    pub fn input_count(&self) -> usize {
        index(self.parts.input_count)
    }

    /// How many outputs it has.
    pub fn output_count(&self) -> usize {
        index(self.parts.output_count)
    }

    /// Bytes, witnesses included.
    pub const fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes without witnesses, marker and flag.
    pub fn base_size(&self) -> usize {
        index(self.parts.base_end) + 4 - if self.parts.segwit { 2 } else { 0 }
    }

    /// Weight (BIP141).
    pub fn weight(&self) -> Weight {
        Weight::from_wu((3 * self.base_size() + self.size()) as u64)
    }

    /// Whether it carries witnesses.
    pub const fn is_segwit(&self) -> bool {
        self.parts.segwit
    }

    /// Whether its only input spends nothing.
    pub fn is_coinbase(&self) -> bool {
        self.parts.input_count == 1 && self.inputs().next().is_some_and(|input| input.is_null())
    }

    /// Hash of the transaction without its witnesses.
    pub fn txid(&self) -> Txid {
        let mut engine = sha256d::Hash::engine();
        if self.parts.segwit {
            engine.input(&self.bytes[..4]);
            engine.input(&self.bytes[6..index(self.parts.base_end)]);
            engine.input(&self.bytes[self.bytes.len() - 4..]);
        } else {
            engine.input(self.bytes);
        }
        Txid::from_raw_hash(sha256d::Hash::from_engine(engine))
    }

    /// Hash of the transaction with its witnesses.
    pub fn wtxid(&self) -> Wtxid {
        Wtxid::from_raw_hash(sha256d::Hash::hash(self.bytes))
    }

    /// Its inputs.
    pub fn inputs(&self) -> Inputs<'a> {
        let mut reader = Reader::at(self.bytes, if self.parts.segwit { 6 } else { 4 });
        // The count was read before.
        let left = reader.compact_size().map_or(0, |_| self.input_count());
        Inputs { reader, left }
    }

    /// Its outputs.
    pub fn outputs(&self) -> Outputs<'a> {
        let mut reader = Reader::at(self.bytes, index(self.parts.outputs));
        let left = reader.compact_size().map_or(0, |_| self.output_count());
        Outputs { reader, left }
    }

    /// The witness of each input, empty ones included; nothing at all where the transaction carries none.
    pub fn witnesses(&self) -> Witnesses<'a> {
        let reader = Reader::at(self.bytes, index(self.parts.base_end));
        Witnesses { reader, left: if self.parts.segwit { self.input_count() } else { 0 } }
    }

    /// Sum of its outputs; `None` beyond 64 bits, which no valid transaction reaches.
    pub fn output_value(&self) -> Option<Amount> {
        self.outputs().try_fold(Amount::ZERO, |sum, output| sum.checked_add(output.value))
    }
}

/// One input.
#[derive(Clone, Copy, Debug)]
pub struct InputView<'a> {
    /// The transaction that it spends from.
    pub txid: Txid,
    /// Which output of that transaction.
    pub vout: u32,
    /// The unlocking script.
    pub script_sig: &'a Script,
    /// The sequence number.
    pub sequence: u32,
}

impl InputView<'_> {
    /// Whether it spends nothing: a coinbase's input.
    pub fn is_null(&self) -> bool {
        self.vout == u32::MAX && self.txid == Txid::all_zeros()
    }
}

/// One output.
#[derive(Clone, Copy, Debug)]
pub struct OutputView<'a> {
    /// What it holds.
    pub value: Amount,
    /// What locks it.
    pub script: &'a Script,
}

/// The inputs of a transaction, in order.
#[derive(Clone, Debug)]
pub struct Inputs<'a> {
    reader: Reader<'a>,
    left: usize,
}

impl<'a> Iterator for Inputs<'a> {
    type Item = InputView<'a>;

    fn next(&mut self) -> Option<InputView<'a>> {
        self.left = self.left.checked_sub(1)?;
        let txid = Txid::from_byte_array(*self.reader.array().ok()?);
        let vout = self.reader.u32().ok()?;
        let script_sig = Script::from_bytes(self.reader.sized().ok()?);
        Some(InputView { txid, vout, script_sig, sequence: self.reader.u32().ok()? })
    }
}

/// The outputs of a transaction, in order.
#[derive(Clone, Debug)]
pub struct Outputs<'a> {
    reader: Reader<'a>,
    left: usize,
}

impl<'a> Iterator for Outputs<'a> {
    type Item = OutputView<'a>;

    fn next(&mut self) -> Option<OutputView<'a>> {
        self.left = self.left.checked_sub(1)?;
        let value = Amount::from_sat(self.reader.u64().ok()?);
        Some(OutputView { value, script: Script::from_bytes(self.reader.sized().ok()?) })
    }
}

/// The witnesses of a transaction, in input order.
#[derive(Clone, Debug)]
pub struct Witnesses<'a> {
    reader: Reader<'a>,
    left: usize,
}

impl<'a> Iterator for Witnesses<'a> {
    type Item = Vec<&'a [u8]>;

    fn next(&mut self) -> Option<Vec<&'a [u8]>> {
        self.left = self.left.checked_sub(1)?;
        let count = self.reader.compact_size().ok()?;
        (0..count).map(|_| self.reader.sized().ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitcoin::consensus::{deserialize, serialize};
    use proptest::prelude::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn genesis() -> Vec<u8> {
        serialize(&bitcoin::blockdata::constants::genesis_block(bitcoin::Network::Bitcoin))
    }

    #[test]
    fn genesis_is_what_the_bitcoin_crate_says() {
        let bytes = genesis();
        let judge: bitcoin::Block = deserialize(&bytes).unwrap();
        let block = BlockView::parse(&bytes).unwrap();
        assert_eq!(block.hash(), judge.block_hash());
        assert_eq!(block.weight(), judge.weight());
        let tx = block.tx(0).unwrap();
        assert_eq!(tx.txid(), judge.txdata[0].compute_txid());
        assert!(tx.is_coinbase() && !tx.is_segwit());
        assert_eq!(tx.output_value(), Some(Amount::from_int_btc(50)));
        assert!(block.tx(1).is_none());
    }

    #[test]
    fn leftovers_and_cuts_are_refused() {
        let mut bytes = genesis();
        for end in 0..bytes.len() {
            assert!(BlockView::parse(&bytes[..end]).is_err(), "{end}");
        }
        bytes.push(0);
        assert_eq!(BlockView::parse(&bytes).unwrap_err(), DecodeError::Leftover { count: 1 });
    }

    #[test]
    fn a_claim_of_2_64_transactions_is_an_error_not_an_allocation() {
        let mut bytes = genesis();
        bytes.splice(80..81, [0xff; 9]);
        assert!(matches!(
            BlockView::parse(&bytes),
            Err(DecodeError::UnexpectedEnd { .. } | DecodeError::Unknown { .. })
        ));
    }

    #[test]
    fn equal_neighbours_are_told() {
        let hash = |byte| sha256d::Hash::from_byte_array([byte; 32]);
        let honest = merkle_root(vec![hash(1), hash(2), hash(3)]);
        let forged = merkle_root(vec![hash(1), hash(2), hash(3), hash(3)]);
        assert_eq!(honest.0, forged.0);
        assert!(!honest.1 && forged.1);
        assert_eq!(merkle_root(vec![hash(9)]), (hash(9), false));
    }

    proptest! {
        #[test]
        fn the_merkle_root_is_the_bitcoin_crates(count in 1_u8..40) {
            let leaves: Vec<_> = (0..count).map(|byte| sha256d::Hash::from_byte_array([byte; 32])).collect();
            let judge = bitcoin::merkle_tree::calculate_root(leaves.iter().copied());
            prop_assert_eq!(Some(merkle_root(leaves).0), judge);
        }

        /// Where the bitcoin crate reads a transaction, this reads the same; where it does not, neither does this,
        /// but for limits that only the crate sets.
        #[test]
        fn mutated_bytes_are_read_as_the_bitcoin_crate_reads_them(at in 80_usize..285, byte: u8) {
            let mut bytes = genesis();
            bytes[at] = byte;
            let judge = deserialize::<bitcoin::Block>(&bytes);
            match (BlockView::parse(&bytes), judge) {
                (Ok(block), Ok(judge)) => {
                    prop_assert_eq!(block.tx_count(), judge.txdata.len());
                    for (tx, judge) in block.txs().zip(&judge.txdata) {
                        prop_assert_eq!(tx.txid(), judge.compute_txid());
                        prop_assert_eq!(tx.wtxid(), judge.compute_wtxid());
                        prop_assert_eq!(tx.weight(), judge.weight());
                        prop_assert_eq!(tx.input_count(), judge.input.len());
                        prop_assert_eq!(tx.output_count(), judge.output.len());
                    }
                }
                (Err(_), Ok(judge)) => prop_assert!(false, "refused {:?}", judge),
                (Ok(_) | Err(_), Err(_)) => {}
            }
        }
    }
}
