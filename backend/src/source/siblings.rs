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

#[cfg(test)]
mod tests {
    use bitcoin::blockdata::constants::genesis_block;
    use bitcoin::consensus::serialize;
    use bitcoin::script::Builder;
    use bitcoin::{Amount, Network, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Witness, transaction};

    use super::*;

    /// A block whose second transaction spends one output, shows `shown`, and pays `paid` satoshis.
    fn block(vout: u32, shown: [u8; 33], paid: u64) -> Vec<u8> {
        let mut block = genesis_block(Network::Regtest);
        let input = TxIn {
            previous_output: OutPoint { txid: block.txdata[0].compute_txid(), vout },
            script_sig: Builder::new().push_slice(shown).into_script(),
            sequence: Sequence::MAX,
            witness: Witness::new(),
        };
        block.txdata.push(Transaction {
            version: transaction::Version::TWO,
            lock_time: bitcoin::absolute::LockTime::ZERO,
            input: vec![input],
            output: vec![TxOut { value: Amount::from_sat(paid), script_pubkey: ScriptBuf::new() }],
        });
        serialize(&block)
    }

    /// Undo of one input that spent 50 BTC, locked with the hash of `key`.
    fn undo(key: [u8; 33]) -> Vec<u8> {
        let hash = hash160::Hash::hash(&key);
        [&[1, 1, 2, 0, 0x32, 0][..], hash.as_byte_array()].concat()
    }

    /// Which of these siblings an undo record may belong to.
    #[track_caller]
    fn check(siblings: &[Vec<u8>], undo: &[u8], expect: &[usize]) {
        let undo = PrevoutsView::from_undo(undo).unwrap();
        let siblings =
            siblings.iter().enumerate().filter_map(|(index, block)| Sibling::new(index, block, &undo).unwrap());
        let found: Vec<_> = likeliest(siblings.collect()).iter().map(|sibling| sibling.index).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn the_one_that_shows_what_the_script_asks_for() {
        let siblings = [block(0, [2; 33], 5), block(1, [3; 33], 5)];
        check(&siblings, &undo([2; 33]), &[0]);
        check(&siblings, &undo([3; 33]), &[1]);
    }

    #[test]
    fn the_one_that_can_pay_what_it_pays() {
        let siblings = [block(0, [2; 33], 5_000_000_001), block(1, [2; 33], 5_000_000_000)];
        check(&siblings, &undo([2; 33]), &[1]);
    }

    #[test]
    fn all_of_them_where_none_is_likelier() {
        check(&[block(0, [2; 33], 5), block(1, [2; 33], 5)], &undo([2; 33]), &[0, 1]);
        check(&[block(0, [2; 33], 5), block(1, [3; 33], 5)], &undo([4; 33]), &[0, 1]);
    }
}
