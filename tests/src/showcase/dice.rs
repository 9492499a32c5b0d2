//! Draws from shapes that are known by a few of their quantiles, in integers alone: logarithms differ between machines.

use crate::rng::Rng;

impl Rng {
    /// A number between two, both included.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.number() % (most - least + 1)
    }

    /// True so many times in a thousand.
    pub fn chance(&mut self, permille: u64) -> bool {
        self.number() % 1000 < permille
    }

    /// One of these.
    pub fn of<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// One of these, each as often as its weight says.
    pub fn weighted<T: Copy>(&mut self, items: &[(u64, T)]) -> T {
        let mut left = self.number() % items.iter().map(|(weight, _)| weight).sum::<u64>();
        for (weight, item) in items {
            match left.checked_sub(*weight) {
                Some(rest) => left = rest,
                None => return *item,
            }
        }
        items[0].1
    }

    /// A number of the shape that has these quantiles, the same distance from each to the next.
    pub fn quantile(&mut self, quantiles: &[u64]) -> u64 {
        let at = self.below(quantiles.len() - 1);
        let (from, to) = (quantiles[at], quantiles[at + 1]);
        from + (to - from) * (self.number() % 1024) / 1024
    }

    /// Bytes without any sense.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.number().to_le_bytes()[0]).collect()
    }
}
