//! `format`, quoting, hexadecimal, `encode`, `decode`, `md5`.

use cairn_parser::token::quoted;

use super::ANY;
use super::catalogue::Catalogue;
use super::digest::md5_hex;
use super::support::{call, check_length, invalid_parameter, wrong_arguments};
use crate::types::text::{parse_escaped, parse_hex, write_hex};
use crate::types::{DataType, EvalContext, Value, cast, to_text};
use crate::{Error, Result, SqlState};

const TEXT: DataType = DataType::Text;

pub(super) fn register(catalogue: &mut Catalogue) {
    catalogue.add("quote_ident", &[TEXT], TEXT, call!((Text a) Ok(Value::from(quoted(a))))).bounded();
    catalogue.add("quote_literal", &[TEXT], TEXT, call!((Text a) Ok(Value::from(quote_literal(a))))).bounded();
    catalogue.add("quote_nullable", &[TEXT], TEXT, quote_nullable).bounded().called_on_null();
    for name in ["quote_literal", "quote_nullable"] {
        // Blanks that only fill it up are none of its text.
        let unpadded = call!((Text a) Ok(Value::from(quote_literal(a.trim_end_matches(' ')))));
        catalogue.add(name, &[DataType::Char(0)], TEXT, unpadded).bounded();
    }
    catalogue.add("quote_literal", &[ANY], TEXT, quote_nullable).bounded().stable();
    catalogue.add("quote_nullable", &[ANY], TEXT, quote_nullable).bounded().called_on_null().stable();
    catalogue.add("format", &[TEXT], TEXT, format).called_on_null().stable_in_name();
    catalogue.add("format", &[TEXT, ANY], TEXT, format).variadic().without_array().called_on_null().stable();
    catalogue.add("to_hex", &[DataType::Integer], TEXT, call!((Integer n) Ok(Value::from(format!("{n:x}"))))).bounded();
    catalogue.add("to_hex", &[DataType::BigInt], TEXT, call!((BigInt n) Ok(Value::from(format!("{n:x}"))))).bounded();
    catalogue.add("md5", &[TEXT], TEXT, call!((Text a) Ok(Value::from(md5_hex(a.as_bytes()))))).bounded().leakproof();
    catalogue.add("md5", &[DataType::Bytea], TEXT, call!((Bytea a) Ok(Value::from(md5_hex(a))))).bounded().leakproof();
    catalogue.add("encode", &[DataType::Bytea, TEXT], TEXT, call!((Bytea a, Text form) encode(a, form))).bounded();
    catalogue.add("decode", &[TEXT, TEXT], DataType::Bytea, call!((Text a, Text form) decode(a, form))).bounded();
}

/// A string as an SQL literal.
pub fn quote_literal(value: &str) -> String {
    let quoted = value.replace('\'', "''");
    if quoted.contains('\\') { format!("E'{}'", quoted.replace('\\', "\\\\")) } else { format!("'{quoted}'") }
}

fn quote_nullable(args: &[Value], context: &EvalContext) -> Result<Value> {
    Ok(match args {
        [Value::Text(text)] => Value::from(quote_literal(text)),
        [Value::Null] => Value::text("NULL"),
        [value] => match cast(value, DataType::Unknown, DataType::Text, context)? {
            Value::Text(text) => Value::from(quote_literal(&text)),
            _ => return Err(wrong_arguments(args)),
        },
        _ => return Err(wrong_arguments(args)),
    })
}

/// `%s`, `%I`, `%L`, `%%`, with `n$` positions, `-` and widths, which `*` and `*n$` take from an argument.
fn format(args: &[Value], context: &EvalContext) -> Result<Value> {
    let Some((pattern, args)) = args.split_first() else { return Err(wrong_arguments(args)) };
    let Value::Text(pattern) = pattern else { return Ok(Value::Null) };
    let mut out = String::new();
    let mut rest: &str = pattern;
    let mut next = 0;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let (specifier, after) = Specifier::parse(&rest[at + 1..])?;
        rest = after;
        if specifier.kind == '%' {
            out.push('%');
            continue;
        }
        let mut take = |position: Option<usize>| {
            let index = position.unwrap_or(next);
            next = index + 1;
            args.get(index).ok_or_else(|| invalid_parameter("too few arguments for format()"))
        };
        let width = match specifier.width {
            Width::Written(width) => width,
            Width::Argument(position) => width_of(take(position)?, context)?,
        };
        let arg = take(specifier.position)?;
        check_length(width.unsigned_abs() as usize)?;
        specifier.write(arg, width, context, &mut out)?;
        check_length(out.len())?;
    }
    out.push_str(rest);
    Ok(Value::from(out))
}

struct Specifier {
    /// 0-based.
    position: Option<usize>,
    left: bool,
    width: Width,
    kind: char,
}

/// Negative: to the left.
#[derive(Clone, Copy)]
enum Width {
    Written(i32),
    /// The argument of this position, 0-based, or the next.
    Argument(Option<usize>),
}

/// The number that an argument gives as a width.
fn width_of(arg: &Value, context: &EvalContext) -> Result<i32> {
    match arg {
        Value::Null => Ok(0),
        Value::SmallInt(width) => Ok((*width).into()),
        Value::Integer(width) => Ok(*width),
        other => match cast(&Value::text(to_text(other, context)), DataType::Text, DataType::Integer, context)? {
            Value::Integer(width) => Ok(width),
            _ => Ok(0),
        },
    }
}

