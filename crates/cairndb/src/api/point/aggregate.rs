//! Aggregates over the few rows that begin with a key, alone or joined with rows by unique keys: a customer's orders,
//! counted and summed.
//!
//! For so few rows vectors cost more than they give: each row goes from its page to the accumulators. Where there are
//! more, or they are not in memory, the general path is the quicker one. What must hold: both give the same answer, so the
//! rows come in the same order, and what is out of the ordinary is left to the general path.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cairn_storage::{Error as StorageError, KeyList, Lookup, PointReader, Session, TreeId, WriteError};

use super::join::{JoinSource, Joined, Rows, STEPS_MAX, Step, StepBuffers, accepts, place, read_steps};
use super::shape::substitute;
use super::{Miss, general, missed};
use crate::Value;
use crate::catalog::Catalog;
use crate::dml::row::{Env, Stop, Stored, eval, is_evaluable};
use crate::exec::{Columns, Datum};
use crate::functions::{Accumulator, Aggregate};
use crate::plan::{AggregateCall, Expr, PhysicalNode, PhysicalPlan};
use crate::types::{ValueRef, key};

/// More rows than these are the general path's.
pub(super) const FEW: usize = 64;

/// Executions that do not try, after one that met more rows: it has read these for nothing.
const PAUSE: u32 = 256;

/// A SELECT of aggregates, without GROUP BY.
#[derive(Debug)]
pub(in crate::api) struct PointAggregate {
    steps: Box<[Step]>,
    /// The step that reads several rows.
    several: usize,
    filters: Box<[Expr]>,
    calls: Box<[Call]>,
    /// Over the answers: HAVING, and the result's columns.
    having: Box<[Expr]>,
    outputs: Box<[Expr]>,
    /// Executions until it is tried again.
    pause: AtomicU32,
}

#[derive(Debug)]
struct Call {
    aggregate: Arc<Aggregate>,
    args: Vec<Expr>,
    filter: Option<Expr>,
    /// The arguments are columns of rows that are the same for all.
    is_fixed: bool,
}

/// The buffers of a PointAggregate.
#[derive(Default)]
pub(in crate::api) struct Scratch {
    steps: [StepBuffers; STEPS_MAX],
    found: Found,
    tally: Tally,
    /// What becomes of the answers.
    pub(super) outputs: Vec<Value>,
}

/// The rows that begin with a key.
#[derive(Default)]
struct Found {
    keys: KeyList,
    /// Of an entry.
    key: Vec<u8>,
    lower: Vec<u8>,
    upper: Vec<u8>,
}

#[derive(Default)]
struct Tally {
    states: Vec<Box<dyn Accumulator>>,
    /// By call.
    arguments: Vec<Vec<Value>>,
    answers: Vec<Value>,
}

impl std::fmt::Debug for Scratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scratch")
    }
}

/// What is above the aggregates of a plan.
struct Above<'p> {
    calls: &'p [AggregateCall],
    input: &'p PhysicalPlan,
    having: Vec<Expr>,
    outputs: Vec<Expr>,
}

impl PointAggregate {
    pub(super) fn of(plan: &PhysicalPlan, catalog: &Catalog) -> Option<PointAggregate> {
        let Above { calls, input, having, outputs } = Above::of(plan)?;
        let source = JoinSource::of(input, catalog)?;
        let several = source.several()?;
        let calls: Box<[_]> = calls.iter().map(|call| Call::of(call, &source, several)).collect::<Option<_>>()?;
        let of_rows = calls.iter().flat_map(|call| call.args.iter().chain(&call.filter));
        let conditions = source.steps.iter().filter_map(Step::condition);
        let mut all = of_rows.chain(conditions).chain(&source.filters).chain(&having).chain(&outputs);
        if !all.all(is_evaluable) {
            return None;
        }
        let (steps, filters) = (source.steps.into(), source.filters.into());
        let (having, outputs) = (having.into(), outputs.into());
        Some(PointAggregate { steps, several, filters, calls, having, outputs, pause: AtomicU32::new(0) })
    }

    /// Answers in the newest durable state; whether there is a row, which `scratch` has then. `stamp`: the catalog's, that the
    /// plan rests on.
    pub(in crate::api) fn run(
        &self,
        session: &mut Session,
        stamp: u64,
        env: Env<'_>,
        scratch: &mut Scratch,
    ) -> Result<bool, Miss> {
        // Several that count at once only try sooner.
        let pause = self.pause.load(Ordering::Relaxed);
        if pause > 0 {
            self.pause.store(pause - 1, Ordering::Relaxed);
            return Err(Miss::General);
        }
        let answered = session.read::<_, Miss>(|state| match state.tree_stamp(TreeId::CATALOG) == stamp {
            true => self.answer(state, env, scratch),
            false => general(),
        });
        answered.map_err(missed)
    }

