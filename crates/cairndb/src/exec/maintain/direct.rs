//! Plans of changes that do nothing but choose, compute, and look rows up by unique keys: few changed rows go through them one
//! by one, without vectors and operators.

use super::lookup::{Last, Lookup};
use super::rows::{Changed, FEW_ROWS, RowChanges};
use crate::functions::Operator;
use crate::plan::{CteId, Expr, PhysicalNode as N, PhysicalPlan, SequenceOp, Term, with_parameters};
use crate::plan::{EvalEnv, eval, walk};
use crate::state::Reader;
use crate::types::{DataType, EvalContext, ValueRef};
use crate::{Error, Result, Value};

/// Such a plan.
#[derive(Clone)]
pub(crate) struct Direct {
    /// Which changed rows it reads.
    reads: CteId,
    /// In the order in which rows go through them.
    parts: Vec<Part>,
}

#[derive(Clone)]
enum Part {
    Filter(Expr),
    Project(Vec<Expr>),
    Lookup(Box<Lookup>),
    /// Columns in another order, each at most once.
    Move(Vec<usize>),
}

/// Longer lists are looked up by their hashes.
const FEW_ELEMENTS: usize = 16;

impl Direct {
    /// `None`: the plan does more than that.
    pub(crate) fn of(term: &Term) -> Option<Direct> {
        let mut parts = vec![];
        let mut plan: &PhysicalPlan = &term.plan;
        let (reads, width) = loop {
            match &plan.node {
                N::CteScan { id, .. } => break (*id, plan.fields.len()),
                N::Filter { input, predicate } => {
                    parts.push(Part::Filter(predicate.clone()));
                    plan = input;
                }
                N::Project { input, exprs } => {
                    parts.push(Part::Project(exprs.clone()));
                    plan = input;
                }
                _ => {
                    let (lookup, left) = Lookup::of(plan)?;
                    parts.push(Part::Lookup(Box::new(lookup)));
                    plan = left;
                }
            }
        };
        parts.reverse();
        for expr in parts.iter_mut().flat_map(Part::exprs_mut) {
            let mut is_plain = true;
            walk::walk(expr, 0, &mut |expr, _| is_plain &= !is_better_compiled(expr));
            if !is_plain {
                return None;
            }
        }
        Some(Direct { reads, parts: without_moves(parts, width) })
    }

    /// The same for a query with these parameters.
    pub(crate) fn with(&self, parameters: &[Value]) -> Direct {
        let mut direct = self.clone();
        for expr in direct.parts.iter_mut().flat_map(Part::exprs_mut) {
            *expr = with_parameters(expr, parameters);
        }
        direct
    }

    /// The changed rows that it reads: none where none changed. `Err`: they are too many.
    pub(super) fn few_of<'c>(&self, changed: &'c Changed) -> Result<Option<&'c RowChanges>, TooMany> {
        match changed.iter().find(|(id, _)| *id == self.reads) {
            Some((_, rows)) if rows.len() > FEW_ROWS => Err(TooMany),
            found => Ok(found.map(|(_, rows)| &**rows)),
        }
    }

    pub(super) fn reads_states(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Lookup(_)))
    }

    /// Calls `each` with every row and its weight. `state`: of no need where it reads none; `values`: room for a row, which `each`
    /// may take.
    pub(super) fn run(
        &self,
        rows: &RowChanges,
        (context, state): (&EvalContext, Option<&Reader>),
        values: &mut Vec<Value>,
        each: &mut dyn FnMut(&mut Vec<Value>, i64),
    ) -> Result<()> {
        let mut room = Room::default();
        for row in rows.rows() {
            if !self.pass(row, (Plain(context), state), &mut room, values)? {
                continue;
            }
            match values.pop() {
                Some(Value::BigInt(weight)) => each(values, weight),
                _ => return Err(Error::internal("a changed row without weight")),
            }
        }
        values.clear();
        Ok(())
    }

    /// What becomes of a row; false: it does not pass.
    fn pass(
        &self,
        row: &[Value],
        (around, state): (Plain<'_>, Option<&Reader>),
        Room { last, other }: &mut Room,
        values: &mut Vec<Value>,
    ) -> Result<bool> {
        let (mut is_computed, mut lookups) = (false, 0);
        for part in &self.parts {
            match part {
                Part::Filter(predicate) => {
                    let now = if is_computed { values.as_slice() } else { row };
                    if !eval(predicate, &now, around)?.is_true() {
                        return Ok(false);
                    }
                }
                Part::Project(exprs) => {
                    let now = if is_computed { values.as_slice() } else { row };
                    other.clear();
                    for expr in exprs {
                        other.push(match expr {
                            Expr::Column { index, .. } if *index < now.len() => now[*index].clone(),
                            expr => eval(expr, &now, around)?.into_value(),
                        });
                    }
                    std::mem::swap(values, other);
                    is_computed = true;
                }
                Part::Move(columns) => {
                    other.clear();
                    for &column in columns {
                        let value = match is_computed {
                            true => values.get_mut(column).map(|value| std::mem::replace(value, Value::Null)),
                            false => row.get(column).cloned(),
                        };
                        other.push(value.ok_or_else(|| Error::internal("no such column"))?);
                    }
                    std::mem::swap(values, other);
                    is_computed = true;
                }
                Part::Lookup(lookup) => {
                    take_row(row, &mut is_computed, values);
                    let state = state.ok_or_else(|| Error::internal("a lookup without a state"))?;
                    if last.len() == lookups {
                        last.push(Last::default());
                    }
                    if !lookup.join(values, state, around, &mut last[lookups])? {
                        return Ok(false);
                    }
                    lookups += 1;
                }
            }
        }
        take_row(row, &mut is_computed, values);
        Ok(true)
    }
}

