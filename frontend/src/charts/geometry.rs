//! Where a chart's parts lie, in whole pixels, from rows alone.

use hindsight_shared::summary::TxRow;

use crate::number::{index, narrow, share, wide};

/// Where buckets of fee rates start, in thousandths of a satoshi per virtual byte: about four to a doubling where
/// most of today's rates are, and three below 1 sat/vB.
pub const EDGES: [u64; 36] = [
    0, 1, 100, 200, 500, 1000, 1500, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 10_000, 12_000, 15_000, 20_000, 25_000,
    30_000, 40_000, 50_000, 60_000, 70_000, 80_000, 100_000, 120_000, 150_000, 200_000, 250_000, 300_000, 400_000,
    500_000, 700_000, 1_000_000, 2_000_000,
];

/// One bucket of fee rates.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Bucket {
    /// Where it starts, in thousandths.
    pub from: u64,
    /// Where it ends; `None` for the last.
    pub below: Option<u64>,
    /// Weight of its transactions.
    pub weight: u64,
    /// How many they are.
    pub count: u32,
}

/// The bucket of an exact fee rate, as a position in [`EDGES`]; `None` without a fee.
pub fn bucket_of(row: &TxRow) -> Option<usize> {
    let fee = u128::from(row.fee?.to_sat()) * 4000;
    let weight = u128::from(row.weight);
    EDGES.partition_point(|&edge| u128::from(edge) * weight <= fee).checked_sub(1)
}

/// The buckets from the lowest to the highest that hold a transaction; none without fees.
pub fn buckets(rows: &[TxRow]) -> Vec<Bucket> {
    let mut all: Vec<Bucket> = (0..EDGES.len())
        .map(|at| Bucket { from: EDGES[at], below: EDGES.get(at + 1).copied(), ..Bucket::default() })
        .collect();
    for row in rows {
        if let Some(bucket) = bucket_of(row).and_then(|at| all.get_mut(at)) {
            bucket.weight += u64::from(row.weight);
            bucket.count += 1;
        }
    }
    let first = all.iter().position(|bucket| bucket.count > 0);
    let last = all.iter().rposition(|bucket| bucket.count > 0);
    first.zip(last).and_then(|(first, last)| all.get(first..=last)).unwrap_or_default().to_vec()
}

/// A step of the colour scale for a bucket, 0 to 9.
pub fn heat(bucket: usize) -> u32 {
    // Below 1 sat/vB is cold, 300 and more is hot, steps in between.
    share(wide(bucket.saturating_sub(3)), wide(EDGES.len() - 8), 9).min(9)
}

/// The colour step of a row; `None` without a fee.
pub fn row_heat(row: &TxRow) -> Option<u32> {
    bucket_of(row).map(heat)
}

/// How wide the axis of fee rates is on which blocks are compared: four decades, from 0.1 to 1,000 sat/vB.
pub const AXIS: u32 = 1000;

/// Where a fee rate, in thousandths, lies on that axis: by its logarithm, what is beyond an end at that end.
pub fn on_axis(milli: u64) -> u32 {
    const DECADE: u32 = AXIS / 4;
    // Straight lines between these are never more than two hundredths of a decade off the logarithm.
    const STEPS: [(u64, u32); 7] = [(100, 0), (150, 176), (200, 301), (300, 477), (500, 699), (700, 845), (1000, 1000)];
    let (mut low, mut decade) = (milli.max(100), 0);
    while low >= 1000 && decade < 3 {
        low /= 10;
        decade += 1;
    }
    let low = low.min(1000);
    let within = STEPS.windows(2).find(|ends| low <= ends[1].0).map_or(1000, |ends| {
        let ((from, start), (to, end)) = (ends[0], ends[1]);
        start + share(low - from, to - from, end - start)
    });
    decade * DECADE + within * DECADE / 1000
}

/// A bar of a chart.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Bar {
    /// Left edge.
    pub x: u32,
    /// Top edge.
    pub y: u32,
    /// Width.
    pub width: u32,
    /// Height.
    pub height: u32,
}

/// The widest that a bar and its gap become: few bars do not fill the width.
const WIDEST: u32 = 72;

