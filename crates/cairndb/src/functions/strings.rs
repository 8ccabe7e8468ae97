//! String functions. Positions and lengths count characters.

use super::beginning::PatternKind;
use super::catalogue::Catalogue;
use super::support::{call, check_length, invalid_parameter};
use super::{ANY, Declared, Function, Operator};
use crate::types::{DataType, EvalContext, Value, compare_blank_padded, lower, to_text};
use crate::{Error, Result, SqlState};

const TEXT: DataType = DataType::Text;
const INT: DataType = DataType::Integer;

pub(super) fn register(catalogue: &mut Catalogue) {
    concatenation(catalogue);
    lengths(catalogue);
    cases(catalogue);
    parts(catalogue);
    trims(catalogue);
    replacements(catalogue);
}

fn text(value: impl Into<Box<str>>) -> Result<Value> {
    Ok(Value::text(value))
}

fn concatenation(catalogue: &mut Catalogue) {
    catalogue.add("||", &[TEXT, TEXT], TEXT, call!((Text a, Text b) join(a, b))).bounded().op(Operator::Concat);
    let (text, other) = (Declared::Type(TEXT), Declared::NonArray);
    let with_text = |_: &Function, args: &[Value], context: &EvalContext| concat_any(args, context);
    catalogue.add_polymorphic("||", &[text, other], text, with_text).bounded().op(Operator::Concat).stable();
    catalogue.add_polymorphic("||", &[other, text], text, with_text).bounded().op(Operator::Concat).stable();
    let bytes: &[DataType] = const { &[DataType::Bytea, DataType::Bytea] };
    catalogue
        .add(
            "||",
            bytes,
            DataType::Bytea,
            call!((Bytea a, Bytea b) {
                check_length(a.len() + b.len())?;
                Ok(Value::Bytea([&**a, &**b].concat().into()))
            }),
        )
        .bounded()
        .op(Operator::Concat);
    catalogue.add("concat", &[ANY], TEXT, concat).bounded().variadic().called_on_null().stable();
    catalogue.add("concat_ws", &[TEXT, ANY], TEXT, concat_ws).bounded().variadic().called_on_null().stable();
}

fn join(a: &str, b: &str) -> Result<Value> {
    check_length(a.len() + b.len())?;
    text([a, b].concat())
}

/// As a cast to text: booleans are spelled out, addresses tell their networks' bits.
fn cast_text(value: &Value, context: &EvalContext) -> String {
    match value {
        Value::Boolean(value) => value.to_string(),
        Value::Inet(value) | Value::Cidr(value) => value.to_whole(),
        other => to_text(other, context),
    }
}

fn concat_any(args: &[Value], context: &EvalContext) -> Result<Value> {
    let parts: Vec<String> = args.iter().map(|arg| cast_text(arg, context)).collect();
    text(parts.concat())
}

fn concat(args: &[Value], context: &EvalContext) -> Result<Value> {
    let mut out = String::new();
    for arg in args {
        crate::types::write_text(arg, context, &mut out);
        check_length(out.len())?;
    }
    text(out)
}

/// NULL only where the separator is; NULL arguments are passed over.
fn concat_ws(args: &[Value], context: &EvalContext) -> Result<Value> {
    let Some((Value::Text(separator), rest)) = args.split_first() else { return Ok(Value::Null) };
    let parts: Vec<String> = rest.iter().filter(|arg| !arg.is_null()).map(|arg| to_text(arg, context)).collect();
    check_length(parts.iter().map(|part| part.len() + separator.len()).sum())?;
    text(parts.join(separator))
}

fn lengths(catalogue: &mut Catalogue) {
    for name in ["length", "char_length", "character_length"] {
        catalogue.add(name, &[TEXT], INT, call!((Text a) size(a.chars().count()))).bounded();
        let padded: &[DataType] = const { &[DataType::Char(0)] };
        catalogue.add(name, padded, INT, call!((Text a) size(a.trim_end_matches(' ').chars().count()))).bounded();
    }
    let bytea: &[DataType] = const { &[DataType::Bytea] };
    catalogue.add("length", bytea, INT, call!((Bytea a) size(a.len()))).bounded();
    catalogue.add("octet_length", bytea, INT, call!((Bytea a) size(a.len()))).bounded();
    catalogue.add("octet_length", &[TEXT], INT, call!((Text a) size(a.len()))).bounded();
    catalogue.add("octet_length", const { &[DataType::Char(0)] }, INT, call!((Text a) size(a.len()))).bounded();
    catalogue.add("bit_length", &[TEXT], INT, call!((Text a) size(a.len() * 8))).bounded();
    catalogue.add("bit_length", bytea, INT, call!((Bytea a) size(a.len() * 8))).bounded();
    catalogue.add("ascii", &[TEXT], INT, call!((Text a) size(a.chars().next().map_or(0, |c| c as usize)))).bounded();
    catalogue.add("chr", &[INT], TEXT, call!((Integer code) chr(*code))).bounded();
}

