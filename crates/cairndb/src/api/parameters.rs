//! Fits parameters to the types that the statement asks for.

use super::{Params, ValueRef};
use crate::types::datetime::{is_date, is_time, is_timestamp};
use crate::types::{DataType, EvalContext, cast_assign, from_text};
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

pub(super) fn fit(value: ValueRef<'_>, to: DataType, context: &EvalContext) -> Result<Value> {
    if let ValueRef::Made(made) = value {
        let value = made.0.make_value();
        return fit(ValueRef::from(&value), to, context);
    }
    let from = value.data_type().unwrap_or(DataType::Unknown);
    check_moment(&value)?;
    match (&value, to) {
        (ValueRef::Null, _) => Ok(Value::Null),
        (ValueRef::Text(text), DataType::Text | DataType::Varchar(_) | DataType::Char(_)) => Ok(Value::text(*text)),
        (ValueRef::Text(text), _) => from_text(text, to, context),
        _ if from == to => Ok(value.to_value()),
        _ => convert(value.to_value(), from, to, context),
    }
}

/// SQLSTATE 22008 for moments that numbers and other crates' types have and SQL's have not.
fn check_moment(value: &ValueRef<'_>) -> Result<()> {
    let is_one = match value {
        ValueRef::Date(days) => is_date(*days),
        ValueRef::Time(micros) => is_time(*micros),
        ValueRef::Timestamp(micros) | ValueRef::TimestampTz(micros) => is_timestamp(*micros),
        ValueRef::Array(array) if array.element().is_moment() => {
            return array.values().iter().try_for_each(|value| check_moment(&value.into()));
        }
        _ => true,
    };
    if is_one { Ok(()) } else { Err(Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "date/time value out of range")) }
}

/// As assignment converts, but never losing a fraction that an integer cannot have.
fn convert(value: Value, from: DataType, to: DataType, context: &EvalContext) -> Result<Value> {
    let converted = cast_assign(&value, from, to, context)?;
    if to.element().unwrap_or(to).is_integer() && cast_assign(&converted, to, from, context)? != value {
        let message = "the parameter is not a whole number";
        return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
    }
    Ok(converted)
}