/// From one row to the next.
#[derive(Default)]
struct Room {
    /// Of each lookup, of those that were made so far.
    last: Vec<Last>,
    /// Room for another row.
    other: Vec<Value>,
}

/// Unless there is something computed: the row as it came.
fn take_row(row: &[Value], is_computed: &mut bool, values: &mut Vec<Value>) {
    if !*is_computed {
        row.clone_into(values);
        *is_computed = true;
    }
}

/// More rows than are worth going through one by one.
pub(super) struct TooMany;

/// What can not be evaluated so, or what is prepared once for vectors and would be gone through for each row: lists and patterns.
fn is_better_compiled(expr: &Expr) -> bool {
    match expr {
        Expr::Subplan(_) | Expr::Subquery(_) | Expr::Outer { .. } => true,
        Expr::InList { list, .. } => list.len() > FEW_ELEMENTS,
        Expr::Call { function, .. } => matches!(function.op, Some(Operator::Like | Operator::NotLike)),
        _ => false,
    }
}

/// The same without projections that only move columns: who reads them reads the columns. `width`: how many columns the rows
/// have that go in.
fn without_moves(parts: Vec<Part>, mut width: usize) -> Vec<Part> {
    let (mut kept, mut moved) = (vec![], None::<Vec<Expr>>);
    for mut part in parts {
        if let Some(columns) = &mut moved {
            part.read_instead(columns, width);
        }
        width = match &part {
            Part::Filter(_) | Part::Move(_) => width,
            Part::Lookup(lookup) => width + lookup.width(),
            Part::Project(exprs)
                if exprs.iter().all(|expr| matches!(expr, Expr::Column { .. } | Expr::Literal { .. })) =>
            {
                moved = Some(exprs.clone());
                continue;
            }
            Part::Project(exprs) => {
                moved = None;
                exprs.len()
            }
        };
        kept.push(part);
    }
    kept.extend(moved.map(|exprs| only_moved(&exprs).map_or(Part::Project(exprs), Part::Move)));
    kept
}

/// Where these columns are, if none is used twice and nothing else is among them.
fn only_moved(exprs: &[Expr]) -> Option<Vec<usize>> {
    let mut columns = vec![];
    for expr in exprs {
        match expr {
            Expr::Column { index, .. } if !columns.contains(index) => columns.push(*index),
            _ => return None,
        }
    }
    Some(columns)
}

impl Part {
    fn exprs_mut(&mut self) -> Box<dyn Iterator<Item = &mut Expr> + '_> {
        match self {
            Part::Filter(predicate) => Box::new(std::iter::once(predicate)),
            Part::Project(exprs) => Box::new(exprs.iter_mut()),
            Part::Move(_) => Box::new(std::iter::empty()),
            Part::Lookup(lookup) => Box::new(lookup.keys.iter_mut().chain(&mut lookup.residual)),
        }
    }

    /// Its columns are these of a row of so many columns; those that it puts behind them are added.
    fn read_instead(&mut self, columns: &mut Vec<Expr>, width: usize) {
        if let Part::Lookup(lookup) = self {
            let types = lookup.types();
            let own = columns.len();
            lookup.keys.iter_mut().for_each(|expr| read_columns(expr, columns));
            let behind = types.into_iter().enumerate();
            columns.extend(behind.map(|(at, data_type)| Expr::Column { index: width + at, data_type }));
            lookup.residual.iter_mut().for_each(|expr| read_columns(expr, columns));
            columns.truncate(own + lookup.width());
            return;
        }
        self.exprs_mut().for_each(|expr| read_columns(expr, columns));
    }
}

fn read_columns(expr: &mut Expr, columns: &[Expr]) {
    walk::rewrite(expr, 0, &mut |expr, _| match expr {
        Expr::Column { index, .. } => columns.get(*index).cloned(),
        _ => None,
    });
}

/// No state, no parameters that are not in the expressions.
#[derive(Clone, Copy)]
pub(super) struct Plain<'a>(&'a EvalContext);

impl<'a> EvalEnv<'a> for Plain<'a> {
    type Miss = Error;

    fn parameter(self, index: usize, _: DataType) -> Result<ValueRef<'a>> {
        Err(Error::internal(format!("parameter {index} of a live query is not in its plan")))
    }

    fn eval(self) -> &'a EvalContext {
        self.0
    }

    fn sequence(self, _: SequenceOp, _: &Value, _: Option<&Value>) -> Result<Value> {
        Err(Error::unsupported("a sequence function in this place"))
    }

    fn missed(error: Error) -> Error {
        error
    }
}
