//! What a chain's transactions come to, by a plain reading of its blocks with nothing but the `bitcoin` crate: the judge of
//! every answer about transactions and scripts that comes from the index.

use std::collections::{BTreeMap, HashMap};

use bitcoin::consensus::{deserialize, serialize};
use bitcoin::{Amount, Block, BlockHash, OutPoint, ScriptBuf, Transaction, TxOut, Txid};
use hindsight_shared::Height;
use hindsight_shared::address::{BalanceAt, Coin, Row, Totals, Touched};
use hindsight_shared::api::STATUS;
use hindsight_shared::found_tx::{Fate, FoundTx, MOST_FATES, ROW_SIZE, Spender, TxPlace};

use crate::client::Response;
use crate::process::Process;
use crate::test_server::TestServer;
use crate::wait::until_true;

/// Rows of a page: few, so that histories have several.
const PAGE: usize = 7;

/// Whatever answers requests.
pub trait Served {
    /// `GET`
    fn get(&self, path: &str) -> Response;
}

impl Served for TestServer {
    #[track_caller]
    fn get(&self, path: &str) -> Response {
        Self::get(self, path)
    }
}

impl Served for Process {
    #[track_caller]
    fn get(&self, path: &str) -> Response {
        Self::get(self, path)
    }
}

#[track_caller]
fn get_ok(server: &dyn Served, path: &str) -> Vec<u8> {
    let response = server.get(path);
    assert_eq!(response.status, 200, "{path}: {}", response.text());
    response.body
}

/// How much has been compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compared {
    /// Transactions found by their ids.
    pub transactions: u64,
    /// Outputs whose fate was told.
    pub fates: u64,
    /// Scripts with their sums, coins and balances.
    pub scripts: u64,
    /// Rows of their histories.
    pub rows: u64,
}

/// A whole best chain, read.
pub struct Ledger {
    tip: (BlockHash, u32),
    places: HashMap<Txid, Vec<TxPlace>>,
    txs: HashMap<Txid, Transaction>,
    spenders: HashMap<OutPoint, Spender>,
    histories: BTreeMap<ScriptBuf, Vec<Touched>>,
    counts: BTreeMap<ScriptBuf, (u32, u32)>,
    lost: BTreeMap<ScriptBuf, (u32, Amount)>,
    unspent: BTreeMap<ScriptBuf, Vec<(u32, Coin)>>,
}

impl Ledger {
    /// Reads the blocks of a chain from genesis on.
    pub fn of(blocks: &[Vec<u8>]) -> Self {
        let mut ledger = Self {
            tip: (BlockHash::from_raw_hash(bitcoin::hashes::Hash::all_zeros()), 0),
            places: HashMap::new(),
            txs: HashMap::new(),
            spenders: HashMap::new(),
            histories: BTreeMap::new(),
            counts: BTreeMap::new(),
            lost: BTreeMap::new(),
            unspent: BTreeMap::new(),
        };
        let mut coins: HashMap<OutPoint, TxOut> = HashMap::new();
        for (bytes, height) in blocks.iter().zip(0_u32..) {
            let block: Block = deserialize(bytes).unwrap();
            ledger.tip = (block.block_hash(), height);
            for (tx, index) in block.txdata.iter().zip(0_u32..) {
                ledger.add(&block, height, tx, index, &mut coins);
            }
        }
        ledger
    }

    fn add(&mut self, block: &Block, height: u32, tx: &Transaction, index: u32, coins: &mut HashMap<OutPoint, TxOut>) {
        let (txid, time) = (tx.compute_txid(), block.header.time);
        self.places
            .entry(txid)
            .or_default()
            .insert(0, TxPlace { block: block.block_hash(), height: Height(height), index });
        self.txs.insert(txid, tx.clone());
        let mut moved: BTreeMap<ScriptBuf, (Amount, Amount)> = BTreeMap::new();
        for (input, number) in tx.input.iter().zip(0_u32..).filter(|_| index > 0) {
            let coin = coins.remove(&input.previous_output).unwrap();
            moved.entry(coin.script_pubkey.clone()).or_default().1 += coin.value;
            self.counts.entry(coin.script_pubkey.clone()).or_default().1 += 1;
            self.spenders.insert(input.previous_output, Spender { txid, input: number, height: Height(height) });
            let unspent = self.unspent.get_mut(&coin.script_pubkey).unwrap();
            unspent.retain(|(_, coin)| coin.outpoint != input.previous_output);
        }
        for (output, vout) in tx.output.iter().zip(0_u32..) {
            let outpoint = OutPoint { txid, vout };
            coins.insert(outpoint, output.clone());
            moved.entry(output.script_pubkey.clone()).or_default().0 += output.value;
            self.counts.entry(output.script_pubkey.clone()).or_default().0 += 1;
            let coin = Coin { outpoint, height: Height(height), coinbase: index == 0, value: output.value };
            let unspent = self.unspent.entry(output.script_pubkey.clone()).or_default();
            if height > 0 && can_be_spent(output) {
                unspent.push((index, coin));
            } else {
                let (outputs, lost) = self.lost.entry(output.script_pubkey.clone()).or_default();
                *outputs += 1;
                *lost += output.value;
            }
        }
        for (script, (received, spent)) in moved {
            let row = Touched { txid, height: Height(height), index, time, received, spent };
            self.histories.entry(script).or_default().insert(0, row);
        }
    }

