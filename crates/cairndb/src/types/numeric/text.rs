//! `numeric` as text and as machine numbers.

use std::fmt;

use num_bigint::BigInt;

use super::arith::{INTEGER_DIGITS_MAX, Wide, overflow};
use super::repr::Repr;
use super::{Numeric, SCALE_MAX};
use crate::types::text::Short;
use crate::{Error, Result, SqlState};

impl Numeric {
    /// Reads PostgreSQL's text form: digits with an optional point and exponent, `NaN`, `Infinity`.
    pub fn parse(text: &str) -> Result<Numeric> {
        let trimmed = text.trim_matches(|c: char| c.is_ascii_whitespace());
        parse_special(trimmed).map_or_else(|| parse_finite(trimmed, text), Ok)
    }

    /// The nearest whole number, halves away from zero; `None` where it is no `i64`.
    pub fn to_i64(&self) -> Option<i64> {
        self.round(0).as_small().map(|(mantissa, _)| mantissa)
    }

    /// The nearest `f64`; beyond its range an infinity.
    pub fn to_f64(&self) -> f64 {
        match &self.0 {
            // Both operands exact: the quotient is correctly rounded.
            Repr::Small { mantissa, scale } if mantissa.unsigned_abs() < 1 << 53 && *scale <= 22 => {
                *mantissa as f64 / 10_f64.powi((*scale).into())
            }
            Repr::NaN => f64::NAN,
            Repr::Infinity => f64::INFINITY,
            Repr::NegativeInfinity => f64::NEG_INFINITY,
            _ => self.to_string().parse().unwrap_or(f64::NAN),
        }
    }

    /// A `double precision` as `numeric`: 15 significant digits, as PostgreSQL converts.
    ///
    /// ```
    /// use cairndb::Numeric;
    ///
    /// assert_eq!(Numeric::from_f64(0.1).to_string(), "0.1");
    /// assert_eq!(Numeric::from_f32(1.5), Numeric::small(15, 1));
    /// ```
    pub fn from_f64(value: f64) -> Numeric {
        Numeric::from_float(value, 15)
    }

    /// A `real` as `numeric`: 6 significant digits.
    pub fn from_f32(value: f32) -> Numeric {
        Numeric::from_float(value.into(), 6)
    }

    fn from_float(value: f64, digits: usize) -> Numeric {
        if !value.is_finite() {
            return if value.is_nan() { Numeric::NAN } else { Numeric::infinity_of(value.signum() as i32) };
        }
        let text = format!("{value:.*e}", digits - 1);
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
        parse_finite(&format!("{mantissa}e{exponent}"), &text).unwrap_or(Numeric::NAN)
    }
}

fn parse_special(text: &str) -> Option<Numeric> {
    let is_one_of = |names: &[&str]| names.iter().any(|name| text.eq_ignore_ascii_case(name));
    match () {
        () if is_one_of(&["nan"]) => Some(Numeric::NAN),
        () if is_one_of(&["infinity", "+infinity", "inf", "+inf"]) => Some(Numeric::INFINITY),
        () if is_one_of(&["-infinity", "-inf"]) => Some(Numeric::NEGATIVE_INFINITY),
        () => None,
    }
}

/// `original` is for the error message.
fn parse_finite(text: &str, original: &str) -> Result<Numeric> {
    let invalid = || {
        let message = format!("invalid input syntax for type numeric: \"{original}\"");
        Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
    };
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let (digits, exponent) = match digits.find(['e', 'E']) {
        Some(at) => (&digits[..at], parse_exponent(&digits[at + 1..]).ok_or_else(invalid)??),
        None => (digits, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !all_digits(whole) || !all_digits(fraction) {
        return Err(invalid());
    }
    assemble(negative, whole, fraction, exponent)
}

/// `None`: not an exponent. The inner error: one too large to make a value with.
fn parse_exponent(text: &str) -> Option<Result<i64>> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let value = text.parse::<i64>().ok().filter(|value| value.abs() < i64::from(i32::MAX / 2));
    Some(value.ok_or_else(overflow))
}

fn assemble(negative: bool, whole: &str, fraction: &str, exponent: i64) -> Result<Numeric> {
    let whole = whole.trim_start_matches('0');
    let scale = fraction.len() as i64 - exponent;
    if whole.len() + fraction.len() <= 18 && (0..=i64::from(SCALE_MAX)).contains(&scale) {
        let digits = whole.bytes().chain(fraction.bytes());
        let mantissa = digits.fold(0_i64, |mantissa, digit| mantissa * 10 + i64::from(digit - b'0'));
        return Ok(Numeric::small(if negative { -mantissa } else { mantissa }, scale as u16));
    }
    let text = format!("{}{whole}{fraction}", if negative { "-" } else { "" });
    let mantissa = if text == "-" || text.is_empty() { BigInt::ZERO } else { parse_digits(&text)? };
    let is_zero = mantissa == BigInt::ZERO;
    if !is_zero && (whole.len() as i64 + exponent > INTEGER_DIGITS_MAX) || scale > i64::from(SCALE_MAX) {
        return Err(overflow());
    }
    let mantissa = if is_zero { Wide { mantissa, scale: 0 } } else { Wide { mantissa, scale } };
    mantissa.rounded(scale.max(0)).checked()
}

fn parse_digits(text: &str) -> Result<BigInt> {
    if text.len() as i64 > INTEGER_DIGITS_MAX + i64::from(SCALE_MAX) + 1 {
        return Err(overflow());
    }
    text.parse().map_err(|_| overflow())
}

impl Numeric {
    /// Writes it as it is shown.
    ///
    /// ```
    /// let mut text = String::new();
    /// cairndb::Numeric::small(150, 2).write_text(&mut text).expect("a String takes everything");
    /// assert_eq!(text, "1.50");
    /// ```
    pub fn write_text(&self, f: &mut impl fmt::Write) -> fmt::Result {
        match &self.0 {
            Repr::NaN => f.write_str("NaN"),
            Repr::Infinity => f.write_str("Infinity"),
            Repr::NegativeInfinity => f.write_str("-Infinity"),
            Repr::Small { mantissa, scale } if *scale <= Short::SCALE_MAX => {
                Short::shown(|short| short.decimal(*mantissa, *scale), |text, ()| f.write_str(text))
            }
            Repr::Small { mantissa, scale } => {
                write_scaled(f, *mantissa < 0, &mantissa.unsigned_abs().to_string(), *scale)
            }
            Repr::Big(big) => write_scaled(f, self.signum() < 0, &big.mantissa.magnitude().to_string(), big.scale),
        }
    }
}

impl fmt::Display for Numeric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_text(f)
    }
}

/// Written piece by piece: the formatting machinery takes longer than the digits.
fn write_scaled(out: &mut impl fmt::Write, negative: bool, digits: &str, scale: u16) -> fmt::Result {
    if negative {
        out.write_char('-')?;
    }
    if scale == 0 {
        return out.write_str(digits);
    }
    let (whole, fraction) = digits.split_at(digits.len().saturating_sub(scale.into()));
    out.write_str(if whole.is_empty() { "0" } else { whole })?;
    out.write_char('.')?;
    for _ in fraction.len()..scale.into() {
        out.write_char('0')?;
    }
    out.write_str(fraction)
}
