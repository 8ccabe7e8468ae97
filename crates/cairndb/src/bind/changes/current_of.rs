//! WHERE CURRENT OF: the row that a cursor is on, by its key.
//!
//! A cursor's query gives the key of its table's row besides what it is asked for, if each of its rows is one of one table
//! ([`with_row_key`]). UPDATE and DELETE compare with it, so that the row is found as it is by then, or not at all when it is gone.

use std::sync::Arc;

use cairn_parser::{Id, Name};

use super::updatable::TargetTable;
use crate::bind::binder::Binder;
use crate::bind::expressions::coerce::text;
use crate::catalog::ObjectId;
use crate::functions::{Checked, Cost, Function};
use crate::plan::{Expr, Field, LogicalPlan};
use crate::sql::name_text;
use crate::types::{DataType, EvalContext};
use crate::{Error, Result, SqlState, Value};

/// What a cursor's rows have behind their columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowKey {
    pub(crate) table: ObjectId,
    /// The table's last change when the cursor was opened: after another its key may be another.
    pub(crate) change: u64,
    /// How many columns the key has.
    pub(crate) columns: usize,
}

/// Has a query give the key of the table's row behind its columns, if each of its rows is one of one table.
pub(crate) fn with_row_key(plan: &mut LogicalPlan) -> Option<RowKey> {
    let (table, change) = scanned(plan)?;
    let width = plan.fields().len();
    let key = give_key(plan);
    let fields = plan.fields();
    // Behind all others, whatever the plan was.
    let at = (0..width).chain(key.iter().copied());
    let exprs: Vec<Expr> = at.map(|index| Expr::Column { index, data_type: fields[index].data_type }).collect();
    let fields: Vec<Field> = (0..width).chain(key.iter().copied()).map(|index| fields[index].clone()).collect();
    let input = Box::new(std::mem::replace(plan, LogicalPlan::Values { rows: vec![], fields: vec![] }));
    *plan = LogicalPlan::Project { input, exprs, fields };
    Some(RowKey { table, change, columns: key.len() })
}

/// The table whose rows the plan's are, and its last change.
fn scanned(plan: &LogicalPlan) -> Option<(ObjectId, u64)> {
    match plan {
        LogicalPlan::Project { input, .. }
        | LogicalPlan::Filter { input, .. }
        | LogicalPlan::Sort { input, .. }
        | LogicalPlan::Limit { input, .. } => scanned(input),
        LogicalPlan::Scan { table, .. } if !table.is_materialized() && !table.is_face() => {
            Some((table.id, table.change))
        }
        _ => None,
    }
}

/// Has a plan over a scan give the scan's key, behind its columns or among them; where.
fn give_key(plan: &mut LogicalPlan) -> Vec<usize> {
    match plan {
        LogicalPlan::Filter { input, .. } | LogicalPlan::Sort { input, .. } | LogicalPlan::Limit { input, .. } => {
            give_key(input)
        }
        LogicalPlan::Project { input, exprs, fields } => {
            let below = give_key(input);
            let given = input.fields();
            let start = exprs.len();
            for index in &below {
                exprs.push(Expr::Column { index: *index, data_type: given[*index].data_type });
                fields.push(given[*index].clone());
            }
            (start..exprs.len()).collect()
        }
        LogicalPlan::Scan { table, columns, .. } => {
            let mut place = |column: usize| match columns.iter().position(|known| *known == column) {
                Some(known) => known,
                None => {
                    columns.push(column);
                    columns.len() - 1
                }
            };
            table.row_identity().into_iter().map(&mut place).collect()
        }
        _ => Vec::new(),
    }
}

impl Binder<'_> {
    /// The condition that a target's row is the one that the cursor is on. `assigned`: columns that get values.
    pub(super) fn current_of(&mut self, cursor: Id<Name>, target: &TargetTable, assigned: &[usize]) -> Result<Expr> {
        let span = self.tree.span(cursor);
        let table = &target.table;
        if target.face.is_some() || table.is_face() {
            let message = "WHERE CURRENT OF on a view is not implemented";
            return Err(self.at(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message), span));
        }
        if assigned.iter().any(|column| table.is_in_row_key(*column)) {
            let error = Error::unsupported("an assignment to the primary key WHERE CURRENT OF a cursor");
            let error = error.with_hint("The cursor tells rows by it: say WHERE with the key, as FETCH gave it.");
            return Err(self.at(error, span));
        }
        let name = name_text(self.tree, cursor);
        let variables = self.parameters.variables.clone().filter(|_| self.definition.is_none());
        let variable = variables.map(|variables| variables.find(&[name])).transpose()?.flatten();
        let portal = match variable {
            Some((index, data_type)) if data_type.is_string() => {
                let data_type = self.parameters.variable(index, data_type);
                Expr::parameter(index, data_type)
            }
            _ => text(name),
        };
        let columns = match table.row_key() {
            [] => vec![(table.columns.len(), DataType::BigInt)],
            key => key.iter().map(|part| (part.column, table.columns[part.column].data_type)).collect(),
        };
        let mut parts = Vec::with_capacity(columns.len());
        for (part, (index, data_type)) in columns.into_iter().enumerate() {
            let function = Arc::new(key_of_current((table.id, table.change), &table.name, part, data_type.base()));
            let value = Expr::Call { function, args: vec![portal.clone()] };
            let column = Expr::Column { index, data_type };
            parts.push(self.operator("=", vec![(column, span), (value, span)], None)?);
        }
        Ok(match parts.len() {
            1 => parts.remove(0),
            _ => Expr::And(parts),
        })
    }
}

/// The function that gives a part of the key of the row of a table that a cursor, its argument, is on.
fn key_of_current((table, change): (ObjectId, u64), name: &str, part: usize, returns: DataType) -> Function {
    let name: Arc<str> = name.into();
    let check = move |cursor: &Value, context: &EvalContext| {
        let names = context.names.as_ref().and_then(|names| names.upgrade());
        let names = names.ok_or_else(|| Error::unsupported("WHERE CURRENT OF in this place"))?;
        let Value::Text(cursor) = cursor else {
            return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, "the name of a cursor is null"));
        };
        let key = names.key_of_current(cursor, (table, change), &name)?;
        key.into_iter().nth(part).ok_or_else(|| Error::internal("a cursor without its row's key"))
    };
    let checked = Checked {
        name: "current_of".into(),
        data_type: DataType::Text,
        immutable: false,
        cost: Cost::Unknown,
        // The point path knows no cursors.
        calls: true,
        entry: 3 << 61 | u64::from(table.0) << 8 | part as u64,
        check: Arc::new(check),
    };
    let mut function = Function::checked(checked);
    function.returns = returns;
    function
}
