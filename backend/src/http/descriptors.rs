//! How many files and connections this process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What macOS grants at most where it calls the limit unlimited (`OPEN_MAX`).
const OPEN_MAX: u64 = 10_240;

/// Raises the limit as far as the system lets it go, and returns it: a soft limit of 256 or 1,024 is a habit from the
/// days of `select`, and each connection takes one descriptor.
pub fn raise_limit() -> u64 {
    let before = getrlimit(Resource::Nofile);
    for wanted in [before.maximum, Some(OPEN_MAX)] {
        let new = Rlimit { current: wanted, maximum: before.maximum };
        if raises(before, wanted) && setrlimit(Resource::Nofile, new).is_ok() {
            break;
        }
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

fn raises(before: Rlimit, wanted: Option<u64>) -> bool {
    before.current.is_some_and(|current| wanted.is_none_or(|wanted| wanted > current))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_raised_and_never_lowered() {
        let before = getrlimit(Resource::Nofile);
        let raised = raise_limit();
        assert!(before.current.is_none_or(|before| raised >= before));
        if let Some(hard) = before.maximum {
            assert!(raised >= hard.min(OPEN_MAX));
        }
        assert_eq!(raise_limit(), raised);
    }
}
