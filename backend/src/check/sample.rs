//! Which blocks are read when not all are.
//!
//! The blocks are parted into as many equal stretches as there are to be chosen, and of each one is chosen: so a sample
//! is spread evenly, and still random. What is chosen follows from the seed alone, so that it can be chosen again.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};

use bitcoin::hashes::{Hash, HashEngine, sha256};

/// A choice among any number of blocks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Sample {
    /// How many are chosen.
    pub count: u64,
    /// What the choice follows from.
    pub seed: u64,
}

impl Sample {
    /// A sample of `count`; without a seed, by one that nobody has chosen.
    pub fn new(count: u64, seed: Option<u64>) -> Self {
        Self { count, seed: seed.unwrap_or_else(|| RandomState::new().hash_one(count)) }
    }

    /// The numbers that are chosen of those below `all`.
    pub fn of(self, all: u64) -> BTreeSet<u64> {
        let count = self.count.min(all);
        (0..count).map(|part| self.in_part(part, count, all)).collect()
    }

    fn in_part(self, part: u64, count: u64, all: u64) -> u64 {
        // No part starts behind the end of all, so that every number fits.
        let start = |part: u64| u64::try_from(u128::from(part) * u128::from(all) / u128::from(count)).unwrap_or(all);
        let (from, to) = (start(part), start(part + 1));
        from + self.number(part) % (to - from).max(1)
    }

    /// The first eight bytes of the hash of seed and part.
    fn number(self, part: u64) -> u64 {
        let mut engine = sha256::Hash::engine();
        engine.input(&self.seed.to_le_bytes());
        engine.input(&part.to_le_bytes());
        let hash = sha256::Hash::from_engine(engine);
        hash.as_byte_array().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_wanted_one_in_each_part() {
        for (count, all) in [(1, 1), (1, 950_000), (7, 10), (10, 10), (1000, 950_000), (3, u64::MAX)] {
            let chosen = Sample { count, seed: 5 }.of(all);
            assert_eq!(chosen.len() as u64, count);
            for (part, number) in chosen.into_iter().enumerate() {
                let start = |part: usize| part as u128 * u128::from(all) / u128::from(count);
                assert!((start(part)..start(part + 1)).contains(&u128::from(number)), "{number} of {all}");
            }
        }
        assert_eq!(Sample { count: 20, seed: 5 }.of(10).len(), 10);
        assert!(Sample { count: 20, seed: 5 }.of(0).is_empty());
    }

    #[test]
    fn the_seed_decides() {
        let of = |seed| Sample::new(100, seed).of(1_000_000);
        assert_eq!(of(Some(1)), of(Some(1)));
        assert_ne!(of(Some(1)), of(Some(2)));
        assert_ne!(of(None), of(None));
    }
}