/// Bars for weights, side by side from left to right, standing on the floor. Whatever is there at all is at least two
/// pixels high.
pub fn bars(weights: &[u64], width: u32, height: u32) -> Vec<Bar> {
    let most = weights.iter().copied().max().unwrap_or(0);
    let count = wide(weights.len());
    let width = width.min(WIDEST.saturating_mul(narrow(weights.len())));
    let edge = |at: usize| share(wide(at), count, width);
    let bar = |(at, &weight): (usize, &u64)| {
        let (left, right) = (edge(at), edge(at + 1));
        let gap = if right - left > 8 { 3 } else { 1 };
        let tall = share(weight, most, height).max(if weight > 0 { 2 } else { 0 }).min(height);
        Bar { x: left, y: height - tall, width: (right - left).saturating_sub(gap).max(1), height: tall }
    };
    weights.iter().enumerate().map(bar).collect()
}

/// Which labels fit under bars: each at least `room` pixels from the one before.
pub fn labels(bars: &[Bar], room: u32) -> Vec<usize> {
    let mut next = 0;
    let fits = |(at, bar): (usize, &Bar)| {
        let fits = bar.x >= next;
        if fits {
            next = bar.x + room;
        }
        fits.then_some(at)
    };
    bars.iter().enumerate().filter_map(fits).collect()
}

/// A slice of the block in its own order: transactions that together fill one of `count` equal parts of its weight.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Slice {
    /// Position of the first transaction in it.
    pub first: u32,
    /// Left edge.
    pub x: u32,
    /// Width.
    pub width: u32,
    /// Colour step of its fee rate; `None` where no fee is known.
    pub heat: Option<u32>,
}

/// Cuts a block into slices over `width` pixels, about one for every two pixels: transactions lie side by side, as
/// wide as their weight, and those that share a slice share its mean colour.
pub fn strip(rows: &[TxRow], width: u32) -> Vec<Slice> {
    let total: u64 = rows.iter().map(|row| u64::from(row.weight)).sum();
    let parts = (width / 2).max(1);
    let (mut slices, mut weight) = (Vec::<Slice>::new(), 0_u64);
    let mut open = Mix::default();
    for (at, row) in rows.iter().enumerate() {
        open.add(at, row);
        let before = share(weight, total, parts);
        weight += u64::from(row.weight);
        if share(weight, total, parts) > before || at + 1 == rows.len() {
            let x = slices.last().map_or(0, |slice| slice.x + slice.width);
            let end = share(weight, total, width);
            slices.push(Slice { first: narrow(open.first), x, width: end.saturating_sub(x).max(1), heat: open.heat() });
            open = Mix::default();
        }
    }
    slices
}

/// Several transactions as one: their fees over their weights.
#[derive(Default)]
struct Mix {
    first: usize,
    count: u32,
    fees: u64,
    weight: u64,
}

impl Mix {
    fn add(&mut self, at: usize, row: &TxRow) {
        if self.count == 0 {
            self.first = at;
        }
        self.count += 1;
        if let Some(fee) = row.fee {
            self.fees = self.fees.saturating_add(fee.to_sat());
            self.weight += u64::from(row.weight);
        }
    }

    fn heat(&self) -> Option<u32> {
        let milli = (u128::from(self.fees) * 4000).checked_div(self.weight.into())?;
        EDGES.partition_point(|&edge| u128::from(edge) <= milli).checked_sub(1).map(heat)
    }
}

