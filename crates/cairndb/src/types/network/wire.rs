//! Addresses in the binary format: the family, the bits, whether it is a network, how many bytes, and those.

use super::Inet;
use crate::{Error, Result, SqlState};

/// PostgreSQL's numbers of the families.
const V4: u8 = 2;
const V6: u8 = 3;

impl Inet {
    pub(in crate::types) fn to_wire(self, is_cidr: bool) -> Vec<u8> {
        let octets = self.octets();
        let family = if self.is_v6 { V6 } else { V4 };
        [&[family, self.bits, is_cidr.into(), octets.len() as u8], octets].concat()
    }

    /// (Whether it is a network is the type's business.) SQLSTATE 22P03.
    pub(in crate::types) fn from_wire(bytes: &[u8], type_name: &str) -> Result<Inet> {
        let refused = |what: &str| {
            let message = format!("invalid {what} in external \"{type_name}\" value");
            Error::new(SqlState::INVALID_BINARY_REPRESENTATION, message)
        };
        let [family, bits, _, length, octets @ ..] = bytes else {
            return Err(Error::new(SqlState::PROTOCOL_VIOLATION, "insufficient data left in message"));
        };
        let size = match *family {
            V4 => 4,
            V6 => 16,
            _ => return Err(refused("address family")),
        };
        if *bits > size * 8 {
            return Err(refused("bits"));
        }
        if *length != size || octets.len() != usize::from(size) {
            return Err(refused("length"));
        }
        let made =
            if *family == V6 { Inet::of_octets::<16>(*bits, octets) } else { Inet::of_octets::<4>(*bits, octets) };
        made.ok_or_else(|| refused("bits"))
    }
}
