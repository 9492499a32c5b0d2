//! A transaction taken out of its block: everything that its page shows, owned, so that a list of 70,000 outputs can
//! be drawn from any place.

use bitcoin::{Amount, ScriptBuf, Txid};
use hindsight_shared::block::TxView;
use hindsight_shared::prevouts::{Created, Prevout};
use hindsight_shared::script::ScriptKind;
use hindsight_shared::summary::{Flags, TxRow};

use super::block::LoadedBlock;
use super::explain::FINAL;
use super::witness::{self, Role, Spend};

/// A transaction of a block.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tx {
    /// Where it stands in its block.
    pub index: usize,
    /// What the table knows of it.
    pub row: TxRow,
    /// Its version as an unsigned number.
    pub version: u32,
    /// Its locktime as it stands.
    pub lock_time: u32,
    /// Its inputs.
    pub inputs: Vec<Input>,
    /// Its outputs.
    pub outputs: Vec<Output>,
}

/// An input.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Input {
    /// The transaction that it spends from.
    pub txid: Txid,
    /// Which output of that transaction.
    pub vout: u32,
    /// The sequence number.
    pub sequence: u32,
    /// The unlocking script.
    pub script_sig: ScriptBuf,
    /// The witness's items.
    pub witness: Vec<Vec<u8>>,
    /// The spent output; absent for a coinbase and where the prevouts are.
    pub spent: Option<Output>,
    /// The block that created it, where it is known.
    pub created: Option<Created>,
    /// Whether it is the coinbase's.
    pub coinbase: bool,
}

/// An output, spent or made.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Output {
    /// What it holds.
    pub value: Amount,
    /// What locks it.
    pub script: ScriptBuf,
    /// The script's kind.
    pub kind: ScriptKind,
}

impl Output {
    fn new(value: Amount, script: ScriptBuf) -> Self {
        Self { value, kind: ScriptKind::of(&script), script }
    }
}

impl Input {
    /// The role of each item of the witness.
    pub fn roles(&self) -> Vec<Role> {
        if self.coinbase {
            return vec![Role::Reserved; self.witness.len()];
        }
        let kind = self.spent.as_ref().map(|spent| witness::ruling_kind(spent.kind, &self.script_sig));
        witness::roles(kind, &self.witness)
    }

    /// How the output was spent, where its kind leaves a choice.
    pub fn spend(&self) -> Option<Spend> {
        witness::spend(self.spent.as_ref().map(|spent| spent.kind), &self.script_sig, &self.witness)
    }
}

impl Tx {
    /// Takes the transaction at a position out of its block.
    pub fn of(block: &LoadedBlock, index: usize) -> Option<Self> {
        let (view, row) = (block.tx(index)?, *block.rows.get(index)?);
        Some(Self::new(index, row, &view, block.prevouts(index).unwrap_or_default()))
    }

    /// Puts a transaction together; without prevouts where they are absent.
    pub fn new(index: usize, row: TxRow, view: &TxView<'_>, prevouts: Vec<Prevout<'_>>) -> Self {
        let coinbase = row.flags.contains(Flags::COINBASE);
        let mut prevouts = prevouts.into_iter();
        let mut witnesses = view.witnesses();
        let inputs = view.inputs().map(|input| {
            let prevout = prevouts.next();
            let witness = witnesses.next().unwrap_or_default();
            Input {
                txid: input.txid,
                vout: input.vout,
                sequence: input.sequence,
                script_sig: input.script_sig.to_owned(),
                witness: witness.into_iter().map(<[u8]>::to_vec).collect(),
                spent: prevout.map(|prevout| Output::new(prevout.value, prevout.script.to_script())),
                created: prevout.and_then(|prevout| prevout.created),
                coinbase,
            }
        });
        let inputs = inputs.collect();
        let outputs = view.outputs().map(|output| Output::new(output.value, output.script.to_owned())).collect();
        Self { index, row, version: view.version(), lock_time: view.lock_time(), inputs, outputs }
    }

    /// Sum of the spent outputs, where all are known.
    pub fn spent(&self) -> Option<Amount> {
        self.inputs.iter().try_fold(Amount::ZERO, |sum, input| sum.checked_add(input.spent.as_ref()?.value))
    }

    /// Whether every input is final, so that the locktime does not count.
    pub fn all_final(&self) -> bool {
        self.inputs.iter().all(|input| input.sequence == FINAL)
    }

    /// Whether it could be replaced while unconfirmed, by its own signal.
    pub const fn signals_replacement(&self) -> bool {
        self.row.flags.contains(Flags::RBF)
    }
}
