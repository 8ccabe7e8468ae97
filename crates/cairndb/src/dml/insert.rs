//! INSERT.

use std::sync::Arc;

use super::constraints::{check_row, fit_lengths};
use super::foreign_keys::ForeignKeys;
use super::on_conflict::{ConflictPlan, Resolution};
use super::plain_insert::{BatchRow, PlainInsert};
use super::source::{Source, few_rows};
use super::{DmlContext, DmlResult, Target, Writer};
use crate::bind::{BoundInsert, ConstantRows, InsertSource, Returning};
use crate::catalog::Catalog;
use crate::exec::Batch;
use crate::plan::{OptimizerOptions, PhysicalPlan, optimize};
use crate::{Result, Value};

/// An INSERT, planned.
#[derive(Debug)]
pub(crate) struct InsertPlan {
    pub(crate) target: Arc<Target>,
    pub(crate) rows: Rows,
    pub(crate) conflict: Option<ConflictPlan>,
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
        Ok(InsertPlan {
            target: Arc::new(Target::new(&bound.table, catalog)?),
            rows,
            conflict: bound.on_conflict.map(ConflictPlan::new),
            returning: bound.returning,
        })
    }

    /// The plan of its rows, if they have to be computed.
    pub(crate) fn source(&self) -> Option<&Arc<PhysicalPlan>> {
        match &self.rows {
            Rows::Plan(plan) => Some(plan),
            Rows::Constants(_) => None,
        }
    }

    pub(crate) fn run(&self, context: &DmlContext<'_>) -> Result<DmlResult> {
        let mut run = InsertRun {
            plan: self,
            context,
            writer: Writer::new(&self.target, context),
            keys: ForeignKeys::new(context),
            result: DmlResult::default(),
            touched: Default::default(),
        };
        let mut plain = PlainInsert::of(self, context);
        match &self.rows {
            Rows::Constants(rows) if rows.few().is_some() => {
                for row in few_rows(rows, context.exec)?.iter() {
                    run.insert_row(row, plain.as_mut())?;
                }
            }
            Rows::Constants(rows) => run.source(Source::of_constants(rows, context.exec)?, plain.as_mut())?,
            Rows::Plan(plan) => run.source(Source::read(plan, context)?, plain.as_mut())?,
        }
        run.keys.finish()?;
        Ok(run.result)
    }
}

/// One execution.
struct InsertRun<'a> {
    plan: &'a InsertPlan,
    context: &'a DmlContext<'a>,
    writer: Writer<'a>,
    keys: ForeignKeys<'a>,
    result: DmlResult,
    /// Keys inserted or updated under ON CONFLICT DO UPDATE.
    touched: std::collections::HashSet<Vec<u8>>,
}

impl InsertRun<'_> {
    fn source(&mut self, source: Source, mut plain: Option<&mut PlainInsert<'_>>) -> Result<()> {
        let context = self.context.exec;
        source.for_each_batch(context, |batch| self.batch(batch, plain.as_deref_mut()))
    }

    fn insert_row(&mut self, row: &[Value], plain: Option<&mut PlainInsert<'_>>) -> Result<()> {
        match plain.map_or(Ok(false), |plain| plain.insert(row))? {
            true => self.result.affected += 1,
            false => self.row(row.to_vec())?,
        }
        Ok(())
    }

    fn batch(&mut self, batch: &Batch, mut plain: Option<&mut PlainInsert<'_>>) -> Result<()> {
        for row in 0..batch.len() {
            let inserted = match &mut plain {
                Some(plain) => plain.insert(BatchRow { columns: batch.columns(), row })?,
                None => false,
            };
            match inserted {
                true => self.result.affected += 1,
                false => self.row(batch.row(row))?,
            }
        }
        Ok(())
    }

    fn row(&mut self, mut row: Vec<Value>) -> Result<()> {
        let target = &*self.plan.target;
        fit_lengths(&target.table, &mut row, self.context.exec)?;
        check_row(target, &row, self.context.exec)?;
        let key = self.writer.new_key(&row)?;
        let Some(conflict) = &self.plan.conflict else {
            self.writer.insert(&key, &row)?;
            return self.inserted(&key, &row);
        };
        match conflict.resolve(&mut self.writer, &mut self.keys, &mut self.touched, &key, &row, self.context)? {
            Resolution::Insert => {
                self.writer.insert_unchecked(&key, &row)?;
                self.inserted(&key, &row)
            }
            Resolution::Skip => Ok(()),
            Resolution::Updated(new) => self.result.add(&new, self.plan.returning.as_ref(), self.context.exec),
        }
    }

    fn inserted(&mut self, key: &[u8], row: &[Value]) -> Result<()> {
        if self.plan.conflict.as_ref().is_some_and(ConflictPlan::updates) {
            self.touched.insert(key.to_vec());
        }
        self.keys.inserted(&self.plan.target.table, key, row)?;
        self.result.add(row, self.plan.returning.as_ref(), self.context.exec)
    }
}
