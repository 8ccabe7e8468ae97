//! Fits parameters to the types that the statement asks for.

use super::Params;
use crate::types::{DataType, EvalContext, ValueRef, cast_assign, check_json, from_text, utf8};
use crate::{Error, Result, SqlState, Value};

/// The parameters as values of the given types.
pub(crate) fn collect(params: &dyn Params, types: &[DataType], context: &EvalContext) -> Result<Vec<Value>> {
    check_count(params.count(), types.len())?;
    let fit_one = |(index, &data_type): (usize, &DataType)| {
        fit(params.value(index), data_type, context).map_err(|error| {
            let place = format!("Parameter ${} of type {}.", index + 1, data_type);
            if error.detail().is_some() { error } else { error.with_detail(place) }
        })
    };
    types.iter().enumerate().map(fit_one).collect()
}

pub(crate) fn check_count(given: usize, wanted: usize) -> Result<()> {
    if given == wanted {
        return Ok(());
    }
    if given == 0 {
        return Err(Error::new(SqlState::UNDEFINED_PARAMETER, "there is no parameter $1"));
    }
    let message = format!("bind message supplies {given} parameters, but the statement requires {wanted}");
    Err(Error::new(SqlState("08P01"), message))
}

pub(crate) fn fit(value: ValueRef<'_>, to: DataType, context: &EvalContext) -> Result<Value> {
    if let ValueRef::Made(made) = value {
        let value = made.0.make_value();
        return fit(ValueRef::from(&value), to, context);
    }
    let from = value.data_type().unwrap_or(DataType::Unknown);
    check_sound(&value)?;
    match (&value, to) {
        (ValueRef::Null, _) => Ok(Value::Null),
        (ValueRef::Text(text), DataType::Text | DataType::Varchar(_) | DataType::Char(_)) => Ok(Value::text(*text)),
        (ValueRef::Text(text), _) => from_text(text, to, context),
        _ if from == to => Ok(value.to_value()),
        _ => convert(value.to_value(), from, to, context),
    }
}

/// SQLSTATE 22008, 22021, 22P02 for what numbers and texts of programs may be, and values of SQL may not.
fn check_sound(value: &ValueRef<'_>) -> Result<()> {
    if value.is_sound() {
        return Ok(());
    }
    match value {
        ValueRef::Text(text) => utf8(text.as_bytes()).map(drop),
        ValueRef::Json(text) => check_json(text),
        ValueRef::Array(array) => array.values().iter().try_for_each(|value| check_sound(&value.into())),
        _ => Err(Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "date/time value out of range")),
    }
}

/// As assignment converts, but never losing a fraction that an integer cannot have.
fn convert(value: Value, from: DataType, to: DataType, context: &EvalContext) -> Result<Value> {
    let converted = cast_assign(&value, from, to, context)?;
    let base = to.element().unwrap_or(to);
    if (base.is_integer() || base == DataType::Oid) && cast_assign(&converted, to, from, context)? != value {
        let message = "the parameter is not a whole number";
        return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
    }
    Ok(converted)
}