    /// Waits until the server has indexed this chain, then compares everything about each `step`-th transaction and
    /// script.
    #[track_caller]
    pub fn compare(&self, server: &dyn Served, step: usize) -> Compared {
        self.wait_until_indexed(server);
        let mut compared = Compared::default();
        let mut txids: Vec<&Txid> = self.places.keys().collect();
        txids.sort_unstable();
        for txid in txids.into_iter().step_by(step) {
            self.compare_tx(server, txid, &mut compared);
        }
        for script in self.histories.keys().step_by(step) {
            self.compare_script(server, script, &mut compared);
        }
        compared
    }

    /// Waits until nothing of this chain is missing in the server's index.
    #[track_caller]
    pub fn wait_until_indexed(&self, server: &dyn Served) {
        let complete = |status: hindsight_shared::api::Status| {
            status.tip.is_some_and(|tip| tip.hash == self.tip.0)
                && !status.index.is_empty()
                && status.index.iter().all(|level| level.whole)
        };
        until_true("every block is indexed", || complete(server.get(&format!("/{STATUS}")).json()));
    }

    #[track_caller]
    fn compare_tx(&self, server: &dyn Served, txid: &Txid, compared: &mut Compared) {
        let bytes = get_ok(server, &format!("/api/v1/tx/{txid}"));
        let found = FoundTx::decode(&bytes).unwrap();
        let tx = &self.txs[txid];
        assert_eq!(found.tip.0, self.tip.1);
        assert_eq!(found.places, self.places[txid], "{txid}");
        assert_eq!(found.payload.tx, serialize(tx), "{txid}");
        let expected: Vec<Fate> = (0..tx.output.len()).map(|vout| self.fate(txid, vout)).collect();
        assert_eq!(found.fates, expected[..expected.len().min(MOST_FATES)], "{txid}");
        let last = expected.len() - 1;
        let row = get_ok(server, &format!("/api/v1/outpoint/{txid}:{last}"));
        assert_eq!(row.len(), ROW_SIZE);
        assert_eq!(row, expected[last].encode(), "{txid}:{last}");
        compared.transactions += 1;
        compared.fates += 1 + found.fates.len() as u64;
    }

    fn fate(&self, txid: &Txid, vout: usize) -> Fate {
        let outpoint = OutPoint { txid: *txid, vout: vout as u32 };
        let genesis = self.places[txid][0].height == Height(0);
        match self.spenders.get(&outpoint) {
            Some(spender) => Fate::Spent(*spender),
            None if genesis || !can_be_spent(&self.txs[txid].output[vout]) => Fate::Unspendable,
            None => Fate::Unspent,
        }
    }

    #[track_caller]
    fn compare_script(&self, server: &dyn Served, script: &ScriptBuf, compared: &mut Compared) {
        if script.is_empty() {
            return;
        }
        // A path of the length that a large script has is refused.
        if script.len() > 3000 {
            return;
        }
        let base = format!("/api/v1/address/{}", script.to_hex_string());
        let history = &self.histories[script];
        let mut rows: Vec<Touched> = Vec::new();
        loop {
            let before = rows.last().map_or_else(String::new, |row| format!("&before={}:{}", row.height, row.index));
            let page = Touched::read_all(&get_ok(server, &format!("{base}/history?count={PAGE}{before}"))).unwrap();
            rows.extend(&page);
            if page.len() < PAGE {
                break;
            }
        }
        assert_eq!(&rows, history, "{script}");
        let (outputs, spent_outputs) = self.counts[script];
        let (lost_outputs, lost) = self.lost.get(script).copied().unwrap_or_default();
        let sum = |amount: fn(&Touched) -> Amount| history.iter().map(amount).sum::<Amount>();
        let expected = Totals {
            tip: self.tip.0,
            height: Height(self.tip.1),
            transactions: history.len() as u32,
            outputs,
            spent_outputs,
            received: sum(|row| row.received),
            spent: sum(|row| row.spent),
            lost,
            missing: 0,
            lost_outputs,
        };
        assert_eq!(Totals::read_all(&get_ok(server, &base)).unwrap(), [expected], "{script}");
        let is_lost = |row: &Touched| row.height == Height(0) || lost_outputs == outputs;
        self.compare_balance(server, &base, history, is_lost);
        let mut unspent = self.unspent[script].clone();
        unspent.sort_by_key(|(index, coin)| std::cmp::Reverse((coin.height, *index, coin.outpoint.vout)));
        let coins = Coin::read_all(&get_ok(server, &format!("{base}/unspent"))).unwrap();
        assert_eq!(coins, unspent.into_iter().map(|(_, coin)| coin).collect::<Vec<_>>(), "{script}");
        compared.scripts += 1;
        compared.rows += rows.len() as u64;
    }

    /// Every point is the balance after all of its block, and the last one is today's.
    #[track_caller]
    fn compare_balance(
        &self,
        server: &dyn Served,
        base: &str,
        history: &[Touched],
        is_lost: impl Fn(&Touched) -> bool,
    ) {
        let mut after: BTreeMap<u32, BalanceAt> = BTreeMap::new();
        let mut balance = Amount::ZERO;
        for row in history.iter().rev() {
            if !is_lost(row) {
                balance = balance + row.received - row.spent;
            }
            after.insert(row.height.0, BalanceAt { height: row.height, time: row.time, balance });
        }
        let points = BalanceAt::read_all(&get_ok(server, &format!("{base}/balance"))).unwrap();
        assert!(points.iter().all(|point| after.get(&point.height.0) == Some(point)), "{base}");
        assert_eq!(points.last(), after.last_key_value().map(|(_, point)| point), "{base}");
        assert!(points.len() == after.len() || points.len() >= 500, "{base}");
    }
}

/// What Core's `IsUnspendable` says of an output, inverted.
fn can_be_spent(output: &TxOut) -> bool {
    !output.script_pubkey.is_op_return() && output.script_pubkey.len() <= 10_000
}
