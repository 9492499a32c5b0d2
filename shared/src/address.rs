//! What a script has been paid and what was spent from it, as rows of fixed size.
//!
//! Everything is little endian. The tables stand in this crate's README.

use bitcoin::hashes::Hash;
use bitcoin::{Amount, BlockHash, OutPoint, Txid};

use crate::bytes::Reader;
use crate::{DecodeError, Height};

/// The media type of [`Totals`].
pub const TOTALS_MEDIA_TYPE: &str = "application/vnd.hindsight.totals";

/// The media type of rows of [`Touched`].
pub const HISTORY_MEDIA_TYPE: &str = "application/vnd.hindsight.history";

/// The media type of rows of [`Coin`].
pub const COINS_MEDIA_TYPE: &str = "application/vnd.hindsight.coins";

/// The media type of rows of [`BalanceAt`].
pub const BALANCE_MEDIA_TYPE: &str = "application/vnd.hindsight.balance";

/// A row: bytes of a fixed size.
pub trait Row: Sized {
    /// Bytes of a row.
    const SIZE: usize;

    /// Appends the row.
    fn pack(&self, out: &mut Vec<u8>);

    /// Reads a row.
    ///
    /// # Errors
    /// Where it ends early, or holds what no row has.
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError>;

    /// Rows one after another.
    fn pack_all(rows: &[Self]) -> Vec<u8> {
        let mut out = Vec::with_capacity(rows.len() * Self::SIZE);
        rows.iter().for_each(|row| row.pack(&mut out));
        out
    }

    /// Reads rows that fill the slice.
    ///
    /// # Errors
    /// Where one is none, or the last is not whole.
    fn read_all(bytes: &[u8]) -> Result<Vec<Self>, DecodeError> {
        let mut reader = Reader::new(bytes);
        let mut rows = Vec::with_capacity(bytes.len() / Self::SIZE);
        while reader.left() > 0 {
            rows.push(Self::read(&mut reader)?);
        }
        Ok(rows)
    }
}

/// Sums over the whole history of a script, up to a block.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Totals {
    /// The best chain's last block at that moment.
    pub tip: BlockHash,
    /// Its height.
    pub height: Height,
    /// Transactions that touch the script.
    pub transactions: u32,
    /// Outputs with the script.
    pub outputs: u32,
    /// Those of them that have been spent.
    pub spent_outputs: u32,
    /// What they came to.
    pub received: Amount,
    /// What was spent of it.
    pub spent: Amount,
    /// What can never be spent of it: paid by genesis, or to a script that can never succeed (Core: `IsUnspendable`).
    pub lost: Amount,
    /// Heights up to that block that are not in these sums: not indexed yet, or not on this node.
    pub missing: u32,
    /// Outputs that can never be spent.
    pub lost_outputs: u32,
}

impl Totals {
    /// What can be spent; `None` where more was spent than received, which no valid chain has.
    pub fn balance(&self) -> Option<Amount> {
        self.received.checked_sub(self.spent)?.checked_sub(self.lost)
    }

    /// Outputs that can be spent.
    pub const fn unspent_outputs(&self) -> u32 {
        self.outputs.saturating_sub(self.spent_outputs).saturating_sub(self.lost_outputs)
    }
}

/// A transaction that pays a script or spends from it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Touched {
    /// The transaction.
    pub txid: Txid,
    /// The height of its block.
    pub height: Height,
    /// Its place in the block.
    pub index: u32,
    /// The time of its block's header.
    pub time: u32,
    /// What it pays the script.
    pub received: Amount,
    /// What it spends of the script's.
    pub spent: Amount,
}

/// An output that nobody has spent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Coin {
    /// Where it was made.
    pub outpoint: OutPoint,
    /// The height of its block.
    pub height: Height,
    /// Whether it is of a coinbase.
    pub coinbase: bool,
    /// What it holds.
    pub value: Amount,
}

