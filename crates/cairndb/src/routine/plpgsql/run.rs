//! Runs a body: its control flow. What statements do is beside it.

mod assign;
mod cursor;
mod give;
mod message;
mod sql;
mod transaction;

use std::mem;
use std::ops::Deref;
use std::sync::Arc;

use super::PlPgSql;
use super::convert::converted;
use super::fragment::Fragment;
use super::frame::Frame;
use super::tree::{Block, Case, Condition, Handlers, Into, Kind, Loop, Over, Place, Statement, Step};
use crate::catalog::Routine;
use crate::columns::Batch;
use crate::exec::{Collected, ExecContext, RowStream, ScrolledRows};
use crate::plan::Field;
use crate::prepared::Prepared;
use crate::routine::StatementHost;
use crate::routine::transactions::{Control, Obstacle};
use crate::sync::Mutex;
use crate::types::{Array, DataType, Shape};
use crate::{Error, Result, SqlState, Value};

/// Where to go on.
enum Flow {
    Next,
    Exit(Option<String>),
    Continue(Option<String>),
    Return,
}

/// What a call gives.
#[derive(Debug)]
pub(super) enum Returned {
    Nothing,
    Value(Value),
    /// A row, or none.
    Row(Option<Vec<Value>>),
}

/// What one call of a body leaves to the next, so that it need not make it anew.
#[derive(Default)]
pub(crate) struct Room {
    frame: Option<Frame>,
    /// In which its statements ran: but for its parameters it is as it was.
    statement: Option<Box<ExecContext>>,
}

/// A statement and what it runs in.
type Ready = (Arc<Prepared>, Box<ExecContext>);

/// A query's rows.
enum Opened {
    All(Vec<Field>, std::vec::IntoIter<Vec<Value>>),
    /// `batch`: as of a stream.
    Collected {
        rows: Box<Collected>,
        batch: Option<(Batch, usize)>,
        fields: Vec<Field>,
    },
    /// `batch`: what is left of the batch that was read last, from this row on.
    Stream {
        stream: Box<RowStream>,
        batch: Option<(Batch, usize)>,
        fields: Vec<Field>,
    },
    /// Of a body that may end the transaction; the row that comes next, from 0.
    Held(Arc<Mutex<ScrolledRows>>, u64, Vec<Field>),
}

impl Opened {
    fn fields(&self) -> &[Field] {
        match self {
            Opened::All(fields, _)
            | Opened::Collected { fields, .. }
            | Opened::Stream { fields, .. }
            | Opened::Held(_, _, fields) => fields,
        }
    }

    fn next(&mut self) -> Result<Option<Vec<Value>>> {
        match self {
            Opened::All(_, rows) => Ok(rows.next()),
            Opened::Collected { rows, batch, fields } => {
                let types = || fields.iter().map(|field| field.data_type).collect::<Vec<_>>();
                next_of(batch, || rows.next_batch(&types()))
            }
            Opened::Stream { stream, batch, .. } => next_of(batch, || stream.next_batch()),
            Opened::Held(rows, at, _) => {
                *at += 1;
                rows.lock().row(*at - 1)
            }
        }
    }
}

/// The next row of what is read by batches: of the one that was read last, what is left from a row on, or of the next one.
fn next_of(
    batch: &mut Option<(Batch, usize)>,
    mut more: impl FnMut() -> Result<Option<Batch>>,
) -> Result<Option<Vec<Value>>> {
    loop {
        if let Some((rows, at)) = batch
            && *at < rows.len()
        {
            *at += 1;
            return Ok(Some(rows.row(*at - 1)));
        }
        *batch = more()?.map(|rows| (rows, 0));
        if batch.is_none() {
            return Ok(None);
        }
    }
}

/// What is lent by who calls, until the body has a newer one.
pub(super) enum Lent<'a, T: ?Sized> {
    Callers(&'a T),
    Own(Arc<T>),
}

impl<T: ?Sized> Deref for Lent<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Lent::Callers(lent) => lent,
            Lent::Own(own) => own,
        }
    }
}

