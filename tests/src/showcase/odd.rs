//! What few do and every node has to take: rare scripts created and spent, scripts that nobody can unlock, dust.

use bitcoin::ScriptBuf;

use super::drafts::{DUST, Payee};
use super::template::Scribe;
use super::wallet::{Kind, ODD};
use crate::oddities::locked_scripts;

/// Longer scripts than this are left to other tests.
const SHORT: usize = 300;

impl Scribe<'_> {
    /// Spends rare coins, if there are any, beside one that pays, and makes others.
    pub fn oddity(&mut self) -> Option<()> {
        let rate = self.rate();
        let mut coins = self.coins(1, 40_000, 900, rate)?;
        for _ in 0..self.rng.below(3) {
            coins.extend(self.purse.take_odd(self.rng));
        }
        let mut outputs = Vec::new();
        for _ in 0..self.rng.between(1, 3) {
            let lock = *self.rng.of(ODD);
            let sats = self.rng.between(DUST, 9_999);
            outputs.push((sats, self.own(Kind::One(lock))));
        }
        if self.rng.chance(300) {
            let sats = *self.rng.of(&[0, 1, 294, 330, 1_000]);
            outputs.push((sats, Payee::Script(self.locked_script())));
        }
        let change = self.change(&coins[..1]);
        outputs.push((0, change));
        let draft = self.draft(coins, outputs);
        self.send(draft, rate);
        Some(())
    }

    fn locked_script(&mut self) -> ScriptBuf {
        let scripts = locked_scripts().into_iter().filter(|script| script.len() < SHORT);
        self.rng.of(&scripts.collect::<Vec<_>>()).clone()
    }
}
