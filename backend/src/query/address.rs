//! What a script has been paid and what was spent from it.

use bitcoin::{Amount, OutPoint, Script};
use hindsight_shared::Height;
use hindsight_shared::address::{BalanceAt, Coin, Totals, Touched};
use hindsight_shared::network::is_bip30_unspendable;
use hindsight_shared::prevouts::Prevout;
use rayon::prelude::*;

use super::fates::is_lost;
use super::fold::Fold;
use super::lookup::{Candidate, ReadTx};
use super::{Explorer, QueryError};
use crate::runs::rows::Level;
use crate::runs::run::TxPosition;

/// Transactions that are read together, on all cores.
const AT_ONCE: usize = 256;

/// Transactions of a script whose unspent outputs are listed at most.
const MOST_FOR_COINS: usize = 50_000;

/// Where a page of a history goes on: with what is before this place.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Before(TxPosition);

impl Before {
    /// The place of a transaction.
    pub const fn new(height: Height, index: u32) -> Self {
        Self(TxPosition { height, index })
    }
}

/// What one transaction does with a script.
#[derive(Clone, Debug)]
pub(super) struct Movement {
    /// As a row of the history.
    pub row: Touched,
    /// Outputs with the script.
    pub outputs: u32,
    /// Those of them that can be spent.
    pub made: Vec<Coin>,
    /// Outputs with the script that it spends.
    pub spent: Vec<OutPoint>,
}

impl Explorer {
    /// Up to `count` transactions of the best chain that touch a script, newest first.
    ///
    /// # Errors
    /// Where the index or a transaction cannot be read.
    pub fn history(&self, script: &Script, before: Option<Before>, count: usize) -> Result<Vec<Touched>, QueryError> {
        self.indexes(Level::Addresses)?;
        self.of_one_chain(|_| {
            let mut rows = Vec::new();
            let mut before = before;
            // A prefix may lead to another script's transactions: as many more are looked at.
            while rows.len() < count {
                let candidates = self.touching(script, before, count - rows.len())?;
                let Some(last) = candidates.last() else { break };
                before = Some(Before(last.position));
                rows.extend(self.movements(script, &candidates)?.into_iter().map(|movement| movement.row));
            }
            Ok(rows)
        })
    }

    /// Sums over the whole history of a script.
    ///
    /// # Errors
    /// Where the index or a transaction cannot be read.
    pub fn totals(&self, script: &Script) -> Result<Totals, QueryError> {
        self.folded(script).map(|fold| fold.totals)
    }

    /// What a script held over time: at most a few hundred points, the last one exact.
    ///
    /// # Errors
    /// As [`Self::totals`].
    pub fn balance(&self, script: &Script) -> Result<Vec<BalanceAt>, QueryError> {
        self.folded(script).map(|fold| fold.points())
    }

    /// Outputs with a script that nobody has spent, newest first.
    ///
    /// # Errors
    /// As [`Self::totals`]; [`QueryError::TooMany`] for scripts of more transactions than can be looked at at once.
    pub fn coins(&self, script: &Script) -> Result<Vec<Coin>, QueryError> {
        self.indexes(Level::Addresses)?;
        self.of_one_chain(|_| {
            let candidates = self.touching(script, None, usize::MAX)?;
            if candidates.len() > MOST_FOR_COINS {
                return Err(QueryError::TooMany(candidates.len(), MOST_FOR_COINS));
            }
            let mut coins = std::collections::BTreeMap::new();
            for movement in self.movements(script, &candidates)?.into_iter().rev() {
                let key = |outpoint: OutPoint| (outpoint.txid, outpoint.vout);
                for spent in movement.spent {
                    coins.remove(&key(spent));
                }
                coins.extend(movement.made.into_iter().map(|coin| (key(coin.outpoint), (movement.row.index, coin))));
            }
            let mut coins: Vec<(u32, Coin)> = coins.into_values().collect();
            coins.sort_by_key(|(index, coin)| std::cmp::Reverse((coin.height, *index, coin.outpoint.vout)));
            Ok(coins.into_iter().map(|(_, coin)| coin).collect())
        })
    }

