//! Digests, and the functions of `pgcrypto` over them. Nothing here relies on their strength.

use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest as _, Sha224, Sha256, Sha384, Sha512};

use super::catalogue::{Catalogue, Eval};
use super::support::{call, invalid_parameter};
use crate::types::{DataType, Value};
use crate::{Error, Result, SqlState};

const TEXT: DataType = DataType::Text;
const BYTES: DataType = DataType::Bytea;

pub(super) fn register(catalogue: &mut Catalogue) {
    let mut sha = |name, eval: Eval| {
        catalogue.add(name, &[BYTES], BYTES, eval).bounded().leakproof();
    };
    sha("sha224", call!((Bytea a) bytes(Digest::Sha224.of(a))));
    sha("sha256", call!((Bytea a) bytes(Digest::Sha256.of(a))));
    sha("sha384", call!((Bytea a) bytes(Digest::Sha384.of(a))));
    sha("sha512", call!((Bytea a) bytes(Digest::Sha512.of(a))));
    let digest = call!((Text a, Text of) bytes(Digest::named(of)?.of(a.as_bytes())));
    catalogue.add("digest", &[TEXT, TEXT], BYTES, digest);
    catalogue.add("digest", &[BYTES, TEXT], BYTES, call!((Bytea a, Text of) bytes(Digest::named(of)?.of(a))));
    let hmac = call!((Text a, Text key, Text of) bytes(Digest::named(of)?.keyed(a.as_bytes(), key.as_bytes())?));
    catalogue.add("hmac", &[TEXT, TEXT, TEXT], BYTES, hmac);
    let hmac = call!((Bytea a, Bytea key, Text of) bytes(Digest::named(of)?.keyed(a, key)?));
    catalogue.add("hmac", &[BYTES, BYTES, TEXT], BYTES, hmac);
    let random = call!((Integer length) random_bytes(*length));
    catalogue.add("gen_random_bytes", &[DataType::Integer], BYTES, random).volatile();
}

fn bytes(of: Vec<u8>) -> Result<Value> {
    Ok(Value::Bytea(of.into()))
}

fn random_bytes(length: i32) -> Result<Value> {
    let length = usize::try_from(length).ok().filter(|length| (1..=1024).contains(length));
    let length =
        length.ok_or_else(|| Error::new(SqlState::EXTERNAL_ROUTINE_INVOCATION_EXCEPTION, "Length not in range"))?;
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
        match self {
            Digest::Md5 => Md5::digest(message).to_vec(),
            Digest::Sha1 => Sha1::digest(message).to_vec(),
            Digest::Sha224 => Sha224::digest(message).to_vec(),
            Digest::Sha256 => Sha256::digest(message).to_vec(),
            Digest::Sha384 => Sha384::digest(message).to_vec(),
            Digest::Sha512 => Sha512::digest(message).to_vec(),
        }
    }

    /// HMAC.
    fn keyed(self, message: &[u8], key: &[u8]) -> Result<Vec<u8>> {
        match self {
            Digest::Md5 => mac::<Hmac<Md5>>(message, key),
            Digest::Sha1 => mac::<Hmac<Sha1>>(message, key),
            Digest::Sha224 => mac::<Hmac<Sha224>>(message, key),
            Digest::Sha256 => mac::<Hmac<Sha256>>(message, key),
            Digest::Sha384 => mac::<Hmac<Sha384>>(message, key),
            Digest::Sha512 => mac::<Hmac<Sha512>>(message, key),
        }
    }
}

fn mac<M: Mac + KeyInit>(message: &[u8], key: &[u8]) -> Result<Vec<u8>> {
    let of_key = <M as KeyInit>::new_from_slice(key);
    let mut mac = of_key.map_err(|error| invalid_parameter(format!("a key of {} bytes: {error}", key.len())))?;
    mac.update(message);
    Ok(mac.finalize().into_bytes().to_vec())
}

/// The MD5 digest in hexadecimal.
pub(super) fn md5_hex(message: &[u8]) -> String {
    let mut out = String::new();
    crate::types::text::write_hex(&Digest::Md5.of(message), &mut out);
    out
}
