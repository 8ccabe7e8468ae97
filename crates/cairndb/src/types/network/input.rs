//! Texts to addresses, as PostgreSQL reads them. (The standard library reads whole addresses only, and not all of those.)

use super::super::text::invalid;
use super::Inet;
use crate::{Error, Result, SqlState};

/// Reads `192.168.1.5`, `192.168.1/24`, `fe80::1/10`. SQLSTATE 22P02.
pub(in crate::types) fn parse_inet(text: &str) -> Result<Inet> {
    let found = if text.contains(':') { v6(text) } else { v4(text) };
    found.ok_or_else(|| invalid(text, "inet"))
}

/// Reads a network: of IPv4 as few octets as are known. SQLSTATE 22P02.
pub(in crate::types) fn parse_cidr(text: &str) -> Result<Inet> {
    let found = if text.contains(':') { v6(text) } else { v4_network(text) };
    let found = found.ok_or_else(|| invalid(text, "cidr"))?;
    match found.is_network() {
        true => Ok(found),
        false => Err(Error::new(SqlState::INVALID_TEXT_REPRESENTATION, format!("invalid cidr value: \"{text}\""))
            .with_detail("Value has bits set to right of mask.")),
    }
}

fn v4(text: &str) -> Option<Inet> {
    let (address, bits) = split(text)?;
    // (A dot may stand behind the last octet.)
    let octets = octets(address.strip_suffix('.').unwrap_or(address))?;
    let bits = match bits {
        Some(bits) if usize::from(bits / 8) > octets.len() => return None,
        Some(bits) => bits,
        None if octets.len() == 4 => 32,
        None => return None,
    };
    padded(&octets, bits)
}

fn v4_network(text: &str) -> Option<Inet> {
    let (address, bits) = split(text)?;
    let hexadecimal = address.strip_prefix("0x").or_else(|| address.strip_prefix("0X"));
    let octets = match hexadecimal {
        Some(digits) => of_digits(digits)?,
        None => octets(address)?,
    };
    padded(&octets, bits.unwrap_or_else(|| of_class(&octets)))
}

/// The bits of a network that says none: those of its class, and no fewer than it has octets.
fn of_class(octets: &[u8]) -> u8 {
    let first = octets.first().copied().unwrap_or(0);
    let of_class = match first {
        240.. => 32,
        224.. => 8,
        192.. => 24,
        128.. => 16,
        _ => 8,
    };
    match of_class.max(octets.len() as u8 * 8) {
        8 if first == 224 => 4,
        bits => bits,
    }
}

fn padded(octets: &[u8], bits: u8) -> Option<Inet> {
    let mut address = [0; 4];
    address.get_mut(..octets.len())?.copy_from_slice(octets);
    Inet::of_octets::<4>(bits, &address)
}

/// The address, and the bits behind a slash.
fn split(text: &str) -> Option<(&str, Option<u8>)> {
    match text.split_once('/') {
        None => Some((text, None)),
        Some((address, bits)) => Some((address, Some(number(bits, 32)?))),
    }
}

/// One to four numbers with dots between them.
fn octets(text: &str) -> Option<Vec<u8>> {
    let octets = text.split('.').map(|octet| number(octet, 255)).collect::<Option<Vec<u8>>>()?;
    (octets.len() <= 4).then_some(octets)
}

/// Digits and nothing else, of a number that is at most so large.
fn number(text: &str, most: u8) -> Option<u8> {
    let digits = text.bytes().map(|byte| byte.is_ascii_digit().then(|| u32::from(byte - b'0')));
    let sum = digits.into_iter().try_fold(0, |sum: u32, digit| Some((sum * 10 + digit?).min(1000)))?;
    u8::try_from(sum).ok().filter(|sum| !text.is_empty() && *sum <= most)
}

/// Two hexadecimal digits an octet; a last one alone is the greater half.
fn of_digits(text: &str) -> Option<Vec<u8>> {
    let digits = text.chars().map(|c| c.to_digit(16)).collect::<Option<Vec<u32>>>()?;
    let octets = digits.chunks(2).map(|pair| (pair[0] << 4 | pair.get(1).copied().unwrap_or(0)) as u8).collect();
    (1..=8).contains(&digits.len()).then_some(octets)
}

/// Words in hexadecimal, `::` for as many zeros as it takes, in place of the last two an IPv4 address.
fn v6(text: &str) -> Option<Inet> {
    let mut address = Words::default();
    let mut rest = match text.strip_prefix(':') {
        Some(rest) if rest.starts_with(':') => rest,
        Some(_) => return None,
        None => text,
    };
    let mut bits = 128;
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(digits);
        match behind.as_bytes().first() {
            Some(b':') if word.is_empty() => address.leave_out()?,
            Some(b':') if behind.len() == 1 => return None,
            Some(b':') => address.push(word)?,
            Some(b'.') => {
                bits = address.push_v4(rest)?;
                break;
            }
            Some(b'/') => {
                bits = plain_number(&behind[1..], 128)?;
                address.push_last(word)?;
                break;
            }
            None => {
                address.push_last(word)?;
                break;
            }
            Some(_) => return None,
        }
        rest = &behind[1..];
    }
    Inet::of_octets::<16>(bits, &address.whole()?)
}

/// Digits without a zero before them.
fn plain_number(text: &str, most: u8) -> Option<u8> {
    number(text, most).filter(|_| text.len() == 1 || !text.starts_with('0'))
}

/// The octets of an IPv6 address so far, and where zeros are left out.
#[derive(Default)]
struct Words {
    octets: Vec<u8>,
    left_out: Option<usize>,
}

impl Words {
    fn push(&mut self, word: &str) -> Option<()> {
        let value = if word.len() <= 4 { u16::from_str_radix(word, 16).ok()? } else { return None };
        self.octets.extend_from_slice(&value.to_be_bytes());
        (self.octets.len() <= 16).then_some(())
    }

    /// Nothing may stand behind the last colon.
    fn push_last(&mut self, word: &str) -> Option<()> {
        if word.is_empty() { Some(()) } else { self.push(word) }
    }

    fn leave_out(&mut self) -> Option<()> {
        self.left_out.replace(self.octets.len()).is_none().then_some(())
    }

    /// An IPv4 address, and the bits that stand behind it; octets that are missing are zero.
    fn push_v4(&mut self, text: &str) -> Option<u8> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, plain_number(bits, 128)?),
            None if text.ends_with('.') => return None,
            None => (text, 128),
        };
        let octet = |text: &str| if text.is_empty() { Some(0) } else { plain_number(text, 255) };
        let mut octets = address.split('.').map(octet).collect::<Option<Vec<u8>>>()?;
        (octets.len() <= 4 && self.octets.len() <= 12).then_some(())?;
        octets.resize(4, 0);
        self.octets.append(&mut octets);
        Some(bits)
    }

    fn whole(mut self) -> Option<Vec<u8>> {
        if let Some(at) = self.left_out {
            let missing = 16_usize.checked_sub(self.octets.len()).filter(|missing| *missing > 0)?;
            self.octets.splice(at..at, std::iter::repeat_n(0, missing));
        }
        (self.octets.len() == 16).then_some(self.octets)
    }
}
