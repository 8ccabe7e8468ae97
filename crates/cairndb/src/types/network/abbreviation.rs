//! What `abbrev()` writes of a `cidr`: no more of the address than the network's bits say.

use std::fmt::{self, Write};

use super::output::longest_zeros;
use super::{Inet, IpAddr};

impl Inet {
    /// Appends the network's address as short as it is known by, and its bits.
    pub(crate) fn write_abbreviated(&self, out: &mut impl Write) -> fmt::Result {
        let network = self.network();
        match (network.address(), self.bits) {
            (IpAddr::V4(_), 0) => out.write_char('0')?,
            (IpAddr::V6(_), 0) => out.write_str("::")?,
            (IpAddr::V4(address), bits) => write_octets(&address.octets()[..usize::from(bits).div_ceil(8)], out)?,
            (IpAddr::V6(address), bits) => write_words(address.segments(), bits.into(), out)?,
        }
        write!(out, "/{}", self.bits)
    }
}

fn write_octets(octets: &[u8], out: &mut impl Write) -> fmt::Result {
    for (at, octet) in octets.iter().enumerate() {
        write!(out, "{}{octet}", if at > 0 { "." } else { "" })?;
    }
    Ok(())
}

/// As PostgreSQL does it, which skips a single zero too, and takes some that have no colon behind it for IPv4.
fn write_words(all: [u16; 8], bits: usize, out: &mut impl Write) -> fmt::Result {
    let words = &all[..bits.div_ceil(16).max(2)];
    let (start, length) = longest_zeros(words);
    let last = all[7].to_be_bytes();
    let is_v4 = length != words.len()
        && start == 0
        && (length == 6 || length == 5 && all[5] == 0xffff || length == 7 && last[0] != 0 && last[1] != 1);
    for (at, word) in words.iter().enumerate() {
        if length != 0 && (start..start + length).contains(&at) {
            out.write_str(if at == start { ":" } else { "" })?;
            out.write_str(if at + 1 == words.len() { ":" } else { "" })?;
        } else if is_v4 && at > 5 {
            let [high, low] = word.to_be_bytes();
            write!(out, "{}{high}", if at == 6 { ":" } else { "." })?;
            if at != 7 || bits > 120 {
                write!(out, ".{low}")?;
            }
        } else {
            write!(out, "{}{word:x}", if at > 0 { ":" } else { "" })?;
        }
    }
    Ok(())
}
