//! libFuzzer's door to `hindsight_fuzz::found_tx`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hindsight_fuzz::found_tx::run(bytes));
