//! Groups with aggregates that rows can be taken back from (PostgreSQL's inverse transitions).
//!
//! What must hold: a group is what its rows make it, whatever came and went before; one without rows is not there (without
//! group expressions there is always one).

use std::collections::HashMap;
use std::sync::Arc;

use super::stages::Flow;
use crate::exec::batch::Batch;
use crate::exec::context::{Cx, ExecContext};
use crate::exec::expr::{Evaluator, Frame, compile, compile_all};
use crate::exec::hash::QuickHashes;
use crate::exec::vector::Vector;
use crate::functions::{Accumulator, Aggregate};
use crate::plan::{AggregateCall, Expr};
use crate::types::DataType;
use crate::types::row::RowLayout;
use crate::{Result, Value};

/// See the module.
pub(super) struct Groups {
    keys: Vec<Evaluator>,
    calls: Vec<Call>,
    /// Of the group expressions.
    layout: RowLayout,
    groups: HashMap<Box<[u8]>, Group, QuickHashes>,
}

struct Call {
    aggregate: Arc<Aggregate>,
    args: Vec<Evaluator>,
    filter: Option<Evaluator>,
}

struct Group {
    rows: i64,
    accumulators: Vec<Box<dyn Accumulator>>,
    /// Group expressions and answers, as they were given last.
    shown: Option<Vec<Value>>,
    /// It is to be shown.
    is_touched: bool,
}

/// What the groups need of a flow's rows.
struct Fed {
    keys: Vec<Arc<Vector>>,
    /// By call.
    args: Vec<Columns>,
}

impl Groups {
    pub(super) fn new(group_by: &[Expr], aggregates: &[AggregateCall], context: &ExecContext) -> Result<Groups> {
        let types: Vec<DataType> = group_by.iter().map(Expr::data_type).collect();
        let call = |call: &AggregateCall| {
            Ok(Call {
                aggregate: call.aggregate.clone(),
                args: compile_all(&call.args, context)?,
                filter: call.filter.as_ref().map(|filter| compile(filter, context)).transpose()?,
            })
        };
        Ok(Groups {
            keys: compile_all(group_by, context)?,
            calls: aggregates.iter().map(call).collect::<Result<_>>()?,
            layout: RowLayout::new(&types),
            groups: HashMap::default(),
        })
    }

    /// Puts rows into their groups, or takes them away; how the groups change. `None`: it is not known, and the groups are of
    /// no more use.
    pub(super) fn follow(&mut self, flows: &[Flow], is_first: bool, cx: Cx<'_>) -> Result<Option<Option<Flow>>> {
        let mut fed = flows.iter().map(|flow| self.feed(&flow.batch, cx)).collect::<Result<Vec<_>>>()?;
        let mut touched = vec![];
        // What comes first: nothing is taken back before it is there.
        for (flow, fed) in flows.iter().zip(&mut fed) {
            self.add(&flow.weights, fed, &mut touched)?;
        }
        for (flow, fed) in flows.iter().zip(&mut fed) {
            if !self.take_back(&flow.weights, fed, &mut touched)? {
                return Ok(None);
            }
        }
        if is_first && self.keys.is_empty() && self.group(&[]).touch() {
            touched.push([].into());
        }
        touched.sort_unstable();
        self.show(touched).map(Some)
    }

    /// Puts rows into their groups, before anybody is told of these.
    pub(super) fn begin(&mut self, batch: &Batch, cx: Cx<'_>) -> Result<()> {
        let mut fed = self.feed(batch, cx)?;
        let Groups { calls, layout, groups, .. } = self;
        let (mut values, mut bytes) = (Vec::new(), Vec::new());
        for row in 0..batch.len() {
            fed.read_key(row, layout, &mut values, &mut bytes);
            let group = match groups.get_mut(bytes.as_slice()) {
                Some(group) => group,
                None => groups.entry(bytes.as_slice().into()).or_insert_with(|| Group::new(calls)),
            };
            group.rows += 1;
            for (accumulator, args) in group.accumulators.iter_mut().zip(&mut fed.args) {
                if args.read(row, &mut values) {
                    accumulator.update(&values)?;
                }
            }
        }
        Ok(())
    }

    /// The groups, all of which have begun.
    pub(super) fn begun(&mut self) -> Result<Option<Flow>> {
        if self.keys.is_empty() {
            self.group(&[]);
        }
        let keys = self.groups.keys().cloned().collect();
        self.show(keys)
    }

    fn group(&mut self, key: &[u8]) -> &mut Group {
        let Groups { groups, calls, .. } = self;
        groups.entry(key.into()).or_insert_with(|| Group::new(calls))
    }

    /// Evaluates what the groups need of the rows.
    fn feed(&mut self, batch: &Batch, cx: Cx<'_>) -> Result<Fed> {
        let frame = Frame::from(batch);
        let keys = self.keys.iter_mut().map(|key| key.vector(frame, cx)).collect::<Result<_>>()?;
        let args = self.calls.iter_mut().map(|call| call.columns_of(batch, cx)).collect::<Result<_>>()?;
        Ok(Fed { keys, args })
    }

    /// Puts the rows of positive weight into their groups; adds the keys of those that were not touched before.
    fn add(&mut self, weights: &[i64], fed: &mut Fed, touched: &mut Vec<Box<[u8]>>) -> Result<()> {
        let Groups { calls, layout, groups, .. } = self;
        let (mut values, mut bytes) = (Vec::new(), Vec::new());
        for (row, &weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0) {
            fed.read_key(row, layout, &mut values, &mut bytes);
            let group = match groups.get_mut(bytes.as_slice()) {
                Some(group) => group,
                None => groups.entry(bytes.as_slice().into()).or_insert_with(|| Group::new(calls)),
            };
            group.rows += weight;
            if group.touch() {
                touched.push(bytes.as_slice().into());
            }
            for (accumulator, args) in group.accumulators.iter_mut().zip(&mut fed.args) {
                if args.read(row, &mut values) {
                    (0..weight).try_for_each(|_| accumulator.update(&values))?;
                }
            }
        }
        fed.rewind();
        Ok(())
    }

