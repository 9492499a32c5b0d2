//! Days in UTC: what a person names a part of the chain by. No time zone, no clock, no leap second has a say in it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Seconds of a day.
const SECONDS: u32 = 86_400;

/// A day, counted from 1970-01-01; written `2009-01-03`.
#[derive(Deserialize, Serialize, Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[serde(into = "String", try_from = "String")]
pub struct Day(u32);

impl From<Day> for String {
    fn from(day: Day) -> Self {
        day.to_string()
    }
}

impl TryFrom<String> for Day {
    type Error = <Self as FromStr>::Err;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl Day {
    /// The day's last second, in seconds since 1970; the last that a header's time can say where the day ends later.
    pub const fn end(self) -> u32 {
        self.0.saturating_mul(SECONDS).saturating_add(SECONDS - 1)
    }
}

/// Text that names no day that a header's time could be of.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("not a date from 1970-01-01 to 2106-02-07, written as year-month-day")]
pub struct NotADay;

impl FromStr for Day {
    type Err = NotADay;

    fn from_str(text: &str) -> Result<Self, NotADay> {
        let mut parts = text.split('-');
        let mut number = |digits: usize| {
            let part =
                parts.next().filter(|part| part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit()));
            part.and_then(|part| part.parse::<i64>().ok()).ok_or(NotADay)
        };
        let date = (number(4)?, number(2)?, number(2)?);
        let days = days(date);
        // The 31st of April is a count of days as well: the 1st of May's.
        let day = u32::try_from(days).ok().filter(|&day| day <= u32::MAX / SECONDS && civil(days) == date);
        day.filter(|_| parts.next().is_none()).map(Self).ok_or(NotADay)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil(self.0.into());
        write!(f, "{year}-{month:02}-{day:02}")
    }
}

/// Year, month and day of a count of days since 1970 (H. Hinnant's `civil_from_days`).
pub const fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year_of_era + era * 400 + if month <= 2 { 1 } else { 0 }, month, day)
}

/// The count of days since 1970 of a year, month and day (`days_from_civil`, the way back).
const fn days((year, month, day): (i64, i64, i64)) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[track_caller]
    fn check(text: &str, end: u32) {
        let day: Day = text.parse().unwrap();
        assert_eq!(day.end(), end);
        assert_eq!(day.to_string(), text);
    }

    /// The ends as `date -u -d "… 23:59:59" +%s` says them.
    #[test]
    fn days_end() {
        check("1970-01-01", 86_399);
        check("2009-01-03", 1_231_027_199);
        check("2024-02-29", 1_709_251_199);
        check("2024-04-20", 1_713_657_599);
        check("2100-03-01", 4_107_628_799);
        check("2106-02-07", u32::MAX);
    }

    #[test]
    fn every_day_returns() {
        for day in 0..=u32::MAX / SECONDS {
            assert_eq!(Day(day).to_string().parse(), Ok(Day(day)));
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "",
            "2024",
            "2024-04",
            "2024-4-20",
            "2024-04-20-1",
            "2023-02-29",
            "2024-04-31",
            "2024-13-01",
            "2024-00-10",
            "2024-01-00",
            "1969-12-31",
            "2106-02-08",
            "+024-01-01",
            "2024-01-0x",
            "２024-01-01",
            "2024/01/01",
        ] {
            assert_eq!(text.parse::<Day>(), Err(NotADay), "{text}");
        }
    }
}
