//! COPY from and to the client: bytes that the caller gives and takes.

mod shape;

use std::borrow::Cow;
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::Arc;

use cairn_parser::token::quoted;

use super::execute::{Executed, Runnable};
use super::named_params::refuse_names;
use super::{Params, Rows, Session};
use crate::bind::{bind_check, bind_default, resolve_check, view_face};
use crate::catalog::{Catalog, Definition, ObjectName, Relation, Table, TriggerEvent};
use crate::command::{self, Command, Copied, Copy, Endpoint, Forced};
use crate::copy::{Bad, Header, Records, Tuples, write_header, write_row, write_trailer, write_tuple};
use crate::dml::row::RowInsert;
use crate::dml::{DmlContext, Feed};
use crate::exec::eval_row;
use crate::plan::Expr;
use crate::sql::{ParsedStatement, parse_one};
use crate::state::TemporaryTrees;
use crate::types::{DataType, EvalContext, ValueRef, cast, fit, from_text, read_binary, to_text};
use crate::{Error, Result, SqlState, Value, system};

/// The most of a line, or of a value, that an error shows.
const SHOWN_MAX: usize = 100;

/// Bytes that are handed on at a time.
const BUFFER_BYTES: usize = 1 << 16;

/// How many rows go by between two looks whether to stop.
const ROWS_PER_CHECK: u64 = 256;

pub use shape::CopyShape;
use shape::Pieces;

impl Session {
    /// Runs a `COPY table FROM STDIN`, whose data is what `input` gives, as one statement; the number of rows. The data is read
    /// up to its end, or to a line of `\.`.
    pub(crate) fn copy_in(&self, sql: &str, input: impl Read) -> Result<u64> {
        let parsed = self.runnable(sql)?.parsed;
        let mut input = BufReader::with_capacity(BUFFER_BYTES, input);
        self.copy_in_parsed(&parsed, &mut input).map(|executed| executed.affected)
    }

    /// Inserts rows as fast as can be, as one statement: as `COPY` does, without text in between; the number of rows. `table`: its
    /// name, or its schema's and its own with a dot between; `columns`: those that each of the rows has a value for, or none for
    /// all but generated ones. Names are as they are, in upper and lower case.
    pub(crate) fn append<P: Params>(
        &self,
        table: &str,
        columns: &[&str],
        rows: impl IntoIterator<Item = P>,
    ) -> Result<u64> {
        let name: Vec<String> = table.splitn(2, '.').map(|part| quoted(part).to_string()).collect();
        let columns: Vec<String> = columns.iter().map(|column| quoted(column).to_string()).collect();
        let columns = if columns.is_empty() { String::new() } else { format!("({})", columns.join(", ")) };
        let parsed = self.runnable(&format!("COPY {} {columns} FROM STDIN", name.join(".")))?.parsed;
        let mut rows = rows.into_iter();
        let mut next = |take: &mut dyn FnMut(&dyn Params) -> Result<()>| match rows.next() {
            Some(row) => refuse_names(&row).and_then(|()| take(&row)).map(|()| true),
            None => Ok(false),
        };
        self.copy_into(&parsed, Data::Rows(&mut next)).map(|executed| executed.affected)
    }

    /// Runs a `COPY .. TO STDOUT`, whose data `output` takes; the number of rows.
    pub(crate) fn copy_out(&self, sql: &str, mut output: impl Write) -> Result<u64> {
        let parsed = self.runnable(sql)?.parsed;
        let mut pieces = Pieces::new(&mut output);
        let executed = self.copy_out_parsed(&parsed, &mut |row| pieces.add(row))?;
        pieces.write()?;
        Ok(executed.affected)
    }

