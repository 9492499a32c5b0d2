//! What a script has been paid and what was spent from it.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::{Amount, OutPoint, Script};
use hindsight_shared::Height;
use hindsight_shared::address::{BalanceAt, Coin, Totals, Touched};
use hindsight_shared::network::is_bip30_unspendable;
use hindsight_shared::payload::Absence;
use hindsight_shared::prevouts::Prevout;

use super::fates::is_lost;
use super::fold::Fold;
use super::lookup::{Candidate, Gap, ReadTx};
use super::{Explorer, QueryError};
use crate::runs::run::TxPosition;
use hindsight_shared::api::IndexLevel;

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

/// Transactions that may touch a script.
#[derive(Debug)]
struct Touching {
    /// Highest first.
    candidates: Vec<Candidate>,
    /// Heights whose transactions are not among them.
    gaps: Vec<Gap>,
}

/// What transactions do with a script.
#[derive(Debug, Default)]
struct Movements {
    /// In the order of the candidates.
    all: Vec<Movement>,
    /// Heights of blocks that cannot be read now, or not with all that it takes: pruned, damaged, being written.
    unread: BTreeSet<Height>,
}

/// What one transaction does with a script.
#[derive(Clone, Debug)]
pub(super) struct Movement {
    /// As a row of the history.
    pub row: Touched,
    /// Outputs with the script.
    pub outputs: u32,
    /// Whether none of them can ever be spent.
    pub is_lost: bool,
    /// Coins that they are.
    pub made: Vec<Coin>,
    /// Outputs with the script that it spends.
    pub spent: Vec<OutPoint>,
}

impl Explorer {
    /// Up to `count` transactions of the best chain that touch a script, newest first. Those whose blocks cannot be read
    /// are left out; the sums tell how many blocks these are.
    ///
    /// # Errors
    /// Where the index or a transaction cannot be read.
    pub fn history(&self, script: &Script, before: Option<Before>, count: usize) -> Result<Vec<Touched>, QueryError> {
        self.indexes(IndexLevel::Addresses)?;
        self.of_one_chain(|_| {
            let mut rows = Vec::new();
            let mut before = before;
            // A prefix may lead to another script's transactions: as many more are looked at.
            while rows.len() < count {
                let candidates = self.touching(script, before, count - rows.len())?.candidates;
                let Some(last) = candidates.last() else { break };
                before = Some(Before(last.position));
                rows.extend(self.movements(script, &candidates)?.all.into_iter().map(|movement| movement.row));
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

    /// Outputs with a script that nobody has spent, newest first: of those above the highest block that is missing, since
    /// it might spend others. (Blocks that have just arrived and are not indexed yet do not count: the answer is of the
    /// moment before.)
    ///
    /// # Errors
    /// As [`Self::totals`]; [`QueryError::TooMany`] for scripts of more transactions than can be looked at at once.
    pub fn coins(&self, script: &Script) -> Result<Vec<Coin>, QueryError> {
        self.indexes(IndexLevel::Addresses)?;
        self.of_one_chain(|tip| {
            let Touching { candidates, gaps } = self.touching(script, None, usize::MAX)?;
            if candidates.len() > MOST_FOR_COINS {
                return Err(QueryError::TooMany(candidates.len(), MOST_FOR_COINS));
            }
            let Movements { all, unread } = self.movements(script, &candidates)?;
            let missing = gaps.iter().map(|gap| *gap.end()).filter(|end| *end < tip).chain(unread).max();
            let mut coins = BTreeMap::new();
            for movement in all.into_iter().rev().filter(|movement| Some(movement.row.height) > missing) {
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
        self.indexes(IndexLevel::Addresses)?;
        let kept = self.folds.of(script);
        let mut kept = kept.lock();
        let (fold, unread) = self.of_one_chain(|_| self.add_up(script, &kept))?;
        // What could not be read may be another time.
        if unread == 0 {
            *kept = fold.clone();
        }
        Ok(fold)
    }

    /// The sums up to the tip, made of those that are known where these still hold, and how many blocks could not be read.
    fn add_up(&self, script: &Script, known: &Fold) -> Result<(Fold, u32), QueryError> {
        let (tip, is_of_chain) = {
            let chain = self.chain.read();
            let tip = chain.tip().and_then(|tip| Some((tip.hash, tip.height?)));
            (tip.ok_or(QueryError::NotIndexedYet("the script".to_owned(), 0))?, known.is_of(&chain))
        };
        let Touching { mut candidates, gaps } = self.touching(script, None, usize::MAX)?;
        let holds = is_of_chain && known.leaves_out(&gaps);
        let mut fold = if holds { known.clone() } else { Fold::default() };
        candidates.retain(|candidate| !fold.has(candidate.position.height));
        candidates.reverse();
        let mut unread = BTreeSet::new();
        for candidates in candidates.chunks(AT_ONCE) {
            let movements = self.movements(script, candidates)?;
            movements.all.iter().for_each(|movement| fold.add(movement));
            unread.extend(movements.unread);
        }
        let unread = u32::try_from(unread.len()).unwrap_or(u32::MAX);
        fold.end(tip, gaps, unread);
        Ok((fold, unread))
    }

    /// Transactions that may touch a script, highest first: at least `count`, if there are as many.
    fn touching(&self, script: &Script, before: Option<Before>, count: usize) -> Result<Touching, QueryError> {
        let script = self.runs.secret().of_script(script);
        let before = before.map(|Before(before)| before);
        Ok(self.runs.look(|view| {
            let runs = self.runs_of(view, IndexLevel::Addresses);
            let mut found = Vec::new();
            for live in &runs {
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
            let candidates = found.into_iter().map(place).collect();
            Ok(Touching { candidates, gaps: self.gaps(&runs, Height(0)) })
        })?)
    }

    /// What candidates do with a script, in their order; nothing where they do not touch it.
    fn movements(&self, script: &Script, candidates: &[Candidate]) -> Result<Movements, QueryError> {
        let mut movements = Movements::default();
        for (candidate, seen) in candidates.iter().zip(self.see(candidates, |read| movement(script, read))) {
            match seen {
                Ok(movement) => movements.all.extend(movement.flatten()),
                Err(error) if error.is_of_one_block() => {
                    movements.unread.insert(candidate.position.height);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(movements)
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
    // Without undo it cannot be told what was spent.
    if index > 0 && read.prevouts()?.is_none() {
        return Err(QueryError::NoUndo { hash: read.node.hash, absence: Absence::NotReadYet });
    }
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
    let is_lost = is_lost(read.position, script);
    let made = if is_lost { Vec::new() } else { paid.iter().map(coin).collect() };
    let outputs = u32::try_from(paid.len()).unwrap_or(u32::MAX);
    Ok(Some(Movement { row, outputs, is_lost, made, spent: spent.into_iter().map(|(outpoint, _)| outpoint).collect() }))
}

/// Amounts of a valid chain never come to more than fits.
fn sum(amounts: impl Iterator<Item = Amount>) -> Amount {
    amounts.fold(Amount::ZERO, |sum, amount| sum.checked_add(amount).unwrap_or(Amount::MAX))
}
