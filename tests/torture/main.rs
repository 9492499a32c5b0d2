//! Long trials.
