//! Runs the plans of a change: few changed rows go one by one where the plan has that way, others as vectors through operators.

use super::direct::{Direct, TooMany};
use super::rows::{Changed, run_term, weight_of};
use crate::exec::context::ExecContext;
use crate::exec::stream::Kept;
use crate::plan::Term;
use crate::types::EvalContext;
use crate::{Error, Result, Value};

/// The plans of a change, and of each what is kept from one change to the next.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    pub(crate) plans: &'a [Term],
    /// The shorter ways of those that have one.
    pub(crate) direct: &'a [Option<Direct>],
    pub(crate) kept: &'a [Kept],
}

/// Where the plans run.
#[derive(Clone, Copy)]
pub(crate) struct MaintenanceEnv<'a> {
    pub(crate) eval: &'a EvalContext,
    /// Of no need where [`Terms::need_no_state`].
    pub(crate) states: Option<&'a ExecContext>,
}

impl Terms<'_> {
    /// Whether the changed rows are all that has to be read.
    pub(crate) fn need_no_state(&self, changed: &Changed) -> bool {
        let needs_none = |direct: &Direct| !direct.reads_states() && direct.few_of(changed).is_ok();
        let mut plans = self.plans.iter().zip(self.direct);
        plans.all(|(term, direct)| !term.is_concerned(changed) || direct.as_ref().is_some_and(needs_none))
    }

    /// Calls `each` with every row that they give, which it may take, and its weight. `values`: room for a row.
    pub(crate) fn run(
        &self,
        around: MaintenanceEnv<'_>,
        changed: &Changed,
        values: &mut Vec<Value>,
        each: &mut dyn FnMut(&mut Vec<Value>, i64),
    ) -> Result<()> {
        for ((term, direct), kept) in self.plans.iter().zip(self.direct).zip(self.kept) {
            if !term.is_concerned(changed) {
                continue;
            }
            if let Some(direct) = direct {
                match direct.few_of(changed) {
                    Ok(None) => continue,
                    Ok(Some(rows)) => {
                        let state = around.states.map(|context| &context.reader);
                        direct.run(rows, (around.eval, state), values, each)?;
                        continue;
                    }
                    Err(TooMany) => {}
                }
            }
            let context = around.states.ok_or_else(|| Error::internal("a plan of a change without states"))?;
            run_term(term, kept, context, changed, &mut |batch| {
                for row in 0..batch.len() {
                    values.clear();
                    batch.read_row(row, values);
                    values.pop();
                    each(values, weight_of(batch, row)?);
                }
                Ok(())
            })?;
        }
        values.clear();
        Ok(())
    }
}
