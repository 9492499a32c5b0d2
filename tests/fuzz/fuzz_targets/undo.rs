//! libFuzzer's door to `hindsight_fuzz::undo`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hindsight_fuzz::undo::run(bytes));
