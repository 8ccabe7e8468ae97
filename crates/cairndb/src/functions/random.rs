//! Randomness: `random()` from a fast generator per thread, `gen_random_uuid()` from the system.

use std::cell::Cell;

use super::catalogue::Catalogue;
use crate::types::{DataType, Value};
use crate::{Error, Result, SqlState};

pub(super) fn register(catalogue: &mut Catalogue) {
    // The second is uuid-ossp's.
    for name in ["gen_random_uuid", "uuid_generate_v4"] {
        catalogue.add(name, &[], DataType::Uuid, |_, _| random_uuid()).volatile();
    }
}

thread_local! {
    /// Zero: not seeded yet.
    static STATE: Cell<u64> = const { Cell::new(0) };
}

/// Uniform in [0, 1). (splitmix64; not for secrets.)
pub(super) fn unit() -> f64 {
    let seed = match STATE.get() {
        0 => getrandom::u64().unwrap_or(1) | 1,
        state => state,
    };
    let state = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    STATE.set(state);
    mixed(state)
}

/// A number in [0, 1) made of all bits of another.
pub(super) fn mixed(state: u64) -> f64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
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
