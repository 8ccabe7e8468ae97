//! What a row program asks by subqueries: ON CONFLICT DO UPDATE, of the row in the way and the one that is proposed, and views
//! WITH CHECK OPTION, of the row that they are given. It is a query over these, and sees the state that the statement began with.

use std::sync::Arc;

use super::env::eval;
use super::{ChangeBuffers, Env, Proposed, RowChange, Stop, Target, Trees};
use crate::columns::{Batch, Vector};
use crate::exec::{Kept, execute_over};
use crate::plan::{
    Columns, CteId, Datum, Expr, Field, LogicalPlan, OptimizerOptions, PhysicalPlan, ViewCheck, optimize, walk,
};
use crate::types::{DataType, ValueRef};
use crate::{Error, Result, Value};

#[derive(Debug)]
pub(super) struct Asked {
    query: RowQuery,
    /// The columns of both rows.
    columns: Box<[Expr]>,
}

/// A query over one row.
#[derive(Debug)]
struct RowQuery {
    plan: Arc<PhysicalPlan>,
    /// Of the row's columns.
    types: Box<[DataType]>,
}

impl RowQuery {
    /// Over a row of such columns, which the query reads as `CteId::Row`.
    fn new(types: impl Iterator<Item = DataType>, query: LogicalPlan) -> Result<RowQuery> {
        let plan = Arc::new(optimize(query, &OptimizerOptions::default())?);
        Ok(RowQuery { plan, types: types.collect() })
    }

    /// What it gives for a row; `None`: nothing.
    fn ask(&self, row: &[Value], env: Env<'_>) -> Result<Option<Vec<Value>>, Stop> {
        let context = env.context().ok_or_else(|| Error::internal("a query in a point statement"))?;
        let vector = |(data_type, value): (&DataType, &Value)| {
            Vector::from_values(*data_type, std::slice::from_ref(value)).map(Arc::new)
        };
        let columns = self.types.iter().zip(row).map(vector).collect::<Result<_>>()?;
        let rows = [(CteId::Row, Batch::new(columns, 1))];
        let mut stream = execute_over(self.plan.clone(), context.clone(), &Kept::default(), &rows, &[])?;
        let mut answers = None;
        while let Some(batch) = stream.next_batch()? {
            if !batch.is_empty() {
                answers = Some(batch.row(0));
            }
        }
        Ok(answers)
    }
}

fn field(data_type: DataType) -> Field {
    Field { name: String::new(), data_type }
}

/// What a view asks of a row.
#[derive(Debug)]
pub(super) struct Viewed {
    pub(super) view: String,
    condition: Condition,
}

#[derive(Debug)]
enum Condition {
    /// Of the row alone.
    Plain(Expr),
    /// By subqueries, over these columns.
    Asked(RowQuery, Box<[Expr]>),
}

impl Viewed {
    pub(super) fn of(check: &ViewCheck, target: &Target) -> Result<Viewed> {
        let (view, predicate) = (check.view.clone(), check.condition.clone());
        if !has_subquery(&predicate) {
            return Ok(Viewed { view, condition: Condition::Plain(target.bound.virtuals.put_in(&predicate)) });
        }
        let types = || target.table.columns.iter().map(|column| column.data_type);
        let row = LogicalPlan::CteScan { id: CteId::Row, alias: None, fields: types().map(field).collect() };
        let query = RowQuery::new(types(), LogicalPlan::Filter { input: Box::new(row), predicate })?;
        let column = |(index, data_type)| target.bound.virtuals.put_in(&Expr::Column { index, data_type });
        Ok(Viewed { view, condition: Condition::Asked(query, types().enumerate().map(column).collect()) })
    }

    /// The same of a row of a table that is none of the view's.
    pub(super) fn plain(&self) -> Option<&Expr> {
        match &self.condition {
            Condition::Plain(condition) => Some(condition),
            Condition::Asked(..) => None,
        }
    }