    /// Takes the rows of negative weight out of theirs. False: a group has to be computed anew.
    fn take_back(&mut self, weights: &[i64], fed: &mut Fed, touched: &mut Vec<Box<[u8]>>) -> Result<bool> {
        let (mut values, mut bytes) = (Vec::new(), Vec::new());
        for (row, &weight) in weights.iter().enumerate().filter(|(_, weight)| **weight < 0) {
            fed.read_key(row, &self.layout, &mut values, &mut bytes);
            let Some(group) = self.groups.get_mut(bytes.as_slice()) else { return Ok(false) };
            group.rows += weight;
            if group.touch() {
                touched.push(bytes.as_slice().into());
            }
            for (accumulator, args) in group.accumulators.iter_mut().zip(&mut fed.args) {
                if !args.read(row, &mut values) {
                    continue;
                }
                for _ in 0..weight.unsigned_abs() {
                    if !accumulator.retract(&values)? {
                        return Ok(false);
                    }
                }
            }
            if group.rows < 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Works out what these groups are now; what that changes.
    fn show(&mut self, keys: Vec<Box<[u8]>>) -> Result<Option<Flow>> {
        let is_alone = self.keys.is_empty();
        let (mut rows, mut weights) = (vec![], vec![]);
        for key in keys {
            let Some(group) = self.groups.get_mut(&key) else { continue };
            group.is_touched = false;
            if let Some(row) = group.shown.take() {
                rows.push(row);
                weights.push(-1);
            }
            if group.rows == 0 && !is_alone {
                self.groups.remove(&key);
                continue;
            }
            let mut row = Vec::with_capacity(self.keys.len() + self.calls.len());
            // (A row of no columns has no bytes.)
            if !is_alone {
                self.layout.decode(&key, &mut row)?;
            }
            for accumulator in &mut group.accumulators {
                row.push(accumulator.answer()?);
            }
            group.shown = Some(row.clone());
            rows.push(row);
            weights.push(1);
        }
        if rows.is_empty() {
            return Ok(None);
        }
        let returns = self.calls.iter().map(|call| call.aggregate.returns);
        let types = self.keys.iter().map(Evaluator::data_type).chain(returns);
        Ok(Some(Flow { batch: batch_of(&rows, types)?, weights }))
    }
}

/// Rows as a batch.
pub(super) fn batch_of(rows: &[Vec<Value>], types: impl Iterator<Item = DataType>) -> Result<Batch> {
    let column = |(at, data_type): (usize, DataType)| {
        let mut vector = Vector::with_capacity(data_type, rows.len());
        rows.iter().try_for_each(|row| vector.push(&row[at]))?;
        Ok(Arc::new(vector))
    };
    let columns = types.enumerate().map(column).collect::<Result<Vec<_>>>()?;
    Ok(Batch::new(columns, rows.len()))
}

impl Group {
    fn new(calls: &[Call]) -> Group {
        let accumulators = calls.iter().map(|call| call.aggregate.start()).collect();
        Group { rows: 0, accumulators, shown: None, is_touched: false }
    }

    /// It is to be shown; true for the first who says so.
    fn touch(&mut self) -> bool {
        !std::mem::replace(&mut self.is_touched, true)
    }
}

impl Fed {
    /// The key of a row's group.
    fn read_key(&self, row: usize, layout: &RowLayout, values: &mut Vec<Value>, key: &mut Vec<u8>) {
        key.clear();
        // (A row of no columns has no bytes.)
        if !self.keys.is_empty() {
            values.clear();
            values.extend(self.keys.iter().map(|column| column.value(row)));
            layout.encode(values, key);
        }
    }

    /// Rows are read from the first one again.
    fn rewind(&mut self) {
        self.args.iter_mut().for_each(|args| args.read = 0);
    }
}

/// A call's arguments, of the rows that its FILTER lets pass.
struct Columns {
    columns: Vec<Arc<Vector>>,
    /// Which rows these are, ascending; `None`: all.
    passing: Option<Vec<u32>>,
    /// How many of them were read, or passed by.
    read: usize,
}

impl Columns {
    /// Puts the arguments of a row into `values`, rows one after the other; false: it does not pass.
    fn read(&mut self, row: usize, values: &mut Vec<Value>) -> bool {
        let at = match &self.passing {
            None => row,
            Some(passing) => {
                self.read += passing[self.read..].iter().take_while(|next| (**next as usize) < row).count();
                match passing.get(self.read) {
                    Some(next) if *next as usize == row => self.read,
                    _ => return false,
                }
            }
        };
        values.clear();
        values.extend(self.columns.iter().map(|column| column.value(at)));
        true
    }
}

impl Call {
    /// The arguments of a batch's rows.
    fn columns_of(&mut self, batch: &Batch, cx: Cx<'_>) -> Result<Columns> {
        let passing = self.filter.as_mut().map(|filter| filter.true_rows(Frame::from(batch), cx)).transpose()?;
        let part = passing.as_ref().map_or_else(|| batch.clone(), |passing| batch.gather(passing));
        // Nothing is evaluated where no row passes.
        let columns = match part.is_empty() {
            true => Vec::new(),
            false => self.args.iter_mut().map(|arg| arg.vector(Frame::from(&part), cx)).collect::<Result<_>>()?,
        };
        Ok(Columns { columns, passing, read: 0 })
    }
}
