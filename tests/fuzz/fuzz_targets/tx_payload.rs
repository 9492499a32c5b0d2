//! libFuzzer's door to `hindsight_fuzz::tx_payload`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hindsight_fuzz::tx_payload::run(bytes));
