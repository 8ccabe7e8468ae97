//! The database as a script of SQL.
//!
//! What must hold: it is one state of the database; whatever a statement needs stands before it; and the dump of what it
//! makes is the same script. What the script is made of is asked of the catalog as PostgreSQL's own tools ask.

mod comments;
mod data;
mod objects;
mod order;
mod views;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::{Arguments, Display};
use std::io::Write;

use cairn_parser::token::quoted as name;

use crate::{Connection, Database, Error, EvalContext, Result, SqlState};

/// What stands first in a script.
const HEADER: &str = "\
--
-- A dump of a CairnDB database, for cairn and psql
--

SET statement_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SET check_function_bodies = false;
SET client_min_messages = warning;

";

/// What is dumped by [`Database::dump`] and [`Database::dump_statements`].
///
/// ```
/// let mut options = cairndb::DumpOptions::default();
/// options.schema_only = true;
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DumpOptions {
    /// Definitions alone, without rows.
    pub schema_only: bool,
}

/// A view that is not in a dump, for its query means nothing any more: it would make a script that does not load.
///
/// ```
/// let database = cairndb::Database::open_in_memory()?;
/// let left_out: Vec<cairndb::LeftOut> = database.dump(&Default::default(), std::io::sink())?;
/// assert!(left_out.is_empty());
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LeftOut {
    /// Its name, as SQL has it.
    pub view: String,
    /// What is wrong with it.
    pub error: Error,
}

impl Database {
    /// Writes the database as a script that `cairn` and `psql` load, rows as `COPY`; which views are not in it.
    ///
    /// It is one state of the database, of what is committed, and the dump of what it makes is the same script. What only CairnDB has
    /// (change feeds, collections, views that are maintained) PostgreSQL passes over. Temporary tables are no part of it.
    ///
    /// ```
    /// let database = cairndb::Database::open_in_memory()?;
    /// database.connect()?.execute_script("CREATE TABLE planet (name text PRIMARY KEY); INSERT INTO planet VALUES ('Mars')")?;
    /// let mut script = Vec::new();
    /// database.dump(&cairndb::DumpOptions::default(), &mut script)?;
    /// assert!(String::from_utf8_lossy(&script).contains("COPY public.planet (name) FROM stdin;\nMars\n\\.\n"));
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// SQLSTATE 58030: it could not be written.
    pub fn dump(&self, options: &DumpOptions, mut out: impl Write) -> Result<Vec<LeftOut>> {
        dump(self, options, Sink::Script(&mut out))
    }

    /// The same as statements, each told in turn with its semicolon, rows as `INSERT`: for who runs them one by one, by
    /// [`Connection::execute_script`], say.
    ///
    /// ```
    /// let database = cairndb::Database::open_in_memory()?;
    /// database.connect()?.execute_script("CREATE TABLE planet (name text PRIMARY KEY); INSERT INTO planet VALUES ('Mars')")?;
    /// let copy = cairndb::Database::open_in_memory()?.connect()?;
    /// database.dump_statements(&cairndb::DumpOptions::default(), |statement| copy.execute_script(statement))?;
    /// assert_eq!(copy.query_row_as::<String>("SELECT name FROM planet", ())?, "Mars");
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What `each` says ends it, and is the answer.
    pub fn dump_statements(
        &self,
        options: &DumpOptions,
        mut each: impl FnMut(&str) -> Result<()>,
    ) -> Result<Vec<LeftOut>> {
        dump(self, options, Sink::Statements(&mut each))
    }
}

