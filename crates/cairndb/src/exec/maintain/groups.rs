//! Groups with aggregates that rows can be taken back from (PostgreSQL's inverse transitions).
//!
//! What must hold: a group is what its rows make it, whatever came and went before; one without rows is not there (without
//! group expressions there is always one).

use std::collections::HashMap;
use std::sync::Arc;

use super::stages::Flow;
use crate::exec::batch::{Batch, row_number};
use crate::exec::context::{Cx, ExecContext};
use crate::exec::expr::{Evaluator, Frame, compile, compile_all};
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
    groups: HashMap<Box<[u8]>, Group>,
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
}

/// A row on its way to its group: its key, its weight, and by call the arguments, where its FILTER lets it pass.
struct Fed {
    key: Box<[u8]>,
    weight: i64,
    args: Vec<Option<Vec<Value>>>,
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
            groups: HashMap::new(),
        })
    }

    /// Puts rows into their groups, or takes them away; how the groups change. `None`: it is not known, and the groups are of
    /// no more use.
    pub(super) fn follow(&mut self, flows: &[Flow], is_first: bool, cx: Cx<'_>) -> Result<Option<Option<Flow>>> {
        let mut fed = vec![];
        for flow in flows {
            self.feed(flow, &mut fed, cx)?;
        }
        // What comes first: nothing is taken back before it is there.
        for fed in fed.iter().filter(|fed| fed.weight > 0) {
            self.add(fed)?;
        }
        for fed in fed.iter().filter(|fed| fed.weight < 0) {
            if !self.take_back(fed)? {
                return Ok(None);
            }
        }
        let mut keys: Vec<Box<[u8]>> = fed.into_iter().map(|fed| fed.key).collect();
        if is_first && self.keys.is_empty() {
            self.group(&[]);
            keys.push([].into());
        }
        keys.sort_unstable();
        keys.dedup();
        self.show(keys).map(Some)
    }

    /// Puts rows into their groups, before anybody is told of these.
    pub(super) fn begin(&mut self, batch: &Batch, cx: Cx<'_>) -> Result<()> {
        let Groups { keys, calls, layout, groups } = self;
        let frame = Frame::from(batch);
        let keys = keys.iter_mut().map(|key| key.vector(frame, cx)).collect::<Result<Vec<_>>>()?;
        let mut args = calls.iter_mut().map(|call| call.columns_of(batch, cx)).collect::<Result<Vec<_>>>()?;
        let (mut values, mut bytes) = (Vec::new(), Vec::new());
        for row in 0..batch.len() {
            values.clear();
            values.extend(keys.iter().map(|key| key.value(row)));
            bytes.clear();
            if !values.is_empty() {
                layout.encode(&values, &mut bytes);
            }
            let group = match groups.get_mut(bytes.as_slice()) {
                Some(group) => group,
                None => groups.entry(bytes.as_slice().into()).or_insert_with(|| Group::new(calls)),
            };
            group.rows += 1;
            for (accumulator, args) in group.accumulators.iter_mut().zip(&mut args) {
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
    fn feed(&mut self, flow: &Flow, fed: &mut Vec<Fed>, cx: Cx<'_>) -> Result<()> {
        let Groups { keys, calls, layout, .. } = self;
        let frame = Frame::from(&flow.batch);
        let keys = keys.iter_mut().map(|key| key.vector(frame, cx)).collect::<Result<Vec<_>>>()?;
        let mut args = calls.iter_mut().map(|call| call.args_of(&flow.batch, cx)).collect::<Result<Vec<_>>>()?;
        let (mut values, mut bytes) = (Vec::new(), Vec::new());
        for (row, &weight) in flow.weights.iter().enumerate() {
            values.clear();
            values.extend(keys.iter().map(|key| key.value(row)));
            bytes.clear();
            if !values.is_empty() {
                layout.encode(&values, &mut bytes);
            }
            let args = args.iter_mut().map(|args| args[row].take()).collect();
            fed.push(Fed { key: bytes.as_slice().into(), weight, args });
        }
        Ok(())
    }

    fn add(&mut self, fed: &Fed) -> Result<()> {
        let group = self.group(&fed.key);
        group.rows += fed.weight;
        for (accumulator, args) in group.accumulators.iter_mut().zip(&fed.args) {
            if let Some(args) = args {
                (0..fed.weight).try_for_each(|_| accumulator.update(args))?;
            }
        }
        Ok(())
    }

    /// False: the group has to be computed anew.
    fn take_back(&mut self, fed: &Fed) -> Result<bool> {
        let Some(group) = self.groups.get_mut(&fed.key) else { return Ok(false) };
        group.rows += fed.weight;
        for (accumulator, args) in group.accumulators.iter_mut().zip(&fed.args) {
            if let Some(args) = args {
                for _ in 0..fed.weight.unsigned_abs() {
                    if !accumulator.retract(args)? {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(group.rows >= 0)
    }

    /// Works out what these groups are now; what that changes.
    fn show(&mut self, keys: Vec<Box<[u8]>>) -> Result<Option<Flow>> {
        let is_alone = self.keys.is_empty();
        let (mut rows, mut weights) = (vec![], vec![]);
        for key in keys {
            let Some(group) = self.groups.get_mut(&key) else { continue };
            if let Some(row) = group.shown.take() {
                rows.push(row);
                weights.push(-1);
            }
            if group.rows == 0 && !is_alone {
                self.groups.remove(&key);
                continue;
            }
            let mut row = Vec::new();
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
        Group { rows: 0, accumulators, shown: None }
    }
}

/// A call's arguments, of the rows that its FILTER lets pass.
struct Columns {
    columns: Vec<Arc<Vector>>,
    /// Which rows these are, ascending; `None`: all.
    passing: Option<Vec<u32>>,
    /// How many of them were read.
    read: usize,
}

impl Columns {
    /// Puts the arguments of a row into `values`, rows one after the other; false: it does not pass.
    fn read(&mut self, row: usize, values: &mut Vec<Value>) -> bool {
        let at = match &self.passing {
            None => row,
            Some(passing) if passing.get(self.read).is_some_and(|next| *next as usize == row) => {
                self.read += 1;
                self.read - 1
            }
            Some(_) => return false,
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

    /// By row, the arguments, where the FILTER lets it pass.
    fn args_of(&mut self, batch: &Batch, cx: Cx<'_>) -> Result<Vec<Option<Vec<Value>>>> {
        let mut args: Vec<Option<Vec<Value>>> = vec![None; batch.len()];
        let passing: Vec<u32> = match &mut self.filter {
            Some(filter) => filter.true_rows(Frame::from(batch), cx)?,
            None => (0..batch.len()).map(row_number).collect(),
        };
        if passing.is_empty() {
            return Ok(args);
        }
        let part = if passing.len() == batch.len() { batch.clone() } else { batch.gather(&passing) };
        let frame = Frame::from(&part);
        let columns = self.args.iter_mut().map(|arg| arg.vector(frame, cx)).collect::<Result<Vec<_>>>()?;
        for (at, &row) in passing.iter().enumerate() {
            args[row as usize] = Some(columns.iter().map(|column| column.value(at)).collect());
        }
        Ok(args)
    }
}