/// A call that runs.
pub(super) struct Run<'a> {
    pub(super) code: &'a PlPgSql,
    pub(super) routine: &'a Routine,
    pub(super) host: Lent<'a, dyn StatementHost + 'a>,
    pub(super) context: Lent<'a, ExecContext>,
    /// By which it may end its transaction.
    pub(super) control: Option<Control<'a>>,
    pub(super) frame: Frame,
    statement: Option<Box<ExecContext>>,
    /// The types of the result's columns.
    pub(super) types: Vec<DataType>,
    /// Of the rows of a trigger's table.
    pub(super) shape: Option<Arc<Shape>>,
    /// Of RETURN NEXT and RETURN QUERY.
    pub(super) rows: Vec<Vec<Value>>,
    held: usize,
    pub(super) returned: Returned,
    row_count: u64,
    /// The line of the statement that runs.
    line: u32,
    /// Where it failed.
    pub(super) failed_at: Option<(u32, &'static str)>,
    /// It failed by the error that was being handled.
    again: bool,
    /// The errors that are being handled, the innermost last.
    handled: Vec<Error>,
}

fn error(code: &'static str, message: impl std::convert::Into<String>) -> Error {
    Error::new(SqlState(code), message)
}

/// An error of a statement in a body; where its place in the statement is told, that says enough.
pub(super) fn of_statement(error: Error, text: &str) -> Error {
    match error.position() {
        Some(_) => error,
        None => error.called_from(&format!("SQL statement \"{}\"", text.trim())),
    }
}

/// SQLSTATE 42804: a trigger returns another row than the table's.
fn not_of_table() -> Error {
    error("42804", "returned row structure does not match the structure of the triggering table")
}

