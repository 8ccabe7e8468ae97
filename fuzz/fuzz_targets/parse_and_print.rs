#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cairn_fuzz_targets::parse_and_print(data));
