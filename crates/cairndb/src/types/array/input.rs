//! Arrays from text: `{1,NULL,"a b"}`, `[0:1]={1,2}`, `{{1,2},{3,4}}`.

use super::output::is_space;
use super::{Array, DIMENSIONS_MAX, Dimension, count_of, too_many_dimensions};
use crate::types::{DataType, Value};
use crate::{Error, Result, SqlState};

/// Reads an array; `read` reads an element's text.
pub(in crate::types) fn parse_array(
    text: &str,
    element: DataType,
    read: &dyn Fn(&str) -> Result<Value>,
) -> Result<Array> {
    let mut reader = Reader { text, at: 0, read, values: vec![], lengths: vec![] };
    let declared = reader.bounds()?;
    reader.skip_space();
    match reader.peek() {
        Some(b'{') => {}
        _ if declared.is_empty() => {
            return Err(reader.malformed("Array value must start with \"{\" or dimension information."));
        }
        _ => return Err(reader.malformed("Array contents must start with \"{\".")),
    }
    reader.level(0)?;
    reader.skip_space();
    if reader.peek().is_some() {
        return Err(reader.malformed("Junk after closing right brace."));
    }
    let (lengths, values) = (std::mem::take(&mut reader.lengths), std::mem::take(&mut reader.values));
    if values.is_empty() {
        return Ok(Array::empty(element));
    }
    let same = declared.iter().map(|dimension| dimension.length).eq(lengths.iter().copied());
    if !declared.is_empty() && !same {
        return Err(reader.malformed("Specified array dimensions do not match array contents."));
    }
    match declared.is_empty() {
        true => {
            let counted: Vec<Dimension> = lengths.iter().map(|&length| Dimension { lower: 1, length }).collect();
            Array::with_dimensions(element, &counted, values)
        }
        false => Array::with_dimensions(element, &declared, values),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    read: &'a dyn Fn(&str) -> Result<Value>,
    values: Vec<Value>,
    /// How long each dimension is, known once one of its lists ended.
    lengths: Vec<usize>,
}

impl Reader<'_> {
    fn malformed(&self, detail: &str) -> Error {
        let message = format!("malformed array literal: \"{}\"", self.text);
        Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message).with_detail(detail)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    /// `[1:2][0:3]=`
    fn bounds(&mut self) -> Result<Vec<Dimension>> {
        let mut dimensions = vec![];
        loop {
            self.skip_space();
            if self.peek() != Some(b'[') {
                break;
            }
            self.at += 1;
            if dimensions.len() == DIMENSIONS_MAX {
                return Err(too_many_dimensions(dimensions.len() + 1));
            }
            let first = self.bound()?;
            let (lower, upper) = match self.peek() {
                Some(b':') => {
                    self.at += 1;
                    (first, self.bound()?)
                }
                _ => (1, first),
            };
            if self.peek() != Some(b']') {
                return Err(self.malformed("Missing \"]\" after array dimensions."));
            }
            self.at += 1;
            if upper < lower {
                let message = "upper bound cannot be less than lower bound";
                return Err(Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message));
            }
            let length = (i64::from(upper) - i64::from(lower) + 1) as usize;
            dimensions.push(Dimension { lower, length });
        }
        if dimensions.is_empty() {
            return Ok(dimensions);
        }
        count_of(&dimensions)?;
        if self.peek() != Some(b'=') {
            return Err(self.malformed("Missing \"=\" after array dimensions."));
        }
        self.at += 1;
        Ok(dimensions)
    }

    fn bound(&mut self) -> Result<i32> {
        let rest = &self.text[self.at..];
        let sign = usize::from(rest.starts_with(['-', '+']));
        let digits = rest[sign..].bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return Err(self.malformed("\"[\" must introduce explicitly-specified array dimensions."));
        }
        self.at += sign + digits;
        rest[..sign + digits]
            .parse()
            .map_err(|_| Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "array bound is out of integer range"))
    }

    /// A list in braces: of lists, or of elements.
    fn level(&mut self, depth: usize) -> Result<()> {
        if depth == DIMENSIONS_MAX {
            return Err(too_many_dimensions(depth + 1));
        }
        self.at += 1;
        let mut length = 0;
        let mut of_lists = None;
        loop {
            self.skip_space();
            match self.peek() {
                None => return Err(self.malformed("Unexpected end of input.")),
                Some(b'}') if length == 0 && depth == 0 => break,
                Some(b'{') => {
                    if of_lists == Some(false) || self.lengths.get(depth + 1).is_none() && !self.values.is_empty() {
                        return Err(self.malformed("Unexpected \"{\" character."));
                    }
                    of_lists = Some(true);
                    self.level(depth + 1)?;
                }
                Some(b'}' | b',') => {
                    return Err(self.malformed(&format!(
                        "Unexpected \"{}\" character.",
                        char::from(self.text.as_bytes()[self.at])
                    )));
                }
                Some(_) => {
                    if of_lists == Some(true) || self.lengths.get(depth + 1).is_some() {
                        return Err(self.malformed("Unexpected array element."));
                    }
                    of_lists = Some(false);
                    let value = self.element()?;
                    self.values.push(value);
                }
            }
            length += 1;
            self.skip_space();
            match self.peek() {
                None => return Err(self.malformed("Unexpected end of input.")),
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                Some(_) => return Err(self.malformed("Unexpected array element.")),
            }
            self.skip_space();
            if self.peek() == Some(b'}') {
                return Err(self.malformed("Unexpected \"}\" character."));
            }
        }
        self.at += 1;
        self.note_length(depth, length)
    }

    fn note_length(&mut self, depth: usize, length: usize) -> Result<()> {
        if self.lengths.len() <= depth {
            self.lengths.resize(depth + 1, usize::MAX);
        }
        if self.lengths[depth] == usize::MAX {
            self.lengths[depth] = length;
        }
        if self.lengths[depth] != length {
            let detail = "Multidimensional arrays must have sub-arrays with matching dimensions.";
            return Err(self.malformed(detail));
        }
        Ok(())
    }

    fn element(&mut self) -> Result<Value> {
        let mut text = String::new();
        if self.peek() == Some(b'"') {
            self.quoted(&mut text)?;
            return (self.read)(&text);
        }
        // Blanks at the end are no part of it, those that were escaped are.
        let (mut kept, mut escaped) = (0, false);
        loop {
            let Some(c) = self.text[self.at..].chars().next() else {
                return Err(self.malformed("Unexpected end of input."));
            };
            match c {
                ',' | '}' => break,
                '{' => return Err(self.malformed("Unexpected \"{\" character.")),
                '"' => return Err(self.malformed("Incorrectly quoted array element.")),
                '\\' => {
                    self.at += 1;
                    text.push(self.escaped()?);
                    (kept, escaped) = (text.len(), true);
                }
                c => {
                    self.at += c.len_utf8();
                    text.push(c);
                    let is_blank = u8::try_from(c).is_ok_and(is_space);
                    kept = if is_blank { kept } else { text.len() };
                }
            }
        }
        text.truncate(kept);
        if !escaped && text.eq_ignore_ascii_case("NULL") { Ok(Value::Null) } else { (self.read)(&text) }
    }

    fn quoted(&mut self, text: &mut String) -> Result<()> {
        self.at += 1;
        loop {
            let Some(c) = self.text[self.at..].chars().next() else {
                return Err(self.malformed("Unexpected end of input."));
            };
            self.at += c.len_utf8();
            match c {
                '"' => return Ok(()),
                '\\' => text.push(self.escaped()?),
                c => text.push(c),
            }
        }
    }

    fn escaped(&mut self) -> Result<char> {
        let c = self.text[self.at..].chars().next();
        let c = c.ok_or_else(|| self.malformed("Unexpected end of input."))?;
        self.at += c.len_utf8();
        Ok(c)
    }
}
