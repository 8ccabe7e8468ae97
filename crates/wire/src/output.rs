//! Messages to the client, written one behind the other into one buffer.

use std::fmt::Write;

use cairndb::{
    ColumnOrigin, DataType, Error, EvalContext, Field, Notice, Row, ValueRef, from_text, write_binary, write_text,
};

use crate::error::violation;

/// Bytes that are to be sent.
#[derive(Default)]
pub(crate) struct Output {
    pub(crate) bytes: Vec<u8>,
    /// Where the texts of values are made that have no shorter way.
    text: String,
}

/// Whether columns go in text or in binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Formats {
    Text,
    Binary,
    /// By column.
    Each(Vec<bool>),
}

impl Formats {
    pub(crate) fn is_binary(&self, column: usize) -> bool {
        match self {
            Formats::Text => false,
            Formats::Binary => true,
            Formats::Each(each) => each.get(column).copied().unwrap_or(false),
        }
    }
}

/// How bad something is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    Error,
    Fatal,
}

impl Output {
    /// A message of a type, whose body `write` appends.
    pub(crate) fn message(&mut self, kind: u8, write: impl FnOnce(&mut Vec<u8>)) {
        self.bytes.push(kind);
        let place = self.bytes.len();
        self.bytes.extend([0; 4]);
        write(&mut self.bytes);
        self.end_at(place);
    }

    fn end_at(&mut self, place: usize) {
        // Longer than this is no row: values have less than a GiB, and rows are refused beyond that in `row`.
        let length = u32::try_from(self.bytes.len() - place).unwrap_or(u32::MAX);
        self.bytes[place..place + 4].copy_from_slice(&length.to_be_bytes());
    }

    pub(crate) fn empty(&mut self, kind: u8) {
        self.bytes.extend([kind, 0, 0, 0, 4]);
    }

    pub(crate) fn authentication(&mut self, code: i32, data: &[u8]) {
        self.message(b'R', |out| {
            out.extend(code.to_be_bytes());
            out.extend(data);
        });
    }

    pub(crate) fn parameter(&mut self, name: &str, value: &str) {
        self.message(b'S', |out| {
            put_text(out, name);
            put_text(out, value);
        });
    }

    pub(crate) fn key(&mut self, process: i32, secret: &[u8]) {
        self.message(b'K', |out| {
            out.extend(process.to_be_bytes());
            out.extend(secret);
        });
    }

    pub(crate) fn ready(&mut self, status: u8) {
        self.message(b'Z', |out| out.push(status));
    }

    pub(crate) fn notification(&mut self, process: i32, channel: &str, payload: &str) {
        self.message(b'A', |out| {
            out.extend(process.to_be_bytes());
            put_text(out, channel);
            put_text(out, payload);
        });
    }

    pub(crate) fn complete(&mut self, tag: &str) {
        self.message(b'C', |out| put_text(out, tag));
    }

    /// CopyInResponse (`G`) or CopyOutResponse (`H`).
    pub(crate) fn copy(&mut self, kind: u8, is_binary: bool, columns: usize) {
        self.message(kind, |out| {
            out.push(is_binary.into());
            out.extend((columns as u16).to_be_bytes());
            (0..columns).for_each(|_| out.extend(u16::from(is_binary).to_be_bytes()));
        });
    }

    pub(crate) fn copy_data(&mut self, data: &[u8]) {
        self.message(b'd', |out| out.extend(data));
    }

    pub(crate) fn parameters(&mut self, types: &[DataType]) {
        self.message(b't', |out| {
            out.extend((types.len() as u16).to_be_bytes());
            types.iter().for_each(|of| out.extend(of.oid().to_be_bytes()));
        });
    }

    /// `origins`: which table's columns they show, as far as that is known.
    pub(crate) fn columns(&mut self, fields: &[Field], origins: &[Option<ColumnOrigin>], formats: &Formats) {
        self.message(b'T', |out| {
            out.extend((fields.len() as u16).to_be_bytes());
            for (at, field) in fields.iter().enumerate() {
                put_text(out, &field.name);
                let origin = origins.get(at).copied().flatten();
                out.extend(origin.map_or(0, |origin| origin.relation).to_be_bytes());
                out.extend(origin.map_or(0, |origin| origin.number).to_be_bytes());
                out.extend(field.data_type.oid().to_be_bytes());
                out.extend(width(field.data_type).to_be_bytes());
                out.extend(field.data_type.type_modifier().to_be_bytes());
                out.extend(u16::from(formats.is_binary(at)).to_be_bytes());
            }
        });
    }

    /// SQLSTATE 54000 where a value, or the row, is too long for a message; nothing of it is written then.
    pub(crate) fn row(
        &mut self,
        row: &Row<'_>,
        columns: &[Field],
        formats: &Formats,
        context: &EvalContext,
    ) -> Result<(), Error> {
        let start = self.bytes.len();
        self.bytes.push(b'D');
        self.bytes.extend([0; 4]);
        self.bytes.extend((columns.len() as u16).to_be_bytes());
        for (at, field) in columns.iter().enumerate() {
            let written = match formats.is_binary(at) {
                true => self.binary(row, at, field.data_type, context),
                false => self.text(row, at, context),
            };
            if let Err(error) = written {
                self.bytes.truncate(start);
                return Err(error);
            }
        }
        if i32::try_from(self.bytes.len() - start).is_err() {
            self.bytes.truncate(start);
            return Err(Error::new(cairndb::SqlState::PROGRAM_LIMIT_EXCEEDED, "a row is too long for one message"));
        }
        self.end_at(start + 1);
        Ok(())
    }

