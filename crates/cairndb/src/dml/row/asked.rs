//! What ON CONFLICT DO UPDATE asks by subqueries: a query over the row in the way and the one that is proposed. It sees the
//! state that the statement began with.

use std::sync::Arc;

use super::{ChangeBuffers, Env, Proposed, RowChange, Stop, Target, Trees};
use crate::catalog::Catalog;
use crate::dml::parts::with_parts_of;
use crate::exec::{Batch, Columns, Datum, Kept, Vector, execute_over};
use crate::plan::{Expr, Field, LogicalPlan, OptimizerOptions, PhysicalPlan, optimize, walk};
use crate::types::{DataType, ValueRef};
use crate::{Error, Result, Value};

/// The number of the two rows in the query: away from those that binding gives.
const ROWS: usize = usize::MAX / 4;

#[derive(Debug)]
pub(super) struct Asked {
    plan: Arc<PhysicalPlan>,
    /// The columns of both rows, and their types.
    columns: Box<[(Expr, DataType)]>,
}

impl Asked {
    /// Takes the new values that have subqueries, and the condition, out of an update; `None`: there are none. What is
    /// left of those values are columns behind the proposed row's. `around`: the rows that are proposed, which have the parts of
    /// the statement's WITH around them.
    pub(super) fn of(
        target: &Target,
        assigned: &mut [(usize, Expr)],
        filter: &mut Option<Expr>,
        around: &LogicalPlan,
        catalog: &Catalog,
    ) -> Result<Option<Asked>> {
        if !assigned.iter().map(|(_, expr)| expr).chain(&*filter).any(has_subquery) {
            return Ok(None);
        }
        let table = &target.table;
        let width = table.columns.len();
        let types = || table.columns.iter().map(|column| column.data_type);
        let field = |data_type| Field { name: String::new(), data_type };
        let fields: Vec<Field> = types().chain(types()).map(field).collect();
        let mut plan = LogicalPlan::CteScan { id: ROWS, alias: None, fields };
        if let Some(predicate) = filter.take() {
            plan = LogicalPlan::Filter { input: Box::new(plan), predicate };
        }
        let mut exprs = Vec::new();
        for (_, expr) in assigned.iter_mut().filter(|(_, expr)| has_subquery(expr)) {
            let data_type = expr.data_type();
            let answer = Expr::Column { index: 2 * width + exprs.len(), data_type };
            exprs.push(std::mem::replace(expr, answer));
        }
        let fields = exprs.iter().map(|expr| field(expr.data_type())).collect();
        let plan = LogicalPlan::Project { input: Box::new(plan), exprs, fields };
        let plan = with_parts_of(around, (plan, ROWS), "ON CONFLICT DO UPDATE")?;
        let column = |(index, data_type)| {
            let mut expr = target.virtuals.put_in(&Expr::Column { index, data_type });
            target.virtuals.put_from(width, &mut expr);
            (expr, data_type)
        };
        let columns = types().chain(types()).enumerate().map(column).collect();
        let plan = Arc::new(optimize(plan, catalog, &OptimizerOptions::default())?);
        Ok(Some(Asked { plan, columns }))
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
        let context = env.context().ok_or_else(|| Error::internal("a query in a point statement"))?;
        if !change.read(trees, existing, buffers)? {
            return Ok(None);
        }
        let exprs = self.columns.iter().map(|(expr, _)| expr);
        let row = change.values_of_both(exprs, (existing, proposed), env, buffers)?;
        let vector = |(column, value): (&(Expr, DataType), &Value)| {
            Vector::from_values(column.1, std::slice::from_ref(value)).map(Arc::new)
        };
        let columns = self.columns.iter().zip(&row).map(vector).collect::<Result<_>>()?;
        let rows = [(ROWS, Batch::new(columns, 1))];
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
