//! What is worked out of addresses.

use super::Inet;
use crate::{Error, Result, SqlState};

impl Inet {
    /// The network that the address is in: its bits behind the network's are zero.
    pub fn network(&self) -> Inet {
        self.with_number(self.number() & !self.host_mask())
    }

    /// The last address of the network.
    pub(crate) fn broadcast(&self) -> Inet {
        self.with_number(self.number() | self.host_mask())
    }

    pub(crate) fn netmask(&self) -> Inet {
        self.with_number(self.all() & !self.host_mask()).as_host()
    }

    pub(crate) fn hostmask(&self) -> Inet {
        self.with_number(self.host_mask()).as_host()
    }

    fn as_host(self) -> Inet {
        Inet { bits: self.bits_max(), ..self }
    }

    /// -1: all of them. SQLSTATE 22023.
    pub(crate) fn with_bits(self, bits: i32) -> Result<Inet> {
        let known = if bits == -1 { Some(self.bits_max()) } else { u8::try_from(bits).ok() };
        let known = known.filter(|bits| *bits <= self.bits_max());
        let refused = || Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("invalid mask length: {bits}"));
        Ok(Inet { bits: known.ok_or_else(refused)?, ..self })
    }

    pub(crate) fn is_same_family(&self, other: &Inet) -> bool {
        self.is_v6 == other.is_v6
    }

    /// The first `bits` are the same.
    fn shares(&self, other: &Inet, bits: u8) -> bool {
        let behind = Inet { bits, ..*self }.host_mask();
        self.is_same_family(other) && (self.number() ^ other.number()) & !behind == 0
    }

    /// The other's network is this one's, or a part of it.
    pub(crate) fn contains(&self, other: &Inet) -> bool {
        self.bits <= other.bits && self.shares(other, self.bits)
    }

    /// The other's network is a part of this one's.
    pub(crate) fn contains_properly(&self, other: &Inet) -> bool {
        self.bits < other.bits && self.contains(other)
    }

    pub(crate) fn overlaps(&self, other: &Inet) -> bool {
        self.shares(other, self.bits.min(other.bits))
    }

    /// The smallest network that has both. SQLSTATE 22023.
    pub(crate) fn merge(&self, other: &Inet) -> Result<Inet> {
        if !self.is_same_family(other) {
            return Err(refused("cannot merge addresses from different families"));
        }
        let unlike = 128 - self.bits_max();
        let common = (self.number() ^ other.number()).leading_zeros() as u8 - unlike;
        Ok(Inet { bits: common.min(self.bits).min(other.bits), ..*self }.network())
    }

    pub(crate) fn not(&self) -> Inet {
        self.with_number(!self.number() & self.all())
    }

    /// SQLSTATE 22023.
    pub(crate) fn and(&self, other: &Inet) -> Result<Inet> {
        self.joined(other, "cannot AND inet values of different sizes", |a, b| a & b)
    }

    /// SQLSTATE 22023.
    pub(crate) fn or(&self, other: &Inet) -> Result<Inet> {
        self.joined(other, "cannot OR inet values of different sizes", |a, b| a | b)
    }

    fn joined(&self, other: &Inet, error: &str, join: fn(u128, u128) -> u128) -> Result<Inet> {
        match self.is_same_family(other) {
            true => {
                Ok(Inet { bits: self.bits.max(other.bits), ..self.with_number(join(self.number(), other.number())) })
            }
            false => Err(refused(error)),
        }
    }

    /// SQLSTATE 22003.
    pub(crate) fn plus(&self, addend: i128) -> Result<Inet> {
        let sum = match addend {
            0.. => self.number().checked_add(addend.unsigned_abs()),
            _ => self.number().checked_sub(addend.unsigned_abs()),
        };
        sum.filter(|sum| *sum <= self.all()).map(|sum| self.with_number(sum)).ok_or_else(out_of_range)
    }

    /// SQLSTATE 22003, 22023.
    pub(crate) fn minus(&self, other: &Inet) -> Result<i64> {
        if !self.is_same_family(other) {
            return Err(refused("cannot subtract inet values of different sizes"));
        }
        // (The distance of IPv6 addresses is one of as many bits, the sign's among them.)
        let distance = self.number().wrapping_sub(other.number()).cast_signed();
        i64::try_from(distance).map_err(|_| out_of_range())
    }
}

fn refused(message: &str) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn out_of_range() -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "result is out of range")
}
