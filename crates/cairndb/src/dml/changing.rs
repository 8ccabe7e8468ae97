//! The changes of a running statement: each goes on where it stopped, in its source's rows.

use std::cell::RefCell;
use std::sync::Arc;

use super::delete::Deleting;
use super::insert::Inserting;
use super::instead::Asking;
use super::merge::Merging;
use super::pending::{PendingChecks, Unsettled};
use super::programs::{Program, Programs};
use super::source::Source;
use super::update::Updating;
use super::{DmlContext, DmlResult};
use crate::exec::{Collected, NoAnswer, SourceRows, Step, Turn, Writes};
use crate::plan::Modification;
use crate::{Error, Result};

/// Who else changes rows while a statement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConcurrentWrites {
    Nobody,
    /// Other parts of the statement: what they have changed is left alone.
    Others,
    /// Functions that it calls, BEFORE triggers: what they have changed cannot be changed once more.
    Functions,
}

/// The changes of a statement, as far as they are.
pub(super) struct Changes {
    beside: ConcurrentWrites,
    /// What is inserted asks functions that change rows, or look for those that are there by then.
    follows: bool,
    made: RefCell<Made>,
}

#[derive(Default)]
struct Made {
    owed: Unsettled,
    /// Changes that have stopped before their last row, each by the number of its program.
    stopped: Vec<(usize, Change)>,
    /// Of the change that ran last: that of the plan itself, if it has one.
    affected: u64,
}

/// How far a change is.
enum Change {
    Insert(Inserting),
    Update(Updating),
    Delete(Deleting),
    Merge(Merging),
    Instead(Asking),
}

/// What a step of a change runs in.
pub(super) struct Work<'a> {
    pub(super) context: &'a DmlContext<'a>,
    pub(super) pending: PendingChecks<'a>,
    pub(super) beside: ConcurrentWrites,
    pub(super) turn: &'a Turn,
}

/// A step of a statement.
pub(super) struct Writing<'a> {
    pub(super) changes: &'a Changes,
    pub(super) programs: &'a Programs,
    pub(super) context: &'a DmlContext<'a>,
}

impl Changes {
    pub(super) fn new(beside: ConcurrentWrites, follows: bool) -> Changes {
        Changes { beside, follows, made: RefCell::default() }
    }

    /// Looks at what is owed once all rows are changed.
    pub(super) fn settle(&self, context: &DmlContext<'_>, turn: &Turn) -> Step<()> {
        PendingChecks::new(context, &mut self.made.borrow_mut().owed).finish(turn)
    }
}

impl Writing<'_> {
    /// Rows that the change that ran last has affected.
    pub(super) fn affected(&self) -> u64 {
        self.changes.made.borrow().affected
    }
}

impl Writes for Writing<'_> {
    fn change(&self, change: &Modification, rows: SourceRows<'_>, turn: &Turn) -> Step<Collected> {
        let Made { owed, stopped, affected } = &mut *self.changes.made.borrow_mut();
        let (context, beside) = (self.context, self.changes.beside);
        let mut work = Work { context, pending: PendingChecks::new(context, owed), beside, turn };
        let (number, program) = self.programs.numbered(change)?;
        let mut going = match stopped.iter().position(|(of, _)| *of == number) {
            Some(at) => stopped.swap_remove(at).1,
            None => Change::begin(program, change, &mut work)?,
        };
        let result = match going.step(program, rows, &mut work) {
            Err(NoAnswer::NotYet) => {
                stopped.push((number, going));
                return Err(NoAnswer::NotYet);
            }
            ended => ended?,
        };
        let assigned = assigned(change);
        for event in change.events().iter().rev() {
            work.pending.after_statement(&change.table, *event, &assigned)?;
        }
        *affected = result.affected;
        Ok(result.rows.finish())
    }

    fn follows(&self) -> bool {
        self.changes.follows
    }
}

/// The columns that triggers are told of.
fn assigned(change: &Modification) -> Arc<[usize]> {
    if change.table.triggers.is_empty() { Arc::default() } else { change.assigned() }
}

impl Change {
    /// Behind the triggers that come before the first row.
    fn begin(program: &Program, change: &Modification, work: &mut Work<'_>) -> Result<Change> {
        let assigned = assigned(change);
        for event in &change.events() {
            work.pending.before_statement(&change.table, *event, &assigned)?;
        }
        Ok(match program {
            Program::Insert(plan) => Change::Insert(plan.begin(work.context, work.beside)),
            Program::Update(plan) => Change::Update(plan.begin(work.context)),
            Program::Delete(plan) => Change::Delete(plan.begin(work.context)),
            Program::Merge(plan) => Change::Merge(plan.begin(work.context)),
            Program::Instead(plan) => Change::Instead(plan.begin(work.context)?),
        })
    }

    fn step(&mut self, program: &Program, rows: SourceRows<'_>, work: &mut Work<'_>) -> Step<DmlResult> {
        let source = |rows| match rows {
            SourceRows::Batches(batches, shared) => Ok(Source::new(batches, shared)),
            SourceRows::Few(_) | SourceRows::Constants(_) | SourceRows::Lazy(_) => {
                Err(Error::internal("rows that are only inserted"))
            }
        };
        match (self, program) {
            (Change::Insert(at), Program::Insert(plan)) => plan.step(at, rows, work),
            (Change::Update(at), Program::Update(plan)) => plan.step(at, &source(rows)?, work),
            (Change::Delete(at), Program::Delete(plan)) => plan.step(at, &source(rows)?, work),
            (Change::Merge(at), Program::Merge(plan)) => plan.step(at, &source(rows)?, work),
            (Change::Instead(at), Program::Instead(plan)) => plan.step(at, &source(rows)?, work),
            _ => Err(Error::internal("a change has become another one").into()),
        }
    }
}
