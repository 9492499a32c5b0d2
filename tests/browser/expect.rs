//! What has to stand on the pages: computed from a payload's bytes by the `bitcoin` crate, and written as a reader
//! expects numbers to be written. Of our own code only the undo record's decoder is used; the integration tests hold
//! that against Core's kernel.

use bitcoin::consensus::deserialize;
use bitcoin::{Address, Amount, Block, BlockHash, Network, ScriptBuf, Transaction, Txid};
use hindsight_shared::payload::Payload;

/// A block as the judge sees it.
pub struct Judged {
    /// Its hash.
    pub hash: BlockHash,
    /// Its height as it is served.
    pub height: u32,
    /// The network that addresses are of.
    pub network: Network,
    /// The block.
    pub block: Block,
    /// Its transactions, with what they spend.
    pub txs: Vec<JudgedTx>,
}

/// A transaction and what it spends.
pub struct JudgedTx {
    /// The transaction.
    pub tx: Transaction,
    /// Its id.
    pub txid: Txid,
    /// What each input spends; empty for a coinbase.
    pub spent: Vec<Spent>,
    /// Inputs minus outputs; absent for a coinbase.
    pub fee: Option<u64>,
}

/// A spent output.
pub struct Spent {
    /// What it held.
    pub value: Amount,
    /// What locked it.
    pub script: ScriptBuf,
    /// The height of the block that created it, where the undo record says so.
    pub created: Option<u32>,
}

impl Judged {
    /// Decodes a payload.
    pub fn of(wire: &[u8]) -> Self {
        let payload = Payload::decode(wire).unwrap();
        let (_, prevouts) = payload.view().unwrap();
        let block: Block = deserialize(payload.block).unwrap();
        let judge = |(index, tx): (usize, &Transaction)| {
            let prevouts = prevouts.as_ref().filter(|_| index > 0).map(|prevouts| prevouts.tx(index));
            let spent: Vec<Spent> = prevouts
                .into_iter()
                .flatten()
                .map(|prevout| Spent {
                    value: prevout.value,
                    script: prevout.script.to_script(),
                    created: prevout.created.map(|created| created.height.0),
                })
                .collect();
            let inputs: Amount = spent.iter().map(|spent| spent.value).sum();
            let fee = (index > 0).then(|| (inputs - value(tx)).to_sat());
            JudgedTx { tx: tx.clone(), txid: tx.compute_txid(), spent, fee }
        };
        let txs = block.txdata.iter().enumerate().map(judge).collect();
        let network = Network::from_magic(payload.network).unwrap();
        Self { hash: block.block_hash(), height: payload.height.unwrap().0, network, block, txs }
    }

    /// Sum of all fees.
    pub fn fees(&self) -> u64 {
        self.txs.iter().filter_map(|tx| tx.fee).sum()
    }

    /// Positions of the transactions for which something holds.
    pub fn positions(&self, holds: impl Fn(&JudgedTx) -> bool) -> Vec<usize> {
        (0..self.txs.len()).filter(|&at| holds(&self.txs[at])).collect()
    }

    /// The position of the transaction that has most of something.
    pub fn most(&self, of: impl Fn(&JudgedTx) -> usize) -> usize {
        (0..self.txs.len()).max_by_key(|&at| of(&self.txs[at])).unwrap()
    }

    /// The page of the transaction at a position.
    pub fn page(&self, at: usize) -> String {
        format!("block/{}/tx/{}", self.hash, self.txs[at].txid)
    }

    /// Whose an output is, as far as its script has an address.
    pub fn address(&self, script: &ScriptBuf) -> Option<String> {
        Address::from_script(script, self.network).ok().map(|address| address.to_string())
    }
}

impl JudgedTx {
    /// Sum of the outputs in satoshis.
    pub fn value(&self) -> u64 {
        value(&self.tx).to_sat()
    }

    /// Weight units.
    pub fn weight(&self) -> u64 {
        self.tx.weight().to_wu()
    }

    /// Thousandths of a satoshi per virtual byte, rounded down.
    pub fn rate(&self) -> Option<u64> {
        self.fee.map(|fee| fee * 4000 / self.weight())
    }

    /// Whether a script that it spends from or pays to is of a kind.
    pub fn touches(&self, kind: impl Fn(&ScriptBuf) -> bool) -> bool {
        let paid = self.tx.output.iter().map(|output| &output.script_pubkey);
        self.spent.iter().map(|spent| &spent.script).chain(paid).any(kind)
    }

    /// Whether some input signals that it may be replaced (BIP125).
    pub fn signals(&self) -> bool {
        !self.tx.is_coinbase() && self.tx.is_explicitly_rbf()
    }
}

fn value(tx: &Transaction) -> Amount {
    tx.output.iter().map(|output| output.value).sum()
}

/// Digits in groups of three.
pub fn group(number: impl std::fmt::Display) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap());
    groups.collect::<Vec<_>>().join(",")
}

/// Thousandths with three decimals.
pub fn milli(thousandths: u64) -> String {
    format!("{}.{:03}", group(thousandths / 1000), thousandths % 1000)
}

/// Satoshis as bitcoin.
pub fn btc(sats: u64) -> String {
    format!("{}.{:08}", group(sats / 100_000_000), sats % 100_000_000)
}
