//! What became of outputs: who spends them, or that nobody does.
//!
//! A spender is one of the transactions that spend from the output's script; where those are too many to look at, the
//! index names it. Either way its inputs say whether it is. That nobody spends an output is told only where every block
//! from its own on has been looked through.

use std::collections::{BTreeSet, HashMap};

use bitcoin::{OutPoint, Script, ScriptBuf, Txid};
use hindsight_shared::Height;
use hindsight_shared::found_tx::{Fate, Spender};
use hindsight_shared::script::is_unspendable;
use rayon::prelude::*;

use super::lookup::{Candidate, ReadTx};
use super::{Explorer, QueryError};
use crate::index::{Failure, Live};
use crate::runs::run::{Kind, TxPosition};
use hindsight_shared::api::IndexLevel;

/// Transactions that are looked at for one answer; beyond them fates are unknown.
const MOST_LOOKS: usize = 20_000;

/// An output whose fate is wanted.
#[derive(Clone, Debug)]
pub struct Output {
    /// Its transaction.
    pub txid: Txid,
    /// Its number there.
    pub vout: u32,
    /// Its script.
    pub script: ScriptBuf,
}

/// Outputs of one transaction.
#[derive(Debug)]
pub struct WantedFates {
    outputs: Vec<Output>,
    made: TxPosition,
}

impl WantedFates {
    /// Outputs of the transaction at a position.
    pub const fn new(outputs: Vec<Output>, made: TxPosition) -> Self {
        Self { outputs, made }
    }
}

/// What may spend some outputs.
#[derive(Debug, Default)]
struct Suspects {
    candidates: Vec<Candidate>,
    /// Whether every block that could hold one has been looked through.
    complete: bool,
}

impl Explorer {
    /// The fates of outputs, in their order.
    ///
    /// # Errors
    /// Where the index or a suspect cannot be read.
    pub(super) fn fates(&self, wanted: WantedFates) -> Result<Vec<Fate>, QueryError> {
        if self.indexes(IndexLevel::Addresses).is_err() {
            return Ok(vec![Fate::Unknown; wanted.outputs.len()]);
        }
        let Suspects { mut candidates, mut complete } = self.suspects(&wanted)?;
        complete &= candidates.len() <= MOST_LOOKS;
        candidates.truncate(MOST_LOOKS);
        let mut spenders: HashMap<OutPoint, Spender> = HashMap::new();
        for seen in self.see(&candidates, |read| wanted.spent_by(read)) {
            match seen {
                Ok(spent) => spenders.extend(spent.into_iter().flatten()),
                Err(error) if error.is_of_one_block() => complete = false,
                Err(error) => return Err(error),
            }
        }
        let fate = |output: &Output| match spenders.get(&OutPoint { txid: output.txid, vout: output.vout }) {
            Some(spender) => Fate::Spent(*spender),
            None if is_lost(wanted.made, &output.script) => Fate::Unspendable,
            None if complete => Fate::Unspent,
            None => Fate::Unknown,
        };
        Ok(wanted.outputs.iter().map(fate).collect())
    }

    /// Each run is asked for all outputs at once, several runs at a time: a thousand outputs are tens of thousands of
    /// questions.
    fn suspects(&self, wanted: &WantedFates) -> Result<Suspects, QueryError> {
        let secret = self.runs.secret();
        let scripts = sorted(wanted.outputs.iter().map(|output| secret.of_script(&output.script)));
        let outpoints = sorted(wanted.outputs.iter().map(|output| secret.of_outpoint(&output.txid, output.vout)));
        Ok(self.runs.look(|view| {
            let runs = self.runs_of(view, IndexLevel::Addresses);
            let of_run = |live: &&Live| {
                let mut numbers = Vec::new();
                for outpoint in &outpoints {
                    let named = view.entries(live, Kind::Spends, *outpoint..=*outpoint)?;
                    numbers.extend(named.iter().map(|entry| entry.number));
                }
                for script in &scripts {
                    let postings = view.postings(live, *script..=*script)?;
                    let spending = postings.iter().filter(|posting| posting.role.spends && !posting.role.named);
                    numbers.extend(spending.map(|posting| posting.number));
                }
                let positions = numbers.into_iter().filter_map(|number| live.run.position(number));
                Ok(positions.filter(|position| *position > wanted.made).collect())
            };
            let later: Vec<&Live> = runs.iter().copied().filter(|live| live.run.to() >= wanted.made.height).collect();
            let found: Vec<Vec<TxPosition>> = later.par_iter().map(of_run).collect::<Result<_, Failure>>()?;
            let candidate = |position| Candidate { position, place: view.place(position) };
            let candidates = sorted(found.into_iter().flatten()).into_iter().map(candidate).collect();
            Ok(Suspects { candidates, complete: self.gaps(&runs, wanted.made.height).is_empty() })
        })?)
    }
}

fn sorted<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    values.collect::<BTreeSet<T>>().into_iter().collect()
}

/// Whether an output of the transaction at a position can never be spent: by its script, or because it is the first block's
/// (Core's `IsUnspendable`; genesis is never connected).
pub fn is_lost(made: TxPosition, script: &Script) -> bool {
    made == TxPosition { height: Height(0), index: 0 } || is_unspendable(script)
}

impl WantedFates {
    /// Those that a transaction spends.
    fn spent_by(&self, read: &ReadTx) -> Result<Vec<(OutPoint, Spender)>, QueryError> {
        let tx = read.tx()?;
        let spent = (0..).zip(tx.inputs()).filter(|(_, spent)| self.has(spent.txid, spent.vout));
        let spent: Vec<_> =
            spent.map(|(input, spent)| (input, OutPoint { txid: spent.txid, vout: spent.vout })).collect();
        if spent.is_empty() {
            return Ok(Vec::new());
        }
        let (txid, height) = (tx.txid(), read.position.height);
        Ok(spent.into_iter().map(|(input, outpoint)| (outpoint, Spender { txid, input, height })).collect())
    }

    fn has(&self, txid: Txid, vout: u32) -> bool {
        self.outputs.first().is_some_and(|output| output.txid == txid)
            && self.outputs.iter().any(|output| output.vout == vout)
    }
}
