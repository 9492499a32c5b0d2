//! The few conversions between number types that a page needs, each with what it does at the edges, so that no cast
//! hides anywhere else.

/// A count as a 64-bit number.
pub fn wide(count: usize) -> u64 {
    count.try_into().unwrap_or(u64::MAX)
}

/// A 32-bit number as an index; wasm32 and everything larger hold it.
pub fn index(number: u32) -> usize {
    number.try_into().unwrap_or(usize::MAX)
}

/// An index as a 32-bit number; no block holds as many of anything as the largest one stands for.
pub fn narrow(index: usize) -> u32 {
    index.try_into().unwrap_or(u32::MAX)
}

/// A browser's coordinate in whole pixels; what is no number is 0.
#[expect(clippy::cast_possible_truncation, reason = "`as` saturates, and pixels are far from its limits")]
pub const fn pixels(coordinate: f64) -> i32 {
    coordinate.round() as i32
}

/// A browser's byte count or clock; what is negative or no number is 0.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
pub const fn whole(number: f64) -> u64 {
    number as u64
}

/// `part` of `whole` on a scale that ends at `scale`, rounded to the nearest; 0 of nothing.
pub fn share(part: u64, whole: u64, scale: u32) -> u32 {
    let scaled = (u128::from(part) * u128::from(scale) + u128::from(whole / 2)).checked_div(whole.into());
    u32::try_from(scaled.unwrap_or(0)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_saturate() {
        assert_eq!(pixels(-1.5), -2);
        assert_eq!(pixels(f64::NAN), 0);
        assert_eq!(pixels(1e12), i32::MAX);
        assert_eq!(whole(-3.0), 0);
        assert_eq!(whole(1e20), u64::MAX);
    }

    #[test]
    fn shares_round_to_the_nearest() {
        assert_eq!(share(1, 3, 100), 33);
        assert_eq!(share(2, 3, 100), 67);
        assert_eq!(share(5, 0, 100), 0);
        assert_eq!(share(u64::MAX, u64::MAX, 1000), 1000);
    }
}