    fn answer(&self, state: &PointReader<'_>, env: Env<'_>, scratch: &mut Scratch) -> Result<bool, WriteError<Miss>> {
        let Scratch { steps, found, tally, outputs } = scratch;
        tally.begin(&self.calls);
        let mut rows: Rows<'_> = [None; STEPS_MAX];
        let (before, buffers) = steps.split_at_mut(self.several);
        if read_steps((&self.steps, 0..self.several), state, env, before, &mut rows)? {
            self.read_several(state, env, (buffers, found), &rows, tally)?;
        }
        tally.finish(outputs, (&self.having, &self.outputs), env).map_err(|miss| WriteError::Caller(miss.into()))
    }

    /// Reads the rows of the step that has several, and for each of them those of the steps behind it.
    fn read_several(
        &self,
        state: &PointReader<'_>,
        env: Env<'_>,
        (buffers, found): (&mut [StepBuffers], &mut Found),
        before: &Rows<'_>,
        tally: &mut Tally,
    ) -> Result<(), WriteError<Miss>> {
        let Some((own, behind)) = buffers.split_first_mut() else { return general() };
        let step = &self.steps[self.several];
        let prefix = &mut own.key;
        if !step.encode(env.params, before, prefix).map_err(WriteError::Caller)? {
            return Ok(());
        }
        if !found.find(step, prefix, state)? {
            self.pause.store(PAUSE, Ordering::Relaxed);
            return general();
        }
        let keys = &found.keys;
        for from in (0..keys.len()).step_by(Lookup::AT_ONCE) {
            let mut values = [&[][..]; Lookup::AT_ONCE];
            let values = &mut values[..Lookup::AT_ONCE.min(keys.len() - from)];
            match state.get_each(step.table.tree, keys, from, values) {
                Ok(there) if there == values.len() => {}
                // Not there: the general path says so. Or long, or not in memory: it reads such rows together.
                Ok(_) | Err(StorageError::NotResident(_)) => return general(),
                Err(error) => return Err(error.into()),
            }
            let mut rows = *before;
            for (at, value) in values.iter().enumerate() {
                rows[self.several] = Some(Stored { layout: &step.layout, key: keys.get(from + at), value });
                if self.several + 1 == self.steps.len() {
                    self.take(&rows, env, tally)?;
                } else {
                    self.read_behind(state, env, &mut *behind, rows, tally)?;
                }
            }
        }
        Ok(())
    }

    /// Reads the rows of the steps behind the one that has several.
    fn read_behind<'r>(
        &'r self,
        state: &PointReader<'r>,
        env: Env<'_>,
        buffers: &'r mut [StepBuffers],
        mut rows: Rows<'r>,
        tally: &mut Tally,
    ) -> Result<(), WriteError<Miss>> {
        match read_steps((&self.steps, self.several + 1..self.steps.len()), state, env, buffers, &mut rows) {
            Ok(true) => self.take(&rows, env, tally),
            Ok(false) => Ok(()),
            Err(WriteError::Storage(StorageError::NotResident(_))) => general(),
            Err(error) => Err(error),
        }
    }

    fn take(&self, rows: &Rows<'_>, env: Env<'_>, tally: &mut Tally) -> Result<(), WriteError<Miss>> {
        let joined = Joined { steps: &self.steps, rows };
        match accepts(&self.filters, &joined, env)? {
            true => tally.take(&self.calls, &joined, env).map_err(Stop::in_write),
            false => Ok(()),
        }
    }
}

impl Call {
    fn of(call: &AggregateCall, source: &JoinSource, several: usize) -> Option<Call> {
        if call.distinct || !call.order_by.is_empty() || call.aggregate.is_users() {
            return None;
        }
        let over_rows = |expr: &Expr| substitute(expr, &source.outputs);
        let args: Vec<Expr> = call.args.iter().map(over_rows).collect::<Option<_>>()?;
        let filter = match &call.filter {
            Some(filter) => Some(over_rows(filter)?),
            None => None,
        };
        let is_before = |expr: &Expr| match expr {
            Expr::Column { index, .. } => place(&source.steps, *index).is_some_and(|(step, _)| step < several),
            _ => false,
        };
        let is_fixed = args.iter().all(is_before);
        Some(Call { aggregate: call.aggregate.clone(), args, filter, is_fixed })
    }
}