    fn copy_out_parsed(
        &self,
        parsed: &Arc<ParsedStatement>,
        each: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Executed> {
        self.run_as_statement(false, || {
            let copy = self.client_copy(parsed)?;
            match &copy.what {
                Copied::Into { .. } => Err(wrong_way("COPY FROM", "copy_in")),
                _ => self.copy_to(parsed, &copy, each),
            }
        })
    }

    pub(super) fn copy_in_parsed(&self, parsed: &Arc<ParsedStatement>, input: &mut dyn BufRead) -> Result<Executed> {
        self.copy_into(parsed, Data::Bytes(input))
    }

    fn copy_into(&self, parsed: &Arc<ParsedStatement>, data: Data<'_>) -> Result<Executed> {
        self.run_as_statement(false, || {
            let copy = self.client_copy(parsed)?;
            match &copy.what {
                Copied::Into { table, columns } => {
                    self.write_by(parsed, "COPY FROM", |context| copy_from(&copy, (table, columns), data, context))
                }
                _ => Err(wrong_way("COPY TO", "copy_out")),
            }
        })
    }

    /// A COPY that was run as other statements are: there is nobody to give or take its data.
    pub(super) fn copy_alone(&self, copy: &Copy) -> Result<Executed> {
        refuse_files(copy)?;
        Err(match copy.what {
            Copied::Into { .. } => wrong_way("COPY FROM STDIN", "copy_in"),
            _ => wrong_way("COPY TO STDOUT", "copy_out"),
        })
    }

    fn client_copy(&self, parsed: &ParsedStatement) -> Result<Copy> {
        if self.transaction_failed() {
            return Err(super::control::aborted());
        }
        let is_copy = parsed.command().is_some_and(|parts| parts.name() == "copy");
        match is_copy.then(|| Command::of(parsed)).transpose()? {
            Some(Command::Copy(copy)) => refuse_files(&copy).map(|()| copy),
            _ => Err(Error::new(SqlState::SYNTAX_ERROR, "the statement is not COPY")),
        }
    }

    fn copy_to(
        &self,
        parsed: &ParsedStatement,
        copy: &Copy,
        each: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Executed> {
        let statement = match &copy.what {
            Copied::Query(query) => Arc::new(parsed.within(*query, Vec::new())),
            Copied::From { table, columns } | Copied::Into { table, columns } => {
                let catalog = self.catalog()?;
                let table = source(table, &catalog)?;
                let columns = positions(&table, columns)?;
                if let Forced::Columns(named) = &copy.force_quote {
                    positions(&table, named)?;
                }
                let name = |&column: &usize| quoted(&table.columns[column].name).to_string();
                let columns: Vec<String> = columns.iter().map(name).collect();
                let from = catalog.shown(table.schema, &table.name);
                Arc::new(parse_one(&format!("SELECT {} FROM {from}", columns.join(", ")))?)
            }
        };
        command::refuse_into(&statement, "COPY (SELECT INTO)")?;
        let mut runnable = Runnable::new(statement);
        let rows = self.dispatch(&mut runnable, &())?.rows;
        let message = "COPY query must have a RETURNING clause";
        let mut rows = rows.ok_or_else(|| Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))?;
        let affected = self.write_rows(&mut rows, copy, each)?;
        Ok(Executed { tag: "COPY", affected, rows: None })
    }

    fn write_rows(&self, rows: &mut Rows, copy: &Copy, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<u64> {
        let eval = self.text_context();
        let names: Vec<String> = rows.columns().iter().map(|field| field.name.clone()).collect();
        if let (Copied::Query(_), Forced::Columns(named)) = (&copy.what, &copy.force_quote)
            && let Some(unknown) = named.iter().find(|name| !names.contains(name))
        {
            return Err(Error::undefined_column(unknown));
        }
        let types: Vec<DataType> = rows.columns().iter().map(|field| field.data_type).collect();
        let forced = forced(&copy.force_quote, &names)?;
        let mut out = Vec::new();
        if copy.is_binary {
            write_header(&mut out);
        }
        if copy.format.header != Header::No {
            write_row(&mut out, names.iter().map(|name| Some(name.as_str())), |_| false, &copy.format);
            hand_on(&mut out, each)?;
        }
        let mut count = 0;
        while let Some(row) = rows.next()? {
            if copy.is_binary {
                write_tuple(&with_oids(row.values(), &types, &eval)?, &types, &mut out)?;
            } else {
                let text = |value: &Value| (!value.is_null()).then(|| to_text(value, &eval));
                let texts: Vec<Option<String>> = row.values().iter().map(text).collect();
                write_row(&mut out, texts.iter().map(Option::as_deref), |at| forced[at], &copy.format);
            }
            count += 1;
            hand_on(&mut out, each)?;
        }
        if copy.is_binary {
            write_trailer(&mut out);
            hand_on(&mut out, each)?;
        }
        Ok(count)
    }
}

fn hand_on(out: &mut Vec<u8>, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    each(out)?;
    out.clear();
    Ok(())
}

/// A row with oids where a statement's result has their names.
fn with_oids<'r>(row: &'r [Value], types: &[DataType], eval: &EvalContext) -> Result<Cow<'r, [Value]>> {
    if !types.iter().any(|of| matches!(of, DataType::RegName(_))) {
        return Ok(row.into());
    }
    let oid = |(value, of): (&Value, &DataType)| match of {
        DataType::RegName(of) => cast(value, DataType::Text, DataType::Reg(*of), eval),
        _ => Ok(value.clone()),
    };
    row.iter().zip(types).map(oid).collect()
}

