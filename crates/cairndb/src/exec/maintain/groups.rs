//! Groups with aggregates that rows can be taken back from (PostgreSQL's inverse transitions).
//!
//! What must hold: a group is what its rows make it, whatever came and went before; one without rows is not there (without
//! group expressions there is always one).

use std::collections::HashMap;
use std::sync::Arc;

use super::stages::Flow;
use crate::columns::{Batch, QuickHashes, Vector};
use crate::exec::context::{Cx, ExecContext};
use crate::exec::expr::{Evaluator, Frame, compile, compile_all};
use crate::exec::row_eval::eval_row;
use crate::functions::Accumulator;
use crate::plan::{AggregateCall, Expr};
use crate::types::DataType;
use crate::types::row::RowLayout;
use crate::{Result, Value};

/// See the module.
pub(super) struct Groups {
    keys: Vec<Expr>,
    calls: Vec<AggregateCall>,
    /// Of the group expressions.
    layout: RowLayout,
    groups: HashMap<Box<[u8]>, Group, QuickHashes>,
    /// Room for a group's key, and for values.
    key: Vec<u8>,
    values: Vec<Value>,
}

struct Group {
    rows: i64,
    accumulators: Vec<Box<dyn Accumulator>>,
    /// Group expressions and answers, as they were given last.
    shown: Option<Vec<Value>>,
    /// It is to be shown.
    is_touched: bool,
}

/// Evaluates what the groups need of rows that come as batches.
pub(super) struct Feeder {
    keys: Vec<Evaluator>,
    /// Arguments and FILTER, by call.
    calls: Vec<(Vec<Evaluator>, Option<Evaluator>)>,
}

/// What the groups need of a batch's rows.
struct Fed {
    keys: Vec<Arc<Vector>>,
    /// By call.
    args: Vec<Columns>,
}

impl Groups {
    pub(super) fn new(group_by: &[Expr], aggregates: &[AggregateCall]) -> Groups {
        let types: Vec<DataType> = group_by.iter().map(Expr::data_type).collect();
        Groups {
            keys: group_by.to_vec(),
            calls: aggregates.to_vec(),
            layout: RowLayout::new(&types),
            groups: HashMap::default(),
            key: vec![],
            values: vec![],
        }
    }

    /// For [`Groups::begin`].
    pub(super) fn feeder(&self, context: &ExecContext) -> Result<Feeder> {
        let call = |call: &AggregateCall| {
            let filter = call.filter.as_ref().map(|filter| compile(filter, context)).transpose()?;
            Ok((compile_all(&call.args, context)?, filter))
        };
        let calls = self.calls.iter().map(call).collect::<Result<_>>()?;
        Ok(Feeder { keys: compile_all(&self.keys, context)?, calls })
    }

    /// Puts rows into their groups, before anybody is told of these.
    pub(super) fn begin(&mut self, feeder: &mut Feeder, batch: &Batch, cx: Cx<'_>) -> Result<()> {
        let mut fed = feeder.feed(batch, cx)?;
        let Groups { calls, layout, groups, key, values, .. } = self;
        for row in 0..batch.len() {
            fed.read_key(row, layout, values, key);
            let group = match groups.get_mut(key.as_slice()) {
                Some(group) => group,
                None => groups.entry(key.as_slice().into()).or_insert_with(|| Group::new(calls)),
            };
            group.rows += 1;
            for (accumulator, args) in group.accumulators.iter_mut().zip(&mut fed.args) {
                if args.read(row, values) {
                    accumulator.update(values)?;
                }
            }
        }
        Ok(())
    }

    /// The groups, all of which have begun.
    pub(super) fn begun(&mut self) -> Result<Flow> {
        if self.keys.is_empty() {
            self.groups.entry([].into()).or_insert_with(|| Group::new(&self.calls));
        }
        let keys = self.groups.keys().cloned().collect();
        self.show(keys)
    }

    /// Puts rows into their groups, or takes them away; how the groups change. `None`: it is not known, and the groups are of
    /// no more use.
    pub(super) fn follow(&mut self, flow: &Flow, context: &ExecContext) -> Result<Option<Flow>> {
        let mut touched = vec![];
        // What comes first: nothing is taken back before it is there.
        for is_coming in [true, false] {
            for (row, weight) in flow.iter().filter(|(_, weight)| (*weight > 0) == is_coming) {
                if !self.change(row, *weight, context, &mut touched)? {
                    return Ok(None);
                }
            }
        }
        touched.sort_unstable();
        self.show(touched).map(Some)
    }

