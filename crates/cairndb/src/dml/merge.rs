//! MERGE: row by row, each by the step that it is for.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::changing::{ConcurrentWrites, Work};
use super::delete::SourceRow;
use super::insert::{Inserter, InserterState};
use super::pending::PendingChecks;
use super::row::{ChangeBuffers, DeleteBuffers, Env, LentRow, RowChange, RowDelete, RowInsert, Target};
use super::source::{Place, Source, source_key};
use super::triggers::changed_by_trigger;
use super::{BatchRow, DmlContext, DmlResult};
use crate::catalog::Catalog;
use crate::exec::{self, eval_row};
use crate::plan::{Expr, MergeStep, Modification, ModificationKind, Returning, StandIn, Version, walk};
use crate::types::{DataType, ValueRef};
use crate::{Error, Result, SqlState, Value};

/// MERGE into a table, from the rows of its source.
#[derive(Debug)]
pub(crate) struct MergePlan {
    pub(crate) target: Arc<Target>,
    action_at: usize,
    steps: Vec<Step>,
    /// Where the source's rows have the data source's columns.
    extra: Range<usize>,
    returning: Option<Returning>,
}

/// What becomes of a row.
#[derive(Debug)]
enum Step {
    Nothing,
    Delete(RowDelete),
    Update(RowChange),
    Insert { program: RowInsert, at: usize },
}

/// How far a MERGE is.
pub(super) struct Merging {
    place: Place,
    /// The keys of target rows that were changed.
    changed: HashSet<Vec<u8>>,
    key: Vec<u8>,
    /// By step, for those that insert.
    inserters: Vec<Option<InserterState>>,
    change: ChangeBuffers,
    delete: DeleteBuffers,
    result: DmlResult,
}

/// A step of its execution.
struct Run<'r, 'a> {
    plan: &'r MergePlan,
    context: &'r DmlContext<'a>,
    pending: &'r mut PendingChecks<'a>,
    /// Who else changes rows.
    beside: ConcurrentWrites,
    at: &'r mut Merging,
}

impl MergePlan {
    pub(super) fn new(of: &Modification, catalog: &Catalog) -> Result<MergePlan> {
        let ModificationKind::Merge { action_at, steps, extra } = &of.kind else {
            return Err(Error::internal("not a MERGE"));
        };
        let target = Target::of(&of.table, catalog)?;
        let table = &target.table;
        let width = table.columns.len();
        // What RETURNING needs of a row, whatever is done with it.
        let columns = |base: usize| {
            let column = move |(at, column): (usize, &crate::catalog::Column)| Expr::Column {
                index: base + at,
                data_type: column.data_type,
            };
            table.columns.iter().enumerate().map(column)
        };
        let row_of = |version: Version| {
            let present = Expr::Column { index: StandIn::Present(version).column(), data_type: DataType::Boolean };
            columns(StandIn::Affected(version, 0).column()).chain([present])
        };
        let mut returning = of.returning.clone();
        let whole: Option<Vec<Expr>> =
            returning.as_ref().map(|_| columns(0).chain(row_of(Version::Old)).chain(row_of(Version::New)).collect());
        // They stand behind all that the row has otherwise.
        let behind = width + extra.len() + 1;
        for expr in returning.iter_mut().flat_map(|returning| &mut returning.exprs) {
            walk::rewrite(expr, 0, &mut |expr, depth| match *expr {
                Expr::Column { index, data_type } if depth == 0 => {
                    let (version, at) = match StandIn::of(index)? {
                        StandIn::Affected(version, at) => (version, at),
                        StandIn::Present(version) => (version, width),
                        _ => return None,
                    };
                    let row = if version == Version::Old { 0 } else { width + 1 };
                    Some(Expr::Column { index: behind + row + at, data_type })
                }
                _ => None,
            });
        }
        let step = |step: &MergeStep| match step {
            MergeStep::Nothing => Step::Nothing,
            MergeStep::Delete => Step::Delete(RowDelete::new(&target, None, whole.as_deref())),
            MergeStep::Update { assigned, at } => {
                let value = |(number, &column): (usize, &usize)| {
                    let data_type = table.columns[column].data_type;
                    (column, Expr::Column { index: width + at + number, data_type })
                };
                let assigned = assigned.iter().enumerate().map(value).collect();
                Step::Update(RowChange::new(&target, catalog, assigned, None, (whole.as_deref(), 0)))
            }
            MergeStep::Insert { at } => {
                Step::Insert { program: RowInsert::new(&target, None, whole.as_deref()), at: *at }
            }
        };
        let steps = steps.iter().map(step).collect();
        Ok(MergePlan { steps, target, action_at: *action_at, extra: extra.clone(), returning })
    }

