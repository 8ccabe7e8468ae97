//! The row that an INSERT proposes: operands lent as they are, other values computed before the first write.

use super::Miss;
use super::change::settle;
use super::eval::{self, Env, NoColumns};
use super::operand::Operand;
use crate::Value;
use crate::api::Params;
use crate::catalog::Table;
use crate::exec::{Columns, Datum};
use crate::plan::Expr;
use crate::types::ValueRef;

/// Where the values of a new row come from.
#[derive(Debug)]
pub(super) struct RowSource {
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
    pub(super) fn of(table: &Table, exprs: &[Expr]) -> Option<RowSource> {
        if exprs.len() != table.columns.len() {
            return None;
        }
        let source = |(expr, column): (&Expr, &crate::catalog::Column)| match Operand::of(expr, column.data_type) {
            Some(operand) => Some(Source::Operand(operand)),
            None if eval::is_evaluable(expr) && !eval::has_columns(expr) => Some(Source::Computed(expr.clone())),
            None => None,
        };
        let columns: Box<[Source]> = exprs.iter().zip(&table.columns).map(source).collect::<Option<_>>()?;
        let is_plain = columns.iter().all(|source| matches!(source, Source::Operand(_)));
        Some(RowSource { columns, is_plain })
    }

    /// Nothing is to be computed.
    pub(super) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Computes what is to be computed into `values`, one per column.
    pub(super) fn compute(&self, table: &Table, env: Env<'_>, values: &mut Vec<Value>) -> Result<(), Miss> {
        values.clear();
        if self.is_plain {
            return Ok(());
        }
        for (source, column) in self.columns.iter().zip(&table.columns) {
            values.push(match source {
                Source::Operand(_) => Value::Null,
                Source::Computed(expr) => settle(eval::eval(expr, &NoColumns, env)?, column.data_type, env.eval)?,
            });
        }
        Ok(())
    }

    /// The row, once computed, in `values`; each value is fetched and fitted to its column once. [`Miss::Unfit`]: one
    /// has to be converted first.
    pub(super) fn row<'a>(
        &'a self,
        params: &'a dyn Params,
        computed: &'a [Value],
        mut values: Vec<ValueRef<'a>>,
    ) -> Result<Proposed<'a>, Miss> {
        values.reserve(self.columns.len());
        for (column, source) in self.columns.iter().enumerate() {
            values.push(match source {
                Source::Operand(operand) => operand.value(params).ok_or(Miss::Unfit)?,
                Source::Computed(_) => (&computed[column]).into(),
            });
        }
        Ok(Proposed { values })
    }
}

/// A row whose values are known.
pub(super) struct Proposed<'a> {
    values: Vec<ValueRef<'a>>,
}

/// An emptied buffer for values that live elsewhere. (Collecting a vector into one of the same size keeps its memory.)
fn emptied<'b>(mut values: Vec<ValueRef<'_>>) -> Vec<ValueRef<'b>> {
    values.clear();
    values.into_iter().map(|_| ValueRef::Null).collect()
}

/// The memory of proposed rows between two executions.
#[derive(Debug, Default)]
pub(super) struct Spare(Vec<ValueRef<'static>>);

impl Spare {
    pub(super) fn take<'a>(&mut self) -> Vec<ValueRef<'a>> {
        emptied(std::mem::take(&mut self.0))
    }

    pub(super) fn keep(&mut self, row: Proposed<'_>) {
        self.0 = emptied(row.values);
    }
}

impl<'a> Proposed<'a> {
    /// All columns' values.
    #[inline]
    pub(super) fn values(&self) -> &[ValueRef<'a>] {
        &self.values
    }
}

impl Columns<Miss> for Proposed<'_> {
    fn column(&self, index: usize) -> Result<Datum<'_>, Miss> {
        self.values.get(index).copied().map(Datum::Lent).ok_or(Miss::General)
    }
}
