//! `x op ANY (array)`, `x op ALL (array)`.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::functions::catalogue::Kernel;
use crate::functions::support::wrong_arguments;
use crate::functions::{Function, Operator};
use crate::types::{Array, DataType, EvalContext, Value};
use crate::{Error, Result};

/// An operator over all elements of an array.
#[derive(Clone)]
pub struct Quantifier {
    op: Arc<Function>,
    /// ALL; else ANY.
    all: bool,
}

/// The function of a value and an array that `op ANY` or `op ALL` is; `None`: the operator's right side is of a type that
/// has no arrays.
pub fn quantified(op: &Arc<Function>, all: bool, array: DataType) -> Option<Arc<Function>> {
    let (left, right) = (*op.args.first()?, *op.args.get(1)?);
    let array = if right == super::super::ANY { array.base() } else { right.array()? };
    let word = if all { "ALL" } else { "ANY" };
    let (name, kernel) = (format!("{} {word}", op.name), Kernel::Quantified(Quantifier { op: op.clone(), all }));
    Some(Arc::new(Function {
        // The operator's with another result would be it: bits that no entry has tell them apart.
        entry: op.entry | 1 << if all { 62 } else { 61 },
        strict: false,
        volatility: op.volatility,
        folds: op.folds,
        cost: op.cost,
        ..Function::new(name, [left, array], DataType::Boolean, kernel)
    }))
}

impl Quantifier {
    pub(in crate::functions) fn is_equal_to_any(&self) -> bool {
        !self.all && self.op.op == Some(Operator::Equal)
    }

    pub(in crate::functions) fn run(&self, args: &[Value], context: &EvalContext) -> Result<Value> {
        let [value, array] = args else { return Err(wrong_arguments(args)) };
        let array = match array {
            Value::Null => return Ok(Value::Null),
            Value::Array(array) => array,
            _ => return Err(wrong_arguments(args)),
        };
        if value.is_null() && self.op.strict && !array.values().is_empty() {
            return Ok(Value::Null);
        }
        let mut unknown = false;
        for element in array.values() {
            match self.holds(value, element, array, context)? {
                Some(holds) if holds != self.all => return Ok(Value::Boolean(holds)),
                Some(_) => {}
                None => unknown = true,
            }
        }
        Ok(if unknown { Value::Null } else { Value::Boolean(self.all) })
    }

    /// Values of one type are compared without a call, which would copy them.
    fn holds(&self, value: &Value, element: &Value, array: &Array, context: &EvalContext) -> Result<Option<bool>> {
        let one_type = self.op.args.first() == self.op.args.get(1);
        if let Some(op) = self.op.op.filter(|op| op.is_comparison() && one_type) {
            let known = !value.is_null() && !element.is_null();
            let element_type = match self.op.args.first() {
                Some(DataType::Char(_)) => array.element(),
                _ => DataType::Unknown,
            };
            return Ok(known.then(|| accepts(op, value.compare_as(element, element_type))));
        }
        match self.op.call(&[value.clone(), element.clone()], context)? {
            Value::Boolean(holds) => Ok(Some(holds)),
            Value::Null => Ok(None),
            _ => Err(Error::internal("a quantified operator that is no condition")),
        }
    }
}

fn accepts(op: Operator, order: Ordering) -> bool {
    match op {
        Operator::Equal => order.is_eq(),
        Operator::NotEqual => order.is_ne(),
        Operator::Less => order.is_lt(),
        Operator::LessEqual => order.is_le(),
        Operator::Greater => order.is_gt(),
        _ => order.is_ge(),
    }
}
