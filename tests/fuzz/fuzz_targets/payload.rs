//! libFuzzer's door to `hindsight_fuzz::payload`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hindsight_fuzz::payload::run(bytes));
