//! A block as a page holds it: the payload's bytes once, the rows that the worker computed, and its report. Pages
//! share one of these, so going from a block to a transaction and back costs nothing.

use std::ops::Range;
use std::sync::Arc;

use bitcoin::block::Header;
use bitcoin::{Amount, BlockHash, Network, Txid};
use hindsight_shared::block::{self, HEADER_SIZE, TxView};
use hindsight_shared::bytes::Reader;
use hindsight_shared::network::{NetworkExt, network_of};
use hindsight_shared::payload::{Absence, Kind, Payload};
use hindsight_shared::prevouts::Prevout;
use hindsight_shared::stats::row::Summary;
use hindsight_shared::summary::{ROW_SIZE, TxRow};
use hindsight_shared::verify::{Check, Outcome, Subject};
use hindsight_shared::{DecodeError, Height};
use serde::{Deserialize, Serialize};

/// What the worker says about a block besides its rows.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Report {
    /// Every check and how it went.
    pub checks: Vec<Check>,
    /// Milliseconds until the last byte was there.
    pub fetch_ms: u32,
    /// Milliseconds to find, hash and weigh every transaction.
    pub decode_ms: u32,
    /// Milliseconds to check the whole.
    pub verify_ms: u32,
    /// Milliseconds to compute its statistics.
    pub stats_ms: u32,
}

/// A decoded block.
#[derive(Debug)]
pub struct LoadedBlock {
    bytes: Vec<u8>,
    block: Range<usize>,
    report: Report,
    /// One row per transaction, in block order.
    pub rows: Vec<TxRow>,
    /// Its statistics; absent where the height or what it spends is not known.
    pub stats: Option<Arc<Summary>>,
    /// The block's hash, computed here.
    pub hash: BlockHash,
    /// Its header.
    pub header: Header,
    /// Its height, where the server knows it.
    pub height: Option<Height>,
    /// The network that its magic stands for.
    pub network: Network,
    /// What kind of block it is.
    pub kind: Kind,
    /// Why the prevouts are absent.
    pub absence: Option<Absence>,
    /// Weight of the whole block.
    pub weight: u64,
}

/// What the block's miner was allowed to claim, and did.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Reward {
    /// Sum of the coinbase's outputs.
    pub claimed: Amount,
    /// New coins; absent where the height is not known.
    pub subsidy: Option<Amount>,
    /// Sum of all fees; absent without prevouts.
    pub fees: Option<Amount>,
}

impl LoadedBlock {
    /// Puts together what the worker handed over.
    pub fn new(bytes: Vec<u8>, packed: &[u8], stats: &[u8], report: Report) -> Result<Self, DecodeError> {
        let payload = Payload::decode(&bytes)?;
        let header = block::header(Reader::new(payload.block).array::<HEADER_SIZE>()?);
        let mut reader = Reader::new(packed);
        let rows = (0..packed.len() / ROW_SIZE).map(|_| TxRow::unpack(&mut reader)).collect::<Result<Vec<_>, _>>()?;
        reader.finish()?;
        let stats = (!stats.is_empty()).then(|| Summary::unpack(&mut Reader::new(stats))).transpose()?.map(Arc::new);
        let (height, kind, absence) = (payload.height, payload.kind, payload.absence);
        let (network, block) = (network_of(payload.network), bytes.len() - payload.block.len()..bytes.len());
        // Header and count of transactions carry no witness: each of their bytes weighs four.
        let txs: u64 = rows.iter().map(|row| u64::from(row.size)).sum();
        let weight = 4 * (crate::number::wide(block.len()) - txs.min(crate::number::wide(block.len())))
            + rows.iter().map(|row| u64::from(row.weight)).sum::<u64>();
        let hash = header.block_hash();
        Ok(Self { bytes, block, report, rows, stats, hash, header, height, network, kind, absence, weight })
    }

    /// Bytes that came over the wire.
    pub const fn payload_size(&self) -> usize {
        self.bytes.len()
    }

