//! What constants and names say: quotes undone, escapes resolved, names folded and cut.

use super::kind::TokenKind;
use super::lexer::{Token, is_word_byte, is_word_start, line_end};
use super::name::{cut_identifier, fold_identifier};
use crate::error::{CHARACTER_NOT_IN_REPERTOIRE, INVALID_ESCAPE_SEQUENCE, ParseError, Result, SYNTAX_ERROR};

/// The byte behind the quote that goes on with a string which was closed before `at`: blanks with a line feed among them,
/// comments, and a quote.
#[inline]
pub(crate) fn continuation(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at) {
        Some(b' ' | b'\t' | b'\n' | b'\r' | b'\x0c' | b'-') => blank_continuation(bytes, at),
        _ => None,
    }
}

fn blank_continuation(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut line_feed = false;
    loop {
        match bytes.get(at)? {
            b' ' | b'\t' | b'\x0c' => at += 1,
            b'\n' | b'\r' => (at, line_feed) = (at + 1, true),
            b'-' if bytes.get(at + 1) == Some(&b'-') => at = line_end(bytes, at),
            b'\'' if line_feed => return Some(at + 1),
            _ => return None,
        }
    }
}

/// The byte behind the `$tag$` that begins at `start`, if one does.
pub(crate) fn dollar_tag_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    if bytes.get(at).is_some_and(|byte| is_word_start(*byte)) {
        while bytes.get(at).is_some_and(|byte| is_word_byte(*byte) && *byte != b'$') {
            at += 1;
        }
    }
    (bytes.get(at) == Some(&b'$')).then_some(at + 1)
}

/// The byte behind the dollar quote whose tag is `bytes[start..body]`.
pub(crate) fn dollar_quote_end(bytes: &[u8], start: usize, body: usize) -> Option<usize> {
    let tag = &bytes[start..body];
    let mut at = body;
    loop {
        at += bytes.get(at..)?.iter().position(|byte| *byte == b'$')?;
        if bytes[at..].starts_with(tag) {
            return Some(at + tag.len());
        }
        at += 1;
    }
}

/// The escape character that a `UESCAPE` constant names.
pub(crate) fn escape_character(text: &str, token: &Token) -> Option<u8> {
    let mut character = String::new();
    decode(text, token, &mut character).ok()?;
    match character.as_bytes() {
        [byte]
            if !byte.is_ascii_hexdigit()
                && !matches!(byte, b'+' | b'\'' | b'"' | b' ' | b'\t' | b'\n' | b'\r' | b'\x0c') =>
        {
            Some(*byte)
        }
        _ => None,
    }
}

/// Appends what the constant or name says.
pub(crate) fn decode(text: &str, token: &Token, out: &mut String) -> Result<()> {
    let (start, end) = (token.start as usize, token.end as usize);
    let written = &text[start..end];
    match (written.as_bytes(), token.kind) {
        ([b'u' | b'U', b'&', ..], _) => unicode(text, token, out),
        ([b'"', ..], _) => {
            let mut name = String::new();
            undouble(written, 0, b'"', &mut name);
            out.push_str(cut_identifier(&name));
            Ok(())
        }
        ([b'e' | b'E', b'\'', ..], TokenKind::StringConst) => escapes(text, start, end, out),
        ([b'\'', ..], _) => {
            undouble(written, 0, b'\'', out);
            Ok(())
        }
        ([b'$', ..], _) => {
            let body = dollar_tag_end(text.as_bytes(), start).unwrap_or(start);
            out.push_str(&text[body..end - (body - start)]);
            Ok(())
        }
        ([_, b'\'', ..], TokenKind::BitConst | TokenKind::HexConst) => {
            undouble(written, 1, b'\'', out);
            Ok(())
        }
        (_, TokenKind::Ident) => {
            out.push_str(&fold_identifier(written));
            Ok(())
        }
        _ => {
            out.push_str(&written.to_ascii_lowercase());
            Ok(())
        }
    }
}

/// What stands between quotes, doubled quotes made one, continued pieces joined. `open`: where the quote is.
fn undouble(written: &str, open: usize, quote: u8, out: &mut String) {
    let bytes = written.as_bytes();
    let mut piece = open + 1;
    let mut at = piece;
    while at < bytes.len() {
        if bytes[at] != quote {
            at += 1;
        } else if bytes.get(at + 1) == Some(&quote) {
            out.push_str(&written[piece..=at]);
            at += 2;
            piece = at;
        } else {
            out.push_str(&written[piece..at]);
            match continuation(bytes, at + 1) {
                Some(next) if quote == b'\'' => (piece, at) = (next, next),
                _ => return,
            }
        }
    }
}

