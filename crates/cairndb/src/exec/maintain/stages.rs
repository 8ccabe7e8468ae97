//! Stages that rows with weights go through on the way to the result, of which some keep what they need to follow them.

use super::groups::Groups;
use super::rows::{Changed, run_term, weight_of};
use super::top::Top;
use crate::exec::batch::Batch;
use crate::exec::context::{Cx, ExecContext, Shared};
use crate::exec::expr::{Evaluator, Frame, compile, compile_all};
use crate::exec::stream::{Kept, execute_kept};
use crate::plan::{KeptStages, Stage, Term};
use crate::{Result, Value};

/// Rows, each with a weight: how many more of it there are, or fewer.
pub(super) struct Flow {
    pub(super) batch: Batch,
    pub(super) weights: Vec<i64>,
}

/// What is kept of a query's stages, of one state.
pub(crate) struct KeptState(Vec<StageState>);

enum StageState {
    Filter(Evaluator),
    Project(Vec<Evaluator>),
    Groups(Box<Groups>),
    Top(Box<Top>),
}

impl KeptState {
    /// What is to be kept of the state that the context reads. `None`: that is too much.
    pub(crate) fn build(kept: &KeptStages, context: &ExecContext) -> Result<Option<KeptState>> {
        let shared = Shared::new(context.clone(), 0);
        let cx = Cx { shared: &shared, outer: None, writes: None };
        let mut stages = vec![];
        for stage in &kept.stages {
            stages.push(match stage {
                Stage::Filter(predicate) => StageState::Filter(compile(predicate, context)?),
                Stage::Project(exprs) => StageState::Project(compile_all(exprs, context)?),
                Stage::Groups { group_by, aggregates } => {
                    StageState::Groups(Box::new(Groups::new(group_by, aggregates, context)?))
                }
                Stage::Top { keys, limit, offset } => match Top::new(keys, limit, offset.as_ref(), kept.margin, cx)? {
                    Some(top) => StageState::Top(Box::new(top)),
                    None => return Ok(None),
                },
            });
        }
        let mut state = KeptState(stages);
        let mut stream = execute_kept(kept.input.clone(), context.clone(), None)?;
        let first = state.first_groups();
        let mut flows = vec![];
        while let Some(batch) = stream.next_batch()? {
            let weights = vec![1; batch.len()];
            let flow = Flow { batch, weights };
            match first {
                // As they come: all of them would be much.
                Some(at) => state.take_in(at, flow, cx)?,
                None => flows.push(flow),
            }
        }
        let mut from = 0;
        if let Some(at) = first
            && let StageState::Groups(groups) = &mut state.0[at]
        {
            flows = groups.begun()?.into_iter().collect();
            from = at + 1;
        }
        // (The first result is known already.)
        Ok(state.pass(from, flows, true, cx)?.is_some().then_some(state))
    }

    /// Brings what is kept to a newer state by the plans of the input's change; `each` is told how the result changes. False: that
    /// can not be told so, and what is kept is of no more use.
    pub(crate) fn follow(
        &mut self,
        (terms, kept): (&[Term], &[Kept]),
        context: &ExecContext,
        changed: &Changed,
        each: &mut dyn FnMut(&[Value], i64),
    ) -> Result<bool> {
        let shared = Shared::new(context.clone(), 0);
        let cx = Cx { shared: &shared, outer: None, writes: None };
        let mut flows = vec![];
        for (term, kept) in terms.iter().zip(kept) {
            run_term(term, kept, context, changed, &mut |batch| {
                let weights = (0..batch.len()).map(|row| weight_of(batch, row)).collect::<Result<_>>()?;
                let mut columns = batch.columns().to_vec();
                columns.pop();
                flows.push(Flow { batch: Batch::new(columns, batch.len()), weights });
                Ok(())
            })?;
        }
        let Some(flows) = self.pass(0, flows, false, cx)? else { return Ok(false) };
        let mut values = Vec::new();
        for flow in flows {
            for (row, &weight) in flow.weights.iter().enumerate() {
                flow.batch.read_row(row, &mut values);
                each(&values, weight);
            }
        }
        Ok(true)
    }

    /// Where groups are, if nothing before them keeps anything.
    fn first_groups(&self) -> Option<usize> {
        let keeps = |stage: &StageState| matches!(stage, StageState::Groups(_) | StageState::Top(_));
        let at = self.0.iter().position(keeps)?;
        matches!(self.0[at], StageState::Groups(_)).then_some(at)
    }

    /// Rows that are there from the beginning go to the groups at this place.
    fn take_in(&mut self, at: usize, mut flow: Flow, cx: Cx<'_>) -> Result<()> {
        for stage in &mut self.0[..=at] {
            flow = match stage {
                StageState::Filter(predicate) => flow.filtered(predicate, cx)?,
                StageState::Project(exprs) => flow.projected(exprs, cx)?,
                StageState::Groups(groups) => return groups.begin(&flow.batch, cx),
                StageState::Top(_) => return Ok(()),
            };
        }
        Ok(())
    }

    /// Through the stages from this one on.
    fn pass(&mut self, from: usize, mut flows: Vec<Flow>, is_first: bool, cx: Cx<'_>) -> Result<Option<Vec<Flow>>> {
        for stage in &mut self.0[from..] {
            flows = match stage {
                StageState::Filter(predicate) => {
                    flows.into_iter().map(|flow| flow.filtered(predicate, cx)).collect::<Result<_>>()?
                }
                StageState::Project(exprs) => {
                    flows.into_iter().map(|flow| flow.projected(exprs, cx)).collect::<Result<_>>()?
                }
                StageState::Groups(groups) => match groups.follow(&flows, is_first, cx)? {
                    Some(flow) => flow.into_iter().collect(),
                    None => return Ok(None),
                },
                StageState::Top(top) => match top.follow(&flows, is_first, cx)? {
                    Some(flow) => flow.into_iter().collect(),
                    None => return Ok(None),
                },
            };
            flows.retain(|flow| !flow.batch.is_empty());
        }
        Ok(Some(flows))
    }
}

impl Flow {
    fn filtered(self, predicate: &mut Evaluator, cx: Cx<'_>) -> Result<Flow> {
        let passing = predicate.true_rows(Frame::from(&self.batch), cx)?;
        if passing.len() == self.batch.len() {
            return Ok(self);
        }
        let weights = passing.iter().map(|&row| self.weights[row as usize]).collect();
        Ok(Flow { batch: self.batch.gather(&passing), weights })
    }

    fn projected(self, exprs: &mut [Evaluator], cx: Cx<'_>) -> Result<Flow> {
        let frame = Frame::from(&self.batch);
        let columns = exprs.iter_mut().map(|expr| expr.vector(frame, cx)).collect::<Result<Vec<_>>>()?;
        Ok(Flow { batch: Batch::new(columns, self.batch.len()), weights: self.weights })
    }
}
