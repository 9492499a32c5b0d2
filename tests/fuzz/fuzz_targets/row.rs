//! libFuzzer's door to `hindsight_fuzz::row`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hindsight_fuzz::row::run(bytes));
