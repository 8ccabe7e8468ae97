//! An hstore of arrays of texts, and its errors.

use super::Hstore;
use crate::types::{Array, ExtensionType, Value};
use crate::{Error, Result, SqlState};

impl Hstore {
    /// Of keys and values in turn, or in two columns. SQLSTATE 2202E, 22004.
    pub(crate) fn of_array(of: ExtensionType, array: &Array) -> Result<Hstore> {
        match array.dimensions() {
            [] => {}
            [all] if all.length.is_multiple_of(2) => {}
            [_] => return Err(wrong("array must have even number of elements")),
            [_, columns] if columns.length == 2 => {}
            [_, _] => return Err(wrong("array must have two columns")),
            _ => return Err(wrong("wrong number of array subscripts")),
        }
        let pairs = array.values().as_chunks().0.iter();
        Hstore::new(of, pairs.map(|[key, value]| Ok((key_of(key)?, value.as_str()))).collect::<Result<_>>()?)
    }

    /// Of keys, and of as many values; none: they are all NULL. SQLSTATE 2202E, 22004.
    pub(crate) fn of_arrays(of: ExtensionType, keys: &Array, values: Option<&Array>) -> Result<Hstore> {
        if keys.dimensions().len() > 1 || values.is_some_and(|values| values.dimensions().len() > 1) {
            return Err(wrong("wrong number of array subscripts"));
        }
        if values.is_some_and(|values| values.dimensions() != keys.dimensions()) {
            return Err(wrong("arrays must have same bounds"));
        }
        let value = |at: usize| values.and_then(|values| values.values().get(at)?.as_str());
        let pair = |(at, key)| Ok((key_of(key)?, value(at)));
        Hstore::new(of, keys.values().iter().enumerate().map(pair).collect::<Result<_>>()?)
    }
}

fn key_of(key: &Value) -> Result<&str> {
    let no_key = || Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, "null value not allowed for hstore key");
    key.as_str().ok_or_else(no_key)
}

fn wrong(message: &str) -> Error {
    Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message)
}
