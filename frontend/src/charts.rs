//! Charts: geometry that is pure and tested, and views that draw it.

pub mod fee_band;
pub mod fee_histogram;
pub mod geometry;
pub mod steps;
pub mod strip;
