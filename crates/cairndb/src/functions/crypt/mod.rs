//! Passwords as `pgcrypto` keeps them: `crypt()` and `gen_salt()`. What was made is made again from itself as the salt.
//!
//! There are Blowfish's (`bf`) and MD5's. Those of DES are broken, and no kept library has them: they are refused.

mod blowfish;
mod md5;

use super::catalogue::Catalogue;
use super::support::{call, invalid_parameter};
use crate::types::{DataType, EvalContext, Value};
use crate::{Error, Result};

const TEXT: DataType = DataType::Text;

pub(super) fn register(catalogue: &mut Catalogue) {
    let hash = call!((Text password, Text salt), context hashed(password, salt, context).map(Value::text));
    catalogue.add("crypt", &[TEXT, TEXT], TEXT, hash).lengthy();
    let made = call!((Text method) salt(method, 0).map(Value::text));
    catalogue.add("gen_salt", &[TEXT], TEXT, made).volatile();
    let made = call!((Text method, Integer rounds) salt(method, *rounds).map(Value::text));
    catalogue.add("gen_salt", &[TEXT, DataType::Integer], TEXT, made).volatile();
}

/// SQLSTATE 22023 for a salt that is none, 0A000 for one of DES.
fn hashed(password: &str, salt: &str, context: &EvalContext) -> Result<String> {
    match salt {
        _ if salt.starts_with("$2a$") => blowfish::hashed(password, salt, context),
        _ if salt.starts_with("$2x$") => Err(refused("crypt() with a salt of $2x$")),
        // PostgreSQL knows its name only.
        _ if salt.starts_with("$2$") => {
            Err(Error::new(crate::SqlState::EXTERNAL_ROUTINE_INVOCATION_EXCEPTION, "crypt(3) returned NULL"))
        }
        _ if salt.starts_with("$1$") => md5::hashed(password, salt),
        _ if salt.len() < if salt.starts_with('_') { 9 } else { 2 } => Err(invalid_salt()),
        _ if salt.starts_with('_') => Err(refused("crypt() by extended DES")),
        _ => Err(refused("crypt() by DES")),
    }
}

fn refused(what: &str) -> Error {
    Error::unsupported(what).with_hint("Passwords are kept by Blowfish here: crypt(password, gen_salt('bf')).")
}

fn invalid_salt() -> Error {
    invalid_parameter("invalid salt")
}

/// A new one; 0 rounds: as many as are usual. SQLSTATE 22023, 0A000.
fn salt(method: &str, rounds: i32) -> Result<String> {
    let wrong_rounds = || invalid_parameter("gen_salt: Incorrect number of rounds");
    match method.to_ascii_lowercase().as_str() {
        "bf" => match u32::try_from(if rounds == 0 { 6 } else { rounds }) {
            Ok(cost) if (4..=31).contains(&cost) => Ok(blowfish::salt(cost, random()?)),
            _ => Err(wrong_rounds()),
        },
        "md5" if ![0, 1000].contains(&rounds) => Err(wrong_rounds()),
        "md5" => Ok(md5::salt(random()?)),
        "des" | "xdes" => Err(refused(&format!("gen_salt('{}')", method.to_ascii_lowercase()))),
        _ => Err(invalid_parameter("gen_salt: Unknown salt algorithm")),
    }
}

fn random<const COUNT: usize>() -> Result<[u8; COUNT]> {
    let mut bytes = [0; COUNT];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::internal(format!("could not generate random values: {error}")))?;
    Ok(bytes)
}