/// SQLSTATE 0A000.
fn wrong_way(what: &str, method: &str) -> Error {
    Error::unsupported(format!("{what} in this place")).with_hint(format!("Give it to Connection::{method}."))
}

/// SQLSTATE 42501: whoever writes the SQL has not the rights of whoever runs the process.
fn refuse_files(copy: &Copy) -> Result<()> {
    let is_from = matches!(copy.what, Copied::Into { .. });
    let what = match (copy.endpoint, is_from) {
        (Endpoint::Client, _) => return Ok(()),
        (Endpoint::File, true) => "from a file",
        (Endpoint::File, false) => "to a file",
        (Endpoint::Program, _) => "to or from an external program",
    };
    let hint = if is_from { "Open the file, and give it to COPY FROM STDIN" } else { "Let COPY TO STDOUT write it" };
    Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, format!("permission denied to COPY {what}")).with_hint(format!(
        "{hint} by Connection::{}, or use \\copy in the shell.",
        if is_from { "copy_in" } else { "copy_out" }
    )))
}

/// A table that rows are copied from.
fn source(name: &ObjectName, catalog: &Catalog) -> Result<Arc<Table>> {
    let refused = |what: &str| {
        let message = format!("cannot copy from {what} \"{}\"", name.name);
        Error::new(SqlState::WRONG_OBJECT_TYPE, message)
    };
    let hint = "Try the COPY (SELECT ...) TO variant.";
    match (system::named(name, catalog), catalog.relation(name)) {
        (Some(_), _) => Err(refused("view").with_hint(hint)),
        (None, Some(Relation::Table(table))) if table.is_materialized() => {
            Err(refused("materialized view").with_hint(hint))
        }
        (None, Some(Relation::Table(table))) => Ok(table.clone()),
        (None, Some(Relation::View(_))) => Err(refused("view").with_hint(hint)),
        (None, Some(Relation::Sequence(_))) => Err(refused("sequence")),
        (None, Some(Relation::Index(..))) => Err(is_an_index(name)),
        (None, None) => Err(catalog.no_relation(name)),
    }
}

/// A table that rows are copied to, or what the triggers of a view see of it.
fn target(name: &ObjectName, catalog: &Catalog) -> Result<Arc<Table>> {
    if system::named(name, catalog).is_some() {
        return Err(system::permission_denied(name));
    }
    let refused =
        |what: &str| Error::new(SqlState::WRONG_OBJECT_TYPE, format!("cannot copy to {what} \"{}\"", name.name));
    match catalog.relation(name) {
        Some(Relation::Table(table)) if table.is_materialized() => Err(refused("materialized view")),
        Some(Relation::Table(table)) => Ok(table.clone()),
        Some(Relation::View(view)) if view.has_instead_of(TriggerEvent::Insert) => view_face(view, catalog),
        Some(Relation::View(_)) => {
            let hint = "To enable copying to a view, provide an INSTEAD OF INSERT trigger.";
            Err(refused("view").with_hint(hint))
        }
        Some(Relation::Sequence(_)) => Err(refused("sequence")),
        Some(Relation::Index(..)) => Err(is_an_index(name)),
        None => Err(catalog.no_relation(name)),
    }
}

fn is_an_index(name: &ObjectName) -> Error {
    Error::new(SqlState::WRONG_OBJECT_TYPE, format!("cannot open relation \"{}\"", name.name))
        .with_detail("This operation is not supported for indexes.")
}

