//! SELECT of one row by key, alone or joined with rows by unique keys.

use cairn_storage::{Reader, Session, TreeId, WriteError};

use super::join::{
    JoinSource, Joined, Rows, STEPS_MAX, State, Step, StepBuffers, accepts, begin_uses, note_uses, place, read_steps,
};
use super::limit::Limit;
use super::row_ref::{RowRef, StoredRow};
use super::{Miss, general, missed};
use crate::Value;
use crate::catalog::{Catalog, ColumnPlace};
use crate::dml::row::{Env, Stop, eval, is_of_point};
use crate::plan::{Columns, Expr, KeyedRow, PhysicalPlan};
use crate::types::{DataType, SessionUses};

/// A SELECT of one row.
#[derive(Debug)]
pub(crate) struct PointSelect {
    pub(super) steps: Box<[Step]>,
    pub(super) outputs: Box<[Output]>,
    /// Outputs that are not lent from the rows.
    computed: Box<[Expr]>,
    pub(super) filters: Box<[Expr]>,
    limit: Option<Limit>,
}

/// Where an output column comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Output {
    /// A column of the row that a step reads.
    Stored { step: usize, place: ColumnPlace, data_type: DataType },
    /// Position among the computed values.
    Computed(usize),
}

/// The buffers of a SELECT.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    steps: [StepBuffers; STEPS_MAX],
    computed: Vec<Value>,
}

impl PointSelect {
    pub(super) fn of(plan: &PhysicalPlan, catalog: &Catalog) -> Option<PointSelect> {
        let source = JoinSource::of(plan, catalog)?;
        if source.several().is_some() {
            return None;
        }
        PointSelect::of_source(source)
    }

    /// Of a source's rows.
    pub(super) fn of_source(source: JoinSource) -> Option<PointSelect> {
        let JoinSource { steps, outputs, filters, limit } = source;
        Some(PointSelect { limit, ..PointSelect::new(steps.into(), filters.into(), &outputs)? })
    }

    /// Of one row by key, and what is computed from it.
    pub(super) fn of_row(row: KeyedRow, outputs: &[Expr], catalog: &Catalog) -> Option<PointSelect> {
        let step = Step::of_row(&row, catalog)?;
        PointSelect::new(Box::new([step]), row.filter.into_iter().collect(), outputs)
    }

    fn new(steps: Box<[Step]>, filters: Box<[Expr]>, outputs: &[Expr]) -> Option<PointSelect> {
        if !filters.iter().chain(steps.iter().filter_map(Step::condition)).all(is_of_point) {
            return None;
        }
        let mut computed = Vec::new();
        let mut places = Vec::with_capacity(outputs.len());
        for expr in outputs {
            places.push(match Output::stored(&steps, expr) {
                Some(output) => output,
                None if is_of_point(expr) => {
                    computed.push(expr.clone());
                    Output::Computed(computed.len() - 1)
                }
                None => return None,
            });
        }
        Some(PointSelect { outputs: places.into(), computed: computed.into(), filters, steps, limit: None })
    }

    pub(super) fn reads_nothing(&self) -> bool {
        self.steps.is_empty()
    }

    /// Nothing is computed.
    pub(crate) fn is_plain(&self) -> bool {
        self.computed.is_empty() && self.filters.is_empty() && self.steps.iter().all(|step| step.condition().is_none())
    }

    /// Reads the row in the newest durable state and hands it to `read`. `stamp`: the catalog's, that the plan rests on.
    pub(crate) fn run<R>(
        &self,
        session: &mut Session,
        stamp: u64,
        env: Env<'_>,
        (scratch, uses): (&mut Scratch, &mut SessionUses),
        mut read: impl FnMut(RowRef<'_>) -> R,
    ) -> Result<Option<R>, Miss> {
        let found = session.read::<_, Miss>(|state| match state.tree_stamp(TreeId::CATALOG) == stamp {
            true => self.read(state, env, scratch, &mut read),
            false => general(),
        });
        let found = found.map_err(missed)?;
        note_uses(&self.steps, &scratch.steps, uses);
        Ok(found)
    }

    /// As [`run`](PointSelect::run), in the open transaction.
    pub(crate) fn run_in<R>(
        &self,
        reader: &Reader,
        stamp: u64,
        env: Env<'_>,
        (scratch, uses): (&mut Scratch, &mut SessionUses),
        mut read: impl FnMut(RowRef<'_>) -> R,
    ) -> Result<Option<R>, Miss> {
        if reader.tree_stamp(TreeId::CATALOG)? != stamp {
            return Err(Miss::General);
        }
        let found = self.read(&reader, env, scratch, &mut read).map_err(missed)?;
        note_uses(&self.steps, &scratch.steps, uses);
        Ok(found)
    }

    fn read<'r, R>(
        &'r self,
        state: &impl State<'r>,
        env: Env<'_>,
        scratch: &'r mut Scratch,
        read: &mut impl FnMut(RowRef<'_>) -> R,
    ) -> Result<Option<R>, WriteError<Miss>> {
        let Scratch { steps, computed } = scratch;
        let steps = &mut steps[..self.steps.len()];
        begin_uses(steps);
        if self.limit.is_some() && self.wanted(env)? == 0 {
            return Ok(None);
        }
        let mut rows: Rows<'_> = [None; STEPS_MAX];
        if !read_steps((&self.steps, 0..self.steps.len()), state, env, steps, &mut rows)? {
            return Ok(None);
        }
        let joined = Joined { steps: &self.steps, rows: &rows };
        if !accepts(&self.filters, &joined, env)? {
            return Ok(None);
        }
        self.compute(&joined, env, computed).map_err(Stop::in_write)?;
        Ok(Some(read(RowRef::stored(StoredRow { plan: self, rows: &rows, computed, params: env.params }))))
    }

    /// How many rows are wanted at most.
    pub(super) fn wanted(&self, env: Env<'_>) -> Result<usize, WriteError<Miss>> {
        self.limit.as_ref().map_or(Ok(usize::MAX), |limit| limit.rows(env))
    }

    pub(super) fn compute(&self, row: &dyn Columns<Stop>, env: Env<'_>, out: &mut Vec<Value>) -> Result<(), Stop> {
        out.clear();
        for expr in &self.computed {
            out.push(eval(expr, row, env)?.into_value());
        }
        Ok(())
    }
}

impl Output {
    /// A column that is read where it lies.
    fn stored(steps: &[Step], expr: &Expr) -> Option<Output> {
        let Expr::Column { index, .. } = expr else { return None };
        let (step, column) = place(steps, *index)?;
        let data_type = steps[step].table.columns.get(column)?.data_type;
        let place = steps[step].layout.place(column);
        // Strings lie in keys in an ordered form that cannot be lent.
        let lent = match place {
            ColumnPlace::Row(_) => true,
            ColumnPlace::Key(at) => match data_type {
                DataType::Text | DataType::Varchar(_) => steps[step].lends_key(at),
                DataType::Char(_) | DataType::Bytea => false,
                _ => true,
            },
        };
        lent.then_some(Output::Stored { step, place, data_type })
    }
}
