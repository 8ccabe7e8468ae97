//! Plans of changes that do nothing but choose and compute: they are evaluated on the changed rows without operators.

use super::rows::weight_of;
use crate::exec::batch::Batch;
use crate::exec::context::{Cx, ExecContext, Shared};
use crate::exec::expr::{Evaluator, Frame, compile, compile_all};
use crate::plan::{Expr, PhysicalNode as N, PhysicalPlan, Term};
use crate::{Result, Value};

/// Such a plan, for one query: its parameters are in it.
pub(crate) struct Direct {
    /// Which changed rows it reads.
    reads: usize,
    /// In the order in which rows go through them.
    parts: Vec<Part>,
}

enum Part {
    Filter(Evaluator),
    Project(Vec<Evaluator>),
}

/// What evaluations share; made once for the changes between two states.
pub(crate) struct Evaluation(Shared);

impl Evaluation {
    pub(crate) fn new(context: ExecContext) -> Evaluation {
        Evaluation(Shared::new(context, 0))
    }
}

impl Direct {
    /// `None`: the plan does more than that.
    pub(crate) fn of(term: &Term, context: &ExecContext) -> Result<Option<Direct>> {
        let mut parts = vec![];
        let mut plan: &PhysicalPlan = &term.plan;
        let is_plain = |expr: &Expr| {
            let mut is_plain = true;
            crate::plan::walk::walk(expr, 0, &mut |expr, _| {
                is_plain &= !matches!(expr, Expr::Subplan(_) | Expr::Subquery(_) | Expr::Outer { .. });
            });
            is_plain
        };
        let reads = loop {
            match &plan.node {
                N::CteScan { id, .. } => break *id,
                N::Filter { input, predicate } if is_plain(predicate) => {
                    parts.push(Part::Filter(compile(predicate, context)?));
                    plan = input;
                }
                N::Project { input, exprs } if exprs.iter().all(is_plain) => {
                    parts.push(Part::Project(compile_all(exprs, context)?));
                    plan = input;
                }
                _ => return Ok(None),
            }
        };
        parts.reverse();
        Ok(Some(Direct { reads, parts }))
    }

    /// Calls `each` with every row and its weight.
    pub(crate) fn run(
        &mut self,
        changed: &[(usize, Batch)],
        on: &Evaluation,
        each: &mut dyn FnMut(&[Value], i64),
    ) -> Result<()> {
        let Some((_, batch)) = changed.iter().find(|(id, _)| *id == self.reads) else { return Ok(()) };
        let cx = Cx { shared: &on.0, outer: None, writes: None };
        let mut batch = batch.clone();
        for part in &mut self.parts {
            match part {
                Part::Filter(predicate) => {
                    let passing = predicate.true_rows(Frame::from(&batch), cx)?;
                    if passing.is_empty() {
                        return Ok(());
                    }
                    if passing.len() < batch.len() {
                        batch = batch.gather(&passing);
                    }
                }
                Part::Project(exprs) => {
                    let frame = Frame::from(&batch);
                    let columns = exprs.iter_mut().map(|expr| expr.vector(frame, cx)).collect::<Result<Vec<_>>>()?;
                    batch = Batch::new(columns, batch.len());
                }
            }
        }
        let mut values = Vec::with_capacity(batch.columns().len());
        for row in 0..batch.len() {
            batch.read_row(row, &mut values);
            let weight = weight_of(&batch, row)?;
            values.pop();
            each(&values, weight);
        }
        Ok(())
    }
}
