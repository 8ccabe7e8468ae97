//! Passwords by MD5, as FreeBSD began to keep them: `$1$`, the salt, `$` and what comes of it.

use super::super::digest::Digest;
use super::invalid_salt;
use crate::Result;

/// Digits of 6 bits, the last bits first.
const DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const PREFIX: &str = "$1$";
/// Of a salt no more counts.
const SALT_BYTES: usize = 8;
const ROUNDS: usize = 1000;

pub(super) fn salt([a, b, c, d, e, f]: [u8; 6]) -> String {
    let number = |a, b, c| u32::from_le_bytes([a, b, c, 0]);
    format!("{PREFIX}{}{}", digits(number(a, b, c), 4), digits(number(d, e, f), 4))
}

/// SQLSTATE 22023 for a salt that is cut within a letter.
pub(super) fn hashed(password: &str, salt: &str) -> Result<String> {
    let salt = salt.strip_prefix(PREFIX).unwrap_or(salt);
    let salt = salt.split('$').next().unwrap_or_default();
    let salt = salt.get(..salt.len().min(SALT_BYTES)).ok_or_else(invalid_salt)?;
    let digest = rounds(password.as_bytes(), salt.as_bytes());
    let mut out = format!("{PREFIX}{salt}$");
    for [a, b, c] in [[0, 6, 12], [1, 7, 13], [2, 8, 14], [3, 9, 15], [4, 10, 5]] {
        out += &digits(u32::from_be_bytes([0, digest[a], digest[b], digest[c]]), 4);
    }
    out += &digits(digest[11].into(), 2);
    Ok(out)
}

fn rounds(password: &[u8], salt: &[u8]) -> Vec<u8> {
    let mut digest = Digest::Md5.of(&[password, salt, password].concat());
    let mut first = [password, PREFIX.as_bytes(), salt].concat();
    first.extend(digest.iter().cycle().take(password.len()));
    let mut length = password.len();
    while length > 0 {
        // (A zero, or the first letter: nobody knows why.)
        first.push(if length % 2 == 1 { 0 } else { password[0] });
        length /= 2;
    }
    digest = Digest::Md5.of(&first);
    for round in 0..ROUNDS {
        let mut next = Vec::with_capacity(2 * password.len() + salt.len() + digest.len());
        let (begin, end) = if round % 2 == 1 { (password, &digest[..]) } else { (&digest[..], password) };
        next.extend_from_slice(begin);
        if round % 3 != 0 {
            next.extend_from_slice(salt);
        }
        if round % 7 != 0 {
            next.extend_from_slice(password);
        }
        next.extend_from_slice(end);
        digest = Digest::Md5.of(&next);
    }
    digest
}

fn digits(number: u32, count: u32) -> String {
    (0..count).map(|at| char::from(DIGITS[(number >> (6 * at) & 63) as usize])).collect()
}
