//! Stages that rows with weights go through on the way to the result, of which the first keeps what it needs to follow them (and
//! others may).

use super::groups::Groups;
use super::rows::Changed;
use super::terms::{MaintenanceEnv, Terms};
use super::top::Top;
use crate::columns::Batch;
use crate::exec::context::{Cx, ExecContext, Shared};
use crate::exec::row_eval::eval_row;
use crate::exec::stream::execute_kept;
use crate::plan::{Expr, KeptStages, Stage};
use crate::types::DataType;
use crate::{Result, Value};

/// Rows, each with a weight: how many more of it there are, or fewer.
pub(super) type Flow = Vec<(Vec<Value>, i64)>;

/// What is kept of a query's stages, of one state.
pub(crate) struct KeptState(Vec<StageState>);

enum StageState {
    Filter(Expr),
    Project(Vec<Expr>),
    Groups(Box<Groups>),
    Top(Box<Top>),
}

impl KeptState {
    /// What is to be kept of the state that the context reads. `None`: that is too much.
    pub(crate) fn build(kept: &KeptStages, context: &ExecContext) -> Result<Option<KeptState>> {
        let shared = Shared::new(context.clone(), 0);
        let cx = Cx { shared: &shared, outer: None, writes: None };
        let mut stages = vec![];
        let mut types: Vec<DataType> = kept.input.fields.iter().map(|field| field.data_type).collect();
        for stage in &kept.stages {
            stages.push(match stage {
                Stage::Filter(predicate) => StageState::Filter(predicate.clone()),
                Stage::Project(exprs) => {
                    types = exprs.iter().map(Expr::data_type).collect();
                    StageState::Project(exprs.clone())
                }
                Stage::Groups { group_by, aggregates } => {
                    let returns = aggregates.iter().map(|call| call.aggregate.returns);
                    types = group_by.iter().map(Expr::data_type).chain(returns).collect();
                    StageState::Groups(Box::new(Groups::new(group_by, aggregates)))
                }
                Stage::Top { keys, limit, offset } => {
                    match Top::new(keys, (limit, offset.as_ref()), kept.margin, &types, cx)? {
                        Some(top) => StageState::Top(Box::new(top)),
                        None => return Ok(None),
                    }
                }
            });
        }
        let mut state = KeptState(stages);
        Ok(state.begin(kept, cx)?.then_some(state))
    }

    /// Takes in what is there from the beginning. False: that can not be told.
    fn begin(&mut self, kept: &KeptStages, cx: Cx<'_>) -> Result<bool> {
        let context = cx.context();
        let mut stream = execute_kept(kept.input.clone(), context.clone(), None)?;
        let mut each_batch = |take: &mut dyn FnMut(&Batch) -> Result<()>| -> Result<()> {
            while let Some(batch) = stream.next_batch()? {
                take(&batch)?;
            }
            Ok(())
        };
        // Batch by batch: all of the rows would be much.
        let begun = match self.0.first_mut() {
            Some(StageState::Groups(groups)) => {
                let mut feeder = groups.feeder(context)?;
                each_batch(&mut |batch| groups.begin(&mut feeder, batch, cx))?;
                Some(groups.begun()?)
            }
            Some(StageState::Top(top)) => {
                let mut values = vec![];
                each_batch(&mut |batch| {
                    for row in 0..batch.len() {
                        batch.read_row(row, &mut values);
                        top.take(&values, 1, context)?;
                    }
                    top.trim();
                    Ok(())
                })?;
                top.begun()
            }
            _ => None,
        };
        // (The first result is known already.)
        let Some(flow) = begun else { return Ok(false) };
        Ok(self.pass(1, flow, context)?.is_some())
    }

    /// Brings what is kept to a newer state by the plans of the input's change; `each` is told how the result changes. False: that
    /// can not be told so, and what is kept is of no more use. `values`: room for a row.
    pub(crate) fn follow(
        &mut self,
        terms: Terms<'_>,
        (context, changed): (&ExecContext, &Changed),
        values: &mut Vec<Value>,
        each: &mut dyn FnMut(&mut Vec<Value>, i64),
    ) -> Result<bool> {
        let mut flow = Flow::new();
        let around = MaintenanceEnv { eval: &context.eval, states: Some(context) };
        terms.run(around, changed, values, &mut |row, weight| flow.push((std::mem::take(row), weight)))?;
        let Some(mut flow) = self.pass(0, flow, context)? else { return Ok(false) };
        flow.iter_mut().for_each(|(row, weight)| each(row, *weight));
        Ok(true)
    }

    /// Through the stages from this one on.
    fn pass(&mut self, from: usize, mut flow: Flow, context: &ExecContext) -> Result<Option<Flow>> {
        for stage in &mut self.0[from..] {
            let passed = match stage {
                StageState::Filter(predicate) => Some(filtered(flow, predicate, context)?),
                StageState::Project(exprs) => Some(projected(&flow, exprs, context)?),
                StageState::Groups(groups) => groups.follow(&flow, context)?,
                StageState::Top(top) => top.follow(&flow, context)?,
            };
            let Some(passed) = passed else { return Ok(None) };
            flow = passed;
        }
        Ok(Some(flow))
    }
}

fn filtered(flow: Flow, predicate: &Expr, context: &ExecContext) -> Result<Flow> {
    let mut passing = Flow::new();
    for (row, weight) in flow {
        if eval_row(predicate, &row, context)? == Value::Boolean(true) {
            passing.push((row, weight));
        }
    }
    Ok(passing)
}

fn projected(flow: &Flow, exprs: &[Expr], context: &ExecContext) -> Result<Flow> {
    let row = |(row, weight): &(Vec<Value>, i64)| {
        let values = exprs.iter().map(|expr| eval_row(expr, row, context)).collect::<Result<_>>()?;
        Ok((values, *weight))
    };
    flow.iter().map(row).collect()
}
