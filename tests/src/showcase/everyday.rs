//! What most transactions are: payments, withdrawals in batches, consolidations, coins joined, tokens and notes.

use bitcoin::ScriptBuf;
use bitcoin::opcodes::all::{OP_PUSHNUM_13, OP_RETURN};
use bitcoin::script::{Builder, PushBytesBuf};

use super::drafts::{DUST, Draft, Payee};
use super::purse::Coin;
use super::template::Scribe;
use super::texts;
use super::wallet::{Kind, Owner};
use crate::locks::{Lock, op_return};

/// Quantiles of what people pay one another, in satoshis.
const AMOUNTS: &[u64] = &[
    1_000,
    4_000,
    10_000,
    20_000,
    35_000,
    60_000,
    100_000,
    150_000,
    220_000,
    330_000,
    500_000,
    800_000,
    1_300_000,
    2_200_000,
    4_000_000,
    8_000_000,
    17_000_000,
    40_000_000,
    100_000_000,
    350_000_000,
];

/// What is sent along with a token.
pub const POSTAGE: u64 = 546;

impl Scribe<'_> {
    /// What somebody wants to pay: every third time a round number.
    pub fn amount(&mut self) -> u64 {
        let amount = self.rng.quantile(AMOUNTS);
        if !self.rng.chance(330) {
            return amount;
        }
        let mut unit = 1;
        while unit * 10 <= amount {
            unit *= 10;
        }
        amount / unit * unit
    }

    /// Coins that can pay for so much, and for a transaction of about this size at a rate.
    pub fn coins(&mut self, count: usize, need: u64, size: u64, rate: u64) -> Option<Vec<Coin>> {
        self.purse.take(self.rng, count, need + size * rate / 1000 + 2 * DUST)
    }

    /// Where change goes: mostly to the same way of locking as the coins.
    pub fn change(&mut self, coins: &[Coin]) -> Payee {
        let kind = coins[0].owner.kind.clone();
        if self.rng.chance(850) {
            return Payee::Owner(self.wallet.anybody_with(kind, self.rng));
        }
        self.somebody()
    }

    /// Somebody to pay to.
    pub fn somebody(&mut self) -> Payee {
        Payee::Owner(self.wallet.somebody(self.rng))
    }

    /// A draft with what wallets set: version, lock time and sequence.
    pub fn draft(&mut self, coins: Vec<Coin>, outputs: Vec<(u64, Payee)>) -> Draft {
        let age = self.height - coins.iter().map(|coin| coin.born).max().unwrap_or(0);
        let mut draft = Draft::new(coins, outputs);
        draft.version = if self.rng.chance(120) { 1 } else { 2 };
        draft.sequence = self.rng.weighted(&[(62, 0xffff_fffd), (25, 0xffff_ffff), (13, 0xffff_fffe)]);
        if draft.sequence != 0xffff_ffff && self.rng.chance(550) {
            draft.lock_time = self.recently();
        }
        // A spend that had to wait for its coins to grow old (BIP68).
        if draft.version == 2 && self.rng.chance(8) {
            draft.sequence = age.min(144);
        }
        draft
    }

    /// Signs a draft for a rate.
    pub fn send(&mut self, draft: Draft, rate: u64) {
        let signed = draft.sign_at(self.wallet, self.height, rate);
        self.push(vec![signed]);
    }

    /// One person pays another, or two, or moves all of some coins.
    pub fn payment(&mut self) -> Option<()> {
        let rate = self.rate();
        let inputs = self.rng.weighted(&[(660, 1), (190, 2), (70, 3), (35, 4), (25, 6), (15, 9), (5, 16)]);
        let payees = self.rng.weighted(&[(150, 0), (740, 1), (60, 2), (30, 3), (20, 7)]);
        let coins = self.coins(inputs, 0, 70 * inputs as u64 + 35 * payees + 60, rate)?;
        let mut left = coins.iter().map(Coin::sats).sum::<u64>() * 9 / 10;
        let mut outputs = Vec::new();
        for _ in 0..payees {
            let amount = self.amount().min(left * 6 / 10);
            if amount >= DUST && left - amount > 2 * DUST + rate {
                left -= amount;
                outputs.push((amount, self.somebody()));
            }
        }
        outputs.push((0, if outputs.is_empty() { self.somebody() } else { self.change(&coins) }));
        let place = self.rng.below(outputs.len());
        let draft = self.draft(coins, outputs).change_at(place);
        self.send(draft, rate);
        Some(())
    }

    /// An exchange pays many of its customers.
    pub fn batch(&mut self, most: u64) -> Option<()> {
        let payees = self.rng.between(most / 8, most);
        let rate = self.rate().max(600);
        let outputs: Vec<(u64, Payee)> =
            (0..payees).map(|_| (self.amount().min(120_000_000), self.somebody())).collect();
        self.pay_all(outputs, rate)
    }

    /// Pays all of these, as far as some coin reaches.
    fn pay_all(&mut self, mut outputs: Vec<(u64, Payee)>, rate: u64) -> Option<()> {
        let size = 35 * outputs.len() as u64 + 120;
        let need: u64 = outputs.iter().map(|(sats, _)| sats).sum();
        let inputs = self.rng.between(1, 3) as usize;
        // Where nobody is as rich as that, everybody gets less.
        let (coins, part) = [1, 10, 100, 1_000].iter().find_map(|part| {
            let coins = self.coins(inputs, need / part + DUST * outputs.len() as u64, size, rate)?;
            Some((coins, part))
        })?;
        outputs.iter_mut().for_each(|(sats, _)| *sats = (*sats / part).max(DUST));
        let change = self.change(&coins);
        outputs.push((0, change));
        let draft = self.draft(coins, outputs);
        self.send(draft, rate);
        Some(())
    }

    /// Many small coins become one.
    pub fn consolidation(&mut self, most: u64) -> Option<()> {
        let count = self.rng.between(most / 6, most) as usize;
        let kind = self.wallet.somebody(self.rng).kind;
        let coins = self.purse.take_of(self.rng, &kind, count, ..3_000_000);
        if coins.len() < 8 {
            coins.into_iter().for_each(|coin| self.purse.put(coin));
            return None;
        }
        let rate = self.patient();
        let owner = Payee::Owner(self.wallet.anybody_with(kind, self.rng));
        let draft = self.draft(coins, vec![(0, owner)]);
        self.send(draft, rate);
        Some(())
    }

    /// Strangers spend together, each to an output like all others and to change.
    pub fn join(&mut self, people: usize) -> Option<()> {
        let rate = self.rate();
        let kind = Kind::One(if self.rng.chance(500) { Lock::Wpkh } else { Lock::TrKey });
        let coins = self.purse.take_of(self.rng, &kind, people, 110 * rate / 1000 + 20_000..);
        let poorest = coins.iter().map(Coin::sats).min()?;
        let equal = [50_000_000, 10_000_000, 5_000_000, 1_000_000, 500_000, 100_000, 50_000, 10_000];
        let equal = equal.into_iter().find(|equal| *equal + 3 * DUST < poorest)?;
        let own_share = 110 * rate / 1000 + 200;
        let mut outputs = Vec::new();
        for coin in &coins {
            outputs.push((equal, Payee::Owner(self.wallet.anybody_with(kind.clone(), self.rng))));
            let change = coin.sats().saturating_sub(equal + own_share);
            if change > DUST {
                outputs.push((change, Payee::Owner(self.wallet.anybody_with(kind.clone(), self.rng))));
            }
        }
        let window = outputs.len();
        self.rng.shuffle(&mut outputs, window);
        let largest = (0..window).max_by_key(|at| outputs[*at].0)?;
        outputs.swap(largest, window - 1);
        let mut draft = self.draft(coins, outputs).change_at(largest);
        draft.lock_time = 0;
        self.send(draft, rate);
        Some(())
    }

    /// Moves a token, as the data of its first output says.
    pub fn token(&mut self) -> Option<()> {
        let rate = self.rate();
        let size = self.rng.between(2, 14) as usize;
        let holders = self.rng.weighted(&[(60, 1), (30, 2), (10, 5)]);
        let coins = self.coins(2, POSTAGE * holders, 300, rate)?;
        let mut outputs = vec![(0, Payee::Script(token_data(self.rng.bytes(size))))];
        for _ in 0..holders {
            outputs.push((POSTAGE, Payee::Owner(self.wallet.anybody_with(Kind::One(Lock::TrKey), self.rng))));
        }
        outputs.push((0, Payee::Owner(self.wallet.anybody_with(Kind::One(Lock::TrKey), self.rng))));
        let draft = self.draft(coins, outputs);
        self.send(draft, rate);
        Some(())
    }

    /// A payment with a note: a few words, a hash, nothing at all, or now and then pages.
    pub fn note(&mut self, large: bool) -> Option<()> {
        let rate = if large { self.patient() } else { self.rate() };
        let data = match self.rng.below(12) {
            _ if large => {
                let lines = self.rng.between(20, 160) as usize;
                op_return(texts::poem(self.rng, lines).as_bytes())
            }
            0 => ScriptBuf::from_bytes(vec![OP_RETURN.to_u8()]),
            1 | 2 => op_return(&self.rng.bytes(32)),
            3 => op_return(&[b"proof of existence: ", &self.rng.bytes(32)[..]].concat()),
            4 => op_return(&self.rng.bytes(80)),
            _ => op_return(texts::memo(self.rng).as_bytes()),
        };
        let coins = self.coins(1, 0, 250 + data.len() as u64, rate)?;
        let change = self.change(&coins);
        let draft = self.draft(coins, vec![(0, Payee::Script(data)), (0, change)]);
        self.send(draft, rate);
        Some(())
    }

    /// A coin that goes to the same person's next address.
    pub fn own(&mut self, kind: Kind) -> Payee {
        Payee::Owner(Owner { kind, key: self.wallet.somebody_s_key(self.rng) })
    }
}

/// `OP_RETURN OP_13 <data>`, as protocols for tokens mark their messages.
fn token_data(data: Vec<u8>) -> ScriptBuf {
    let data = PushBytesBuf::try_from(data).unwrap();
    Builder::new().push_opcode(OP_RETURN).push_opcode(OP_PUSHNUM_13).push_slice(data).into_script()
}
