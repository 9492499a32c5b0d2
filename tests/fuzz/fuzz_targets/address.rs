//! libFuzzer's door to `hindsight_fuzz::address`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hindsight_fuzz::address::run(bytes));
