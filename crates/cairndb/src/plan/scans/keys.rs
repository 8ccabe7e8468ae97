//! Which conditions a key can answer: `column op value`, as values of the key's own type.
//!
//! A value of another type is looked for as what the key's type has nearest to it (`functions/nearest.rs`), wherever the two are
//! compared in an order that the key keeps: one rule for constants, parameters, columns of joins, arrays and subqueries.

use std::sync::Arc;

use crate::functions::{
    EvalContext, Function, Matched, Nearest, Nearness, Operator, PatternKind, after, arrays, cast, nearness,
};
use crate::plan::expressions::expr::Expr;
use crate::plan::expressions::refs::is_constant;
use crate::plan::physical::KeyBound;
use crate::plan::rewrites::fold::fold;
use crate::types::{DataType, Value};

/// A condition on a column as keys see it. Its values have the column's type and do not depend on the row.
pub(in crate::plan) struct KeyCondition {
    pub(in crate::plan) column: usize,
    pub(in crate::plan) key: KeyPart,
}

/// What a column's values have to be.
pub(in crate::plan) enum KeyPart {
    /// This one.
    Equal(Expr),
    /// Within one of its spans ([`Function::nearest_spans`]); unless `exact` each row is to be asked again.
    Within { spans: Expr, exact: bool },
    /// Within these bounds; unless `exact` each row is to be asked again.
    Range { lower: Option<KeyBound>, upper: Option<KeyBound>, exact: bool },
}

/// The condition as one on a key column; `type_of` gives the columns' types.
pub(in crate::plan) fn key_condition(
    condition: &Expr,
    type_of: &dyn Fn(usize) -> Option<DataType>,
) -> Option<KeyCondition> {
    let Expr::Call { function, args } = condition else { return None };
    let [first, second] = args.as_slice() else { return None };
    if let Some(kind) = function.pattern {
        return beginning(first, kind, second, type_of);
    }
    let op = function.op.filter(|op| op.is_comparison())?;
    one_sided(first, second, op, type_of).or_else(|| one_sided(second, first, op.commuted()?, type_of))
}

/// A text that matches a pattern which is known: what it equals, or begins with.
fn beginning(
    side: &Expr,
    kind: PatternKind,
    pattern: &Expr,
    type_of: &dyn Fn(usize) -> Option<DataType>,
) -> Option<KeyCondition> {
    let (column, compared) = compared_column(side, type_of)?;
    let key = type_of(column)?;
    let is_text =
        |data_type: DataType| matches!(data_type.base(), DataType::Text | DataType::Varchar(_) | DataType::Name);
    if !is_text(key) || !is_text(compared) {
        return None;
    }
    let text = |text: &str| Expr::Literal { value: Value::text(text), data_type: DataType::Text };
    let key = match kind.matched(known_text(pattern)?)? {
        Matched::One(one) => KeyPart::Equal(text(&one)),
        Matched::Begin { with, all } => KeyPart::Range {
            lower: Some(KeyBound { value: text(&with), inclusive: true }),
            upper: after(&with).map(|after| KeyBound { value: text(&after), inclusive: false }),
            exact: all,
        },
    };
    Some(KeyCondition { column, key })
}

/// The text of a literal.
pub(in crate::plan) fn known_text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Literal { value: Value::Text(text), .. } => Some(text),
        _ => None,
    }
}

fn one_sided(
    side: &Expr,
    value: &Expr,
    op: Operator,
    type_of: &dyn Fn(usize) -> Option<DataType>,
) -> Option<KeyCondition> {
    let (column, compared) = compared_column(side, type_of)?;
    if !is_constant(value) {
        return None;
    }
    Some(KeyCondition { column, key: key_part(type_of(column)?, compared, op, value)? })
}

/// `column IN (constants)`.
pub(super) fn key_list(condition: &Expr, type_of: &dyn Fn(usize) -> Option<DataType>) -> Option<(usize, Vec<Expr>)> {
    let Expr::InList { input, list, .. } = condition else { return None };
    let (column, compared) = compared_column(input, type_of)?;
    let data_type = type_of(column)?;
    let values = list.iter().map(|value| key_value(value, data_type, compared).filter(is_constant));
    Some((column, values.collect::<Option<_>>()?))
}

