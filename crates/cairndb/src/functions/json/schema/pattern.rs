//! Patterns of a schema: ECMAScript's, as the specification has it, written for the libraries that match them.
//!
//! Where a pattern has look-around or back references it is matched by backtracking, with a bound on its steps; all others in time
//! linear in the text.

use fancy_regex::RegexBuilder;

use super::compile::wrong;
use crate::{Error, Result, SqlState};

/// Bytes that one may take, compiled.
const BYTES_MAX: usize = 1 << 18;
const BACKTRACKS_MAX: usize = 100_000;

pub(super) struct Pattern {
    regex: fancy_regex::Regex,
    pub(super) text: String,
}

impl Pattern {
    pub(super) fn new(text: &str) -> Result<Pattern> {
        let mut builder = RegexBuilder::new(&written(text));
        builder.delegate_size_limit(BYTES_MAX).delegate_dfa_size_limit(BYTES_MAX).backtrack_limit(BACKTRACKS_MAX);
        match builder.build() {
            Ok(regex) => Ok(Pattern { regex, text: text.into() }),
            Err(error) => Err(wrong(format!("the pattern \"{text}\" can not be used: {}", last_line(&error)))),
        }
    }

    pub(super) fn is_match(&self, text: &str) -> Result<bool> {
        self.regex.is_match(text).map_err(|_| {
            let message = format!("the pattern \"{}\" of a JSON schema takes too many steps", self.text);
            Error::new(SqlState::STATEMENT_TOO_COMPLEX, message)
                .with_hint("Write it without back references or look-around.")
        })
    }
}

fn last_line(error: &fancy_regex::Error) -> String {
    error.to_string().lines().last().unwrap_or_default().to_owned()
}

/// Digits and letters of words are ASCII's; `\/` and the like are the character itself; `\u` with four digits and `\c` with a letter
/// are numbers.
fn written(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let (mut chars, mut in_class) = (text.chars(), false);
    while let Some(c) = chars.next() {
        match c {
            '\\' => escape(&mut chars, in_class, &mut out),
            // `[]` is nothing and `[^]` anything; within a class `[`, `&`, `~` stand for themselves.
            '[' if !in_class && chars.as_str().starts_with(']') => {
                chars.next();
                out.push_str("(?:[^\\s\\S])");
            }
            '[' if !in_class && chars.as_str().starts_with("^]") => {
                chars.nth(1);
                out.push_str("(?:[\\s\\S])");
            }
            '[' | '&' | '~' if in_class => out.extend(['\\', c]),
            _ => {
                in_class = (in_class || c == '[') && c != ']';
                out.push(c);
            }
        }
    }
    out
}

fn escape(chars: &mut std::str::Chars<'_>, in_class: bool, out: &mut String) {
    let Some(c) = chars.next() else { return out.push('\\') };
    match c {
        // (A class within a class is a part of it.)
        'd' => out.push_str("[0-9]"),
        'D' => out.push_str("[^0-9]"),
        'w' => out.push_str("[A-Za-z0-9_]"),
        'W' => out.push_str("[^A-Za-z0-9_]"),
        'b' if in_class => out.push_str("\\x08"),
        'u' if !chars.as_str().starts_with('{') => {
            match chars.as_str().get(..4).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit())) {
                Some(digits) => {
                    out.push_str(&format!("\\x{{{digits}}}"));
                    chars.nth(3);
                }
                None => out.push('u'),
            }
        }
        'c' => match chars.as_str().chars().next().filter(char::is_ascii_alphabetic) {
            Some(letter) => {
                out.push_str(&format!("\\x{:02x}", letter as u32 % 32));
                chars.next();
            }
            None => out.push_str("\\\\c"),
        },
        '/' | '-' | ' ' | '"' | '\'' | '@' | '#' | '%' | '&' | '~' | '=' | '!' | ',' | ':' | ';' | '<' | '>' | '_'
        | '`' => match c {
            '-' | '&' | '~' | '#' => out.extend(['\\', c]),
            _ => out.push(c),
        },
        _ => out.extend(['\\', c]),
    }
}
