//! A bound on the bytes of all bodies that are alive, in the cache or on their way to a reader.
//!
//! A thousand readers of one block share one copy; a thousand slow readers of a thousand blocks would not fit. So each
//! body counts until its last holder drops it, and a new one waits, for a while, until there is room.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::{Condvar, Mutex};

use super::QueryError;

/// How long a new body waits for room.
const PATIENCE: Duration = Duration::from_secs(5);

/// The bound and what is taken of it, in bytes.
#[derive(Debug)]
pub struct Memory {
    limit: u64,
    taken: Mutex<u64>,
    freed: Condvar,
}

impl Memory {
    /// Room for `limit` bytes.
    pub fn new(limit: u64) -> Arc<Self> {
        Arc::new(Self { limit, taken: Mutex::new(0), freed: Condvar::new() })
    }

    /// Runs a read of about `expected` bytes when there is room, and counts what it returns until that is dropped.
    ///
    /// # Errors
    /// [`QueryError::Busy`] where room does not come; whatever the read fails with.
    pub fn hold(
        self: &Arc<Self>,
        expected: u64,
        read: impl FnOnce() -> Result<Vec<u8>, QueryError>,
    ) -> Result<Bytes, QueryError> {
        let share = self.take(expected)?;
        Ok(share.hold(read()?))
    }

    /// Takes room for about `bytes` bytes when there is some.
    ///
    /// # Errors
    /// [`QueryError::Busy`] where it does not come.
    pub fn take(self: &Arc<Self>, bytes: u64) -> Result<Share, QueryError> {
        let end = Instant::now() + PATIENCE;
        let mut taken = self.taken.lock();
        while taken.saturating_add(bytes) > self.limit {
            if self.freed.wait_until(&mut taken, end).timed_out() {
                return Err(QueryError::Busy);
            }
        }
        *taken += bytes;
        Ok(Share { memory: self.clone(), bytes })
    }
}

/// A part of the bound, given back on drop.
#[derive(Debug)]
pub struct Share {
    memory: Arc<Memory>,
    bytes: u64,
}

impl Share {
    /// Bytes that count as this share until their last holder drops them.
    pub fn hold(mut self, bytes: Vec<u8>) -> Bytes {
        self.resize(bytes.len() as u64);
        Bytes::from_owner(Counted { bytes, _share: self })
    }

    fn resize(&mut self, bytes: u64) {
        let mut taken = self.memory.taken.lock();
        *taken = taken.saturating_sub(self.bytes).saturating_add(bytes);
        self.bytes = bytes;
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.resize(0);
        self.memory.freed.notify_all();
    }
}

struct Counted {
    bytes: Vec<u8>,
    _share: Share,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_count_until_their_last_holder_drops_them() {
        let memory = Memory::new(100);
        let first = memory.hold(10, || Ok(vec![0; 80])).unwrap();
        let copy = first.clone();
        assert_eq!(*memory.taken.lock(), 80);
        drop(first);
        assert_eq!(*memory.taken.lock(), 80);
        drop(copy);
        assert_eq!(*memory.taken.lock(), 0);
    }

    #[test]
    fn a_read_that_fails_leaves_nothing_taken() {
        let memory = Memory::new(100);
        assert!(memory.hold(60, || Err(QueryError::Busy)).is_err());
        assert_eq!(*memory.taken.lock(), 0);
    }

    #[test]
    fn a_new_body_waits_for_room() {
        let memory = Memory::new(100);
        let first = memory.hold(80, || Ok(vec![0; 80])).unwrap();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| memory.hold(80, || Ok(vec![0; 80])).is_ok());
            drop(first);
            assert!(second.join().unwrap());
        });
    }
}
