//! Transactions before they are signed: what they spend, whom they pay, and which output is left to pay the fee.

use bitcoin::absolute::LockTime;
use bitcoin::transaction::Version;
use bitcoin::{Amount, OutPoint, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Witness};

use super::purse::Coin;
use super::wallet::{Owner, Wallet};

/// What an output has to hold to be worth its spending.
pub const DUST: u64 = 546;

/// Where money goes.
#[derive(Clone, Debug)]
pub enum Payee {
    /// Somebody who can spend it.
    Owner(Owner),
    /// A script that is never spent.
    Script(ScriptBuf),
}

/// A transaction that is not signed yet.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The version.
    pub version: i32,
    /// The lock time.
    pub lock_time: u32,
    /// What it spends.
    pub coins: Vec<Coin>,
    /// The sequence of every input.
    pub sequence: u32,
    /// Satoshis, and where they go.
    pub outputs: Vec<(u64, Payee)>,
    /// The output that the fee is taken from.
    pub payer: usize,
}

/// A transaction that is, and what it leaves.
#[derive(Clone, Debug)]
pub struct Signed {
    /// The transaction.
    pub tx: Transaction,
    /// Its fee in satoshis.
    pub fee: u64,
    /// Outputs that somebody can spend.
    pub coins: Vec<Coin>,
}

impl Draft {
    /// Spends coins for these outputs, the last of which gets what the others leave.
    pub fn new(coins: Vec<Coin>, mut outputs: Vec<(u64, Payee)>) -> Self {
        let whole: u64 = coins.iter().map(Coin::sats).sum();
        let payer = outputs.len() - 1;
        let others: u64 = outputs[..payer].iter().map(|(sats, _)| sats).sum();
        outputs[payer].0 = whole - others;
        Self { version: 2, lock_time: 0, coins, sequence: 0xffff_fffd, outputs, payer }
    }

    /// Moves the output that is left to another place.
    pub fn change_at(mut self, place: usize) -> Self {
        let change = self.outputs.remove(self.payer);
        self.payer = place.min(self.outputs.len());
        self.outputs.insert(self.payer, change);
        self
    }

    /// Signs it for a fee rate in millisatoshis a virtual byte, or for as much of that as it can pay.
    pub fn sign_at(mut self, wallet: &Wallet, height: u32, rate: u64) -> Signed {
        let size = self.sign(wallet).vsize() as u64;
        let fee = (size * rate).div_ceil(1000);
        self.pay(wallet, height, fee)
    }

    /// Signs it for a fee.
    pub fn pay(&mut self, wallet: &Wallet, height: u32, fee: u64) -> Signed {
        let payer = &mut self.outputs[self.payer].0;
        let fee = fee.min(payer.saturating_sub(DUST));
        *payer -= fee;
        let tx = self.sign(wallet);
        let txid = tx.compute_txid();
        let coins = self.outputs.iter().zip(&tx.output).zip(0..).filter_map(|(((_, payee), output), vout)| {
            let Payee::Owner(owner) = payee else { return None };
            let outpoint = OutPoint { txid, vout };
            Some(Coin { outpoint, output: output.clone(), owner: owner.clone(), born: height })
        });
        Signed { fee, coins: coins.collect(), tx }
    }

    fn sign(&self, wallet: &Wallet) -> Transaction {
        let input = |coin: &Coin| TxIn {
            previous_output: coin.outpoint,
            script_sig: ScriptBuf::new(),
            sequence: Sequence(self.sequence),
            witness: Witness::new(),
        };
        let output = |(sats, payee): &(u64, Payee)| TxOut {
            value: Amount::from_sat(*sats),
            script_pubkey: match payee {
                Payee::Owner(owner) => wallet.script(owner),
                Payee::Script(script) => script.clone(),
            },
        };
        let mut tx = Transaction {
            version: Version(self.version),
            lock_time: LockTime::from_consensus(self.lock_time),
            input: self.coins.iter().map(input).collect(),
            output: self.outputs.iter().map(output).collect(),
        };
        let spent: Vec<TxOut> = self.coins.iter().map(|coin| coin.output.clone()).collect();
        for (index, coin) in self.coins.iter().enumerate() {
            wallet.unlock(&coin.owner, &mut tx, index, &spent);
        }
        tx
    }
}
