//! One aggregate call: its arguments, FILTER, DISTINCT and ORDER BY, in front of its state.

use std::ops::Range;
use std::sync::Arc;

use super::state::{GroupState, Groups, state_of};
use crate::columns::{Data, Representation, Vector, row_number};
use crate::exec::context::{Charge, Cx, ExecContext};
use crate::exec::distinct::SeenRows;
use crate::exec::expr::{Evaluator, Frame, compile, compile_all, rebind_all};
use crate::exec::row_order::{Direction, sorted_rows};
use crate::functions::{Aggregate, AggregateKind};
use crate::plan::AggregateCall;
use crate::types::{DataType, EvalContext};
use crate::{Result, Value};

/// A running aggregate call.
pub(crate) struct Call {
    aggregate: Arc<Aggregate>,
    args: Vec<Evaluator>,
    filter: Option<Evaluator>,
    state: Box<dyn GroupState>,
    context: Arc<EvalContext>,
    /// DISTINCT: the (group, arguments) seen.
    distinct: Option<SeenRows>,
    order: Option<Order>,
    groups: usize,
    /// Its groups may keep all of their text (`string_agg`): what they are fed is charged.
    collects: bool,
    charge: Charge,
}

/// ORDER BY inside the call: rows wait until all are there.
struct Order {
    keys: Vec<Evaluator>,
    directions: Vec<Direction>,
    /// Group, sort keys, arguments.
    waiting: Vec<Vector>,
    charge: Charge,
}

impl Call {
    pub(crate) fn new(call: &AggregateCall, context: &ExecContext) -> Result<Call> {
        let args = compile_all(&call.args, context)?;
        let keys = compile_all(call.order_by.iter().map(|key| &key.expr), context)?;
        let types = std::iter::once(DataType::Integer)
            .chain(keys.iter().chain(&args).map(Evaluator::data_type))
            .collect::<Vec<_>>();
        let order = (!keys.is_empty()).then(|| Order {
            keys,
            directions: call.order_by.iter().map(Direction::of).collect(),
            waiting: types.iter().map(|&data_type| Vector::new(data_type)).collect(),
            charge: Charge::default(),
        });
        let arg_type = args.first().map(Evaluator::data_type).filter(|_| args.len() == 1);
        let is_long =
            |arg: &Evaluator| arg.data_type().is_array() || arg.data_type().physical() == Representation::Bytes;
        Ok(Call {
            collects: call.aggregate.returns.is_array()
                || matches!(call.aggregate.returns, DataType::Json | DataType::Jsonb)
                || call.aggregate.kind == AggregateKind::Other && args.iter().any(is_long),
            charge: Charge::default(),
            aggregate: call.aggregate.clone(),
            filter: call.filter.as_ref().map(|filter| compile(filter, context)).transpose()?,
            state: state_of(&call.aggregate, arg_type, &context.eval),
            context: context.eval.clone(),
            distinct: call.distinct.then(SeenRows::default),
            order,
            groups: 0,
            args,
        })
    }

    /// The type of the answer.
    pub(crate) fn returns(&self) -> DataType {
        self.aggregate.returns
    }

    /// Takes a batch; `groups` is the number of groups so far.
    pub(super) fn update(&mut self, frame: Frame<'_>, rows: Groups<'_>, groups: usize, cx: Cx<'_>) -> Result<()> {
        self.groups = groups;
        if self.order.is_none() {
            self.state.grow(groups);
        }
        let Some(filter) = &mut self.filter else { return self.update_rows(frame, rows, cx) };
        let kept = filter.true_rows(frame, cx)?;
        if kept.len() == frame.len {
            return self.update_rows(frame, rows, cx);
        }
        // Arguments are not evaluated on rows that the filter drops.
        let columns: Vec<Arc<Vector>> = frame.columns.iter().map(|column| Arc::new(column.gather(&kept))).collect();
        let frame = Frame { columns: &columns, len: kept.len() };
        match rows {
            Groups::One(_) => self.update_rows(frame, Groups::One(kept.len()), cx),
            Groups::Each(groups) => {
                let groups: Vec<u32> = kept.iter().map(|&row| groups[row as usize]).collect();
                self.update_rows(frame, Groups::Each(&groups), cx)
            }
        }
    }