/// The condition of COPY FROM. SQLSTATE 42P10 where it rests on what is computed when the row is written, or read.
fn condition_of(text: &str, table: &Table, catalog: &Catalog) -> Result<Expr> {
    let (_, columns) = resolve_check(text.to_owned(), table, catalog, None)?;
    let is_it = |column: &&crate::catalog::Column| column.generated.is_some() && columns.contains(&column.number);
    if let Some(column) = table.columns.iter().find(is_it) {
        let message = "generated columns are not supported in COPY FROM WHERE conditions";
        let detail = format!("Column \"{}\" is a generated column.", column.name);
        return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message).with_detail(detail));
    }
    bind_check(&Definition { text: text.to_owned(), references: None }, table, catalog)
}

/// The positions of the columns that are copied; all but generated ones, where none are named.
fn positions(table: &Table, names: &[String]) -> Result<Vec<usize>> {
    let is_generated = |position: usize| table.columns[position].generated.is_some();
    if names.is_empty() {
        return Ok((0..table.columns.len()).filter(|&position| !is_generated(position)).collect());
    }
    let mut positions = Vec::with_capacity(names.len());
    for name in names {
        let position = table.column_position(name).ok_or_else(|| Error::undefined_column_of(name, &table.name))?;
        if is_generated(position) {
            let error =
                Error::new(SqlState::INVALID_COLUMN_REFERENCE, format!("column \"{name}\" is a generated column"));
            return Err(error.with_detail("Generated columns cannot be used in COPY."));
        }
        if positions.contains(&position) {
            return Err(Error::repeated_column(name));
        }
        positions.push(position);
    }
    Ok(positions)
}

/// By column that is copied, whether an option names it.
fn flags(what: &str, named: &[String], columns: &[String]) -> Result<Vec<bool>> {
    if let Some(unknown) = named.iter().find(|name| !columns.contains(name)) {
        let message = format!("{what} column \"{unknown}\" not referenced by COPY");
        return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message));
    }
    Ok(columns.iter().map(|column| named.contains(column)).collect())
}

fn forced(forced: &Forced, columns: &[String]) -> Result<Vec<bool>> {
    match forced {
        Forced::None => Ok(vec![false; columns.len()]),
        Forced::All => Ok(vec![true; columns.len()]),
        Forced::Columns(named) => flags("FORCE_QUOTE", named, columns),
    }
}

/// A column that the data has values for.
struct Target {
    position: usize,
    data_type: DataType,
    force_not_null: bool,
    force_null: bool,
}

/// What is copied into a table.
enum Data<'d> {
    Bytes(&'d mut dyn BufRead),
    /// Hands the next row to who takes it; whether there was one.
    Rows(&'d mut NextRow<'d>),
}

type NextRow<'d> = dyn FnMut(&mut dyn FnMut(&dyn Params) -> Result<()>) -> Result<bool> + 'd;

/// COPY FROM, while it runs.
struct Load<'a> {
    table: &'a Table,
    targets: Vec<Target>,
    /// Of the other columns, as far as they have one.
    defaults: Vec<(usize, Expr)>,
    filter: Option<Expr>,
    context: &'a DmlContext<'a>,
}

fn copy_from(
    copy: &Copy,
    (name, columns): (&ObjectName, &[String]),
    data: Data<'_>,
    context: &DmlContext<'_>,
) -> Result<u64> {
    let table = target(name, context.catalog)?;
    if copy.freezes {
        check_unseen(&table, context)?;
    }
    let positions = positions(&table, columns)?;
    let names: Vec<String> = positions.iter().map(|&position| table.columns[position].name.clone()).collect();
    for named in [&copy.force_not_null, &copy.force_null] {
        if !named.is_empty() {
            self::positions(&table, named)?;
        }
    }
    let not_null = flags("FORCE_NOT_NULL", &copy.force_not_null, &names)?;
    let null = flags("FORCE_NULL", &copy.force_null, &names)?;
    let target = |((&position, force_not_null), force_null): ((&usize, bool), bool)| Target {
        position,
        data_type: table.columns[position].data_type,
        force_not_null,
        force_null,
    };
    let filter = copy.filter.as_ref().map(|text| condition_of(text, &table, context.catalog));
    let load = Load {
        table: &table,
        targets: positions.iter().zip(not_null).zip(null).map(target).collect(),
        defaults: defaults(&table, &positions, context.catalog)?,
        filter: filter.transpose()?,
        context,
    };
    let program = if table.is_face() { None } else { Some(RowInsert::plain(&table, context.catalog)?) };
    let feed = || match &program {
        Some(program) => Feed::new(program, context),
        None => Feed::instead(&table, context),
    };
    let input = match data {
        Data::Bytes(input) => input,
        Data::Rows(next) => return load.run_rows(next, feed()?),
    };
    if copy.is_binary {
        return load.run_binary(Tuples::new(input)?, feed()?);
    }
    let mut records = Records::new(input, copy.format.clone());
    if copy.format.header != Header::No {
        let is_there = records.next().map_err(|bad| load.bad(bad, &records))?;
        if is_there && copy.format.header == Header::Match {
            records.check_header(&names).map_err(|bad| load.bad(bad, &records))?;
        }
    }
    load.run(&mut records, feed()?)
}