/// `E'...'`
fn escapes(text: &str, start: usize, end: usize, out: &mut String) -> Result<()> {
    let bytes = &text.as_bytes()[..end];
    let mut said = Vec::new();
    let mut at = start + 2;
    let mut first_half = None;
    while at < end {
        let unicode = bytes[at] == b'\\' && matches!(bytes.get(at + 1), Some(b'u' | b'U'));
        if first_half.is_some() && !unicode {
            return Err(lone_half(text, at));
        }
        match bytes[at] {
            b'\\' if unicode => at = unicode_escape(text, at, &mut first_half, &mut said)?,
            b'\\' => at = byte_escape(bytes, at, &mut said),
            b'\'' if bytes.get(at + 1) == Some(&b'\'') => {
                said.push(b'\'');
                at += 2;
            }
            b'\'' => match continuation(bytes, at + 1) {
                Some(next) => at = next,
                None => break,
            },
            byte => {
                said.push(byte);
                at += 1;
            }
        }
    }
    if first_half.is_some() {
        return Err(lone_half(text, at));
    }
    let bad = said.iter().position(|byte| *byte == 0);
    match (String::from_utf8(said), bad) {
        (Ok(said), None) => {
            out.push_str(&said);
            Ok(())
        }
        (Ok(_), Some(_)) => Err(bad_bytes(&[0], start)),
        (Err(error), _) => {
            let from = error.utf8_error().valid_up_to();
            Err(bad_bytes(&error.as_bytes()[from..], start))
        }
    }
}

/// An escape that names a byte or stands for a character. Returns the byte behind it.
fn byte_escape(bytes: &[u8], at: usize, said: &mut Vec<u8>) -> usize {
    let after = at + 1;
    let number = |from: usize, most: usize, radix: u32| {
        let digits = bytes.iter().skip(from).take(most).take_while(|byte| (**byte as char).is_digit(radix)).count();
        let value = bytes[from..from + digits]
            .iter()
            .fold(0u32, |value, byte| value * radix + (*byte as char).to_digit(radix).unwrap_or(0));
        (digits, value as u8)
    };
    match bytes.get(after) {
        Some(b'0'..=b'7') => {
            let (digits, value) = number(after, 3, 8);
            said.push(value);
            after + digits
        }
        Some(b'x') if bytes.get(after + 1).is_some_and(u8::is_ascii_hexdigit) => {
            let (digits, value) = number(after + 1, 2, 16);
            said.push(value);
            after + 1 + digits
        }
        Some(byte) => {
            said.push(match byte {
                b'b' => 8,
                b'f' => 12,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                other => *other,
            });
            after + 1
        }
        None => after,
    }
}

/// `\uXXXX` or `\UXXXXXXXX`. Returns the byte behind it.
fn unicode_escape(text: &str, at: usize, first_half: &mut Option<u32>, said: &mut Vec<u8>) -> Result<usize> {
    let length = if text.as_bytes()[at + 1] == b'u' { 4 } else { 8 };
    let Some(value) = hexadecimal(text, at + 2, length) else {
        let error = ParseError::new(INVALID_ESCAPE_SEQUENCE, "invalid Unicode escape", at as u32);
        return Err(error.with_hint("Unicode escapes must be \\uXXXX or \\UXXXXXXXX."));
    };
    let end = at + 2 + length;
    let near = |what| ParseError::near(what, &text[at..end], at as u32);
    match paired(value, first_half) {
        Pair::Whole(character) => {
            said.extend(character.encode_utf8(&mut [0; 4]).bytes());
            Ok(end)
        }
        Pair::Half => Ok(end),
        Pair::Wrong => Err(near("invalid Unicode surrogate pair")),
        Pair::NoCharacter => Err(near("invalid Unicode escape value")),
    }
}

