//! libFuzzer's door to `hindsight_fuzz::pages`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hindsight_fuzz::pages::run(bytes));
