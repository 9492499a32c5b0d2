//! libFuzzer's door to `hindsight_fuzz::block_view`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hindsight_fuzz::block_view::run(bytes));
