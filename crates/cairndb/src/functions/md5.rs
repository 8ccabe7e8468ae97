//! The MD5 digest (RFC 1321), which SQL's `md5` asks for; nothing here relies on its strength.

const SHIFTS: [u32; 16] = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21];

/// The digest in hexadecimal.
pub(super) fn hex_digest(message: &[u8]) -> String {
    let mut out = String::new();
    crate::types::text::write_hex(&digest(message), &mut out);
    out
}

/// The digest.
pub(super) fn digest(message: &[u8]) -> [u8; 16] {
    let mut state = [0x6745_2301_u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    let mut chunks = message.chunks_exact(64);
    for block in &mut chunks {
        transform(&mut state, block);
    }
    let mut tail = chunks.remainder().to_vec();
    tail.push(0x80);
    while tail.len() % 64 != 56 {
        tail.push(0);
    }
    tail.extend_from_slice(&(message.len() as u64).wrapping_mul(8).to_le_bytes());
    tail.chunks_exact(64).for_each(|block| transform(&mut state, block));
    let mut out = [0; 16];
    for (bytes, word) in out.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    out
}

fn transform(state: &mut [u32; 4], block: &[u8]) {
    let word = |index: usize| {
        let bytes = &block[index * 4..index * 4 + 4];
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    };
    let [mut a, mut b, mut c, mut d] = *state;
    for i in 0..64 {
        let (mix, index) = match i / 16 {
            0 => (b & c | !b & d, i),
            1 => (d & b | !d & c, (5 * i + 1) % 16),
            2 => (b ^ c ^ d, (3 * i + 5) % 16),
            _ => (c ^ (b | !d), 7 * i % 16),
        };
        // The constants are the sine's, as the RFC defines them.
        let constant = (((i + 1) as f64).sin().abs() * 4_294_967_296.0) as u32;
        let sum = a.wrapping_add(mix).wrapping_add(constant).wrapping_add(word(index));
        (a, d, c) = (d, c, b);
        b = b.wrapping_add(sum.rotate_left(SHIFTS[i / 16 * 4 + i % 4]));
    }
    for (slot, value) in state.iter_mut().zip([a, b, c, d]) {
        *slot = slot.wrapping_add(value);
    }
}

#[cfg(test)]
mod tests {
    use super::hex_digest;

    #[test]
    fn digests_are_those_of_the_rfc() {
        assert_eq!(hex_digest(b""), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(hex_digest(b"message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
        let long = b"12345678901234567890123456789012345678901234567890123456789012345678901234567890";
        assert_eq!(hex_digest(long), "57edf4a22be3c955ac49da2e2107b67a");
    }
}