impl<'p> Above<'p> {
    fn of(plan: &'p PhysicalPlan) -> Option<Above<'p>> {
        match &plan.node {
            PhysicalNode::Project { input, exprs } => {
                let mut above = Above::of(input)?;
                above.outputs = exprs.iter().map(|expr| substitute(expr, &above.outputs)).collect::<Option<_>>()?;
                Some(above)
            }
            PhysicalNode::Filter { input, predicate } => {
                let mut above = Above::of(input)?;
                above.having.push(substitute(predicate, &above.outputs)?);
                Some(above)
            }
            PhysicalNode::Aggregate { input, group_by, aggregates, .. } if group_by.is_empty() => {
                let answer =
                    |(index, call): (usize, &AggregateCall)| Expr::Column { index, data_type: call.aggregate.returns };
                let outputs = aggregates.iter().enumerate().map(answer).collect();
                Some(Above { calls: aggregates, input, having: vec![], outputs })
            }
            _ => None,
        }
    }
}

impl Found {
    /// The keys of the rows that begin with `prefix`, in the step's order; false: they are not few.
    fn find(&mut self, step: &Step, prefix: &[u8], state: &PointReader<'_>) -> Result<bool, WriteError<Miss>> {
        let Found { keys, key, lower, upper } = self;
        keys.clear();
        lower.clear();
        lower.extend_from_slice(prefix);
        upper.clear();
        // Encoded values are never all 0xff.
        upper.extend_from_slice(&key::prefix_end(prefix).unwrap_or_default());
        let tree = step.index.unwrap_or(step.table.tree);
        while let Some(entries) = state.entries(tree, lower, upper)? {
            if keys.len() + entries.len() > FEW {
                return Ok(false);
            }
            for at in 0..entries.len() {
                entries.key_into(at, key);
                let row_key = match (step.index, entries.value(at)) {
                    (None, _) => Ok(key.as_slice()),
                    (Some(_), Some(value)) => step.row_key(&key[prefix.len()..], value),
                    (Some(_), None) => return general(),
                };
                keys.push(row_key.map_err(|error| WriteError::Caller(error.into()))?);
            }
            if !entries.end_leaf() {
                break;
            }
            lower.clone_from(key);
            lower.push(0);
        }
        Ok(true)
    }
}

impl Tally {
    fn begin(&mut self, calls: &[Call]) {
        self.states.clear();
        self.states.extend(calls.iter().map(|call| call.aggregate.start()));
        self.arguments.resize_with(calls.len(), Vec::new);
        self.arguments.iter_mut().for_each(Vec::clear);
    }

    fn take(&mut self, calls: &[Call], row: &Joined<'_>, env: Env<'_>) -> Result<(), Stop> {
        for ((call, state), arguments) in calls.iter().zip(&mut self.states).zip(&mut self.arguments) {
            if let Some(filter) = &call.filter
                && !eval(filter, row, env)?.is_true()
            {
                continue;
            }
            if !call.is_fixed || arguments.is_empty() {
                arguments.clear();
                for argument in &call.args {
                    arguments.push(eval(argument, row, env)?.into_value());
                }
            }
            state.update(arguments)?;
        }
        Ok(())
    }

    /// Computes `outputs` from the answers; false: HAVING refuses them.
    fn finish(
        &mut self,
        out: &mut Vec<Value>,
        (having, outputs): (&[Expr], &[Expr]),
        env: Env<'_>,
    ) -> Result<bool, Stop> {
        self.answers.clear();
        for state in &mut self.states {
            self.answers.push(state.finish()?);
        }
        let answers = Answers(&self.answers);
        for condition in having {
            if !eval(condition, &answers, env)?.is_true() {
                return Ok(false);
            }
        }
        out.clear();
        for output in outputs {
            out.push(eval(output, &answers, env)?.into_value());
        }
        Ok(true)
    }
}

/// What the aggregates gave.
struct Answers<'a>(&'a [Value]);

impl Columns<Stop> for Answers<'_> {
    fn column(&self, index: usize) -> Result<Datum<'_>, Stop> {
        Ok(Datum::Lent(self.0.get(index).map_or(ValueRef::Null, ValueRef::from)))
    }
}
