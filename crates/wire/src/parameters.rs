//! Values that a client gives for a statement's parameters.

use cairndb::{DataType, Error, EvalContext, Result, SqlState, Value, from_text, read_binary};

use crate::error::violation;
use crate::input::{Body, utf8};
use crate::output::Formats;

/// What Bind gives: bytes, and in which form each is.
#[derive(Debug, Default)]
pub struct Parameters {
    types: Vec<DataType>,
    is_binary: Vec<bool>,
    /// The values' bytes, one behind the other, and where each ends; `None`: NULL.
    bytes: Vec<u8>,
    ends: Vec<Option<usize>>,
}

impl Parameters {
    /// Reads them from a message. SQLSTATE 08P01.
    pub(crate) fn read(body: &mut Body<'_>, statement: &str, types: &[DataType]) -> Result<Parameters> {
        let formats = read_formats(body)?;
        let count = body.count()?;
        if formats.len() > 1 && formats.len() != count {
            let message = format!("bind message has {} parameter formats but {count} parameters", formats.len());
            return Err(violation(message));
        }
        if count != types.len() {
            let message = format!(
                "bind message supplies {count} parameters, but prepared statement \"{statement}\" requires {}",
                types.len()
            );
            return Err(violation(message));
        }
        let mut parameters = Parameters { types: types.to_vec(), ..Parameters::default() };
        for at in 0..count {
            let value = body.value()?;
            parameters.ends.push(value.map(|value| {
                parameters.bytes.extend_from_slice(value);
                parameters.bytes.len()
            }));
            parameters.is_binary.push(of_column(&formats, at));
        }
        Ok(parameters)
    }

    /// The values, of the types that the statement's parameters have. `context`: how the session reads texts, asked for where
    /// there are some that it matters for.
    ///
    /// # Errors
    ///
    /// Those of the types' input, with the parameter's number as context.
    pub fn values(&self, context: impl Fn() -> EvalContext) -> Result<Vec<Value>> {
        let mut start = 0;
        let mut made = None;
        let mut values = Vec::with_capacity(self.ends.len());
        for (at, end) in self.ends.iter().enumerate() {
            let Some(end) = *end else {
                values.push(Value::Null);
                continue;
            };
            let bytes = &self.bytes[start..end];
            start = end;
            let value = match self.is_binary[at] {
                true => read_binary(bytes, self.types[at]),
                false => utf8(bytes).and_then(|text| match self.types[at] {
                    DataType::Text | DataType::Unknown => Ok(Value::text(text)),
                    of => from_text(text, of, made.get_or_insert_with(&context)),
                }),
            };
            values.push(value.map_err(|error| in_parameter(error, at, self.is_binary[at]))?);
        }
        Ok(values)
    }
}

fn in_parameter(error: Error, at: usize, is_binary: bool) -> Error {
    match error.message() {
        // PostgreSQL says it so.
        "incorrect binary data format" if is_binary => {
            let message = format!("incorrect binary data format in bind parameter {}", at + 1);
            Error::new(error.sqlstate(), message)
        }
        _ => error,
    }
}

/// Formats by column, or one for all, or none. SQLSTATE 22023.
pub(crate) fn read_formats(body: &mut Body<'_>) -> Result<Vec<bool>> {
    let count = body.count()?;
    let mut formats = Vec::new();
    for _ in 0..count {
        formats.push(match body.int16()? {
            0 => false,
            1 => true,
            other => {
                let message = format!("unsupported format code: {other}");
                return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
            }
        });
    }
    Ok(formats)
}

fn of_column(formats: &[bool], at: usize) -> bool {
    match formats {
        [] => false,
        [all] => *all,
        each => each.get(at).copied().unwrap_or(false),
    }
}

/// What the formats of a result are. SQLSTATE 08P01 where they are too many or too few.
pub(crate) fn result_formats(formats: Vec<bool>, columns: usize) -> Result<Formats> {
    match formats[..] {
        [] | [false] => Ok(Formats::Text),
        [true] => Ok(Formats::Binary),
        _ if formats.len() == columns => Ok(Formats::Each(formats)),
        _ => {
            Err(violation(format!("bind message has {} result formats but query has {columns} columns", formats.len())))
        }
    }
}