/// `column = ANY (array)`: the array of the column's type, or where its elements' equals lie. `column IN (constants)`: the latter,
/// where it is no [`key_list`].
pub(super) fn key_any(condition: &Expr, type_of: &dyn Fn(usize) -> Option<DataType>) -> Option<KeyCondition> {
    if let Expr::InList { input, list, .. } = condition {
        return any_of_list(input, list, type_of);
    }
    let Expr::Call { function, args } = condition else { return None };
    let [input, array] = args.as_slice() else { return None };
    if !function.is_equal_to_any() || !is_constant(array) {
        return None;
    }
    let (column, compared) = compared_column(input, type_of)?;
    let (data_type, element) = (type_of(column)?, array.data_type().element()?);
    let key = match conversion(data_type, compared, element)? {
        Conversion::None => KeyPart::Equal(array.clone()),
        Conversion::Widening => KeyPart::Equal(Expr::Cast { input: Box::new(array.clone()), to: data_type.array()? }),
        Conversion::Nearest(nearness) if nearness.is_one() => {
            KeyPart::Equal(called(Function::nearest_elements(data_type.base().array()?, array.data_type()), array))
        }
        Conversion::Nearest(nearness) => within(data_type, array, nearness)?,
    };
    Some(KeyCondition { column, key })
}

fn any_of_list(input: &Expr, list: &[Expr], type_of: &dyn Fn(usize) -> Option<DataType>) -> Option<KeyCondition> {
    let (column, compared) = compared_column(input, type_of)?;
    let (key, element) = (type_of(column)?, list.first()?.data_type().base());
    let Conversion::Nearest(nearness) = conversion(key, compared, element)? else { return None };
    if nearness.is_one() || !list.iter().all(|value| is_constant(value) && value.data_type().base() == element) {
        return None;
    }
    let mut array = Expr::Call { function: arrays::constructor(element)?, args: list.to_vec() };
    fold(&mut array);
    Some(KeyCondition { column, key: within(key, &array, nearness)? })
}

/// Where the value's equals lie, or those of an array's elements.
fn within(key: DataType, value: &Expr, nearness: Nearness) -> Option<KeyPart> {
    let function = Arc::new(Function::nearest_spans(key.base().array()?, value.data_type()));
    let spans = Expr::Call { function, args: vec![value.clone()] };
    Some(KeyPart::Within { spans, exact: nearness.is_exact() })
}

/// How many elements the array has: those of a constant, or a guess that is PostgreSQL's.
pub(in crate::plan) fn elements_of(array: &Expr) -> f64 {
    match array {
        Expr::Literal { value: Value::Array(array), .. } => array.values().len() as f64,
        Expr::Cast { input, .. } => elements_of(input),
        Expr::Call { function, args } if function.is_spans() && args.iter().all(|arg| !arg.data_type().is_array()) => {
            1.0
        }
        Expr::Call { function, args } if function.is_nearest() => args.iter().map(elements_of).sum(),
        _ => 10.0,
    }
}

/// The column, also under a cast that keeps order and equality.
pub(in crate::plan) fn key_column(expr: &Expr, type_of: &dyn Fn(usize) -> Option<DataType>) -> Option<usize> {
    match expr {
        Expr::Column { index, .. } => Some(*index),
        Expr::Cast { input, to } => match &**input {
            Expr::Column { index, .. } if keeps_order(type_of(*index)?, *to) => Some(*index),
            _ => None,
        },
        _ => None,
    }
}

fn keeps_order(from: DataType, to: DataType) -> bool {
    use DataType as T;
    match (from, to) {
        (T::Varchar(_) | T::Text | T::Name, T::Text | T::Varchar(None)) => true,
        (T::SmallInt, T::Integer | T::BigInt) | (T::Integer, T::BigInt) | (T::Reg(_), T::Oid) => true,
        (T::Cidr, T::Inet) => true,
        _ => from.base() == to,
    }
}

/// The column, and the type that it is compared as: its own, or that of a cast.
fn compared_column(expr: &Expr, type_of: &dyn Fn(usize) -> Option<DataType>) -> Option<(usize, DataType)> {
    let (input, cast) = compared(expr);
    let Expr::Column { index, .. } = input else { return None };
    Some((*index, cast.unwrap_or(type_of(*index)?.base())))
}

/// What is compared, and the type that it is cast to before.
pub(in crate::plan) fn compared(expr: &Expr) -> (&Expr, Option<DataType>) {
    match expr {
        Expr::Cast { input, to } => (input, Some(*to)),
        other => (other, None),
    }
}

