//! The values of a row as its tree has it, without copying what can be lent.

use super::datum::Datum;
use crate::catalog::{ColumnPlace, TableLayout};
use crate::types::row::decode_raw;
use crate::types::{DataType, ValueRef, key};
use crate::{Error, Result, Value};

/// A row as its tree has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored<'a> {
    pub(crate) layout: &'a TableLayout,
    pub(crate) key: &'a [u8],
    pub(crate) value: &'a [u8],
}

impl<'a> Stored<'a> {
    /// A column of the primary key as an owned value.
    pub(crate) fn key_value(&self, at: usize) -> Result<Value> {
        let mut rest = self.key;
        let types = self.layout.key_types();
        for &data_type in types.iter().take(at) {
            key::skip_value(&mut rest, data_type, false, false)?;
        }
        let data_type = types.get(at).ok_or_else(|| Error::internal("no such key column"))?;
        key::decode_value(&mut rest, *data_type, false, false)
    }

    /// Any column, lent where the row has it as it is.
    pub(crate) fn datum(&self, column: usize) -> Result<Datum<'a>> {
        let at = match self.layout.place(column) {
            ColumnPlace::Key(at) => return self.key_value(at).map(Datum::Own),
            ColumnPlace::Row(at) => at,
        };
        match self.layout.raw_column(self.value, at)? {
            Some(raw) => lend(raw, self.layout.row().types()[at]),
            None => Ok(Datum::Lent(ValueRef::Null)),
        }
    }
}

/// The value of a column's bytes: strings are lent, the others need no heap (but for long numerics).
fn lend(raw: &[u8], data_type: DataType) -> Result<Datum<'_>> {
    match data_type {
        DataType::Text | DataType::Varchar(_) | DataType::Char(_) | DataType::Name => match std::str::from_utf8(raw) {
            Ok(text) => Ok(Datum::Lent(ValueRef::Text(text))),
            Err(_) => Err(Error::damaged("a row is damaged")),
        },
        DataType::Bytea => Ok(Datum::Lent(ValueRef::Bytea(raw))),
        _ => decode_raw(raw, data_type).map(Datum::Own),
    }
}
