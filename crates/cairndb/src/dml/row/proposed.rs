//! The row that an INSERT proposes: values lent from where they are, or computed before the first write.

use std::sync::Arc;

use super::env::{self, Env, NoColumns};
use super::fit::{fitted, is_limited, settle};
use super::{Operand, Stop, Target};
use crate::catalog::Table;
use crate::exec::{Columns, Datum, Vector};
use crate::plan::Expr;
use crate::types::Params;
use crate::types::{EvalContext, ValueRef};
use crate::{Error, Value};

/// Where the values of a new row come from.
#[derive(Debug)]
pub(crate) struct RowSource {
    columns: Box<[Source]>,
    /// Nothing is to be computed.
    is_plain: bool,
}

#[derive(Debug)]
enum Source {
    Operand(Operand),
    Computed(Expr),
}

impl RowSource {
    /// From one expression per column of the table.
    pub(crate) fn of(table: &Table, exprs: &[Expr]) -> Option<RowSource> {
        if exprs.len() != table.columns.len() {
            return None;
        }
        let source = |(expr, column): (&Expr, &crate::catalog::Column)| match Operand::of(expr, column.data_type) {
            Some(operand) => Some(Source::Operand(operand)),
            None if env::is_of_point(expr) && !env::has_columns(expr) => Some(Source::Computed(expr.clone())),
            None => None,
        };
        let columns: Box<[Source]> = exprs.iter().zip(&table.columns).map(source).collect::<Option<_>>()?;
        let is_plain = columns.iter().all(|source| matches!(source, Source::Operand(_)));
        Some(RowSource { columns, is_plain })
    }

    /// Nothing is to be computed.
    pub(crate) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Computes what is to be computed into `values`, one per column.
    pub(crate) fn compute(&self, table: &Table, env: Env<'_>, values: &mut Vec<Value>) -> Result<(), Stop> {
        values.clear();
        if self.is_plain {
            return Ok(());
        }
        for (source, column) in self.columns.iter().zip(&table.columns) {
            values.push(match source {
                Source::Operand(_) => Value::Null,
                Source::Computed(expr) => settle(env::eval(expr, &NoColumns, env)?, column.data_type, env.eval)?,
            });
        }
        Ok(())
    }

    /// The row, once computed, in `values`; each value is fetched and fitted to its column once. [`Stop::Unfit`]: one
    /// has to be converted first.
    pub(crate) fn row<'a>(
        &'a self,
        params: &'a dyn Params,
        computed: &'a [Value],
        mut values: Vec<ValueRef<'a>>,
    ) -> Result<Proposed<'a>, Stop> {
        values.reserve(self.columns.len());
        for (column, source) in self.columns.iter().enumerate() {
            match source {
                Source::Operand(operand) if operand.push(params, &mut values) => {}
                Source::Operand(_) => return Err(Stop::Unfit),
                Source::Computed(_) => values.push((&computed[column]).into()),
            }
        }
        Ok(Proposed { values })
    }
}

/// A row that lends its values.
pub(crate) trait LentRow<'b>: Copy {
    /// The column's value; `None` where it can only be copied.
    fn lend(self, column: usize) -> Option<ValueRef<'b>>;
    fn copy(self, column: usize) -> Value;

    /// Pushes what `lend` gives, or NULL in its place; false: it can only be copied. (For who wants it in a list: through an
    /// `Option` it is copied right after it was written, which a processor waits for.)
    #[inline]
    fn push_to<'a>(self, column: usize, values: &mut Vec<ValueRef<'a>>) -> bool
    where
        'b: 'a,
    {
        let lent = self.lend(column);
        values.push(lent.unwrap_or(ValueRef::Null));
        lent.is_some()
    }
}

/// A row of a batch.
#[derive(Clone, Copy)]
pub(crate) struct BatchRow<'b> {
    pub(crate) columns: &'b [Arc<Vector>],
    pub(crate) row: usize,
}

impl<'b> LentRow<'b> for BatchRow<'b> {
    #[inline]
    fn lend(self, column: usize) -> Option<ValueRef<'b>> {
        self.columns.get(column)?.value_ref(self.row)
    }

    #[inline]
    fn push_to<'a>(self, column: usize, values: &mut Vec<ValueRef<'a>>) -> bool
    where
        'b: 'a,
    {
        let mut is_lent = true;
        match self.columns.get(column) {
            Some(column) => values.push(column.value_ref_or(self.row, || {
                is_lent = false;
                ValueRef::Null
            })),
            None => {
                values.push(ValueRef::Null);
                is_lent = false;
            }
        }
        is_lent
    }

    fn copy(self, column: usize) -> Value {
        self.columns.get(column).map_or(Value::Null, |column| column.value(self.row))
    }
}

