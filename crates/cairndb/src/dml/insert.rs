//! INSERT.

use std::sync::Arc;

use super::foreign_keys::ForeignKeys;
use super::row::{Conflict, Env, InsertBuffers, LentRow, Proposed, RowInsert, Spare, Target, Touched};
use super::source::{Source, few_rows};
use super::{BatchRow, DmlContext, DmlResult};
use crate::bind::{BoundInsert, ConstantRows, InsertSource, Returning};
use crate::catalog::Catalog;
use crate::plan::{OptimizerOptions, PhysicalPlan, optimize};
use crate::{Result, Value};

/// An INSERT, planned.
#[derive(Debug)]
pub(crate) struct InsertPlan {
    pub(crate) program: Arc<RowInsert>,
    pub(crate) rows: Rows,
    pub(crate) returning: Option<Returning>,
}

/// Where its rows come from.
#[derive(Debug)]
pub(crate) enum Rows {
    Plan(Arc<PhysicalPlan>),
    Constants(ConstantRows),
}

impl InsertPlan {
    pub(crate) fn new(bound: BoundInsert, catalog: &Catalog, options: &OptimizerOptions) -> Result<InsertPlan> {
        let rows = match bound.source {
            InsertSource::Plan(plan) => Rows::Plan(Arc::new(optimize(plan, catalog, options)?)),
            InsertSource::Constants(rows) => Rows::Constants(rows),
        };
        let target = Arc::new(Target::new(&bound.table, catalog)?);
        let returning = bound.returning.as_ref().map(|returning| returning.exprs.as_slice());
        let conflict = bound.on_conflict.as_ref();
        let conflict = conflict.map(|bound| Conflict::new(&target, bound, returning, catalog)).transpose()?;
        let program = Arc::new(RowInsert::new(&target, conflict, returning));
        Ok(InsertPlan { program, rows, returning: bound.returning })
    }

    /// The plan of its rows, if they have to be computed.
    pub(crate) fn source(&self) -> Option<&Arc<PhysicalPlan>> {
        match &self.rows {
            Rows::Plan(plan) => Some(plan),
            Rows::Constants(_) => None,
        }
    }

    pub(crate) fn run(&self, context: &DmlContext<'_>) -> Result<DmlResult> {
        let mut inserter = Inserter::new(&self.program, context);
        match &self.rows {
            Rows::Constants(rows) if rows.few().is_some() => {
                for row in few_rows(rows, context.exec)?.iter() {
                    inserter.insert(row.as_slice())?;
                }
            }
            Rows::Constants(rows) => inserter.insert_all(Source::of_constants(rows, context.exec)?)?,
            Rows::Plan(plan) => inserter.insert_all(Source::read(plan, context)?)?,
        }
        inserter.finish()
    }
}

/// Inserts rows of one statement, whose lengths have yet to be fitted.
pub(crate) struct Inserter<'a> {
    program: &'a RowInsert,
    context: &'a DmlContext<'a>,
    keys: ForeignKeys<'a>,
    /// Where ON CONFLICT may update.
    touched: Option<Touched>,
    buffers: InsertBuffers,
    fitted: Vec<(usize, Value)>,
    spare: Spare,
    result: DmlResult,
}

impl<'a> Inserter<'a> {
    pub(crate) fn new(program: &'a RowInsert, context: &'a DmlContext<'a>) -> Inserter<'a> {
        Inserter {
            program,
            context,
            keys: ForeignKeys::new(context),
            touched: program.may_update().then(Touched::default),
            buffers: InsertBuffers::default(),
            fitted: Vec::new(),
            spare: Spare::default(),
            result: DmlResult::default(),
        }
    }

    fn insert_all(&mut self, source: Source) -> Result<()> {
        let context = self.context.exec;
        source.for_each_batch(context, |batch| {
            (0..batch.len()).try_for_each(|row| self.insert(BatchRow { columns: batch.columns(), row }))
        })
    }

    pub(crate) fn insert<'b>(&mut self, row: impl LentRow<'b>) -> Result<()> {
        let Inserter { program, context, keys, touched, buffers, fitted, spare, result } = self;
        let (table, env) = (&program.rules.target.table, Env::of(context.exec));
        let row = Proposed::fit(table, row, fitted, spare.take(), env.eval)?;
        program.prepare(&row, env, context.numbers(), buffers)?;
        let mut trees = context.tx;
        if program.run(&mut trees, &row, env, buffers, (keys, touched.as_mut()), &mut result.returned)? {
            result.add();
        }
        spare.keep(row);
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<DmlResult> {
        self.keys.finish()?;
        Ok(self.result)
    }
}
