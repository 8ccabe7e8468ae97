//! Ranges whose bounds are parameters: how much of a table lies in one hangs on the values that come with each execution, and with it
//! whether an index is worth asking.
//!
//! So a query that asks for one has a plan for each size of it (in powers of four), made for the first values that are of
//! that size, and each execution takes the one that its values ask for ("choose plan" of Graefe and Ward, Dynamic Query Evaluation Plans,
//! SIGMOD 1989). What a plan was made for is assumed: it is right for all others.

use super::estimate::{ColumnInfo, RangeBound, range_share};
use crate::Value;
use crate::functions::Operator;
use crate::plan::LogicalPlan;
use crate::plan::expressions::expr::Expr;
use crate::plan::expressions::walk;

/// The least part of a table that is told from a lesser one: 4 to the power of minus this.
const SIZES: u8 = 10;

/// A range of a column, or of what an index has in place of one.
#[derive(Clone, Debug)]
pub(crate) struct AskedRange {
    info: ColumnInfo,
    bounds: Vec<(Operator, Bound)>,
}

#[derive(Clone, Debug)]
enum Bound {
    Parameter(usize),
    Known(Box<Value>),
}

impl AskedRange {
    /// `None`: it asks for no parameter, or nothing is known of the column.
    pub(in crate::plan) fn new<'e>(
        info: &ColumnInfo,
        bounds: impl Iterator<Item = (Operator, &'e Expr)>,
    ) -> Option<AskedRange> {
        let bound = |(op, value): (Operator, &Expr)| match value {
            Expr::Parameter { index, .. } => Some((op, Bound::Parameter(*index))),
            Expr::Literal { value, .. } => Some((op, Bound::Known(Box::new(value.clone())))),
            _ => None,
        };
        let bounds: Vec<_> = bounds.filter_map(bound).collect();
        let asks = bounds.iter().any(|(_, bound)| matches!(bound, Bound::Parameter(_)));
        (asks && info.has_statistics()).then(|| AskedRange { info: info.clone(), bounds })
    }

    /// Whether it is of the same column, with the same parameters.
    pub(in crate::plan) fn is_like(&self, other: &AskedRange) -> bool {
        let column = |of: &AskedRange| of.info.source.as_ref().map(|(table, column, _)| (table.id, *column));
        column(self) == column(other) && self.parameters().eq(other.parameters())
    }

    fn parameters(&self) -> impl Iterator<Item = (Operator, usize)> {
        self.bounds.iter().filter_map(|(op, bound)| match bound {
            Bound::Parameter(index) => Some((*op, *index)),
            Bound::Known(_) => None,
        })
    }

    /// Its size with these parameters: 0 is all of the table.
    pub(crate) fn size(&self, parameters: &[Value]) -> u8 {
        let bounds = self.bounds.iter().map(|(op, bound)| {
            let value = match bound {
                Bound::Known(value) => Some(&**value),
                Bound::Parameter(index) => parameters.get(*index).filter(|value| !value.is_null()),
            };
            (*op, value)
        });
        let bounds: Vec<RangeBound<'_>> = bounds.collect();
        let share = range_share(Some(&self.info), &bounds).clamp(f64::MIN_POSITIVE, 1.0);
        (-share.log2() / 2.0).min(SIZES.into()) as u8
    }
}

/// Has a plan be made for these values of the parameters that the ranges ask for.
pub(crate) fn assume(plan: &mut LogicalPlan, ranges: &[AskedRange], parameters: &[Value]) {
    let is_asked = |index: usize| ranges.iter().any(|range| range.parameters().any(|(_, asked)| asked == index));
    walk::rewrite_plan(plan, 0, &mut |expr, _| {
        let Expr::Parameter { index, data_type, .. } = expr else { return None };
        let value = parameters.get(*index).filter(|value| !value.is_null() && is_asked(*index))?;
        Some(Expr::Parameter { index: *index, data_type: *data_type, assumed: Some(value.clone().into()) })
    });
}