impl Specifier {
    /// Parses what follows `%`.
    fn parse(text: &str) -> Result<(Specifier, &str)> {
        let number = |text: &str| -> Result<(Option<i32>, usize)> {
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            match (end, text[..end].parse()) {
                (0, _) => Ok((None, 0)),
                (end, Ok(number)) => Ok((Some(number), end)),
                _ => Err(Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "number is out of range")),
            }
        };
        let position = |number: i32| match number {
            0 => Err(invalid_parameter("format specifies argument 0, but arguments are numbered from 1")),
            number => Ok(number as usize - 1),
        };
        let mut specifier = Specifier { position: None, left: false, width: Width::Written(0), kind: '%' };
        if let Some(after) = text.strip_prefix('%') {
            return Ok((specifier, after));
        }
        let mut rest = text;
        let (count, end) = number(rest)?;
        if let (Some(count), true) = (count, rest[end..].starts_with('$')) {
            specifier.position = Some(position(count)?);
            rest = &rest[end + 1..];
        }
        while let Some(after) = rest.strip_prefix('-') {
            specifier.left = true;
            rest = after;
        }
        if let Some(after) = rest.strip_prefix('*') {
            let (count, end) = number(after)?;
            rest = &after[end..];
            specifier.width = Width::Argument(match count {
                Some(count) => {
                    rest = rest
                        .strip_prefix('$')
                        .ok_or_else(|| invalid_parameter("width argument position must be ended by \"$\""))?;
                    Some(position(count)?)
                }
                None => None,
            });
        } else {
            let (width, end) = number(rest)?;
            specifier.width = Width::Written(width.unwrap_or(0));
            rest = &rest[end..];
        }
        let kind = rest.chars().next().ok_or_else(|| {
            invalid_parameter("unterminated format() type specifier").with_hint("For a single \"%\" use \"%%\".")
        })?;
        if !matches!(kind, 's' | 'I' | 'L') {
            return Err(invalid_parameter(format!("unrecognized format() type specifier \"{kind}\""))
                .with_hint("For a single \"%\" use \"%%\"."));
        }
        specifier.kind = kind;
        Ok((specifier, &rest[kind.len_utf8()..]))
    }

    fn write(&self, arg: &Value, width: i32, context: &EvalContext, out: &mut String) -> Result<()> {
        let text = match (self.kind, arg.is_null()) {
            ('I', true) => {
                return Err(crate::Error::new(
                    crate::SqlState::NULL_VALUE_NOT_ALLOWED,
                    "null values cannot be formatted as an SQL identifier",
                ));
            }
            ('L', true) => "NULL".to_string(),
            ('I', false) => quoted(&to_text(arg, context)),
            ('L', false) => quote_literal(&to_text(arg, context)),
            _ => to_text(arg, context),
        };
        let missing = (width.unsigned_abs() as usize).saturating_sub(text.chars().count());
        let blanks = " ".repeat(missing);
        if self.left || width < 0 {
            out.push_str(&text);
            out.push_str(&blanks);
        } else {
            out.push_str(&blanks);
            out.push_str(&text);
        }
        Ok(())
    }
}

fn unrecognized(form: &str) -> crate::Error {
    invalid_parameter(format!("unrecognized encoding: \"{form}\""))
}

fn encode(bytes: &[u8], form: &str) -> Result<Value> {
    let mut out = String::new();
    match form.to_ascii_lowercase().as_str() {
        "hex" => write_hex(bytes, &mut out),
        "base64" => write_base64(bytes, &mut out),
        "escape" => write_escaped(bytes, &mut out),
        _ => return Err(unrecognized(form)),
    }
    Ok(Value::from(out))
}

fn decode(text: &str, form: &str) -> Result<Value> {
    let bytes = match form.to_ascii_lowercase().as_str() {
        "hex" => parse_hex(text)?,
        "base64" => parse_base64(text)?,
        "escape" => parse_escaped(text)?,
        _ => return Err(unrecognized(form)),
    };
    Ok(Value::Bytea(bytes.into()))
}

fn write_escaped(bytes: &[u8], out: &mut String) {
    for &byte in bytes {
        match byte {
            b'\\' => out.push_str("\\\\"),
            0 | 0x80.. => out.push_str(&format!("\\{byte:03o}")),
            _ => out.push(byte.into()),
        }
    }
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// In lines of 76 characters, as MIME and PostgreSQL have it.
fn write_base64(bytes: &[u8], out: &mut String) {
    for (index, chunk) in bytes.chunks(3).enumerate() {
        if index > 0 && index % 19 == 0 {
            out.push('\n');
        }
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for sextet in 0..4 {
            let digit = BASE64[(group >> (18 - 6 * sextet) & 63) as usize];
            out.push(if sextet <= chunk.len() { digit.into() } else { '=' });
        }
    }
}

fn parse_base64(text: &str) -> Result<Vec<u8>> {
    let (mut bytes, mut group, mut count) = (Vec::new(), 0_u32, 0);
    let mut padding = 0;
    for c in text.chars().filter(|c| !c.is_ascii_whitespace()) {
        if c == '=' {
            padding += 1;
            continue;
        }
        let digit = BASE64.iter().position(|&digit| char::from(digit) == c).filter(|_| padding == 0);
        let digit = digit
            .ok_or_else(|| invalid_parameter(format!("invalid symbol \"{c}\" found while decoding base64 sequence")))?;
        group = group << 6 | digit as u32;
        count += 1;
        if count == 4 {
            bytes.extend_from_slice(&group.to_be_bytes()[1..]);
            (group, count) = (0, 0);
        }
    }
    match (count, padding) {
        (0, 0) => {}
        (2, 2) => bytes.push((group >> 4) as u8),
        (3, 1) => bytes.extend_from_slice(&[(group >> 10) as u8, (group >> 2) as u8]),
        _ => {
            return Err(invalid_parameter("invalid base64 end sequence")
                .with_hint("Input data is missing padding, is truncated, or is otherwise corrupted."));
        }
    }
    Ok(bytes)
}
