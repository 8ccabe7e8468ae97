//! What a condition asks of single integer columns: bounds that a scan can check before it decodes a row.

use super::evaluator::{Evaluator, Node};
use crate::Value;
use crate::columns::Representation;
use crate::functions::Operator;

/// Wherever the condition is true, this input column is not NULL and lies between the two, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IntegerLimits {
    pub(crate) column: usize,
    pub(crate) low: i64,
    pub(crate) high: i64,
}

impl Evaluator {
    /// Limits that follow from this condition: of comparisons with constants that it is, or is the AND of. Integers of
    /// all widths, dates, times and timestamps, as vectors hold them.
    pub(crate) fn integer_limits(&self) -> Vec<IntegerLimits> {
        match &self.node {
            Node::Logic { decisive: false, args } => args.iter().flat_map(Evaluator::integer_limits).collect(),
            Node::Compare { op, args, .. } => comparison(*op, args).into_iter().collect(),
            _ => vec![],
        }
    }

    /// The integer column that this is, perhaps widened.
    fn integer_column(&self) -> Option<usize> {
        let is_integer =
            matches!(self.data_type.physical(), Representation::I16 | Representation::I32 | Representation::I64);
        match &self.node {
            Node::Column(index) if is_integer => Some(*index),
            Node::Widen(input) if is_integer => input.integer_column(),
            _ => None,
        }
    }
}

fn comparison(op: Operator, [left, right]: &[Evaluator; 2]) -> Option<IntegerLimits> {
    let (column, op, value) = match (left.integer_column(), right.integer_column()) {
        (Some(column), None) => (column, op, integer(right.as_constant()?)?),
        (None, Some(column)) => (column, op.commuted()?, integer(left.as_constant()?)?),
        _ => return None,
    };
    let (low, high) = match op {
        Operator::Equal => (value, value),
        Operator::Less => (i64::MIN, value.checked_sub(1)?),
        Operator::LessEqual => (i64::MIN, value),
        Operator::Greater => (value.checked_add(1)?, i64::MAX),
        Operator::GreaterEqual => (value, i64::MAX),
        _ => return None,
    };
    Some(IntegerLimits { column, low, high })
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::SmallInt(value) => Some((*value).into()),
        Value::Integer(value) | Value::Date(value) => Some((*value).into()),
        Value::BigInt(value)
        | Value::Time(value)
        | Value::TimeTz(value)
        | Value::Timestamp(value)
        | Value::TimestampTz(value) => Some(*value),
        Value::Enum(value) => Some(value.key()),
        Value::Reg(value) => Some(value.number()),
        _ => None,
    }
}
