//! From the physical plan to running operators.

use super::aggregate::{Call, HashAggregate, SortedAggregate};
use super::context::{Cx, ExecContext, Shared};
use super::distinct::{Distinct, SeenRows, SetOperation};
use super::expr::{Evaluator, compile, compile_all};
use super::facts::Facts;
use super::join::{
    HashJoin, HashJoinParts, IndexJoin, LateralJoin, MergeJoin, MergeJoinParts, NestedLoopJoin, Pairing,
};
use super::limit::{Limit, LimitValues};
use super::modify::{Modify, Rows};
use super::operator::{BoxOperator, Operator, Step};
use super::row_by_row::RowByRow;
use super::row_order::Direction;
use super::scan::{Both, EntryReader, Firsts, IndexScan, ItemScan, KeyPart, KeyRanges, PointGet, RowReader, TableScan};
use super::simple::{Append, Filter, OneByOne, Project, Values};
use super::sort::{Sort, SortKeys};
use super::sort_runs::Runs;
use super::system_scan::SystemScan;
use super::table_function::TableFunction;
use super::unique::Unique;
use super::window;
use super::with::{RecursiveUnion, With, WithScan};
use crate::bind::Callees;
use crate::catalog::{Index, Table};
use crate::columns::Batch;
use crate::plan::{Expr, Field, JoinKind, KeyRange, ModifiedRows, PhysicalNode as N, PhysicalPlan, SortKey};
use crate::sync;
use crate::{DataType, Error, Result};

/// The operators for a plan. Recursion is bounded by the plan's depth, which parsing bounds.
pub(crate) fn build(plan: &PhysicalPlan, shared: &Shared) -> Result<BoxOperator> {
    build_asked(plan, shared, shared.context.sparing)
}

/// As [`build`]; `sparing`: who asks may stop before the end. Then what is volatile is worked out for a row at a time, or for as
/// many as are wanted, so that it is not worked out for rows that nobody asks for.
pub(super) fn build_asked(plan: &PhysicalPlan, shared: &Shared, sparing: bool) -> Result<BoxOperator> {
    let operator = tried(Builder { shared, context: &shared.context, sparing }.node(plan)?, shared);
    if !shared.context.analyze {
        return Ok(operator);
    }
    Ok(Box::new(Counted { id: plan.id, operator }))
}

/// The operator; in tests perhaps one that says "not yet" before it says what it has to ([`super::hesitant`]).
#[cfg(not(test))]
pub(super) fn tried(operator: BoxOperator, _shared: &Shared) -> BoxOperator {
    operator
}

#[cfg(test)]
pub(super) use super::hesitant::tried;

struct Builder<'a> {
    shared: &'a Shared,
    context: &'a ExecContext,
    /// See [`build_asked`].
    sparing: bool,
}

/// Whether a WITH query changes rows: it does so itself, or it is what RETURNING makes of the changed rows.
fn is_change(definition: &PhysicalPlan) -> bool {
    match &definition.node {
        N::Modify { .. } => true,
        N::Cte { definition, .. } => is_change(definition),
        _ => false,
    }
}

/// Whether a plan may stop before it has read all rows of a WITH query.
fn may_stop(plan: &PhysicalPlan) -> bool {
    matches!(plan.node, N::Limit { .. }) || plan.children().into_iter().any(|input| may_stop(input))
}

fn types(fields: &[Field]) -> Vec<DataType> {
    fields.iter().map(|field| field.data_type).collect()
}