impl<'a> Run<'a> {
    pub(super) fn new(
        code: &'a PlPgSql,
        routine: &'a Routine,
        (host, context): (&'a dyn StatementHost, &'a ExecContext),
        types: Vec<DataType>,
        room: Room,
    ) -> Run<'a> {
        Run {
            frame: room.frame.unwrap_or_else(|| Frame::new(&code.body.variables)),
            statement: room.statement,
            code,
            routine,
            host: Lent::Callers(host),
            context: Lent::Callers(context),
            control: None,
            types,
            shape: None,
            rows: Vec::new(),
            held: 0,
            returned: Returned::Nothing,
            row_count: 0,
            line: 0,
            failed_at: None,
            again: false,
            handled: Vec::new(),
        }
    }

    /// For the next call.
    pub(super) fn into_room(mut self) -> Room {
        self.frame.begin();
        Room { frame: Some(self.frame), statement: self.statement }
    }

    /// Runs the body; whether it came to a RETURN.
    pub(super) fn body(&mut self) -> Result<bool> {
        let code = self.code;
        match self.block(&code.body.block).map_err(|error| self.failure(error))? {
            Flow::Return => Ok(true),
            Flow::Next | Flow::Exit(_) => Ok(false),
            Flow::Continue(_) => Err(error("42601", "CONTINUE cannot be used outside a loop")),
        }
    }

    fn block(&mut self, block: &Block) -> Result<Flow> {
        for (variable, default) in &block.declares {
            if let Err(error) = self.begin(*variable, default.as_ref()) {
                let line = self.code.body.variables[*variable].line;
                self.failed_at.get_or_insert((line, "during statement block local variable initialization"));
                return Err(error);
            }
        }
        let flow = match &block.handlers {
            None => self.statements(&block.statements),
            Some(handlers) => self.guarded(block, handlers),
        }?;
        Ok(match flow {
            Flow::Exit(Some(label)) if block.label.as_ref() == Some(&label) => Flow::Next,
            flow => flow,
        })
    }

    /// A variable as it is when its block begins.
    fn begin(&mut self, variable: usize, default: Option<&Fragment>) -> Result<()> {
        match (&self.code.body.variables[variable].kind, default) {
            (_, Some(default)) => {
                let (value, data_type) = self.value(default)?;
                self.assign(&Place::Variable(variable), value, data_type)
            }
            (Kind::Value(_), None) => self.set(variable, Value::Null),
            (Kind::Row(_), None) => {
                self.frame.row_mut(variable)?.begin();
                Ok(())
            }
        }
    }

    /// A block with EXCEPTION: what it changed is undone where it fails.
    fn guarded(&mut self, block: &Block, handlers: &Handlers) -> Result<Flow> {
        let savepoint = self.host.savepoint()?;
        let done = self.behind(Some(Obstacle::Handler), |run| run.statements(&block.statements));
        let failed = match done {
            Ok(flow) => return Ok(flow),
            Err(failed) => failed,
        };
        let Some(statements) = handler_of(handlers, &failed) else { return Err(failed) };
        let failed = self.failure(failed);
        (self.failed_at, self.again) = (None, false);
        self.host.rollback_to(savepoint.as_ref())?;
        self.frame.set(handlers.state, Value::text(failed.sqlstate().0));
        self.frame.set(handlers.message, Value::text(failed.message()));
        self.handled.push(failed);
        let flow = self.statements(statements);
        self.handled.pop();
        flow
    }

    fn statements(&mut self, statements: &[Step]) -> Result<Flow> {
        for step in statements {
            self.line = step.line;
            match self.statement(&step.what) {
                Ok(Flow::Next) => {}
                Ok(flow) => return Ok(flow),
                Err(error) => {
                    self.failed_at.get_or_insert((step.line, step.what.name()));
                    return Err(error);
                }
            }
        }
        Ok(Flow::Next)
    }

    /// An error with where in this body it came from.
    pub(super) fn failure(&self, error: Error) -> Error {
        match self.again {
            true => error,
            false => error.called_from(&self.place(self.failed_at)),
        }
    }

    /// A place in the body, as PostgreSQL tells it.
    pub(super) fn place(&self, at: Option<(u32, &str)>) -> String {
        let types: Vec<&str> = self.routine.inputs().map(|input| input.type_name()).collect();
        let types = types.join(",");
        let arguments = if self.routine.id.0 == 0 { String::new() } else { format!("({types})") };
        let name = &self.routine.name;
        match at {
            Some((0, what)) => format!("PL/pgSQL function {name}{arguments} {what}"),
            Some((line, what)) if what.starts_with("during ") || what.starts_with("at ") => {
                format!("PL/pgSQL function {name}{arguments} line {line} {what}")
            }
            Some((line, what)) => format!("PL/pgSQL function {name}{arguments} line {line} at {what}"),
            None => format!("PL/pgSQL function {name}{arguments}"),
        }
    }

    fn value(&self, fragment: &Fragment) -> Result<(Value, DataType)> {
        fragment.value(&self.frame, &*self.host, &self.context)
    }

    fn is_true(&self, fragment: &Fragment) -> Result<bool> {
        fragment.is_true(&self.frame, &*self.host, &self.context)
    }

    fn statement(&mut self, what: &Statement) -> Result<Flow> {
        match what {
            Statement::Block(block) => return self.block(block),
            Statement::Assign(place, value) => {
                let (value, data_type) = self.value(value)?;
                self.assign(place, value, data_type)?;
            }
            Statement::If(branches, otherwise) => {
                for (condition, statements) in branches {
                    if self.is_true(condition)? {
                        return self.statements(statements);
                    }
                }
                return self.statements(otherwise);
            }
            Statement::Case(case) => return self.case(case),
            Statement::Loop(repeated) => return self.repeat(repeated),
            Statement::Leave(exit, label, when) => {
                if when.as_ref().map_or(Ok(true), |when| self.is_true(when))? {
                    return Ok(if *exit { Flow::Exit(label.clone()) } else { Flow::Continue(label.clone()) });
                }
            }
            Statement::Return(value) => return self.give(value.as_ref()),
            Statement::ReturnRow(variable) => {
                self.returned = self.row_of(*variable)?;
                return Ok(Flow::Return);
            }
            Statement::ReturnNext(value) => self.give_next(value.as_ref())?,
            Statement::ReturnNextRow(variable) => {
                let row = self.frame.row(*variable)?;
                let (values, shape) = (row.values.clone(), row.shape.clone());
                let shape = shape.ok_or_else(|| super::scope::unassigned(&self.code.body.variables[*variable].name))?;
                self.keep_row(values, &shape)?;
            }
            Statement::ReturnQuery(query) => {
                let ran = self.query(query, None)?;
                self.keep_rows(ran)?;
            }
            Statement::Run(query, into) => self.run(query, into.as_ref())?,
            Statement::Perform(fragment) => {
                let ran = self.fragment(fragment, None)?;
                self.found(ran.affected);
            }
            Statement::Raise(raise) => self.raise(raise)?,
            Statement::Assert(condition, message) => self.assert(condition, message.as_ref())?,
            Statement::Diagnostics(items) => self.diagnostics(items)?,
            Statement::Call(fragment) => self.call(fragment)?,
            Statement::End(ending) => self.end_transaction(*ending)?,
            Statement::Open(variable, opening) => self.open_cursor(*variable, opening)?,
            Statement::Fetch(variable, way, into) => self.fetch(*variable, way, into.as_ref())?,
            Statement::Close(variable) => self.close_cursor(*variable)?,
            Statement::Null => {}
        }
        Ok(Flow::Next)
    }

    /// Rows that a statement found or changed.
    fn found(&mut self, count: u64) {
        self.row_count = count;
        self.frame.set(self.code.found, Value::Boolean(count > 0));
    }

    fn case(&mut self, case: &Case) -> Result<Flow> {
        if let Some((variable, operand)) = &case.operand {
            let (value, data_type) = self.value(operand)?;
            let shape = Arc::new(Shape(vec![("value".to_owned(), data_type)], None));
            let row = self.frame.row_mut(*variable)?;
            (row.shape, row.values, row.is_null) = (Some(shape), vec![value], false);
        }
        for (condition, statements) in &case.whens {
            if self.is_true(condition)? {
                return self.statements(statements);
            }
        }
        match &case.otherwise {
            Some(otherwise) => self.statements(otherwise),
            None => Err(error("20000", "case not found").with_hint("CASE statement is missing ELSE part.")),
        }
    }

    /// Runs a loop's statements once more; `Some`: the loop is over.
    fn round(&mut self, repeated: &Loop) -> Result<Option<Flow>> {
        self.context.check()?;
        let is_own = |label: &Option<String>| label.is_none() || *label == repeated.label;
        Ok(match self.statements(&repeated.statements)? {
            Flow::Next => None,
            Flow::Continue(label) if is_own(&label) => None,
            Flow::Exit(label) if is_own(&label) => Some(Flow::Next),
            flow => Some(flow),
        })
    }

    fn repeat(&mut self, repeated: &Loop) -> Result<Flow> {
        match &repeated.over {
            Over::Forever => loop {
                if let Some(flow) = self.round(repeated)? {
                    return Ok(flow);
                }
            },
            Over::While(condition) => {
                while self.is_true(condition)? {
                    if let Some(flow) = self.round(repeated)? {
                        return Ok(flow);
                    }
                }
                Ok(Flow::Next)
            }
            Over::Range { variable, from, to, step, reverse } => {
                let bound = |run: &Self, fragment: &Fragment, what: &str| run.integer(fragment, what);
                let from = bound(self, from, "lower bound")?;
                let to = bound(self, to, "upper bound")?;
                let step = step.as_ref().map_or(Ok(1), |step| bound(self, step, "BY value"))?;
                if step <= 0 {
                    return Err(error("22023", "BY value of FOR loop must be greater than zero"));
                }
                self.range(repeated, *variable, (from, to, if *reverse { -step } else { step }))
            }
            Over::Query(into, query) => {
                let (mut rows, changes) = self.open(query)?;
                let obstacle = changes.then_some(Obstacle::Changes);
                self.behind(obstacle, |run| run.over_rows(repeated, into, &mut rows))
            }
            Over::Cursor(row, variable, args) => self.over_cursor(repeated, (*row, *variable), args),
            Over::Array(place, slice, array) => {
                let (value, data_type) = self.value(array)?;
                let Some(element) = data_type.element() else {
                    let message = format!("FOREACH expression must yield an array, not type {}", data_type.type_name());
                    return Err(error("42804", message));
                };
                let Value::Array(array) = value else {
                    return Err(error("22004", "FOREACH expression must not be null"));
                };
                if *slice > array.dimensions().len() {
                    let message =
                        format!("slice dimension ({slice}) is out of the valid range 0..{}", array.dimensions().len());
                    return Err(error("2202E", message));
                }
                let is_array = match place {
                    Place::Variable(variable) => match &self.code.body.variables[*variable].kind {
                        Kind::Value(data_type) => data_type.element().is_some(),
                        Kind::Row(_) => false,
                    },
                    _ => *slice > 0,
                };
                match (*slice > 0, is_array) {
                    (true, false) => {
                        return Err(error("42804", "FOREACH ... SLICE loop variable must be of an array type"));
                    }
                    (false, true) => {
                        return Err(error("42804", "FOREACH loop variable must not be of an array type"));
                    }
                    _ => {}
                }
                let mut found = false;
                for value in slices(&array, *slice)? {
                    found = true;
                    let of = if *slice > 0 { data_type } else { element };
                    self.assign(place, value, of)?;
                    if let Some(flow) = self.round(repeated)? {
                        self.frame.set(self.code.found, Value::Boolean(true));
                        return Ok(flow);
                    }
                }
                self.frame.set(self.code.found, Value::Boolean(found));
                Ok(Flow::Next)
            }
        }
    }

    fn over_rows(&mut self, repeated: &Loop, into: &Into, rows: &mut Opened) -> Result<Flow> {
        let shape = shape_of(rows.fields());
        let mut found = false;
        let over = loop {
            let Some(row) = rows.next()? else { break None };
            found = true;
            self.put(into, Some(row), &shape)?;
            if let Some(flow) = self.round(repeated)? {
                break Some(flow);
            }
        };
        if !found {
            self.put(into, None, &shape)?;
        }
        self.frame.set(self.code.found, Value::Boolean(found));
        Ok(over.unwrap_or(Flow::Next))
    }

    fn range(&mut self, repeated: &Loop, variable: usize, (from, to, step): (i32, i32, i32)) -> Result<Flow> {
        let (mut at, mut found) = (from, false);
        let over = loop {
            if if step > 0 { at > to } else { at < to } {
                break None;
            }
            found = true;
            self.frame.set(variable, Value::Integer(at));
            if let Some(flow) = self.round(repeated)? {
                break Some(flow);
            }
            let Some(next) = at.checked_add(step) else { break None };
            at = next;
        };
        self.frame.set(self.code.found, Value::Boolean(found));
        Ok(over.unwrap_or(Flow::Next))
    }

    fn integer(&self, fragment: &Fragment, what: &str) -> Result<i32> {
        let (value, data_type) = self.value(fragment)?;
        match converted(value, data_type, DataType::Integer, &self.context.eval)? {
            Value::Integer(value) => Ok(value),
            _ => Err(error("22004", format!("{what} of FOR loop cannot be null"))),
        }
    }

    /// What the call gave.
    pub(super) fn take_returned(&mut self) -> Returned {
        mem::replace(&mut self.returned, Returned::Nothing)
    }
}

