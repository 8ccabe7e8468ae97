//! Addresses to text.

use std::fmt::{self, Display, Formatter, Write};
use std::net::{IpAddr, Ipv6Addr};

use super::Inet;

impl Inet {
    /// Appends the address alone.
    pub(crate) fn write_host(&self, out: &mut impl Write) -> fmt::Result {
        match self.address() {
            IpAddr::V4(address) => write!(out, "{address}"),
            IpAddr::V6(address) => write_v6(address, out),
        }
    }

    /// Appends the address and the bits of its network, as `cidr` is written and as either type becomes a text.
    pub(crate) fn write_whole(&self, out: &mut impl Write) -> fmt::Result {
        self.write_host(out)?;
        write!(out, "/{}", self.bits)
    }

    /// What [`write_whole`](Inet::write_whole) appends.
    pub(crate) fn to_whole(self) -> String {
        let mut out = String::new();
        // (Writing to a string cannot fail.)
        _ = self.write_whole(&mut out);
        out
    }

    /// Appends the text of an `inet`, which tells the bits of its network where they are not all.
    pub(in crate::types) fn write_inet(&self, out: &mut impl Write) -> fmt::Result {
        if self.bits == self.bits_max() { self.write_host(out) } else { self.write_whole(out) }
    }
}

/// As an `inet` is written.
impl Display for Inet {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.write_inet(f)
    }
}

/// The longest of the runs of zeros among some words: where it begins, and how long it is.
pub(super) fn longest_zeros(words: &[u16]) -> (usize, usize) {
    let (mut best, mut start) = ((0, 0), 0);
    for (at, word) in words.iter().enumerate() {
        if *word != 0 {
            start = at + 1;
        } else if at + 1 - start > best.1 {
            best = (start, at + 1 - start);
        }
    }
    best
}

/// (The standard library writes an IPv4 address within the last words of fewer.)
fn write_v6(address: Ipv6Addr, out: &mut impl Write) -> fmt::Result {
    let words = address.segments();
    let (start, length) = match longest_zeros(&words) {
        (_, ..2) => (words.len(), 0),
        zeros => zeros,
    };
    let is_v4 = start == 0 && (length == 6 || length == 7 && words[7] != 1 || length == 5 && words[5] == 0xffff);
    for (at, word) in words.iter().enumerate() {
        if at == start {
            out.write_char(':')?;
        }
        if (start..start + length).contains(&at) {
            continue;
        }
        if at > 0 {
            out.write_char(':')?;
        }
        if at == 6 && is_v4 {
            let [.., a, b, c, d] = address.octets();
            return write!(out, "{a}.{b}.{c}.{d}");
        }
        write!(out, "{word:x}")?;
    }
    if length > 0 && start + length == words.len() { out.write_char(':') } else { Ok(()) }
}
