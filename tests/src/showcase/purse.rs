//! The coins that the last block left, by the way they are locked: a wallet spends coins of one kind together.

use std::ops::RangeBounds;

use bitcoin::{OutPoint, TxOut};

use super::wallet::{EVERYDAY, Kind, Owner};
use crate::rng::Rng;

/// An output that somebody can spend.
#[derive(Clone, Debug)]
pub struct Coin {
    /// Which output.
    pub outpoint: OutPoint,
    /// What it holds.
    pub output: TxOut,
    /// Whose it is.
    pub owner: Owner,
    /// The height of its block.
    pub born: u32,
}

impl Coin {
    /// In satoshis.
    pub fn sats(&self) -> u64 {
        self.output.value.to_sat()
    }
}

/// How many coins are looked at for one that is large or small enough.
const LOOKS: usize = 400;

/// How many kinds are looked through for such a coin.
const TRIES: usize = 5;

/// All coins that can be spent.
#[derive(Clone, Default)]
pub struct Purse {
    everyday: [Vec<Coin>; EVERYDAY.len()],
    odd: Vec<Coin>,
}

impl Purse {
    /// Adds a coin.
    pub fn put(&mut self, coin: Coin) {
        match EVERYDAY.iter().position(|(_, kind)| **kind == coin.owner.kind) {
            Some(kind) => self.everyday[kind].push(coin),
            None => self.odd.push(coin),
        }
    }

    /// How many coins of wallets there are.
    pub fn count(&self) -> usize {
        self.everyday.iter().map(Vec::len).sum()
    }

    /// Up to `count` coins of one kind that are worth at least `need` together, if it finds some.
    pub fn take(&mut self, rng: &mut Rng, count: usize, need: u64) -> Option<Vec<Coin>> {
        (0..TRIES).find_map(|_| self.take_of_some_kind(rng, count, need))
    }

    fn take_of_some_kind(&mut self, rng: &mut Rng, count: usize, need: u64) -> Option<Vec<Coin>> {
        let kind = self.some_kind(rng)?;
        let coins = &mut self.everyday[kind];
        let mut taken: Vec<Coin> = (0..count.min(coins.len())).map(|_| remove(coins, rng)).collect();
        if taken.iter().map(Coin::sats).sum::<u64>() < need {
            let Some(at) = find(coins, rng, |coin| coin.sats() >= need) else { return self.give_back(taken) };
            let rich = coins.swap_remove(at);
            coins.push(std::mem::replace(&mut taken[0], rich));
        }
        Some(taken)
    }

    /// Up to so many coins of one kind that hold so many satoshis each.
    pub fn take_of(&mut self, rng: &mut Rng, kind: &Kind, count: usize, sats: impl RangeBounds<u64>) -> Vec<Coin> {
        let Some(kind) = EVERYDAY.iter().position(|(_, other)| *other == kind) else { return Vec::new() };
        let coins = &mut self.everyday[kind];
        let found = |_| find(coins, rng, |coin| sats.contains(&coin.sats())).map(|at| coins.swap_remove(at));
        (0..count).map_while(found).collect()
    }

    /// A rare coin.
    pub fn take_odd(&mut self, rng: &mut Rng) -> Option<Coin> {
        (!self.odd.is_empty()).then(|| remove(&mut self.odd, rng))
    }

    fn give_back(&mut self, coins: Vec<Coin>) -> Option<Vec<Coin>> {
        coins.into_iter().for_each(|coin| self.put(coin));
        None
    }

    fn some_kind(&self, rng: &mut Rng) -> Option<usize> {
        let mut at = rng.below(self.count());
        self.everyday.iter().position(|coins| {
            let here = at < coins.len();
            at = at.saturating_sub(coins.len());
            here
        })
    }
}

fn remove(coins: &mut Vec<Coin>, rng: &mut Rng) -> Coin {
    coins.swap_remove(rng.below(coins.len()))
}

/// A coin that will do, from a random place on.
fn find(coins: &[Coin], rng: &mut Rng, will_do: impl Fn(&Coin) -> bool) -> Option<usize> {
    let start = rng.below(coins.len());
    (0..coins.len().min(LOOKS)).map(|step| (start + step) % coins.len()).find(|at| will_do(&coins[*at]))
}