/// The parts of an array over its last so many dimensions; 0: its elements.
fn slices(array: &Array, slice: usize) -> Result<Vec<Value>> {
    if slice == 0 {
        return Ok(array.values().to_vec());
    }
    let (dimensions, values) = (array.dimensions(), array.values());
    let inner = &dimensions[dimensions.len() - slice..];
    let width: usize = inner.iter().map(|dimension| dimension.length).product();
    let part = |values: &[Value]| Ok(Array::with_dimensions(array.element(), inner, values.to_vec())?.into());
    values.chunks(width.max(1)).map(part).collect()
}

pub(super) fn shape_of(fields: &[Field]) -> Arc<Shape> {
    Arc::new(Shape(fields.iter().map(|field| (field.name.clone(), field.data_type)).collect(), None))
}

/// The handler of an error. Whoever stops a statement stops it.
fn handler_of<'h>(handlers: &'h Handlers, failed: &Error) -> Option<&'h [Step]> {
    let code = failed.sqlstate();
    if matches!(code, SqlState::TRANSACTION_TIMEOUT | SqlState::TRANSACTION_RESOLUTION_UNKNOWN) {
        return None;
    }
    let is_meant = |condition: &Condition| match condition {
        Condition::Others => code != SqlState::QUERY_CANCELED && code.0 != "P0004",
        Condition::Code(wanted) if wanted.ends_with("000") => code.0.starts_with(&wanted[..2]),
        Condition::Code(wanted) => code.0 == wanted,
    };
    let found = handlers.all.iter().find(|(conditions, _)| conditions.iter().any(is_meant));
    found.map(|(_, statements)| statements.as_slice())
}
