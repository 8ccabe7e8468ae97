//! Plans of changes that do nothing but choose and compute: few changed rows go through them one by one, without vectors and
//! operators, and without the states that the rows changed between.

use super::rows::Changed;
use crate::exec::row_eval::{Surroundings, eval};
use crate::functions::Operator;
use crate::plan::walk;
use crate::plan::{Expr, PhysicalNode as N, PhysicalPlan, SequenceOp, Term, with_parameters};
use crate::types::{DataType, EvalContext, ValueRef};
use crate::{Error, Result, Value};

/// Such a plan, for one query: its parameters are in it.
pub(crate) struct Direct {
    /// Which changed rows it reads.
    reads: usize,
    /// In the order in which rows go through them.
    parts: Vec<Part>,
}

enum Part {
    Filter(Expr),
    Project(Vec<Expr>),
}

/// More changed rows are worth vectors.
const FEW_ROWS: usize = 64;
/// Longer lists are looked up by their hashes.
const FEW_ELEMENTS: usize = 16;

impl Direct {
    /// `None`: one of the plans does more than that.
    pub(crate) fn all_of(terms: &[Term], parameters: &[Value]) -> Option<Vec<Direct>> {
        terms.iter().map(|term| Direct::of(term, parameters)).collect()
    }

    fn of(term: &Term, parameters: &[Value]) -> Option<Direct> {
        let mut parts = vec![];
        let mut plan: &PhysicalPlan = &term.plan;
        let own = |expr: &Expr| {
            let mut is_plain = true;
            walk::walk(expr, 0, &mut |expr, _| is_plain &= !is_better_compiled(expr));
            is_plain.then(|| with_parameters(expr, parameters))
        };
        let reads = loop {
            match &plan.node {
                N::CteScan { id, .. } => break *id,
                N::Filter { input, predicate } => {
                    parts.push(Part::Filter(own(predicate)?));
                    plan = input;
                }
                N::Project { input, exprs } => {
                    parts.push(Part::Project(exprs.iter().map(own).collect::<Option<_>>()?));
                    plan = input;
                }
                _ => return None,
            }
        };
        parts.reverse();
        Some(Direct { reads, parts: without_moves(parts) })
    }

    /// Calls `each` with every row and its weight; false, and it did not: there are too many. `values`: room for a row.
    pub(crate) fn run_all(
        all: &[Direct],
        changed: &Changed,
        context: &EvalContext,
        values: &mut Vec<Value>,
        each: &mut dyn FnMut(&[Value], i64),
    ) -> Result<bool> {
        if changed.iter().any(|(_, rows)| rows.len() > FEW_ROWS) {
            return Ok(false);
        }
        for direct in all {
            let Some((_, rows)) = changed.iter().find(|(id, _)| *id == direct.reads) else { continue };
            for row in rows.rows() {
                if !direct.run(row, Plain(context), values)? {
                    continue;
                }
                match values.pop() {
                    Some(Value::BigInt(weight)) => each(values, weight),
                    _ => return Err(Error::internal("a changed row without weight")),
                }
            }
        }
        values.clear();
        Ok(true)
    }

    /// What becomes of a row; false: it does not pass.
    fn run(&self, row: &[Value], around: Plain<'_>, values: &mut Vec<Value>) -> Result<bool> {
        let mut is_computed = false;
        for part in &self.parts {
            let now = if is_computed { values.as_slice() } else { row };
            match part {
                Part::Filter(predicate) => {
                    if !eval(predicate, &now, around)?.is_true() {
                        return Ok(false);
                    }
                }
                Part::Project(exprs) if is_computed => {
                    let computed = exprs.iter().map(|expr| Ok(eval(expr, &now, around)?.into_value()));
                    *values = computed.collect::<Result<_>>()?;
                }
                Part::Project(exprs) => {
                    values.clear();
                    for expr in exprs {
                        values.push(match expr {
                            Expr::Column { index, .. } if *index < row.len() => row[*index].clone(),
                            expr => eval(expr, &row, around)?.into_value(),
                        });
                    }
                    is_computed = true;
                }
            }
        }
        if !is_computed {
            row.clone_into(values);
        }
        Ok(true)
    }
}

/// What can not be evaluated so, or what is prepared once for vectors and would be gone through for each row: lists and patterns.
fn is_better_compiled(expr: &Expr) -> bool {
    match expr {
        Expr::Subplan(_) | Expr::Subquery(_) | Expr::Outer { .. } => true,
        Expr::InList { list, .. } => list.len() > FEW_ELEMENTS,
        Expr::Call { function, .. } => matches!(function.op, Some(Operator::Like | Operator::NotLike)),
        _ => false,
    }
}

/// The same without projections that only move columns: who reads them reads the columns.
fn without_moves(parts: Vec<Part>) -> Vec<Part> {
    let (mut kept, mut moved) = (vec![], None::<Vec<Expr>>);
    for mut part in parts {
        if let Some(columns) = &moved {
            for expr in part.exprs_mut() {
                walk::rewrite(expr, 0, &mut |expr, _| match expr {
                    Expr::Column { index, .. } => columns.get(*index).cloned(),
                    _ => None,
                });
            }
        }
        match part {
            Part::Project(exprs)
                if exprs.iter().all(|expr| matches!(expr, Expr::Column { .. } | Expr::Literal { .. })) =>
            {
                moved = Some(exprs);
            }
            Part::Project(exprs) => {
                kept.push(Part::Project(exprs));
                moved = None;
            }
            filter => kept.push(filter),
        }
    }
    kept.extend(moved.map(Part::Project));
    kept
}

impl Part {
    fn exprs_mut(&mut self) -> &mut [Expr] {
        match self {
            Part::Filter(predicate) => std::slice::from_mut(predicate),
            Part::Project(exprs) => exprs,
        }
    }
}

/// No state, no parameters that are not in the expressions.
#[derive(Clone, Copy)]
struct Plain<'a>(&'a EvalContext);

impl<'a> Surroundings<'a> for Plain<'a> {
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
