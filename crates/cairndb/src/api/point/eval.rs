//! A point statement's expressions: what they depend on besides the row, and which of them it can evaluate.
//!
//! What goes wrong in them is a [`Miss::General`]: the general path comes to the same error and words it.

use super::Miss;
use crate::api::Params;
use crate::exec::{self, Columns, Datum, Surroundings};
use crate::plan::{Expr, SequenceOp, walk};
use crate::types::{DataType, EvalContext, ValueRef};
use crate::{Error, Value};

/// What an expression may depend on besides the row.
#[derive(Clone, Copy)]
pub(in crate::api) struct Env<'a> {
    /// Every value fits the type that the statement gives the parameter.
    pub(super) params: &'a dyn Params,
    pub(super) eval: &'a EvalContext,
}

impl<'a> Surroundings<'a> for Env<'a> {
    type Miss = Miss;

    fn parameter(self, index: usize, data_type: DataType) -> Result<ValueRef<'a>, Miss> {
        self.params.value(index).fit(data_type).ok_or(Miss::General)
    }

    fn eval(self) -> &'a EvalContext {
        self.eval
    }

    fn sequence(self, _: SequenceOp, _: &Value, _: Option<&Value>) -> Result<Value, Miss> {
        Err(Miss::General)
    }

    fn missed(_: Error) -> Miss {
        Miss::General
    }
}

/// A row of no columns.
pub(super) struct NoColumns;

impl Columns<Miss> for NoColumns {
    fn column(&self, _index: usize) -> Result<Datum<'_>, Miss> {
        Err(Miss::General)
    }
}

/// Whether [`eval`] knows everything in the expression.
pub(super) fn is_evaluable(expr: &Expr) -> bool {
    let mut known = true;
    walk::walk(expr, 0, &mut |expr, _| {
        known &= !matches!(expr, Expr::Outer { .. } | Expr::Subquery(_) | Expr::Subplan(_) | Expr::Sequence { .. });
    });
    known
}

/// Whether a column of the row is in the expression.
pub(super) fn has_columns(expr: &Expr) -> bool {
    let mut found = false;
    walk::walk(expr, 0, &mut |expr, _| found |= matches!(expr, Expr::Column { .. }));
    found
}

/// The value of `expr` for the row.
pub(super) fn eval<'a>(expr: &'a Expr, row: &'a dyn Columns<Miss>, env: Env<'a>) -> Result<Datum<'a>, Miss> {
    exec::eval(expr, row, env)
}
