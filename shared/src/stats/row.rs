//! All statistics of a block as one row of a fixed size: what the index keeps, what `/api/v1/blocks/summaries` sends, and
//! what a page holds its own computation against.
//!
//! The table of fields stands in this crate's README.

use bitcoin::hashes::Hash;
use bitcoin::{BlockHash, Network};

use super::content::{Ages, ByKind, Content, Tally, content};
use super::core::{CoreStats, UtxoChange, core_stats};
use super::exact::{FeeRate, Spread};
use super::{miner, package};
use crate::block::BlockView;
use crate::bytes::Reader;
use crate::prevouts::PrevoutsView;
use crate::summary::{self, TxRow};
use crate::{DecodeError, Height};

/// The media type of rows.
pub const MEDIA_TYPE: &str = "application/vnd.hindsight.summary";

/// Bytes of a row.
pub const SUMMARY_SIZE: usize = 756;

/// Stands for a number that is not known.
const UNKNOWN: u64 = u64::MAX;

/// Everything that is computed of one block.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Summary {
    /// The block.
    pub hash: BlockHash,
    /// Its height.
    pub height: Height,
    /// Its header's time, in seconds since 1970.
    pub time: u32,
    /// Bytes with witnesses.
    pub size: u32,
    /// Weight of the whole block.
    pub weight: u32,
    /// As Core's `getblockstats` has it.
    pub core: CoreStats,
    /// Exact rates of single transactions.
    pub by_transaction: Spread,
    /// Exact rates of packages.
    pub by_package: Spread,
    /// What it holds.
    pub content: Content,
    /// Text of the coinbase (`miner::tag`).
    pub miner: [u8; miner::TAG_SIZE],
}

impl Summary {
    /// Computes everything.
    ///
    /// # Errors
    /// Where prevouts are needed and missing, or a transaction pays out more than it spends.
    pub fn compute(
        network: Network,
        height: Height,
        block: &BlockView<'_>,
        prevouts: Option<&PrevoutsView<'_>>,
    ) -> Result<Self, DecodeError> {
        let rows = summary::rows_without_wtxids(block, prevouts)?;
        Self::of_rows(network, height, block, prevouts, &rows)
    }

    /// The same, from rows that have been computed already.
    ///
    /// # Errors
    /// As [`Summary::compute`].
    pub fn of_rows(
        network: Network,
        height: Height,
        block: &BlockView<'_>,
        prevouts: Option<&PrevoutsView<'_>>,
        rows: &[TxRow],
    ) -> Result<Self, DecodeError> {
        let number = |field, value: u64| u32::try_from(value).map_err(|_| DecodeError::Unknown { field, value });
        let coinbase = block.tx(0).and_then(|tx| tx.inputs().next());
        let coinbase = coinbase.map_or(&[][..], |input| input.script_sig.as_bytes());
        Ok(Self {
            hash: block.hash(),
            height,
            time: block.header().time,
            size: number("block size", block.bytes().len() as u64)?,
            weight: number("block weight", block.weight().to_wu())?,
            core: core_stats(network, height, block, prevouts, rows)?,
            by_transaction: Spread::by_transaction(rows),
            by_package: Spread::by_package(rows, &package::rates(block, rows)),
            content: content(network, height, block, prevouts, rows),
            miner: miner::tag(coinbase),
        })
    }

    /// The row's bytes, little endian.
    pub fn pack(&self) -> Vec<u8> {
        let mut out = Writer(Vec::with_capacity(SUMMARY_SIZE));
        out.0.extend_from_slice(self.hash.as_byte_array());
        out.words(&[self.height.0, self.time, self.size, self.weight]);
        out.core(&self.core);
        out.spread(&self.by_transaction);
        out.spread(&self.by_package);
        out.content(&self.content);
        out.0.extend_from_slice(&self.miner);
        out.0
    }

