//! The rows of an INSERT: in columns, a batch after the other, or as expressions, a row after the other. Nothing else is known of
//! where they come from.

use std::sync::Arc;

use crate::bind::Callees;
use crate::columns::{Batch, Vector};
use crate::dml::source::{Place, Source};
use crate::exec::{ExecContext, SourceRows, Step, Turn, eval_row};
use crate::plan::{ConstantRows, Expr};
use crate::types::DataType;
use crate::{Result, Value};

/// See the module.
pub(super) enum InsertRows<'s> {
    /// Few, over nothing but parameters.
    Expressions(&'s [Vec<Expr>]),
    /// The same where they are constants, but for columns that have one expression in all rows.
    Constants(&'s [Vec<Value>], &'s [(usize, Expr)]),
    Columns(Batches<'s>),
}

/// Rows in columns, in the table's order, whose text is known to be text.
pub(super) enum Batches<'s> {
    /// They are there, but for what is computed.
    Constants(&'s ConstantRows),
    /// They are read.
    Read(Source<'s>),
    /// As they come.
    Lazy(&'s mut dyn FnMut() -> Step<Option<Batch>>),
}

impl<'s> InsertRows<'s> {
    pub(super) fn of(rows: SourceRows<'s>) -> InsertRows<'s> {
        InsertRows::Columns(match rows {
            SourceRows::Few(rows) => return InsertRows::Expressions(rows),
            SourceRows::Constants(rows) => match rows.few() {
                Some(few) => return InsertRows::Constants(few, rows.computed()),
                None => Batches::Constants(rows),
            },
            SourceRows::Lazy(next) => Batches::Lazy(next),
            SourceRows::Batches(batches, shared) => Batches::Read(Source::new(batches, shared)),
        })
    }
}

/// A row of values, and of expressions over nothing but parameters.
pub(super) trait GivenRow<'r>: Copy {
    /// The column's value, where it is there.
    fn lend(self, column: usize, context: &'r ExecContext) -> Option<&'r Value>;

    /// Those of the other columns, which have to be evaluated: each behind the one before, at its place.
    fn evaluate(self, context: &'r ExecContext, values: &mut Vec<Value>) -> Result<()>;
}

impl<'r> GivenRow<'r> for &'r [Expr] {
    #[inline]
    fn lend(self, column: usize, context: &'r ExecContext) -> Option<&'r Value> {
        match self.get(column)? {
            Expr::Literal { value, .. } => Some(value),
            Expr::Parameter { index, .. } => context.parameters.get(*index),
            _ => None,
        }
    }

    fn evaluate(self, context: &'r ExecContext, values: &mut Vec<Value>) -> Result<()> {
        for (column, expr) in self.iter().enumerate() {
            if self.lend(column, context).is_none() {
                put(column, expr, context, values)?;
            }
        }
        Ok(())
    }
}

/// See [`InsertRows::Constants`].
#[derive(Clone, Copy)]
pub(super) struct ConstantRow<'r> {
    pub(super) values: &'r [Value],
    pub(super) computed: &'r [(usize, Expr)],
}

impl<'r> GivenRow<'r> for ConstantRow<'r> {
    #[inline]
    fn lend(self, column: usize, _: &'r ExecContext) -> Option<&'r Value> {
        let is_computed = || self.computed.iter().any(|(known, _)| *known == column);
        if !self.computed.is_empty() && is_computed() { None } else { self.values.get(column) }
    }

    fn evaluate(self, context: &'r ExecContext, values: &mut Vec<Value>) -> Result<()> {
        self.computed.iter().try_for_each(|(column, expr)| put(*column, expr, context, values))
    }
}

fn put(column: usize, expr: &Expr, context: &ExecContext, values: &mut Vec<Value>) -> Result<()> {
    values.resize(column, Value::Null);
    values.push(eval_row(expr, &[], context)?);
    Ok(())
}

impl Batches<'_> {
    /// The next rows, at least one; the place of the rows behind them comes into `place`.
    pub(super) fn next(&mut self, place: &mut Place, (context, turn): (&ExecContext, &Turn)) -> Step<Option<Batch>> {
        context.check()?;
        // (Those that come take the turn themselves.)
        if !matches!(self, Batches::Lazy(_)) {
            turn.take()?;
        }
        match self {
            Batches::Constants(rows) => Ok(next_constants(rows, place, context)?),
            Batches::Read(source) if place.batch < source.len() => {
                place.batch += 1;
                Ok(Some(source.batch(place.batch - 1)?))
            }
            Batches::Read(_) => Ok(None),
            Batches::Lazy(next) => Ok(next()?.map(|mut batch| {
                batch.check_text();
                batch
            })),
        }
    }
}

/// A batch; a row of one where functions are called, which may look for what was inserted before.
fn next_constants(
    rows: &ConstantRows,
    Place { batch: at, row }: &mut Place,
    context: &ExecContext,
) -> Result<Option<Batch>> {
    let Some(batch) = rows.batches().get(*at) else { return Ok(None) };
    let calls = rows.computed().iter().any(|(_, expr)| Callees::of(expr) != Callees::BuiltIn);
    let part = if calls { batch.slice(*row, 1) } else { batch.clone() };
    *row += part.len();
    if *row >= batch.len() {
        (*at, *row) = (*at + 1, 0);
    }
    with_computed(rows, &part, context).map(Some)
}

/// The batch with what is computed for it: row by row, for a default may have an effect.
fn with_computed(rows: &ConstantRows, batch: &Batch, context: &ExecContext) -> Result<Batch> {
    if rows.computed().is_empty() {
        return Ok(batch.clone());
    }
    let mut columns = batch.columns().to_vec();
    let data_type = |column: usize| columns.get(column).map_or(DataType::Unknown, |column| column.data_type());
    let empty = |(column, _): &(usize, Expr)| Vector::with_capacity(data_type(*column), batch.len());
    let mut computed: Vec<Vector> = rows.computed().iter().map(empty).collect();
    for row in 0..batch.len() {
        if row % 256 == 0 {
            context.check()?;
        }
        for ((_, expr), values) in rows.computed().iter().zip(&mut computed) {
            values.push(&eval_row(expr, &[], context)?)?;
        }
    }
    for ((column, _), mut values) in rows.computed().iter().zip(computed) {
        values.check_text();
        if let Some(slot) = columns.get_mut(*column) {
            *slot = Arc::new(values);
        }
    }
    Ok(Batch::new(columns, batch.len()))
}
