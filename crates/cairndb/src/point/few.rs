//! The few rows that begin with a key, or the first of them, alone or joined with rows by unique keys: a customer's orders.
//!
//! For so few rows vectors cost more than they give: each row goes from its page to whoever wants it. Where there are more,
//! or they are not in memory, the general path is the quicker one. What must hold: both give the same answer, so the rows
//! come in the same order, and what is out of the ordinary is left to the general path.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU32, Ordering};

use cairn_storage::{Error as StorageError, KeyList, Lookup, PointReader, Session, TreeId, WriteError};

use super::join::{JoinSource, Rows, STEPS_MAX, Step, StepBuffers, begin_uses, note_uses, place, read_steps};
use super::{Miss, general, missed};
use crate::catalog::ColumnPlace;
use crate::dml::row::Env;
use crate::exec::Stored;
use crate::plan::{Expr, used_columns};
use crate::types::{FewUses, SessionUses, key};

/// More rows than these are the general path's.
pub(super) const FEW: usize = 64;

/// Executions that do not try, after one that met more rows: it has read these for nothing.
const PAUSE: u32 = 256;

/// The step that reads several rows.
#[derive(Debug)]
pub(super) struct PrefixRows {
    pub(super) at: usize,
    /// Its rows are read, not only their keys.
    reads_rows: bool,
    /// Not each of them is handed over.
    leaves_out: bool,
    /// Executions until it is tried again.
    pause: AtomicU32,
}

/// What [`PrefixRows::each`] needs.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    steps: [StepBuffers; STEPS_MAX],
    found: Found,
}

/// The rows that begin with a key.
#[derive(Debug, Default)]
struct Found {
    keys: KeyList,
    /// Of an entry.
    key: Vec<u8>,
    lower: Vec<u8>,
    upper: Vec<u8>,
}

impl Scratch {
    /// Nothing is used yet.
    pub(super) fn begin(&mut self) {
        begin_uses(&mut self.steps);
    }
}

/// Whoever takes the rows of all steps; what it breaks with is the end.
pub(super) type Taken = Result<ControlFlow<()>, WriteError<Miss>>;

