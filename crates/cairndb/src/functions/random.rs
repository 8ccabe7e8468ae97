//! Randomness: `random()` from a fast generator of the session's own, `gen_random_uuid()` from the system.

use super::catalogue::Catalogue;
use super::digest::Digest;
use super::support::{call, wrong_arguments};
use crate::types::{DataType, EvalContext, Generator, Value, to_text};
use crate::{Error, Result, SqlState};

pub(super) fn register(catalogue: &mut Catalogue) {
    // The second is uuid-ossp's.
    for name in ["gen_random_uuid", "uuid_generate_v4"] {
        catalogue.add(name, &[], DataType::Uuid, |_, _| random_uuid()).bounded().volatile().leakproof();
    }
    ossp(catalogue);
}

/// Uniform in [0, 1), from the session's generator.
pub(super) fn unit(context: &EvalContext) -> f64 {
    match &context.channels {
        Some(session) => session.random().unit(),
        // Where there is no session nobody else draws from it.
        None => Generator::default().unit(),
    }
}

/// Gives an empty text.
pub(super) fn set_seed(args: &[Value], context: &EvalContext) -> Result<Value> {
    let [Value::Double(seed)] = args else { return Err(wrong_arguments(args)) };
    if !(-1.0..=1.0).contains(seed) {
        let message = format!("setseed parameter {} is out of allowed range [-1,1]", to_text(&args[0], context));
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    let session = context.channels.as_ref().ok_or_else(|| Error::unsupported("setseed() in this place"))?;
    session.random().seed(*seed);
    Ok(Value::text(""))
}

/// Version 4 (RFC 9562).
fn random_uuid() -> Result<Value> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::new(SqlState::INTERNAL_ERROR, format!("could not generate random values: {error}")))?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Ok(Value::Uuid(bytes))
}

/// The other functions of uuid-ossp but those that take the clock and the machine's address.
fn ossp(catalogue: &mut Catalogue) {
    const UUID: DataType = DataType::Uuid;
    catalogue.add("uuid_nil", &[], UUID, |_, _| Ok(Value::Uuid([0; 16]))).bounded();
    catalogue.add("uuid_ns_dns", &[], UUID, |_, _| Ok(namespace(0x10)));
    catalogue.add("uuid_ns_url", &[], UUID, |_, _| Ok(namespace(0x11)));
    catalogue.add("uuid_ns_oid", &[], UUID, |_, _| Ok(namespace(0x12)));
    catalogue.add("uuid_ns_x500", &[], UUID, |_, _| Ok(namespace(0x14)));
    let args = &[UUID, DataType::Text];
    catalogue.add("uuid_generate_v3", args, UUID, call!((Uuid of, Text name) Ok(named(Digest::Md5, 3, of, name))));
    catalogue.add("uuid_generate_v5", args, UUID, call!((Uuid of, Text name) Ok(named(Digest::Sha1, 5, of, name))));
}

/// The namespaces of RFC 9562 differ in one byte.
fn namespace(number: u8) -> Value {
    let mut bytes = *b"\x6b\xa7\xb8\x10\x9d\xad\x11\xd1\x80\xb4\x00\xc0\x4f\xd4\x30\xc8";
    bytes[3] = number;
    Value::Uuid(bytes)
}

/// Versions 3 and 5: made of a name within a namespace.
fn named(digest: Digest, version: u8, of: &[u8; 16], name: &str) -> Value {
    let made = digest.of(&[of.as_slice(), name.as_bytes()].concat());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&made[..16]);
    bytes[6] = bytes[6] & 0x0f | version << 4;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Value::Uuid(bytes)
}
