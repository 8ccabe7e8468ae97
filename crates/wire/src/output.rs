//! Messages to the client, written one behind the other into one buffer.

use cairndb::{ColumnOrigin, DataType, Error, Field, Form, Notice, Row, SqlState, ValueRef};

use crate::error::violation;

/// Bytes that are to be sent.
#[derive(Default)]
pub(crate) struct Output {
    pub(crate) bytes: Vec<u8>,
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
    pub(crate) fn row(&mut self, row: &Row<'_>, formats: &Formats, form: &mut Form<'_>) -> Result<(), Error> {
        let start = self.bytes.len();
        let columns = row.columns();
        self.bytes.extend_from_slice(&[b'D', 0, 0, 0, 0]);
        self.bytes.extend_from_slice(&(columns.len() as u16).to_be_bytes());
        let mut each = columns.iter().enumerate();
        let written = each.try_for_each(|(at, field)| match formats.is_binary(at) {
            true => form.binary(row.value_ref(at), field.data_type, &mut self.bytes),
            false => text(row.value_ref(at), form, &mut self.bytes),
        });
        let is_short = i32::try_from(self.bytes.len() - start).is_ok();
        let too_long = || Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "a row is too long for one message");
        let whole = written.and_then(|()| is_short.then_some(()).ok_or_else(too_long));
        match whole {
            Ok(()) => self.end_at(start + 1),
            Err(_) => self.bytes.truncate(start),
        }
        whole
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

/// A value in text, behind its length.
#[inline]
fn text(value: ValueRef<'_>, form: &mut Form<'_>, out: &mut Vec<u8>) -> Result<(), Error> {
    if value.is_null() {
        out.extend_from_slice(&(-1i32).to_be_bytes());
        return Ok(());
    }
    let place = out.len();
    out.extend_from_slice(&[0; 4]);
    let start = out.len();
    form.text(value, out);
    let length = i32::try_from(out.len() - start).map_err(|_| violation("a value is too long for the protocol"))?;
    out[place..start].copy_from_slice(&length.to_be_bytes());
    Ok(())
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
        DataType::Macaddr => 6,
        DataType::Macaddr8 => 8,
        DataType::TimeTz(_) => 12,
        DataType::Interval(_) | DataType::Uuid => 16,
        DataType::Name => 64,
        DataType::Unknown => -2,
        _ => -1,
    }
}
