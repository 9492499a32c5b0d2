//! A block in the making, as a miner's template: packages of transactions that need nothing of each other, best paid
//! first.

use std::collections::HashSet;

use bitcoin::{OutPoint, Transaction};

use super::drafts::Signed;
use super::purse::{Coin, Purse};
use super::wallet::{Kind, Wallet};
use crate::locks::Lock;
use crate::rng::Rng;

/// Transactions that stand or fall together, parents first.
#[derive(Clone, Debug)]
pub struct Package {
    /// The transactions.
    pub txs: Vec<Transaction>,
    /// What they pay together, in satoshis.
    pub fees: u64,
    /// What they weigh together.
    pub weight: u64,
}

impl Package {
    /// In millisatoshis a virtual byte.
    pub fn rate(&self) -> u64 {
        self.fees * 4_000 / self.weight
    }

    /// What its transactions spend, each other's outputs included.
    pub fn spent(&self) -> impl Iterator<Item = OutPoint> {
        self.txs.iter().flat_map(|tx| tx.input.iter().map(|input| input.previous_output))
    }

    /// All their outputs.
    pub fn made(&self) -> impl Iterator<Item = OutPoint> {
        let outputs = |tx: &Transaction| {
            let (txid, count) = (tx.compute_txid(), tx.output.len());
            (0..count as u32).map(move |vout| OutPoint { txid, vout })
        };
        self.txs.iter().flat_map(outputs)
    }
}

/// All that a way to make transactions needs.
pub struct Scribe<'a> {
    /// Chance.
    pub rng: &'a mut Rng,
    /// Everybody's keys.
    pub wallet: &'a Wallet,
    /// What can be spent.
    pub purse: &'a mut Purse,
    /// The height of the block.
    pub height: u32,
    /// What people pay at the time, in thousandths of what they usually pay.
    pub demand: u64,
    made: Vec<Coin>,
    packages: Vec<Package>,
    weight: u64,
}

/// Quantiles of what people pay, in millisatoshis a virtual byte; in front the ones that are in no hurry.
const RATES: &[u64] = &[
    200, 210, 250, 300, 360, 420, 500, 560, 640, 750, 900, 1_000, 1_010, 1_080, 1_150, 1_250, 1_400, 1_600, 1_850,
    2_000, 2_030, 2_250, 2_600, 3_000, 3_050, 3_600, 4_300, 5_200, 6_500, 9_000, 14_000,
];

/// The same of those who must not wait, or do not look.
const URGENT: &[u64] = &[10_000, 15_000, 20_000, 25_000, 32_000, 50_000, 80_000, 120_000, 210_000, 500_000];

/// No transaction pays less a virtual byte, in millisatoshis, unless another pays for it.
pub const LEAST: u64 = 200;

/// None pays more.
const MOST: u64 = 500_000;

impl<'a> Scribe<'a> {
    /// With an empty template.
    pub fn new(rng: &'a mut Rng, wallet: &'a Wallet, purse: &'a mut Purse, height: u32, demand: u64) -> Self {
        Self { rng, wallet, purse, height, demand, made: Vec::new(), packages: Vec::new(), weight: 0 }
    }

    /// What somebody pays, in millisatoshis a virtual byte.
    pub fn rate(&mut self) -> u64 {
        let rate = if self.rng.chance(14) { self.rng.quantile(URGENT) } else { self.rng.quantile(RATES) };
        (rate * self.demand / 1000).clamp(LEAST, MOST)
    }

    /// What somebody pays who can wait for ever.
    pub fn patient(&mut self) -> u64 {
        (self.rng.between(200, 700) * self.demand / 1000).max(LEAST)
    }

    /// A lock time as wallets set it, so that a miner gains nothing by going back: the last block's height, or a
    /// little less.
    pub fn recently(&mut self) -> u32 {
        let late = if self.rng.chance(150) { self.rng.between(1, 40) as u32 } else { 0 };
        (self.height - 1).saturating_sub(late)
    }

    /// Adds transactions that stand or fall together, with all the coins that they leave.
    pub fn push(&mut self, signed: Vec<Signed>) {
        let spent: HashSet<OutPoint> =
            signed.iter().flat_map(|signed| &signed.tx.input).map(|input| input.previous_output).collect();
        let fees = signed.iter().map(|signed| signed.fee).sum();
        let weight = signed.iter().map(|signed| signed.tx.weight().to_wu()).sum();
        let (txs, coins): (Vec<_>, Vec<_>) = signed.into_iter().map(|signed| (signed.tx, signed.coins)).unzip();
        let left = coins.into_iter().flatten().filter(|coin| !spent.contains(&coin.outpoint));
        self.made.extend(left);
        self.weight += weight;
        self.packages.push(Package { txs, fees, weight });
    }

    /// What the template weighs so far.
    pub fn weight(&self) -> u64 {
        self.weight
    }

    /// Takes back what was added last: its coins are lost.
    pub fn undo(&mut self) {
        if let Some(package) = self.packages.pop() {
            self.weight -= package.weight;
            let txids: HashSet<_> = package.txs.iter().map(Transaction::compute_txid).collect();
            self.made.retain(|coin| !txids.contains(&coin.outpoint.txid));
        }
    }

    /// The packages, best paid first; what they leave can be spent from now on.
    pub fn finish(self) -> Vec<Package> {
        let mut packages = self.packages;
        packages.sort_by_key(|package| std::cmp::Reverse(package.rate()));
        // Anchors of nothing are not worth anybody's while.
        let worth = |coin: &Coin| coin.sats() > 0 || coin.owner.kind != Kind::One(Lock::Anchor);
        self.made.into_iter().filter(worth).for_each(|coin| self.purse.put(coin));
        packages
    }
}
