//! CSV into a table. All of it or nothing: one transaction (or the one that is already open) around every row, and an
//! error names the line and the column, as PostgreSQL's COPY does.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use cairndb::{Connection, DataType, Error, SqlState, Value};
use cairndb::{EvalContext, from_text};

use super::command::{Copy, Source};
use super::reader::{Field, Reader, Record, Trouble};
use crate::progress;
use crate::report::Failure;
use crate::signals::Interrupts;

/// The progress bar is told every so many rows.
const ROWS_PER_TICK: u64 = 256;

/// A column that is filled.
struct Target {
    name: String,
    data_type: DataType,
}

/// Reads the file into the table; the number of rows.
pub fn import(
    connection: &Connection,
    copy: &Copy,
    path: &Path,
    context: &EvalContext,
    interrupts: &Interrupts,
) -> Result<u64, Failure> {
    let file = File::open(path).map_err(|error| Failure::file(path, &error))?;
    let bar = progress::bytes(file.metadata().map_or(0, |metadata| metadata.len()));
    let input = BufReader::with_capacity(1 << 20, file);
    let rows = import_from(connection, copy, input, context, interrupts, |bytes| bar.set_position(bytes));
    bar.finish_and_clear();
    rows
}

/// As [`import`], from bytes; `tick` hears how many were read.
pub(super) fn import_from(
    connection: &Connection,
    copy: &Copy,
    input: impl BufRead,
    context: &EvalContext,
    interrupts: &Interrupts,
    tick: impl Fn(u64),
) -> Result<u64, Failure> {
    let Source::Table { name, columns } = &copy.source else {
        return Err(Failure::Message("\\copy: a query can only be copied TO a file".to_string()));
    };
    let targets = targets(connection, name, columns)?;
    let reader = Reader::new(input, copy.dialect.clone());
    let mut import = Import { name, targets, context, null: &copy.dialect.null, reader };
    let statement = import.statement();
    in_transaction(connection, || {
        let mut insert = connection.prepare(&statement)?;
        import.run(copy.header, |values| insert.execute(values), tick, interrupts)
    })
}

/// Runs `body` in a transaction of its own unless one is open already, whose fate is then the user's to decide.
fn in_transaction<T>(connection: &Connection, body: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    if connection.in_transaction() {
        return body();
    }
    let transaction = connection.begin()?;
    let value = body()?;
    transaction.commit()?;
    Ok(value)
}

fn targets(connection: &Connection, name: &str, columns: &[String]) -> Result<Vec<Target>, Failure> {
    let schema = connection.schema()?;
    let Some(table) = schema.table(name) else {
        let message = format!("relation \"{name}\" does not exist");
        return Err(Error::new(SqlState::UNDEFINED_TABLE, message).into());
    };
    let target = |column: &cairndb::schema::Column| Target { name: column.name.clone(), data_type: column.data_type };
    if columns.is_empty() {
        return Ok(table.columns.iter().map(target).collect());
    }
    let named = |wanted: &String| {
        table.columns.iter().find(|column| column.name == *wanted).map(target).ok_or_else(|| {
            let message = format!("column \"{wanted}\" of relation \"{name}\" does not exist");
            Failure::from(Error::new(SqlState::UNDEFINED_COLUMN, message))
        })
    };
    columns.iter().map(named).collect()
}

struct Import<'a, R> {
    name: &'a str,
    targets: Vec<Target>,
    context: &'a EvalContext,
    null: &'a str,
    reader: Reader<R>,
}

impl<R: BufRead> Import<'_, R> {
    fn statement(&self) -> String {
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let names: Vec<String> = self.targets.iter().map(|target| quoted(&target.name)).collect();
        let marks: Vec<String> = (1..=names.len()).map(|at| format!("${at}")).collect();
        format!("INSERT INTO {} ({}) VALUES ({})", quoted(self.name), names.join(", "), marks.join(", "))
    }

    fn run(
        &mut self,
        header: bool,
        mut insert: impl FnMut(&[Value]) -> cairndb::Result<u64>,
        tick: impl Fn(u64),
        interrupts: &Interrupts,
    ) -> Result<u64, Failure> {
        if header {
            self.next_record()?;
        }
        let mut rows = 0;
        while let Some(record) = self.next_record()? {
            if interrupts.requested() {
                return Err(Error::new(SqlState::QUERY_CANCELED, "canceling statement due to user request").into());
            }
            let values = self.values(&record)?;
            insert(&values).map_err(|error| self.failure(error, record.line, ""))?;
            rows += 1;
            if rows % ROWS_PER_TICK == 0 {
                tick(self.reader.bytes());
            }
        }
        Ok(rows)
    }

    fn next_record(&mut self) -> Result<Option<Record>, Failure> {
        self.reader.next_record().map_err(|trouble| match trouble {
            Trouble::Io(error) => Failure::Message(format!("cannot read: {error}")),
            Trouble::Format(error, line) => self.failure(error, line, ""),
        })
    }

    fn values(&self, record: &Record) -> Result<Vec<Value>, Failure> {
        if let Some(target) = self.targets.get(record.fields.len()) {
            let message = format!("missing data for column \"{}\"", target.name);
            return Err(self.failure(Error::new(SqlState("22P04"), message), record.line, ""));
        }
        if record.fields.len() > self.targets.len() {
            let error = Error::new(SqlState("22P04"), "extra data after last expected column");
            return Err(self.failure(error, record.line, ""));
        }
        record.fields.iter().zip(&self.targets).map(|(field, target)| self.value(field, target, record.line)).collect()
    }

    fn value(&self, field: &Field, target: &Target, line: u64) -> Result<Value, Failure> {
        if !field.quoted && field.bytes == self.null.as_bytes() {
            return Ok(Value::Null);
        }
        let place = format!(", column {}", target.name);
        let text = std::str::from_utf8(&field.bytes).map_err(|error| {
            let bad = field.bytes.get(error.valid_up_to()).copied().unwrap_or_default();
            let message = format!("invalid byte sequence for encoding \"UTF8\": 0x{bad:02x}");
            self.failure(Error::new(SqlState::INVALID_BYTE_SEQUENCE, message), line, &place)
        })?;
        from_text(text, target.data_type, self.context)
            .map_err(|error| self.failure(error, line, &format!("{place}: \"{}\"", shortened(text))))
    }

    fn failure(&self, error: Error, line: u64, place: &str) -> Failure {
        let context = Some(format!("COPY {}, line {line}{place}", self.name));
        Failure::Sql { error, text: String::new(), context }
    }
}

/// The value for a message: not more than PostgreSQL shows.
fn shortened(text: &str) -> String {
    const MOST: usize = 100;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_string(),
    }
}
