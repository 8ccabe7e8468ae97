//! Runs point statements: where, and with what.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cairn_storage::{Acknowledge, Ticket};

use super::session_state::SessionState;
use super::{FewRows, Params, Row, Rows, Session};
use crate::catalog::Sequence;
use crate::dml::row::Env;
use crate::point::{
    Arguments, Buffers, Miss, Place, PointAggregate, PointPlan, PointRows, PointSelect, RowRef, WriteBuffers, all_fit,
    fit,
};
use crate::prepared::Prepared;
use crate::types::datetime::clock_micros;
use crate::types::{EvalContext, SessionUses, ShownSettings};

type Written = Result<(u64, Option<Ticket>), Miss>;

/// Runs a statement's point plan, which is a SELECT, in the newest durable state: its rows are handed to `read`, until it
/// breaks, with what it breaks with. Where it fails some may have been handed over.
#[inline]
pub(crate) fn read<R>(
    session: &Session,
    state: &SessionState,
    (prepared, plan): (&Prepared, &PointPlan),
    given: &dyn Params,
    buffers: &mut Buffers,
    read: impl FnMut(RowRef<'_>) -> ControlFlow<R>,
) -> Result<Option<R>, Miss> {
    let last = match plan {
        PointPlan::Select(plan) => read_row(session, state, (prepared, plan), given, buffers, read)?,
        PointPlan::Rows(plan) => return read_rows(session, state, (prepared, plan), given, buffers, read),
        PointPlan::Aggregate(plan) => read_answers(session, state, (prepared, plan), given, buffers, read)?,
        _ => return Err(Miss::General),
    };
    Ok(last.and_then(ControlFlow::break_value))
}

/// A few rows; in an open transaction they are the general path's.
fn read_rows<R>(
    session: &Session,
    state: &SessionState,
    (prepared, plan): (&Prepared, &PointRows),
    given: &dyn Params,
    buffers: &mut Buffers,
    mut read: impl FnMut(RowRef<'_>) -> ControlFlow<R>,
) -> Result<Option<R>, Miss> {
    if state.transaction.is_some() {
        return Err(Miss::General);
    }
    let Buffers { rows, eval, fitted, uses, .. } = buffers;
    let storage = &mut session.storage.borrow_mut();
    let mut last = None;
    let each = |row: RowRef<'_>| {
        last = read(row).break_value();
        if last.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let fits = all_fit(given, &prepared.parameters);
    if fits && plan.is_plain() {
        plan.run(storage, prepared.schema_stamp(), Env::of_point(given, eval), (rows, uses), each)?;
        return Ok(last);
    }
    refresh(eval, state);
    fitted.clear();
    if !fits {
        fit(given, &prepared.parameters, eval, fitted)?;
    }
    let arguments = Arguments { given, fitted, drawn: &[] };
    plan.run(storage, prepared.schema_stamp(), Env::of_point(&arguments, eval), (rows, uses), each)?;
    Ok(last)
}

#[inline]
fn read_row<R>(
    session: &Session,
    state: &SessionState,
    (prepared, plan): (&Prepared, &PointSelect),
    given: &dyn Params,
    buffers: &mut Buffers,
    read: impl FnMut(RowRef<'_>) -> R,
) -> Result<Option<R>, Miss> {
    let Buffers { select, eval, fitted, uses, .. } = buffers;
    let stamp = prepared.schema_stamp();
    let run = |env: Env<'_>, buffers| match &state.transaction {
        None => plan.run(&mut session.storage.borrow_mut(), stamp, env, buffers, read),
        Some(open) => plan.run_in(open.tx.database().reader(), stamp, env, buffers, read),
    };
    let fits = all_fit(given, &prepared.parameters);
    if fits && plan.is_plain() {
        return run(Env::of_point(given, eval), (select, uses));
    }
    refresh(eval, state);
    fitted.clear();
    if !fits {
        fit(given, &prepared.parameters, eval, fitted)?;
    }
    let arguments = Arguments { given, fitted, drawn: &[] };
    run(Env::of_point(&arguments, eval), (select, uses))
}

/// Answers of few rows; in an open transaction they are the general path's.
fn read_answers<R>(
    session: &Session,
    state: &SessionState,
    (prepared, plan): (&Prepared, &PointAggregate),
    given: &dyn Params,
    buffers: &mut Buffers,
    mut read: impl FnMut(RowRef<'_>) -> R,
) -> Result<Option<R>, Miss> {
    if state.transaction.is_some() {
        return Err(Miss::General);
    }
    let Buffers { aggregate, eval, fitted, uses, .. } = buffers;
    refresh(eval, state);
    fitted.clear();
    if !all_fit(given, &prepared.parameters) {
        fit(given, &prepared.parameters, eval, fitted)?;
    }
    let arguments = Arguments { given, fitted, drawn: &[] };
    let storage = &mut session.storage.borrow_mut();
    let env = Env::of_point(&arguments, eval);
    let is_there = plan.run(storage, prepared.schema_stamp(), env, (aggregate, uses))?;
    Ok(is_there.then(|| read(RowRef::values(Row::new(prepared.fields(), &aggregate.outputs)))))
}

/// Runs a statement's point plan, which is a write, on its own or in the open transaction.
#[inline]
pub(crate) fn write(
    session: &Session,
    state: &SessionState,
    (prepared, point): (&Prepared, &PointPlan),
    (params, acknowledge): (&dyn Params, Acknowledge),
    buffers: &mut Buffers,
) -> Written {
    let is_plain = point.is_plain() && point.sequences().is_empty();
    if is_plain && point.notices_unfit() {
        let env = Env::of_point(params, &buffers.eval);
        let room = (&mut buffers.write, &mut buffers.uses);
        match run_point(session, state, (prepared, point), (env, acknowledge), room) {
            Err(Miss::Unfit) => {}
            written => return written,
        }
    }
    let fits = all_fit(params, &prepared.parameters);
    if fits && is_plain {
        let env = Env::of_point(params, &buffers.eval);
        let room = (&mut buffers.write, &mut buffers.uses);
        return run_point(session, state, (prepared, point), (env, acknowledge), room);
    }
    run_prepared_for(session, state, (prepared, point), (params, fits, acknowledge), buffers)
}

/// As [`run_point`], for a statement that computes, draws from sequences, or whose parameters need converting.
fn run_prepared_for(
    session: &Session,
    state: &SessionState,
    (prepared, point): (&Prepared, &PointPlan),
    (given, fits, acknowledge): (&dyn Params, bool, Acknowledge),
    buffers: &mut Buffers,
) -> Written {
    let Buffers { fitted, drawn, eval, write, uses, .. } = buffers;
    refresh(eval, state);
    fitted.clear();
    drawn.clear();
    let mut written = if fits { Ok(()) } else { fit(given, &prepared.parameters, eval, fitted) };
    written = written.and_then(|()| draw(session, point.sequences(), drawn));
    let written = written.and_then(|()| {
        let arguments = Arguments { given, fitted, drawn };
        let env = Env::of_point(&arguments, eval);
        run_point(session, state, (prepared, point), (env, acknowledge), (write, uses))
    });
    let used = match &written {
        // What conflicts was evaluated; a row that is not there was not.
        Ok((0, _)) => matches!(point, PointPlan::Insert(..)),
        written => written.is_ok(),
    };
    end_draw(session, point.sequences(), drawn, used);
    written
}

/// From the parameters to the tree.
fn run_point(
    session: &Session,
    state: &SessionState,
    (prepared, point): (&Prepared, &PointPlan),
    (env, acknowledge): (Env<'_>, Acknowledge),
    (buffers, uses): (&mut WriteBuffers, &mut SessionUses),
) -> Written {
    let mut storage = session.storage.borrow_mut();
    let place = match &state.transaction {
        None => Place::Alone(&mut storage, acknowledge),
        Some(open) => {
            open.note(prepared)?;
            Place::In(open.tx.database())
        }
    };
    let (stamp, shared) = (prepared.schema_stamp(), session.shared());
    let written = match point {
        PointPlan::Insert(plan, _) => plan.run(place, stamp, env, buffers, (&shared.store, &shared.row_numbers)),
        PointPlan::Update(plan, _) => plan.run(place, stamp, env, (buffers, uses)),
        PointPlan::Delete(plan) => plan.run(place, stamp, env, (buffers, uses)),
        PointPlan::Nothing => place.nothing(stamp),
        PointPlan::Select(_) | PointPlan::Rows(_) | PointPlan::Aggregate(_) => Err(Miss::General),
    };
    if let Ok((1.., Some(ticket))) = &written {
        session.committed.set(ticket.position());
    }
    written
}

/// What functions see of the session now.
fn refresh(eval: &mut EvalContext, state: &SessionState) {
    eval.statement_timestamp = clock_micros();
    eval.transaction_timestamp = state.transaction.as_ref().map_or(eval.statement_timestamp, |open| open.started);
    let same = |known: &Arc<dyn ShownSettings>| std::ptr::addr_eq(Arc::as_ptr(known), Arc::as_ptr(&state.settings));
    if !eval.settings.as_ref().is_some_and(same) {
        *eval = state.eval(eval.transaction_timestamp, eval.statement_timestamp);
    }
}

/// Draws a value from each of the sequences.
fn draw(session: &Session, sequences: &[Arc<Sequence>], drawn: &mut Vec<i64>) -> Result<(), Miss> {
    let shared = session.shared();
    for sequence in sequences {
        let tree = shared.trees.ok_or(Miss::General)?.sequences;
        let value = match session.storage.borrow().is_impatient() {
            true => shared.sequences.next_reserved(&shared.store, tree, sequence).or_else(|| {
                shared.handed_over.for_sequence.fetch_add(1, Ordering::Relaxed);
                None
            }),
            false => shared.sequences.next(&shared.store, tree, sequence).ok(),
        };
        drawn.push(value.ok_or(Miss::General)?);
    }
    Ok(())
}

/// The session remembers what was drawn; the values of a statement that changed nothing, or that the general path runs anew, go back, last first.
fn end_draw(session: &Session, sequences: &[Arc<Sequence>], drawn: &[i64], used: bool) {
    if drawn.is_empty() {
        return;
    }
    let drawn = sequences.iter().zip(drawn);
    if used {
        let mut drawn_last = session.sequences.lock();
        drawn.for_each(|(sequence, &value)| drawn_last.remember(sequence, value));
    } else {
        drawn.rev().for_each(|(sequence, &value)| session.shared().sequences.put_back(sequence, value));
    }
}

/// Appends a row to those so far; what can not be read is the end.
pub(crate) fn add_row(rows: &mut crate::Result<FewRows>, row: RowRef<'_>, width: usize) -> ControlFlow<()> {
    if let Ok(few) = rows
        && let Err(error) = few.push(width, |column| row.value(column))
    {
        *rows = Err(error);
    }
    if rows.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

/// The result of a point statement.
#[inline]
pub(crate) fn rows_of(statement: &Prepared, rows: FewRows) -> Rows {
    Rows::few(statement.planned(), statement.fields(), rows)
}
