//! Functions that return rows beside each other: ROWS FROM, and several in a select list. Where one ends before the others, its
//! columns are NULL.
//!
//! Each numbers its rows, and they are joined by the numbers: a node of its own would be one more for everything that walks plans.

use super::from::settle;
use crate::bind::binder::Binder;
use crate::bind::context::SetCall;
use crate::bind::expressions::composite::{attribute_at, row_value};
use crate::bind::queries::select::contains_stand_in;
use crate::plan::{Expr, Field, JoinKind, LogicalPlan, SortKey, StandIn, calls_routine, walk};
use crate::types::{CompositeType, DataType};
use crate::{Error, Result, Value};

/// A call of a function in FROM, and the columns that it gives.
pub(in crate::bind) struct RowsCall {
    pub(in crate::bind) call: Expr,
    pub(in crate::bind) fields: Vec<Field>,
    /// The type of rows that the columns become; `None`: they stay columns.
    pub(in crate::bind) row: Option<CompositeType>,
    /// What becomes of the only column.
    pub(in crate::bind) then: Option<Then>,
}

/// An expression over the column of a function's rows.
pub(super) type Then = Box<dyn FnOnce(Expr) -> Expr>;

impl RowsCall {
    pub(super) fn new(call: Expr, fields: Vec<Field>) -> RowsCall {
        RowsCall { call, fields, row: None, then: None }
    }

    /// The type with a name whose rows it returns: the elements of an array, say.
    pub(in crate::bind) fn row_type(&self) -> Option<CompositeType> {
        match (self.fields.as_slice(), calls_routine(&self.call) || self.then.is_some()) {
            ([Field { data_type: DataType::Composite(of), .. }], false) if !of.is_record() => Some(*of),
            _ => None,
        }
    }

    fn plan(self, numbered: bool, spreads: bool) -> LogicalPlan {
        let RowsCall { call, mut fields, row, then } = self;
        // The columns of a function of the schema's are its row's already.
        let spreads = spreads && !calls_routine(&call);
        fields.extend(numbered.then(number));
        let plan = match &call {
            Expr::Call { function, .. } if function.is_set() || function.routine().is_some() => {
                LogicalPlan::TableFunction { call, fields }
            }
            // A value is one row.
            _ => {
                let first = Expr::Literal { value: Value::BigInt(1), data_type: DataType::BigInt };
                let row = std::iter::once(call).chain(numbered.then_some(first)).collect();
                LogicalPlan::Values { rows: vec![row], fields }
            }
        };
        if let Some(of) = row {
            return as_rows(plan, of);
        }
        if spreads { spread(plan, then) } else { plan }
    }
}

/// The rows with the columns of a row in one that is the row.
fn as_rows(plan: LogicalPlan, of: CompositeType) -> LogicalPlan {
    let mut fields = plan.fields();
    let mut exprs: Vec<Expr> = columns(&fields, 0).collect();
    let values = exprs.drain(..of.attributes().len().min(exprs.len())).collect();
    exprs.insert(0, row_value(of, values));
    let row = Field { name: "row".to_owned(), data_type: DataType::Composite(of) };
    fields.splice(..of.attributes().len().min(fields.len()), [row]);
    LogicalPlan::Project { input: plan.into(), exprs, fields }
}

/// The rows with the attributes of a column that is a row in its place.
fn spread(plan: LogicalPlan, then: Option<Then>) -> LogicalPlan {
    let fields = plan.fields();
    if then.is_none() && !fields.iter().any(|field| matches!(field.data_type, DataType::Composite(_))) {
        return plan;
    }
    let (mut exprs, mut named) = (vec![], vec![]);
    let mut then = then;
    for (column, field) in columns(&fields, 0).zip(&fields) {
        let value = match then.take() {
            Some(then) => then(column),
            None => column,
        };
        match value.data_type() {
            DataType::Composite(of) if !of.attributes().is_empty() => {
                for (at, attribute) in of.attributes().iter().enumerate() {
                    exprs.push(attribute_at(value.clone(), of, at));
                    named.push(Field { name: attribute.name.clone(), data_type: attribute.data_type });
                }
            }
            data_type => {
                exprs.push(value);
                named.push(Field { name: field.name.clone(), data_type });
            }
        }
    }
    LogicalPlan::Project { input: plan.into(), exprs, fields: named }
}

/// The column that numbers the rows.
fn number() -> Field {
    Field { name: "ordinality".to_owned(), data_type: DataType::BigInt }
}

fn columns(fields: &[Field], from: usize) -> impl Iterator<Item = Expr> {
    let column = move |(at, field): (usize, &Field)| Expr::Column { index: from + at, data_type: field.data_type };
    fields.iter().enumerate().map(column)
}