/// A point of the strip as the transaction that lies there.
pub fn slice_at(slices: &[Slice], x: u32) -> Option<usize> {
    let at = slices.partition_point(|slice| slice.x <= x).checked_sub(1)?;
    slices.get(at).map(|slice| index(slice.first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitcoin::hashes::Hash;
    use bitcoin::{Amount, Txid, Wtxid};
    use hindsight_shared::script::KindSet;
    use hindsight_shared::summary::Flags;

    fn row(fee: Option<u64>, weight: u32) -> TxRow {
        TxRow {
            txid: Txid::all_zeros(),
            wtxid: Wtxid::all_zeros(),
            offset: 0,
            size: 0,
            weight,
            inputs: 1,
            outputs: 1,
            value: Amount::ZERO,
            fee: fee.map(Amount::from_sat),
            kinds: KindSet::default(),
            flags: Flags::default(),
        }
    }

    /// The axis is a logarithm, as near as a pixel.
    #[test]
    fn the_axis_is_logarithmic() {
        for milli in (100..=1_000_000).step_by(97) {
            let decades = (f64::from(milli) / 100.0).log10();
            let place = f64::from(on_axis(u64::try_from(milli).unwrap()));
            assert!((place - decades * 250.0).abs() < 6.0, "{milli}: {place}");
        }
        let ends = [0, 99, 100, 1000, 10_000, 100_000, 1_000_000, u64::MAX].map(on_axis);
        assert_eq!(ends, [0, 0, 0, 250, 500, 750, 1000, 1000]);
        assert!((0..2_000_000).step_by(333).map(on_axis).is_sorted());
    }

    #[test]
    fn edges_rise() {
        assert!(EDGES.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn rates_below_one_have_buckets_of_their_own() {
        let bucket = |fee, weight| bucket_of(&row(Some(fee), weight)).map(|at| EDGES[at]);
        assert_eq!(bucket(0, 400), Some(0));
        assert_eq!(bucket(14, 400), Some(100));
        assert_eq!(bucket(99, 400), Some(500));
        assert_eq!(bucket(100, 400), Some(1000));
        // 100 sat for 100.25 vB is a little less than 1 sat/vB
        assert_eq!(bucket(100, 401), Some(500));
        assert_eq!(bucket(u64::MAX, 400), Some(2_000_000));
        assert_eq!(bucket_of(&row(None, 400)), None);
    }

    #[test]
    fn buckets_span_what_is_there() {
        let rows = [row(None, 900), row(Some(100), 400), row(Some(110), 400), row(Some(350), 400)];
        let buckets = buckets(&rows);
        let seen: Vec<_> = buckets.iter().map(|bucket| (bucket.from, bucket.weight, bucket.count)).collect();
        assert_eq!(seen, [(1000, 800, 2), (1500, 0, 0), (2000, 0, 0), (3000, 400, 1)]);
        assert_eq!(buckets[3].below, Some(4000));
        assert_eq!(super::buckets(&rows[..1]), []);
    }

    #[test]
    fn bars_fill_the_width_and_never_vanish() {
        let bars = bars(&[1000, 0, 1], 150, 100);
        assert_eq!(bars[0], Bar { x: 0, y: 0, width: 47, height: 100 });
        assert_eq!(bars[1].height, 0);
        assert_eq!(bars[2], Bar { x: 100, y: 98, width: 47, height: 2 });
        assert_eq!(super::bars(&[5], 600, 100), [Bar { x: 0, y: 0, width: 69, height: 100 }]);
        assert_eq!(super::bars(&[], 300, 100), []);
        assert_eq!(labels(&bars, 75), [0, 2]);
        assert_eq!(labels(&bars, 50), [0, 1, 2]);
    }

    #[test]
    fn a_strip_covers_its_width() {
        let rows: Vec<_> = (0..5000).map(|at| row(Some(at), 400 + u32::try_from(at % 7).unwrap())).collect();
        let slices = strip(&rows, 600);
        assert!(slices.len() <= 301);
        assert_eq!(slices[0].x, 0);
        assert!(slices.windows(2).all(|pair| pair[0].x + pair[0].width == pair[1].x));
        let last = slices[slices.len() - 1];
        assert_eq!(last.x + last.width, 600);
        assert_eq!(slice_at(&slices, 0), Some(0));
        assert!(slice_at(&slices, 599).unwrap() > 4900);
        assert_eq!(strip(&[row(None, 400)], 600), [Slice { first: 0, x: 0, width: 600, heat: None }]);
        assert_eq!(strip(&[], 600), []);
    }

    #[test]
    fn colours_run_from_cold_to_hot() {
        let steps: Vec<_> = (0..EDGES.len()).map(heat).collect();
        assert_eq!((steps[0], steps[EDGES.len() - 1]), (0, 9));
        assert!(steps.windows(2).all(|pair| pair[0] <= pair[1]));
    }
}