/// What the key's values have to be for `column op value`, where the column, of type `key`, is compared as `compared`.
fn key_part(key: DataType, compared: DataType, op: Operator, value: &Expr) -> Option<KeyPart> {
    let nearness = match conversion(key, compared, value.data_type())? {
        Conversion::None => return plain_part(op, value.clone()),
        Conversion::Widening => return plain_part(op, widened(value, key)),
        Conversion::Nearest(nearness) => nearness,
    };
    let bound = |which| KeyBound { value: nearest(key, which, value), inclusive: true };
    let (lower, upper) = match op {
        Operator::Equal if nearness.is_one() => return Some(KeyPart::Equal(nearest(key, Nearest::Equal, value))),
        Operator::Equal => return within(key, value, nearness),
        Operator::Greater => (Some(bound(Nearest::Above)), None),
        Operator::GreaterEqual => (Some(bound(Nearest::AtLeast)), None),
        Operator::Less => (None, Some(bound(Nearest::Below))),
        Operator::LessEqual => (None, Some(bound(Nearest::AtMost))),
        _ => return None,
    };
    Some(KeyPart::Range { lower, upper, exact: nearness.is_exact() })
}

/// As [`key_part`], of a value that has the key's type.
fn plain_part(op: Operator, value: Expr) -> Option<KeyPart> {
    let bound = |inclusive| Some(KeyBound { value: value.clone(), inclusive });
    let (lower, upper) = match op {
        Operator::Equal => return Some(KeyPart::Equal(value)),
        Operator::Greater => (bound(false), None),
        Operator::GreaterEqual => (bound(true), None),
        Operator::Less => (None, bound(false)),
        Operator::LessEqual => (None, bound(true)),
        _ => return None,
    };
    Some(KeyPart::Range { lower, upper, exact: true })
}

/// Which of a key column's values equal another value. NULL: none.
pub(in crate::plan) enum Equals {
    One(Expr),
    /// Those between both; unless `exact` each row is to be asked again.
    Span {
        from: Expr,
        to: Expr,
        exact: bool,
    },
}

/// Which of the key column's values equal the value, where it is compared as `compared`.
pub(in crate::plan) fn equals(value: &Expr, key: DataType, compared: DataType) -> Option<Equals> {
    Some(match conversion(key, compared, value.data_type())? {
        Conversion::None => Equals::One(value.clone()),
        Conversion::Widening => Equals::One(widened(value, key)),
        Conversion::Nearest(nearness) if nearness.is_one() => Equals::One(nearest(key, Nearest::Equal, value)),
        Conversion::Nearest(nearness) => {
            let end = |which| nearest(key, which, value);
            Equals::Span { from: end(Nearest::AtLeast), to: end(Nearest::AtMost), exact: nearness.is_exact() }
        }
    })
}

/// As [`equals`], if that is one at most.
fn key_value(value: &Expr, key: DataType, compared: DataType) -> Option<Expr> {
    match equals(value, key, compared)? {
        Equals::One(value) => Some(value),
        Equals::Span { .. } => None,
    }
}

/// How a value comes to be of a key's type.
enum Conversion {
    /// It is.
    None,
    /// The key's type has all values of the other.
    Widening,
    Nearest(Nearness),
}

/// How values of type `value` are looked for among those of a key that is cast to `compared` before they are compared with it.
fn conversion(key: DataType, compared: DataType, value: DataType) -> Option<Conversion> {
    use DataType as T;
    if keeps_order(key, compared) {
        match (value, key) {
            // (Text that is too long for a name is the key of none.)
            (T::Varchar(_) | T::Text | T::Name, T::Varchar(_) | T::Text | T::Name) => {
                return Some(Conversion::None);
            }
            // (An address that is no network is the key of none.)
            (T::Cidr | T::Inet, T::Cidr | T::Inet) => return Some(Conversion::None),
            _ if value.base() == key.base() => return Some(Conversion::None),
            (T::SmallInt, T::Integer | T::BigInt)
            | (T::Integer, T::BigInt)
            | (T::Real, T::Double)
            | (T::Oid, T::Reg(_)) => {
                return Some(Conversion::Widening);
            }
            _ => {}
        }
    }
    nearness(key, compared, value).map(Conversion::Nearest)
}

fn widened(value: &Expr, to: DataType) -> Expr {
    let to = to.base();
    if let Expr::Literal { value: literal, data_type } = value
        && let Ok(value) = cast(literal, *data_type, to, &EvalContext::default())
    {
        return Expr::Literal { value, data_type: to };
    }
    Expr::Cast { input: Box::new(value.clone()), to }
}

/// The key's value that is nearest to another: computed now if both are constants.
fn nearest(key: DataType, which: Nearest, value: &Expr) -> Expr {
    called(Function::nearest(key, value.data_type(), which), value)
}

fn called(function: Function, value: &Expr) -> Expr {
    let mut call = Expr::Call { function: Arc::new(function), args: vec![value.clone()] };
    if matches!(value, Expr::Literal { .. }) {
        fold(&mut call);
    }
    call
}