    pub(super) fn is_true(&self, row: &dyn Columns<Stop>, env: Env<'_>) -> Result<bool, Stop> {
        match &self.condition {
            Condition::Plain(condition) => Ok(eval(condition, row, env)?.is_true()),
            Condition::Asked(query, columns) => {
                let value = |column| Ok(eval(column, row, env)?.into_value());
                let row = columns.iter().map(value).collect::<Result<Vec<Value>, Stop>>()?;
                Ok(query.ask(&row, env)?.is_some())
            }
        }
    }
}

impl Asked {
    /// `query`: over the columns of both rows.
    pub(super) fn of(target: &Target, query: &LogicalPlan) -> Result<Asked> {
        let table = &target.table;
        let width = table.columns.len();
        let types = || table.columns.iter().map(|column| column.data_type);
        let query = RowQuery::new(types().chain(types()), query.clone())?;
        let column = |(index, data_type)| {
            let mut expr = target.bound.virtuals.put_in(&Expr::Column { index, data_type });
            target.bound.virtuals.put_from(width, &mut expr);
            expr
        };
        let columns = types().chain(types()).enumerate().map(column).collect();
        Ok(Asked { query, columns })
    }

    /// The new values; `None`: the condition is not true, or the row is not there.
    pub(super) fn answers(
        &self,
        trees: &mut dyn Trees,
        change: &RowChange,
        (existing, proposed): (&[u8], &Proposed<'_>),
        env: Env<'_>,
        buffers: &mut ChangeBuffers,
    ) -> Result<Option<Vec<Value>>, Stop> {
        if !change.read(trees, existing, buffers)? {
            return Ok(None);
        }
        let row = change.values_of_both(self.columns.iter(), (existing, proposed), env, buffers)?;
        self.query.ask(&row, env)
    }
}

/// The row that is proposed, then what was asked for it.
pub(super) struct Answered<'a> {
    pub(super) proposed: &'a Proposed<'a>,
    pub(super) width: usize,
    pub(super) answers: &'a [Value],
}

impl Columns<Stop> for Answered<'_> {
    fn column(&self, index: usize) -> Result<Datum<'_>, Stop> {
        match index.checked_sub(self.width) {
            None => self.proposed.column(index),
            Some(index) => Ok(Datum::Lent(self.answers.get(index).map_or(ValueRef::Null, Into::into))),
        }
    }
}

fn has_subquery(expr: &Expr) -> bool {
    let mut found = false;
    walk::walk(expr, 0, &mut |expr, _| found |= matches!(expr, Expr::Subquery(_)));
    found
}

#[cfg(test)]
mod tests {
    use crate::{Database, Result};

    #[test]
    fn a_part_of_the_statements_with_that_can_not_be_asked_again_is_refused() -> Result<()> {
        let connection = Database::open_in_memory()?.connect()?;
        connection.execute("CREATE TABLE t (k int PRIMARY KEY, v int)", ())?;
        connection.execute("INSERT INTO t VALUES (1, 1)", ())?;
        for part in ["SELECT random() AS n", "DELETE FROM t WHERE k > 9 RETURNING k AS n"] {
            let refused = format!(
                "WITH w AS ({part}) INSERT INTO t VALUES (1, 2) ON CONFLICT (k) DO UPDATE SET v = (SELECT n FROM w)"
            );
            assert_eq!(connection.execute(&refused, ()).unwrap_err().sqlstate().0, "0A000");
        }
        let update = "INSERT INTO t VALUES ($1, $2) \
                      ON CONFLICT (k) DO UPDATE SET v = (SELECT excluded.v + sum(v) FROM t) WHERE t.k < (SELECT $2)";
        assert_eq!(connection.execute(update, (1, 10))?, 1);
        assert_eq!(connection.execute(update, (1, 0))?, 0);
        let v: i64 = connection.query_row("SELECT v FROM t", (), |row| row.get(0))?;
        assert_eq!(v, 11);
        Ok(())
    }
}
