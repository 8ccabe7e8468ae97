//! Strings in columns of a limited length.

use crate::columns::{Data, Vector};
use crate::plan::Datum;
use crate::types::{DataType, EvalContext, NAME_BYTES_MAX, ValueRef, cast_assign, name_of};
use crate::{Result, Value};

/// Whether a column limits the length of its strings.
pub(super) fn is_limited(data_type: DataType) -> bool {
    matches!(data_type, DataType::Varchar(Some(_)) | DataType::Char(_) | DataType::Name)
}

/// Whether all strings of a vector are as a column of this type keeps them, as far as their bytes tell.
pub(super) fn all_fit(strings: &Vector, data_type: DataType) -> bool {
    let (Data::Bytes(strings), DataType::Varchar(Some(limit))) = (strings.data(), data_type) else { return false };
    (0..strings.len()).all(|row| strings.get(row).len() <= limit as usize)
}

/// A value as a column keeps it, where that is not as it is (SQLSTATE 22001: it is too long): a string of another length
/// than `char(n)`'s, or of more characters than `varchar(n)` takes but blanks.
pub(crate) fn fitted(value: ValueRef<'_>, to: DataType, eval: &EvalContext) -> Result<Option<Value>> {
    if let (ValueRef::Text(text), DataType::Name) = (value, to) {
        return Ok((text.len() > NAME_BYTES_MAX).then(|| Value::text(name_of(text))));
    }
    let (ValueRef::Text(text), DataType::Varchar(Some(limit)) | DataType::Char(limit)) = (value, to) else {
        return Ok(None);
    };
    let limit = limit as usize;
    let fits = match to {
        DataType::Char(_) => text.chars().count() == limit,
        _ => text.len() <= limit || text.chars().count() <= limit,
    };
    if fits {
        return Ok(None);
    }
    cast_assign(&value.to_value(), DataType::Text, to, eval).map(Some)
}

/// A computed value as its column keeps it.
pub(crate) fn settle(value: Datum<'_>, data_type: DataType, eval: &EvalContext) -> Result<Value> {
    match fitted(value.get(), data_type, eval)? {
        Some(fitted) => Ok(fitted),
        None => Ok(value.into_value()),
    }
}
