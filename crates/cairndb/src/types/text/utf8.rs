//! Bytes as text.

use crate::{Error, Result, SqlState};

/// The text that bytes are. SQLSTATE 22021: they are none, or have the character 0.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str> {
    let invalid = |bytes: &[u8]| {
        let shown: Vec<String> = bytes.iter().map(|byte| format!("0x{byte:02x}")).collect();
        let message = format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" "));
        Error::new(SqlState::INVALID_BYTE_SEQUENCE, message)
    };
    if bytes.contains(&0) {
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
