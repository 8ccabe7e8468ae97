//! A part of a `jsonb` value, read from the bytes that a row keeps: the rest of the value is not looked at.

use super::access::{Access, step};
use crate::Result;
use crate::functions::Function;
use crate::types::{DataType, Document, Value};

/// What `->`, `->>`, `#>` and `#>>` with constants take out of a document, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// Keys, positions and paths.
    steps: Vec<Value>,
    as_text: bool,
}

impl Field {
    /// What a call takes out of a `jsonb` value; `None`: it does something else.
    pub(crate) fn of(function: &Function, argument: &Value) -> Option<Field> {
        let access = Access::of(function).filter(|access| access.takes(argument))?;
        Some(Field { steps: vec![argument.clone()], as_text: access.as_text })
    }

    /// What `next` takes out of what this one takes out; `None`: that is text.
    pub(crate) fn then(mut self, next: Field) -> Option<Field> {
        self.steps.extend(next.steps);
        (!self.as_text).then_some(Field { steps: self.steps, as_text: next.as_text })
    }

    /// `text` or `jsonb`.
    pub(crate) fn data_type(&self) -> DataType {
        if self.as_text { DataType::Text } else { DataType::Jsonb }
    }

    /// The part of the value with these bytes; `None`: it has none.
    ///
    /// # Errors
    ///
    /// SQLSTATE XX001: what lies on the way to it, or it itself, is no value's bytes.
    pub(crate) fn of_stored<'r>(&self, bytes: &'r [u8]) -> Result<Option<Document<'r>>> {
        let mut found = Document::of_stored(bytes);
        for key in &self.steps {
            match step(found, key)? {
                Some(next) => found = next,
                None => return Ok(None),
            }
        }
        found.check_parts()?;
        Ok(Some(found))
    }

    /// The part of a value that is not stored, or NULL.
    pub(crate) fn of_value(&self, value: &Value) -> Result<Value> {
        let Value::Jsonb(document) = value else { return Ok(Value::Null) };
        match self.of_stored(document.as_bytes())? {
            None => Ok(Value::Null),
            Some(part) if self.as_text => part.to_text(),
            Some(part) => Ok(part.to_value()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Jsonb;

    fn field(steps: &[&str]) -> Field {
        Field { steps: steps.iter().map(|key| Value::text(*key)).collect(), as_text: true }
    }

    fn text(field: &Field, bytes: &[u8]) -> Result<Option<String>> {
        let Some(part) = field.of_stored(bytes)? else { return Ok(None) };
        Ok(part.text(&mut String::new())?.map(str::to_owned))
    }

    #[test]
    fn what_lies_beside_the_part_is_not_looked_at() -> Result<()> {
        let document: Jsonb = r#"{"a": 1, "b": "text", "c": [1, {"d": 2.50}]}"#.parse()?;
        let mut bytes = document.as_bytes().to_vec();
        let at = bytes.windows(4).position(|window| window == b"text").ok_or_else(|| crate::Error::internal("gone"))?;
        bytes[at] = 0xff;
        assert_eq!(text(&field(&["a"]), &bytes)?.as_deref(), Some("1"));
        assert_eq!(text(&field(&["c"]), &bytes)?.as_deref(), Some(r#"[1, {"d": 2.50}]"#));
        assert_eq!(text(&field(&["x"]), &bytes)?, None);
        assert!(text(&field(&["b"]), &bytes).is_err());
        Ok(())
    }

    #[test]
    fn numbers_of_all_sizes_keep_their_digits() -> Result<()> {
        let numbers = ["0", "-7", "0.00", "-0.05", "1.50", "9223372036854775807", "-9223372036854775808"];
        let long = ["9223372036854775808", "-0.123456789012345678901234567890", "100000000000000000000"];
        for number in numbers.into_iter().chain(long) {
            let document: Jsonb = format!(r#"{{"n": {number}}}"#).parse()?;
            assert_eq!(text(&field(&["n"]), document.as_bytes())?.as_deref(), Some(number));
        }
        Ok(())
    }

    #[test]
    fn damaged_bytes_give_an_error_or_another_value() -> Result<()> {
        let document: Jsonb = r#"{"a": -12345678901234567890.5, "bb": {"k": [true, null, "x"]}, "c": "é"}"#.parse()?;
        let whole = document.as_bytes();
        let fields = [field(&["a"]), field(&["bb"]), field(&["bb", "k"]), field(&["c"])];
        for (at, bit) in (0..whole.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            let mut bytes = whole.to_vec();
            bytes[at] ^= 1 << bit;
            for field in &fields {
                _ = text(field, &bytes);
                _ = text(field, &bytes[..at]);
            }
        }
        Ok(())
    }
}
