//! `numeric` in binary: digits to the base of 10,000, the weight of the first, the sign, and how many decimals are shown.

use num_bigint::{BigInt, Sign};

use super::read::{Input, invalid};
use crate::Result;
use crate::types::Numeric;

const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xC000;
const INFINITY: u16 = 0xD000;
const NEGATIVE_INFINITY: u16 = 0xF000;
/// What PostgreSQL writes with infinity, for it keeps that in the bits of a scale.
const INFINITE_SCALE: u16 = 0x20;
/// Bits that a scale may have.
const SCALE_MASK: u16 = 0x3FFF;
/// Decimal digits of one digit.
const WIDTH: usize = 4;

pub(super) fn write_numeric(value: &Numeric, out: &mut Vec<u8>) {
    let Some((mantissa, scale)) = value.to_big() else {
        let (sign, scale) = match value.signum() {
            _ if value.is_nan() => (NAN, 0),
            1 => (INFINITY, INFINITE_SCALE),
            _ => (NEGATIVE_INFINITY, INFINITE_SCALE),
        };
        return write_parts(&[], 0, sign, scale, out);
    };
    let sign = if mantissa.sign() == Sign::Minus { NEGATIVE } else { 0 };
    let scale_digits = usize::from(scale);
    // Longer than a width in a format may be.
    let zeros = |count: usize| "0".repeat(count);
    let digits = mantissa.magnitude().to_string();
    let decimal = zeros((scale_digits + 1).saturating_sub(digits.len())) + &digits;
    let (whole, fraction) = decimal.split_at(decimal.len() - scale_digits);
    let before = whole.len().next_multiple_of(WIDTH);
    let behind = scale_digits.next_multiple_of(WIDTH);
    let padded = [&zeros(before - whole.len()), whole, fraction, &zeros(behind - fraction.len())].concat();
    let groups: Vec<u16> = padded
        .as_bytes()
        .chunks(WIDTH)
        .map(|group| group.iter().fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0')))
        .collect();
    let first = groups.iter().position(|digit| *digit != 0).unwrap_or(groups.len());
    let end = groups.iter().rposition(|digit| *digit != 0).map_or(first, |last| last + 1);
    let digits = &groups[first..end];
    let weight = if digits.is_empty() { 0 } else { (before / WIDTH) as i64 - 1 - first as i64 };
    write_parts(digits, i16::try_from(weight).unwrap_or(i16::MAX), sign, scale, out);
}

fn write_parts(digits: &[u16], weight: i16, sign: u16, scale: u16, out: &mut Vec<u8>) {
    out.extend((digits.len() as u16).to_be_bytes());
    out.extend(weight.to_be_bytes());
    out.extend(sign.to_be_bytes());
    out.extend(scale.to_be_bytes());
    digits.iter().for_each(|digit| out.extend(digit.to_be_bytes()));
}

/// SQLSTATE 22P03.
pub(super) fn read_numeric(input: &mut Input<'_>) -> Result<Numeric> {
    let count = usize::from(u16::from_be_bytes(input.array()?));
    let weight = i64::from(i16::from_be_bytes(input.array()?));
    let sign = u16::from_be_bytes(input.array()?);
    if !matches!(sign, 0 | NEGATIVE | NAN | INFINITY | NEGATIVE_INFINITY) {
        return Err(invalid("invalid sign in external \"numeric\" value"));
    }
    let scale = u16::from_be_bytes(input.array()?);
    if scale & SCALE_MASK != scale {
        return Err(invalid("invalid scale in external \"numeric\" value"));
    }
    let mut decimal = String::new();
    for _ in 0..count {
        let digit = u16::from_be_bytes(input.array()?);
        if digit > 9999 {
            return Err(invalid("invalid digit in external \"numeric\" value"));
        }
        decimal.push_str(&format!("{digit:0WIDTH$}"));
    }
    match sign {
        NAN => return Ok(Numeric::NAN),
        INFINITY => return Ok(Numeric::INFINITY),
        NEGATIVE_INFINITY => return Ok(Numeric::NEGATIVE_INFINITY),
        _ => {}
    }
    // The digits, moved to where the last of them is the last decimal that is shown: what is behind it is cut off.
    let moved = (weight + 1 - count as i64) * WIDTH as i64 + i64::from(scale);
    match usize::try_from(moved) {
        Ok(zeros) if !decimal.is_empty() => decimal.extend(std::iter::repeat_n('0', zeros)),
        Ok(_) => {}
        Err(_) => decimal.truncate(decimal.len().saturating_sub(moved.unsigned_abs() as usize)),
    }
    let magnitude = BigInt::parse_bytes(decimal.as_bytes(), 10).unwrap_or_default();
    Numeric::from_big(if sign == NEGATIVE { -magnitude } else { magnitude }, scale).checked()
}
