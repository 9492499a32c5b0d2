//! libFuzzer's door to `hindsight_fuzz::stats`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hindsight_fuzz::stats::run(bytes));