impl Builder<'_> {
    /// An input that is asked as the operator itself is.
    fn child(&self, plan: &PhysicalPlan) -> Result<BoxOperator> {
        build_asked(plan, self.shared, self.sparing)
    }

    /// An input that is read to its end, whatever is asked of the operator.
    fn whole(&self, plan: &PhysicalPlan) -> Result<BoxOperator> {
        build_asked(plan, self.shared, false)
    }

    fn pair(&self, left: &PhysicalPlan, right: &PhysicalPlan) -> Result<[BoxOperator; 2]> {
        Ok([self.child(left)?, self.child(right)?])
    }

    fn optional(&self, expr: &Option<Expr>) -> Result<Option<Evaluator>> {
        expr.as_ref().map(|expr| compile(expr, self.context)).transpose()
    }

    fn exprs(&self, exprs: &[Expr]) -> Result<Vec<Evaluator>> {
        compile_all(exprs, self.context)
    }

    fn sort_keys(&self, keys: &[SortKey]) -> Result<SortKeys> {
        Ok(SortKeys::new(compile_all(keys.iter().map(|key| &key.expr), self.context)?, keys))
    }

    fn node(&self, plan: &PhysicalPlan) -> Result<BoxOperator> {
        self.refuse_later(&plan.node)?;
        match &plan.node {
            N::Values { rows } => {
                let one_by_one = self.is_one_by_one(rows.iter().flatten());
                let rows = rows.iter().map(|row| self.exprs(row)).collect::<Result<_>>()?;
                Ok(Box::new(Values::new(rows, types(&plan.fields), one_by_one)))
            }
            N::TableScan { table, .. }
            | N::IndexScan { table, .. }
            | N::ItemScan { table, .. }
            | N::PointGet { table, .. } => {
                table.refuse_unpopulated()?;
                self.scan(plan)
            }
            N::HashJoin { .. } | N::MergeJoin { .. } | N::NestedLoopJoin { .. } | N::IndexJoin { .. } => {
                self.join(plan)
            }
            N::Cte { .. } | N::RecursiveCte { .. } | N::CteScan { .. } => self.with(plan),
            N::Modify { change, rows } => {
                let rows = match rows {
                    ModifiedRows::Plan(input) | ModifiedRows::Few(input) => Rows::Input(self.whole(input)?),
                    ModifiedRows::Constants(rows) => Rows::Constants(rows.clone()),
                };
                Ok(Box::new(Modify::new(change.clone(), rows, types(&plan.fields))))
            }
            N::SystemScan { relation, columns, only } => {
                let compiled =
                    |(column, value): &(usize, Expr)| Ok::<_, crate::Error>((*column, compile(value, self.context)?));
                let only = only.as_ref().map(compiled).transpose()?;
                Ok(Box::new(SystemScan::new(relation.clone(), columns.clone(), only, types(&plan.fields))))
            }
            N::TableFunction { call: Expr::Call { function, args } } => {
                let call = (function.clone(), self.exprs(args)?);
                Ok(Box::new(TableFunction::new(call, types(&plan.fields), self.sparing)))
            }
            N::TableFunction { .. } => Err(crate::Error::internal("a function in FROM without its call")),
            _ => self.transform(plan),
        }
    }

    /// SQLSTATE 0A000 for an index that was made after the state that is read, in which its table has rows.
    fn refuse_later(&self, node: &N) -> Result<()> {
        let (N::IndexScan { table, index, .. }
        | N::ItemScan { table, index, .. }
        | N::PointGet { table, index: Some(index), .. }
        | N::IndexJoin { table, index: Some(index), .. }) = node
        else {
            return Ok(());
        };
        let reader = &self.context.reader;
        if !reader.is_later(index.tree)? || reader.is_later(table.tree)? {
            return Ok(());
        }
        let message = format!("index \"{}\" within the statement in which it was made", index.name);
        Err(Error::unsupported(message).with_hint("Make it in a statement of its own."))
    }

    /// What another index says of a table's rows: nothing, if it was made after the state that is read.
    fn both(&self, table: &Table, index: &Index, ranges: &[KeyRange]) -> Result<Option<Both>> {
        if self.context.reader.is_later(index.tree)? {
            return Ok(None);
        }
        let parts = KeyPart::of_index(table, index);
        let ranges = KeyRanges::new(index.tree, parts.clone(), ranges, false, self.context)?;
        Ok(Some(Both::new(ranges, parts, table.used_by(Some(index)))))
    }

    fn filter(&self, input: BoxOperator, predicate: &Expr) -> Result<BoxOperator> {
        let input = match self.is_sparing(std::slice::from_ref(predicate)) {
            true => Box::new(OneByOne::new(input)),
            false => input,
        };
        Ok(Box::new(Filter::new(input, compile(predicate, self.context)?)))
    }

    /// A scan, and beside it the condition that has to be asked of a row at a time.
    fn scan(&self, plan: &PhysicalPlan) -> Result<BoxOperator> {
        let (N::TableScan { filter, .. } | N::IndexScan { filter, .. } | N::ItemScan { filter, .. }) = &plan.node
        else {
            return self.scan_with(plan, &None);
        };
        match filter {
            Some(predicate) if self.is_sparing(std::slice::from_ref(predicate)) => {
                self.filter(self.scan_with(plan, &None)?, predicate)
            }
            filter => self.scan_with(plan, filter),
        }
    }

    /// A scan with this filter in place of its own.
    fn scan_with(&self, plan: &PhysicalPlan, filter: &Option<Expr>) -> Result<BoxOperator> {
        match &plan.node {
            N::TableScan { table, columns, fields, ranges, reverse, .. } => {
                let is_whole = ranges.iter().any(KeyRange::is_whole);
                let ranges = KeyRanges::new(table.tree, KeyPart::of_table(table), ranges, *reverse, self.context)?;
                let reader = RowReader::with_fields(table, columns, fields)?;
                let used = if is_whole { table.used_whole() } else { table.used_by(None) };
                Ok(Box::new(TableScan::new(ranges, reader, self.optional(filter)?, used)))
            }
            N::IndexScan { table, index, columns, ranges, reverse, covering, firsts, both, .. } => {
                let parts = KeyPart::of_index(table, index);
                let firsts = (*firsts > 0).then(|| Firsts::new(&parts, *firsts));
                let ranges = KeyRanges::new(index.tree, parts, ranges, *reverse, self.context)?;
                let reader = EntryReader::new(table, index, columns, *covering);
                let both = both.as_ref().map(|(other, ranges)| self.both(table, other, ranges)).transpose()?.flatten();
                Ok(Box::new(IndexScan::new(ranges, reader, self.optional(filter)?, (firsts, both))))
            }
            N::ItemScan { table, index, columns, items, .. } => {
                let asked = items.try_map(&mut |item| {
                    Ok::<_, crate::Error>(((item.column, item.operator), compile(&item.value, self.context)?))
                })?;
                Ok(Box::new(ItemScan::new(table, index, columns, asked, self.optional(filter)?)))
            }
            N::PointGet { table, index, columns, key, filter } => {
                let (key, filter) = (self.exprs(key)?, self.optional(filter)?);
                Ok(Box::new(PointGet::new(table, index.as_ref(), columns, key, filter)))
            }
            _ => Err(crate::Error::internal("not a scan")),
        }
    }

    /// The inputs first, and with them what joins them: a deep plan recurses through small frames only.
    fn join(&self, plan: &PhysicalPlan) -> Result<BoxOperator> {
        match &plan.node {
            N::HashJoin { left, right, .. } => self.hash_join(plan, [self.child(left)?, self.whole(right)?]),
            N::MergeJoin { left, right, .. } => self.merge_join(plan, self.pair(left, right)?),
            N::NestedLoopJoin { left, right, .. } => self.nested_loop_join(plan, self.pair(left, right)?),
            N::IndexJoin { left, .. } => self.index_join(plan, self.child(left)?),
            _ => Err(crate::Error::internal("not a join")),
        }
    }

    fn hash_join(&self, plan: &PhysicalPlan, inputs: [BoxOperator; 2]) -> Result<BoxOperator> {
        let N::HashJoin { kind, left, right, left_keys, right_keys, residual } = &plan.node else {
            return Err(crate::Error::internal("not a hash join"));
        };
        let [left_input, right_input] = inputs;
        Ok(Box::new(HashJoin::new(HashJoinParts {
            left: left_input,
            right: right_input,
            left_types: types(&left.fields),
            right_fields: right.fields.clone(),
            left_keys: self.exprs(left_keys)?,
            right_keys: self.exprs(right_keys)?,
            pairing: self.pairing(*kind, residual, left)?,
            // The table is of the keys, which may be of an outer row where the rows are not.
            right_is_fixed: Facts::of_plan(right).is_fixed() && Facts::of_exprs(right_keys).is_fixed(),
        })))
    }

    fn merge_join(&self, plan: &PhysicalPlan, inputs: [BoxOperator; 2]) -> Result<BoxOperator> {
        let N::MergeJoin { kind, left, right, left_keys, right_keys, right_differs, residual } = &plan.node else {
            return Err(crate::Error::internal("not a merge join"));
        };
        let [left_input, right_input] = inputs;
        Ok(Box::new(MergeJoin::new(MergeJoinParts {
            left: left_input,
            right: right_input,
            left_types: types(&left.fields),
            right_fields: right.fields.clone(),
            left_keys: compile_all(left_keys.iter().map(|key| &key.expr), self.context)?,
            right_keys: self.exprs(right_keys)?,
            directions: left_keys.iter().map(Direction::of).collect(),
            pairing: self.pairing(*kind, residual, left)?,
            right_differs: *right_differs,
        })))
    }

    fn nested_loop_join(&self, plan: &PhysicalPlan, inputs: [BoxOperator; 2]) -> Result<BoxOperator> {
        let N::NestedLoopJoin { kind, left, right, on, lateral } = &plan.node else {
            return Err(crate::Error::internal("not a nested loop"));
        };
        let pairing = self.pairing(*kind, on, left)?;
        if *lateral {
            let is_sparing = on.as_ref().is_some_and(|on| self.is_sparing(std::slice::from_ref(on)));
            let [left, right_input] = inputs;
            let inputs = [left, if is_sparing { Box::new(OneByOne::new(right_input)) } else { right_input }];
            return Ok(Box::new(LateralJoin::new(inputs, types(&right.fields), pairing)));
        }
        let fixed = Facts::of_plan(right).is_fixed();
        let (left_types, right_fields) = (types(&left.fields), right.fields.clone());
        Ok(Box::new(NestedLoopJoin::new(inputs, left_types, right_fields, pairing, fixed)))
    }

    fn index_join(&self, plan: &PhysicalPlan, input: BoxOperator) -> Result<BoxOperator> {
        let N::IndexJoin { kind, left, table, index, columns, keys, to, unique, residual, covering, .. } = &plan.node
        else {
            return Err(crate::Error::internal("not an index join"));
        };
        table.refuse_unpopulated()?;
        Ok(Box::new(IndexJoin::new(
            input,
            table,
            index.as_ref(),
            (columns, *covering),
            (self.exprs(keys)?, self.optional(to)?, *unique),
            self.pairing(*kind, residual, left)?,
        )))
    }

    fn pairing(&self, kind: JoinKind, residual: &Option<Expr>, left: &PhysicalPlan) -> Result<Pairing> {
        let sparing = residual.as_ref().is_some_and(|residual| self.is_sparing(std::slice::from_ref(residual)));
        Ok(Pairing::new(kind, self.optional(residual)?, left.fields.len()).sparing(sparing))
    }

    fn with(&self, plan: &PhysicalPlan) -> Result<BoxOperator> {
        match &plan.node {
            N::Cte { id, definition, body, .. } => {
                let changes = is_change(definition);
                let sparing = self.sparing || may_stop(body);
                let definition = build_asked(definition, self.shared, sparing)?;
                Ok(Box::new(With::new(*id, definition, self.child(body)?, changes)))
            }
            N::RecursiveCte { id, base, step, all, body, .. } => {
                let seen = (!all).then(SeenRows::default);
                // What is counted is counted by operator.
                let by_row = RowByRow::of(step, *id).filter(|_| *all && !self.context.analyze);
                let union = RecursiveUnion::new(*id, self.child(base)?, self.child(step)?, seen, by_row);
                Ok(Box::new(With::new(*id, Box::new(union), self.child(body)?, false)))
            }
            N::CteScan { id, .. } => Ok(Box::new(WithScan::new(*id))),
            _ => Err(crate::Error::internal("not a WITH")),
        }
    }

    fn transform(&self, plan: &PhysicalPlan) -> Result<BoxOperator> {
        match &plan.node {
            N::Filter { input, .. }
            | N::Project { input, .. }
            | N::Distinct { input, .. }
            | N::DistinctOn { input, .. } => self.over(plan, input, self.child(input)?),
            N::Limit { input, .. } => self.over(plan, input, build_asked(input, self.shared, true)?),
            N::Sort { input, .. } | N::TopN { input, .. } | N::Window { input, .. } | N::Aggregate { input, .. } => {
                self.over(plan, input, self.whole(input)?)
            }
            N::Append { inputs } => {
                let inputs = inputs.iter().map(|input| self.child(input)).collect::<Result<_>>()?;
                Ok(Box::new(Append::new(inputs)))
            }
            N::SetOperation { left, right, .. } => self.set_operation(plan, self.pair(left, right)?),
            _ => Err(crate::Error::internal("a plan node without an operator")),
        }
    }

    fn set_operation(&self, plan: &PhysicalPlan, inputs: [BoxOperator; 2]) -> Result<BoxOperator> {
        let N::SetOperation { op, all, .. } = &plan.node else {
            return Err(crate::Error::internal("not a set operation"));
        };
        Ok(Box::new(SetOperation::new(*op, *all, inputs, &types(&plan.fields))))
    }

    /// A sort's input, which comes in the order of these keys already.
    fn runs(&self, input: BoxOperator, presorted: &[SortKey]) -> Result<Runs> {
        let keys = if presorted.is_empty() { None } else { Some(self.sort_keys(presorted)?) };
        Ok(Runs::new(input, keys))
    }

    /// Whether the expressions are to be evaluated for a row once the one before it was used.
    fn is_one_by_one<'e>(&self, exprs: impl IntoIterator<Item = &'e Expr>) -> bool {
        self.context.one_by_one && exprs.into_iter().any(|expr| Callees::of(expr) == Callees::Writers)
    }

    /// Whether they are to be evaluated for rows that are asked for only.
    fn is_sparing(&self, exprs: &[Expr]) -> bool {
        self.sparing && Facts::of_exprs(exprs).volatile
    }

    /// What works on one input.
    fn over(&self, plan: &PhysicalPlan, below: &PhysicalPlan, input: BoxOperator) -> Result<BoxOperator> {
        Ok(match &plan.node {
            N::Filter { predicate, .. } => self.filter(input, predicate)?,
            N::Project { exprs, .. } if self.is_one_by_one(exprs) => {
                Box::new(Project::new(Box::new(OneByOne::new(input)), self.exprs(exprs)?))
            }
            N::Project { exprs, .. } if self.is_sparing(exprs) => {
                Box::new(Project::new(Box::new(OneByOne::or_wanted(input)), self.exprs(exprs)?))
            }
            N::Project { exprs, .. } => Box::new(Project::new(input, self.exprs(exprs)?)),
            N::Sort { keys, presorted, .. } => {
                let input = self.runs(input, &keys[..*presorted])?;
                Box::new(Sort::new(input, below.fields.clone(), self.sort_keys(keys)?))
            }
            N::TopN { keys, presorted, limit, offset, .. } => {
                let limit = LimitValues { limit: Some(compile(limit, self.context)?), offset: self.optional(offset)? };
                let input = self.runs(input, &keys[..*presorted])?;
                Box::new(Sort::top(input, below.fields.clone(), self.sort_keys(keys)?, limit))
            }
            N::Limit { limit, offset, ties, .. } => {
                let values = LimitValues { limit: self.optional(limit)?, offset: self.optional(offset)? };
                let ties = if ties.is_empty() { None } else { Some(self.sort_keys(ties)?) };
                Box::new(Limit::new(input, values, ties))
            }
            N::Distinct { sorted: true, .. } => Box::new(Unique::new(input, vec![])),
            N::DistinctOn { on, sorted: true, .. } => Box::new(Unique::new(input, self.exprs(on)?)),
            N::Distinct { .. } => Box::new(Distinct::new(input, vec![])),
            N::DistinctOn { on, .. } => Box::new(Distinct::new(input, self.exprs(on)?)),
            N::Window { partition_by, order_by, calls, .. } => {
                let keys = (partition_by.as_slice(), order_by.as_slice());
                window::window(input, below.fields.len(), keys, calls, self.context)?
            }
            N::Aggregate { group_by, aggregates, sorted, .. } => {
                let calls = aggregates.iter().map(|call| Call::new(call, self.context)).collect::<Result<_>>()?;
                let group_by = self.exprs(group_by)?;
                match sorted {
                    true => Box::new(SortedAggregate::new(input, group_by, calls)),
                    false => Box::new(HashAggregate::new(input, group_by, calls)),
                }
            }
            _ => return Err(crate::Error::internal("a plan node without an operator")),
        })
    }
}