fn hexadecimal(text: &str, from: usize, digits: usize) -> Option<u32> {
    let digits = text.as_bytes().get(from..from + digits)?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// What an escaped code unit makes of the one before it.
pub enum Pair {
    /// A character.
    Whole(char),
    /// The first half of a surrogate pair, whose second is to follow.
    Half,
    /// A second half without a first, or no second half behind a first.
    Wrong,
    /// Zero, or beyond the last character.
    NoCharacter,
}

/// Takes the next escaped number. `first_half`: of the surrogate pair that the one before it began; at the end there must be none.
pub fn paired(value: u32, first_half: &mut Option<u32>) -> Pair {
    match (first_half.take(), value) {
        (Some(first), 0xDC00..=0xDFFF) => {
            let whole = 0x10000 + ((first - 0xD800) << 10) + (value - 0xDC00);
            char::from_u32(whole).map_or(Pair::NoCharacter, Pair::Whole)
        }
        (Some(_), _) | (None, 0xDC00..=0xDFFF) => Pair::Wrong,
        (None, 0xD800..=0xDBFF) => {
            *first_half = Some(value);
            Pair::Half
        }
        (None, 0) => Pair::NoCharacter,
        (None, value) => char::from_u32(value).map_or(Pair::NoCharacter, Pair::Whole),
    }
}

fn lone_half(text: &str, at: usize) -> Box<ParseError> {
    let near: String = text[at..].chars().take(1).collect();
    ParseError::near("invalid Unicode surrogate pair", &near, at as u32)
}

pub(super) fn bad_bytes(bytes: &[u8], start: usize) -> Box<ParseError> {
    let hex: Vec<String> = bytes.iter().take(4).map(|byte| format!("0x{byte:02x}")).collect();
    let message = format!("invalid byte sequence for encoding \"UTF8\": {}", hex.join(" "));
    ParseError::new(CHARACTER_NOT_IN_REPERTOIRE, message, start as u32)
}

/// `U&'...'` and `U&"..."`, with or without UESCAPE.
fn unicode(text: &str, token: &Token, out: &mut String) -> Result<()> {
    let written = &text[token.start as usize..token.end as usize];
    let quote = written.as_bytes()[2];
    let mut inner = String::new();
    undouble(written, 2, quote, &mut inner);
    let escape = escape_behind(written, quote).unwrap_or(b'\\');
    let mut said = String::new();
    unescape(&inner, escape, token.start + 3, &mut said)?;
    out.push_str(if quote == b'"' { cut_identifier(&said) } else { &said });
    Ok(())
}

/// The character that `UESCAPE` behind the constant names. The token ends with that constant, if there is one.
fn escape_behind(written: &str, quote: u8) -> Option<u8> {
    let bytes = written.as_bytes();
    let mut at = 3;
    loop {
        at += bytes.get(at..)?.iter().position(|byte| *byte == quote)? + 1;
        if bytes.get(at) == Some(&quote) {
            at += 1;
            continue;
        }
        match continuation(bytes, at) {
            Some(next) if quote == b'\'' => at = next,
            _ => break,
        }
    }
    let mut lexer = super::Lexer::new(written, at, super::Placeholders::default());
    let (word, constant) = (lexer.next_token(), lexer.next_token());
    (word.kind == TokenKind::Uescape).then(|| escape_character(written, &constant)).flatten()
}

fn unescape(inner: &str, escape: u8, position: u32, said: &mut String) -> Result<()> {
    let bytes = inner.as_bytes();
    let (mut at, mut first_half) = (0, None);
    let wrong = |what: &str, at: usize| ParseError::new(SYNTAX_ERROR, what, position + at as u32);
    while let Some(&byte) = bytes.get(at) {
        let doubled = byte == escape && bytes.get(at + 1) == Some(&escape);
        if byte != escape || doubled {
            if first_half.is_some() {
                return Err(wrong("invalid Unicode surrogate pair", at));
            }
            let character = inner[at..].chars().next().unwrap_or_default();
            said.push(character);
            at += if doubled { 2 } else { character.len_utf8() };
            continue;
        }
        let (from, length) = if bytes.get(at + 1) == Some(&b'+') { (at + 2, 6) } else { (at + 1, 4) };
        let Some(value) = hexadecimal(inner, from, length) else {
            let error = wrong("invalid Unicode escape", at);
            return Err(error.with_hint("Unicode escapes must be \\XXXX or \\+XXXXXX."));
        };
        match paired(value, &mut first_half) {
            Pair::Whole(character) => said.push(character),
            Pair::Half => {}
            Pair::Wrong => return Err(wrong("invalid Unicode surrogate pair", at)),
            Pair::NoCharacter => return Err(wrong("invalid Unicode escape value", at)),
        }
        at = from + length;
    }
    match first_half {
        Some(_) => Err(wrong("invalid Unicode surrogate pair", at)),
        None => Ok(()),
    }
}