fn dump(database: &Database, options: &DumpOptions, mut out: Sink<'_>) -> Result<Vec<LeftOut>> {
    let connection = database.connect()?;
    // Names are written with their schemas then.
    connection.execute_script(
        "SET search_path = ''; SET timezone = 'UTC'; BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    )?;
    let context = EvalContext::default();
    let dump = Dump { connection: &connection, context, left_out: RefCell::default() };
    dump.all(&mut out, options)?;
    let left_out = dump.left_out.into_inner().into_iter();
    Ok(left_out.map(|(view, error)| LeftOut { view, error }).collect())
}

/// What is dumped.
struct Dump<'c> {
    connection: &'c Connection,
    /// What values are written with.
    context: EvalContext,
    /// Views that can not be dumped, by their names as SQL has them.
    left_out: RefCell<BTreeMap<String, Error>>,
}

/// A row of the catalog's: everything as text.
type Texts = Vec<Option<String>>;

impl Dump<'_> {
    fn all(&self, out: &mut Sink<'_>, options: &DumpOptions) -> Result<()> {
        out.begin()?;
        self.schemas(out)?;
        self.extensions(out)?;
        self.types(out)?;
        self.functions(out, false)?;
        self.sequences(out)?;
        self.tables(out)?;
        if !options.schema_only {
            self.data(out)?;
        }
        self.sequence_values(out)?;
        self.constraints(out, "pg_catalog.strpos('ux', c.contype) > 0")?;
        self.indexes(out)?;
        self.constraints(out, "c.contype = 'f' OR (c.contype = 'c' AND NOT c.convalidated)")?;
        self.functions(out, true)?;
        self.aggregates(out)?;
        self.views(out)?;
        self.triggers(out)?;
        self.collections(out)?;
        self.change_feeds(out)?;
        self.comments(out)
    }

    /// The rows of a query over the catalog, whose columns are texts.
    fn rows(&self, sql: &str) -> Result<Vec<Texts>> {
        let mut rows = self.connection.query(sql, ())?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let columns = 0..row.values().len();
            found.push(columns.map(|at| row.get::<Option<String>>(at)).collect::<Result<Texts>>()?);
        }
        Ok(found)
    }
}

/// Where statements go.
enum Sink<'o> {
    Script(&'o mut dyn Write),
    Statements(&'o mut dyn FnMut(&str) -> Result<()>),
}

impl Sink<'_> {
    /// What has to be so while what follows is run.
    fn begin(&mut self) -> Result<()> {
        match self {
            Sink::Script(script) => write(*script, format_args!("{HEADER}")),
            Sink::Statements(each) => each("SET check_function_bodies = false;"),
        }
    }

    /// A statement, with a line between it and the next.
    fn statement(&mut self, text: impl Display) -> Result<()> {
        self.line(text)?;
        self.blank()
    }

    /// A statement on a line of its own.
    fn line(&mut self, text: impl Display) -> Result<()> {
        match self {
            Sink::Script(script) => write(*script, format_args!("{text};\n")),
            Sink::Statements(each) => each(&format!("{text};")),
        }
    }

    fn blank(&mut self) -> Result<()> {
        if let Sink::Script(script) = self { write(*script, format_args!("\n")) } else { Ok(()) }
    }

    /// Lines of a comment, which are no statement.
    fn comment(&mut self, mut lines: impl Iterator<Item = String>) -> Result<()> {
        let Sink::Script(script) = self else { return Ok(()) };
        lines.try_for_each(|line| write(*script, format_args!("-- {line}\n")))?;
        self.blank()
    }
}

fn write(script: &mut dyn Write, text: Arguments<'_>) -> Result<()> {
    let written = script.write_fmt(text);
    written.map_err(|error| Error::new(SqlState::IO_ERROR, format!("could not write the dump: {error}")))
}

/// The text in a column; empty for NULL.
fn text(row: &Texts, at: usize) -> &str {
    row.get(at).and_then(Option::as_deref).unwrap_or_default()
}

/// The name of something in a schema.
fn full(schema: &str, plain: &str) -> String {
    format!("{}.{}", name(schema), name(plain))
}

/// A string as SQL has it.
fn string(text: &str) -> String {
    match text.contains('\\') {
        true => format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''")),
        false => format!("'{}'", text.replace('\'', "''")),
    }
}
