//! RETURNING that has subqueries.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::parts::{within_parts, without_parts};
use crate::Value;
use crate::plan::{CteId, Expr, Field, LogicalPlan, Returning, map_columns, walk};
use crate::types::DataType;

/// A RETURNING that has subqueries, which are asked when all rows are changed: of each row the change gives the columns that
/// they and the other expressions depend on, and what is returned is a query over those. Like the parts of a WITH, it sees the
/// state that the statement began with.
pub(super) struct Later(Option<Returning>);

impl Later {
    /// Takes it out, and leaves those columns; one without subqueries stays.
    pub(super) fn of(returning: &mut Option<Returning>) -> Later {
        let Some(returning) = returning.as_mut().filter(|of| is_later(Some(of))) else { return Later(None) };
        let mut used = BTreeMap::new();
        returning.exprs.iter().for_each(|expr| add_columns(expr, &mut used));
        // There is a row even where nothing of it is wanted.
        let mut columns = Returning { exprs: vec![], fields: vec![] };
        if used.is_empty() {
            columns.exprs.push(Expr::Literal { value: Value::Boolean(true), data_type: DataType::Boolean });
        }
        columns.exprs.extend(used.iter().map(|(&index, &data_type)| Expr::Column { index, data_type }));
        let field = |expr: &Expr| Field { name: String::new(), data_type: expr.data_type() };
        columns.fields = columns.exprs.iter().map(field).collect();
        let mut later = std::mem::replace(returning, columns);
        let places: Vec<usize> = used.into_keys().collect();
        let place = |index: usize| places.binary_search(&index).unwrap_or_default();
        later.exprs.iter_mut().for_each(|expr| map_columns(expr, &place));
        Later(Some(later))
    }

    /// The query over what a change of the rows of `input` gives. The parts of the statement's WITH, which are around these, come
    /// to stand around the query.
    pub(super) fn over(self, input: LogicalPlan, change: impl FnOnce(LogicalPlan) -> LogicalPlan) -> LogicalPlan {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let Some(Returning { exprs, fields }) = self.0 else { return change(input) };
        let (parts, input) = without_parts(input);
        let change = change(input);
        let id = CteId::Returned(NEXT.fetch_add(1, Ordering::Relaxed));
        let scan = LogicalPlan::CteScan { id, alias: None, fields: change.fields() };
        let query = LogicalPlan::With {
            id,
            name: "changed".to_owned(),
            materialized: true,
            definition: Box::new(change),
            body: Box::new(LogicalPlan::Project { input: Box::new(scan), exprs, fields }),
        };
        within_parts(parts, query)
    }
}

/// Whether it has subqueries.
pub(super) fn is_later(returning: Option<&Returning>) -> bool {
    let mut found = false;
    for expr in returning.map_or(&[][..], |returning| &returning.exprs) {
        walk::walk(expr, 0, &mut |expr, _| found |= matches!(expr, Expr::Subquery(_)));
    }
    found
}

/// Adds the columns of the row that the expression depends on, with their types.
fn add_columns(expr: &Expr, used: &mut BTreeMap<usize, DataType>) {
    walk::walk(expr, 0, &mut |expr, depth| {
        let column = match expr {
            Expr::Column { index, data_type } if depth == 0 => Some((*index, *data_type)),
            Expr::Outer { level, index, data_type } if depth > 0 && *level == depth => Some((*index, *data_type)),
            _ => None,
        };
        used.extend(column);
    });
}