    fn update_rows(&mut self, frame: Frame<'_>, rows: Groups<'_>, cx: Cx<'_>) -> Result<()> {
        if frame.len == 0 {
            return Ok(());
        }
        let args = self.args.iter_mut().map(|arg| arg.vector(frame, cx)).collect::<Result<Vec<_>>>()?;
        if self.collects {
            let kept = args.iter().map(|arg| arg.memory_bytes()).sum::<usize>();
            self.charge.add(kept + frame.len * size_of::<Value>(), cx.shared)?;
        }
        if self.distinct.is_none() && self.order.is_none() {
            return self.state.update(rows, &args);
        }
        let mut columns = vec![Arc::new(group_column(rows))];
        if let Some(order) = &mut self.order {
            for key in &mut order.keys {
                columns.push(key.vector(frame, cx)?);
            }
        }
        let first_arg = columns.len();
        columns.extend(args);
        if let Some(seen) = &mut self.distinct {
            let keys: Vec<Arc<Vector>> = columns[..1].iter().chain(&columns[first_arg..]).cloned().collect();
            let new = seen.new_rows(&keys, frame.len, cx)?;
            columns = columns.iter().map(|column| Arc::new(column.gather(&new))).collect();
        }
        match &mut self.order {
            Some(order) => order.keep(&columns, cx),
            None => feed(self.state.as_mut(), &columns[0], &columns[first_arg..]),
        }
    }

    /// Feeds what waited for its order.
    pub(super) fn settle(&mut self, cx: Cx<'_>) -> Result<()> {
        self.state.grow(self.groups);
        if let Some(order) = &mut self.order {
            let columns = order.sorted(cx);
            feed(self.state.as_mut(), &columns[0], &columns[1 + order.keys.len()..])?;
        }
        Ok(())
    }

    pub(super) fn grow(&mut self, groups: usize) {
        self.groups = groups;
    }

    /// The answers of some groups, after [`Call::settle`].
    pub(super) fn finish(&mut self, groups: Range<usize>) -> Result<Vec<Value>> {
        self.state.finish(groups)
    }

    /// About how many bytes a group takes.
    pub(super) fn group_bytes(&self) -> usize {
        self.state.group_bytes()
    }

    fn forget(&mut self) {
        let arg_type = self.args.first().map(Evaluator::data_type).filter(|_| self.args.len() == 1);
        self.state = state_of(&self.aggregate, arg_type, &self.context);
        self.groups = 0;
    }

    /// As [`Operator::park`](crate::exec::operator::Operator::park). Calls that keep rows, or who runs their functions, are built anew.
    pub(super) fn park(&mut self) -> bool {
        self.forget();
        self.charge = Charge::default();
        self.distinct.is_none() && self.order.is_none() && !self.aggregate.is_stored()
    }

    /// As [`Operator::rebind`](crate::exec::operator::Operator::rebind).
    pub(super) fn rebind(&mut self, parameters: &[Value]) -> bool {
        rebind_all(self.args.iter_mut().chain(&mut self.filter), parameters)
    }

    /// Forgets all groups.
    pub(super) fn reset(&mut self, cx: Cx<'_>) {
        self.forget();
        self.charge.clear(cx.shared);
        if let Some(seen) = &mut self.distinct {
            seen.clear(cx);
        }
        if let Some(order) = &mut self.order {
            order.clear(cx);
        }
    }
}

impl Order {
    fn keep(&mut self, columns: &[Arc<Vector>], cx: Cx<'_>) -> Result<()> {
        self.charge.add(columns.iter().map(|column| column.memory_bytes()).sum(), cx.shared)?;
        self.waiting.iter_mut().zip(columns).for_each(|(to, from)| to.append(from));
        Ok(())
    }

    /// The waiting rows by group, and in each in the order asked for.
    fn sorted(&mut self, cx: Cx<'_>) -> Vec<Arc<Vector>> {
        let keys: Vec<&Vector> = self.waiting[..=self.keys.len()].iter().collect();
        let directions: Vec<Direction> =
            std::iter::once(Direction::ASCENDING).chain(self.directions.iter().copied()).collect();
        let rows = sorted_rows(&keys, &directions, self.waiting[0].len());
        let columns = self.waiting.iter().map(|column| Arc::new(column.gather(&rows))).collect();
        self.clear(cx);
        columns
    }

    fn clear(&mut self, cx: Cx<'_>) {
        self.waiting.iter_mut().for_each(|column| *column = Vector::new(column.data_type()));
        self.charge.clear(cx.shared);
    }
}

/// The rows' groups as a column.
fn group_column(rows: Groups<'_>) -> Vector {
    let mut groups = Vec::new();
    rows.each(|_, group| groups.push(row_number(group).cast_signed()));
    Vector::from_parts(DataType::Integer, Data::I32(groups), None)
}

fn feed(state: &mut dyn GroupState, groups: &Vector, args: &[Arc<Vector>]) -> Result<()> {
    let Data::I32(groups) = groups.data() else { return Ok(()) };
    let groups: Vec<u32> = groups.iter().map(|group| group.cast_unsigned()).collect();
    state.update(Groups::Each(&groups), args)
}