/// What a script held after a block.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct BalanceAt {
    /// The block's height.
    pub height: Height,
    /// Its header's time.
    pub time: u32,
    /// The balance.
    pub balance: Amount,
}

impl Row for Totals {
    const SIZE: usize = 80;

    fn pack(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.tip.as_byte_array());
        for word in [self.height.0, self.transactions, self.outputs, self.spent_outputs] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        for amount in [self.received, self.spent, self.lost] {
            out.extend_from_slice(&amount.to_sat().to_le_bytes());
        }
        out.extend_from_slice(&self.missing.to_le_bytes());
        out.extend_from_slice(&self.lost_outputs.to_le_bytes());
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            tip: BlockHash::from_byte_array(*reader.array()?),
            height: Height(reader.u32()?),
            transactions: reader.u32()?,
            outputs: reader.u32()?,
            spent_outputs: reader.u32()?,
            received: Amount::from_sat(reader.u64()?),
            spent: Amount::from_sat(reader.u64()?),
            lost: Amount::from_sat(reader.u64()?),
            missing: reader.u32()?,
            lost_outputs: reader.u32()?,
        })
    }
}

impl Row for Touched {
    const SIZE: usize = 60;

    fn pack(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.txid.as_byte_array());
        for word in [self.height.0, self.index, self.time] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&self.received.to_sat().to_le_bytes());
        out.extend_from_slice(&self.spent.to_sat().to_le_bytes());
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            txid: Txid::from_byte_array(*reader.array()?),
            height: Height(reader.u32()?),
            index: reader.u32()?,
            time: reader.u32()?,
            received: Amount::from_sat(reader.u64()?),
            spent: Amount::from_sat(reader.u64()?),
        })
    }
}

impl Row for Coin {
    const SIZE: usize = 52;

    fn pack(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.outpoint.txid.as_byte_array());
        for word in [self.outpoint.vout, self.height.0, self.coinbase.into()] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&self.value.to_sat().to_le_bytes());
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let outpoint = OutPoint { txid: Txid::from_byte_array(*reader.array()?), vout: reader.u32()? };
        let height = Height(reader.u32()?);
        let coinbase = match reader.u32()? {
            0 => false,
            1 => true,
            value => return Err(DecodeError::Unknown { field: "coinbase flag", value: value.into() }),
        };
        Ok(Self { outpoint, height, coinbase, value: Amount::from_sat(reader.u64()?) })
    }
}

impl Row for BalanceAt {
    const SIZE: usize = 16;

    fn pack(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.height.0.to_le_bytes());
        out.extend_from_slice(&self.time.to_le_bytes());
        out.extend_from_slice(&self.balance.to_sat().to_le_bytes());
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { height: Height(reader.u32()?), time: reader.u32()?, balance: Amount::from_sat(reader.u64()?) })
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use proptest::prelude::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    /// Any whole rows return; half a row is refused.
    fn check<T: Row + Debug + PartialEq>(bytes: &[u8]) {
        let whole = &bytes[..bytes.len() / T::SIZE * T::SIZE];
        if let Ok(rows) = T::read_all(whole) {
            assert_eq!(T::pack_all(&rows), whole);
        }
        if whole.len() < bytes.len() {
            assert!(T::read_all(bytes).is_err());
        }
    }

    proptest! {
        #[test]
        fn rows_return(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            check::<Totals>(&bytes);
            check::<Touched>(&bytes);
            check::<Coin>(&bytes);
            check::<BalanceAt>(&bytes);
        }
    }

    #[test]
    fn a_coin_is_of_a_coinbase_or_not() {
        let coin = Coin { outpoint: OutPoint::null(), height: Height(3), coinbase: true, value: Amount::ONE_BTC };
        let mut bytes = Coin::pack_all(&[coin]);
        assert_eq!(Coin::read_all(&bytes), Ok(vec![coin]));
        bytes[40] = 2;
        assert!(Coin::read_all(&bytes).is_err());
    }
}
