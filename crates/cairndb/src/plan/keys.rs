//! Which conditions a key can answer: `column op constant`, as a value in the key's own encoding.

use super::expr::Expr;
use super::refs::{is_volatile, used_columns};
use crate::functions::Operator;
use crate::types::{DataType, Value};

/// `column op value`, where `value` has the column's type and does not depend on the row.
pub(super) struct KeyCondition {
    pub(super) column: usize,
    pub(super) op: Operator,
    pub(super) value: Expr,
}

/// The condition as one on a key column; `type_of` gives the columns' types.
pub(super) fn key_condition(condition: &Expr, type_of: &dyn Fn(usize) -> Option<DataType>) -> Option<KeyCondition> {
    let Expr::Call { function, args } = condition else { return None };
    let [first, second] = args.as_slice() else { return None };
    let op = function.op.filter(|op| op.is_comparison())?;
    one_sided(first, second, op, type_of).or_else(|| one_sided(second, first, op.commuted()?, type_of))
}

fn one_sided(
    column: &Expr,
    value: &Expr,
    op: Operator,
    type_of: &dyn Fn(usize) -> Option<DataType>,
) -> Option<KeyCondition> {
    let column = key_column(column, type_of)?;
    if is_volatile(value) || !used_columns(value).is_empty() {
        return None;
    }
    Some(KeyCondition { column, op, value: key_value(value, type_of(column)?)? })
}

/// `column IN (constants)`.
pub(super) fn key_list(condition: &Expr, type_of: &dyn Fn(usize) -> Option<DataType>) -> Option<(usize, Vec<Expr>)> {
    let Expr::InList { input, list, .. } = condition else { return None };
    let column = key_column(input, type_of)?;
    let data_type = type_of(column)?;
    let constant = |value: &Expr| used_columns(value).is_empty() && !is_volatile(value);
    let values = list.iter().map(|value| key_value(value, data_type).filter(constant));
    Some((column, values.collect::<Option<_>>()?))
}

/// `column = ANY (array)`: the array, of the column's type.
pub(super) fn key_any(condition: &Expr, type_of: &dyn Fn(usize) -> Option<DataType>) -> Option<(usize, Expr)> {
    let Expr::Call { function, args } = condition else { return None };
    let [input, array] = args.as_slice() else { return None };
    if !function.is_equal_to_any() || is_volatile(array) || !used_columns(array).is_empty() {
        return None;
    }
    let column = key_column(input, type_of)?;
    let (data_type, element) = (type_of(column)?, array.data_type().element()?);
    use DataType as T;
    match (element, data_type) {
        (T::Varchar(_) | T::Text, T::Varchar(_) | T::Text | T::Name) => Some((column, array.clone())),
        _ if element.base() == data_type.base() => Some((column, array.clone())),
        (T::SmallInt, T::Integer | T::BigInt) | (T::Integer, T::BigInt) => {
            Some((column, Expr::Cast { input: Box::new(array.clone()), to: data_type.array()? }))
        }
        _ => None,
    }
}

/// How many elements the array has: those of a constant, or a guess that is PostgreSQL's.
pub(super) fn elements_of(array: &Expr) -> f64 {
    match array {
        Expr::Literal { value: Value::Array(array), .. } => array.values().len() as f64,
        Expr::Cast { input, .. } => elements_of(input),
        _ => 10.0,
    }
}

/// The column, also under a cast that keeps order and equality.
pub(super) fn key_column(expr: &Expr, type_of: &dyn Fn(usize) -> Option<DataType>) -> Option<usize> {
    match expr {
        Expr::Column { index, .. } => Some(*index),
        Expr::Cast { input, to } => match &**input {
            Expr::Column { index, .. } if keeps_order(type_of(*index)?, *to) => Some(*index),
            _ => None,
        },
        _ => None,
    }
}

/// What is under a cast that keeps order and equality.
pub(super) fn under_cast(expr: &Expr) -> &Expr {
    match expr {
        Expr::Cast { input, to } if keeps_order(input.data_type(), *to) => input,
        other => other,
    }
}

fn keeps_order(from: DataType, to: DataType) -> bool {
    use DataType as T;
    match (from, to) {
        (T::Varchar(_) | T::Text | T::Name, T::Text | T::Varchar(None)) => true,
        (T::SmallInt, T::Integer | T::BigInt) | (T::Integer, T::BigInt) => true,
        _ => from.base() == to,
    }
}

/// The value in the key column's type, if that is certain to be possible without changing what the comparison says.
pub(super) fn key_value(value: &Expr, column: DataType) -> Option<Expr> {
    use DataType as T;
    let from = value.data_type();
    match (from, column) {
        // (Text that is too long for a name is the key of none.)
        (T::Varchar(_) | T::Text, T::Varchar(_) | T::Text | T::Name) => Some(value.clone()),
        _ if from.base() == column.base() => Some(value.clone()),
        (T::SmallInt, T::Integer | T::BigInt) | (T::Integer, T::BigInt) => match narrowed(value, column) {
            Some(literal) => Some(literal),
            None => Some(Expr::Cast { input: Box::new(value.clone()), to: column }),
        },
        (T::BigInt | T::Integer, T::Integer | T::SmallInt) => narrowed(value, column),
        _ => None,
    }
}

/// An integer literal as one of another integer type, if it fits.
fn narrowed(value: &Expr, to: DataType) -> Option<Expr> {
    let Expr::Literal { value, .. } = value else { return None };
    let number = match value {
        Value::SmallInt(number) => i64::from(*number),
        Value::Integer(number) => i64::from(*number),
        Value::BigInt(number) => *number,
        _ => return None,
    };
    let value = match to {
        DataType::SmallInt => Value::SmallInt(i16::try_from(number).ok()?),
        DataType::Integer => Value::Integer(i32::try_from(number).ok()?),
        DataType::BigInt => Value::BigInt(number),
        _ => return None,
    };
    Some(Expr::Literal { value, data_type: to })
}
