//! Addresses of networks and of their cards: `inet` and `cidr`, `macaddr` and `macaddr8`.
//!
//! An [`Inet`] is an address and how many of its first bits say the network. Addresses are ordered by their family, then by the bits of
//! the network, by how many these are, and at last by all bits; [`Inet::write_key`] has bytes of the same order. A `cidr` is an `Inet`
//! none of whose bits behind the network is set.

mod abbreviation;
mod input;
mod mac;
mod operations;
mod output;
#[cfg(test)]
mod tests;
mod wire;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::net::IpAddr;

pub(super) use input::{parse_cidr, parse_inet};
pub(super) use mac::{mac_of_mac8, mac8_of_mac, parse_mac, parse_mac8, write_mac};

/// A value of `inet` or `cidr`: an address and the length of its network's mask. `==` and the order are SQL's.
///
/// ```
/// use cairndb::Inet;
///
/// let host = Inet::new("10.1.2.3".parse()?, 8).expect("at most 32 bits");
/// assert_eq!((host.address().to_string(), host.bits(), host.bits_max()), ("10.1.2.3".to_owned(), 8, 32));
/// assert_eq!((host.to_string(), host.network().to_string()), ("10.1.2.3/8".to_owned(), "10.0.0.0/8".to_owned()));
/// assert!(Inet::new("10.1.2.3".parse()?, 33).is_none() && !host.is_network() && host.network().is_network());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Inet {
    is_v6: bool,
    bits: u8,
    /// The address as a number, big endian; of IPv4 the last four.
    number: [u8; 16],
}

/// The first byte of an IPv4 address in a row; in a key it stands above [`KEY`]. IPv6 has [`V6`].
const V4: u8 = 4;
const V6: u8 = 6;
/// Greater than what ends an array, less than NULL.
const KEY: u8 = 0x20;

impl Inet {
    /// `None`: the address has fewer bits.
    pub fn new(address: IpAddr, bits: u8) -> Option<Inet> {
        let (is_v6, number) = match address {
            IpAddr::V4(address) => (false, u32::from(address).into()),
            IpAddr::V6(address) => (true, u128::from(address)),
        };
        let made = Inet { is_v6, bits, number: number.to_be_bytes() };
        (bits <= made.bits_max()).then_some(made)
    }

    /// The address alone.
    pub fn address(&self) -> IpAddr {
        match self.is_v6 {
            true => IpAddr::V6(self.number().into()),
            false => IpAddr::V4((self.number() as u32).into()),
        }
    }

    /// How many bits say the network.
    pub fn bits(&self) -> u8 {
        self.bits
    }

    /// How many bits the address has.
    pub fn bits_max(&self) -> u8 {
        if self.is_v6 { 128 } else { 32 }
    }

    /// 4 or 6.
    pub(crate) fn family(&self) -> u8 {
        if self.is_v6 { V6 } else { V4 }
    }

    /// No bit behind the network is set: a `cidr` is such.
    pub fn is_network(&self) -> bool {
        self.number() & self.host_mask() == 0
    }

    fn number(&self) -> u128 {
        u128::from_be_bytes(self.number)
    }

    fn with_number(self, number: u128) -> Inet {
        Inet { number: number.to_be_bytes(), ..self }
    }

    /// The address's bytes.
    pub(super) fn octets(&self) -> &[u8] {
        if self.is_v6 { &self.number } else { &self.number[12..] }
    }

    /// All bits of an address.
    fn all(&self) -> u128 {
        u128::MAX >> (128 - u32::from(self.bits_max()))
    }

    /// The bits behind the network.
    fn host_mask(&self) -> u128 {
        self.all().checked_shr(self.bits.into()).unwrap_or(0)
    }

    fn compare(&self, other: &Inet) -> Ordering {
        // That of fewer bits has zeros where the other's network goes on: where those differ from zeros, it is less; where they do
        // not, it is less by its bits.
        let by = |of: &Inet| (of.is_v6, of.number() & !of.host_mask(), of.bits, of.number());
        by(self).cmp(&by(other))
    }

    /// Appends the bytes that rows have: the family, the bits, the address.
    pub(super) fn write_bytes(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.family(), self.bits]);
        out.extend_from_slice(self.octets());
    }

    pub(super) fn byte_len(&self) -> usize {
        2 + self.octets().len()
    }

    /// `None`: they are no such bytes.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Inet> {
        match bytes {
            [V4, bits, address @ ..] => Inet::of_octets::<4>(*bits, address),
            [V6, bits, address @ ..] => Inet::of_octets::<16>(*bits, address),
            _ => None,
        }
    }

    /// An address of as many bytes, big endian; `None`: they are others, or fewer bits than `bits`.
    pub(super) fn of_octets<const N: usize>(bits: u8, octets: &[u8]) -> Option<Inet> {
        let octets: [u8; N] = octets.try_into().ok()?;
        let mut number = [0; 16];
        number[16 - N..].copy_from_slice(&octets);
        let made = Inet { is_v6: N == 16, bits, number };
        (bits <= made.bits_max()).then_some(made)
    }

    /// Appends bytes of the order of values: the family, the network, the bits, and where they are not all the address.
    pub(super) fn write_key(&self, out: &mut Vec<u8>) {
        out.push(KEY + self.family());
        let network = self.network();
        out.extend_from_slice(network.octets());
        out.push(self.bits);
        if self.bits < self.bits_max() {
            out.extend_from_slice(self.octets());
        }
    }

    /// What [`write_key`](Inet::write_key) wrote, whose bytes `next` gives; `None`: it did not.
    pub(super) fn read_key<E>(mut next: impl FnMut() -> Result<u8, E>) -> Result<Option<Inet>, E> {
        let is_v6 = match next()?.wrapping_sub(KEY) {
            V4 => false,
            V6 => true,
            _ => return Ok(None),
        };
        let none = Inet { is_v6, bits: 0, number: [0; 16] };
        let network = none.with_number(read_number(none.octets().len(), &mut next)?);
        let bits = next()?;
        if bits > none.bits_max() {
            return Ok(None);
        }
        let whole = match bits < none.bits_max() {
            true => none.with_number(read_number(none.octets().len(), &mut next)?),
            false => network,
        };
        let whole = Inet { bits, ..whole };
        Ok((whole.network().number == network.number).then_some(whole))
    }
}

/// A number of as many bytes, big endian.
fn read_number<E>(count: usize, next: &mut impl FnMut() -> Result<u8, E>) -> Result<u128, E> {
    let mut number = 0;
    for _ in 0..count {
        number = number << 8 | u128::from(next()?);
    }
    Ok(number)
}

impl PartialEq for Inet {
    fn eq(&self, other: &Inet) -> bool {
        self.compare(other).is_eq()
    }
}
impl Eq for Inet {}

impl PartialOrd for Inet {
    fn partial_cmp(&self, other: &Inet) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Inet {
    fn cmp(&self, other: &Inet) -> Ordering {
        self.compare(other)
    }
}

impl Hash for Inet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.is_v6, self.bits, self.number).hash(state);
    }
}
