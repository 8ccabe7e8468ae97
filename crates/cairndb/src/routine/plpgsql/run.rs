//! Runs a body.

use std::mem;
use std::sync::Arc;

use super::convert::{converted, shown};
use super::fragment::Fragment;
use super::frame::Frame;
use super::scope::Source;
use super::tree::{
    Block, Case, Condition, Handlers, Into, Item, Kind, Level, Loop, Over, Place, Query, Raise, RaiseOption, Shape,
    Statement,
};
use super::{Dynamic, PlPgSql};
use crate::api::{Notice, Prepared, Ran, Runner};
use crate::catalog::{Returns, Routine, RoutineKind};
use crate::exec::{Batch, ExecContext, RowStream};
use crate::plan::Field;
use crate::routine::Variables;
use crate::sql::parse_one;
use crate::types::{Array, Composite, DataType};
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
    /// `batch`: what is left of the batch that was read last, from this row on.
    Stream {
        stream: Box<RowStream>,
        batch: Option<(Batch, usize)>,
        fields: Vec<Field>,
    },
}

impl Opened {
    fn fields(&self) -> &[Field] {
        match self {
            Opened::All(fields, _) | Opened::Stream { fields, .. } => fields,
        }
    }

    fn next(&mut self) -> Result<Option<Vec<Value>>> {
        let Opened::Stream { stream, batch, .. } = self else {
            let Opened::All(_, rows) = self else { return Ok(None) };
            return Ok(rows.next());
        };
        loop {
            if let Some((rows, at)) = batch
                && *at < rows.len()
            {
                *at += 1;
                return Ok(Some(rows.row(*at - 1)));
            }
            *batch = stream.next_batch()?.map(|rows| (rows, 0));
            if batch.is_none() {
                return Ok(None);
            }
        }
    }
}

/// A call that runs.
pub(super) struct Run<'a> {
    pub(super) code: &'a PlPgSql,
    pub(super) routine: &'a Routine,
    pub(super) runner: &'a Runner,
    pub(super) context: &'a ExecContext,
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
    /// The errors that are being handled, the innermost last.
    handled: Vec<Error>,
}

fn error(code: &'static str, message: impl std::convert::Into<String>) -> Error {
    Error::new(SqlState(code), message)
}

/// SQLSTATE 42804: a trigger returns another row than the table's.
fn not_of_table() -> Error {
    error("42804", "returned row structure does not match the structure of the triggering table")
}

impl<'a> Run<'a> {
    pub(super) fn new(
        code: &'a PlPgSql,
        routine: &'a Routine,
        (runner, context): (&'a Runner, &'a ExecContext),
        types: Vec<DataType>,
        room: Room,
    ) -> Run<'a> {
        Run {
            frame: room.frame.unwrap_or_else(|| Frame::new(&code.body.variables)),
            statement: room.statement,
            code,
            routine,
            runner,
            context,
            types,
            shape: None,
            rows: Vec::new(),
            held: 0,
            returned: Returned::Nothing,
            row_count: 0,
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
        match self.block(&code.body.block)? {
            Flow::Return => Ok(true),
            Flow::Next | Flow::Exit(_) => Ok(false),
            Flow::Continue(_) => Err(error("42601", "CONTINUE cannot be used outside a loop")),
        }
    }

    fn block(&mut self, block: &Block) -> Result<Flow> {
        for (variable, default) in &block.declares {
            self.begin(*variable, default.as_ref())?;
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
            (Kind::Value(_), None) => {
                self.frame.set(variable, Value::Null);
                Ok(())
            }
            (Kind::Row(_), None) => {
                self.frame.row_mut(variable)?.begin();
                Ok(())
            }
        }
    }