    fn folded(&self, script: &Script) -> Result<Fold, QueryError> {
        self.indexes(Level::Addresses)?;
        self.of_one_chain(|_| {
            let (tip, known) = {
                let chain = self.chain.read();
                let tip = chain.tip().and_then(|tip| Some((tip.hash, tip.height?)));
                let known = self.folds.get(script).filter(|fold| fold.is_of(&chain));
                (tip.ok_or(QueryError::NotIndexedYet("the script".to_owned(), 0))?, known)
            };
            let mut candidates = self.touching(script, None, usize::MAX)?;
            candidates.reverse();
            let missing = self.runs.look(|view| Ok(self.missing(&self.runs_of(view, Level::Addresses), Height(0))))?;
            // What has been added up before holds only where nothing below has been indexed since.
            let mut fold = known.filter(|fold| fold.totals.missing == missing).unwrap_or_default();
            candidates.retain(|candidate| !fold.has(candidate.position.height));
            for candidates in candidates.chunks(AT_ONCE) {
                self.movements(script, candidates)?.iter().for_each(|movement| fold.add(movement));
            }
            fold.end(tip, missing);
            self.folds.put(script, fold.clone());
            Ok(fold)
        })
    }

    /// Transactions that may touch a script, highest first: at least `count`, if there are as many.
    fn touching(&self, script: &Script, before: Option<Before>, count: usize) -> Result<Vec<Candidate>, QueryError> {
        let script = self.runs.secret().of_script(script);
        let before = before.map(|Before(before)| before);
        Ok(self.runs.look(|view| {
            let mut found = Vec::new();
            for live in self.runs_of(view, Level::Addresses) {
                if before.is_some_and(|before| live.run.from > before.height) {
                    continue;
                }
                if found.len() >= count {
                    break;
                }
                let newest = view.newest(live, script, before, count - found.len())?;
                found.extend(newest.into_iter().map(|(position, _)| position));
            }
            let place = |position| Candidate { position, place: view.place(position) };
            Ok(found.into_iter().map(place).collect())
        })?)
    }

    /// What candidates do with a script, in their order; nothing where they do not touch it.
    fn movements(&self, script: &Script, candidates: &[Candidate]) -> Result<Vec<Movement>, QueryError> {
        let movement = |candidate: &Candidate| {
            let read = self.read(candidate)?;
            read.map_or(Ok(None), |read| movement(script, &read))
        };
        let movements: Result<Vec<Option<Movement>>, QueryError> = candidates.par_iter().map(movement).collect();
        Ok(movements?.into_iter().flatten().collect())
    }
}

fn movement(script: &Script, read: &ReadTx) -> Result<Option<Movement>, QueryError> {
    let tx = read.tx()?;
    let TxPosition { height, index } = read.position;
    // Of two coinbases with one id there is one coin, the later one's.
    if index == 0 && is_bip30_unspendable(height, &read.node.hash) {
        return Ok(None);
    }
    let outputs = (0_u32..).zip(tx.outputs()).filter(|(_, output)| output.script == script);
    let paid: Vec<(u32, Amount)> = outputs.map(|(vout, output)| (vout, output.value)).collect();
    let spends = |prevout: &Prevout<'_>| prevout.script.to_script().as_script() == script;
    let spent: Vec<(OutPoint, Amount)> = read.prevouts()?.map_or_else(Vec::new, |prevouts| {
        let spent = tx.inputs().zip(prevouts).filter(|(_, prevout)| spends(prevout));
        spent.map(|(input, prevout)| (OutPoint { txid: input.txid, vout: input.vout }, prevout.value)).collect()
    });
    if paid.is_empty() && spent.is_empty() {
        return Ok(None);
    }
    let txid = tx.txid();
    let row = Touched {
        txid,
        height,
        index,
        time: read.node.header.time,
        received: sum(paid.iter().map(|(_, value)| *value)),
        spent: sum(spent.iter().map(|(_, value)| *value)),
    };
    let coin = |&(vout, value): &(u32, Amount)| Coin {
        outpoint: OutPoint { txid, vout },
        height,
        coinbase: index == 0,
        value,
    };
    let made = if is_lost(read.position, script) { Vec::new() } else { paid.iter().map(coin).collect() };
    let outputs = u32::try_from(paid.len()).unwrap_or(u32::MAX);
    Ok(Some(Movement { row, outputs, made, spent: spent.into_iter().map(|(outpoint, _)| outpoint).collect() }))
}

/// Amounts of a valid chain never come to more than fits.
fn sum(amounts: impl Iterator<Item = Amount>) -> Amount {
    amounts.fold(Amount::ZERO, |sum, amount| sum.checked_add(amount).unwrap_or(Amount::MAX))
}
