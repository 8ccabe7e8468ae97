//! `numeric` in binary: digits to the base of 10,000, the weight of the first, the sign, and how many decimals are shown.

use num_bigint::{BigInt, Sign};

use super::read::{Input, invalid};
use crate::Result;
use crate::types::{Numeric, NumericRef};

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
const BASE: u64 = 10_000;

/// How many digits a mantissa of 64 bits and three zeros have at most.
const DIGITS_MAX: usize = 6;

pub(super) fn write_numeric(value: NumericRef<'_>, out: &mut Vec<u8>) {
    match value {
        NumericRef::Small { mantissa, scale } => write_small(mantissa, scale, out),
        _ => write_any(&value.to_cow(), out),
    }
}

/// By arithmetic, without its decimal digits.
fn write_small(mantissa: i64, scale: u16, out: &mut Vec<u8>) {
    // Digits end with the last decimal, or up to three zeros behind it.
    let missing = u32::from(scale).next_multiple_of(WIDTH as u32) - u32::from(scale);
    let mut left = u128::from(mantissa.unsigned_abs()) * 10_u128.pow(missing);
    let (mut digits, mut start, mut behind) = ([0; DIGITS_MAX], DIGITS_MAX, 0);
    while left > 0 {
        // Most have become short enough for the machine's own division.
        let digit = match u64::try_from(left) {
            Ok(few) => {
                left = (few / BASE).into();
                (few % BASE) as u16
            }
            Err(_) => {
                let digit = (left % u128::from(BASE)) as u16;
                left /= u128::from(BASE);
                digit
            }
        };
        if digit == 0 && start == DIGITS_MAX {
            behind += 1;
            continue;
        }
        start -= 1;
        digits[start] = digit;
    }
    let digits = &digits[start..];
    let fraction = usize::from(scale).div_ceil(WIDTH) as i64;
    let weight = if digits.is_empty() { 0 } else { digits.len() as i64 + behind - fraction - 1 };
    let sign = if mantissa < 0 { NEGATIVE } else { 0 };
    write_parts(digits, i16::try_from(weight).unwrap_or(i16::MAX), sign, scale, out);
}

fn write_any(value: &Numeric, out: &mut Vec<u8>) {
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
    let head = [digits.len() as u16, weight.cast_unsigned(), sign, scale];
    out.reserve((head.len() + digits.len()) * size_of::<u16>());
    head.iter().chain(digits).for_each(|part| out.extend_from_slice(&part.to_be_bytes()));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_gives_the_digits_that_text_gives() {
        for mantissa in [0, 1, -1, 9_999, 10_000, 1_000_000, 12_345_600_000, -987_654_321, i64::MAX, i64::MIN] {
            for scale in (0..24).chain([40, 16_383]) {
                let (mut quick, mut slow) = (Vec::new(), Vec::new());
                write_small(mantissa, scale, &mut quick);
                write_any(&Numeric::small(mantissa, scale), &mut slow);
                assert_eq!(quick, slow, "{mantissa} {scale}");
            }
        }
    }
}
