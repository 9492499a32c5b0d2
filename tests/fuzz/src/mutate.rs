//! Changes to seeds, the same in every run: what a plain test can do without a fuzzer's feedback.

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not zero.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.number() % bound as u64).unwrap_or(0)
    }
}

/// Changes `bytes` in one to four places, at times with a piece of another seed.
pub fn mutate(random: &mut Random, bytes: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..=random.below(4) {
        once(random, bytes, other);
    }
}

fn once(random: &mut Random, bytes: &mut Vec<u8>, other: &[u8]) {
    /// Where formats turn: signs, compact sizes, the ends of integers.
    const EDGES: [u8; 8] = [0, 1, 0x7f, 0x80, 0xfc, 0xfd, 0xfe, 0xff];
    let at = random.below(bytes.len() + 1);
    let size = random.below(40).min(bytes.len() - at);
    match random.below(8) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(at..at + size)),
        2 => drop(bytes.splice(at..at, bytes[at..at + size].to_vec())),
        3 if !other.is_empty() => {
            let from = random.below(other.len());
            let size = random.below(80).min(other.len() - from);
            drop(bytes.splice(at..at, other[from..from + size].iter().copied()));
        }
        4 => {
            let edge = EDGES[random.below(EDGES.len())];
            bytes[at..at + size.min(8)].fill(edge);
        }
        5 if at < bytes.len() => bytes[at] = bytes[at].wrapping_add(1),
        6 if at < bytes.len() => bytes[at] = EDGES[random.below(EDGES.len())],
        _ if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        _ => {}
    }
}