    pub(super) fn begin(&self, context: &DmlContext<'_>) -> Merging {
        let inserters = self.steps.iter().map(|step| match step {
            Step::Insert { program, .. } => Some(InserterState::of(program)),
            _ => None,
        });
        Merging {
            place: Place::default(),
            changed: HashSet::new(),
            key: Vec::new(),
            inserters: inserters.collect(),
            change: ChangeBuffers::default(),
            delete: DeleteBuffers::default(),
            result: DmlResult::new(context, self.returning.as_ref()),
        }
    }

    pub(super) fn step(&self, at: &mut Merging, source: &Source<'_>, work: &mut Work<'_>) -> exec::Step<DmlResult> {
        let Work { context, pending, beside, turn } = work;
        let mut place = std::mem::take(&mut at.place);
        let mut run = Run { plan: self, context, pending, beside: *beside, at };
        let stepped = source.for_each_row((context.exec, turn), &mut place, |_, row| run.take(row));
        at.place = place;
        stepped?;
        Ok(std::mem::take(&mut at.result))
    }
}

impl Run<'_, '_> {
    fn take(&mut self, row: BatchRow<'_>) -> Result<()> {
        let plan = self.plan;
        let Some(ValueRef::Integer(number)) = row.lend(plan.action_at) else { return Ok(()) };
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        match plan.steps.get(number) {
            Some(Step::Insert { program, at }) => self.insert(row, (number, program, *at)),
            Some(Step::Update(program)) => match self.come_to(row, "updated")? {
                true => self.update(program, row),
                false => Ok(()),
            },
            Some(Step::Delete(program)) => match self.come_to(row, "deleted")? {
                true => self.delete(program, row),
                false => Ok(()),
            },
            Some(Step::Nothing) => Ok(()),
            None => Err(Error::internal("no such step of MERGE")),
        }
    }

    /// Leaves the key of the target row in `key`; false where another part of the statement has changed the row. SQLSTATE
    /// 21000 where this one has.
    fn come_to(&mut self, row: BatchRow<'_>, verb: &'static str) -> Result<bool> {
        let target = &self.plan.target;
        source_key(target, row, &mut self.at.key)?;
        if self.at.changed.contains(&self.at.key) {
            let error = Error::new(SqlState::CARDINALITY_VIOLATION, "MERGE command cannot affect row a second time");
            return Err(error.with_hint("Ensure that not more than one source row matches any one target row."));
        }
        if self.beside != ConcurrentWrites::Nobody && !self.context.is_untouched(target.table.tree, &self.at.key)? {
            return match self.beside {
                ConcurrentWrites::Functions => Err(changed_by_trigger(verb)),
                _ => Ok(false),
            };
        }
        self.at.changed.insert(self.at.key.clone());
        Ok(true)
    }

    fn update(&mut self, program: &RowChange, row: BatchRow<'_>) -> Result<()> {
        let (env, mut trees) = (Env::of(self.context.exec), self.context.tx);
        let Run { pending, at: Merging { key, change, result, .. }, .. } = self;
        match program.run(&mut trees, (key, Some(&row)), env, change, *pending, &mut result.returned)? {
            true => self.done(row, "UPDATE"),
            false => Ok(()),
        }
    }

    fn delete(&mut self, program: &RowDelete, row: BatchRow<'_>) -> Result<()> {
        let (env, mut trees) = (Env::of(self.context.exec), self.context.tx);
        let Run { plan, pending, at: Merging { key, delete, result, .. }, .. } = self;
        let target = SourceRow::of(&plan.target, row);
        match program.run(&mut trees, (key, &target), env, delete, *pending, &mut result.returned)? {
            true => self.done(row, "DELETE"),
            false => Ok(()),
        }
    }

    fn insert(&mut self, row: BatchRow<'_>, (number, program, at): (usize, &RowInsert, usize)) -> Result<()> {
        let Run { context, pending, at: Merging { inserters, result, .. }, .. } = self;
        let own = inserters.get_mut(number).and_then(Option::as_mut);
        let own = own.ok_or_else(|| Error::internal("a step that does not insert"))?;
        let columns = row.columns.get(at..).unwrap_or_default();
        let before = own.affected();
        Inserter::new(program, context, own).insert(BatchRow { columns, row: row.row }, *pending)?;
        if own.affected() == before {
            return Ok(());
        }
        result.returned = own.take_returned();
        self.done(row, "INSERT")
    }

    /// Counts the row, with what RETURNING makes of it as it is left in `returned`.
    fn done(&mut self, row: BatchRow<'_>, action: &str) -> Result<()> {
        let result = &mut self.at.result;
        result.affected += 1;
        let Some(returning) = &self.plan.returning else { return Ok(()) };
        let mut values = std::mem::take(&mut result.returned);
        let both = values.split_off(self.plan.target.table.columns.len());
        values.extend(self.plan.extra.clone().map(|column| row.copy(column)));
        values.push(Value::text(action));
        values.extend(both);
        let value = |expr| eval_row(expr, &values, self.context.exec);
        result.rows.push(returning.exprs.iter().map(value).collect::<Result<_>>()?)
    }
}
