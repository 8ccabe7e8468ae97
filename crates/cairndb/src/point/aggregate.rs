//! Aggregates over [few rows](super::few): a customer's orders, counted and summed.

use std::ops::ControlFlow;
use std::sync::Arc;

use cairn_storage::{Session, WriteError};

use super::Miss;
use super::few::{self, PrefixRows};
use super::join::{JoinSource, Joined, Step, accepts, place};
use super::shape::{project, substitute};
use crate::Value;
use crate::catalog::Catalog;
use crate::dml::row::{Env, Stop, eval, is_of_point};
use crate::functions::{Accumulator, Aggregate};
use crate::plan::{AggregateCall, Columns, Datum, Expr, PhysicalNode, PhysicalPlan};
use crate::types::{SessionUses, ValueRef};

/// A SELECT of aggregates, without GROUP BY.
#[derive(Debug)]
pub(crate) struct PointAggregate {
    steps: Box<[Step]>,
    several: PrefixRows,
    filters: Box<[Expr]>,
    calls: Box<[Call]>,
    /// Over the answers: HAVING, and the result's columns.
    having: Box<[Expr]>,
    outputs: Box<[Expr]>,
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
pub(crate) struct Scratch {
    few: few::Scratch,
    tally: Tally,
    /// What becomes of the answers.
    pub(crate) outputs: Vec<Value>,
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
        let source = JoinSource::of(input, catalog).filter(|source| source.limit.is_none())?;
        let at = source.several()?;
        let calls: Box<[_]> = calls.iter().map(|call| Call::of(call, &source, at)).collect::<Option<_>>()?;
        let of_rows = calls.iter().flat_map(|call| call.args.iter().chain(&call.filter));
        let several = PrefixRows::of(&source, of_rows.clone())?;
        let conditions = source.steps.iter().filter_map(Step::condition);
        let mut all = of_rows.chain(conditions).chain(&source.filters).chain(&having).chain(&outputs);
        if !all.all(is_of_point) {
            return None;
        }
        let (steps, filters) = (source.steps.into(), source.filters.into());
        Some(PointAggregate { steps, several, filters, calls, having: having.into(), outputs: outputs.into() })
    }

    /// Answers in the newest durable state; whether there is a row, which `scratch` has then. `stamp`: the catalog's, that the
    /// plan rests on.
    pub(crate) fn run(
        &self,
        session: &mut Session,
        stamp: u64,
        env: Env<'_>,
        (scratch, uses): (&mut Scratch, &mut SessionUses),
    ) -> Result<bool, Miss> {
        let is_there = self.several.run(session, stamp, |state| {
            let Scratch { few, tally, outputs } = scratch;
            tally.begin(&self.calls);
            self.several.each(&self.steps, (state, usize::MAX), env, few, &mut |rows| {
                let joined = Joined { steps: &self.steps, rows };
                if accepts(&self.filters, &joined, env)? {
                    tally.take(&self.calls, &joined, env).map_err(Stop::in_write)?;
                }
                Ok(ControlFlow::Continue(()))
            })?;
            tally.finish(outputs, (&self.having, &self.outputs), env).map_err(|miss| WriteError::Caller(miss.into()))
        })?;
        self.several.note_uses(&self.steps, &scratch.few, uses);
        Ok(is_there)
    }
}

impl Call {
    fn of(call: &AggregateCall, source: &JoinSource, several: usize) -> Option<Call> {
        if call.distinct || !call.order_by.is_empty() || call.aggregate.is_users() || call.aggregate.is_stored() {
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
                above.outputs = project(exprs, &above.outputs)?;
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

impl Tally {
    fn begin(&mut self, calls: &[Call]) {
        self.states.clear();
        self.states.extend(calls.iter().map(|call| call.aggregate.start()));
        self.arguments.resize_with(calls.len(), Vec::new);
        self.arguments.iter_mut().for_each(Vec::clear);
    }

    #[inline(always)]
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
