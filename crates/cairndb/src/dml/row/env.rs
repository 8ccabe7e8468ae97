//! What a row program's expressions depend on besides the row, and which of them the point path can evaluate.

use super::{Stop, Target};
use crate::api::Params;
use crate::exec::{self, Columns, Datum, ExecContext, Surroundings};
use crate::plan::{Expr, SequenceOp, walk};
use crate::types::{DataType, EvalContext, ValueRef};
use crate::{Error, Value};

/// What an expression may depend on besides the row.
#[derive(Clone, Copy)]
pub(crate) struct Env<'a> {
    /// Every value fits the type that the statement gives the parameter.
    pub(crate) params: &'a dyn Params,
    pub(crate) eval: &'a EvalContext,
    /// `None`: a point statement's, which asks no sequences and puts nothing into words.
    context: Option<&'a ExecContext>,
}

impl<'a> Env<'a> {
    /// For a point statement.
    pub(crate) fn of_point(params: &'a dyn Params, eval: &'a EvalContext) -> Env<'a> {
        Env { params, eval, context: None }
    }

    pub(crate) fn of(context: &'a ExecContext) -> Env<'a> {
        Env { params: context, eval: &context.eval, context: Some(context) }
    }

    /// `None`: a point statement's.
    pub(super) fn context(self) -> Option<&'a ExecContext> {
        self.context
    }

    /// To compute what is stored in.
    pub(super) fn stored(self) -> Env<'a> {
        Env { eval: self.eval.of_stored(), ..self }
    }

    /// What a row violates, in words, where somebody is to read them.
    pub(super) fn worded(self, stop: Stop, target: &Target, row: &dyn Columns<Stop>) -> Stop {
        match stop {
            Stop::Violation(violation) if self.context.is_some() => violation.worded(target, row, self).into(),
            stop => stop,
        }
    }
}

impl Params for ExecContext {
    fn count(&self) -> usize {
        self.parameters.len()
    }

    fn value(&self, index: usize) -> ValueRef<'_> {
        self.parameters.get(index).map_or(ValueRef::Null, ValueRef::from)
    }
}

impl<'a> Surroundings<'a> for Env<'a> {
    type Miss = Stop;

    fn parameter(self, index: usize, data_type: DataType) -> Result<ValueRef<'a>, Stop> {
        match self.context {
            // Parameters were made to be of their types.
            Some(context) => Ok(context.parameter(index)?.into()),
            None => self.params.value(index).fit(data_type).ok_or(Stop::Unfit),
        }
    }

    fn eval(self) -> &'a EvalContext {
        self.eval
    }

    fn sequence(self, op: SequenceOp, name: &Value, value: Option<&Value>) -> Result<Value, Stop> {
        let context = self.context.ok_or_else(|| Error::internal("a sequence in a point statement"))?;
        Ok(exec::sequence(op, name, value, context)?)
    }

    fn missed(error: Error) -> Stop {
        Stop::Error(error)
    }
}

/// A row of no columns.
pub(crate) struct NoColumns;

impl Columns<Stop> for NoColumns {
    fn column(&self, index: usize) -> Result<Datum<'_>, Stop> {
        Err(Error::internal(format!("column {index} of no row")).into())
    }
}

/// Whether a point statement can evaluate everything in the expression: it depends on nothing but the row, the
/// parameters and the clock.
pub(crate) fn is_evaluable(expr: &Expr) -> bool {
    let mut known = true;
    walk::walk(expr, 0, &mut |expr, _| {
        known &= match expr {
            Expr::Outer { .. } | Expr::Subquery(_) | Expr::Subplan(_) | Expr::Sequence { .. } => false,
            Expr::Call { function, .. } => !function.calls_routines() && !function.waits,
            _ => true,
        };
    });
    known
}

/// Whether a column of the row is in the expression.
pub(crate) fn has_columns(expr: &Expr) -> bool {
    let mut found = false;
    walk::walk(expr, 0, &mut |expr, _| found |= matches!(expr, Expr::Column { .. }));
    found
}

/// The value of `expr` for the row.
pub(crate) fn eval<'a>(expr: &'a Expr, row: &'a dyn Columns<Stop>, env: Env<'a>) -> Result<Datum<'a>, Stop> {
    exec::eval(expr, row, env)
}
