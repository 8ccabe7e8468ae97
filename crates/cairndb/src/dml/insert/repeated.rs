//! An INSERT of one row that is run once for each row of a batch, which its parameters are: a trigger's, mostly.

use std::sync::Arc;

use super::{InsertPlan, Inserter, InserterState};
use crate::columns::{Batch, Data, Vector};
use crate::dml::DmlContext;
use crate::dml::pending::{PendingChecks, Unsettled};
use crate::dml::row::{BatchRow, LentRow};
use crate::exec::{self, ExecContext};
use crate::plan::{EvalEnv, Expr, Held, SequenceOp, eval, walk};
use crate::types::{DataType, EvalContext, ValueRef};
use crate::{Error, Result, Value};

/// Runs an INSERT of one row of expressions once for each row of `parameters`, whose columns are its parameters: evaluates,
/// inserts, looks at what the row refers to, and goes on.
///
/// All rows are evaluated before the first is inserted, one after the other: what is evaluated asks no table, and conditions on
/// the rows ask nothing that it changes. An error of one is told when those before it are inserted, for one of theirs comes first.
/// Otherwise each row is evaluated when its turn comes; so are rows that draw more than one number, which a statement that fails
/// would have drawn for nothing.
pub(crate) fn insert_each(
    (plan, exprs): (&InsertPlan, &[Expr]),
    context: &DmlContext<'_>,
    parameters: &Batch,
) -> Result<()> {
    let mut own = InserterState::of(&plan.program);
    own.settles = true;
    let mut inserter = Inserter::new(&plan.program, context, &mut own);
    let mut owed = Unsettled::default();
    let mut pending = PendingChecks::new(context, &mut owed);
    let mut computed = ComputedRows::of(exprs);
    let is_ahead =
        plan.program.rules.are_evaluable(Held::Transaction) && (computed.only_sequence().is_some() || !computed.draw());
    if !is_ahead {
        return (0..parameters.len()).try_for_each(|row| {
            let mut computed = ComputedRows::of(exprs);
            let parameters = parameters.slice(row, 1);
            computed.evaluate(&parameters, context.exec)?;
            inserter.insert_batch(&computed.batch(&parameters)?, &mut pending).map_err(|(error, _)| error)
        });
    }
    let evaluated = computed.evaluate(parameters, context.exec);
    let (drawn, sequence, rows) = (std::mem::take(&mut computed.drawn), computed.only_sequence(), computed.rows);
    let inserted = inserter.insert_batch(&computed.batch(parameters)?, &mut pending);
    let failed = match &inserted {
        Err((_, row)) => Some(*row),
        Ok(()) => evaluated.is_err().then_some(rows),
    };
    if let (Some(row), Some((name, _))) = (failed, sequence)
        && row + 1 < drawn.len()
    {
        // No row behind this one is inserted: values that were drawn ahead for those are put back. (What goes wrong in that costs a
        // gap.)
        let _ = context.exec.sequence_source()?.used_up_to(name, &drawn, row);
    }
    inserted.map_err(|(error, _)| error)?;
    evaluated
}

/// Rows of expressions, of which some had to be evaluated.
struct ComputedRows<'e> {
    exprs: &'e [Expr],
    /// Those that are neither constants nor parameters.
    computed: Vec<&'e Expr>,
    /// Of each, its values of the rows so far.
    values: Vec<Vector>,
    rows: usize,
    /// Numbers that were drawn for all rows ahead.
    drawn: Vec<i64>,
}

