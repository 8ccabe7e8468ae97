//! Digests: SHA-1 and SHA-2 (FIPS 180-4), what they are keyed with (RFC 2104), and the functions of `pgcrypto` over them.
//! Nothing here relies on their strength.

use std::sync::LazyLock;

use num_bigint::BigUint;

use super::catalogue::{Catalogue, Eval};
use super::md5;
use super::support::{call, invalid_parameter};
use crate::types::{DataType, Value};
use crate::{Error, Result, SqlState};

const TEXT: DataType = DataType::Text;
const BYTES: DataType = DataType::Bytea;

pub(super) fn register(catalogue: &mut Catalogue) {
    let mut sha = |name, eval: Eval| {
        catalogue.add(name, &[BYTES], BYTES, eval);
    };
    sha("sha224", call!((Bytea a) bytes(Digest::Sha224.of(a))));
    sha("sha256", call!((Bytea a) bytes(Digest::Sha256.of(a))));
    sha("sha384", call!((Bytea a) bytes(Digest::Sha384.of(a))));
    sha("sha512", call!((Bytea a) bytes(Digest::Sha512.of(a))));
    let digest = call!((Text a, Text of) bytes(Digest::named(of)?.of(a.as_bytes())));
    catalogue.add("digest", &[TEXT, TEXT], BYTES, digest);
    catalogue.add("digest", &[BYTES, TEXT], BYTES, call!((Bytea a, Text of) bytes(Digest::named(of)?.of(a))));
    let hmac = call!((Text a, Text key, Text of) bytes(Digest::named(of)?.keyed(a.as_bytes(), key.as_bytes())));
    catalogue.add("hmac", &[TEXT, TEXT, TEXT], BYTES, hmac);
    let hmac = call!((Bytea a, Bytea key, Text of) bytes(Digest::named(of)?.keyed(a, key)));
    catalogue.add("hmac", &[BYTES, BYTES, TEXT], BYTES, hmac);
    let random = call!((Integer length) random_bytes(*length));
    catalogue.add("gen_random_bytes", &[DataType::Integer], BYTES, random).volatile();
}

fn bytes(of: Vec<u8>) -> Result<Value> {
    Ok(Value::Bytea(of.into()))
}

