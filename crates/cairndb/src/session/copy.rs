//! COPY from and to the client: bytes that the caller gives and takes.

mod batches;
mod incoming;
mod load;
mod shape;

use std::io::{BufRead, BufReader, Read, Write};
use std::sync::Arc;

use cairn_parser::token::quoted;

use super::execute::Runnable;
use super::named_params::refuse_names;
use super::{Executed, Params, Rows, Session};
use crate::bind::{bind_check, resolve_check, view_face};
use crate::catalog::{Catalog, Definition, ObjectName, Relation, Table, TriggerEvent};
use crate::columns::Batch;
use crate::command::{self, Command, Copied, Copy, Endpoint, Forced};
use crate::copy::{Header, Writer, write_header, write_trailer, write_tuple};
use crate::plan::Expr;
use crate::sql::{ParsedStatement, parse_one};
use crate::types::{DataType, Form, utf8};
use crate::{Error, Result, SqlState, system};

/// Bytes that are handed on at a time.
const BUFFER_BYTES: usize = 1 << 16;

use load::{Data, copy_from};
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
        let parsed = self.appending(table, columns)?;
        let mut rows = rows.into_iter();
        let mut next = |take: &mut dyn FnMut(&dyn Params) -> Result<()>| match rows.next() {
            Some(row) => refuse_names(&row).and_then(|()| take(&row)).map(|()| true),
            None => Ok(false),
        };
        self.copy_into(&parsed, Data::Rows(&mut next)).map(|executed| executed.affected)
    }

    /// As [`Session::append`], of rows by column.
    pub(crate) fn append_batches(
        &self,
        table: &str,
        columns: &[&str],
        batches: impl IntoIterator<Item = Result<Batch>>,
    ) -> Result<u64> {
        let parsed = self.appending(table, columns)?;
        let mut batches = batches.into_iter();
        self.copy_into(&parsed, Data::Batches(&mut || batches.next())).map(|executed| executed.affected)
    }

    /// The statement that appends to these columns.
    fn appending(&self, table: &str, columns: &[&str]) -> Result<Arc<ParsedStatement>> {
        let name: Vec<String> = table.splitn(2, '.').map(|part| quoted(part).to_string()).collect();
        let columns: Vec<String> = columns.iter().map(|column| quoted(column).to_string()).collect();
        let columns = if columns.is_empty() { String::new() } else { format!("({})", columns.join(", ")) };
        Ok(self.runnable(&format!("COPY {} {columns} FROM STDIN", name.join(".")))?.parsed)
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
            return Err(Error::aborted_transaction());
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
        let names: Vec<String> = rows.columns().iter().map(|field| field.name.clone()).collect();
        if let (Copied::Query(_), Forced::Columns(named)) = (&copy.what, &copy.force_quote)
            && let Some(unknown) = named.iter().find(|name| !names.contains(name))
        {
            return Err(Error::undefined_column(unknown));
        }
        let types: Vec<DataType> = rows.columns().iter().map(|field| field.data_type).collect();
        let forced = forced(&copy.force_quote, &names)?;
        let context = || self.text_context();
        let mut writer = Writer::new(&copy.format, Form::new(&context), types.iter().copied().zip(forced));
        let (mut out, mut encoded, mut encoder) = (Vec::new(), Vec::new(), copy.encoding.encoder()?);
        let mut hand_on = |out: &mut Vec<u8>| {
            match &mut encoder {
                None => each(out)?,
                Some(encoder) => {
                    encoded.clear();
                    encoder.encode(utf8(out)?, &mut encoded)?;
                    each(&encoded)?;
                }
            }
            out.clear();
            Ok::<(), Error>(())
        };
        if copy.is_binary {
            write_header(&mut out);
        }
        if copy.format.header != Header::No {
            writer.header(names.iter().map(String::as_str), &mut out);
            hand_on(&mut out)?;
        }
        let mut count = 0;
        while let Some(row) = rows.next()? {
            match copy.is_binary {
                true => write_tuple(|at| row.value_ref(at), &types, writer.form(), &mut out)?,
                false => writer.row(|at| row.value_ref(at), &mut out),
            }
            count += 1;
            hand_on(&mut out)?;
        }
        if copy.is_binary {
            write_trailer(&mut out);
            hand_on(&mut out)?;
        }
        Ok(count)
    }
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