impl<'e> ComputedRows<'e> {
    fn of(exprs: &'e [Expr]) -> ComputedRows<'e> {
        let mut rows = ComputedRows { exprs, computed: vec![], values: vec![], rows: 0, drawn: vec![] };
        for expr in exprs {
            if !matches!(expr, Expr::Literal { .. } | Expr::Parameter { .. }) {
                rows.computed.push(expr);
                rows.values.push(Vector::new(expr.data_type()));
            }
        }
        rows
    }

    /// Evaluates a row for each of the parameters, up to the first that can not be.
    fn evaluate(&mut self, parameters: &Batch, context: &ExecContext) -> Result<()> {
        let evaluated = match self.only_sequence() {
            Some(drawn) => self.draw_all(drawn, parameters.len(), context),
            None => (0..parameters.len()).try_for_each(|row| self.evaluate_row(parameters, row, context)),
        };
        self.values.iter_mut().for_each(Vector::check_text);
        evaluated
    }

    /// Draws a number for each row, which is all that is to be evaluated.
    fn draw_all(&mut self, (name, cast): (&str, Option<DataType>), rows: usize, context: &ExecContext) -> Result<()> {
        let all = exec::draw(name, rows - self.drawn.len(), context, &mut self.drawn);
        let [values] = &mut self.values[..] else { return Err(Error::internal("a sequence's numbers have no place")) };
        match cast {
            None => {
                *values = Vector::from_parts(DataType::BigInt, Data::I64(self.drawn.clone()), None);
                self.rows = self.drawn.len();
            }
            Some(to) => {
                for &number in &self.drawn {
                    values.push(&crate::types::cast(&Value::BigInt(number), DataType::BigInt, to, &context.eval)?)?;
                    self.rows += 1;
                }
            }
        }
        all
    }

    /// The sequence, if to draw from one is all that is to be evaluated, and what its numbers are cast to.
    fn only_sequence(&self) -> Option<(&'e str, Option<DataType>)> {
        let [only] = self.computed[..] else { return None };
        let (drawn, cast) = match only {
            Expr::Cast { input, to } => (&**input, Some(*to)),
            other => (other, None),
        };
        let Expr::Sequence { op: SequenceOp::Next, name, .. } = drawn else { return None };
        match &**name {
            Expr::Literal { value: Value::Text(name), .. } => Some((name, cast)),
            _ => None,
        }
    }

    /// Whether numbers are drawn.
    fn draw(&self) -> bool {
        let mut draws = false;
        let mut look = |expr: &Expr, _| draws |= matches!(expr, Expr::Sequence { .. });
        self.computed.iter().for_each(|expr| walk::walk(expr, 0, &mut look));
        draws
    }

    fn evaluate_row(&mut self, parameters: &Batch, row: usize, context: &ExecContext) -> Result<()> {
        if row.is_multiple_of(256) {
            context.check()?;
        }
        let around = RowOfParameters { row: BatchRow { columns: parameters.columns(), row }, context };
        for (expr, values) in self.computed.iter().zip(&mut self.values) {
            let nothing: &[Value] = &[];
            values.push(&eval(expr, &nothing, around)?.into_value())?;
        }
        self.rows += 1;
        Ok(())
    }

    /// All rows that were evaluated, in columns.
    fn batch(self, parameters: &Batch) -> Result<Batch> {
        let (rows, mut values) = (self.rows, self.values.into_iter());
        let parameters = parameters.slice(0, rows);
        let column = |expr: &Expr| match expr {
            Expr::Literal { value, data_type } => {
                let mut same = Vector::repeat(*data_type, value, rows)?;
                same.check_text();
                Ok(Arc::new(same))
            }
            Expr::Parameter { index, .. } => {
                let given = parameters.columns().get(*index).cloned();
                given.ok_or_else(|| Error::internal("a parameter without values"))
            }
            _ => values.next().map(Arc::new).ok_or_else(|| Error::internal("an expression without values")),
        };
        Ok(Batch::new(self.exprs.iter().map(column).collect::<Result<_>>()?, rows))
    }
}

/// A row of a batch as the parameters of expressions.
#[derive(Clone, Copy)]
struct RowOfParameters<'r> {
    row: BatchRow<'r>,
    context: &'r ExecContext,
}

impl<'r> EvalEnv<'r> for RowOfParameters<'r> {
    type Miss = Error;

    fn parameter(self, index: usize, _: DataType) -> Result<ValueRef<'r>> {
        self.row.lend(index).ok_or_else(|| Error::damaged("a row is damaged"))
    }

    fn eval(self) -> &'r EvalContext {
        &self.context.eval
    }

    fn sequence(self, op: SequenceOp, name: &Value, value: Option<&Value>) -> Result<Value> {
        exec::sequence(op, name, value, self.context)
    }

    fn missed(error: Error) -> Error {
        error
    }
}
