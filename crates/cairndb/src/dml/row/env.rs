//! What a row program's expressions depend on besides the row.

use super::{Stop, Target};
use crate::exec::{self, ExecContext};
use crate::plan::{self, Columns, Datum, EvalEnv, Expr, Held, SequenceOp, walk};
use crate::types::Params;
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

    /// For what takes long: SQLSTATE 57014 where the statement is to end.
    pub(super) fn check(self) -> crate::Result<()> {
        self.context.map_or(Ok(()), ExecContext::check)
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

impl<'a> EvalEnv<'a> for Env<'a> {
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

/// Whether a point statement can evaluate everything in the expression.
pub(crate) fn is_of_point(expr: &Expr) -> bool {
    Held::Commit.allows(expr)
}

/// Whether a column of the row is in the expression.
pub(crate) fn has_columns(expr: &Expr) -> bool {
    let mut found = false;
    walk::walk(expr, 0, &mut |expr, _| found |= matches!(expr, Expr::Column { .. }));
    found
}

/// The value of `expr` for the row.
pub(crate) fn eval<'a>(expr: &'a Expr, row: &'a dyn Columns<Stop>, env: Env<'a>) -> Result<Datum<'a>, Stop> {
    plan::eval(expr, row, env)
}