impl Binder<'_> {
    /// The rows of all calls, in order; numbered on request, in a last column. `spreads`: columns that are rows become their
    /// attributes.
    pub(super) fn side_by_side(&self, calls: Vec<RowsCall>, numbered: bool, spreads: bool) -> Result<LogicalPlan> {
        let several = calls.len() > 1;
        let mut all: Option<LogicalPlan> = None;
        for call in calls {
            let plan = call.plan(numbered || several, spreads);
            all = Some(match all {
                None => plan,
                Some(left) => self.by_number(left, plan)?,
            });
        }
        let all = all.ok_or_else(|| Error::internal("ROWS FROM without a function"))?;
        if !several {
            return Ok(all);
        }
        let mut fields = all.fields();
        let last = Expr::Column { index: fields.len() - 1, data_type: DataType::BigInt };
        let order = SortKey { expr: last, descending: false, nulls_first: false };
        let sorted = LogicalPlan::Sort { input: Box::new(all), keys: vec![order] };
        if numbered {
            return Ok(sorted);
        }
        fields.pop();
        let exprs = columns(&fields, 0).collect();
        Ok(LogicalPlan::Project { input: Box::new(sorted), exprs, fields })
    }

    /// Rows of the same number as one.
    fn by_number(&self, left: LogicalPlan, right: LogicalPlan) -> Result<LogicalPlan> {
        let (mut fields, mut others) = (left.fields(), right.fields());
        let (width, number) = (fields.len(), DataType::BigInt);
        let numbers = [width - 1, width + others.len() - 1].map(|index| Expr::Column { index, data_type: number });
        let equal = self.operator_for("=", number, number)?;
        let on = Some(Expr::Call { function: equal, args: numbers.to_vec() });
        let joined = LogicalPlan::Join {
            kind: JoinKind::Full,
            left: Box::new(left),
            right: Box::new(right),
            on,
            lateral: false,
        };
        let mut exprs: Vec<Expr> = columns(&fields[..width - 1], 0).collect();
        exprs.extend(columns(&others[..others.len() - 1], width));
        exprs.push(Expr::Coalesce { args: numbers.to_vec(), data_type: number });
        fields.pop();
        fields.append(&mut others);
        Ok(LogicalPlan::Project { input: Box::new(joined), exprs, fields })
    }

    /// Each row of `plan` with the rows that functions return over it, whose columns follow its own. In `exprs` and in each other's
    /// arguments the calls stand in as columns.
    pub(in crate::bind) fn with_series<'x>(
        &self,
        mut plan: LogicalPlan,
        calls: Vec<SetCall>,
        exprs: impl Iterator<Item = &'x mut Expr>,
    ) -> Result<LogicalPlan> {
        if calls.is_empty() {
            return Ok(plan);
        }
        let mut places: Vec<Option<usize>> = vec![None; calls.len()];
        let mut waiting: Vec<(usize, SetCall)> = calls.into_iter().enumerate().collect();
        while !waiting.is_empty() {
            for (_, waiting) in &mut waiting {
                place(&mut waiting.call, &places);
            }
            let is_nested = |waiting: &SetCall| contains_stand_in(&waiting.call, StandIn::is_rows);
            let (nested, ready): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|(_, call)| is_nested(call));
            waiting = nested;
            for (column, (number, _)) in (plan.fields().len()..).zip(&ready) {
                places[*number] = Some(column);
            }
            plan = self.over_each(plan, ready.into_iter().map(|(_, call)| call).collect())?;
        }
        exprs.for_each(|expr| place(expr, &places));
        Ok(plan)
    }

    fn over_each(&self, plan: LogicalPlan, mut calls: Vec<SetCall>) -> Result<LogicalPlan> {
        for SetCall { call, .. } in &mut calls {
            walk::rewrite(call, 0, &mut |expr, depth| match *expr {
                Expr::Column { index, data_type } if depth == 0 => Some(Expr::Outer { level: 1, index, data_type }),
                Expr::Outer { level, index, data_type } if level >= depth && level > 0 => {
                    Some(Expr::Outer { level: level + 1, index, data_type })
                }
                _ => None,
            });
        }
        let calls = calls.into_iter().map(|SetCall { call, fields, row }| RowsCall { call, fields, row, then: None });
        let (right, lateral) = settle(self.side_by_side(calls.collect(), false, false)?);
        let (left, right) = (Box::new(plan), Box::new(right));
        Ok(LogicalPlan::Join { kind: JoinKind::Inner, left, right, on: None, lateral })
    }
}

/// Puts the columns of calls in their places, as far as they are known.
fn place(expr: &mut Expr, places: &[Option<usize>]) {
    walk::rewrite(expr, 0, &mut |expr, depth| match *expr {
        Expr::Column { index, data_type } if depth == 0 => match StandIn::of(index)? {
            StandIn::Rows(call) => (*places.get(call)?).map(|index| Expr::Column { index, data_type }),
            _ => None,
        },
        _ => None,
    });
}
