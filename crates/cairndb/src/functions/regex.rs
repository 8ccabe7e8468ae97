//! Regular expressions: `~`, `~*`, `substring(text from pattern)`, `regexp_*`. Matching is linear in the text; compiled
//! expressions are bounded in size and kept per thread. (No back references: the library has none.)

use std::cell::RefCell;

use regex::{Captures, Regex, RegexBuilder};

use super::catalogue::Catalogue;
use super::support::{call, check_length, invalid_parameter};
use crate::Result;
use crate::types::{DataType, Value, invalid_regex};

const TEXT: DataType = DataType::Text;
/// Bytes that a compiled expression may take.
const COMPILED_BYTES_MAX: usize = 1 << 20;
/// Compiled expressions that a thread keeps.
const KEPT: usize = 8;

pub(super) fn register(catalogue: &mut Catalogue) {
    let pair: &[DataType] = const { &[TEXT, TEXT] };
    let boolean = DataType::Boolean;
    catalogue.add("~", pair, boolean, call!((Text a, Text p) matches(a, p, "").map(Value::Boolean)));
    catalogue.add("~*", pair, boolean, call!((Text a, Text p) matches(a, p, "i").map(Value::Boolean)));
    catalogue.add("!~", pair, boolean, call!((Text a, Text p) matches(a, p, "").map(|m| Value::Boolean(!m))));
    catalogue.add("!~*", pair, boolean, call!((Text a, Text p) matches(a, p, "i").map(|m| Value::Boolean(!m))));
    catalogue.add("regexp_like", pair, boolean, call!((Text a, Text p) matches(a, p, "").map(Value::Boolean)));
    let flagged: &[DataType] = const { &[TEXT, TEXT, TEXT] };
    catalogue.add(
        "regexp_like",
        flagged,
        boolean,
        call!((Text a, Text p, Text f) {
            matches(a, p, f).map(Value::Boolean)
        }),
    );
    catalogue.add("substring", pair, TEXT, call!((Text a, Text p) first_match(a, p)));
    catalogue.add("regexp_substr", pair, TEXT, call!((Text a, Text p) whole_match(a, p)));
    catalogue.add(
        "regexp_count",
        pair,
        DataType::Integer,
        call!((Text a, Text p) {
            with_regex(p, "", |regex| Ok(Value::Integer(regex.find_iter(a).count() as i32)))
        }),
    );
    catalogue.add("regexp_replace", flagged, TEXT, call!((Text a, Text p, Text to) replace(a, p, to, "")));
    let four: &[DataType] = const { &[TEXT, TEXT, TEXT, TEXT] };
    catalogue.add(
        "regexp_replace",
        four,
        TEXT,
        call!((Text a, Text p, Text to, Text flags) {
            replace(a, p, to, flags)
        }),
    );
}

fn matches(text: &str, pattern: &str, flags: &str) -> Result<bool> {
    with_regex(pattern, flags, |regex| Ok(regex.is_match(text)))
}

/// The first group where there is one, else the whole match.
fn first_match(text: &str, pattern: &str) -> Result<Value> {
    with_regex(pattern, "", |regex| {
        let captures = regex.captures(text);
        let part = captures.as_ref().and_then(|c| if c.len() > 1 { c.get(1) } else { c.get(0) });
        Ok(part.map_or(Value::Null, |part| Value::text(part.as_str())))
    })
}

fn whole_match(text: &str, pattern: &str) -> Result<Value> {
    with_regex(pattern, "", |regex| Ok(regex.find(text).map_or(Value::Null, |part| Value::text(part.as_str()))))
}

/// The first match, or with the flag `g` all of them; `\1` to `\9` and `\&` in `to` stand for what matched.
fn replace(text: &str, pattern: &str, to: &str, flags: &str) -> Result<Value> {
    let limit = if flags.contains('g') { 0 } else { 1 };
    with_regex(pattern, &flags.replace('g', ""), |regex| {
        let replaced = regex.replacen(text, limit, |captures: &Captures<'_>| expand(to, captures));
        check_length(replaced.len())?;
        Ok(Value::text(&*replaced))
    })
}

fn expand(to: &str, captures: &Captures<'_>) -> String {
    let mut out = String::new();
    let mut chars = to.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('&') => out.push_str(&captures[0]),
            Some(digit @ '1'..='9') => {
                let group = captures.get(digit as usize - '0' as usize);
                out.push_str(group.map_or("", |group| group.as_str()));
            }
            Some('\\') | None => out.push('\\'),
            Some(other) => out.extend(['\\', other]),
        }
    }
    out
}

thread_local! {
    /// Most recent last.
    static COMPILED: RefCell<Vec<(String, String, Regex)>> = const { RefCell::new(Vec::new()) };
}

fn with_regex<T>(pattern: &str, flags: &str, then: impl FnOnce(&Regex) -> Result<T>) -> Result<T> {
    let known = COMPILED.with_borrow(|compiled| {
        let found = compiled.iter().find(|(p, f, _)| p == pattern && f == flags);
        found.map(|(_, _, regex)| regex.clone())
    });
    if let Some(regex) = known {
        return then(&regex);
    }
    let regex = compile(pattern, flags)?;
    COMPILED.with_borrow_mut(|compiled| {
        if compiled.len() == KEPT {
            compiled.remove(0);
        }
        compiled.push((pattern.to_string(), flags.to_string(), regex.clone()));
    });
    then(&regex)
}

fn compile(pattern: &str, flags: &str) -> Result<Regex> {
    let mut builder = RegexBuilder::new(pattern);
    builder.size_limit(COMPILED_BYTES_MAX).dfa_size_limit(COMPILED_BYTES_MAX).nest_limit(100);
    // PostgreSQL's dot matches newlines unless told otherwise.
    builder.dot_matches_new_line(true);
    for flag in flags.chars() {
        match flag {
            'i' => builder.case_insensitive(true),
            'c' => builder.case_insensitive(false),
            'n' | 'm' => builder.dot_matches_new_line(false).multi_line(true),
            's' => builder.dot_matches_new_line(true),
            'x' => builder.ignore_whitespace(true),
            _ => return Err(invalid_parameter(format!("invalid regular expression option: \"{flag}\""))),
        };
    }
    builder.build().map_err(|error| invalid_regex(&error))
}
