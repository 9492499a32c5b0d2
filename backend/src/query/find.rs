//! A transaction by its id, or by the beginning of it.

use std::ops::{Range, RangeInclusive};

use bitcoin::Txid;
use bytes::Bytes;
use hindsight_shared::api::IndexLevel;
use hindsight_shared::found_tx::{Fate, FoundTx, MOST_FATES, TxPlace};
use hindsight_shared::search::BlockId;
use hindsight_shared::tx_payload::TxPayload;

use super::fates::{Output, WantedFates};
use super::lookup::{Candidate, ReadTx, heights};
use super::{Explorer, QueryError, TxInBlock};
use crate::runs::hashes::{PREFIX_BITS, Prefix, of_txid};
use crate::runs::run::Kind;

/// Transactions that a beginning of a txid may lead to; more are no help.
const MOST_BEGINNINGS: usize = 10;

/// Hex digits that a beginning has at least: fewer lead to too many.
pub const SHORTEST_BEGINNING: usize = 6;

impl Explorer {
    /// A transaction by its id, with what became of its outputs: an encoded [`FoundTx`].
    ///
    /// # Errors
    /// [`QueryError::NoSuchTransaction`] where no block of the best chain holds it, [`QueryError::NotIndexedYet`] where
    /// that is not known yet, [`QueryError::NotIndexed`] where it is not to be; where it cannot be read.
    pub fn find(&self, txid: Txid) -> Result<Bytes, QueryError> {
        self.of_one_chain(|tip| {
            let found = self.found(txid)?;
            let first = found.first().ok_or(QueryError::Failed)?;
            let outputs = outputs_of(txid, first)?;
            let wanted = outputs.iter().take(MOST_FATES).cloned().collect();
            let fates = self.fates(WantedFates::new(wanted, first.position))?;
            let payload = self.in_whole_block(first)?;
            let place = |read: &ReadTx| TxPlace {
                block: read.node.hash,
                height: read.position.height,
                index: read.position.index,
            };
            let places = found.iter().map(place).collect();
            let found = FoundTx { tip, places, fates, payload: TxPayload::decode(&payload)? };
            Ok(found.encode()?.into())
        })
    }

    /// A transaction as it is in its block, all of which has been checked.
    fn in_whole_block(&self, found: &ReadTx) -> Result<Bytes, QueryError> {
        let body = self.bodies.read(&found.node)?;
        let index = found.position.index;
        let part = |bytes: &Bytes, part: &Range<u32>| {
            let place = |offset: u32| usize::try_from(offset).unwrap_or(usize::MAX);
            bytes.get(place(part.start)..place(part.end)).unwrap_or_default().to_vec()
        };
        let parts = found.place.as_ref().map(|place| (part(&body.block, &place.tx), part(&body.undo, &place.undo)));
        match parts.filter(|(tx, undo)| found.is(tx, undo)) {
            Some((tx, undo)) => Ok(self.tx_payload(&found.node, &body, index, &undo, &tx)?.into()),
            // Without its place, the block is gone through.
            None => {
                let which = TxInBlock::Index(usize::try_from(index).unwrap_or(usize::MAX));
                Ok(self.transaction(BlockId::Hash(found.node.hash), which)?.bytes)
            }
        }
    }

    /// What became of an output.
    ///
    /// # Errors
    /// As [`Self::find`]; [`QueryError::NoOutput`] where the transaction has no such output.
    pub fn fate(&self, txid: Txid, vout: u32) -> Result<Fate, QueryError> {
        self.indexes(IndexLevel::Addresses)?;
        self.of_one_chain(|_| {
            let found = self.found(txid)?;
            let first = found.first().ok_or(QueryError::Failed)?;
            let output = outputs_of(txid, first)?.into_iter().find(|output| output.vout == vout);
            let output = output.ok_or(QueryError::NoOutput(txid, vout))?;
            let fates = self.fates(WantedFates::new(vec![output], first.position))?;
            fates.first().copied().ok_or(QueryError::Failed)
        })
    }

