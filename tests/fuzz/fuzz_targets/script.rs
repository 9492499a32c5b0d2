//! libFuzzer's door to `hindsight_fuzz::script`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hindsight_fuzz::script::run(bytes));
