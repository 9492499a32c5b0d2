//! Tells siblings apart whose counts an undo record fits alike.
//!
//! The checksum binds an undo record to the parent and its counts to many a child. What a child commits to decides then:
//! most scripts hold the hash of something that the spender has to show, and no transaction pays out more than it
//! spends. Only siblings that spend the very same outputs share a record.

use bitcoin::OutPoint;
use bitcoin::hashes::{Hash, hash160, sha256};
use bitcoin::script::Instruction;
use hindsight_shared::DecodeError;
use hindsight_shared::block::{BlockView, InputView, TxView};
use hindsight_shared::prevouts::{PrevoutScript, PrevoutsView, TxPrevouts};

/// A block that an undo record may belong to.
pub(super) struct Sibling {
    /// Its place among the blocks of the file.
    pub(super) index: usize,
    /// What its transactions spend, in order.
    pub(super) spent: Vec<OutPoint>,
    contradicts: bool,
}

impl Sibling {
    /// Holds a block against an undo record; `None` where their counts differ.
    pub(super) fn new(index: usize, block: &[u8], undo: &PrevoutsView<'_>) -> Result<Option<Self>, DecodeError> {
        let block = BlockView::parse(block)?;
        let counts = |(at, tx): (usize, TxView<'_>)| tx.input_count() == undo.tx(at).len();
        if block.tx_count() != undo.tx_count() || !block.txs().enumerate().skip(1).all(counts) {
            return Ok(None);
        }
        let outpoint = |input: InputView<'_>| OutPoint { txid: input.txid, vout: input.vout };
        let spent = block.txs().skip(1).flat_map(|tx| tx.inputs().map(outpoint).collect::<Vec<_>>()).collect();
        let contradicts = block.txs().enumerate().skip(1).any(|(at, tx)| contradict(&tx, undo.tx(at)));
        Ok(Some(Self { index, spent, contradicts }))
    }

    /// A block that needs no comparison.
    pub(super) const fn only(index: usize) -> Self {
        Self { index, spent: Vec::new(), contradicts: false }
    }
}

/// Leaves out those that cannot have spent these outputs, unless none would be left.
pub(super) fn likeliest(mut siblings: Vec<Sibling>) -> Vec<Sibling> {
    if siblings.iter().any(|sibling| !sibling.contradicts) {
        siblings.retain(|sibling| !sibling.contradicts);
    }
    siblings
}

/// Whether a transaction cannot have spent these outputs.
fn contradict(tx: &TxView<'_>, prevouts: TxPrevouts<'_>) -> bool {
    let sum = prevouts.clone().try_fold(bitcoin::Amount::ZERO, |sum, prevout| sum.checked_add(prevout.value));
    if sum.zip(tx.output_value()).is_none_or(|(spent, paid)| spent < paid) {
        return true;
    }
    // Without witnesses there are none to look at, not empty ones.
    let mut witnesses = tx.witnesses();
    tx.inputs().zip(prevouts).any(|(input, prevout)| {
        let shown = witnesses.next().and_then(|witness| witness.last().copied());
        !unlocks(&input, shown, prevout.script)
    })
}

/// Whether what an input shows has the hash that the script asks for, where it asks for one.
fn unlocks(input: &InputView<'_>, witness: Option<&[u8]>, script: PrevoutScript<'_>) -> bool {
    let pushed = || match input.script_sig.instructions().last() {
        Some(Ok(Instruction::PushBytes(bytes))) => Some(bytes.as_bytes()),
        _ => None,
    };
    let hashes = |shown: Option<&[u8]>, hash: &[u8]| {
        shown.is_some_and(|shown| match hash.len() {
            20 => hash160::Hash::hash(shown).as_byte_array() == hash,
            _ => sha256::Hash::hash(shown).as_byte_array() == hash,
        })
    };
    match script {
        PrevoutScript::P2pkh(hash) | PrevoutScript::P2sh(hash) => hashes(pushed(), hash),
        PrevoutScript::Raw([0, 20, hash @ ..]) if hash.len() == 20 => {
            input.script_sig.is_empty() && hashes(witness, hash)
        }
        PrevoutScript::Raw([0, 32, hash @ ..]) if hash.len() == 32 => {
            input.script_sig.is_empty() && hashes(witness, hash)
        }
        PrevoutScript::Raw([0x51, 32, key @ ..]) if key.len() == 32 => input.script_sig.is_empty() && witness.is_some(),
        _ => true,
    }
}