fn size(chars: usize) -> Result<Value> {
    Ok(Value::Integer(i32::try_from(chars).unwrap_or(i32::MAX)))
}

fn chr(code: i32) -> Result<Value> {
    let refuse = |message: String| Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
    match u32::try_from(code) {
        Ok(0) => refuse("null character not permitted".to_string()),
        Err(_) => Err(invalid_parameter("character number must be positive")),
        Ok(code) => match char::from_u32(code) {
            Some(c) => text(c.to_string()),
            None if code > 0x10_ffff => refuse(format!("requested character too large for encoding: {code}")),
            None => refuse(format!("requested character not valid for encoding: {code}")),
        },
    }
}

fn cases(catalogue: &mut Catalogue) {
    catalogue.add("lower", &[TEXT], TEXT, call!((Text a) text(a.chars().map(lower).collect::<String>()))).bounded();
    catalogue.add("upper", &[TEXT], TEXT, call!((Text a) text(a.chars().map(upper).collect::<String>()))).bounded();
    catalogue.add("initcap", &[TEXT], TEXT, call!((Text a) text(initcap(a)))).bounded();
    catalogue.add("reverse", &[TEXT], TEXT, call!((Text a) text(a.chars().rev().collect::<String>()))).bounded();
    for (name, op) in [("~<~", 0), ("~<=~", 1), ("~>~", 2), ("~>=~", 3)] {
        let eval: super::catalogue::Eval = match op {
            0 => call!((Text a, Text b) Ok(Value::Boolean(a < b))),
            1 => call!((Text a, Text b) Ok(Value::Boolean(a <= b))),
            2 => call!((Text a, Text b) Ok(Value::Boolean(a > b))),
            _ => call!((Text a, Text b) Ok(Value::Boolean(a >= b))),
        };
        catalogue.add(name, &[TEXT, TEXT], DataType::Boolean, eval).bounded();
    }
    let padded: &[DataType] = const { &[DataType::Char(0), DataType::Char(0)] };
    catalogue.add(
        "bpcharcmp",
        padded,
        INT,
        call!((Text a, Text b) {
            Ok(Value::Integer(compare_blank_padded(a, b) as i32))
        }),
    );
}

/// Character by character, as the C library does it for PostgreSQL: `ß` has no single capital and stays.
pub(super) fn upper(c: char) -> char {
    let mut mapped = c.to_uppercase();
    if mapped.len() == 1 { mapped.next().unwrap_or(c) } else { c }
}

fn initcap(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut inside = false;
    for c in source.chars() {
        out.push(if inside { lower(c) } else { upper(c) });
        inside = c.is_alphanumeric();
    }
    out
}

fn parts(catalogue: &mut Catalogue) {
    for name in ["substring", "substr"] {
        catalogue
            .add(name, &[TEXT, INT], TEXT, call!((Text a, Integer start) substring(a, (*start).into(), None)))
            .bounded()
            .taking_characters();
        catalogue
            .add(
                name,
                &[TEXT, INT, INT],
                TEXT,
                call!((Text a, Integer start, Integer length) {
                    substring(a, (*start).into(), Some((*length).into()))
                }),
            )
            .bounded()
            .taking_characters();
        let bytes: &[DataType] = const { &[DataType::Bytea, INT, INT] };
        catalogue
            .add(
                name,
                bytes,
                DataType::Bytea,
                call!((Bytea a, Integer start, Integer length) {
                    let (from, to) = bounds((*start).into(), Some((*length).into()), a.len())?;
                    Ok(Value::Bytea(a[from..to].into()))
                }),
            )
            .bounded();
        let bytes: &[DataType] = const { &[DataType::Bytea, INT] };
        catalogue
            .add(
                name,
                bytes,
                DataType::Bytea,
                call!((Bytea a, Integer start) {
                    let (from, to) = bounds((*start).into(), None, a.len())?;
                    Ok(Value::Bytea(a[from..to].into()))
                }),
            )
            .bounded();
    }
    for name in ["strpos", "position"] {
        catalogue.add(name, &[TEXT, TEXT], INT, call!((Text a, Text part) position(a, part)));
    }
    catalogue.add("left", &[TEXT, INT], TEXT, call!((Text a, Integer n) text(left(a, (*n).into())))).bounded();
    catalogue.add("right", &[TEXT, INT], TEXT, call!((Text a, Integer n) text(right(a, (*n).into())))).bounded();
    catalogue.add(
        "split_part",
        &[TEXT, TEXT, INT],
        TEXT,
        call!((Text a, Text delimiter, Integer n) {
            split_part(a, delimiter, *n)
        }),
    );
    for name in ["starts_with", "^@"] {
        let starts_with = call!((Text a, Text prefix) Ok(Value::Boolean(a.starts_with(&**prefix))));
        catalogue
            .add(name, &[TEXT, TEXT], DataType::Boolean, starts_with)
            .bounded()
            .pattern(PatternKind::Beginning)
            .leakproof();
    }
}

