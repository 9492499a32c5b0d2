//! What every question about transactions and scripts rests on: which runs speak for the best chain, what they do not
//! cover, and a transaction read from Core's files by its place.
//!
//! The index is a hint. A transaction is read where it says, and believed for what its bytes hold: its txid, the outputs
//! that it spends, the scripts that it pays. Read alone, its witnesses and its undo are not held against what commits to
//! them: that takes the whole block, which is read for the one transaction that is shown, not for each of a history.

use bitcoin::Txid;
use hindsight_shared::Height;
use hindsight_shared::block::{BlockView, TxView};
use hindsight_shared::payload::split_checksum;
use hindsight_shared::prevouts::{PrevoutsView, TxPrevouts};

use super::{Explorer, QueryError};
use crate::chain::Node;
use crate::index::{Live, View};
use crate::ingest::is_of_chain;
use crate::runs::rows::Level;
use crate::runs::run::TxPosition;
use crate::runs::sizes::Place;

/// How often a question is asked again because the chain has changed meanwhile.
const ASKED_AGAIN: u32 = 3;

/// A transaction that the index named.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Where it is.
    pub position: TxPosition,
    /// Where its bytes are, if that is known.
    pub place: Option<Place>,
}

/// A transaction as it was read.
#[derive(Debug)]
pub struct ReadTx {
    /// Its block.
    pub node: Node,
    /// Where it is.
    pub position: TxPosition,
    /// Where its bytes are, if that is known.
    pub place: Option<Place>,
    bytes: Vec<u8>,
    undo: Vec<u8>,
}

impl ReadTx {
    /// Whether these are its bytes and those of what it spends.
    pub fn is(&self, bytes: &[u8], undo: &[u8]) -> bool {
        self.bytes == bytes && self.undo == undo
    }

    /// The transaction.
    pub fn tx(&self) -> Result<TxView<'_>, QueryError> {
        Ok(TxView::parse(&self.bytes)?)
    }

    /// What it spends, in input order; nothing for a coinbase, and where its undo is absent.
    pub fn prevouts(&self) -> Result<Option<TxPrevouts<'_>>, QueryError> {
        Ok((!self.undo.is_empty()).then(|| TxPrevouts::from_undo(&self.undo)).transpose()?)
    }

    /// Its id.
    pub fn txid(&self) -> Result<Txid, QueryError> {
        Ok(self.tx()?.txid())
    }

    fn is_sound(&self) -> bool {
        let Ok(tx) = self.tx() else { return false };
        match self.prevouts() {
            Ok(Some(prevouts)) => prevouts.len() == tx.input_count(),
            Ok(None) => true,
            Err(_) => false,
        }
    }
}

impl Explorer {
    /// Refuses what the server was told not to index.
    pub(super) fn indexes(&self, level: Level) -> Result<(), QueryError> {
        self.about.levels.contains(&level).then_some(()).ok_or(QueryError::NotIndexed(level))
    }

    /// Asks again where the chain has changed meanwhile: an answer is of one chain.
    pub(super) fn of_one_chain<T>(
        &self,
        mut question: impl FnMut(Height) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        let mut tries = 0;
        loop {
            let (tip, height) = {
                let chain = self.chain.read();
                let tip = chain.tip();
                (tip.map(|tip| tip.hash), tip.and_then(|tip| tip.height).unwrap_or(Height(0)))
            };
            let answer = question(height);
            tries += 1;
            if tries > ASKED_AGAIN || self.chain.read().tip().map(|tip| tip.hash) == tip {
                return answer;
            }
        }
    }

    /// The runs of a level that are of the best chain, highest first.
    pub(super) fn runs_of<'v>(&self, view: &'v View, level: Level) -> Vec<&'v Live> {
        let chain = self.chain.read();
        let mut runs: Vec<&Live> = view.runs(level).filter(|live| is_of_chain(&chain, &live.run)).collect();
        runs.sort_by_key(|live| std::cmp::Reverse(live.run.to()));
        runs
    }

    /// Heights of the best chain from one on that none of these runs covers: not indexed yet, or not on this node.
    pub(super) fn missing(&self, runs: &[&Live], from: Height) -> u32 {
        let Some(tip) = self.chain.read().tip().and_then(|tip| tip.height) else { return 0 };
        let (mut missing, mut next) = (0, from.0);
        for live in runs.iter().rev().filter(|live| live.run.to() >= from) {
            missing += live.run.from.0.saturating_sub(next);
            next = next.max(live.run.to().0.saturating_add(1));
        }
        missing + tip.0.saturating_add(1).saturating_sub(next)
    }

    /// Reads a transaction alone or, where its place is not known or not right any more, out of its block; `None` where
    /// the best chain has no such position.
    pub(super) fn read(&self, candidate: &Candidate) -> Result<Option<ReadTx>, QueryError> {
        let position = candidate.position;
        let Some(node) = self.chain.read().by_height(position.height).cloned() else { return Ok(None) };
        let part = candidate.place.as_ref().and_then(|place| self.bodies.read_part(&node, place));
        if let Some((bytes, undo)) = part {
            let alone = ReadTx { node: node.clone(), position, place: candidate.place.clone(), bytes, undo };
            // A coinbase spends nothing; any other without undo is looked up in its block.
            if alone.is_sound() && (position.index == 0 || !alone.undo.is_empty()) {
                return Ok(Some(alone));
            }
        }
        let body = self.bodies.read(&node)?;
        let block = BlockView::parse(&body.block)?;
        let index = usize::try_from(position.index).unwrap_or(usize::MAX);
        let Some(tx) = block.tx(index) else { return Ok(None) };
        let (undo, _) = split_checksum(&body.undo);
        let undo = match undo {
            [] => Vec::new(),
            undo => PrevoutsView::from_undo(undo)?.tx_undo(index).to_vec(),
        };
        Ok(Some(ReadTx { node, position, place: None, bytes: tx.bytes().to_vec(), undo }))
    }
}
