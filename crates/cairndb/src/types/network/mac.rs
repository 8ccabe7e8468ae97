//! Addresses of network cards: `macaddr` of six bytes, `macaddr8` of eight.

use super::super::text::{invalid, write_hex};
use crate::{Error, Result, SqlState};

/// Which bytes in the middle make eight of six.
const WIDENED: [u8; 2] = [0xff, 0xfe];

/// How six bytes may be written: which character stands behind each but the last (none where they stand together), and whether a byte
/// has two digits at most.
const FORMS: [([Option<u8>; 5], bool); 7] = {
    const NO: Option<u8> = None;
    const COLON: Option<u8> = Some(b':');
    const HYPHEN: Option<u8> = Some(b'-');
    const DOT: Option<u8> = Some(b'.');
    [
        ([COLON; 5], false),
        ([HYPHEN; 5], false),
        ([NO, NO, COLON, NO, NO], true),
        ([NO, NO, HYPHEN, NO, NO], true),
        ([NO, DOT, NO, DOT, NO], true),
        ([NO, HYPHEN, NO, HYPHEN, NO], true),
        ([NO; 5], true),
    ]
};

/// SQLSTATE 22003, 22P02.
pub(in crate::types) fn parse_mac(text: &str) -> Result<[u8; 6]> {
    let found = FORMS.iter().find_map(|(between, two)| numbers(text.as_bytes(), between, *two));
    let mut bytes = [0; 6];
    for (byte, number) in bytes.iter_mut().zip(found.ok_or_else(|| invalid(text, "macaddr"))?) {
        *byte = u8::try_from(number).map_err(|_| {
            let message = format!("invalid octet value in \"macaddr\" value: \"{text}\"");
            Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message)
        })?;
    }
    Ok(bytes)
}

/// Six hexadecimal numbers, each with what C's `scanf` lets stand before it.
fn numbers(text: &[u8], between: &[Option<u8>; 5], two: bool) -> Option<[i64; 6]> {
    let (mut rest, mut numbers) = (text, [0; 6]);
    for (nth, number) in numbers.iter_mut().enumerate() {
        if let Some(Some(separator)) = nth.checked_sub(1).map(|nth| between[nth]) {
            rest = rest.strip_prefix(&[separator])?;
        }
        (*number, rest) = scanned(rest.trim_ascii_start(), two)?;
    }
    rest.trim_ascii_start().is_empty().then_some(numbers)
}

fn scanned(text: &[u8], two: bool) -> Option<(i64, &[u8])> {
    let width = if two { text.len().min(2) } else { text.len() };
    let (field, _) = text.split_at(width);
    let (is_negative, unsigned) = match field {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, field),
    };
    let digits = match unsigned {
        [b'0', b'x' | b'X', rest @ ..] if !two => rest,
        _ => unsigned,
    };
    let count = digits.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let digit = |byte: &u8| i64::from(char::from(*byte).to_digit(16).unwrap_or(0));
    // (What is more than a byte is too much, however much it is.)
    let number = digits[..count].iter().fold(0, |number: i64, byte| (number << 4 | digit(byte)).min(0xffff));
    let behind = width - digits.len() + count;
    (count > 0).then_some((if is_negative { -number } else { number }, &text[behind..]))
}

/// Six or eight bytes of two digits each, all with the same between them, or nothing. SQLSTATE 22P02.
pub(in crate::types) fn parse_mac8(text: &str) -> Result<[u8; 8]> {
    let refused = || invalid(text, "macaddr8");
    let mut rest = text.as_bytes().trim_ascii_start();
    let (mut bytes, mut spacer) = (Vec::with_capacity(8), None);
    while let [first, second, behind @ ..] = rest {
        let digit = |byte: u8| char::from(byte).to_digit(16).ok_or_else(refused);
        bytes.push((digit(*first)? << 4 | digit(*second)?) as u8);
        rest = behind;
        if let [between @ (b':' | b'-' | b'.'), behind @ ..] = rest {
            if *spacer.get_or_insert(*between) != *between {
                return Err(refused());
            }
            rest = behind;
        }
        if matches!(bytes.len(), 6 | 8) && rest.first().is_some_and(u8::is_ascii_whitespace) {
            rest = rest.trim_ascii_start();
            if !rest.is_empty() {
                return Err(refused());
            }
        }
        if bytes.len() > 8 {
            return Err(refused());
        }
    }
    // (One character that is left over is not looked at.)
    let six: std::result::Result<[u8; 6], _> = bytes.as_slice().try_into();
    match six {
        Ok(six) => Ok(mac8_of_mac(six)),
        Err(_) => bytes.try_into().map_err(|_| refused()),
    }
}

pub(in crate::types) fn mac8_of_mac([a, b, c, d, e, f]: [u8; 6]) -> [u8; 8] {
    let [middle, behind] = WIDENED;
    [a, b, c, middle, behind, d, e, f]
}

/// SQLSTATE 22003.
pub(in crate::types) fn mac_of_mac8([a, b, c, middle, behind, d, e, f]: [u8; 8]) -> Result<[u8; 6]> {
    if [middle, behind] != WIDENED {
        let hint = "Only addresses that have FF and FE as values in the 4th and 5th bytes from the left, for example \
                    xx:xx:xx:ff:fe:xx:xx:xx, are eligible to be converted from macaddr8 to macaddr.";
        let message = "macaddr8 data out of range to convert to macaddr";
        return Err(Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message).with_hint(hint));
    }
    Ok([a, b, c, d, e, f])
}

pub(in crate::types) fn write_mac(bytes: &[u8], out: &mut String) {
    for (at, byte) in bytes.iter().enumerate() {
        if at > 0 {
            out.push(':');
        }
        write_hex(&[*byte], out);
    }
}
