//! `cairn dump`: the database as a script that `cairn` and `psql` load.
//!
//! What must hold: it is one state of the database; whatever a statement needs stands before it; and the dump of what it
//! makes is the same script. What the script is made of is asked of the catalog as PostgreSQL's own tools ask.

mod data;
mod objects;
mod order;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Write, stdout};
use std::path::Path;

use cairn_parser::token::quoted as name;
use cairndb::{Connection, Options};

use crate::maintenance::open_existing;
use crate::report::Failure;

/// What stands first.
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

/// Writes the script to `output`, or to standard output.
pub fn run(file: &Path, output: Option<&Path>, schema_only: bool) -> Result<(), Failure> {
    let database = open_existing(file, Options::default().read_only(true))?;
    let connection = database.connect()?;
    match output {
        None => {
            let mut out = BufWriter::new(stdout().lock());
            write(&connection, &mut out, schema_only)?;
            out.flush()?;
        }
        Some(path) => {
            let file = File::create_new(path).map_err(|error| Failure::file(path, &error))?;
            let mut out = BufWriter::new(Script { file, path });
            let written = write(&connection, &mut out, schema_only).and_then(|()| {
                out.flush()?;
                out.get_ref().file.sync_all().map_err(|error| Failure::file(path, &error))
            });
            // Half a script is none; another's file that has the name by now stays.
            if written.is_err() && has_name(&out.get_ref().file, path) {
                let _ = std::fs::remove_file(path);
            }
            written?;
        }
    }
    drop(connection);
    Ok(database.close()?)
}

/// The script's file, whose errors say which it is.
struct Script<'p> {
    file: File,
    path: &'p Path,
}

impl Script<'_> {
    fn named(&self, error: io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}; the script is not kept", self.path.display()))
    }
}

impl Write for Script<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(|error| self.named(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(|error| self.named(error))
    }
}

/// Whether this is the file that is open.
#[cfg(unix)]
fn has_name(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (open, named) = (file.metadata(), std::fs::symlink_metadata(path));
    matches!((open, named), (Ok(open), Ok(named)) if (open.dev(), open.ino()) == (named.dev(), named.ino()))
}

/// An open file keeps its name there.
#[cfg(not(unix))]
fn has_name(_file: &File, _path: &Path) -> bool {
    true
}

/// Writes the script, of one state.
pub fn write(connection: &Connection, out: &mut dyn Write, schema_only: bool) -> Result<(), Failure> {
    // Names are written with their schemas then.
    connection.execute_script(
        "SET search_path = ''; SET timezone = 'UTC'; BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    )?;
    let written = write_all(connection, out, schema_only);
    connection.execute_script("ROLLBACK; RESET search_path; RESET timezone")?;
    written
}

fn write_all(connection: &Connection, out: &mut dyn Write, schema_only: bool) -> Result<(), Failure> {
    let dump = Dump { connection, left_out: RefCell::default() };
    writeln!(out, "{HEADER}")?;
    dump.schemas(out)?;
    dump.types(out)?;
    dump.functions(out, false)?;
    dump.sequences(out)?;
    dump.tables(out)?;
    if !schema_only {
        dump.data(out)?;
    }
    dump.sequence_values(out)?;
    dump.constraints(out, "pg_catalog.strpos('ux', c.contype) > 0")?;
    dump.indexes(out)?;
    dump.constraints(out, "c.contype = 'f' OR (c.contype = 'c' AND NOT c.convalidated)")?;
    dump.functions(out, true)?;
    dump.views(out)?;
    dump.triggers(out)?;
    dump.collections(out)?;
    dump.change_feeds(out)?;
    dump.comments(out)
}

/// What is dumped.
struct Dump<'c> {
    connection: &'c Connection,
    /// Views that can not be dumped, by their names as SQL has them.
    left_out: RefCell<BTreeSet<String>>,
}

/// A row of the catalog's: everything as text.
type Texts = Vec<Option<String>>;

impl Dump<'_> {
    /// The rows of a query over the catalog, whose columns are texts.
    fn rows(&self, sql: &str) -> Result<Vec<Texts>, Failure> {
        let mut rows = self.connection.query(sql, ()).map_err(|error| Failure::sql(error, sql))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let columns = 0..row.values().len();
            found.push(columns.map(|at| row.get::<Option<String>>(at)).collect::<cairndb::Result<Texts>>()?);
        }
        Ok(found)
    }
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