    /// A block with EXCEPTION: what it changed is undone where it fails.
    fn guarded(&mut self, block: &Block, handlers: &Handlers) -> Result<Flow> {
        let savepoint = self.runner.savepoint()?;
        let failed = match self.statements(&block.statements) {
            Ok(flow) => return Ok(flow),
            Err(failed) => failed,
        };
        let Some(statements) = handler_of(handlers, &failed) else { return Err(failed) };
        self.runner.rollback_to(savepoint.as_ref())?;
        self.frame.set(handlers.state, Value::text(failed.sqlstate().0));
        self.frame.set(handlers.message, Value::text(failed.message()));
        self.handled.push(failed);
        let flow = self.statements(statements);
        self.handled.pop();
        flow
    }

    fn statements(&mut self, statements: &[Statement]) -> Result<Flow> {
        for statement in statements {
            match self.statement(statement)? {
                Flow::Next => {}
                flow => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    }

    fn value(&self, fragment: &Fragment) -> Result<(Value, DataType)> {
        fragment.value(&self.frame, self.runner, self.context)
    }

    fn is_true(&self, fragment: &Fragment) -> Result<bool> {
        fragment.is_true(&self.frame, self.runner, self.context)
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
            Statement::Call(fragment) => {
                let ran = self.fragment(fragment, None)?;
                if !ran.fields.iter().all(|field| field.name.is_empty()) {
                    return Err(Error::unsupported("CALL of a procedure with OUT parameters in PL/pgSQL"));
                }
            }
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
                let mut rows = self.open(query)?;
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

    // What a call gives.

    fn give(&mut self, value: Option<&Fragment>) -> Result<Flow> {
        match value {
            None if self.routine.set || self.routine.returns == Returns::Void => {}
            None if self.routine.outputs().next().is_some() || self.routine.kind == RoutineKind::Procedure => {}
            None => return Err(error("42601", "missing expression at or near \";\"")),
            Some(_) if self.routine.returns == Returns::Void => {
                let message = match self.routine.kind {
                    RoutineKind::Procedure => "RETURN cannot have a parameter in a procedure",
                    RoutineKind::Function => "RETURN cannot have a parameter in function returning void",
                };
                return Err(error("42804", message));
            }
            Some(_) if self.routine.set => {
                let message = "RETURN cannot have a parameter in function returning set";
                return Err(error("42804", message).with_hint("Use RETURN NEXT or RETURN QUERY."));
            }
            Some(_) if self.routine.outputs().next().is_some() => {
                return Err(error("42804", "RETURN cannot have a parameter in function with OUT parameters"));
            }
            Some(value) => {
                let (value, data_type) = self.value(value)?;
                self.returned = match self.routine.returns {
                    _ if self.gives_rows() && value.as_composite().is_some() => {
                        Returned::Row(value.as_composite().map(|row| self.columns_of(row)).transpose()?)
                    }
                    Returns::Type(to) if !self.gives_rows() => {
                        Returned::Value(converted(value, data_type, to, &self.context.eval)?)
                    }
                    _ if value.is_null() => Returned::Row(None),
                    _ => {
                        let message = "cannot return non-composite value from function returning composite type";
                        return Err(error("42804", message));
                    }
                };
            }
        }
        Ok(Flow::Return)
    }

    fn row_of(&mut self, variable: usize) -> Result<Returned> {
        let row = self.frame.row(variable)?;
        let is_other = |wanted: &Arc<Shape>| {
            row.shape.as_ref().is_some_and(|shape| !Arc::ptr_eq(shape, wanted) && shape.0 != wanted.0)
        };
        if self.shape.as_ref().is_some_and(is_other) {
            return Err(not_of_table());
        }
        if !self.gives_rows() {
            return Err(error("42804", "cannot return a row from a function that returns a value"));
        }
        if self.shape.is_some() {
            // Nobody asks the variable any more.
            let row = self.frame.row_mut(variable)?;
            return Ok(Returned::Row((!row.is_null).then(|| mem::take(&mut row.values))));
        }
        let types: Vec<DataType> = row.shape.iter().flat_map(|shape| &shape.0).map(|(_, of)| *of).collect();
        Ok(Returned::Row((!row.is_null).then(|| self.cast_row(row.values.clone(), &types)).transpose()?))
    }

    /// What it gives are rows.
    fn gives_rows(&self) -> bool {
        match self.routine.returns {
            Returns::Type(of) => matches!(of, DataType::Composite(_)) && !self.routine.is_output(),
            _ => true,
        }
    }

    /// A row as the result has it.
    fn cast_row(&self, values: Vec<Value>, given: &[DataType]) -> Result<Vec<Value>> {
        if given.len() != self.types.len() {
            let detail = format!(
                "Number of returned columns ({}) does not match expected column count ({}).",
                given.len(),
                self.types.len()
            );
            let message = "returned record type does not match expected record type";
            return Err(error("42804", message).with_detail(detail));
        }
        let each = values.into_iter().zip(given).zip(&self.types);
        each.map(|((value, from), to)| converted(value, *from, *to, &self.context.eval)).collect()
    }

    /// The columns of a row that is a value.
    fn columns_of(&self, row: &Composite) -> Result<Vec<Value>> {
        let types: Vec<DataType> = row.typed().map(|(data_type, _)| data_type).collect();
        if let Some(shape) = &self.shape {
            let wanted = shape.0.iter().map(|(_, data_type)| data_type.base());
            return match wanted.eq(types.iter().map(|data_type| data_type.base())) {
                true => Ok(row.values().to_vec()),
                false => Err(not_of_table()),
            };
        }
        self.cast_row(row.values().to_vec(), &types)
    }

    fn give_next(&mut self, value: Option<&Fragment>) -> Result<()> {
        if !self.routine.set {
            return Err(error("42804", "cannot use RETURN NEXT in a non-SETOF function"));
        }
        let row = match value {
            None => self.code.outputs.iter().map(|output| self.frame.whole(*output)).collect::<Result<_>>()?,
            Some(value) => {
                let (value, data_type) = self.value(value)?;
                if let (true, Some(row)) = (self.gives_rows(), value.as_composite()) {
                    let row = self.columns_of(row)?;
                    return self.keep(row);
                }
                let [to] = self.types.as_slice() else {
                    return Err(error("42804", "wrong result type supplied in RETURN NEXT"));
                };
                vec![converted(value, data_type, *to, &self.context.eval)?]
            }
        };
        self.keep(row)
    }

    fn keep(&mut self, row: Vec<Value>) -> Result<()> {
        self.held += row.len() * size_of::<Value>() + size_of::<Vec<Value>>();
        if self.held > self.context.memory_budget {
            return Err(Error::new(SqlState::OUT_OF_MEMORY, "out of memory"));
        }
        self.rows.push(row);
        Ok(())
    }

    fn keep_row(&mut self, values: Vec<Value>, shape: &Shape) -> Result<()> {
        if !self.routine.set {
            return Err(error("42804", "cannot use RETURN NEXT in a non-SETOF function"));
        }
        let given: Vec<DataType> = shape.0.iter().map(|(_, data_type)| *data_type).collect();
        let row = self.fitted(values, &given)?;
        self.keep(row)
    }

    fn fitted(&self, values: Vec<Value>, given: &[DataType]) -> Result<Vec<Value>> {
        if given.len() != self.types.len() {
            let detail = format!(
                "Number of returned columns ({}) does not match expected column count ({}).",
                given.len(),
                self.types.len()
            );
            return Err(error("42804", "structure of query does not match function result type").with_detail(detail));
        }
        let types = given.iter().zip(&self.types).enumerate();
        for (at, (given, wanted)) in types {
            if given.base() != wanted.base() {
                let detail = format!(
                    "Returned type {} does not match expected type {} in column {}.",
                    given.type_name(),
                    wanted.type_name(),
                    at + 1
                );
                let message = "structure of query does not match function result type";
                return Err(error("42804", message).with_detail(detail));
            }
        }
        Ok(values)
    }

    fn keep_rows(&mut self, ran: Ran) -> Result<()> {
        if !self.routine.set {
            return Err(error("42804", "cannot use RETURN QUERY in a non-SETOF function"));
        }
        let given: Vec<DataType> = ran.fields.iter().map(|field| field.data_type).collect();
        self.found(ran.rows.len() as u64);
        if ran.rows.is_empty() {
            return self.fitted(vec![], &given).map(drop);
        }
        for row in ran.rows {
            let row = self.fitted(row, &given)?;
            self.keep(row)?;
        }
        Ok(())
    }

    // Statements of SQL.

    fn fragment(&mut self, fragment: &Fragment, limit: Option<usize>) -> Result<Ran> {
        let ready = self.ready(fragment)?;
        self.run_ready(ready, limit)
    }

    fn run_ready(&mut self, (prepared, context): Ready, limit: Option<usize>) -> Result<Ran> {
        let ran = self.runner.run_prepared(&prepared, &context, limit);
        self.statement = Some(context);
        ran
    }

    fn ready(&mut self, fragment: &Fragment) -> Result<Ready> {
        self.context.check()?;
        let bound = fragment.bound(&self.frame, self.runner)?;
        Ok((bound.prepared.clone(), self.with_parameters(&bound.sources)?))
    }

    /// For a statement with these parameters.
    fn with_parameters(&mut self, sources: &[Source]) -> Result<Box<ExecContext>> {
        let mut context = self.statement.take().unwrap_or_else(|| Box::new(self.context.clone()));
        match Arc::get_mut(&mut context.parameters).filter(|known| known.len() == sources.len()) {
            Some(known) => {
                for (value, source) in known.iter_mut().zip(sources) {
                    value.clone_from(self.frame.get(source)?);
                }
            }
            None => context.parameters = self.frame.parameters(sources)?.into(),
        }
        Ok(context)
    }

    fn query(&mut self, query: &Query, limit: Option<usize>) -> Result<Ran> {
        let ready = self.ready_query(query)?;
        self.run_ready(ready, limit)
    }

    /// The rows of a query, read as they are asked for where they may be many.
    fn open(&mut self, query: &Query) -> Result<Opened> {
        let ready = self.ready_query(query)?;
        if let Some(stream) = self.runner.stream(&ready.0, &ready.1, self.routine)? {
            return Ok(Opened::Stream { stream: Box::new(stream), batch: None, fields: ready.0.fields().to_vec() });
        }
        let ran = self.run_ready(ready, None)?;
        Ok(Opened::All(ran.fields, ran.rows.into_iter()))
    }

    fn ready_query(&mut self, query: &Query) -> Result<Ready> {
        let (text, using) = match query {
            Query::Plain(fragment) => return self.ready(fragment),
            Query::Dynamic(text, using) => (text, using),
        };
        let (text, _) = self.value(text)?;
        if text.is_null() {
            return Err(error("22004", "query string argument of EXECUTE is null"));
        }
        let text = shown(&text, &self.context.eval);
        let (mut values, mut types) = (Vec::new(), Vec::new());
        for argument in using {
            let (value, data_type) = self.value(argument)?;
            values.push(value);
            types.push(data_type);
        }
        self.context.check()?;
        let tables = self.frame.tables.clone();
        let rows = tables.iter().flat_map(|tables| tables.variables);
        values.extend(rows.map(|variable| self.frame.value(variable).clone()));
        let variables: Arc<dyn Variables> = Arc::new(Dynamic(types, tables));
        let prepared = self.runner.prepare(&Arc::new(parse_one(&text)?), &variables)?;
        Ok((prepared, Box::new(ExecContext { parameters: values.into(), ..self.context.clone() })))
    }

    fn run(&mut self, query: &Query, into: Option<&Into>) -> Result<()> {
        let is_dynamic = matches!(query, Query::Dynamic(..));
        // One more than is wanted tells whether there are more.
        let limit = into.map(|into| if into.strict { 2 } else { 1 });
        let ran = self.query(query, limit)?;
        match into {
            None if !ran.fields.is_empty() && !is_dynamic => {
                let error = error("42601", "query has no destination for result data");
                let hint = "If you want to discard the results of a SELECT, use PERFORM instead.";
                return Err(if ran.changes { error } else { error.with_hint(hint) });
            }
            None => {}
            Some(into) => {
                if ran.fields.is_empty() {
                    return Err(error("42601", "INTO used with a command that cannot return data"));
                }
                if ran.rows.len() > 1 && (into.strict || ran.changes) {
                    let hint = "Make sure the query returns a single row, or use LIMIT 1.";
                    return Err(error("P0003", "query returned more than one row").with_hint(hint));
                }
                if ran.rows.is_empty() && into.strict {
                    return Err(error("P0002", "query returned no rows"));
                }
                let shape = shape_of(&ran.fields);
                self.put(into, ran.rows.into_iter().next(), &shape)?;
            }
        }
        match is_dynamic {
            true => self.row_count = ran.affected,
            false if ran.counts => self.found(ran.affected),
            false => {}
        }
        Ok(())
    }

    // Assignments.

    /// A row of a query goes to its places; without one they become NULL.
    fn put(&mut self, into: &Into, row: Option<Vec<Value>>, shape: &Arc<Shape>) -> Result<()> {
        if let [Place::Variable(variable)] = into.places.as_slice()
            && matches!(self.code.body.variables[*variable].kind, Kind::Row(_))
        {
            return self.put_row(*variable, row, shape);
        }
        let mut values = row.unwrap_or_default().into_iter();
        for (at, place) in into.places.iter().enumerate() {
            let data_type = shape.0.get(at).map_or(DataType::Text, |(_, data_type)| *data_type);
            self.assign(place, values.next().unwrap_or(Value::Null), data_type)?;
        }
        Ok(())
    }

    fn put_row(&mut self, variable: usize, row: Option<Vec<Value>>, shape: &Arc<Shape>) -> Result<()> {
        let fixed = match &self.code.body.variables[variable].kind {
            Kind::Row(fixed) => fixed.clone(),
            Kind::Value(_) => None,
        };
        let is_null = row.is_none();
        let mut values = row.unwrap_or_else(|| vec![Value::Null; shape.0.len()]);
        let Some(fixed) = fixed else {
            let row = self.frame.row_mut(variable)?;
            (row.shape, row.values, row.is_null) = (Some(shape.clone()), values, is_null);
            return Ok(());
        };
        values.resize(fixed.0.len(), Value::Null);
        let mut fitted = Vec::with_capacity(values.len());
        for (at, (value, (_, to))) in values.into_iter().zip(&fixed.0).enumerate() {
            let from = shape.0.get(at).map_or(*to, |(_, from)| *from);
            fitted.push(converted(value, from, *to, &self.context.eval)?);
        }
        let row = self.frame.row_mut(variable)?;
        (row.shape, row.values, row.is_null) = (Some(fixed), fitted, is_null);
        Ok(())
    }

    fn assign(&mut self, place: &Place, value: Value, from: DataType) -> Result<()> {
        let eval = &self.context.eval;
        match place {
            Place::Variable(variable) => {
                let declared = &self.code.body.variables[*variable];
                let Kind::Value(to) = declared.kind else {
                    if let Value::Composite(row) = &value {
                        let shape = Arc::new(Shape::of(row.of()));
                        return self.put_row(*variable, Some(row.values().to_vec()), &shape);
                    }
                    if value.is_null() {
                        let shape = self.frame.row(*variable)?.shape.clone().unwrap_or_default();
                        return self.put_row(*variable, None, &shape);
                    }
                    return Err(error("42804", "cannot assign non-composite value to a record variable"));
                };
                let value = converted(value, from, to, eval)?;
                if declared.not_null && value.is_null() {
                    let message =
                        format!("null value cannot be assigned to variable \"{}\" declared NOT NULL", declared.name);
                    return Err(error("22004", message));
                }
                self.frame.set(*variable, value);
            }
            Place::Field(variable, field) => {
                let (at, to) = self.field(*variable, field)?;
                let value = converted(value, from, to, eval)?;
                let row = self.frame.row_mut(*variable)?;
                row.values[at] = value;
                row.is_null = false;
            }
            Place::Element(place, subscripts) => self.assign_element(place, subscripts, value, from)?,
        }
        Ok(())
    }

    fn field(&self, variable: usize, field: &str) -> Result<(usize, DataType)> {
        let name = &self.code.body.variables[variable].name;
        let shape = self.frame.row(variable)?.shape.clone().ok_or_else(|| super::scope::unassigned(name))?;
        let at = shape.0.iter().position(|(known, _)| known == field);
        let at = at.ok_or_else(|| super::scope::no_field(name, field))?;
        Ok((at, shape.0[at].1))
    }

    fn assign_element(&mut self, place: &Place, subscripts: &[Fragment], value: Value, from: DataType) -> Result<()> {
        let (before, data_type) = match place {
            Place::Variable(variable) => match self.code.body.variables[*variable].kind {
                Kind::Value(data_type) => (self.frame.value(*variable).clone(), data_type),
                Kind::Row(_) => return Err(error("42804", "a row has no elements")),
            },
            Place::Field(variable, field) => {
                let (at, data_type) = self.field(*variable, field)?;
                (self.frame.row(*variable)?.values[at].clone(), data_type)
            }
            Place::Element(..) => return Err(Error::internal("an element of an element")),
        };
        let Some(element) = data_type.element() else {
            let message =
                format!("cannot subscript type {} because it does not support subscripting", data_type.type_name());
            return Err(error("42804", message));
        };
        let mut args = vec![before, converted(value, from, element, &self.context.eval)?];
        for subscript in subscripts {
            let (value, from) = self.value(subscript)?;
            args.push(converted(value, from, DataType::Integer, &self.context.eval)?);
        }
        let function = crate::functions::arrays::with_element(data_type, subscripts.len());
        let function = function.ok_or_else(|| Error::internal("an array's element"))?;
        let array = function.call(&args, &self.context.eval)?;
        self.assign(place, array, data_type)
    }

    // Messages.

    fn raise(&mut self, raise: &Raise) -> Result<()> {
        let Some(level) = raise.level else {
            let again = self.handled.last().cloned();
            let outside = "RAISE without parameters cannot be used outside an exception handler";
            return Err(again.unwrap_or_else(|| error("0Z002", outside)));
        };
        let mut message = match &raise.format {
            Some((format, args)) => Some(self.formatted(format, args)?),
            None => None,
        };
        let (mut code, mut detail, mut hint, mut constraint) = (raise.code.clone(), None, None, None);
        for (option, value) in &raise.options {
            let (value, _) = self.value(value)?;
            if value.is_null() {
                return Err(error("22004", "RAISE statement option cannot be null"));
            }
            let text = shown(&value, &self.context.eval);
            match option {
                RaiseOption::Code => code = Some(code_or_condition(&text)?),
                RaiseOption::Message if message.is_some() => {
                    return Err(error("42601", "RAISE option already specified: MESSAGE"));
                }
                RaiseOption::Message => message = Some(text),
                RaiseOption::Detail => detail = Some(text),
                RaiseOption::Hint => hint = Some(text),
                RaiseOption::Constraint => constraint = Some(text),
                RaiseOption::Other => {}
            }
        }
        let is_error = level == Level::Exception;
        let default = if is_error { "P0001" } else { "00000" };
        let message = message.or_else(|| raise.condition.clone()).or_else(|| code.clone());
        let message = message.unwrap_or_else(|| "unhandled exception".to_owned());
        let code = SqlState::interned(code.as_deref().unwrap_or(default));
        if !is_error {
            let severity = match level {
                Level::Warning => "WARNING",
                Level::Info => "INFO",
                Level::Notice => "NOTICE",
                // Nobody is told of those unless he asks.
                Level::Debug | Level::Log | Level::Exception => return Ok(()),
            };
            self.runner.notice(Notice { severity, code, message, detail });
            return Ok(());
        }
        let mut raised = Error::new(code, message);
        if let Some(detail) = detail {
            raised = raised.with_detail(detail);
        }
        if let Some(hint) = hint {
            raised = raised.with_hint(hint);
        }
        if let Some(constraint) = constraint {
            raised = raised.with_constraint(constraint);
        }
        Err(raised)
    }

    fn formatted(&self, format: &str, args: &[Fragment]) -> Result<String> {
        let (mut text, mut args, mut rest) = (String::new(), args.iter(), format);
        while let Some(at) = rest.find('%') {
            text.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            if let Some(behind) = rest.strip_prefix('%') {
                text.push('%');
                rest = behind;
                continue;
            }
            let Some(argument) = args.next() else { return Err(Error::internal("RAISE lacks a value")) };
            let (value, _) = self.value(argument)?;
            match value.is_null() {
                true => text.push_str("<NULL>"),
                false => text.push_str(&shown(&value, &self.context.eval)),
            }
        }
        text.push_str(rest);
        Ok(text)
    }

    fn assert(&self, condition: &Fragment, message: Option<&Fragment>) -> Result<()> {
        let (value, _) = self.value(condition)?;
        if value == Value::Boolean(true) {
            return Ok(());
        }
        let said = match message {
            Some(message) => {
                let (value, _) = self.value(message)?;
                if value.is_null() { None } else { Some(shown(&value, &self.context.eval)) }
            }
            None => None,
        };
        Err(error("P0004", said.unwrap_or_else(|| "assertion failed".to_owned())))
    }

    fn diagnostics(&mut self, items: &[(Place, Item)]) -> Result<()> {
        for (place, item) in items {
            if let (Item::RowCount, count) = (item, self.row_count) {
                self.assign(place, Value::BigInt(count.cast_signed()), DataType::BigInt)?;
                continue;
            }
            if *item == Item::Context {
                self.assign(place, Value::text(""), DataType::Text)?;
                continue;
            }
            let outside = "GET STACKED DIAGNOSTICS cannot be used outside an exception handler";
            let handled = self.handled.last().ok_or_else(|| error("0Z002", outside))?;
            let text = match item {
                Item::ReturnedState => handled.sqlstate().0,
                Item::MessageText => handled.message(),
                Item::Detail => handled.detail().unwrap_or_default(),
                Item::Hint => handled.hint().unwrap_or_default(),
                _ => handled.constraint().unwrap_or_default(),
            };
            let text = Value::text(text);
            self.assign(place, text, DataType::Text)?;
        }
        Ok(())
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

fn code_or_condition(text: &str) -> Result<String> {
    let is_code = text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    match super::conditions::code_of(text) {
        _ if is_code => Ok(text.to_owned()),
        Some(code) => Ok(code.to_owned()),
        None => Err(error("42704", format!("unrecognized exception condition \"{text}\""))),
    }
}

pub(super) fn shape_of(fields: &[Field]) -> Arc<Shape> {
    Arc::new(Shape(fields.iter().map(|field| (field.name.clone(), field.data_type)).collect(), None))
}

/// The handler of an error. Whoever stops a statement stops it.
fn handler_of<'h>(handlers: &'h Handlers, failed: &Error) -> Option<&'h [Statement]> {
    let code = failed.sqlstate();
    if matches!(code, SqlState::TRANSACTION_TIMEOUT | SqlState("08007")) {
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
