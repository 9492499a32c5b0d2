//! Where the steps of a balance lie, in whole pixels: a balance stays what it is until the next block changes it.

use bitcoin::Amount;
use hindsight_shared::address::BalanceAt;

use crate::number::{share, wide};

/// A balance over time, drawn onto an area.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Steps {
    /// The left end, in seconds since 1970.
    pub from: u32,
    /// The right end.
    pub to: u32,
    /// What the top stands for.
    pub most: u64,
    width: u32,
    height: u32,
    /// Where each step starts, and how high it is.
    points: Vec<(u32, u32)>,
}

impl Steps {
    /// Lays points, oldest first, onto an area that ends at a time. Header times may run backwards by two hours: a step
    /// never does.
    pub fn new(points: &[BalanceAt], end: u32, (width, height): (u32, u32)) -> Self {
        let from = points.first().map_or(end, |point| point.time);
        let latest = points.iter().map(|point| point.time).max().unwrap_or(end);
        let to = latest.max(end).max(from.saturating_add(1));
        let most = nice_top(points.iter().map(|point| point.balance.to_sat()).max().unwrap_or(0));
        let mut steps = Self { from, to, most, width, height, points: Vec::with_capacity(points.len()) };
        let mut x = 0;
        for point in points {
            x = x.max(steps.x(point.time));
            steps.points.push((x, steps.y(point.balance)));
        }
        steps
    }

    /// Where a time lies.
    pub fn x(&self, time: u32) -> u32 {
        share(time.saturating_sub(self.from).into(), (self.to - self.from).into(), self.width)
    }

    /// How far below the top an amount lies.
    pub fn y(&self, amount: Amount) -> u32 {
        self.height - share(amount.to_sat(), self.most, self.height).min(self.height)
    }

    /// The line, as a path: up from nothing, and to the right end.
    pub fn line(&self) -> String {
        let mut path = ["M0 ", &self.height.to_string()].concat();
        for &(x, y) in &self.points {
            path.push_str(&["H", &x.to_string(), "V", &y.to_string()].concat());
        }
        path + "H" + &self.width.to_string()
    }

    /// What lies below the line.
    pub fn area(&self) -> String {
        [&self.line(), "V", &self.height.to_string(), "H0Z"].concat()
    }

    /// The step that stands above a place, as a position among the points.
    pub fn at(&self, x: u32) -> Option<usize> {
        self.points.partition_point(|&(start, _)| start <= x).checked_sub(1)
    }

    /// Amounts to rule lines at, from nothing to the top.
    pub fn rules(&self) -> Vec<Amount> {
        (0..=4).map(|part| Amount::from_sat(self.most / 4 * part)).collect()
    }

    /// Times to write below, `count` of them at equal distances from end to end.
    pub fn times(&self, count: u32) -> Vec<u32> {
        let last = count.saturating_sub(1).max(1);
        (0..count).map(|at| self.from + share(at.into(), last.into(), self.to - self.from)).collect()
    }
}

/// The next number from which four equal parts are short ones: 4, 8, 12, 20 or 40 times a power of ten, and so on.
fn nice_top(most: u64) -> u64 {
    let power = wide(most.max(4).to_string().len());
    let unit = (1..power).fold(1_u64, |unit, _| unit.saturating_mul(10));
    let tops = [4, 8, 10, 12, 16, 20, 32, 40, 60, 80, 100]
        .map(|top| unit.saturating_mul(top) / if unit >= 10 { 10 } else { 1 });
    tops.into_iter().find(|&top| top >= most).unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hindsight_shared::Height;

    fn point(time: u32, sats: u64) -> BalanceAt {
        BalanceAt { height: Height(time), time, balance: Amount::from_sat(sats) }
    }

    #[test]
    fn a_step_lasts_until_the_next() {
        let points = [point(100, 40), point(150, 10), point(140, 20)];
        let steps = Steps::new(&points, 200, (1000, 100));
        assert_eq!((steps.from, steps.to, steps.most), (100, 200, 40));
        // A header's time before its parent's moves nothing to the left.
        assert_eq!(steps.line(), "M0 100H0V0H500V75H500V50H1000");
        assert_eq!(steps.area(), "M0 100H0V0H500V75H500V50H1000V100H0Z");
        assert_eq!([0, 499, 500, 1000].map(|x| steps.at(x)), [Some(0), Some(0), Some(2), Some(2)]);
        assert_eq!(steps.times(3), [100, 150, 200]);
        assert_eq!(steps.rules().iter().map(|rule| rule.to_sat()).collect::<Vec<_>>(), [0, 10, 20, 30, 40]);
    }

    #[test]
    fn odd_histories_are_drawn_too() {
        let nothing = Steps::new(&[], 200, (1000, 100));
        assert_eq!((nothing.line(), nothing.at(5)), ("M0 100H1000".to_owned(), None));
        let alone = Steps::new(&[point(200, 0)], 200, (10, 100));
        assert_eq!(alone.line(), "M0 100H0V100H10");
        let late = Steps::new(&[point(300, u64::MAX)], 200, (10, 100));
        assert_eq!((late.to, late.y(Amount::MAX)), (301, 100 - share(Amount::MAX.to_sat(), u64::MAX, 100)));
    }

    #[test]
    fn the_top_is_a_short_number_and_never_below() {
        for most in [0, 1, 4, 5, 39, 40, 41, 99, 100, 101, 12_345, 2_099_999_999_000_000, u64::MAX] {
            let top = nice_top(most);
            assert!(top >= most && top > 0, "{most}: {top}");
            assert!(most < 40 || top / 3 <= most, "{most}: {top} leaves most of the room empty");
        }
        assert_eq!([nice_top(5_000_000_000), nice_top(110), nice_top(39)], [6_000_000_000, 120, 40]);
    }
}
