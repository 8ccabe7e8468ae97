//! Rows as values: what binding makes of `ROW(...)`, `(row).attribute`, `row IS NULL`, and the functions of rows.

use std::sync::Arc;

use super::arrays::{Form, form};
use super::catalogue::Typed;
use super::json::write_value;
use super::support::wrong_arguments;
use super::{Function, Volatility};
use crate::types::{Attribute, Composite, CompositeType, DataType, EvalContext, Value};
use crate::{Error, Result};

/// The row of these attributes' values.
pub fn constructor(of: CompositeType) -> Arc<Function> {
    let args = of.attributes().iter().map(|attribute| attribute.data_type.base()).collect();
    form(Form::Row, "ROW", args, DataType::Composite(of), construct)
}

/// It makes a row of its arguments.
pub fn is_constructor(function: &Function) -> bool {
    function.entry == Form::Row as u64
}

/// A value of which no part's text as JSON depends on the session's time zone or on names in the catalog: what does is JSON already.
pub fn zones_written(data_type: DataType) -> Option<Arc<Function>> {
    let returns = without_zones(data_type)?;
    let written = form(Form::ZonesWritten, "json_zones", [data_type].into(), returns, |_, args, context| match args {
        [value] => write_zones(value, context),
        _ => Err(wrong_arguments(args)),
    });
    Some(Arc::new(Function { volatility: Volatility::Stable, folds: false, ..Arc::unwrap_or_clone(written) }))
}

/// The type with `json` for times with a zone and for oids with names; `None`: it has none.
fn without_zones(data_type: DataType) -> Option<DataType> {
    match data_type {
        DataType::TimestampTz(_) | DataType::Reg(_) => Some(DataType::Json),
        DataType::Array(element) => without_zones(element.data_type())?.array(),
        DataType::Composite(of) => {
            let has_zone = |attribute: &Attribute| without_zones(attribute.data_type).is_some();
            // What is only known to be a `record` may have some.
            let has_zones = of.attributes().is_empty() || of.attributes().iter().any(has_zone);
            has_zones.then(CompositeType::any_record)?.ok().map(DataType::Composite)
        }
        _ => None,
    }
}

fn write_zones(value: &Value, context: &EvalContext) -> Result<Value> {
    match value {
        Value::TimestampTz(_) | Value::Reg(_) => {
            let mut text = String::new();
            write_value(value, context, &mut text);
            Ok(Value::Json(text.into()))
        }
        Value::Array(array) => match without_zones(array.element()) {
            Some(element) => Ok(array.map(element, |value| write_zones(value, context))?.into()),
            None => Ok(value.clone()),
        },
        Value::Composite(row) => {
            let values = row.values().iter().map(|value| write_zones(value, context)).collect::<Result<Vec<_>>>()?;
            let of_type = |of: DataType| without_zones(of).unwrap_or(of);
            let attributes = row.of().attributes().iter();
            let named = attributes.map(|attribute| (attribute.name.clone(), of_type(attribute.data_type)));
            Ok(Composite::new(CompositeType::record(named)?, values).into())
        }
        other => Ok(other.clone()),
    }
}

/// An attribute of a row: the row, and which one, from 0.
pub fn attribute_of(of: CompositeType, data_type: DataType) -> Arc<Function> {
    form(Form::Attribute, "row_attribute", [DataType::Composite(of), DataType::Integer].into(), data_type, attribute)
}

/// The row with an attribute replaced: the row, the value, which attribute.
pub fn with_attribute(of: CompositeType, data_type: DataType) -> Arc<Function> {
    let args = [DataType::Composite(of), data_type, DataType::Integer];
    form(Form::WithAttribute, "row_set_attribute", args.into(), DataType::Composite(of), replace)
}

/// Whether a row is NULL, or every attribute is; `absent` false: whether it is none of that, and no attribute is NULL.
pub fn is_null_row(of: CompositeType, absent: bool) -> Arc<Function> {
    let (kind, name, eval): (_, _, Typed) = match absent {
        true => (Form::IsNullRow, "row_is_null", |_, args, _| all(args, Value::is_null, true)),
        false => (Form::IsNotNullRow, "row_is_not_null", |_, args, _| all(args, |value| !value.is_null(), false)),
    };
    form(kind, name, [DataType::Composite(of)].into(), DataType::Boolean, eval)
}

fn construct(function: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    match function.returns {
        DataType::Composite(of) => Ok(Composite::new(of, args.to_vec()).into()),
        _ => Err(Error::internal("a row of no composite type")),
    }
}

fn attribute(_: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    match args {
        [Value::Composite(row), Value::Integer(at)] => {
            Ok(row.values().get(*at as usize).cloned().unwrap_or(Value::Null))
        }
        [Value::Null, _] => Ok(Value::Null),
        _ => Err(wrong_arguments(args)),
    }
}

fn replace(function: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    let (DataType::Composite(of), [row, value, Value::Integer(at)]) = (function.returns, args) else {
        return Err(wrong_arguments(args));
    };
    let mut values = row.as_composite().map_or_else(Vec::new, |row| row.values().to_vec());
    values.resize(of.attributes().len(), Value::Null);
    *values.get_mut(*at as usize).ok_or_else(|| wrong_arguments(args))? = value.clone();
    Ok(Composite::new(of, values).into())
}

fn all(args: &[Value], is: impl Fn(&Value) -> bool, of_null: bool) -> Result<Value> {
    match args {
        [Value::Composite(row)] => Ok(Value::Boolean(row.values().iter().all(is))),
        [Value::Null] => Ok(Value::Boolean(of_null)),
        _ => Err(wrong_arguments(args)),
    }
}
