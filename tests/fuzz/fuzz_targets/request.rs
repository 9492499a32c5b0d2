//! libFuzzer's door to `hindsight_fuzz::request`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hindsight_fuzz::request::run(bytes));
