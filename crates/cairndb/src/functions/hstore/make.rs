//! `hstore()` of texts, of arrays and of rows; and rows of it.

use super::{HSTORE, TEXT, kind, texts};
use crate::functions::catalogue::Catalogue;
use crate::functions::support::wrong_arguments;
use crate::functions::{Declared, Function};
use crate::types::{Composite, DataType, EvalContext, Hstore, Value, from_text, to_text};
use crate::{Error, Result, SqlState};

pub(super) fn register(catalogue: &mut Catalogue) {
    for name in ["hstore", "tconvert"] {
        catalogue.add_polymorphic(name, &[TEXT, TEXT], HSTORE, of_pair).called_on_null();
    }
    catalogue.add_polymorphic("hstore", &[texts(), texts()], HSTORE, of_arrays).called_on_null();
    catalogue.add_polymorphic("hstore", &[texts()], HSTORE, of_array);
    catalogue.add_polymorphic("hstore", &[Declared::Record], HSTORE, of_row).stable();
    for name in ["#=", "populate_record"] {
        let args = [Declared::Element, HSTORE];
        catalogue.add_polymorphic(name, &args, Declared::Element, populated).called_on_null().stable();
    }
}

/// No pair without a key.
fn of_pair(function: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    match args {
        [Value::Null, _] => Ok(Value::Null),
        [Value::Text(key), value] => Hstore::new(kind(function)?, vec![(key, value.as_str())]).map(Value::Hstore),
        _ => Err(wrong_arguments(args)),
    }
}

fn of_arrays(function: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    match args {
        [Value::Null, _] => Ok(Value::Null),
        [Value::Array(keys), values] => Hstore::of_arrays(kind(function)?, keys, values.as_array()).map(Value::Hstore),
        _ => Err(wrong_arguments(args)),
    }
}

fn of_array(function: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    match args {
        [Value::Array(array)] => Hstore::of_array(kind(function)?, array).map(Value::Hstore),
        _ => Err(wrong_arguments(args)),
    }
}

/// Columns by their names.
fn of_row(function: &Function, args: &[Value], context: &EvalContext) -> Result<Value> {
    let [Value::Composite(row)] = args else { return Err(wrong_arguments(args)) };
    let names = row.of().attributes().iter().map(|attribute| &*attribute.name);
    let value = |value: &Value| (!value.is_null()).then(|| to_text(value, context));
    let pairs: Vec<(&str, Option<String>)> = names.zip(row.values().iter().map(value)).collect();
    let pairs = pairs.iter().map(|(name, value)| (*name, value.as_deref())).collect();
    Hstore::new(kind(function)?, pairs).map(Value::Hstore)
}

/// The row with what the hstore has for its columns. SQLSTATE 42804 for what is no row.
fn populated(function: &Function, args: &[Value], context: &EvalContext) -> Result<Value> {
    let DataType::Composite(of) = function.returns else {
        return Err(Error::new(SqlState::DATATYPE_MISMATCH, "first argument must be a rowtype"));
    };
    let (base, pairs) = match args {
        [base, Value::Null] => return Ok(base.clone()),
        [base, Value::Hstore(pairs)] => (base, pairs),
        _ => return Err(wrong_arguments(args)),
    };
    let before = base.as_composite();
    if before.is_some() && pairs.is_empty() {
        return Ok(base.clone());
    }
    let mut values = Vec::with_capacity(of.attributes().len());
    for (at, attribute) in of.attributes().iter().enumerate() {
        values.push(match pairs.get(&attribute.name) {
            Some(Some(text)) => from_text(text, attribute.data_type, context)?,
            Some(None) => Value::Null,
            None => before.and_then(|row| row.values().get(at).cloned()).unwrap_or(Value::Null),
        });
    }
    Ok(Composite::new(of, values).into())
}
