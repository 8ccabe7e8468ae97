//! What one aggregate knows of every group, fed a batch at a time.

use std::ops::Range;
use std::sync::Arc;

use super::{minmax, sums};
use crate::columns::Vector;
use crate::functions::{Accumulator, Aggregate, AggregateKind};
use crate::types::{DataType, EvalContext};
use crate::{Result, Value};

/// Which group each row of a batch belongs to.
#[derive(Clone, Copy)]
pub(super) enum Groups<'a> {
    /// All of the rows (this many) belong to group 0.
    One(usize),
    Each(&'a [u32]),
}

impl Groups<'_> {
    /// Calls `visit` with each row and its group.
    #[inline]
    pub(super) fn each(self, mut visit: impl FnMut(usize, usize)) {
        match self {
            Groups::One(len) => (0..len).for_each(|row| visit(row, 0)),
            Groups::Each(groups) => groups.iter().enumerate().for_each(|(row, &group)| visit(row, group as usize)),
        }
    }

    /// As [`Groups::each`], stopping at the first error.
    #[inline]
    pub(super) fn try_each(self, mut visit: impl FnMut(usize, usize) -> Result<()>) -> Result<()> {
        match self {
            Groups::One(len) => (0..len).try_for_each(|row| visit(row, 0)),
            Groups::Each(groups) => groups.iter().enumerate().try_for_each(|(row, &group)| visit(row, group as usize)),
        }
    }
}

/// One aggregate over all groups.
pub(super) trait GroupState: Send {
    /// Makes room for `groups` groups.
    fn grow(&mut self, groups: usize);
    /// Takes a batch's arguments.
    fn update(&mut self, groups: Groups<'_>, args: &[Arc<Vector>]) -> Result<()>;
    /// The answer for some groups, in order.
    fn finish(&mut self, groups: Range<usize>) -> Result<Vec<Value>>;
    /// About how many bytes a group takes.
    fn group_bytes(&self) -> usize;
}

/// The state for an aggregate: a kernel where there is one for its argument's type.
pub(super) fn state_of(
    aggregate: &Arc<Aggregate>,
    arg_type: Option<DataType>,
    context: &Arc<EvalContext>,
) -> Box<dyn GroupState> {
    let kernel = match (aggregate.kind, arg_type) {
        (AggregateKind::CountRows, _) => Some(Box::new(CountState::default()) as Box<dyn GroupState>),
        (AggregateKind::Count, Some(_)) => Some(Box::new(CountState::default()) as Box<dyn GroupState>),
        (AggregateKind::Sum, Some(arg)) => sums::sum(arg, aggregate.returns),
        (AggregateKind::Avg, Some(arg)) => sums::average(arg, aggregate.returns),
        (AggregateKind::Min, Some(arg)) => minmax::state(arg, aggregate.returns, false),
        (AggregateKind::Max, Some(arg)) => minmax::state(arg, aggregate.returns, true),
        _ => None,
    };
    kernel.unwrap_or_else(|| {
        let (aggregate, context) = (aggregate.clone(), context.clone());
        Box::new(AccumulatorState { aggregate, context, groups: vec![] })
    })
}

/// `count(*)` and `count(x)`.
#[derive(Default)]
struct CountState(Vec<i64>);

impl GroupState for CountState {
    fn grow(&mut self, groups: usize) {
        self.0.resize(groups, 0);
    }

    fn update(&mut self, groups: Groups<'_>, args: &[Arc<Vector>]) -> Result<()> {
        let counts = &mut self.0;
        match (args.first().and_then(|arg| arg.validity()), groups) {
            (None, Groups::One(len)) => counts[0] += i64::try_from(len).unwrap_or(i64::MAX),
            (None, groups) => groups.each(|_, group| counts[group] += 1),
            (Some(validity), groups) => groups.each(|row, group| counts[group] += i64::from(validity.get(row))),
        }
        Ok(())
    }

    fn finish(&mut self, groups: Range<usize>) -> Result<Vec<Value>> {
        Ok(self.0[groups].iter().map(|&count| Value::BigInt(count)).collect())
    }

    fn group_bytes(&self) -> usize {
        8
    }
}

/// Any aggregate, by its own accumulator.
struct AccumulatorState {
    aggregate: Arc<Aggregate>,
    /// What runs the functions of aggregates that SQL made.
    context: Arc<EvalContext>,
    groups: Vec<Box<dyn Accumulator>>,
}

impl GroupState for AccumulatorState {
    fn grow(&mut self, groups: usize) {
        self.groups.resize_with(groups, || self.aggregate.start_in(&self.context));
    }

    fn update(&mut self, groups: Groups<'_>, args: &[Arc<Vector>]) -> Result<()> {
        let mut values = Vec::with_capacity(args.len());
        groups.try_each(|row, group| {
            values.clear();
            values.extend(args.iter().map(|arg| arg.value(row)));
            self.groups[group].update(&values)
        })
    }

    fn finish(&mut self, groups: Range<usize>) -> Result<Vec<Value>> {
        self.groups[groups].iter_mut().map(|group| group.finish()).collect()
    }

    fn group_bytes(&self) -> usize {
        64
    }
}