/// The half-open range of a 1-based start and a length, within `size`.
fn bounds(start: i64, length: Option<i64>, size: usize) -> Result<(usize, usize)> {
    let end = match length {
        Some(length) if length < 0 => {
            return Err(Error::new(SqlState::SUBSTRING_ERROR, "negative substring length not allowed"));
        }
        Some(length) => start.saturating_add(length),
        None => i64::MAX,
    };
    let clamp = |at: i64| usize::try_from(at - 1).unwrap_or(0).min(size);
    Ok((clamp(start), clamp(end).max(clamp(start))))
}

fn substring(source: &str, start: i64, length: Option<i64>) -> Result<Value> {
    let (from, to) = bounds(start, length, source.len())?;
    text(String::from_utf8_lossy(characters(source.as_bytes(), from, to)).into_owned())
}

/// The characters of a text from one place to another.
pub(crate) fn characters(text: &[u8], from: usize, to: usize) -> &[u8] {
    let until = text.get(..to).unwrap_or(text);
    if until.is_ascii() {
        return until.get(from..).unwrap_or(&[]);
    }
    let mut begins = text.iter().enumerate().filter(|(_, byte)| **byte & 0xc0 != 0x80).map(|(at, _)| at);
    let start = begins.nth(from).unwrap_or(text.len());
    let end = if to > from { begins.nth(to - from - 1).unwrap_or(text.len()) } else { start };
    &text[start..end.max(start)]
}

/// Which characters a call of `substring` takes, by its other arguments; `None`: it is of another function, or fails.
pub(crate) fn substring_bounds(function: &Function, others: &[Value]) -> Option<(usize, usize)> {
    match others {
        _ if !function.takes_characters => None,
        [Value::Integer(start)] => bounds((*start).into(), None, usize::MAX).ok(),
        [Value::Integer(start), Value::Integer(length)] => {
            bounds((*start).into(), Some((*length).into()), usize::MAX).ok()
        }
        _ => None,
    }
}

pub(super) fn position(source: &str, part: &str) -> Result<Value> {
    size(source.find(part).map_or(0, |at| source[..at].chars().count() + 1))
}

/// The first `n` characters; without the last `-n` where negative.
fn left(source: &str, n: i64) -> String {
    let kept = if n < 0 { source.chars().count() as i64 + n } else { n };
    source.chars().take(usize::try_from(kept).unwrap_or(0)).collect()
}

fn right(source: &str, n: i64) -> String {
    let count = source.chars().count() as i64;
    let dropped = if n < 0 { -n } else { count - n };
    source.chars().skip(usize::try_from(dropped).unwrap_or(0)).collect()
}

fn split_part(source: &str, delimiter: &str, n: i32) -> Result<Value> {
    if n == 0 {
        return Err(invalid_parameter("field position must not be zero"));
    }
    let parts: Vec<&str> = if delimiter.is_empty() { vec![source] } else { source.split(delimiter).collect() };
    let index = if n > 0 { i64::from(n) - 1 } else { parts.len() as i64 + i64::from(n) };
    text(usize::try_from(index).ok().and_then(|index| parts.get(index)).copied().unwrap_or(""))
}

