//! The parts of a statement's WITH, which binding puts around the rows that the statement changes.

use crate::plan::{CteId, Expr, LogicalPlan, is_volatile_plan, walk};
use crate::{Error, Result};

/// The parts around a plan, the outermost first, and what they are around.
pub(super) fn without_parts(mut plan: LogicalPlan) -> (Vec<LogicalPlan>, LogicalPlan) {
    let mut parts = vec![];
    while let LogicalPlan::With { body, .. } | LogicalPlan::RecursiveWith { body, .. } = &mut plan {
        let within = std::mem::replace(&mut **body, LogicalPlan::Values { rows: vec![], fields: vec![] });
        parts.push(std::mem::replace(&mut plan, within));
    }
    (parts, plan)
}

/// The plan with parts around it.
pub(super) fn within_parts(parts: Vec<LogicalPlan>, plan: LogicalPlan) -> LogicalPlan {
    parts.into_iter().rev().fold(plan, |within, mut part| {
        if let LogicalPlan::With { body, .. } | LogicalPlan::RecursiveWith { body, .. } = &mut part {
            **body = within;
        }
        part
    })
}

/// A query that is asked apart from a statement, with those parts of the statement's WITH around it that it reads: they are asked
/// again, which gives the same rows. SQLSTATE 0A000 where it would not, and for a part that is not around `rows`. `given`: what
/// the query reads that it is given.
pub(super) fn with_parts_of(
    rows: &LogicalPlan,
    (query, given): (LogicalPlan, CteId),
    place: &str,
) -> Result<LogicalPlan> {
    let mut reads = Reads { read: vec![], known: vec![given] };
    reads.add(&query);
    if reads.unknown().next().is_none() {
        return Ok(query);
    }
    let (mut around, mut rest) = (vec![], rows);
    while let LogicalPlan::With { body, .. } | LogicalPlan::RecursiveWith { body, .. } = rest {
        around.push(rest);
        rest = body;
    }
    let mut parts = vec![];
    for part in around.into_iter().rev() {
        let part = alone(part);
        if reads.unknown().any(|read| Some(read) == id_of(&part)) {
            reads.add(&part);
            parts.insert(0, part);
        }
    }
    let is_repeatable = |part: &LogicalPlan| !is_volatile_plan(part) && !changes(part);
    if reads.unknown().next().is_none() && parts.iter().all(is_repeatable) {
        return Ok(within_parts(parts, query));
    }
    let what = format!("a subquery in {place} that reads a part of the statement's WITH");
    Err(Error::unsupported(&what).with_hint("Say that part within the subquery, too."))
}

/// A part around nothing.
fn alone(part: &LogicalPlan) -> LogicalPlan {
    let body = Box::new(LogicalPlan::Values { rows: vec![], fields: vec![] });
    match part {
        LogicalPlan::With { id, name, materialized, definition, .. } => LogicalPlan::With {
            id: *id,
            name: name.clone(),
            materialized: *materialized,
            definition: definition.clone(),
            body,
        },
        LogicalPlan::RecursiveWith { id, name, base, step, all, .. } => LogicalPlan::RecursiveWith {
            id: *id,
            name: name.clone(),
            base: base.clone(),
            step: step.clone(),
            all: *all,
            body,
        },
        other => other.clone(),
    }
}

fn id_of(part: &LogicalPlan) -> Option<CteId> {
    match part {
        LogicalPlan::With { id, .. } | LogicalPlan::RecursiveWith { id, .. } => Some(*id),
        _ => None,
    }
}

/// Whether it changes rows.
fn changes(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Modify { .. }) || walk::inputs(plan).into_iter().any(|(input, _)| changes(input))
}

/// The parts that a plan reads, and those that it has.
struct Reads {
    read: Vec<CteId>,
    known: Vec<CteId>,
}

impl Reads {
    fn unknown(&self) -> impl Iterator<Item = CteId> {
        self.read.iter().copied().filter(|id| !self.known.contains(id))
    }

    fn add(&mut self, plan: &LogicalPlan) {
        match plan {
            LogicalPlan::With { id, .. } | LogicalPlan::RecursiveWith { id, .. } => self.known.push(*id),
            LogicalPlan::CteScan { id, .. } => self.read.push(*id),
            _ => {}
        }
        for expr in walk::node_exprs(plan) {
            self.add_expr(expr);
        }
        walk::inputs(plan).into_iter().for_each(|(input, _)| self.add(input));
    }

    fn add_expr(&mut self, expr: &Expr) {
        if let Expr::Subquery(subquery) = expr {
            self.add(&subquery.plan);
        }
        walk::children(expr).for_each(|child| self.add_expr(child));
    }
}
