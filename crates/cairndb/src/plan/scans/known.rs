//! What is known of the rows that conditions over a table let pass.
//!
//! Of an expression that an index has in its key there are statistics as of a column. So estimates see conditions over the columns
//! and, behind them, those expressions; whichever way the table is then read.

use std::borrow::Cow;
use std::sync::Arc;

use super::indexes::with_keys;
use crate::catalog::Table;
use crate::plan::expressions::expr::Expr;
use crate::plan::statistics::asked::AskedRange;
use crate::plan::statistics::estimate::{ColumnInfo, range_bound, selectivity_of_all};

/// See the module.
pub(in crate::plan) struct Known<'a> {
    /// Of each column, and of each of the keys.
    infos: Vec<ColumnInfo>,
    columns: usize,
    keys: Vec<(usize, Expr)>,
    /// As they are seen, by their places.
    pub(super) conditions: Cow<'a, [Expr]>,
    /// Bytes of the columns.
    pub(super) width: f64,
}

impl<'a> Known<'a> {
    /// Of a table's columns, and of what stands in keys of its indexes, as far as something is known of that.
    pub(super) fn of(
        (table, mut infos): (&Arc<Table>, Vec<ColumnInfo>),
        keys: impl Iterator<Item = (usize, Expr)>,
        conditions: &'a [Expr],
    ) -> Known<'a> {
        let (columns, width) = (infos.len(), infos.iter().fold(0.0, |sum, info| sum + info.width));
        let mut known = Vec::new();
        for (key, expr) in keys {
            let info = ColumnInfo::of_table(table, key);
            if info.source.is_some() {
                infos.push(info);
                known.push((key, expr));
            }
        }
        let mut all = Known { infos, columns, keys: known, conditions: conditions.into(), width };
        if !all.keys.is_empty() {
            all.conditions = conditions.iter().map(|condition| all.seen(condition)).collect();
        }
        all
    }

    /// A condition over the columns as estimates see it.
    pub(in crate::plan) fn seen(&self, condition: &Expr) -> Expr {
        if self.keys.is_empty() { condition.clone() } else { with_keys(condition, self.columns, &self.keys) }
    }

    /// The ranges of which the condition at this place is a bound, if that is a parameter.
    pub(in crate::plan) fn asked_range(&self, place: usize) -> Option<AskedRange> {
        let (column, ..) = range_bound(self.conditions.get(place)?)?;
        let bounds = self.conditions.iter().filter_map(range_bound).filter(|bound| bound.0 == column);
        AskedRange::new(self.infos.get(column)?, bounds.map(|(_, op, value)| (op, value)))
    }

    /// The share of rows for which all the conditions are true.
    pub(in crate::plan) fn share(&self) -> f64 {
        self.share_of(&self.conditions)
    }

    /// The share of rows for which these are true, which are as they are seen.
    pub(in crate::plan) fn share_of(&self, conditions: &[Expr]) -> f64 {
        selectivity_of_all(conditions, &self.infos)
    }
}
