//! AND of conditions that two indexes answer, of which neither alone leaves few rows: the entries of one are asked whether the other
//! has one for the same row, before the row is looked up.
//!
//! - What the other index knows is a hint (`exec/scan/both.rs`): its conditions stay in the filter, and the order is the first one's.
//! - Conditions count as independent. Where they are not the other index was read in vain: so what is gained has to be more than that.

use super::access::{AccessPath, TableShape, table_width};
use crate::plan::expressions::expr::Expr;
use crate::plan::expressions::refs::has_subquery;
use crate::plan::physical::KeyRange;
use crate::plan::statistics::cost;
use crate::plan::statistics::estimate::table_rows;

/// Fewer rows are looked up sooner than another index is read.
const ROWS_MIN: f64 = 500.0;

/// What paths become that cost less with another one's index.
pub(in crate::plan) fn pairs(shape: &TableShape, paths: &[AccessPath]) -> Vec<AccessPath> {
    let is_first = |path: &&AccessPath| is_by_key(path) && !path.covering && path.matched >= ROWS_MIN;
    paths.iter().filter(is_first).filter_map(|path| with_another(shape, path, paths)).collect()
}

fn is_by_key(path: &AccessPath) -> bool {
    path.index.is_some()
        && !path.point
        && path.items.is_none()
        && !(path.answered.is_empty() && path.narrowed.is_empty())
}

fn with_another(shape: &TableShape, path: &AccessPath, paths: &[AccessPath]) -> Option<AccessPath> {
    let all = table_rows(&shape.table);
    let row = cost::row_by_entry(table_width(&shape.table));
    let gained = |other: &AccessPath| {
        let asked = |place: &usize| path.answered.contains(place) || path.narrowed.contains(place);
        let is_new = !other.answered.iter().chain(&other.narrowed).all(asked);
        // (A subquery would be planned for each.)
        let is_plain = !other.ranges.iter().flat_map(exprs).any(has_subquery);
        let read = cost::LOOKUP * other.ranges.len() as f64 + other.matched * (cost::ENTRY + cost::HASH_BUILD);
        let spared = path.matched * (1.0 - other.matched / all).max(0.0) * row - path.matched * 2.0 * cost::OPERATOR;
        (is_by_key(other) && is_new && is_plain && spared - read > read).then_some((spared, read))
    };
    let others = paths.iter().filter_map(|other| Some((other, gained(other)?)));
    let (other, (spared, read)) = others.max_by(|(_, a), (_, b)| (a.0 - a.1).total_cmp(&(b.0 - b.1)))?;
    let mut path = path.clone();
    path.both = Some((other.index.clone()?, other.ranges.clone()));
    path.matched *= other.matched / all;
    path.estimate.total = (path.estimate.total + read - spared).max(path.estimate.startup);
    Some(path)
}

fn exprs(range: &KeyRange) -> impl Iterator<Item = &Expr> {
    range.prefix.iter().chain(range.lower.iter().chain(&range.upper).map(|bound| &bound.value))
}
