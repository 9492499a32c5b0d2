//! What one block adds to the index: computed from its bytes and its undo, before anything is sorted or numbered.

use bitcoin::{BlockHash, Script, Txid};
use hindsight_shared::api::IndexLevel;
use hindsight_shared::block::BlockView;
use hindsight_shared::prevouts::{PrevoutScript, PrevoutsView};

use super::hashes::{Prefix, Secret, of_txid};
use super::sizes::TxSize;

/// What one block adds.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BlockRows {
    /// The block.
    pub block: BlockHash,
    /// Of each transaction.
    pub sizes: Vec<TxSize>,
    /// Of each transaction's id.
    pub txids: Vec<Prefix>,
    /// For [`IndexLevel::Addresses`], else empty.
    pub outputs: Vec<Paid>,
    /// For [`IndexLevel::Addresses`], else empty.
    pub inputs: Vec<Spent>,
}

/// A transaction has an output with a script.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Paid {
    /// Of the script.
    pub script: Prefix,
    /// The transaction's place in the block.
    pub index: u32,
}

/// A transaction spends an output with a script.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Spent {
    /// Of the script.
    pub script: Prefix,
    /// Of the output.
    pub outpoint: Prefix,
    /// The transaction's place in the block.
    pub index: u32,
}

impl BlockRows {
    /// What a whole block adds whose txids are known. Without prevouts its inputs lead nowhere: right for the first
    /// block, and for [`IndexLevel::Transactions`].
    pub fn new(
        level: IndexLevel,
        secret: &Secret,
        block: &BlockView<'_>,
        txids: &[Txid],
        prevouts: Option<&PrevoutsView<'_>>,
    ) -> Self {
        let undo = |index| prevouts.map_or(0, |prevouts| prevouts.tx_undo(index).len());
        let size = |(index, tx): (usize, hindsight_shared::block::TxView<'_>)| TxSize {
            tx: number(tx.size()),
            undo: number(undo(index)),
        };
        let mut rows = Self {
            block: block.hash(),
            sizes: block.txs().enumerate().map(size).collect(),
            txids: txids.iter().map(of_txid).collect(),
            outputs: Vec::new(),
            inputs: Vec::new(),
        };
        if level == IndexLevel::Addresses {
            rows.add_scripts(secret, block, prevouts);
        }
        rows
    }

    fn add_scripts(&mut self, secret: &Secret, block: &BlockView<'_>, prevouts: Option<&PrevoutsView<'_>>) {
        for (index, tx) in (0..).zip(block.txs()) {
            self.outputs.extend(tx.outputs().map(|output| Paid { script: secret.of_script(output.script), index }));
            let Some(prevouts) = prevouts else { continue };
            let spent = tx.inputs().zip(prevouts.tx(number_index(index))).map(|(input, prevout)| Spent {
                script: of_packed(secret, prevout.script),
                outpoint: secret.of_outpoint(&input.txid, input.vout),
                index,
            });
            self.inputs.extend(spent);
        }
    }

    /// Transactions of the block.
    pub fn tx_count(&self) -> u32 {
        number(self.txids.len())
    }

    /// Bytes that the rows take in memory, about.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.sizes[..])
            + size_of_val(&self.txids[..])
            + size_of_val(&self.outputs[..])
            + size_of_val(&self.inputs[..])
    }
}

/// Of a script as it is packed in undo records.
fn of_packed(secret: &Secret, script: PrevoutScript<'_>) -> Prefix {
    match script {
        PrevoutScript::Raw(bytes) => secret.of_script(Script::from_bytes(bytes)),
        packed => secret.of_script(&packed.to_script()),
    }
}

/// Counts within a block fit.
fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn number_index(index: u32) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}
