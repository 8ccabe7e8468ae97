//! UPDATE.

use std::collections::HashSet;
use std::sync::Arc;

use super::foreign_keys::ForeignKeys;
use super::row::{ChangeBuffers, Env, RowChange, Stop, Target};
use super::source::{Source, source_key};
use super::{BatchRow, DmlContext, DmlResult};
use crate::Result;
use crate::bind::{BoundUpdate, Returning};
use crate::catalog::Catalog;
use crate::plan::{Expr, OptimizerOptions, PhysicalPlan, optimize};

/// An UPDATE, planned.
#[derive(Debug)]
pub(crate) struct UpdatePlan {
    /// From the rows of the source.
    program: RowChange,
    pub(crate) source: Arc<PhysicalPlan>,
    pub(crate) assigned: Vec<usize>,
    pub(crate) returning: Option<Returning>,
}

/// A row whose old keys are out of the way, and whose new ones have yet to come in.
struct Waiting {
    /// In the source.
    batch: usize,
    row: usize,
    key: Vec<u8>,
    change: ChangeBuffers,
}

/// One execution.
struct Run<'a> {
    program: &'a RowChange,
    context: &'a DmlContext<'a>,
    keys: ForeignKeys<'a>,
    /// A target row may come more than once; only its first time counts.
    seen: HashSet<Vec<u8>>,
    key: Vec<u8>,
    result: DmlResult,
}

impl UpdatePlan {
    pub(crate) fn new(bound: BoundUpdate, catalog: &Catalog, options: &OptimizerOptions) -> Result<UpdatePlan> {
        let target = Arc::new(Target::new(&bound.table, catalog)?);
        // A row of the source is the old row, its row number where it has one, the new values, and what else RETURNING sees.
        let width = target.table.columns.len();
        let values_at = width + usize::from(target.layout.has_row_numbers());
        let value = |(at, &column): (usize, &usize)| {
            let data_type = target.table.columns[column].data_type;
            (column, Expr::Column { index: width + values_at + at, data_type })
        };
        let assigned: Vec<(usize, Expr)> = bound.assigned.iter().enumerate().map(value).collect();
        let returning = bound.returning.as_ref().map(|returning| returning.exprs.as_slice());
        let behind = (returning, values_at + assigned.len());
        Ok(UpdatePlan {
            program: RowChange::new(&target, catalog, &assigned, None, behind)?,
            source: Arc::new(optimize(bound.source, catalog, options)?),
            assigned: bound.assigned,
            returning: bound.returning,
        })
    }

    pub(crate) fn target(&self) -> &Arc<Target> {
        &self.program.rules.target
    }

    pub(crate) fn run(&self, context: &DmlContext<'_>) -> Result<DmlResult> {
        let source = Source::read(&self.source, context)?;
        let mut run = Run {
            program: &self.program,
            context,
            keys: ForeignKeys::new(context),
            seen: HashSet::new(),
            key: Vec::new(),
            result: DmlResult::default(),
        };
        match self.program.changes_unique_keys() {
            true => run.together(&source)?,
            false => run.one_by_one(&source)?,
        }
        run.keys.finish()?;
        Ok(run.result)
    }
}

impl Run<'_> {
    /// Leaves the key of a source row's target in `key`; false for a target that came before.
    fn is_new(&mut self, row: BatchRow<'_>) -> Result<bool> {
        source_key(&self.program.rules.target, row, &mut self.key)?;
        Ok(!self.seen.contains(&self.key) && self.seen.insert(self.key.clone()))
    }

    fn one_by_one(&mut self, source: &Source) -> Result<()> {
        let (env, mut trees, mut change) = (Env::of(self.context.exec), self.context.tx, ChangeBuffers::default());
        source.for_each_row(self.context.exec, |_, row| {
            if !self.is_new(row)? {
                return Ok(());
            }
            let Run { program, keys, key, result, .. } = self;
            let found = program.run(&mut trees, (key, Some(&row)), env, &mut change, keys, &mut result.returned)?;
            if found {
                result.add();
            }
            Ok(())
        })
    }

    /// All old keys go before the first new one comes: `SET id = id + 1` only fails where keys really collide.
    fn together(&mut self, source: &Source) -> Result<()> {
        let mut waiting = Vec::new();
        let taken = source.for_each_row(self.context.exec, |batch, row| {
            if self.is_new(row)? {
                waiting.extend(self.take(batch, row)?);
            }
            Ok(())
        });
        // What is wrong with a row before the one that could not be taken is told first.
        for Waiting { batch, row, key, change } in &waiting {
            self.put(key, source.row(*batch, *row), change)?;
        }
        taken
    }

    fn take(&mut self, batch: usize, row: BatchRow<'_>) -> Result<Option<Waiting>> {
        let (program, env, mut trees) = (self.program, Env::of(self.context.exec), self.context.tx);
        let mut change = ChangeBuffers::default();
        if !program.read(&mut trees, &self.key, &mut change)? {
            return Ok(None);
        }
        program.prepare(&self.key, Some(&row), env, &mut change, &mut self.result.returned)?;
        program.take_old(&mut trees, &self.key, &change)?;
        self.result.add();
        Ok(Some(Waiting { batch, row: row.row, key: std::mem::take(&mut self.key), change }))
    }

    fn put(&mut self, key: &[u8], row: BatchRow<'_>, change: &ChangeBuffers) -> Result<()> {
        let (program, env, mut trees) = (self.program, Env::of(self.context.exec), self.context.tx);
        let worded = |stop: Stop| program.worded(stop, key, Some(&row), env, change);
        program.find_duplicate(&mut trees, change, true).map_err(worded)?;
        program.refers(&mut trees, key, change, &mut self.keys)?;
        program.put_new(&mut trees, key, change)?;
        program.note(key, Some(&row), env, change, &mut self.keys)?;
        Ok(())
    }
}
