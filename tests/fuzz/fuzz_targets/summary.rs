//! libFuzzer's door to `hindsight_fuzz::summary`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hindsight_fuzz::summary::run(bytes));
