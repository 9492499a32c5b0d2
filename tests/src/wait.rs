//! Waiting for something to become true, with a deadline that only a hang can reach.

use std::thread;
use std::time::{Duration, Instant};

/// How long anything may take, on a machine that is busy with something else.
pub const DEADLINE: Duration = Duration::from_secs(60);

const PAUSE: Duration = Duration::from_millis(10);

/// Asks again and again until there is an answer.
#[track_caller]
pub fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < end, "in vain waited {DEADLINE:?} until {what}");
        thread::sleep(PAUSE);
    }
}

/// Asks again and again until it is so.
#[track_caller]
pub fn until_true(what: &str, mut ask: impl FnMut() -> bool) {
    until(what, || ask().then_some(()));
}
