//! Floats as text: the shortest digits that read back the same, in PostgreSQL's notation.

use std::fmt::Write;

use crate::types::TextStyle;
use crate::{Error, Result, SqlState};

/// Appends a `double precision`.
pub fn write_double(value: f64, style: TextStyle, out: &mut String) {
    if let Some(special) = special_name(value) {
        return out.push_str(special);
    }
    match style.float_digits.significant(15) {
        None => write_shortest(&format!("{value:e}"), 15, out),
        Some(digits) => write_rounded(&format!("{value:.*e}", digits - 1), digits, out),
    }
}

/// Appends a `real`.
pub fn write_real(value: f32, style: TextStyle, out: &mut String) {
    if let Some(special) = special_name(value.into()) {
        return out.push_str(special);
    }
    match style.float_digits.significant(6) {
        None => write_shortest(&format!("{value:e}"), 6, out),
        Some(digits) => write_rounded(&format!("{value:.*e}", digits - 1), digits, out),
    }
}

/// C's `%g` of so many digits: without the zeros behind the last other one.
fn write_rounded(scientific: &str, digits: usize, out: &mut String) {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let mantissa = match mantissa.contains('.') {
        true => mantissa.trim_end_matches('0').trim_end_matches('.'),
        false => mantissa,
    };
    write_shortest(&format!("{mantissa}e{exponent}"), i32::try_from(digits).unwrap_or(i32::MAX), out);
}

fn special_name(value: f64) -> Option<&'static str> {
    if value.is_nan() {
        Some("NaN")
    } else if value.is_infinite() {
        Some(if value > 0.0 { "Infinity" } else { "-Infinity" })
    } else {
        None
    }
}

/// `scientific` is Rust's `-1.25e-7`; from `digits` digits before the point, or five zeros after it, it stays so.
fn write_shortest(scientific: &str, digits: i32, out: &mut String) {
    let (sign, unsigned) = match scientific.strip_prefix('-') {
        Some(unsigned) => ("-", unsigned),
        None => ("", scientific),
    };
    let (mantissa, exponent) = unsigned.split_once('e').unwrap_or((unsigned, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    out.push_str(sign);
    if exponent < -4 || exponent >= digits {
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "{mantissa}e{sign}{:02}", exponent.abs());
        return;
    }
    let figures: String = mantissa.chars().filter(|c| *c != '.').collect();
    if exponent < 0 {
        let zeros = exponent.unsigned_abs() as usize - 1;
        let _ = write!(out, "0.{:0<zeros$}{figures}", "");
        return;
    }
    let whole = exponent as usize + 1;
    if figures.len() <= whole {
        let _ = write!(out, "{figures:0<whole$}");
    } else {
        let _ = write!(out, "{}.{}", &figures[..whole], &figures[whole..]);
    }
}

/// Reads a `double precision`.
pub fn parse_double(text: &str) -> Result<f64> {
    let trimmed = checked(text, "double precision")?;
    let value: f64 = trimmed.parse().map_err(|_| invalid(text, "double precision"))?;
    if lost(trimmed, value.is_infinite(), value == 0.0) {
        return Err(out_of_range(trimmed, "double precision"));
    }
    Ok(value)
}

/// Reads a `real`.
pub fn parse_real(text: &str) -> Result<f32> {
    let trimmed = checked(text, "real")?;
    let value: f32 = trimmed.parse().map_err(|_| invalid(text, "real"))?;
    if lost(trimmed, value.is_infinite(), value == 0.0) {
        return Err(out_of_range(trimmed, "real"));
    }
    Ok(value)
}

fn checked<'a>(text: &'a str, type_name: &str) -> Result<&'a str> {
    let trimmed = text.trim_matches(|c: char| c.is_ascii_whitespace());
    if trimmed.is_empty() { Err(invalid(text, type_name)) } else { Ok(trimmed) }
}

/// A finite text became infinite, or one that is not zero became zero.
fn lost(text: &str, is_infinite: bool, is_zero: bool) -> bool {
    let mantissa = text.split(['e', 'E']).next().unwrap_or("");
    is_infinite && text.contains(|c: char| c.is_ascii_digit())
        || is_zero && mantissa.contains(|c: char| ('1'..='9').contains(&c))
}

fn invalid(text: &str, type_name: &str) -> Error {
    let message = format!("invalid input syntax for type {type_name}: \"{text}\"");
    Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
}

fn out_of_range(text: &str, type_name: &str) -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("\"{text}\" is out of range for type {type_name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_look_as_postgresql_shows_them() {
        let cases = [
            (0.1, "0.1"),
            (-0.0, "-0"),
            (1e14, "100000000000000"),
            (1e15, "1e+15"),
            (123456789012345.6, "123456789012345.6"),
            (1e-4, "0.0001"),
            (1.5e-5, "1.5e-05"),
            (1e100, "1e+100"),
            (f64::NEG_INFINITY, "-Infinity"),
            (1.0 / 3.0, "0.3333333333333333"),
        ];
        for (value, expected) in cases {
            let mut out = String::new();
            write_double(value, TextStyle::default(), &mut out);
            assert_eq!(out, expected);
            assert_eq!(parse_double(&out).unwrap().to_bits(), value.to_bits());
        }
        let mut out = String::new();
        write_real(1234567.0, TextStyle::default(), &mut out);
        assert_eq!(out, "1.234567e+06");
    }

    #[test]
    fn what_does_not_fit_is_out_of_range() {
        assert_eq!(parse_double("1e400").unwrap_err().message(), "\"1e400\" is out of range for type double precision");
        assert_eq!(parse_double("1e-400").unwrap_err().sqlstate().0, "22003");
        assert_eq!(parse_real("1e40").unwrap_err().message(), "\"1e40\" is out of range for type real");
        assert_eq!(parse_double(" x").unwrap_err().message(), "invalid input syntax for type double precision: \" x\"");
        assert!(parse_double("0e-999").is_ok() && parse_double("-Infinity").is_ok());
    }
}