/// What FREEZE asks for: SQLSTATE 55000 for a table whose rows others may look at already, since it was neither created nor emptied by the
/// transaction. (What it gives in PostgreSQL, that nobody has to find out later who may see the rows, all rows have here.)
fn check_unseen(table: &Table, context: &DmlContext<'_>) -> Result<()> {
    let store = match context.tx.temporary_store() {
        Some(own) if TemporaryTrees::have(table.tree) => own.store(),
        _ => context.store,
    };
    match store.snapshot()?.reader().tree_stamp(table.tree) {
        Err(cairn_storage::Error::NoSuchTree(_)) if !table.is_face() => Ok(()),
        Err(error) if !table.is_face() => Err(error.into()),
        _ => {
            let message = "cannot perform COPY FREEZE because the table was not created or truncated in the current subtransaction";
            Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                .with_hint("Leave FREEZE out: rows need none."))
        }
    }
}

/// What the columns that are not copied get.
fn defaults(table: &Table, copied: &[usize], catalog: &Catalog) -> Result<Vec<(usize, Expr)>> {
    let mut defaults = Vec::new();
    for (position, column) in table.columns.iter().enumerate().filter(|(position, _)| !copied.contains(position)) {
        let definition = match column.identity {
            Some(identity) => {
                let sequence = catalog.sequence_by_id(identity.sequence);
                let sequence = sequence.ok_or_else(|| Error::internal("a sequence is missing"))?;
                let name = catalog.shown(sequence.schema, &sequence.name).replace('\'', "''");
                Some(Definition { text: format!("nextval('{name}')"), references: None })
            }
            None => column.default.clone(),
        };
        if let Some(definition) = definition {
            defaults.push((position, bind_default(&definition, column.data_type, catalog)?));
        }
    }
    Ok(defaults)
}

