//! Passwords by Blowfish, whose keys take long to make: `$2a$`, the cost, the salt and what comes of it (Provos and Mazières, "A
//! Future-Adaptable Password Scheme", 1999).

use blowfish::Blowfish;

use super::invalid_salt;
use crate::Result;
use crate::types::EvalContext;

/// Digits of 6 bits, the first bits first.
const DIGITS: &[u8; 64] = b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// Of a password no more counts.
const PASSWORD_BYTES: usize = 72;
/// `$2a$10$`
const PREFIX: usize = 7;
/// The salt behind it, of 16 bytes.
const SALT: usize = 22;
/// What is enciphered, 64 times.
const TEXT: &[u8; 24] = b"OrpheanBeholderScryDoubt";

pub(super) fn salt(cost: u32, bytes: [u8; 16]) -> String {
    format!("$2a${cost:02}${}", digits(&bytes))
}

/// SQLSTATE 22023 for a salt that is none.
pub(super) fn hashed(password: &str, salt: &str, context: &EvalContext) -> Result<String> {
    let (cost, salt) = read_salt(salt).ok_or_else(invalid_salt)?;
    let mut key = password.as_bytes().to_vec();
    key.push(0);
    key.truncate(PASSWORD_BYTES);
    let mut state: Blowfish = Blowfish::bc_init_state();
    state.salted_expand_key(&salt, &key);
    for round in 0..1u32 << cost {
        // (A thousand rounds take a tenth of a second.)
        if round % 256 == 0 {
            context.check()?;
        }
        state.bc_expand_key(&key);
        state.bc_expand_key(&salt);
    }
    let mut out = Vec::with_capacity(TEXT.len());
    for block in TEXT.as_chunks::<8>().0 {
        let [a, b, c, d, e, f, g, h] = *block;
        let mut halves = [u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h])];
        for _ in 0..64 {
            halves = state.bc_encrypt(halves);
        }
        out.extend(halves.iter().flat_map(|half| half.to_be_bytes()));
    }
    // (The last byte is left out, as it always was.)
    Ok(format!("{}{}", self::salt(cost, salt), digits(&out[..23])))
}

/// Its cost and its bytes.
fn read_salt(text: &str) -> Option<(u32, [u8; 16])> {
    let bytes = text.as_bytes();
    let [b'$', b'2', b'a', b'$', tens @ b'0'..=b'3', ones @ b'0'..=b'9', b'$', ..] = *bytes else { return None };
    let cost = u32::from(tens - b'0') * 10 + u32::from(ones - b'0');
    let digits = bytes.get(PREFIX..PREFIX + SALT).filter(|_| (4..=31).contains(&cost))?;
    let (mut salt, mut bits, mut count) = ([0; 16], 0u32, 0);
    let mut at = 0;
    for digit in digits {
        bits = bits << 6 | u32::try_from(DIGITS.iter().position(|known| known == digit)?).ok()?;
        count += 6;
        if count >= 8 && at < salt.len() {
            count -= 8;
            salt[at] = (bits >> count & 0xff) as u8;
            at += 1;
        }
    }
    Some((cost, salt))
}

fn digits(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 4 / 3 + 1);
    for three in bytes.chunks(3) {
        let whole = three.iter().enumerate().fold(0u32, |bits, (at, byte)| bits | u32::from(*byte) << (16 - 8 * at));
        let digit = |at: usize| char::from(DIGITS[(whole >> (18 - 6 * at) & 63) as usize]);
        out.extend((0..=three.len()).map(digit));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_hashed_as_by_others() {
        for (password, hash) in [
            ("", "$2a$06$DCq7YPn5Rq63x1Lad4cll.TV4S6ytwfsfvkgY8jIucDrjc8deX1s."),
            ("abc", "$2a$06$If6bvum7DFjUnE9p2uDeDu0YHzrHM6tf.iqN8.yx.jNN1ILEf7h0i"),
        ] {
            assert_eq!(hashed(password, hash, &EvalContext::default()).unwrap(), hash);
        }
        assert!(read_salt("$2a$03$DCq7YPn5Rq63x1Lad4cll.").is_none());
        assert!(read_salt("$2a$32$DCq7YPn5Rq63x1Lad4cll.").is_none());
        assert!(read_salt("$2a$06$DCq7YPn5Rq63x1Lad4cl!.").is_none());
    }
}
