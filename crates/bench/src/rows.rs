//! The rows of all workloads: a 64-bit key, and 100 bytes of which 8 are a number and 92 a text.
//!
//! SQL engines keep them as `t (id, n, v)`; key-value engines as 8 key bytes in big-endian order and a value of 100 bytes.

use std::sync::OnceLock;

use crate::keys::Keys;

const TEXT_BYTES: usize = 92;
const POOL_BYTES: usize = 1 << 16;
/// Bytes of a row besides its key.
pub const ROW_BYTES: usize = 8 + TEXT_BYTES;

/// Rows of a range that is read.
pub const RANGE: i64 = 1_000;

/// The text of row `key`: a piece of a random text, so that making it costs next to nothing.
pub fn text(key: i64) -> &'static str {
    static POOL: OnceLock<String> = OnceLock::new();
    let pool = POOL.get_or_init(|| {
        let mut keys = Keys::new(1);
        (0..POOL_BYTES).map(|_| char::from(b'a' + (keys.draw() % 26) as u8)).collect()
    });
    let start = (key as usize).wrapping_mul(31) % (POOL_BYTES - TEXT_BYTES);
    &pool[start..start + TEXT_BYTES]
}

/// The value of a key-value engine's entry.
pub fn value(key: i64, number: i64) -> [u8; ROW_BYTES] {
    let mut value = [0; ROW_BYTES];
    value[..8].copy_from_slice(&number.to_le_bytes());
    value[8..].copy_from_slice(text(key).as_bytes());
    value
}

/// What a read gives back, so that none can be left out: the number and the text's length.
pub fn digest(number: i64, text_bytes: usize) -> u64 {
    number as u64 + text_bytes as u64
}

/// The digest of a key-value engine's value.
pub fn digest_value(value: &[u8]) -> Option<u64> {
    let (number, text) = value.split_first_chunk::<8>()?;
    Some(digest(i64::from_le_bytes(*number), text.len()))
}
