//! Numbers, amounts, sizes, dates and spans of time as text. Integers all the way: what is shown is what is known,
//! rounded down where it has to be cut.

use std::fmt::{Display, Write};

use bitcoin::Amount;
use hindsight_shared::calendar::civil;

/// Digits in groups of three: `1,234,567`.
pub fn group(number: impl Display) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count and what is counted: `1 block`, `2,016 blocks`.
pub fn count(number: u64, noun: &str) -> String {
    let mut out = group(number);
    out.push(' ');
    out.push_str(noun);
    if number != 1 {
        out.push('s');
    }
    out
}

/// Satoshis as bitcoin, always with eight decimals, so that columns line up.
pub fn btc(amount: Amount) -> String {
    let sats = amount.to_sat();
    let mut out = group(sats / 100_000_000);
    decimals(&mut out, sats % 100_000_000, 8);
    out
}

/// Thousandths as a number with `places` decimals (3 at most), rounded down.
pub fn milli(thousandths: u64, places: usize) -> String {
    let mut out = group(thousandths / 1000);
    let cut = 3_usize.saturating_sub(places);
    let fraction = (0..cut).fold(thousandths % 1000, |fraction, _| fraction / 10);
    if places > 0 {
        decimals(&mut out, fraction, places);
    }
    out
}