impl PrefixRows {
    /// That of a source, whose rows `exprs` are computed from; `None`: it has none.
    pub(super) fn of<'e>(source: &'e JoinSource, exprs: impl IntoIterator<Item = &'e Expr>) -> Option<PrefixRows> {
        let at = source.several()?;
        let in_row = |(step, column): (usize, usize)| {
            step == at && !matches!(source.steps[at].layout.place(column), ColumnPlace::Key(_))
        };
        let by_keys = source.steps.iter().flat_map(Step::columns_asked).any(in_row);
        let conditions = source.steps.iter().filter_map(Step::condition);
        let mut all = exprs.into_iter().chain(&source.filters).chain(conditions);
        let by_exprs =
            all.any(|expr| used_columns(expr).into_iter().filter_map(|index| place(&source.steps, index)).any(in_row));
        let leaves_out = !source.filters.is_empty() || at + 1 < source.steps.len();
        Some(PrefixRows { at, reads_rows: by_keys || by_exprs, leaves_out, pause: AtomicU32::new(0) })
    }

    /// Runs `work` in the newest durable state, unless there were too many rows a while ago; anew where a page has to be
    /// loaded first, which no row was handed over before. `stamp`: the catalog's, that the plan rests on.
    pub(super) fn run<R>(
        &self,
        session: &mut Session,
        stamp: u64,
        mut work: impl FnMut(&PointReader<'_>) -> Result<R, WriteError<Miss>>,
    ) -> Result<R, Miss> {
        // PrefixRows that count at once only try sooner.
        let pause = self.pause.load(Ordering::Relaxed);
        if pause > 0 {
            self.pause.store(pause - 1, Ordering::Relaxed);
            return Err(Miss::General);
        }
        let done = session.read::<_, Miss>(|state| match state.tree_stamp(TreeId::CATALOG) == stamp {
            true => work(state),
            false => general(),
        });
        done.map_err(missed)
    }

    /// Hands the rows of all steps to `take`, until it breaks, which is after `wanted` of them at the latest.
    pub(super) fn each(
        &self,
        steps: &[Step],
        (state, wanted): (&PointReader<'_>, usize),
        env: Env<'_>,
        scratch: &mut Scratch,
        take: &mut impl FnMut(&Rows<'_>) -> Taken,
    ) -> Result<(), WriteError<Miss>> {
        let Scratch { steps: buffers, found } = scratch;
        begin_uses(buffers);
        let mut before: Rows<'_> = [None; STEPS_MAX];
        let (buffers, own) = buffers.split_at_mut(self.at);
        if !read_steps((steps, 0..self.at), state, env, buffers, &mut before)? {
            return Ok(());
        }
        let Some((own, behind)) = own.split_first_mut() else { return general() };
        let step = &steps[self.at];
        let prefix = &mut own.key;
        if !step.encode(env.params, &before, prefix).map_err(WriteError::Caller)? {
            return Ok(());
        }
        let most = if self.leaves_out { usize::MAX } else { wanted };
        if !found.find(step, prefix, state, most)? {
            self.pause.store(PAUSE, Ordering::Relaxed);
            return general();
        }
        let keys = &found.keys;
        let of_row = if self.reads_rows || step.index.is_none() { FewUses::FETCHED } else { FewUses::default() };
        own.uses.add(FewUses::NOTHING);
        own.uses.add(FewUses::ENTRY.times(keys.len()));
        own.uses.add(of_row.times(keys.len()));
        for from in (0..keys.len()).step_by(Lookup::AT_ONCE) {
            let mut values = [&[][..]; Lookup::AT_ONCE];
            let values = &mut values[..Lookup::AT_ONCE.min(keys.len() - from)];
            if self.reads_rows {
                read_values(step, state, (keys, from), values)?;
            }
            let mut rows = before;
            for (at, value) in values.iter().enumerate() {
                rows[self.at] = Some(Stored { layout: &step.layout, key: keys.get(from + at), value });
                let taken = match self.at + 1 == steps.len() {
                    true => take(&rows)?,
                    false => self.with_behind(steps, state, env, &mut *behind, rows, take)?,
                };
                if taken.is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Counts what an execution has used.
    pub(super) fn note_uses(&self, steps: &[Step], scratch: &Scratch, uses: &mut SessionUses) {
        note_uses(steps, &scratch.steps, uses);
    }

    /// Reads the rows of the steps behind the one that has several.
    fn with_behind<'r>(
        &self,
        steps: &'r [Step],
        state: &PointReader<'r>,
        env: Env<'_>,
        buffers: &'r mut [StepBuffers],
        mut rows: Rows<'r>,
        take: &mut impl FnMut(&Rows<'_>) -> Taken,
    ) -> Taken {
        match read_steps((steps, self.at + 1..steps.len()), state, env, buffers, &mut rows) {
            Ok(true) => take(&rows),
            Ok(false) => Ok(ControlFlow::Continue(())),
            Err(WriteError::Storage(StorageError::NotResident(_))) => general(),
            Err(error) => Err(error),
        }
    }
}

/// The values under some of the keys.
fn read_values<'r>(
    step: &Step,
    state: &PointReader<'r>,
    (keys, from): (&KeyList, usize),
    values: &mut [&'r [u8]],
) -> Result<(), WriteError<Miss>> {
    match state.get_each(step.table.tree, keys, from, values) {
        Ok(there) if there == values.len() => Ok(()),
        // Not there: the general path says so. Or long, or not in memory: it reads such rows together.
        Ok(_) | Err(StorageError::NotResident(_)) => general(),
        Err(error) => Err(error.into()),
    }
}

impl Found {
    /// The keys of the first rows that begin with `prefix`, in the step's order; false: they are not few.
    fn find(
        &mut self,
        step: &Step,
        prefix: &[u8],
        state: &PointReader<'_>,
        most: usize,
    ) -> Result<bool, WriteError<Miss>> {
        let Found { keys, key, lower, upper } = self;
        keys.clear();
        lower.clear();
        lower.extend_from_slice(prefix);
        upper.clear();
        // Encoded values are never all 0xff.
        upper.extend_from_slice(&key::prefix_end(prefix).unwrap_or_default());
        let tree = step.index.unwrap_or(step.table.tree);
        while let Some(entries) = state.entries(tree, lower, upper)? {
            let taken = entries.len().min(most - keys.len());
            if keys.len() + taken > FEW {
                return Ok(false);
            }
            for at in 0..taken {
                entries.key_into(at, key);
                let row_key = match (step.index, entries.value(at)) {
                    (None, _) => Ok(key.as_slice()),
                    (Some(_), Some(value)) => step.row_key(&key[prefix.len()..], value),
                    (Some(_), None) => return general(),
                };
                keys.push(row_key.map_err(|error| WriteError::Caller(error.into()))?);
            }
            if keys.len() == most || !entries.end_leaf() {
                break;
            }
            lower.clone_from(key);
            lower.push(0);
        }
        Ok(true)
    }
}
