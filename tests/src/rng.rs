//! Numbers that look random and are the same for the same seed, which is printed so that a failure can be repeated.

use std::time::{SystemTime, UNIX_EPOCH};

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// From a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// From `HINDSIGHT_TORTURE_SEED`, else from the clock; printed with what it is for.
    pub fn printed(what: &str) -> Self {
        let given = std::env::var("HINDSIGHT_TORTURE_SEED").ok().and_then(|seed| seed.parse().ok());
        let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64);
        let seed = given.unwrap_or_else(clock);
        println!("{what}: HINDSIGHT_TORTURE_SEED={seed}");
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.number() % bound.max(1) as u64) as usize
    }

    /// Mixes a list, each item by at most `window` places at a time.
    pub fn shuffle<T>(&mut self, items: &mut [T], window: usize) {
        for at in 0..items.len() {
            let other = at + self.below(window.min(items.len() - at));
            items.swap(at, other);
        }
    }
}
