#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cairn_fuzz_targets::row_and_key(data));
