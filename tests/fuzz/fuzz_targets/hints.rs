//! libFuzzer's door to `hindsight_fuzz::hints`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hindsight_fuzz::hints::run(bytes));
