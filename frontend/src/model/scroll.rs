//! Where the rows of a long list lie, so that only those in sight are drawn: pure arithmetic in whole pixels.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::number::wide;

/// How high the rows of a list are.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Heights {
    /// Pixels of a plain row.
    pub row: u32,
    /// Pixels that single opened rows have beyond that, by position.
    pub extra: BTreeMap<usize, u32>,
}

impl Heights {
    /// Where a row starts.
    pub fn top(&self, at: usize) -> u64 {
        let extra: u64 = self.extra.range(..at).map(|(_, &extra)| u64::from(extra)).sum();
        wide(at) * u64::from(self.row) + extra
    }

    /// The row that lies `y` pixels below the list's start.
    pub fn row_at(&self, y: u64) -> usize {
        let row = u64::from(self.row.max(1));
        let mut shift = 0;
        for (&at, &extra) in &self.extra {
            let top = wide(at) * row + shift;
            if y < top + row {
                break;
            }
            if y < top + row + u64::from(extra) {
                return at;
            }
            shift += u64::from(extra);
        }
        usize::try_from((y - shift) / row).unwrap_or(usize::MAX)
    }
}

/// The rows to draw of a list of `count` whose start lies `scrolled` pixels above the top of a window (negative where
/// it lies below): those in the window and one window more on either side.
pub fn visible_range(heights: &Heights, count: usize, scrolled: i32, window: u32) -> Range<usize> {
    let first = i64::from(scrolled) - i64::from(window);
    let last = i64::from(scrolled) + 2 * i64::from(window);
    let Ok(last) = u64::try_from(last) else { return 0..0 };
    let start = u64::try_from(first).map_or(0, |first| heights.row_at(first));
    let end = heights.row_at(last).saturating_add(1);
    start.min(count)..end.min(count)
}

/// How far to scroll so that a row is whole in a window with `covered` pixels hidden at its top; 0 where it is.
pub fn scroll_to(heights: &Heights, at: usize, scrolled: i32, window: u32, covered: u32) -> i32 {
    let top = i64::try_from(heights.top(at)).unwrap_or(i64::MAX) - i64::from(scrolled);
    let bottom = top + i64::from(heights.row);
    let by = if top < i64::from(covered) { top - i64::from(covered) } else { (bottom - i64::from(window)).max(0) };
    i32::try_from(by).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened() -> Heights {
        Heights { row: 40, extra: BTreeMap::from([(2, 100), (5, 60)]) }
    }

    #[test]
    fn opened_rows_push_the_others_down() {
        let heights = opened();
        let tops: Vec<_> = (0..8).map(|at| heights.top(at)).collect();
        assert_eq!(tops, [0, 40, 80, 220, 260, 300, 400, 440]);
        for (y, at) in [(0, 0), (39, 0), (40, 1), (80, 2), (219, 2), (220, 3), (299, 4), (300, 5), (399, 5), (400, 6)] {
            assert_eq!(heights.row_at(y), at, "{y}");
        }
        for at in 0..70_000 {
            assert_eq!(heights.row_at(heights.top(at)), at);
        }
    }

    #[test]
    fn what_is_in_sight_is_drawn_with_a_window_on_either_side() {
        let plain = Heights { row: 40, ..Heights::default() };
        assert_eq!(visible_range(&plain, 70_000, 0, 800), 0..41);
        assert_eq!(visible_range(&plain, 70_000, -500, 800), 0..28);
        assert_eq!(visible_range(&plain, 70_000, -5000, 800), 0..0);
        assert_eq!(visible_range(&plain, 70_000, 40_000, 800), 980..1041);
        assert_eq!(visible_range(&plain, 10, 40_000, 800), 10..10);
        assert_eq!(visible_range(&plain, 0, 0, 800), 0..0);
        assert_eq!(visible_range(&Heights::default(), 3, 0, 800), 0..3);
        assert_eq!(visible_range(&opened(), 100, 0, 100), 0..3);
    }

    #[test]
    fn a_row_is_scrolled_into_sight_and_no_further() {
        let plain = Heights { row: 40, ..Heights::default() };
        assert_eq!(scroll_to(&plain, 0, 0, 800, 0), 0);
        assert_eq!(scroll_to(&plain, 19, 0, 800, 100), 0);
        assert_eq!(scroll_to(&plain, 20, 0, 800, 100), 40);
        assert_eq!(scroll_to(&plain, 100, 4000, 800, 100), -100);
    }
}
