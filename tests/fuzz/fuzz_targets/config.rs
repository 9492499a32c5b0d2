//! libFuzzer's door to `hindsight_fuzz::config`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hindsight_fuzz::config::run(bytes));