/// Thousandths with as many decimals as they need: `2`, `0.5`, `1.005`.
pub fn milli_short(thousandths: u64) -> String {
    let text = milli(thousandths, 3);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn decimals(out: &mut String, fraction: u64, places: usize) {
    out.push('.');
    let digits = fraction.to_string();
    out.extend(std::iter::repeat_n('0', places.saturating_sub(digits.len())));
    out.push_str(&digits);
}

/// A size in bytes with three digits that count: `854 B`, `12.3 kB`, `1.62 MB`.
pub fn bytes(size: u64) -> String {
    scaled(size, [" B", " kB", " MB", " GB"])
}

/// A weight with three digits that count: `561 WU`, `3.99 MWU`.
pub fn weight(weight: u64) -> String {
    scaled(weight, [" WU", " kWU", " MWU", " GWU"])
}

/// A large number with three digits that count and a letter: `83.4 T`, `1.26 M`; small ones whole.
pub fn short(number: u128) -> String {
    let (mut scaled_down, mut letters) = (number, ["", "k", "M", "G", "T", "P", "E", "Z", "Y"].iter());
    let mut letter = letters.next();
    let mut thousandths = 0;
    while scaled_down >= 1000 {
        let Some(next) = letters.next() else { break };
        letter = Some(next);
        thousandths = scaled_down % 1000;
        scaled_down /= 1000;
    }
    let mut out = three_digits(u64::try_from(scaled_down).unwrap_or(u64::MAX), u64::try_from(thousandths).unwrap_or(0));
    if let Some(letter) = letter.filter(|letter| !letter.is_empty()) {
        out.push(' ');
        out.push_str(letter);
    }
    out
}

fn scaled(number: u64, units: [&str; 4]) -> String {
    let (mut whole, mut thousandths, mut unit) = (number, 0, units[0]);
    for next in &units[1..] {
        if whole < 1000 {
            break;
        }
        (whole, thousandths, unit) = (whole / 1000, whole % 1000, next);
    }
    let mut out = if unit == units[0] { group(whole) } else { three_digits(whole, thousandths) };
    out.push_str(unit);
    out
}

/// `1.62`, `16.2`, `162`: cut, not rounded, so that nothing unfull looks full.
fn three_digits(whole: u64, thousandths: u64) -> String {
    match whole {
        0 if thousandths == 0 => "0".to_owned(),
        0..=9 if thousandths == 0 => whole.to_string(),
        0..=9 => milli(whole * 1000 + thousandths, 2),
        10..=99 => milli(whole * 1000 + thousandths, 1),
        _ => group(whole),
    }
}

/// Thousandths as a percentage with one decimal.
pub fn percent(thousandths: u32) -> String {
    let mut out = (thousandths / 10).to_string();
    decimals(&mut out, (thousandths % 10).into(), 1);
    out.push('%');
    out
}

/// A time in seconds since 1970, shifted by minutes east of Greenwich: `2009-01-03 18:15:05`.
pub fn date_time(time: u32, minutes_east: i32) -> String {
    let seconds = i64::from(time) + 60 * i64::from(minutes_east);
    let (year, month, day) = civil(seconds.div_euclid(86_400));
    let second = seconds.rem_euclid(86_400);
    let mut out = String::with_capacity(19);
    // Writing to a string cannot fail.
    let _ = write!(out, "{year}-{month:02}-{day:02} {:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
    out
}

/// A zone's distance from Greenwich: `UTC`, `UTC+05:30`.
pub fn zone(minutes_east: i32) -> String {
    let mut out = "UTC".to_owned();
    if minutes_east != 0 {
        let sign = if minutes_east < 0 { '−' } else { '+' };
        let minutes = minutes_east.unsigned_abs();
        let _ = write!(out, "{sign}{:02}:{:02}", minutes / 60, minutes % 60);
    }
    out
}

/// A span of seconds in its largest unit: `12 minutes`, `3 days`.
pub fn span(seconds: u64) -> String {
    const UNITS: [(u64, &str); 5] =
        [(31_557_600, "year"), (2_629_800, "month"), (86_400, "day"), (3600, "hour"), (60, "minute")];
    let unit = UNITS.iter().find(|(length, _)| seconds >= *length);
    unit.map_or_else(|| count(seconds, "second"), |(length, name)| count(seconds / length, name))
}

/// How long ago a time was; headers may run up to two hours ahead of the clock.
pub fn ago(time: u32, now: u64) -> String {
    match now.checked_sub(time.into()) {
        Some(0..=4) => "just now".to_owned(),
        Some(seconds) => span(seconds) + " ago",
        None => span(u64::from(time) - now) + " ahead",
    }
}

/// The two ends of a long name: `4a5e1e4b…da33b7`.
pub fn ends(text: &str, first: usize, last: usize) -> String {
    match (text.get(..first), text.len().checked_sub(last).and_then(|at| text.get(at..))) {
        (Some(start), Some(end)) if text.len() > first + last + 1 => [start, "…", end].concat(),
        _ => text.to_owned(),
    }
}

/// Bytes as hex.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_in_groups() {
        for (number, text) in [(0_u64, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(group(number), text);
        }
        assert_eq!(count(1, "block"), "1 block");
        assert_eq!(count(2016, "block"), "2,016 blocks");
    }

    #[test]
    fn amounts_keep_every_satoshi() {
        assert_eq!(btc(Amount::from_sat(1)), "0.00000001");
        assert_eq!(btc(Amount::from_sat(2_100_000_000_000_000)), "21,000,000.00000000");
        assert_eq!(btc(Amount::from_sat(2_504_441_000)), "25.04441000");
    }

    #[test]
    fn rates_are_cut_not_rounded() {
        assert_eq!(milli(1005, 3), "1.005");
        assert_eq!(milli(999, 2), "0.99");
        assert_eq!(milli(1_234_567, 0), "1,234");
        assert_eq!(milli_short(500), "0.5");
        assert_eq!(milli_short(2000), "2");
        assert_eq!(milli_short(1_000_000), "1,000");
        assert_eq!(milli_short(0), "0");
    }

    #[test]
    fn sizes_have_three_digits() {
        for (size, text) in [
            (0, "0 B"),
            (854, "854 B"),
            (1000, "1 kB"),
            (12_345, "12.3 kB"),
            (999_994, "999 kB"),
            (1_623_000, "1.62 MB"),
            (3_050, "3.05 kB"),
        ] {
            assert_eq!(bytes(size), text);
        }
        assert_eq!(weight(3_999_976), "3.99 MWU");
        assert_eq!(short(1), "1");
        assert_eq!(short(92_049_594_548_485), "92.0 T");
        assert_eq!(percent(999), "99.9%");
        assert_eq!(percent(1000), "100.0%");
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date_time(0, 0), "1970-01-01 00:00:00");
        assert_eq!(date_time(1_231_006_505, 0), "2009-01-03 18:15:05");
        assert_eq!(date_time(1_709_210_096, 0), "2024-02-29 12:34:56");
        assert_eq!(date_time(u32::MAX, 0), "2106-02-07 06:28:15");
        assert_eq!(date_time(1_231_006_505, 330), "2009-01-03 23:45:05");
        assert_eq!(date_time(0, -60), "1969-12-31 23:00:00");
        assert_eq!(zone(330), "UTC+05:30");
        assert_eq!(zone(-210), "UTC−03:30");
        assert_eq!(zone(0), "UTC");
    }

    #[test]
    fn spans_use_their_largest_unit() {
        assert_eq!(ago(1000, 1003), "just now");
        assert_eq!(ago(1000, 1059), "59 seconds ago");
        assert_eq!(ago(1000, 1060), "1 minute ago");
        assert_eq!(ago(0, 86_400 * 3), "3 days ago");
        assert_eq!(ago(0, 31_557_600 * 17), "17 years ago");
        assert_eq!(ago(4600, 1000), "1 hour ahead");
    }

    #[test]
    fn names_are_cut_in_the_middle() {
        assert_eq!(ends("0123456789", 3, 3), "012…789");
        assert_eq!(ends("0123456", 3, 3), "0123456");
        assert_eq!(ends("€€€€", 1, 1), "€€€€");
        assert_eq!(hex(&[0, 0xab, 0xff]), "00abff");
    }
}
