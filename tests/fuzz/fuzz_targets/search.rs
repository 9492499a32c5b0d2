//! libFuzzer's door to `hindsight_fuzz::search`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hindsight_fuzz::search::run(bytes));