    /// The block's bytes, without prevouts.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(self.block.clone()).unwrap_or_default()
    }

    /// The worker's report.
    pub const fn report(&self) -> &Report {
        &self.report
    }

    /// The checks, for a reader who asked for this hash or for a height.
    ///
    /// A block that was fetched by height and is opened by its hash later has the hash that was asked for after all.
    pub fn checks(&self, asked: Option<BlockHash>) -> Vec<Check> {
        let mut checks = self.report.checks.clone();
        for check in checks.iter_mut().filter(|check| check.subject == Subject::BlockHash) {
            if let Some(asked) = asked {
                check.outcome = if asked == self.hash { Outcome::Passed } else { Outcome::Failed };
                check.detail = ["the header hashes to ", &self.hash.to_string()].concat();
            }
        }
        checks
    }

    /// The transaction at a position.
    pub fn tx(&self, index: usize) -> Option<TxView<'_>> {
        let row = self.rows.get(index)?;
        let start = crate::number::index(row.offset);
        TxView::parse(self.bytes().get(start..start + crate::number::index(row.size))?).ok()
    }

    /// What the transaction at a position spends; `None` where the prevouts are absent.
    pub fn prevouts(&self, index: usize) -> Option<Vec<Prevout<'_>>> {
        let view = Payload::decode(&self.bytes).ok()?.prevouts.view().ok()??;
        Some(view.tx(index).collect())
    }

    /// Where a transaction stands.
    pub fn position(&self, txid: &Txid) -> Option<usize> {
        self.rows.iter().position(|row| row.txid == *txid)
    }

    /// What the coinbase claims and what it may.
    pub fn reward(&self) -> Option<Reward> {
        let claimed = self.rows.first()?.value;
        let subsidy = self.height.map(|height| self.network.subsidy(height));
        let complete = matches!(self.absence, None | Some(Absence::Genesis));
        let fees = self.rows.iter().skip(1).try_fold(Amount::ZERO, |sum, row| sum.checked_add(row.fee?));
        Some(Reward { claimed, subsidy, fees: fees.filter(|_| complete) })
    }

    /// The coinbase's free text.
    pub fn coinbase_text(&self) -> String {
        let script = self.tx(0).and_then(|tx| tx.inputs().next().map(|input| input.script_sig.as_bytes().to_vec()));
        hindsight_shared::script::text(&script.unwrap_or_default())
    }
}

impl Reward {
    /// What the coinbase might have claimed and did not.
    pub fn unclaimed(&self) -> Option<Amount> {
        self.subsidy?.checked_add(self.fees?)?.checked_sub(self.claimed)
    }
}

/// Why a block's prevouts are absent, what is missing on the page because of it, and what would bring it back.
pub const fn absence_notice(absence: Absence) -> (&'static str, &'static str) {
    match absence {
        Absence::Genesis => (
            "The first block spends nothing",
            "Its only transaction creates 50 BTC out of nothing, which Bitcoin Core never made spendable.",
        ),
        Absence::NotConnected => (
            "This block was never part of the node's best chain",
            "The node stored its bytes but never connected it, so there is no undo record: fees, fee rates and the amounts of the inputs are not known.",
        ),
        Absence::Pruned => (
            "The node has deleted this block's undo record",
            "It is pruned. Fees, fee rates and the amounts of the inputs would be in that record; everything else on this page comes from the block itself.",
        ),
        Absence::Damaged => (
            "This block's undo record is damaged on the server's disk",
            "Fees, fee rates and the amounts of the inputs are not known. Restarting Bitcoin Core with -reindex writes the record anew; a look at the disk's health is due.",
        ),
        Absence::NotReadYet => (
            "The server has not read this block's undo record yet",
            "Fees, fee rates and the amounts of the inputs will be there in a moment: load the block again.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitcoin::consensus::serialize;
    use hindsight_shared::block::BlockView;
    use hindsight_shared::payload::Prevouts;
    use hindsight_shared::{summary, verify};

    fn genesis() -> LoadedBlock {
        let block = serialize(&bitcoin::blockdata::constants::genesis_block(Network::Bitcoin));
        let payload = Payload {
            network: bitcoin::p2p::Magic::BITCOIN,
            height: Some(Height(0)),
            kind: Kind::Block,
            absence: Some(Absence::Genesis),
            prevouts: Prevouts::Absent,
            block: &block,
        };
        let view = BlockView::parse(&block).unwrap();
        let rows = summary::rows(&view, None).unwrap();
        let mut packed = Vec::new();
        rows.iter().for_each(|row| row.pack(&mut packed));
        let checks = verify::verify(&payload, &view, &rows, None);
        let report = Report { checks, ..Report::default() };
        LoadedBlock::new(payload.encode().unwrap(), &packed, &[], report).unwrap()
    }

    #[test]
    fn genesis_is_put_together() {
        let block = genesis();
        assert_eq!(block.hash, Network::Bitcoin.genesis_hash());
        assert_eq!((block.weight, block.bytes().len(), block.payload_size()), (1140, 285, 317));
        assert_eq!(block.tx(0).unwrap().txid(), block.rows[0].txid);
        assert!(block.tx(1).is_none() && block.prevouts(0).is_none());
        assert_eq!(block.position(&block.rows[0].txid), Some(0));
        let reward = block.reward().unwrap();
        assert_eq!(reward.claimed, Amount::from_int_btc(50));
        assert_eq!(reward.unclaimed(), Some(Amount::ZERO));
        assert!(
            block.coinbase_text().contains("The Times 03/Jan/2009 Chancellor on brink of second bailout for banks")
        );
    }

    #[test]
    fn the_hash_is_held_against_what_was_asked_for() {
        let block = genesis();
        let outcome = |asked| block.checks(asked)[0].outcome;
        assert_eq!(outcome(None), Outcome::Unchecked);
        assert_eq!(outcome(Some(block.hash)), Outcome::Passed);
        assert_eq!(outcome(Some(block.header.prev_blockhash)), Outcome::Failed);
    }
}
