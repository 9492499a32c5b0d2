//! What became of outputs: who spends them, or that nobody does.
//!
//! A spender is one of the transactions that spend from the output's script; where those are too many to look at, the
//! index names it. Either way its inputs say whether it is. That nobody spends an output is told only where every block
//! from its own on has been looked through.

use std::collections::{BTreeMap, HashMap};

use bitcoin::{OutPoint, Script, ScriptBuf, Txid};
use hindsight_shared::Height;
use hindsight_shared::found_tx::{Fate, Spender};
use hindsight_shared::script::is_unspendable;

use super::lookup::Candidate;
use super::{Explorer, QueryError};
use crate::runs::run::{Kind, TxPosition};
use crate::runs::sizes::Place;
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
    places: BTreeMap<TxPosition, Option<Place>>,
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
        let suspects = self.suspects(&wanted)?;
        let mut spenders: HashMap<OutPoint, Spender> = HashMap::new();
        let complete = suspects.complete && suspects.places.len() <= MOST_LOOKS;
        for (position, place) in suspects.places.into_iter().take(MOST_LOOKS) {
            let Some(read) = self.read(&Candidate { position, place })? else { continue };
            let tx = read.tx()?;
            let mut txid = None;
            for (input, spent) in (0..).zip(tx.inputs()).filter(|(_, spent)| wanted.has(spent.txid, spent.vout)) {
                let txid = *txid.get_or_insert_with(|| tx.txid());
                let outpoint = OutPoint { txid: spent.txid, vout: spent.vout };
                spenders.insert(outpoint, Spender { txid, input, height: position.height });
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

    fn suspects(&self, wanted: &WantedFates) -> Result<Suspects, QueryError> {
        let secret = self.runs.secret();
        let mut scripts: Vec<_> = wanted.outputs.iter().map(|output| secret.of_script(&output.script)).collect();
        scripts.sort_unstable();
        scripts.dedup();
        let outpoints: Vec<_> =
            wanted.outputs.iter().map(|output| secret.of_outpoint(&output.txid, output.vout)).collect();
        Ok(self.runs.look(|view| {
            let runs = self.runs_of(view, IndexLevel::Addresses);
            let mut places = BTreeMap::new();
            let mut suspect = |position: Option<TxPosition>| {
                if let Some(position) = position.filter(|position| *position > wanted.made) {
                    places.entry(position).or_insert_with(|| view.place(position));
                }
            };
            for live in runs.iter().filter(|live| live.run.to() >= wanted.made.height) {
                for outpoint in &outpoints {
                    let named = view.entries(live, Kind::Spends, *outpoint..=*outpoint)?;
                    named.iter().for_each(|entry| suspect(live.run.position(entry.number)));
                }
                for script in &scripts {
                    let postings = view.postings(live, *script..=*script)?;
                    let spending = postings.iter().filter(|posting| posting.role.spends && !posting.role.named);
                    spending.for_each(|posting| suspect(live.run.position(posting.number)));
                }
            }
            Ok(Suspects { complete: self.gaps(&runs, wanted.made.height).is_empty(), places })
        })?)
    }
}

/// Whether an output of the transaction at a position can never be spent: by its script, or because it is the first block's
/// (Core's `IsUnspendable`; genesis is never connected).
pub fn is_lost(made: TxPosition, script: &Script) -> bool {
    made == TxPosition { height: Height(0), index: 0 } || is_unspendable(script)
}

impl WantedFates {
    fn has(&self, txid: Txid, vout: u32) -> bool {
        self.outputs.first().is_some_and(|output| output.txid == txid)
            && self.outputs.iter().any(|output| output.vout == vout)
    }
}