/// Counts what an operator does, for `EXPLAIN ANALYZE`.
struct Counted {
    id: usize,
    operator: BoxOperator,
}

impl Counted {
    /// What `step` says; `rows` tells what it gave, if it gave anything or came to its end.
    fn counted<T>(
        &mut self,
        cx: Cx<'_>,
        step: impl FnOnce(&mut BoxOperator) -> Step<T>,
        rows: impl FnOnce(&T) -> Option<Option<usize>>,
    ) -> Step<T> {
        let pages = || cx.context().buffers.then(|| cx.context().reader.pages_used());
        let before = pages();
        let started = sync::now();
        let outer = cx.shared.running.replace(self.id);
        let answer = step(&mut self.operator);
        cx.shared.running.set(outer);
        if let Some(counters) = cx.shared.counters.get(self.id) {
            counters.add_time(sync::since(started));
            before.zip(pages()).into_iter().for_each(|(before, after)| counters.add_pages(before, after));
            answer.as_ref().ok().and_then(rows).into_iter().for_each(|given| counters.add(given));
        }
        answer
    }
}

impl Operator for Counted {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        self.counted(cx, |operator| operator.next(cx), |batch| Some(batch.as_ref().map(Batch::len)))
    }

    fn skip(&mut self, rows: usize, cx: Cx<'_>) -> Step<usize> {
        self.counted(cx, |operator| operator.skip(rows, cx), |passed| (*passed > 0).then_some(Some(*passed)))
    }

    fn want(&mut self, rows: usize) {
        self.operator.want(rows);
    }

    fn reset(&mut self, cx: Cx<'_>) {
        self.operator.reset(cx);
    }
}
