//! One row per transaction: what a table of a whole block sorts and filters by, computed in one pass.

use std::collections::HashMap;

use bitcoin::hashes::Hash;
use bitcoin::{Amount, Txid, Wtxid};

use crate::block::{BlockView, TxView};
use crate::bytes::Reader;
use crate::prevouts::{Prevout, PrevoutsView, TxPrevouts};
use crate::script::{KindSet, ScriptKind};
use crate::{DecodeError, Height};

/// A transaction's row. The numbers are exact; a fee rate is the fraction `fee / weight`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TxRow {
    /// The transaction's hash without witnesses.
    pub txid: Txid,
    /// The transaction's hash with witnesses.
    pub wtxid: Wtxid,
    /// Where it starts in the block.
    pub offset: u32,
    /// Bytes, witnesses included.
    pub size: u32,
    /// Weight (BIP141).
    pub weight: u32,
    /// How many inputs it has.
    pub inputs: u32,
    /// How many outputs it has.
    pub outputs: u32,
    /// Sum of the outputs.
    pub value: Amount,
    /// Inputs minus outputs; `None` for a coinbase, without prevouts, and where the prevouts do not cover the outputs.
    pub fee: Option<Amount>,
    /// Kinds of the scripts that it spends from and pays to.
    pub kinds: KindSet,
    /// Traits that are not script kinds.
    pub flags: Flags,
}

/// Traits of a transaction, one bit each.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Flags(pub u8);

impl Flags {
    /// It is the block's coinbase.
    pub const COINBASE: Self = Self(1);
    /// It carries witnesses.
    pub const SEGWIT: Self = Self(2);
    /// A sequence number below 0xfffffffe: it could be replaced while unconfirmed (BIP125, signalled by itself).
    pub const RBF: Self = Self(4);
    /// It spends an output of a transaction of the same block.
    pub const SPENDS_IN_BLOCK: Self = Self(8);
    /// The prevouts hold less than the outputs, which no valid transaction does.
    pub const OVERSPENT: Self = Self(16);

    /// Whether all bits of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    const fn set(&mut self, other: Self, on: bool) {
        if on {
            self.0 |= other.0;
        }
    }
}

/// The rows of a block, in block order. The counts of `prevouts` have to fit (`payload::same_counts`).
pub fn rows(block: &BlockView<'_>, prevouts: Option<&PrevoutsView<'_>>) -> Result<Vec<TxRow>, DecodeError> {
    rows_with(block, prevouts, wtxid_of)
}

/// Without witnesses both hashes are of the same bytes.
fn wtxid_of(tx: &TxView<'_>, txid: Txid) -> Wtxid {
    if tx.is_segwit() { tx.wtxid() } else { same_hash(txid) }
}

/// The row of a transaction that is read without its block; its place in the block is not known, and stands as 0.
/// Whether it spends an output of its own block tell the heights of the outputs.
///
/// # Errors
/// As [`rows`].
pub fn row_alone(
    tx: &TxView<'_>,
    prevouts: Option<TxPrevouts<'_>>,
    height: Option<Height>,
) -> Result<TxRow, DecodeError> {
    let made_here = |prevout: Prevout<'_>| prevout.created.is_some_and(|created| Some(created.height) == height);
    let in_block = prevouts.clone().is_some_and(|mut prevouts| prevouts.any(made_here));
    let mut row = row(tx, prevouts, wtxid_of)?;
    row.flags.set(Flags::SPENDS_IN_BLOCK, in_block);
    Ok(row)
}

/// The same for statistics, which have no use for wtxids: most of a block's bytes are hashed for them alone. The txid
/// stands in their place.
pub(crate) fn rows_without_wtxids(
    block: &BlockView<'_>,
    prevouts: Option<&PrevoutsView<'_>>,
) -> Result<Vec<TxRow>, DecodeError> {
    rows_with(block, prevouts, |_, txid| same_hash(txid))
}

fn same_hash(txid: Txid) -> Wtxid {
    Wtxid::from_raw_hash(txid.to_raw_hash())
}

