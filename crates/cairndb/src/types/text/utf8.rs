//! Bytes as text.

use crate::Result;
use crate::types::Encoding;

/// The text that bytes are. SQLSTATE 22021: they are none, or have the character 0.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str> {
    let invalid = |bytes: &[u8]| Encoding::UTF8.invalid(bytes);
    if has_zero_byte(bytes) {
        return Err(invalid(&[0]));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let rest = bytes.get(error.valid_up_to()..).unwrap_or_default();
        // As many bytes as the first of them announces.
        let length = match rest.first() {
            Some(0xc2..=0xdf) => 2,
            Some(0xe0..=0xef) => 3,
            Some(0xf0..=0xf4) => 4,
            _ => 1,
        };
        invalid(&rest[..length.min(rest.len())])
    })
}

/// Whether one of them is 0: in blocks of what a processor compares at once, as every text that a program gives is asked.
#[inline]
pub(crate) fn has_zero_byte(bytes: &[u8]) -> bool {
    const BLOCK: usize = 16;
    let in_block = |block: &[u8; BLOCK]| block.iter().fold(false, |found, byte| found | (*byte == 0));
    match bytes.last_chunk::<BLOCK>() {
        // The last block may overlap the one before.
        Some(last) => bytes.as_chunks::<BLOCK>().0.iter().any(in_block) || in_block(last),
        None => bytes.contains(&0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_byte_is_found_wherever_it_is() {
        for length in 0..70 {
            let mut bytes = vec![1; length];
            assert!(!has_zero_byte(&bytes), "{length} bytes");
            for at in 0..length {
                bytes[at] = 0;
                assert!(has_zero_byte(&bytes), "byte {at} of {length}");
                bytes[at] = 0x80;
            }
        }
    }
}
