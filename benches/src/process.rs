//! What the system tells of this process.

use std::time::Duration;

/// The most memory that it has had, in bytes.
#[must_use]
pub fn peak_memory() -> u64 {
    field("/proc/self/status", "VmHWM:").unwrap() << 10
}

/// Bytes that this thread had read from a disk, not from memory.
#[must_use]
pub fn read_from_disk() -> u64 {
    field("/proc/thread-self/io", "read_bytes:").unwrap()
}

/// So many in that time, for each second.
#[must_use]
pub fn per_second(count: u64, time: Duration) -> u128 {
    u128::from(count) * 1000 / time.as_millis().max(1)
}

fn field(path: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}
