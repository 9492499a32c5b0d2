//! libFuzzer's door to `hindsight_fuzz::walk`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hindsight_fuzz::walk::run(bytes));