impl<'b> LentRow<'b> for &'b [Value] {
    #[inline]
    fn lend(self, column: usize) -> Option<ValueRef<'b>> {
        self.get(column).map(ValueRef::from)
    }

    fn copy(self, column: usize) -> Value {
        self.get(column).cloned().unwrap_or(Value::Null)
    }
}

impl Columns<Stop> for BatchRow<'_> {
    fn column(&self, index: usize) -> Result<Datum<'_>, Stop> {
        if index >= self.columns.len() {
            return Err(Error::internal(format!("no column {index} in the row")).into());
        }
        Ok(self.lend(index).map_or_else(|| Datum::Own(self.copy(index)), Datum::Lent))
    }
}

/// A row whose values are known.
pub(crate) struct Proposed<'a> {
    values: Vec<ValueRef<'a>>,
}

impl<'a> Proposed<'a> {
    /// A row of a statement's source: values that can not stay as they are go to `own` first.
    pub(crate) fn fit<'b: 'a>(
        table: &Table,
        row: impl LentRow<'b>,
        own: &'a mut Vec<(usize, Value)>,
        mut values: Vec<ValueRef<'a>>,
        eval: &EvalContext,
    ) -> Result<Proposed<'a>, Stop> {
        own.clear();
        values.reserve(table.columns.len());
        for (at, column) in table.columns.iter().enumerate() {
            if !row.push_to(at, &mut values) {
                own.push((at, settle(Datum::Own(row.copy(at)), column.data_type, eval)?));
            } else if is_limited(column.data_type) {
                own.extend(fitted(values[at], column.data_type, eval)?.map(|fitted| (at, fitted)));
            }
        }
        for (at, value) in own {
            values[*at] = (&*value).into();
        }
        Ok(Proposed { values })
    }
}

impl<'a> Proposed<'a> {
    /// Its values, as values of their own.
    pub(crate) fn to_values(&self) -> Vec<Value> {
        self.values.iter().map(|value| value.to_value()).collect()
    }

    /// The row with its generated columns, which go to `own`.
    #[inline]
    pub(crate) fn generated(
        self,
        target: &Target,
        env: Env<'_>,
        own: &'a mut Vec<Value>,
    ) -> Result<Proposed<'a>, Stop> {
        if target.bound.generated.is_empty() { Ok(self) } else { self.with_generated(target, env, own) }
    }

    fn with_generated(mut self, target: &Target, env: Env<'_>, own: &'a mut Vec<Value>) -> Result<Proposed<'a>, Stop> {
        own.clear();
        for generated in &target.bound.generated {
            let data_type = target.table.columns[generated.column].data_type;
            own.push(settle(env::eval(&generated.value, &self, env.stored())?, data_type, env.eval)?);
        }
        for (generated, value) in target.bound.generated.iter().zip(own) {
            self.values[generated.column] = (&*value).into();
        }
        Ok(self)
    }
}

/// An emptied buffer for values that live elsewhere. (Collecting a vector into one of the same size keeps its memory.)
fn emptied<'b>(mut values: Vec<ValueRef<'_>>) -> Vec<ValueRef<'b>> {
    values.clear();
    values.into_iter().map(|_| ValueRef::Null).collect()
}

/// The memory of proposed rows between two executions.
#[derive(Debug, Default)]
pub(crate) struct Spare(Vec<ValueRef<'static>>);

impl Spare {
    pub(crate) fn take<'a>(&mut self) -> Vec<ValueRef<'a>> {
        emptied(std::mem::take(&mut self.0))
    }

    pub(crate) fn keep(&mut self, row: Proposed<'_>) {
        self.0 = emptied(row.values);
    }
}

impl<'a> Proposed<'a> {
    /// All columns' values.
    #[inline]
    pub(crate) fn values(&self) -> &[ValueRef<'a>] {
        &self.values
    }
}

impl Columns<Stop> for Proposed<'_> {
    #[inline]
    fn column(&self, index: usize) -> Result<Datum<'_>, Stop> {
        let value = self.values.get(index).copied();
        Ok(Datum::Lent(value.ok_or_else(|| Error::internal(format!("no column {index} in the new row")))?))
    }
}