    /// Reads a row.
    ///
    /// # Errors
    /// Where the bytes end.
    pub fn unpack(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            hash: BlockHash::from_byte_array(*reader.array()?),
            height: Height(reader.u32()?),
            time: reader.u32()?,
            size: reader.u32()?,
            weight: reader.u32()?,
            core: read_core(reader)?,
            by_transaction: read_spread(reader)?,
            by_package: read_spread(reader)?,
            content: read_content(reader)?,
            miner: *reader.array()?,
        })
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn words(&mut self, values: &[u32]) {
        self.0.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }

    fn longs(&mut self, values: &[u64]) {
        self.0.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }

    /// Means, and counts that stand here under another name, are left out: reading computes them.
    fn core(&mut self, core: &CoreStats) {
        self.longs(&[core.minfee, core.medianfee, core.maxfee, core.totalfee, core.minfeerate, core.maxfeerate]);
        self.longs(&core.feerate_percentiles);
        self.longs(&[core.total_out, core.subsidy]);
        self.counts(&[
            core.txs,
            core.ins,
            core.outs,
            core.mintxsize,
            core.mediantxsize,
            core.maxtxsize,
            core.total_size,
            core.total_weight,
            core.swtxs,
            core.swtotal_size,
            core.swtotal_weight,
            core.utxo.created_actual,
            core.utxo.created_bytes,
            core.utxo.created_actual_bytes,
            core.utxo.spent_bytes,
        ]);
    }

    /// Counts and sizes, which a block's limits keep far below 32 bits.
    fn counts(&mut self, values: &[u64]) {
        self.0.extend(values.iter().flat_map(|&value| u32::try_from(value).unwrap_or(u32::MAX).to_le_bytes()));
    }

    fn rate(&mut self, rate: FeeRate) {
        self.longs(&[rate.fee]);
        self.counts(&[rate.weight]);
    }

    fn spread(&mut self, spread: &Spread) {
        for rate in [spread.min].into_iter().chain(spread.percentiles).chain([spread.max]) {
            self.rate(rate);
        }
    }

    fn tally(&mut self, tally: Tally) {
        self.counts(&[tally.count]);
        self.longs(&[tally.value]);
    }

    fn content(&mut self, content: &Content) {
        for tally in content.spent.into_iter().chain(content.created) {
            self.tally(tally);
        }
        self.tally(content.ages.known);
        self.tally(content.ages.unknown);
        self.0.extend_from_slice(&content.ages.destroyed.to_le_bytes());
        self.words(&[content.ages.oldest.map_or(u32::MAX, |height| height.0)]);
        self.counts(&[
            content.witness_bytes,
            content.op_return_bytes,
            content.envelopes,
            content.envelope_bytes,
            content.sigop_cost,
        ]);
        self.longs(&[content.claimed, content.claimable.unwrap_or(UNKNOWN)]);
    }
}

fn read_core(reader: &mut Reader<'_>) -> Result<CoreStats, DecodeError> {
    let mut core = CoreStats {
        minfee: reader.u64()?,
        medianfee: reader.u64()?,
        maxfee: reader.u64()?,
        totalfee: reader.u64()?,
        minfeerate: reader.u64()?,
        maxfeerate: reader.u64()?,
        feerate_percentiles: [reader.u64()?, reader.u64()?, reader.u64()?, reader.u64()?, reader.u64()?],
        total_out: reader.u64()?,
        subsidy: reader.u64()?,
        txs: count(reader)?,
        ins: count(reader)?,
        outs: count(reader)?,
        mintxsize: count(reader)?,
        mediantxsize: count(reader)?,
        maxtxsize: count(reader)?,
        total_size: count(reader)?,
        total_weight: count(reader)?,
        swtxs: count(reader)?,
        swtotal_size: count(reader)?,
        swtotal_weight: count(reader)?,
        ..CoreStats::default()
    };
    core.utxo = UtxoChange {
        created: core.outs,
        created_actual: count(reader)?,
        spent: core.ins,
        created_bytes: count(reader)?,
        created_actual_bytes: count(reader)?,
        spent_bytes: count(reader)?,
    };
    core.fill_means();
    Ok(core)
}

