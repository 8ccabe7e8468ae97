//! `h['key']`, `SET h['key'] = x`.

use std::sync::Arc;

use super::{kind, text_or_null};
use crate::functions::Function;
use crate::functions::catalogue::{Kernel, Typed};
use crate::functions::support::wrong_arguments;
use crate::types::{DataType, EvalContext, Hstore, Value};
use crate::{Error, Result, SqlState};

/// Entries that a syntax calls and no name does; arrays and documents have those above.
const ELEMENT: u64 = u64::MAX - 18;
const WITH_ELEMENT: u64 = u64::MAX - 17;

/// `h[key]`: the hstore and the key.
pub(crate) fn element_at(of: DataType) -> Arc<Function> {
    form(ELEMENT, "hstore_subscript", [of, DataType::Text].into(), DataType::Text, get)
}

/// The hstore with a value replaced, or added: the hstore, the value, the key.
pub(crate) fn with_element(of: DataType) -> Arc<Function> {
    form(WITH_ELEMENT, "hstore_set_subscript", [of, DataType::Text, DataType::Text].into(), of, set)
}

/// SQLSTATE 0A000 for several subscripts, and for slices.
pub(crate) fn several_subscripts() -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, "hstore allows only one subscript")
}

/// SQLSTATE 42804 for what is no text.
pub(crate) fn no_key() -> Error {
    Error::new(SqlState::DATATYPE_MISMATCH, "hstore subscript must have type text")
}

fn form(entry: u64, name: &'static str, args: Box<[DataType]>, returns: DataType, eval: Typed) -> Arc<Function> {
    Arc::new(Function { entry, strict: false, ..Function::new(name, args, returns, Kernel::Typed(eval)) })
}

fn get(_: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    match args {
        [Value::Hstore(of), Value::Text(key)] => Ok(text_or_null(of.get(key).flatten())),
        [_, _] => Ok(Value::Null),
        _ => Err(wrong_arguments(args)),
    }
}

/// Of what is NULL becomes an hstore of one pair.
fn set(function: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    let [before, value, key] = args else { return Err(wrong_arguments(args)) };
    let key = key.as_str().ok_or_else(|| {
        Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, "hstore subscript in assignment must not be null")
    })?;
    let mut pairs = vec![(key, value.as_str())];
    if let Value::Hstore(before) = before {
        pairs.extend(before.pairs());
    }
    Hstore::new(kind(function)?, pairs).map(Value::Hstore)
}