    /// Puts a row into its group so many times, or takes it out; the group's key, if it was not touched before, to those that
    /// were. False: a group has to be computed anew.
    fn change(
        &mut self,
        row: &[Value],
        weight: i64,
        context: &ExecContext,
        touched: &mut Vec<Box<[u8]>>,
    ) -> Result<bool> {
        let Groups { keys, calls, layout, groups, key, values } = self;
        values.clear();
        for expr in &*keys {
            values.push(eval_row(expr, row, context)?);
        }
        write_key(layout, values, key);
        let group = match groups.get_mut(key.as_slice()) {
            Some(group) => group,
            None if weight > 0 => groups.entry(key.as_slice().into()).or_insert_with(|| Group::new(calls)),
            None => return Ok(false),
        };
        group.rows += weight;
        if !std::mem::replace(&mut group.is_touched, true) {
            touched.push(key.as_slice().into());
        }
        if group.rows == 0 {
            // Whatever its aggregates are, they begin anew.
            group.accumulators = Group::new(calls).accumulators;
            return Ok(true);
        }
        for (accumulator, call) in group.accumulators.iter_mut().zip(&*calls) {
            if let Some(filter) = &call.filter
                && eval_row(filter, row, context)? != Value::Boolean(true)
            {
                continue;
            }
            values.clear();
            for arg in &call.args {
                values.push(eval_row(arg, row, context)?);
            }
            for _ in 0..weight.unsigned_abs() {
                if weight > 0 {
                    accumulator.update(values)?;
                } else if !accumulator.retract(values)? {
                    return Ok(false);
                }
            }
        }
        Ok(group.rows >= 0)
    }

    /// Works out what these groups are now; what that changes.
    fn show(&mut self, keys: Vec<Box<[u8]>>) -> Result<Flow> {
        let is_alone = self.keys.is_empty();
        let mut flow = Flow::new();
        for key in keys {
            let Some(group) = self.groups.get_mut(&key) else { continue };
            group.is_touched = false;
            if let Some(row) = group.shown.take() {
                flow.push((row, -1));
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
            flow.push((row, 1));
        }
        Ok(flow)
    }
}

impl Group {
    fn new(calls: &[AggregateCall]) -> Group {
        let accumulators = calls.iter().map(|call| call.aggregate.start()).collect();
        Group { rows: 0, accumulators, shown: None, is_touched: false }
    }
}

/// The key of a group whose expressions have these values.
fn write_key(layout: &RowLayout, values: &[Value], key: &mut Vec<u8>) {
    key.clear();
    // (A row of no columns has no bytes.)
    if !values.is_empty() {
        layout.encode(values, key);
    }
}

impl Feeder {
    fn feed(&mut self, batch: &Batch, cx: Cx<'_>) -> Result<Fed> {
        let frame = Frame::from(batch);
        let keys = self.keys.iter_mut().map(|key| key.vector(frame, cx)).collect::<Result<_>>()?;
        let args = self.calls.iter_mut().map(|(args, filter)| Columns::of(args, filter.as_mut(), batch, cx));
        Ok(Fed { keys, args: args.collect::<Result<_>>()? })
    }
}

impl Fed {
    /// The key of a row's group.
    fn read_key(&self, row: usize, layout: &RowLayout, values: &mut Vec<Value>, key: &mut Vec<u8>) {
        values.clear();
        values.extend(self.keys.iter().map(|column| column.value(row)));
        write_key(layout, values, key);
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
    /// The arguments of a batch's rows.
    fn of(args: &mut [Evaluator], filter: Option<&mut Evaluator>, batch: &Batch, cx: Cx<'_>) -> Result<Columns> {
        let passing = filter.map(|filter| filter.true_rows(Frame::from(batch), cx)).transpose()?;
        let part = passing.as_ref().map_or_else(|| batch.clone(), |passing| batch.gather(passing));
        // Nothing is evaluated where no row passes.
        let columns = match part.is_empty() {
            true => Vec::new(),
            false => args.iter_mut().map(|arg| arg.vector(Frame::from(&part), cx)).collect::<Result<_>>()?,
        };
        Ok(Columns { columns, passing, read: 0 })
    }

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