fn count(reader: &mut Reader<'_>) -> Result<u64, DecodeError> {
    reader.u32().map(u64::from)
}

fn read_rate(reader: &mut Reader<'_>) -> Result<FeeRate, DecodeError> {
    Ok(FeeRate { fee: reader.u64()?, weight: count(reader)? })
}

fn read_spread(reader: &mut Reader<'_>) -> Result<Spread, DecodeError> {
    let min = read_rate(reader)?;
    let mut percentiles = [FeeRate::default(); 5];
    for rate in &mut percentiles {
        *rate = read_rate(reader)?;
    }
    Ok(Spread { min, percentiles, max: read_rate(reader)? })
}

fn read_tally(reader: &mut Reader<'_>) -> Result<Tally, DecodeError> {
    Ok(Tally { count: count(reader)?, value: reader.u64()? })
}

fn read_kinds(reader: &mut Reader<'_>) -> Result<ByKind, DecodeError> {
    let mut kinds = ByKind::default();
    for tally in &mut kinds {
        *tally = read_tally(reader)?;
    }
    Ok(kinds)
}

fn read_content(reader: &mut Reader<'_>) -> Result<Content, DecodeError> {
    Ok(Content {
        spent: read_kinds(reader)?,
        created: read_kinds(reader)?,
        ages: Ages {
            known: read_tally(reader)?,
            unknown: read_tally(reader)?,
            destroyed: u128::from_le_bytes(*reader.array()?),
            oldest: Some(reader.u32()?).filter(|&height| height != u32::MAX).map(Height),
        },
        witness_bytes: count(reader)?,
        op_return_bytes: count(reader)?,
        envelopes: count(reader)?,
        envelope_bytes: count(reader)?,
        sigop_cost: count(reader)?,
        claimed: reader.u64()?,
        claimable: Some(reader.u64()?).filter(|&value| value != UNKNOWN),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn a_row_returns() {
        let genesis = bitcoin::blockdata::constants::genesis_block(Network::Bitcoin);
        let bytes = bitcoin::consensus::serialize(&genesis);
        let block = BlockView::parse(&bytes).unwrap();
        let mut row = Summary::compute(Network::Bitcoin, Height(0), &block, None).unwrap();
        row.content.ages.oldest = Some(Height(7));
        row.content.ages.destroyed = u128::MAX - 5;
        row.by_package.percentiles[2] = FeeRate { fee: 5, weight: 7 };
        let packed = row.pack();
        assert_eq!(packed.len(), SUMMARY_SIZE);
        let mut reader = Reader::new(&packed);
        assert_eq!(Summary::unpack(&mut reader), Ok(row));
        assert_eq!(reader.finish(), Ok(()));
        for end in 0..packed.len() {
            assert!(Summary::unpack(&mut Reader::new(&packed[..end])).is_err());
        }
    }

    proptest! {
        #[test]
        fn any_bytes_of_its_size_are_a_row(bytes in proptest::collection::vec(any::<u8>(), SUMMARY_SIZE)) {
            prop_assert_eq!(Summary::unpack(&mut Reader::new(&bytes)).unwrap().pack(), bytes);
        }
    }

    #[test]
    fn genesis_is_cores() {
        let genesis = bitcoin::blockdata::constants::genesis_block(Network::Bitcoin);
        let bytes = bitcoin::consensus::serialize(&genesis);
        let block = BlockView::parse(&bytes).unwrap();
        let row = Summary::compute(Network::Bitcoin, Height(0), &block, None).unwrap();
        assert_eq!((row.core.txs, row.core.outs, row.core.subsidy, row.core.totalfee), (1, 1, 5_000_000_000, 0));
        assert_eq!((row.content.claimed, row.content.unclaimed()), (5_000_000_000, Some(0)));
        assert!(row.miner.starts_with(b"EThe Times 03/Jan/2009 Chancell"));
    }
}
