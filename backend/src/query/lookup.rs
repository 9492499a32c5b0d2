//! What every question about transactions and scripts rests on: which runs speak for the best chain, what they do not
//! cover, and a transaction read from Core's files by its place.
//!
//! The index is a hint. A transaction is read where it says, and believed for what its bytes hold: its txid, the outputs
//! that it spends, the scripts that it pays. Read alone, its witnesses and its undo are not held against what commits to
//! them: that takes the whole block, which is read for the one transaction that is shown, not for each of a history.

use std::ops::RangeInclusive;

use bitcoin::Txid;
use hindsight_shared::Height;
use hindsight_shared::api::IndexLevel;
use hindsight_shared::block::{BlockView, TxView};
use hindsight_shared::payload::split_checksum;
use hindsight_shared::prevouts::{PrevoutsView, TxPrevouts};
use hindsight_shared::search::ListStart;
use rayon::prelude::*;

use super::{Explorer, QueryError};
use crate::chain::Node;
use crate::index::{Live, View};
use crate::ingest::is_of_chain;
use crate::runs::run::TxPosition;
use crate::runs::sizes::Place;

/// Up to so many transactions are read by the thread that was asked: it takes less time than to wake others.
const FEW: usize = 64;

/// How often a question is asked again because the chain has changed meanwhile.
const ASKED_AGAIN: u32 = 3;

/// Consecutive heights, at least one.
pub type Gap = RangeInclusive<Height>;

/// How many heights lie in gaps.
pub fn heights(gaps: &[Gap]) -> u32 {
    gaps.iter().map(|gap| gap.end().0 - gap.start().0 + 1).sum()
}

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
    pub(super) fn indexes(&self, level: IndexLevel) -> Result<(), QueryError> {
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
    pub(super) fn runs_of<'v>(&self, view: &'v View, level: IndexLevel) -> Vec<&'v Live> {
        let chain = self.chain.read();
        let mut runs: Vec<&Live> = view.runs(level).filter(|live| is_of_chain(&chain, &live.run)).collect();
        runs.sort_by_key(|live| std::cmp::Reverse(live.run.to()));
        runs
    }

    /// Heights of the best chain from one on that none of these runs covers, lowest first: not indexed yet, or not on this
    /// node.
    pub(super) fn gaps(&self, runs: &[&Live], from: Height) -> Vec<Gap> {
        let Some(tip) = self.chain.read().tip().and_then(|tip| tip.height) else { return Vec::new() };
        let (mut gaps, mut next) = (Vec::new(), from);
        let mut gap = |from: Height, above: u32| {
            gaps.extend(above.checked_sub(1).map(|to| from..=Height(to)).filter(|gap| !gap.is_empty()));
        };
        for live in runs.iter().rev().filter(|live| live.run.to() >= from) {
            gap(next, live.run.from.0);
            next = next.max(Height(live.run.to().0.saturating_add(1)));
        }
        gap(next, tip.0.saturating_add(1));
        gaps
    }

    /// The same of all of a level.
    pub(super) fn gaps_in(&self, level: IndexLevel) -> Result<Vec<Gap>, QueryError> {
        Ok(self.runs.look(|view| Ok(self.gaps(&self.runs_of(view, level), Height(0))))?)
    }

    /// Whether blocks of these heights are on disk: they may be indexed in a while.
    pub(super) fn have_blocks(&self, gaps: &[Gap]) -> bool {
        let chain = self.chain.read();
        let may_be = |node: &Node| node.is_stored() || node.is_hinted();
        let is_stored = |height: Height| chain.by_height(height).is_some_and(may_be);
        gaps.iter().any(|gap| {
            let downwards = chain.downwards(Some(ListStart::Height(*gap.end())));
            downwards.take_while(|height| gap.contains(height)).any(is_stored)
        })
    }

    /// What is seen of each candidate, in their order; nothing where the best chain has no such position.
    pub(super) fn see<T: Send>(
        &self,
        candidates: &[Candidate],
        see: impl Fn(&ReadTx) -> Result<T, QueryError> + Sync,
    ) -> Vec<Result<Option<T>, QueryError>> {
        let look = |candidate: &Candidate| self.read(candidate)?.map(|read| see(&read)).transpose();
        if candidates.len() <= FEW {
            candidates.iter().map(look).collect()
        } else {
            candidates.par_iter().map(look).collect()
        }
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