    /// The ids of transactions that begin with these hex digits, as displayed: a few of them.
    ///
    /// # Errors
    /// As the index fails.
    pub fn beginning_with(&self, digits: &str) -> Result<Vec<Txid>, QueryError> {
        let Some(prefixes) = prefixes_of(digits) else { return Ok(Vec::new()) };
        if self.indexes(IndexLevel::Transactions).is_err() {
            return Ok(Vec::new());
        }
        let mut txids = Vec::new();
        for candidate in self.candidates(prefixes)? {
            if txids.len() == MOST_BEGINNINGS {
                break;
            }
            let Some(read) = self.read(&candidate)? else { continue };
            let txid = read.txid()?;
            if txid.to_string().starts_with(digits) && !txids.contains(&txid) {
                txids.push(txid);
            }
        }
        Ok(txids)
    }

    /// Every transaction of the best chain with this id, highest first; at least one.
    fn found(&self, txid: Txid) -> Result<Vec<ReadTx>, QueryError> {
        self.indexes(IndexLevel::Transactions)?;
        let mut found = Vec::new();
        for candidate in self.candidates(of_txid(&txid)..=of_txid(&txid))? {
            let read = self.read(&candidate)?;
            found.extend(read.filter(|read| read.txid().is_ok_and(|read| read == txid)));
        }
        if found.is_empty() { Err(self.not_found(txid)?) } else { Ok(found) }
    }

    /// Transactions whose ids have one of these prefixes, highest first.
    fn candidates(&self, prefixes: RangeInclusive<Prefix>) -> Result<Vec<Candidate>, QueryError> {
        let mut candidates: Vec<Candidate> = self.runs.look(|view| {
            let mut found = Vec::new();
            for live in self.runs_of(view, IndexLevel::Transactions) {
                for entry in view.entries(live, Kind::Txids, prefixes.clone())? {
                    let Some(position) = live.run.position(entry.number) else { continue };
                    found.push(Candidate { position, place: view.place(position) });
                }
            }
            Ok(found)
        })?;
        candidates.sort_by_key(|candidate| std::cmp::Reverse(candidate.position));
        candidates.dedup_by_key(|candidate| candidate.position);
        Ok(candidates)
    }

    /// Why there is no transaction: it is not indexed yet, or there is none.
    fn not_found(&self, txid: Txid) -> Result<QueryError, QueryError> {
        let complete = self.report.progress().complete;
        let gaps = self.gaps_in(IndexLevel::Transactions)?;
        let missing = heights(&gaps);
        if !complete || self.have_blocks(&gaps) {
            return Ok(QueryError::NotIndexedYet(format!("transaction {txid}"), missing));
        }
        let chain = self.chain.read();
        let all = chain.tip().and_then(|tip| tip.height).map_or(0, |height| height.0.saturating_add(1));
        Ok(QueryError::NoSuchTransaction { txid, searched: all.saturating_sub(missing), missing })
    }
}

/// The outputs of a transaction, with what tells their spenders.
fn outputs_of(txid: Txid, read: &ReadTx) -> Result<Vec<Output>, QueryError> {
    let tx = read.tx()?;
    let output = |(vout, output): (u32, hindsight_shared::block::OutputView<'_>)| Output {
        txid,
        vout,
        script: output.script.to_owned(),
    };
    Ok((0..).zip(tx.outputs()).map(output).collect())
}

/// The prefixes of txids that begin with some hex digits; `None` where they are too few, too many or none.
fn prefixes_of(digits: &str) -> Option<RangeInclusive<Prefix>> {
    let most = PREFIX_BITS as usize / 4;
    if !(SHORTEST_BEGINNING..=64).contains(&digits.len()) || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let known = &digits[..digits.len().min(most)];
    let low = u64::from_str_radix(known, 16).ok()? << (4 * (most - known.len()));
    Some(low..=low | ((1 << (4 * (most - known.len()))) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_are_ranges_of_prefixes() {
        assert_eq!(prefixes_of("abcdef"), Some(0x00ab_cdef_0000..=0x00ab_cdef_ffff));
        assert_eq!(prefixes_of("0123456789"), Some(0x0001_2345_6789..=0x0001_2345_6789));
        assert_eq!(prefixes_of(&"0123456789".repeat(6)), prefixes_of("0123456789"));
        for none in ["", "abcde", "abcdeg", "ABCDE ", &"0".repeat(65)] {
            assert_eq!(prefixes_of(none), None, "{none}");
        }
    }
}
