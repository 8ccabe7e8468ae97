//! OR of conditions that different indexes answer: each reads its own rows, one after the other.
//!
//! - A row comes once: whoever reads it second asks whether a condition before is true for it, and drops it. So nothing is
//!   remembered of what was read, however much that is.
//! - The rows have no order.

use std::borrow::Cow;

use super::access::{AccessPath, TableShape, paths};
use crate::Result;
use crate::plan::expressions::expr::Expr;
use crate::plan::expressions::refs::{conjuncts, has_subquery, is_volatile};
use crate::plan::physical::PhysicalNode as N;
use crate::plan::planner::{Planned, Planner};
use crate::plan::rewrites::fold::boolean;
use crate::plan::statistics::cost;

/// An OR of more parts is not looked at: each asks for those before it.
const PARTS_MAX: usize = 16;

/// What one part of an OR reads, and how.
struct Member {
    shape: TableShape,
    path: AccessPath,
}

impl Planner<'_> {
    /// The table's rows by an index for each part of one of its conditions, if that costs less than `limit`.
    pub(in crate::plan) fn any_of(&mut self, shape: &TableShape, limit: f64) -> Result<Option<Planned>> {
        if !self.options.indexes || !self.options.rewrites {
            return Ok(None);
        }
        let Some((total, members)) = cheapest(shape, limit) else { return Ok(None) };
        let rows = cardinality(shape, &members);
        let scans = members.into_iter().map(|member| self.scan_node(&member.shape, member.path, false));
        let scans = scans.collect::<Result<Vec<_>>>()?;
        let fields = scans.first().map(|scan| scan.plan.fields.clone()).unwrap_or_default();
        let startup = scans.first().map_or(0.0, |scan| scan.estimate().startup);
        let node = N::Append { inputs: scans.into_iter().map(|scan| scan.plan).collect() };
        Ok(Some(Planned::new(node, fields, shape.infos(), startup, total, rows)))
    }
}

/// What it costs to read the table so, if that can be and is less than `limit`.
pub(in crate::plan) fn cost_of_any(shape: &TableShape, limit: f64) -> Option<f64> {
    cheapest(shape, limit).map(|(total, _)| total)
}

fn cheapest(shape: &TableShape, limit: f64) -> Option<(f64, Vec<Member>)> {
    let mut best: Option<(f64, Vec<Member>)> = None;
    for (place, condition) in shape.conditions.iter().enumerate() {
        let Some(parts) = parts_of(condition) else { continue };
        // (A subquery would be planned for each part that asks for it.)
        if is_volatile(condition) || has_subquery(condition) {
            continue;
        }
        let least = best.as_ref().map_or(limit, |(least, _)| *least);
        best = members(shape, (place, &parts), least).or(best);
    }
    best
}

/// What of the condition has to be true, one or another.
fn parts_of(condition: &Expr) -> Option<Cow<'_, [Expr]>> {
    match condition {
        Expr::Or(parts) if parts.len() <= PARTS_MAX => Some(parts.into()),
        // (What one range of keys answers for all values is better read so, and found cheaper.)
        Expr::InList { input, list, equal } if list.len() <= PARTS_MAX => {
            let equals =
                |value: &Expr| Expr::Call { function: equal.clone(), args: vec![(**input).clone(), value.clone()] };
            Some(list.iter().map(equals).collect())
        }
        _ => None,
    }
}

/// How each part of the OR at `place` reads its rows; and what all of them cost, if that is less than `limit`.
fn members(shape: &TableShape, (place, parts): (usize, &[Expr]), limit: f64) -> Option<(f64, Vec<Member>)> {
    let mut rest = shape.conditions.clone();
    rest.remove(place);
    let (mut total, mut members) = (0.0, Vec::with_capacity(parts.len()));
    for (at, part) in parts.iter().enumerate() {
        let mut shape = TableShape { conditions: rest.clone(), ..shape.clone() };
        shape.conditions.extend(conjuncts(part.clone()));
        let cheapest = paths(&shape, true).into_iter().skip(1);
        let path = cheapest.min_by(|a, b| a.estimate.total.total_cmp(&b.estimate.total))?;
        total += path.estimate.total + path.matched * cost::OPERATOR * at as f64;
        if total >= limit {
            return None;
        }
        // (Behind the conditions that the path knows by their places.)
        shape.conditions.extend(parts[..at].iter().map(is_not_true));
        members.push(Member { shape, path });
    }
    Some((total, members))
}

fn is_not_true(condition: &Expr) -> Expr {
    Expr::Not(Box::new(Expr::IsNotDistinct(Box::new(condition.clone()), Box::new(boolean(true)))))
}

/// The rows of all members together: those of the whole condition, of which there can be no more than they read.
fn cardinality(shape: &TableShape, members: &[Member]) -> f64 {
    let all = crate::plan::statistics::estimate::table_rows(&shape.table);
    let read: f64 = members.iter().map(|member| member.path.estimate.rows).sum();
    (all * shape.known().share()).min(read).max(1.0)
}
