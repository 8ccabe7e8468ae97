//! `enum_first`, `enum_last`, `enum_range`: what there is of an enum, whatever the values say.

use super::catalogue::Catalogue;
use super::support::wrong_arguments;
use super::{Declared, Function};
use crate::types::{Array, DataType, EnumType, Value};
use crate::{Error, Result, SqlState};

pub(super) fn register(catalogue: &mut Catalogue) {
    let one = [Declared::Enum];
    catalogue
        .add_polymorphic("enum_first", &one, Declared::Enum, |function, _, _| end_of(function, true))
        .bounded()
        .called_on_null()
        .stable_in_name();
    catalogue
        .add_polymorphic("enum_last", &one, Declared::Enum, |function, _, _| end_of(function, false))
        .bounded()
        .called_on_null()
        .stable_in_name();
    catalogue
        .add_polymorphic("enum_range", &one, Declared::Array, |function, _, _| range(function, [None; 2]))
        .bounded()
        .called_on_null()
        .stable_in_name();
    let ends = [Declared::Enum, Declared::Enum];
    let between = |function: &Function, args: &[Value], _: &_| range(function, bounds(args)?);
    catalogue
        .add_polymorphic("enum_range", &ends, Declared::Array, between)
        .bounded()
        .called_on_null()
        .stable_in_name();
}

fn of(function: &Function) -> Result<EnumType> {
    match function.args.first() {
        Some(DataType::Enum(of)) => Ok(*of),
        _ => Err(Error::internal("not an enum")),
    }
}

/// The first label's value or the last one's; SQLSTATE 55000.
fn end_of(function: &Function, first: bool) -> Result<Value> {
    let of = of(function)?;
    let label = if first { of.labels().first() } else { of.labels().last() };
    label.map(|label| Value::Enum(of.value(label.key))).ok_or_else(|| {
        let message = format!("enum {} contains no values", DataType::Enum(of).type_name());
        Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
    })
}

/// The keys at the ends; NULL leaves one open.
fn bounds(args: &[Value]) -> Result<[Option<i64>; 2]> {
    match args {
        [from, to] => Ok([from, to].map(|end| if let Value::Enum(value) = end { Some(value.key()) } else { None })),
        _ => Err(wrong_arguments(args)),
    }
}

fn range(function: &Function, [from, to]: [Option<i64>; 2]) -> Result<Value> {
    let of = of(function)?;
    let within = |key: i64| from.is_none_or(|from| from <= key) && to.is_none_or(|to| key <= to);
    let labels = of.labels().iter().filter(|label| within(label.key));
    let values = labels.map(|label| Value::Enum(of.value(label.key))).collect();
    Ok(Array::new(DataType::Enum(of), values).into())
}
