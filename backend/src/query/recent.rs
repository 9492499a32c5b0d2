//! What is not to be kept, shared by those who ask for it at the same moment.
//!
//! A stale block has no undo and a damaged one is not whole: neither can be kept, since the next look may find more.
//! But of a hundred readers of one such block each would read and hash all of it, one after another.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bitcoin::BlockHash;
use parking_lot::Mutex;

/// How long an answer is shared.
const SHARED_FOR: Duration = Duration::from_millis(700);

/// At most so many are held at a time: each may hold a block.
const MOST: usize = 16;

/// Answers of the last moment.
#[derive(Debug)]
pub struct Recent<T> {
    answers: Mutex<HashMap<BlockHash, (Instant, T)>>,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self { answers: Mutex::default() }
    }
}

impl<T: Clone> Recent<T> {
    /// An answer that is recent enough. Those that are not are dropped.
    pub fn get(&self, hash: &BlockHash) -> Option<T> {
        let mut answers = self.answers.lock();
        answers.retain(|_, (at, _)| at.elapsed() < SHARED_FOR);
        answers.get(hash).map(|(_, answer)| answer.clone())
    }

    /// Shares an answer for a moment, if there is room.
    pub fn put(&self, hash: BlockHash, answer: T) {
        let mut answers = self.answers.lock();
        answers.retain(|_, (at, _)| at.elapsed() < SHARED_FOR);
        if answers.len() < MOST {
            answers.insert(hash, (Instant::now(), answer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitcoin::hashes::Hash;

    fn hash(number: u8) -> BlockHash {
        BlockHash::from_byte_array([number; 32])
    }

    #[test]
    fn an_answer_is_shared_for_a_moment_only() {
        let recent = Recent::default();
        recent.put(hash(1), "one");
        assert_eq!(recent.get(&hash(1)), Some("one"));
        assert_eq!(recent.get(&hash(2)), None);
        std::thread::sleep(SHARED_FOR);
        assert_eq!(recent.get(&hash(1)), None);
    }

    #[test]
    fn few_are_held_at_a_time() {
        let recent = Recent::default();
        (0..200).for_each(|number| recent.put(hash(number), ()));
        assert_eq!(recent.answers.lock().len(), MOST);
    }
}