    fn binary(&mut self, row: &Row<'_>, at: usize, data_type: DataType, context: &EvalContext) -> Result<(), Error> {
        match row.value_ref(at) {
            ValueRef::Null => self.bytes.extend((-1i32).to_be_bytes()),
            // A result has the name; what the format wants is the oid.
            ValueRef::Text(name) if let DataType::RegName(of) = data_type => {
                let value = from_text(name, DataType::Reg(of), context)?;
                return write_binary(&value, DataType::Reg(of), &mut self.bytes);
            }
            ValueRef::Integer(value) => self.put(&value.to_be_bytes()),
            ValueRef::SmallInt(value) => self.put(&value.to_be_bytes()),
            ValueRef::BigInt(value) if data_type == DataType::BigInt => self.put(&value.to_be_bytes()),
            ValueRef::Text(text) if data_type != DataType::InternalChar => self.put(text.as_bytes()),
            _ => return write_binary(row.value(at), data_type, &mut self.bytes),
        }
        Ok(())
    }

    fn text(&mut self, row: &Row<'_>, at: usize, context: &EvalContext) -> Result<(), Error> {
        match row.value_ref(at) {
            ValueRef::Null => self.bytes.extend((-1i32).to_be_bytes()),
            ValueRef::Text(text) | ValueRef::Json(text) => self.put_checked(text.as_bytes())?,
            value => {
                let mut text = std::mem::take(&mut self.text);
                text.clear();
                match value.as_i64() {
                    // Without a value of its own. (Writing to a string can not fail.)
                    Some(integer) => _ = write!(text, "{integer}"),
                    None => write_text(row.value(at), context, &mut text),
                }
                let put = self.put_checked(text.as_bytes());
                self.text = text;
                put?;
            }
        }
        Ok(())
    }

    fn put(&mut self, value: &[u8]) {
        self.bytes.extend((value.len() as u32).to_be_bytes());
        self.bytes.extend(value);
    }

    fn put_checked(&mut self, value: &[u8]) -> Result<(), Error> {
        if i32::try_from(value.len()).is_err() {
            return Err(violation("a value is too long for the protocol"));
        }
        self.put(value);
        Ok(())
    }

    /// `offset`: how many characters of the user's text come before the statement's.
    pub(crate) fn error(&mut self, error: &Error, severity: Severity, offset: usize) {
        let severity = if severity == Severity::Fatal { "FATAL" } else { "ERROR" };
        let position = error.position().map(|position| (position + offset).to_string());
        self.message(b'E', |out| {
            let mut field = |kind, text: Option<&str>| put_field(out, kind, text);
            field(b'S', Some(severity));
            field(b'V', Some(severity));
            field(b'C', Some(error.sqlstate().as_str()));
            field(b'M', Some(error.message()));
            field(b'D', error.detail());
            field(b'H', error.hint());
            field(b'P', position.as_deref());
            field(b'W', error.context());
            field(b's', error.schema());
            field(b't', error.table());
            field(b'c', error.column());
            field(b'd', error.data_type());
            field(b'n', error.constraint());
            field(b'R', error.routine());
            out.push(0);
        });
    }

    pub(crate) fn notice(&mut self, notice: &Notice) {
        self.message(b'N', |out| {
            put_field(out, b'S', Some(notice.severity));
            put_field(out, b'V', Some(notice.severity));
            put_field(out, b'C', Some(notice.code.as_str()));
            put_field(out, b'M', Some(&notice.message));
            put_field(out, b'D', notice.detail.as_deref());
            out.push(0);
        });
    }
}

/// A field of an error or notice.
fn put_field(out: &mut Vec<u8>, kind: u8, text: Option<&str>) {
    if let Some(text) = text {
        out.push(kind);
        put_text(out, text);
    }
}

/// A text and the zero that ends it; texts of SQL have none in them, those that a client gave are cut at the first.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend(text.bytes().take_while(|byte| *byte != 0));
    out.push(0);
}

/// `typlen`: -1 where it depends on the value.
fn width(data_type: DataType) -> i16 {
    match data_type {
        DataType::Boolean | DataType::InternalChar => 1,
        DataType::SmallInt => 2,
        DataType::Integer | DataType::Real | DataType::Date | DataType::Oid | DataType::Enum(_) | DataType::Void => 4,
        DataType::Reg(_) | DataType::RegName(_) => 4,
        DataType::BigInt | DataType::Double | DataType::Time(_) | DataType::Timestamp(_) | DataType::TimestampTz(_) => {
            8
        }
        DataType::TimeTz(_) => 12,
        DataType::Interval(_) | DataType::Uuid => 16,
        DataType::Name => 64,
        DataType::Unknown => -2,
        _ => -1,
    }
}
