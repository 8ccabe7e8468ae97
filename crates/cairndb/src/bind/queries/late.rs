//! What a SELECT works out once ORDER BY has sorted its rows, as PostgreSQL does: what is volatile, unless it is sorted by; and,
//! behind DISTINCT ON, functions that return rows.
//!
//! So a volatile column under ORDER BY and LIMIT is worked out for the rows of the result only, in their order.

use std::collections::BTreeMap;

use super::select::contains_stand_in;
use crate::Result;
use crate::bind::binder::Binder;
use crate::bind::context::SetCall;
use crate::plan::{Expr, Field, LogicalPlan, SortKey, StandIn, is_volatile, map_columns, used_columns};

/// How the rows of a SELECT are put in order, by its columns.
pub(in crate::bind) struct Ordering<'a> {
    pub(in crate::bind) sort: &'a [SortKey],
    /// DISTINCT ON.
    pub(in crate::bind) on: Option<&'a [Expr]>,
}

impl Ordering<'_> {
    /// The projected rows in order; `differ`: without those that are the same as others.
    pub(in crate::bind) fn over(&self, mut plan: LogicalPlan, differ: bool) -> LogicalPlan {
        if differ {
            plan = LogicalPlan::Distinct { input: Box::new(plan), on: vec![] };
        }
        if !self.sort.is_empty() {
            plan = LogicalPlan::Sort { input: Box::new(plan), keys: self.sort.to_vec() };
        }
        match self.on {
            Some(on) => LogicalPlan::Distinct { input: Box::new(plan), on: on.to_vec() },
            None => plan,
        }
    }
}

/// Which columns wait.
pub(super) struct Late {
    waits: Vec<bool>,
    /// Functions that return rows wait, too.
    series: bool,
}

impl Late {
    /// `None`: nothing waits.
    pub(in crate::bind) fn of(exprs: &[Expr], ordering: &Ordering<'_>) -> Option<Late> {
        if ordering.sort.is_empty() {
            return None;
        }
        let mut asked = vec![false; exprs.len()];
        let keys = ordering.sort.iter().map(|key| &key.expr).chain(ordering.on.unwrap_or_default());
        for column in keys.flat_map(used_columns) {
            asked.iter_mut().skip(column).take(1).for_each(|asked| *asked = true);
        }
        let of_series = |expr: &Expr| contains_stand_in(expr, StandIn::is_rows);
        let is_sorted = exprs.iter().zip(&asked).any(|(expr, asked)| *asked && of_series(expr));
        let series = ordering.on.is_some() && !is_sorted;
        let waits = |(expr, asked): (&Expr, &bool)| !asked && (is_volatile(expr) || series && of_series(expr));
        let waits: Vec<bool> = exprs.iter().zip(&asked).map(waits).collect();
        waits.contains(&true).then_some(Late { waits, series })
    }
}

impl Binder<'_> {
    /// The rows in order, and what waits for that behind it.
    pub(super) fn sorted_first(
        &self,
        mut plan: LogicalPlan,
        mut series: Vec<SetCall>,
        (mut exprs, fields): (Vec<Expr>, Vec<Field>),
        (late, ordering): (Late, Ordering<'_>),
    ) -> Result<LogicalPlan> {
        if !late.series {
            plan = self.with_series(plan, std::mem::take(&mut series), exprs.iter_mut())?;
        }
        let early: Vec<usize> = (0..exprs.len()).filter(|&column| !late.waits[column]).collect();
        let waiting = exprs.iter().zip(&late.waits).filter(|(_, waits)| **waits).map(|(expr, _)| expr);
        let args = series.iter().map(|waiting| &waiting.call);
        let needed = waiting.chain(args).flat_map(used_columns).filter(|&column| StandIn::of(column).is_none());
        let mut places: BTreeMap<usize, usize> = needed.map(|column| (column, 0)).collect();
        places.values_mut().zip(early.len()..).for_each(|(place, next)| *place = next);

        plan = early_row(plan, (&exprs, &fields), &early, places.keys().copied());
        let of_early = |column: usize| early.binary_search(&column).unwrap_or(column);
        let over_early = |expr: &Expr| {
            let mut expr = expr.clone();
            map_columns(&mut expr, &of_early);
            expr
        };
        let sort = ordering.sort.iter().map(|key| SortKey { expr: over_early(&key.expr), ..key.clone() });
        let on: Option<Vec<Expr>> = ordering.on.map(|on| on.iter().map(over_early).collect());
        let sort: Vec<SortKey> = sort.collect();
        plan = Ordering { sort: &sort, on: on.as_deref() }.over(plan, false);

        let moved = |column: usize| places.get(&column).copied().unwrap_or(column);
        series.iter_mut().for_each(|waiting| map_columns(&mut waiting.call, &moved));
        for (column, expr) in exprs.iter_mut().enumerate() {
            match late.waits[column] {
                true => map_columns(expr, &moved),
                false => *expr = Expr::Column { index: of_early(column), data_type: expr.data_type() },
            }
        }
        if !series.is_empty() {
            // The rows that come of a row are in order, but may be joined to it in any.
            plan = self.with_series(plan, series, exprs.iter_mut())?;
            plan = Ordering { sort: &sort, on: None }.over(plan, false);
        }
        Ok(LogicalPlan::Project { input: Box::new(plan), exprs, fields })
    }
}

/// The columns that do not wait, and behind them those of `plan` that the others need.
fn early_row(
    plan: LogicalPlan,
    (exprs, fields): (&[Expr], &[Field]),
    early: &[usize],
    needed: impl Iterator<Item = usize>,
) -> LogicalPlan {
    let below = plan.fields();
    let of_early = early.iter().map(|&column| (exprs[column].clone(), fields[column].clone()));
    let of_below =
        needed.map(|index| (Expr::Column { index, data_type: below[index].data_type }, below[index].clone()));
    let (exprs, fields) = of_early.chain(of_below).unzip();
    LogicalPlan::Project { input: Box::new(plan), exprs, fields }
}