fn trims(catalogue: &mut Catalogue) {
    catalogue.add("btrim", &[TEXT], TEXT, call!((Text a) text(a.trim_matches(' ')))).bounded();
    catalogue.add("trim", &[TEXT], TEXT, call!((Text a) text(a.trim_matches(' ')))).bounded().syntax();
    catalogue.add("ltrim", &[TEXT], TEXT, call!((Text a) text(a.trim_start_matches(' ')))).bounded();
    catalogue.add("rtrim", &[TEXT], TEXT, call!((Text a) text(a.trim_end_matches(' ')))).bounded();
    let trim = call!((Text a, Text set) text(a.trim_matches(|c| set.contains(c))));
    catalogue.add("btrim", &[TEXT, TEXT], TEXT, trim);
    catalogue.add("trim", &[TEXT, TEXT], TEXT, trim).syntax();
    catalogue.add(
        "ltrim",
        &[TEXT, TEXT],
        TEXT,
        call!((Text a, Text set) {
            text(a.trim_start_matches(|c| set.contains(c)))
        }),
    );
    catalogue.add(
        "rtrim",
        &[TEXT, TEXT],
        TEXT,
        call!((Text a, Text set) {
            text(a.trim_end_matches(|c| set.contains(c)))
        }),
    );
    catalogue.add("lpad", &[TEXT, INT], TEXT, call!((Text a, Integer n) pad::<true>(a, *n, " ")));
    catalogue.add("rpad", &[TEXT, INT], TEXT, call!((Text a, Integer n) pad::<false>(a, *n, " ")));
    catalogue.add("lpad", &[TEXT, INT, TEXT], TEXT, call!((Text a, Integer n, Text f) pad::<true>(a, *n, f)));
    catalogue.add("rpad", &[TEXT, INT, TEXT], TEXT, call!((Text a, Integer n, Text f) pad::<false>(a, *n, f)));
}

fn pad<const LEFT: bool>(source: &str, length: i32, fill: &str) -> Result<Value> {
    let length = usize::try_from(length).unwrap_or(0);
    let count = source.chars().count();
    if count >= length || fill.is_empty() {
        return text(source.chars().take(length).collect::<String>());
    }
    check_length(source.len() + length.saturating_mul(4))?;
    let filling: String = fill.chars().cycle().take(length - count).collect();
    text(if LEFT { filling + source } else { source.to_string() + &filling })
}

fn replacements(catalogue: &mut Catalogue) {
    catalogue.add("replace", &[TEXT, TEXT, TEXT], TEXT, call!((Text a, Text from, Text to) replace(a, from, to)));
    catalogue.add(
        "translate",
        &[TEXT, TEXT, TEXT],
        TEXT,
        call!((Text a, Text from, Text to) {
            text(translate(a, from, to))
        }),
    );
    catalogue.add("repeat", &[TEXT, INT], TEXT, call!((Text a, Integer n) repeat(a, *n)));
    catalogue.add(
        "overlay",
        &[TEXT, TEXT, INT],
        TEXT,
        call!((Text a, Text b, Integer start) {
            overlay(a, b, (*start).into(), b.chars().count() as i64)
        }),
    );
    catalogue.add(
        "overlay",
        &[TEXT, TEXT, INT, INT],
        TEXT,
        call!((Text a, Text b, Integer start, Integer length) {
            overlay(a, b, (*start).into(), (*length).into())
        }),
    );
}

fn replace(source: &str, from: &str, to: &str) -> Result<Value> {
    if from.is_empty() {
        return text(source);
    }
    let growth = source.matches(from).count().saturating_mul(to.len().saturating_sub(from.len()));
    check_length(source.len().saturating_add(growth))?;
    text(source.replace(from, to))
}

/// Characters of `from` become those at the same place in `to`, or go where `to` is shorter.
pub(super) fn translate(source: &str, from: &str, to: &str) -> String {
    let target: Vec<char> = to.chars().collect();
    let map = |c: char| match from.chars().position(|wanted| wanted == c) {
        None => Some(c),
        Some(index) => target.get(index).copied(),
    };
    source.chars().filter_map(map).collect()
}

fn repeat(source: &str, times: i32) -> Result<Value> {
    let times = usize::try_from(times).unwrap_or(0);
    check_length(source.len().saturating_mul(times))?;
    text(source.repeat(times))
}

fn overlay(source: &str, with: &str, start: i64, length: i64) -> Result<Value> {
    if start <= 0 {
        return Err(Error::new(SqlState::SUBSTRING_ERROR, "negative substring length not allowed"));
    }
    let end = start.saturating_add(length);
    let before = source.chars().take((start - 1) as usize);
    let after = source.chars().skip(usize::try_from(end - 1).unwrap_or(0));
    text(before.chain(with.chars()).chain(after).collect::<String>())
}
