//! The text of an `hstore`: `"key"=>"value", "other"=>NULL`.

use super::Hstore;
use crate::types::ExtensionType;
use crate::{Error, Result, SqlState};

/// Appends the pairs, all in quotes.
pub(crate) fn write(value: &Hstore, out: &mut String) {
    for (at, (key, value)) in value.pairs().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        write_quoted(key, out);
        out.push_str("=>");
        match value {
            Some(value) => write_quoted(value, out),
            None => out.push_str("NULL"),
        }
    }
}

fn write_quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
}

/// Reads what PostgreSQL reads. SQLSTATE 42601.
pub(crate) fn read(text: &str, of: ExtensionType) -> Result<Hstore> {
    let mut reader = Reader { text, at: 0 };
    let mut pairs: Vec<(String, Option<String>)> = Vec::new();
    while let Some((key, _)) = reader.word(false)? {
        reader.blanks();
        reader.expect("=")?;
        reader.expect(">")?;
        let (value, quoted) = reader.word(true)?.ok_or_else(ended)?;
        let is_null = !quoted && value.eq_ignore_ascii_case("null");
        pairs.push((key, (!is_null).then_some(value)));
        reader.blanks();
        if reader.peek().is_none() {
            break;
        }
        reader.expect(",")?;
    }
    Hstore::new(of, pairs.iter().map(|(key, value)| (key.as_str(), value.as_deref())).collect())
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t'..='\r')
}

fn ended() -> Error {
    Error::new(SqlState::SYNTAX_ERROR, "syntax error in hstore: unexpected end of string")
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(is_blank) {
            self.next();
        }
    }

    fn wrong(&self, near: char) -> Error {
        let message = format!("syntax error in hstore, near \"{near}\" at position {}", self.at);
        Error::new(SqlState::SYNTAX_ERROR, message)
    }

    fn expect(&mut self, sign: &str) -> Result<()> {
        match self.peek() {
            None => Err(ended()),
            Some(c) if !sign.contains(c) => Err(self.wrong(c)),
            Some(c) => {
                self.at += c.len_utf8();
                Ok(())
            }
        }
    }

    /// A key, or a value, in which `=` is a letter as others; and whether it stood in quotes.
    fn word(&mut self, is_value: bool) -> Result<Option<(String, bool)>> {
        self.blanks();
        let first = match self.peek() {
            None => return Ok(None),
            Some('=') if !is_value => return Err(self.wrong('=')),
            Some(c) => c,
        };
        let mut word = String::new();
        if first == '"' {
            self.next();
            loop {
                match self.next().ok_or_else(ended)? {
                    '"' => return Ok(Some((word, true))),
                    '\\' => word.push(self.next().ok_or_else(ended)?),
                    c => word.push(c),
                }
            }
        }
        // The first letter is one of it, whatever it is.
        while let Some(c) = self.peek() {
            let ends = is_blank(c) || c == if is_value { ',' } else { '=' };
            if ends && !word.is_empty() {
                break;
            }
            self.next();
            word.push(if c == '\\' { self.next().ok_or_else(ended)? } else { c });
        }
        Ok(Some((word, false)))
    }
}
