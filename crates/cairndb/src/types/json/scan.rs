//! Finds its way in a text that is known to be JSON. What is not (a damaged row) is an error.

use super::DEPTH_MAX;
use super::build::too_deep;
use super::bytes::damaged;
use super::document::Kind;
use crate::Result;

/// SQLSTATE 54001 where a text has more arrays and objects within each other than may be: functions can make what no text
/// that is read has.
pub(crate) fn check_depth(text: &str) -> Result<()> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if std::mem::take(&mut escaped) => {}
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => depth += 1,
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEPTH_MAX {
            return Err(too_deep());
        }
    }
    Ok(())
}

/// Where the parts of a text begin and end.
pub(super) struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    pub(super) fn of(text: &'a str) -> Scan<'a> {
        Scan { text, at: 0 }
    }

    fn byte(&mut self) -> Option<u8> {
        self.blanks();
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.byte() != Some(byte) {
            return Err(damaged());
        }
        self.at += 1;
        Ok(())
    }

    /// What the next value is.
    pub(super) fn kind(&mut self) -> Result<Kind> {
        Ok(match self.byte().ok_or_else(damaged)? {
            b'n' => Kind::Null,
            b't' | b'f' => Kind::Boolean,
            b'"' => Kind::String,
            b'[' => Kind::Array,
            b'{' => Kind::Object,
            b'-' | b'0'..=b'9' => Kind::Number,
            _ => return Err(damaged()),
        })
    }

    /// The next value's text.
    pub(super) fn value(&mut self) -> Result<&'a str> {
        let kind = self.kind()?;
        let start = self.at;
        match kind {
            Kind::String => self.string()?,
            Kind::Array | Kind::Object => self.nested()?,
            Kind::Null | Kind::Boolean | Kind::Number => self.word(),
        }
        self.text.get(start..self.at).ok_or_else(damaged)
    }

    fn word(&mut self) {
        let ends = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':' | b']' | b'}');
        self.at += self.text.as_bytes()[self.at..].iter().take_while(|byte| !ends(byte)).count();
    }

    fn string(&mut self) -> Result<()> {
        let bytes = self.text.as_bytes();
        self.at += 1;
        loop {
            match bytes.get(self.at).ok_or_else(damaged)? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Ok(())
    }

    fn nested(&mut self) -> Result<()> {
        let mut depth = 0_usize;
        loop {
            match self.text.as_bytes().get(self.at).ok_or_else(damaged)? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth = depth.checked_sub(1).ok_or_else(damaged)?,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// The parts of an array, or of an object with their keys' texts.
    pub(super) fn parts(mut self) -> Result<Vec<(Option<&'a str>, &'a str)>> {
        let is_object = self.kind()? == Kind::Object;
        let end = if is_object { b'}' } else { b']' };
        self.at += 1;
        let mut parts = vec![];
        if self.byte() == Some(end) {
            return Ok(parts);
        }
        loop {
            let key = match is_object {
                true => {
                    let key = self.value()?;
                    self.expect(b':')?;
                    Some(key)
                }
                false => None,
            };
            parts.push((key, self.value()?));
            match self.byte() {
                Some(byte) if byte == end => return Ok(parts),
                _ => self.expect(b',')?,
            }
        }
    }
}
