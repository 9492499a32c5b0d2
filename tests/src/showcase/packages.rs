//! Transactions that need one another within a block: children that pay for their parents, lines of descent, anchors
//! that last no longer than their block, inscriptions and what reveals them.

use bitcoin::ScriptBuf;
use bitcoin::opcodes::all::{OP_ENDIF, OP_IF, OP_PUSHBYTES_0};
use bitcoin::script::{Builder, PushBytesBuf};

use super::drafts::{DUST, Draft, Payee, Signed};
use super::everyday::POSTAGE;
use super::template::Scribe;
use super::texts;
use super::wallet::Kind;
use crate::locks::Lock;

/// The largest push that a script may hold.
const PUSH: usize = 520;

impl Scribe<'_> {
    fn sign(&self, draft: Draft, rate: u64) -> Signed {
        draft.sign_at(self.wallet, self.height, rate)
    }

    /// A payment that pays too little, and whoever is paid pays for both.
    pub fn bumped(&mut self) -> Option<()> {
        let low = self.rng.between(200, 500);
        let high = self.rate().max(2_000) * 2;
        let amount = self.amount() + 300 * high / 1000 + 4 * DUST;
        let coins = self.coins(1, amount, 200, low)?;
        let (payee, change) = (self.somebody(), self.change(&coins));
        let parent = self.draft(coins, vec![(amount, payee), (0, change)]);
        let parent = self.sign(parent, low);
        let payee = self.somebody();
        let child = self.draft(vec![parent.coins[0].clone()], vec![(0, payee)]);
        let child = self.sign(Draft { sequence: 0xffff_fffd, ..child }, high);
        self.push(vec![parent, child]);
        Some(())
    }

    /// Somebody who pays again and again with the change of the last time.
    pub fn line(&mut self, length: usize) -> Option<()> {
        let rate = self.rate();
        let mut coins = self.coins(1, 20_000 * length as u64, 220 * length as u64, rate)?;
        let kind = coins[0].owner.kind.clone();
        let mut signed: Vec<Signed> = Vec::new();
        for _ in 0..length {
            let whole = coins[0].sats();
            let amount = self.amount().min(whole / length as u64).max(DUST);
            let (payee, change) = (self.somebody(), self.own(kind.clone()));
            let mut draft = Draft::new(coins, vec![(amount, payee), (0, change)]);
            draft.lock_time = self.height - 1;
            let next = self.sign(draft, rate);
            coins = vec![next.coins.last()?.clone()];
            signed.push(next);
        }
        self.push(signed);
        Some(())
    }

    /// A parent that pays nothing and has an anchor of nothing, and the child that spends it and pays for both; both of
    /// version 3, and the child small (BIP431, BIP433).
    pub fn anchored(&mut self) -> Option<()> {
        let rate = self.rate().max(1_000) * 2;
        let coins = self.coins(1, 30_000, 0, 0)?;
        let amount = self.amount().min(coins[0].sats() / 2);
        let (payee, change) = (self.somebody(), self.change(&coins));
        let anchor = self.own(Kind::One(Lock::Anchor));
        let mut parent = Draft::new(coins, vec![(0, anchor), (amount, payee), (0, change)]);
        parent.version = 3;
        let parent = parent.pay(self.wallet, self.height, 0);
        let mut coins = self.coins(1, 0, 400, rate)?;
        coins.insert(0, parent.coins[0].clone());
        let change = self.change(&coins[1..]);
        let mut child = Draft::new(coins, vec![(0, change)]);
        child.version = 3;
        let child = self.sign(child, rate);
        self.push(vec![parent, child]);
        Some(())
    }

    /// The end of a payment channel against the other's will: a lock time and a sequence that hide a number, an anchor
    /// for each side, and a child that pays by one of them (BOLT 3).
    pub fn channel_end(&mut self) -> Option<()> {
        let rate = self.rate().max(1_000);
        let coins = self.purse.take_of(self.rng, &Kind::WshMultisig, 1, 50_000..);
        let whole = coins.first()?.sats();
        let anchors = [330, 330].map(|sats| (sats, self.own(Kind::WshMultisig)));
        let (theirs, ours) = (self.own(Kind::One(Lock::Wpkh)), self.own(Kind::WshMultisig));
        let outputs = [anchors.to_vec(), vec![(whole / 3, theirs), (0, ours)]].concat();
        let mut parent = Draft::new(coins, outputs);
        parent.lock_time = 0x2000_0000 | self.rng.below(1 << 24) as u32;
        parent.sequence = 0x8000_0000 | self.rng.below(1 << 24) as u32;
        let parent = self.sign(parent, 250);
        let mut coins = self.coins(1, 0, 600, rate)?;
        coins.insert(0, parent.coins[0].clone());
        let change = self.own(Kind::One(Lock::Wpkh));
        let child = self.draft(coins, vec![(0, change)]);
        let child = self.sign(Draft { sequence: 0xffff_fffd, ..child }, rate * 2);
        self.push(vec![parent, child]);
        Some(())
    }

    /// One person's content, and the transaction that shows it.
    pub fn inscription(&mut self) -> Option<()> {
        let number = |scribe: &mut Self, least, most| scribe.rng.between(least, most) as usize;
        let (mime, body) = match self.rng.below(10) {
            0..=3 => {
                let lines = number(self, 4, 60);
                ("text/plain;charset=utf-8", texts::poem(self.rng, lines))
            }
            4..=7 => {
                let shapes = number(self, 8, 160);
                ("image/svg+xml", texts::picture(self.rng, shapes))
            }
            8 => {
                let lines = number(self, 10, 120);
                ("text/html;charset=utf-8", texts::page(self.rng, lines))
            }
            _ => {
                let lines = number(self, 100, 700);
                ("text/plain;charset=utf-8", texts::poem(self.rng, lines))
            }
        };
        self.inscribe(mime, &[body])
    }

    /// Tokens minted one after another from one commitment.
    pub fn mint(&mut self) -> Option<()> {
        let count = self.rng.weighted(&[(50, 1), (30, 5), (15, 12), (5, 25)]);
        let bodies: Vec<String> = (0..count).map(|_| texts::token(self.rng)).collect();
        self.inscribe("text/plain;charset=utf-8", &bodies)
    }

    fn inscribe(&mut self, mime: &str, bodies: &[String]) -> Option<()> {
        let rate = if bodies[0].len() > 2_000 { self.patient() } else { self.rate().min(20_000) };
        let cost = |body: &String| POSTAGE + (body.len() as u64 / 4 + 160) * rate / 1000;
        let need = bodies.iter().map(cost).sum::<u64>();
        let coins = self.coins(1, need, 60 * bodies.len() as u64 + 120, rate)?;
        let mut outputs: Vec<(u64, Payee)> = Vec::new();
        for body in bodies {
            let key = self.wallet.somebody_s_key(self.rng);
            let leaf = envelope(self.wallet.key(key).signed_leaf(), mime, body.as_bytes());
            outputs.push((cost(body), Payee::Owner(super::wallet::Owner { kind: Kind::Leaf(leaf), key })));
        }
        let change = self.change(&coins);
        outputs.push((0, change));
        let commit = self.draft(coins, outputs);
        let commit = self.sign(commit, rate);
        let mut signed = vec![commit];
        for number in 0..bodies.len() {
            let coin = signed[0].coins[number].clone();
            let holder = self.own(Kind::One(Lock::TrKey));
            signed.push(self.sign(Draft::new(vec![coin], vec![(0, holder)]), rate));
        }
        self.push(signed);
        Some(())
    }
}

/// A leaf that asks for a signature and carries content: `OP_FALSE OP_IF "ord" 1 <type> 0 <body>… OP_ENDIF`.
fn envelope(leaf: ScriptBuf, mime: &str, body: &[u8]) -> ScriptBuf {
    let data = |bytes: &[u8]| PushBytesBuf::try_from(bytes.to_vec()).unwrap();
    let head = Builder::from(leaf.into_bytes())
        .push_opcode(OP_PUSHBYTES_0)
        .push_opcode(OP_IF)
        .push_slice(b"ord")
        .push_slice([1])
        .push_slice(data(mime.as_bytes()))
        .push_opcode(OP_PUSHBYTES_0);
    body.chunks(PUSH).fold(head, |script, chunk| script.push_slice(data(chunk))).push_opcode(OP_ENDIF).into_script()
}
