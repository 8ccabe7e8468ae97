//! Joins whose right side is asked anew for each left row, where no single key says what is asked: by OR, ANY or a range of what the
//! left row has, each by an index of its own (`plan/scans/any_of.rs`).
//!
//! - The join's conditions become the table's, with the left row's columns as those of an outer row: what can be asked of a table is
//!   looked for in one place, whatever it is asked by.
//! - Nothing volatile moves, and no subquery does.

use super::graph::Way;
use super::method::{Candidate, Method, Pair};
use crate::functions::Operator;
use crate::plan::expressions::expr::Expr;
use crate::plan::expressions::refs::{has_subquery, is_volatile, raised_outer};
use crate::plan::expressions::walk::rewrite;
use crate::plan::logical::JoinKind;
use crate::plan::scans::access::{TableShape, paths};
use crate::plan::scans::any_of::cost_of_any;
use crate::plan::scans::system_scan::{FEW, asked_key};
use crate::plan::statistics::cost;

impl Pair<'_> {
    /// The join so made, if the right unit's indexes can be asked; `rows`: of the join.
    pub(in crate::plan) fn asking(&self, rows: f64) -> Option<Candidate> {
        if !self.may_ask() {
            return None;
        }
        if self.asked_of_system(&|column| column).is_some() {
            let left = self.left.1;
            let total = left.total + left.rows * (cost::RESTART + cost::LOOKUP + FEW * cost::ROW);
            return Some(self.candidate(Method::Asking, left.startup, total, rows));
        }
        if !self.on.iter().any(is_of_several) {
            return None;
        }
        let shape = self.asked_shape(&|column| column)?;
        let by_index = paths(&shape, true).into_iter().skip(1).map(|path| path.estimate.total);
        let inner = by_index.chain(cost_of_any(&shape, f64::MAX)).min_by(f64::total_cmp)?;
        let left = self.left.1;
        let total = left.total + left.rows * (cost::RESTART + inner);
        Some(self.candidate(Method::Asking, left.startup, total, rows))
    }

    fn may_ask(&self) -> bool {
        let is_kind = matches!(self.kind(), JoinKind::Inner | JoinKind::Left | JoinKind::Semi | JoinKind::Anti);
        is_kind && self.way != Way::RightKeys && self.options.rewrites
    }

    /// The right unit's table with the join's conditions, for a place where the left row is pushed; `place` says where that has a
    /// global column.
    pub(super) fn asked_shape(&self, place: &dyn Fn(usize) -> usize) -> Option<TableShape> {
        let shape = self.right_unit()?.shape.as_ref()?;
        if !shape.conditions.iter().all(may_move) {
            return None;
        }
        let conditions = shape.conditions.iter().map(|condition| raised_outer(condition.clone(), 1));
        let conditions = conditions.chain(self.asked(place)?).collect();
        Some(TableShape { conditions, ..shape.clone() })
    }

    /// The join's conditions for such a place, if the right unit is a relation that the system makes and that can be asked by one of them.
    pub(super) fn asked_of_system(&self, place: &dyn Fn(usize) -> usize) -> Option<Vec<Expr>> {
        let planned = &self.right_unit()?.planned;
        let conditions = self.asked(place)?;
        asked_key(&planned.plan, &conditions).map(|_| conditions)
    }

    /// The join's conditions, for a place where the left row is pushed.
    fn asked(&self, place: &dyn Fn(usize) -> usize) -> Option<Vec<Expr>> {
        let unit = self.right_unit()?;
        let own = unit.first..unit.first + unit.width();
        let asked = |part: &Expr| {
            let mut part = raised_outer(part.clone(), 1);
            rewrite(&mut part, 0, &mut |expr, _| match expr {
                Expr::Column { index, data_type } if own.contains(index) => {
                    Some(Expr::Column { index: index - own.start, data_type: *data_type })
                }
                Expr::Column { index, data_type } => {
                    Some(Expr::Outer { level: 1, index: place(*index), data_type: *data_type })
                }
                _ => None,
            });
            part
        };
        self.on.iter().all(may_move).then(|| self.on.iter().map(asked).collect())
    }
}

fn may_move(condition: &Expr) -> bool {
    !is_volatile(condition) && !has_subquery(condition)
}

/// Whether no single key could say what it asks for.
fn is_of_several(condition: &Expr) -> bool {
    match condition {
        Expr::Or(_) | Expr::InList { .. } => true,
        Expr::Call { function, .. } => {
            function.is_equal_to_any() || function.op.is_some_and(|op| op.is_comparison() && op != Operator::Equal)
        }
        _ => false,
    }
}