fn random_bytes(length: i32) -> Result<Value> {
    let length = usize::try_from(length).ok().filter(|length| (1..=1024).contains(length));
    let length = length.ok_or_else(|| Error::new(SqlState("39000"), "Length not in range"))?;
    let mut bytes = vec![0; length];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::new(SqlState::INTERNAL_ERROR, format!("could not generate random values: {error}")))?;
    Ok(Value::Bytea(bytes.into()))
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Digest {
    Md5,
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

impl Digest {
    fn named(name: &str) -> Result<Digest> {
        Ok(match name.to_ascii_lowercase().as_str() {
            "md5" => Digest::Md5,
            "sha1" => Digest::Sha1,
            "sha224" => Digest::Sha224,
            "sha256" => Digest::Sha256,
            "sha384" => Digest::Sha384,
            "sha512" => Digest::Sha512,
            _ => return Err(invalid_parameter(format!("Cannot use \"{name}\": No such hash algorithm"))),
        })
    }

    pub(super) fn of(self, message: &[u8]) -> Vec<u8> {
        let Constants { roots, .. } = &*CONSTANTS_OF_PRIMES;
        // Those of 32 bits begin with halves of the roots: SHA-256 with the upper ones, SHA-224 with the lower ones.
        let upper = |root: u64| (root >> 32) as u32;
        let lower = |root: u64| root as u32;
        match self {
            Digest::Md5 => md5::digest(message).to_vec(),
            Digest::Sha1 => sha1(message),
            Digest::Sha224 => sha2_32(std::array::from_fn(|i| lower(roots[8 + i])), message)[..28].to_vec(),
            Digest::Sha256 => sha2_32(std::array::from_fn(|i| upper(roots[i])), message),
            Digest::Sha384 => sha2_64(std::array::from_fn(|i| roots[8 + i]), message)[..48].to_vec(),
            Digest::Sha512 => sha2_64(std::array::from_fn(|i| roots[i]), message),
        }
    }

    /// HMAC.
    fn keyed(self, message: &[u8], key: &[u8]) -> Vec<u8> {
        let block = if matches!(self, Digest::Sha384 | Digest::Sha512) { 128 } else { 64 };
        let mut padded = if key.len() > block { self.of(key) } else { key.to_vec() };
        padded.resize(block, 0);
        let with = |byte: u8, rest: &[u8]| {
            let mut all: Vec<u8> = padded.iter().map(|key| key ^ byte).collect();
            all.extend_from_slice(rest);
            self.of(&all)
        };
        with(0x5c, &with(0x36, message))
    }
}

/// The numbers that SHA-2 mixes in: 64 bits behind the point of roots of primes.
struct Constants {
    /// Cube roots of the first 80.
    rounds: [u64; 80],
    /// Square roots of the first 16.
    roots: [u64; 16],
}

static CONSTANTS_OF_PRIMES: LazyLock<Constants> = LazyLock::new(|| {
    let is_prime = |n: &u32| (2..*n).take_while(|by| by * by <= *n).all(|by| !n.is_multiple_of(by));
    let primes: Vec<u32> = (2..).filter(is_prime).take(80).collect();
    let behind_the_point = |root: BigUint| root.iter_u64_digits().next().unwrap_or(0);
    Constants {
        rounds: std::array::from_fn(|i| behind_the_point((BigUint::from(primes[i]) << 192_u32).nth_root(3))),
        roots: std::array::from_fn(|i| behind_the_point((BigUint::from(primes[i]) << 128_u32).sqrt())),
    }
});

/// The message, a one, zeros, and its length in bits, in blocks of so many bytes.
fn padded(message: &[u8], block: usize) -> Vec<u8> {
    let mut all = message.to_vec();
    all.push(0x80);
    let length_bytes = block / 8;
    while all.len() % block != block - length_bytes {
        all.push(0);
    }
    let bits = (message.len() as u128) * 8;
    all.extend_from_slice(&bits.to_be_bytes()[16 - length_bytes..]);
    all
}

fn sha1(message: &[u8]) -> Vec<u8> {
    let mut state = [0x6745_2301_u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    for block in padded(message, 64).chunks_exact(64) {
        let mut words = [0_u32; 80];
        for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
            *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        for i in 16..80 {
            words[i] = (words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16]).rotate_left(1);
        }
        let [mut a, mut b, mut c, mut d, mut e] = state;
        for (i, word) in words.into_iter().enumerate() {
            let (mix, constant) = match i / 20 {
                0 => (b & c | !b & d, 0x5a82_7999),
                1 => (b ^ c ^ d, 0x6ed9_eba1),
                2 => (b & c | b & d | c & d, 0x8f1b_bcdc),
                _ => (b ^ c ^ d, 0xca62_c1d6_u32),
            };
            let next = a.rotate_left(5).wrapping_add(mix).wrapping_add(e).wrapping_add(constant).wrapping_add(word);
            (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
        }
        for (slot, value) in state.iter_mut().zip([a, b, c, d, e]) {
            *slot = slot.wrapping_add(value);
        }
    }
    state.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// SHA-2 over words of a size: its rounds, the constants that they mix in, and how far what is turned.
macro_rules! sha2 {
    ($name:ident, $word:ty, $rounds:literal, $constant:expr, $small:expr, $large:expr) => {
        fn $name(mut state: [$word; 8], message: &[u8]) -> Vec<u8> {
            const BYTES: usize = size_of::<$word>();
            let [[s0, s1, s2], [t0, t1, t2]]: [[u32; 3]; 2] = $small;
            let [[a0, a1, a2], [e0, e1, e2]]: [[u32; 3]; 2] = $large;
            for block in padded(message, 16 * BYTES).chunks_exact(16 * BYTES) {
                let mut words = [<$word>::default(); $rounds];
                for (word, bytes) in words.iter_mut().zip(block.chunks_exact(BYTES)) {
                    *word = bytes.iter().fold(0, |word, byte| word << 8 | <$word>::from(*byte));
                }
                for i in 16..$rounds {
                    let (early, late) = (words[i - 15], words[i - 2]);
                    let early = early.rotate_right(s0) ^ early.rotate_right(s1) ^ early >> s2;
                    let late = late.rotate_right(t0) ^ late.rotate_right(t1) ^ late >> t2;
                    words[i] = words[i - 16].wrapping_add(early).wrapping_add(words[i - 7]).wrapping_add(late);
                }
                let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
                for (i, word) in words.into_iter().enumerate() {
                    let turned = e.rotate_right(e0) ^ e.rotate_right(e1) ^ e.rotate_right(e2);
                    let chosen = e & f ^ !e & g;
                    let constant = $constant(CONSTANTS_OF_PRIMES.rounds[i]);
                    let first = h.wrapping_add(turned).wrapping_add(chosen).wrapping_add(constant).wrapping_add(word);
                    let turned = a.rotate_right(a0) ^ a.rotate_right(a1) ^ a.rotate_right(a2);
                    let second = turned.wrapping_add(a & b ^ a & c ^ b & c);
                    (h, g, f, e, d, c, b) = (g, f, e, d.wrapping_add(first), c, b, a);
                    a = first.wrapping_add(second);
                }
                for (slot, value) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
                    *slot = slot.wrapping_add(value);
                }
            }
            state.iter().flat_map(|word| word.to_be_bytes()).collect()
        }
    };
}

sha2!(sha2_32, u32, 64, |of: u64| (of >> 32) as u32, [[7, 18, 3], [17, 19, 10]], [[2, 13, 22], [6, 11, 25]]);
sha2!(sha2_64, u64, 80, |of: u64| of, [[1, 8, 7], [19, 61, 6]], [[28, 34, 39], [14, 18, 41]]);
