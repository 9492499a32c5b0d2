//! What the numbers of a transaction mean, in sentences: locktime, sequence, version. The rules are those of BIP65,
//! BIP68, BIP112 and BIP125.

use crate::format::{count, date_time, span};

/// Locktimes below are heights, others are seconds since 1970.
const LOCK_TIME_THRESHOLD: u32 = 500_000_000;

/// A final input: no relative lock, no replacement, and the locktime does not count for it.
pub const FINAL: u32 = 0xffff_ffff;

/// What a transaction's locktime asks for. `all_final` says that every sequence is 0xffffffff.
pub fn lock_time(lock_time: u32, all_final: bool) -> String {
    let asks = match lock_time {
        0 => return "none: valid in any block".to_owned(),
        height if height < LOCK_TIME_THRESHOLD => {
            ["not valid in block ", &crate::format::group(height), " or below"].concat()
        }
        time => ["not valid before ", &date_time(time, 0), " UTC (median time past)"].concat(),
    };
    if all_final { asks + "; not enforced, since every input is final" } else { asks }
}

/// What an input's sequence says, for a transaction of this version.
pub fn sequence(sequence: u32, version: u32) -> String {
    let replaceable = if sequence < 0xffff_fffe { "signals replacement (BIP125)" } else { "" };
    let lock = if sequence == FINAL {
        "final".to_owned()
    } else if sequence & (1 << 31) != 0 {
        "no relative lock".to_owned()
    } else if version < 2 {
        "no relative lock: the version is below 2".to_owned()
    } else {
        relative_lock(sequence)
    };
    match (sequence, replaceable) {
        (0xffff_fffe, _) => lock + "; lets the locktime count, without signalling replacement",
        (_, "") => lock,
        (_, replaceable) => [&lock, "; ", replaceable].concat(),
    }
}

/// BIP68: bit 22 chooses between blocks and units of 512 seconds, the lowest 16 bits are the number.
fn relative_lock(sequence: u32) -> String {
    let number = u64::from(sequence & 0xffff);
    if number == 0 {
        "relative lock of nothing".to_owned()
    } else if sequence & (1 << 22) == 0 {
        ["the coin has to be ", &count(number, "block"), " old (BIP68)"].concat()
    } else {
        let seconds = number * 512;
        ["the coin has to be ", &span(seconds), " old (", &count(seconds, "second"), ", BIP68)"].concat()
    }
}

/// What a transaction's version changes.
pub const fn version(version: u32) -> &'static str {
    match version {
        1 => "",
        2 => "relative locks count (BIP68)",
        3 => "topologically restricted until confirmed (BIP431)",
        _ => "no rules of its own",
    }
}

/// How old a coin was when it was spent, about ten minutes a block.
pub fn coin_age(blocks: u32) -> String {
    match blocks {
        0 => "created in this block".to_owned(),
        blocks => [&count(blocks.into(), "block"), ", about ", &span(u64::from(blocks) * 600)].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_times() {
        assert_eq!(lock_time(0, false), "none: valid in any block");
        assert_eq!(lock_time(840_000, false), "not valid in block 840,000 or below");
        assert_eq!(lock_time(499_999_999, false), "not valid in block 499,999,999 or below");
        assert_eq!(
            lock_time(500_000_000, true),
            "not valid before 1985-11-05 00:53:20 UTC (median time past); not enforced, since every input is final"
        );
    }

    #[test]
    fn sequences() {
        assert_eq!(sequence(0xffff_ffff, 2), "final");
        assert_eq!(
            sequence(0xffff_fffe, 2),
            "no relative lock; lets the locktime count, without signalling replacement"
        );
        assert_eq!(sequence(0xffff_fffd, 2), "no relative lock; signals replacement (BIP125)");
        assert_eq!(sequence(144, 2), "the coin has to be 144 blocks old (BIP68); signals replacement (BIP125)");
        assert_eq!(sequence(144, 1), "no relative lock: the version is below 2; signals replacement (BIP125)");
        assert_eq!(
            sequence((1 << 22) | 169, 0xffff_ffff),
            "the coin has to be 1 day old (86,528 seconds, BIP68); signals replacement (BIP125)"
        );
        assert_eq!(sequence(0, 2), "relative lock of nothing; signals replacement (BIP125)");
    }

    #[test]
    fn ages() {
        assert_eq!(coin_age(0), "created in this block");
        assert_eq!(coin_age(1), "1 block, about 10 minutes");
        assert_eq!(coin_age(144), "144 blocks, about 1 day");
    }
}
