//! Randomness: `random()` from a fast generator of the session's own, `gen_random_uuid()` from the system.

use std::sync::atomic::{AtomicU64, Ordering};

use cairn_storage::PerProcess;

use super::catalogue::Catalogue;
use super::digest::Digest;
use super::support::{call, wrong_arguments};
use crate::types::datetime::{UNIX_EPOCH_MICROS, clock_micros};
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

fn no_randomness(error: getrandom::Error) -> Error {
    Error::new(SqlState::INTERNAL_ERROR, format!("could not generate random values: {error}"))
}

/// Version 4 (RFC 9562).
fn random_uuid() -> Result<Value> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(no_randomness)?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Ok(Value::Uuid(bytes))
}

/// Who made UUIDs of the clock: a number of this process in the place of the machine's address, which nobody is told.
struct Maker {
    node: [u8; 6],
    sequence: u16,
    /// The last time that was given, in 100 ns since 1582-10-15; none is given twice.
    last: AtomicU64,
}

/// (A child that went on with its parent's would give what that gives.)
static MAKER: PerProcess<Maker> = PerProcess::new();

/// From 1582-10-15 to 1970-01-01 in 100 ns.
const GREGORIAN: u64 = 0x01b2_1dd2_1381_4000;

impl Maker {
    fn new() -> Result<Maker> {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).map_err(no_randomness)?;
        let [a, b, node @ ..] = bytes;
        let mut maker = Maker { node, sequence: u16::from_be_bytes([a, b]) & 0x3fff, last: AtomicU64::new(0) };
        // No machine's address has this bit.
        maker.node[0] |= 1;
        Ok(maker)
    }

    /// A time later than all others that were given.
    fn time(&self) -> u64 {
        let micros = u64::try_from(clock_micros().saturating_add(UNIX_EPOCH_MICROS)).unwrap_or(0);
        let now = micros.saturating_mul(10).saturating_add(GREGORIAN);
        let later = |last: u64| Some(now.max(last.saturating_add(1)));
        let last = self.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, later).unwrap_or(now);
        now.max(last.saturating_add(1))
    }
}

/// Version 1: of the clock.
fn time_uuid() -> Result<Value> {
    let maker = MAKER.get(Maker::new)?;
    let time = maker.time().to_be_bytes();
    let [a, b] = maker.sequence.to_be_bytes();
    let [n0, n1, n2, n3, n4, n5] = maker.node;
    let [t0, t1, t2, t3, t4, t5, t6, t7] = time;
    Ok(Value::Uuid([t4, t5, t6, t7, t2, t3, t0 & 0x0f | 0x10, t1, a | 0x80, b, n0, n1, n2, n3, n4, n5]))
}

/// The other functions of uuid-ossp.
fn ossp(catalogue: &mut Catalogue) {
    const UUID: DataType = DataType::Uuid;
    for name in ["uuid_generate_v1", "uuid_generate_v1mc"] {
        catalogue.add(name, &[], UUID, |_, _| time_uuid()).bounded().volatile();
    }
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