fn rows_with(
    block: &BlockView<'_>,
    prevouts: Option<&PrevoutsView<'_>>,
    wtxid: fn(&TxView<'_>, Txid) -> Wtxid,
) -> Result<Vec<TxRow>, DecodeError> {
    let mut places = HashMap::<Txid, usize>::with_capacity(block.tx_count());
    let mut rows = Vec::with_capacity(block.tx_count());
    for (index, tx) in block.txs().enumerate() {
        let mut row = row(&tx, prevouts.map(|prevouts| prevouts.tx(index)), wtxid)?;
        row.flags.set(Flags::SPENDS_IN_BLOCK, tx.inputs().any(|input| places.contains_key(&input.txid)));
        places.insert(row.txid, index);
        rows.push(row);
    }
    Ok(rows)
}

fn row(
    tx: &TxView<'_>,
    prevouts: Option<TxPrevouts<'_>>,
    wtxid: fn(&TxView<'_>, Txid) -> Wtxid,
) -> Result<TxRow, DecodeError> {
    let (mut kinds, mut flags) = (KindSet::default(), Flags::default());
    for output in tx.outputs() {
        kinds.insert(ScriptKind::of(output.script));
    }
    let value = tx.output_value().ok_or(DecodeError::Unknown { field: "sum of outputs", value: u64::MAX })?;
    let coinbase = tx.is_coinbase();
    flags.set(Flags::COINBASE, coinbase);
    flags.set(Flags::SEGWIT, tx.is_segwit());
    flags.set(Flags::RBF, !coinbase && tx.inputs().any(|input| input.sequence < 0xffff_fffe));
    let mut fee = None;
    if let Some(prevouts) = prevouts.filter(|_| !coinbase) {
        let mut spent = Amount::ZERO;
        for prevout in prevouts {
            kinds.insert(ScriptKind::of_prevout(prevout.script));
            spent = spent
                .checked_add(prevout.value)
                .ok_or(DecodeError::Unknown { field: "sum of inputs", value: u64::MAX })?;
        }
        fee = spent.checked_sub(value);
        flags.set(Flags::OVERSPENT, fee.is_none());
    }
    let number =
        |value: usize| u32::try_from(value).map_err(|_| DecodeError::Unknown { field: "size", value: value as u64 });
    let weight = u32::try_from(tx.weight().to_wu())
        .map_err(|_| DecodeError::Unknown { field: "weight", value: tx.weight().to_wu() })?;
    let txid = tx.txid();
    Ok(TxRow {
        txid,
        wtxid: wtxid(tx, txid),
        offset: tx.offset(),
        size: number(tx.size())?,
        weight,
        inputs: number(tx.input_count())?,
        outputs: number(tx.output_count())?,
        value,
        fee,
        kinds,
        flags,
    })
}

/// Bytes of a packed row.
pub const ROW_SIZE: usize = 103;

impl TxRow {
    /// Appends the row as [`ROW_SIZE`] bytes: the fields in order, little endian, a missing fee as all ones. This is
    /// how a worker hands rows to the page; nothing stores or sends them elsewhere.
    pub fn pack(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.txid.as_byte_array());
        out.extend_from_slice(self.wtxid.as_byte_array());
        for word in [self.offset, self.size, self.weight, self.inputs, self.outputs] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&self.value.to_sat().to_le_bytes());
        out.extend_from_slice(&self.fee.map_or(u64::MAX, Amount::to_sat).to_le_bytes());
        out.extend_from_slice(&self.kinds.0.to_le_bytes());
        out.push(self.flags.0);
    }

    /// Reads a packed row.
    pub fn unpack(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            txid: Txid::from_byte_array(*reader.array()?),
            wtxid: Wtxid::from_byte_array(*reader.array()?),
            offset: reader.u32()?,
            size: reader.u32()?,
            weight: reader.u32()?,
            inputs: reader.u32()?,
            outputs: reader.u32()?,
            value: Amount::from_sat(reader.u64()?),
            fee: Some(reader.u64()?).filter(|&fee| fee != u64::MAX).map(Amount::from_sat),
            kinds: KindSet(reader.u16()?),
            flags: Flags(reader.u8()?),
        })
    }

    /// Virtual size: weight over four, rounded up.
    pub const fn vsize(&self) -> u32 {
        self.weight.div_ceil(4)
    }

    /// Orders by exact fee rate; transactions without a fee come first.
    pub fn cmp_fee_rate(&self, other: &Self) -> std::cmp::Ordering {
        let times = |row: &Self, weight: u32| row.fee.map(|fee| u128::from(fee.to_sat()) * u128::from(weight));
        times(self, other.weight).cmp(&times(other, self.weight))
    }

    /// Fee rate in thousandths of a satoshi per virtual byte, rounded down: fee · 4000 / weight.
    pub fn fee_rate_milli(&self) -> Option<u64> {
        let fee = u128::from(self.fee?.to_sat());
        u64::try_from((fee * 4000).checked_div(self.weight.into())?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitcoin::consensus::serialize;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn a_packed_row_returns() {
        let bytes = serialize(&bitcoin::blockdata::constants::genesis_block(bitcoin::Network::Bitcoin));
        let block = BlockView::parse(&bytes).unwrap();
        let row = rows(&block, None).unwrap()[0];
        assert_eq!(row.fee, None);
        assert!(row.flags.contains(Flags::COINBASE) && !row.flags.contains(Flags::SEGWIT));
        assert_eq!(row.kinds, KindSet::one(ScriptKind::P2pk));
        let mut packed = Vec::new();
        row.pack(&mut packed);
        assert_eq!(packed.len(), ROW_SIZE);
        assert_eq!(TxRow::unpack(&mut Reader::new(&packed)), Ok(row));
        let fee = TxRow { fee: Some(Amount::from_sat(141)), weight: 561, ..row };
        assert_eq!(fee.fee_rate_milli(), Some(1005));
        assert_eq!(fee.vsize(), 141);
        assert!(fee.cmp_fee_rate(&TxRow { weight: 562, ..fee }).is_gt());
        assert!(fee.cmp_fee_rate(&row).is_gt());
    }
}
