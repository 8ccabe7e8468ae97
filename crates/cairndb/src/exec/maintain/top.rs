//! The first rows in an order, and a margin of those behind them: what moves up when one of the first goes.
//!
//! What must hold:
//! - All rows are kept whose place in the order is not behind that of the last one kept; there may be others behind it.
//! - Which of several rows with the same place are among the first, the query does not say: where that matters, it is run again.

use std::collections::{BTreeMap, HashMap};

use super::stages::Flow;
use crate::exec::context::{Cx, ExecContext};
use crate::exec::expr::compile;
use crate::exec::limit::LimitValues;
use crate::exec::row_eval::eval_row;
use crate::plan::{Expr, SortKey};
use crate::types::row::RowLayout;
use crate::types::{DataType, key};
use crate::{Result, Value};

/// More rows than that are not kept.
const ROWS_MAX: usize = 10_000;

/// See the module.
pub(super) struct Top {
    keys: Vec<SortKey>,
    first: usize,
    end: usize,
    margin: Option<usize>,
    /// Of the rows.
    layout: RowLayout,
    /// By place in the order, and by bytes, so that rows are told apart that look different.
    rows: BTreeMap<Box<[u8]>, SamePlace>,
    count: usize,
    /// There may be rows behind the last one kept.
    goes_on: bool,
    shown: HashMap<Box<[u8]>, Copies>,
}

/// Rows that the order does not tell apart, by their bytes.
type SamePlace = BTreeMap<Box<[u8]>, Copies>;

/// A row, and how many times it is there.
#[derive(Clone)]
struct Copies {
    row: Vec<Value>,
    count: i64,
}

impl Top {
    /// `margin`: the first rows that come are all that there are, or as many as are wanted and so many more. `None`: too many
    /// are wanted. `types`: of the rows.
    pub(super) fn new(
        keys: &[SortKey],
        (limit, offset): (&Expr, Option<&Expr>),
        margin: Option<usize>,
        types: &[DataType],
        cx: Cx<'_>,
    ) -> Result<Option<Top>> {
        let context = cx.context();
        let offset = offset.map(|offset| compile(offset, context)).transpose()?;
        let mut limits = LimitValues { limit: Some(compile(limit, context)?), offset };
        let (skipped, Some(limit)) = limits.evaluate(cx)? else { return Ok(None) };
        let end = skipped.saturating_add(limit);
        if end > ROWS_MAX {
            return Ok(None);
        }
        Ok(Some(Top {
            keys: keys.to_vec(),
            first: skipped,
            end,
            margin,
            layout: RowLayout::new(types),
            rows: BTreeMap::new(),
            count: 0,
            goes_on: false,
            shown: HashMap::new(),
        }))
    }

    /// Takes in how the rows change; how the first ones do. `None`: it is not known, and what is kept is of no more use.
    pub(super) fn follow(&mut self, flow: &Flow, context: &ExecContext) -> Result<Option<Flow>> {
        for (row, weight) in flow {
            self.take(row, *weight, context)?;
        }
        if self.rows.values().flat_map(BTreeMap::values).any(|copies| copies.count < 0) {
            return Ok(None);
        }
        for rows in self.rows.values_mut() {
            rows.retain(|_, copies| copies.count > 0);
        }
        self.rows.retain(|_, rows| !rows.is_empty());
        self.trim();
        Ok(self.change())
    }

    /// The first rows, of those that were there from the beginning; `None`: it is not said which they are.
    pub(super) fn begun(&mut self) -> Option<Flow> {
        self.trim();
        if self.margin.is_some_and(|margin| self.count >= self.end + margin) {
            // Others may have the last one's place.
            self.goes_on = true;
            self.drop_last();
        }
        self.change()
    }

    /// Lets those go that are far behind.
    pub(super) fn trim(&mut self) {
        self.count = self.rows.values().flat_map(BTreeMap::values).map(|copies| copies.count as usize).sum();
        while self.count > 2 * self.end + 4 * KEPT_MARGIN {
            self.goes_on = true;
            self.drop_last();
        }
    }

    /// What changed of the first rows since this was asked last.
    fn change(&mut self) -> Option<Flow> {
        if self.goes_on && self.count < self.end {
            return None;
        }
        let shown = self.first_rows()?;
        Some(self.difference_to(shown))
    }

    fn drop_last(&mut self) {
        if let Some((_, rows)) = self.rows.pop_last() {
            self.count -= rows.values().map(|copies| copies.count as usize).sum::<usize>();
        }
    }

    /// A row, so many times.
    pub(super) fn take(&mut self, row: &[Value], weight: i64, context: &ExecContext) -> Result<()> {
        let mut place = Vec::new();
        for SortKey { expr, descending, nulls_first } in &self.keys {
            let value = eval_row(expr, row, context)?;
            key::encode_value(&value, expr.data_type(), *descending, *nulls_first, &mut place);
        }
        if self.goes_on && self.rows.last_key_value().is_none_or(|(last, _)| *place > **last) {
            return Ok(());
        }
        let mut bytes = Vec::new();
        self.layout.encode(row, &mut bytes);
        let rows = self.rows.entry(place.into()).or_default();
        let copies = rows.entry(bytes.into()).or_insert_with(|| Copies { row: row.to_vec(), count: 0 });
        copies.count += weight;
        Ok(())
    }

    /// The rows that are wanted. `None`: it is not said which.
    fn first_rows(&self) -> Option<HashMap<Box<[u8]>, Copies>> {
        let (mut found, mut at) = (HashMap::<Box<[u8]>, Copies>::new(), 0);
        for rows in self.rows.values() {
            if at >= self.end {
                break;
            }
            let next = at + rows.values().map(|copies| copies.count as usize).sum::<usize>();
            let is_cut = |edge: usize| at < edge && edge < next;
            if rows.len() > 1 && (is_cut(self.first) || is_cut(self.end)) {
                return None;
            }
            let shown = next.min(self.end).saturating_sub(at.max(self.first));
            for (bytes, copies) in rows {
                let count = if rows.len() > 1 { if at >= self.first { copies.count } else { 0 } } else { shown as i64 };
                if count > 0 {
                    found.entry(bytes.clone()).or_insert(Copies { row: copies.row.clone(), count: 0 }).count += count;
                }
            }
            at = next;
        }
        Some(found)
    }

    fn difference_to(&mut self, shown: HashMap<Box<[u8]>, Copies>) -> Flow {
        let mut flow = Flow::new();
        let mut add = |copies: &Copies, weight: i64| {
            if weight != 0 {
                flow.push((copies.row.clone(), weight));
            }
        };
        for (bytes, copies) in &self.shown {
            add(copies, shown.get(bytes).map_or(0, |now| now.count) - copies.count);
        }
        for (_, copies) in shown.iter().filter(|(bytes, _)| !self.shown.contains_key(*bytes)) {
            add(copies, copies.count);
        }
        self.shown = shown;
        flow
    }
}

/// Rows behind the first ones that are worth keeping.
const KEPT_MARGIN: usize = 64;
