//! The first rows in an order, and a margin of those behind them: what moves up when one of the first goes.
//!
//! What must hold:
//! - All rows are kept whose place in the order is not behind that of the last one kept; there may be others behind it.
//! - Which of several rows with the same place are among the first, the query does not say: where that matters, it is run again.

use std::collections::{BTreeMap, HashMap};

use super::groups::batch_of;
use super::stages::Flow;
use crate::exec::context::Cx;
use crate::exec::expr::{Evaluator, Frame, compile};
use crate::exec::limit::LimitValues;
use crate::plan::{Expr, SortKey};
use crate::types::row::RowLayout;
use crate::types::{DataType, key};
use crate::{Result, Value};

/// More rows than that are not kept.
const ROWS_MAX: usize = 10_000;

/// See the module.
pub(super) struct Top {
    keys: Vec<Key>,
    first: usize,
    end: usize,
    margin: Option<usize>,
    types: Vec<DataType>,
    layout: Option<RowLayout>,
    /// By place in the order, and by bytes, so that rows are told apart that look different.
    rows: BTreeMap<Box<[u8]>, SamePlace>,
    count: usize,
    /// There may be rows behind the last one kept.
    goes_on: bool,
    shown: HashMap<Box<[u8]>, Copies>,
}

struct Key {
    expr: Evaluator,
    descending: bool,
    nulls_first: bool,
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
    /// are wanted.
    pub(super) fn new(
        keys: &[SortKey],
        limit: &Expr,
        offset: Option<&Expr>,
        margin: Option<usize>,
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
        let key = |key: &SortKey| {
            let expr = compile(&key.expr, context)?;
            Ok(Key { expr, descending: key.descending, nulls_first: key.nulls_first })
        };
        Ok(Some(Top {
            keys: keys.iter().map(key).collect::<Result<_>>()?,
            first: skipped,
            end,
            margin,
            types: vec![],
            layout: None,
            rows: BTreeMap::new(),
            count: 0,
            goes_on: false,
            shown: HashMap::new(),
        }))
    }

    /// Takes in how the rows change; how the first ones do. `None`: it is not known, and what is kept is of no more use.
    pub(super) fn follow(&mut self, flows: &[Flow], is_first: bool, cx: Cx<'_>) -> Result<Option<Option<Flow>>> {
        for flow in flows {
            self.take(flow, cx)?;
        }
        if self.rows.values().flat_map(BTreeMap::values).any(|copies| copies.count < 0) {
            return Ok(None);
        }
        for rows in self.rows.values_mut() {
            rows.retain(|_, copies| copies.count > 0);
        }
        self.rows.retain(|_, rows| !rows.is_empty());
        self.count = self.rows.values().flat_map(BTreeMap::values).map(|copies| copies.count as usize).sum();
        if is_first && self.margin.is_some_and(|margin| self.count >= self.end + margin) {
            // Others may have the last one's place.
            self.goes_on = true;
            self.drop_last();
        }
        while self.count > 2 * self.end + 4 * KEPT_MARGIN {
            self.goes_on = true;
            self.drop_last();
        }
        if self.goes_on && self.count < self.end {
            return Ok(None);
        }
        let Some(shown) = self.first_rows() else { return Ok(None) };
        self.difference_to(shown).map(Some)
    }

    fn drop_last(&mut self) {
        if let Some((_, rows)) = self.rows.pop_last() {
            self.count -= rows.values().map(|copies| copies.count as usize).sum::<usize>();
        }
    }

    fn take(&mut self, flow: &Flow, cx: Cx<'_>) -> Result<()> {
        let frame = Frame::from(&flow.batch);
        if self.types.is_empty() {
            self.types = flow.batch.columns().iter().map(|column| column.data_type()).collect();
        }
        let layout = self.layout.get_or_insert_with(|| RowLayout::new(&self.types));
        let columns = self.keys.iter_mut().map(|key| key.expr.vector(frame, cx)).collect::<Result<Vec<_>>>()?;
        let last = self.rows.last_key_value().map(|(place, _)| place.clone());
        let (mut place, mut bytes) = (Vec::new(), Vec::new());
        for (at, &weight) in flow.weights.iter().enumerate() {
            place.clear();
            for (key, column) in self.keys.iter().zip(&columns) {
                key::encode_value(&column.value(at), column.data_type(), key.descending, key.nulls_first, &mut place);
            }
            if self.goes_on && last.as_deref().is_none_or(|last| *place > *last) {
                continue;
            }
            let row = flow.batch.row(at);
            bytes.clear();
            layout.encode(&row, &mut bytes);
            let rows = self.rows.entry(place.as_slice().into()).or_default();
            rows.entry(bytes.as_slice().into()).or_insert(Copies { row, count: 0 }).count += weight;
        }
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

    fn difference_to(&mut self, shown: HashMap<Box<[u8]>, Copies>) -> Result<Option<Flow>> {
        let (mut rows, mut weights) = (vec![], vec![]);
        let mut add = |copies: &Copies, weight: i64| {
            if weight != 0 {
                rows.push(copies.row.clone());
                weights.push(weight);
            }
        };
        for (bytes, copies) in &self.shown {
            add(copies, shown.get(bytes).map_or(0, |now| now.count) - copies.count);
        }
        for (_, copies) in shown.iter().filter(|(bytes, _)| !self.shown.contains_key(*bytes)) {
            add(copies, copies.count);
        }
        self.shown = shown;
        match rows.is_empty() {
            true => Ok(None),
            false => Ok(Some(Flow { batch: batch_of(&rows, self.types.iter().copied())?, weights })),
        }
    }
}

/// Rows behind the first ones that are worth keeping.
const KEPT_MARGIN: usize = 64;