impl Load<'_> {
    fn run(&self, records: &mut Records<&mut dyn BufRead>, mut feed: Feed<'_>) -> Result<u64> {
        let mut row = vec![Value::Null; self.table.columns.len()];
        let mut count = 0u64;
        while records.next().map_err(|bad| self.bad(bad, records))? {
            count += 1;
            if count.is_multiple_of(ROWS_PER_CHECK) {
                self.context.exec.check()?;
            }
            self.read(records, &mut row)?;
            let inserted = self.is_wanted(&row).and_then(|wanted| if wanted { feed.insert(&row) } else { Ok(()) });
            inserted.map_err(|error| error.with_context(self.place_of_line(records)))?;
        }
        feed.finish()
    }

    fn run_binary(&self, mut tuples: Tuples<&mut dyn BufRead>, mut feed: Feed<'_>) -> Result<u64> {
        let mut row = vec![Value::Null; self.table.columns.len()];
        let mut count = 0u64;
        let place = |line: u64| format!("COPY {}, line {line}", self.table.name);
        loop {
            let is_there = tuples.next(self.targets.len());
            let line = tuples.line();
            if !is_there.map_err(|error| error.with_context(place(line)))? {
                return feed.finish();
            }
            count += 1;
            if count.is_multiple_of(ROWS_PER_CHECK) {
                self.context.exec.check()?;
            }
            for target in &self.targets {
                let field = tuples.field().and_then(|field| match field {
                    Some(bytes) => read_binary(bytes, target.data_type),
                    None => Ok(Value::Null),
                });
                row[target.position] = field.map_err(|error| {
                    error.with_context(format!("{}, column {}", place(line), self.table.columns[target.position].name))
                })?;
            }
            self.defaults(&mut row).map_err(|error| error.with_context(place(line)))?;
            let inserted = self.is_wanted(&row).and_then(|wanted| if wanted { feed.insert(&row) } else { Ok(()) });
            inserted.map_err(|error| error.with_context(place(line)))?;
        }
    }

    fn run_rows(&self, next: &mut NextRow<'_>, mut feed: Feed<'_>) -> Result<u64> {
        let mut row = vec![Value::Null; self.table.columns.len()];
        let mut count = 0u64;
        let place = |count: u64| format!("appending to {}, row {count}", self.table.name);
        loop {
            count += 1;
            if count.is_multiple_of(ROWS_PER_CHECK) {
                self.context.exec.check()?;
            }
            let mut take = |values: &dyn Params| self.take(values, &mut row, &|| place(count));
            if !next(&mut take)? {
                return feed.finish();
            }
            let inserted = self.defaults(&mut row).and_then(|()| feed.insert(&row));
            inserted.map_err(|error| error.with_context(place(count)))?;
        }
    }

    fn take(&self, values: &dyn Params, row: &mut [Value], place: &dyn Fn() -> String) -> Result<()> {
        if values.count() != self.targets.len() {
            let message = format!("the row has {} values for {} columns", values.count(), self.targets.len());
            return Err(Error::new(SqlState::BAD_COPY_FILE_FORMAT, message).with_context(place()));
        }
        for (at, target) in self.targets.iter().enumerate() {
            let value = match values.value(at) {
                // Which looks at a string's length, too.
                value @ ValueRef::Text(text) if value.is_sound() => {
                    from_text(text, target.data_type, &self.context.exec.eval)
                }
                value => fit(value, target.data_type, &self.context.exec.eval),
            };
            row[target.position] = value.map_err(|error| {
                let column = &self.table.columns[target.position].name;
                error.with_context(format!("{}, column {column}", place()))
            })?;
        }
        Ok(())
    }

    /// The values of columns that the data does not have.
    fn defaults(&self, row: &mut [Value]) -> Result<()> {
        for (position, default) in &self.defaults {
            row[*position] = eval_row(default, &[], self.context.exec)?;
        }
        Ok(())
    }

    fn is_wanted(&self, row: &[Value]) -> Result<bool> {
        match &self.filter {
            Some(filter) => Ok(eval_row(filter, row, self.context.exec)? == Value::Boolean(true)),
            None => Ok(true),
        }
    }

    /// The record's values, and the defaults of the other columns.
    fn read(&self, records: &mut Records<&mut dyn BufRead>, row: &mut [Value]) -> Result<()> {
        let broken = |message: String| {
            Err(Error::new(SqlState::BAD_COPY_FILE_FORMAT, message).with_context(self.place_of_line(records)))
        };
        if let Some(target) = self.targets.get(records.len()) {
            return broken(format!("missing data for column \"{}\"", self.table.columns[target.position].name));
        }
        if records.len() > self.targets.len() {
            return broken("extra data after last expected column".to_owned());
        }
        for (at, target) in self.targets.iter().enumerate() {
            records.force(at, (target.force_not_null, target.force_null));
            let text = records.field(at).map_err(|error| error.with_context(self.place(records)))?;
            row[target.position] = match text {
                None => Value::Null,
                Some(text) => from_text(text, target.data_type, &self.context.exec.eval).map_err(|error| {
                    let column = &self.table.columns[target.position].name;
                    error.with_context(format!("{}, column {column}: \"{}\"", self.place(records), shortened(text)))
                })?,
            };
        }
        self.defaults(row).map_err(|error| error.with_context(self.place_of_line(records)))
    }

    fn bad(&self, bad: Bad, records: &Records<&mut dyn BufRead>) -> Error {
        let place = if bad.shows_line { self.place_of_line(records) } else { self.place(records) };
        bad.error.with_context(place)
    }

    fn place(&self, records: &Records<&mut dyn BufRead>) -> String {
        format!("COPY {}, line {}", self.table.name, records.line())
    }

    fn place_of_line(&self, records: &Records<&mut dyn BufRead>) -> String {
        format!("{}: \"{}\"", self.place(records), shortened(&records.raw()))
    }
}

/// A value for a message: not more than PostgreSQL shows.
fn shortened(text: &str) -> String {
    match text.char_indices().find(|(at, ch)| at + ch.len_utf8() > SHOWN_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
