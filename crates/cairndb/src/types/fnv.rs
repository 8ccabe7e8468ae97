//! FNV-1a of 64 bits (RFC 9923): a hash that is the same wherever and whenever it is computed, and part of files.

/// Of no bytes.
pub(crate) const START: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// The hash of what has the hash `hash`, and these bytes behind it.
#[inline]
pub(crate) fn hash(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_specification() {
        assert_eq!(hash(START, b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash(START, b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash(hash(START, b"foo"), b"bar"), 0x8594_4171_f739_67e8);
    }
}
