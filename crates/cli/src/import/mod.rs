//! `cairn import sqlite`: a new database of a SQLite file, and a report of what is not as it was, and why.
//!
//! What must hold: the SQLite file is only read, in one state of it; no value is changed without the report saying so, and
//! the new file is there only if all rows are in it. What cannot be taken over (a view in another dialect, a trigger) is
//! left out and told, never half done.

mod kinds;
mod load;
mod names;
mod report;
mod schema;
mod tokens;
mod translate;

use std::path::Path;
use std::process::ExitCode;

use cairndb::{Connection, Options, SqlState};
use indicatif::ProgressBar;
use kinds::Kind;
use rusqlite::{OpenFlags, Transaction};

use crate::progress;
use crate::report::Failure;
use crate::shell::open_file;
use names::Names;
use report::Report;
use schema::{Index, Source, Table};
use translate::Translation;

/// Imports the file `from` into the new database `into`.
pub fn sqlite(from: &Path, into: &Path, keep_case: bool) -> Result<ExitCode, Failure> {
    if into.metadata().is_ok_and(|found| found.len() > 0) {
        let message = format!("{}: exists already; an import makes a new database", into.display());
        return Err(Failure::Message(message));
    }
    let wrong = |error: rusqlite::Error| Failure::Message(format!("{}: {error}", from.display()));
    from.metadata().map_err(|error| Failure::file(from, &error))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut sqlite = rusqlite::Connection::open_with_flags(from, flags).map_err(wrong)?;
    // What a file's schema says is not to be trusted with more than to be read.
    sqlite.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;").map_err(wrong)?;
    let state = sqlite.transaction().map_err(wrong)?;
    let source = schema::read(&state).map_err(wrong)?;
    let existed = into.exists();
    let imported = open_file(into, Options::default()).and_then(|database| {
        let report = import(&state, &source, &database.connect()?, from, keep_case)?;
        database.close()?;
        Ok(report)
    });
    match imported {
        Ok(report) => {
            let size = crate::maintenance::size(into)?;
            let mut lines = vec![format!("{} imported into {} ({size})", from.display(), into.display())];
            lines.extend(report.lines());
            crate::maintenance::tell(&lines, report.is_complete())
        }
        Err(failure) => {
            if !existed {
                // Half a database is none. Its log goes with it.
                let mut log = into.as_os_str().to_owned();
                log.push("-log");
                let _ = std::fs::remove_file(log);
                let _ = std::fs::remove_file(into);
            }
            Err(failure)
        }
    }
}

/// The column in which a generated one is tried.
const TRIED: &str = "\"as here, and not as in SQLite\"";

/// What an import works with.
struct Import<'a> {
    sqlite: &'a Transaction<'a>,
    source: &'a Source,
    connection: &'a Connection,
    names: Names,
    report: Report,
}

fn import(
    sqlite: &Transaction<'_>,
    source: &Source,
    connection: &Connection,
    from: &Path,
    keep_case: bool,
) -> Result<Report, Failure> {
    let mut report = Report::default();
    let names = Names::new(source, keep_case, &mut report);
    let mut import = Import { sqlite, source, connection, names, report };
    for table in &source.tables {
        let told =
            |error: rusqlite::Error| Failure::Message(format!("{}: table {}: {error}", from.display(), table.name));
        import.table(table, &told)?;
    }
    for table in &source.tables {
        table.indexes.iter().for_each(|index| import.index(table, index));
        import.checks(table);
    }
    // When every table has its keys.
    source.tables.iter().for_each(|table| import.foreign_keys(table));
    import.views();
    for (name, why) in &source.left_out {
        import.report.leave_out(name, why);
    }
    Ok(import.report)
}

impl Import<'_> {
    fn table(&mut self, table: &Table, told: &dyn Fn(rusqlite::Error) -> Failure) -> Result<(), Failure> {
        let bar = progress::busy("reading");
        bar.set_message(format!("{}: looking at values", table.name));
        let (kinds, rows) = kinds::of_table(self.sqlite, table, &mut self.report).map_err(told)?;
        bar.finish_and_clear();
        let has_null =
            |key: &String| table.columns.iter().zip(&kinds).any(|(column, kind)| column.name == *key && kind.nulls);
        let unique_only = table.primary_key.iter().any(has_null);
        if unique_only {
            let why = "SQLite lets NULL into primary keys, and some rows have it: the columns are UNIQUE instead";
            self.report.change(&table.name, why);
        }
        let bar = progress::steps(rows, "rows");
        let loaded = self.fill_generated(table, &kinds, unique_only, &bar);
        bar.finish_and_clear();
        self.report.rows(&table.name, loaded?);
        table.columns.iter().zip(&kinds).for_each(|(column, kind)| self.default(table, column, &kind.data_type));
        self.sequence(table)
    }

    /// Makes the table, with the generated columns whose expressions give here what they gave in SQLite.
    fn fill_generated(
        &mut self,
        table: &Table,
        kinds: &[Kind],
        unique_only: bool,
        bar: &ProgressBar,
    ) -> Result<u64, Failure> {
        let mut expressions = vec![None; table.columns.len()];
        let loaded = self.fill(table, kinds, &expressions, unique_only, bar)?;
        for (at, column) in table.columns.iter().enumerate() {
            let Some(generated) = &column.generated else { continue };
            let place = format!("{}.{}", table.name, column.name);
            let found = generated.expression.as_deref().ok_or_else(|| "its expression is not found".to_string());
            match found.and_then(|sql| self.same(table, kinds, at, sql)) {
                Ok(Translation { text, changes }) => {
                    if generated.is_virtual && !table.is_virtual(column) {
                        self.report
                            .change(&place, "was computed when it was read; it is STORED here, for an index has it");
                    }
                    changes.iter().for_each(|change| self.report.change(&place, change));
                    expressions[at] = Some(text);
                }
                Err(why) => {
                    let message = format!("was generated; it is an ordinary column with the values that it had: {why}");
                    self.report.change(&place, &message);
                }
            }
        }
        if expressions.iter().all(Option::is_none) {
            return Ok(loaded);
        }
        self.run(&format!("DROP TABLE {}", self.names.shown(&table.name)))?;
        bar.set_position(0);
        self.fill(table, kinds, &expressions, unique_only, bar)
    }

    /// The expression of the column of this number, where it can be one here and gives what is there; why not.
    fn same(&self, table: &Table, kinds: &[Kind], at: usize, sql: &str) -> Result<Translation, String> {
        let others =
            table.columns.iter().enumerate().filter(|(other, column)| *other != at && column.generated.is_some());
        if let Some((_, other)) = others.into_iter().find(|(_, other)| translate::mentions(sql, &other.name)) {
            return Err(format!("it is made of {}, which is generated too", other.name));
        }
        let Translation { text, changes } = translate::expression(sql, &self.names);
        let cast = format!("CAST(({text}) AS {})", kinds[at].data_type);
        let plain = self.differing(table, kinds, at, &text);
        let (text, differing) = match plain {
            Ok(differing) => (text, differing),
            // What is assigned to a column in SQLite, is converted to its type as by CAST.
            Err(why) => match self.differing(table, kinds, at, &cast) {
                Ok(differing) => (cast, differing),
                Err(_) => return Err(why),
            },
        };
        match differing {
            0 => Ok(Translation { text, changes }),
            rows => Err(format!("its expression would give other values in {rows} of the rows here")),
        }
    }

    /// In how many rows the column is not what the expression gives.
    fn differing(&self, table: &Table, kinds: &[Kind], at: usize, text: &str) -> Result<i64, String> {
        let (name, column) = (self.names.shown(&table.name), self.names.shown(&table.columns[at].name));
        let run = |statement: &str| self.connection.execute(statement, ()).map_err(|error| error.message().to_string());
        let data_type = &kinds[at].data_type;
        run(&format!("ALTER TABLE {name} ADD COLUMN {TRIED} {data_type} GENERATED ALWAYS AS ({text}) STORED"))?;
        let sql = format!("SELECT count(*) FROM {name} WHERE {column} IS DISTINCT FROM {TRIED}");
        let differing = self.connection.query_row_as::<i64>(&sql, ()).map_err(|error| error.message().to_string());
        run(&format!("ALTER TABLE {name} DROP COLUMN {TRIED}"))?;
        differing
    }

    /// Makes the table with its rows.
    fn fill(
        &self,
        table: &Table,
        kinds: &[Kind],
        expressions: &[Option<String>],
        unique_only: bool,
        bar: &ProgressBar,
    ) -> Result<u64, Failure> {
        let name = self.names.shown(&table.name);
        let columns = table.columns.iter().zip(kinds).zip(expressions).map(|((column, kind), expression)| {
            let identity = if table.is_row_id(column) { " GENERATED BY DEFAULT AS IDENTITY" } else { "" };
            let kept = if table.is_virtual(column) { "VIRTUAL" } else { "STORED" };
            let generated = expression.as_ref().map(|text| format!(" GENERATED ALWAYS AS ({text}) {kept}"));
            let not_null = if column.not_null { " NOT NULL" } else { "" };
            let generated = generated.unwrap_or_default();
            format!("{} {}{identity}{generated}{not_null}", self.names.shown(&column.name), kind.data_type)
        });
        self.run(&format!("CREATE TABLE {name} ({})", columns.collect::<Vec<_>>().join(", ")))?;
        let key: Vec<String> = table.primary_key.iter().map(|column| self.names.shown(column)).collect();
        if !key.is_empty() {
            let what = if unique_only { "UNIQUE" } else { "PRIMARY KEY" };
            self.run(&format!("ALTER TABLE {name} ADD {what} ({})", key.join(", ")))?;
        }
        let is_given: Vec<bool> = expressions.iter().map(Option::is_none).collect();
        load::table(self.sqlite, self.connection, table, (kinds, &is_given), &self.names, bar)
    }

    /// An INTEGER PRIMARY KEY gets its values from the row number in SQLite; here a sequence goes on behind them.
    fn sequence(&mut self, table: &Table) -> Result<(), Failure> {
        let Some(column) = table.columns.iter().find(|column| table.is_row_id(column)) else { return Ok(()) };
        let (shown, key) = (self.names.shown(&table.name), self.names.shown(&column.name));
        let greatest = self
            .connection
            .query_row(&format!("SELECT max({key}) FROM {shown}"), (), |row| row.get::<Option<i64>>(0))?;
        let last = greatest.max(table.sequence);
        if let Some(last) = last.filter(|last| *last >= 1) {
            let name = self.names.plain(&column.name);
            let set = "SELECT setval(pg_get_serial_sequence($1, $2), $3)";
            self.connection.query_row(set, (shown.as_str(), name.as_str(), last), |_| Ok(()))?;
        }
        let place = format!("{}.{}", table.name, column.name);
        self.report.change(
            &place,
            match table.auto_increment {
                true => "AUTOINCREMENT is an identity column here, whose sequence goes on where SQLite's was",
                false => {
                    "INTEGER PRIMARY KEY is an identity column here: its sequence goes on behind the greatest value"
                }
            },
        );
        Ok(())
    }

    fn default(&mut self, table: &Table, column: &schema::Column, data_type: &cairndb::DataType) {
        let Some(default) = column.default.as_deref().filter(|_| column.generated.is_none()) else { return };
        let place = format!("{}.{}", table.name, column.name);
        let Some(written) = translate::default(default, data_type, &self.names) else { return };
        let statement = format!(
            "ALTER TABLE {} ALTER COLUMN {} SET DEFAULT {written}",
            self.names.shown(&table.name),
            self.names.shown(&column.name)
        );
        if let Err(error) = self.connection.execute(&statement, ()) {
            self.report.leave_out(&format!("default {default} of {place}"), error.message());
        }
    }

    fn index(&mut self, table: &Table, index: &Index) {
        let (statement, changes) = match translate::index(table, index, &self.names) {
            Ok(found) => found,
            Err(why) => return self.report.leave_out(&format!("index {} of {}", index.name, table.name), &why),
        };
        changes.iter().for_each(|change| self.report.change(&index.name, change));
        if let Err(error) = self.connection.execute(&statement, ()) {
            self.report.leave_out(&format!("index {} of {}", index.name, table.name), error.message());
        }
    }

    fn checks(&mut self, table: &Table) {
        for check in &table.checks {
            let Translation { text, changes } = translate::expression(check, &self.names);
            let statement = format!("ALTER TABLE {} ADD CHECK ({text})", self.names.shown(&table.name));
            match self.connection.execute(&statement, ()) {
                Ok(_) => changes.iter().for_each(|change| self.report.change(&table.name, change)),
                Err(error) => {
                    self.report.leave_out(&format!("CHECK ({}) of {}", check.trim(), table.name), error.message());
                }
            }
        }
    }

    fn foreign_keys(&mut self, table: &Table) {
        for key in &table.foreign_keys {
            let statement = translate::foreign_key(table, key, self.source, &self.names);
            let what = format!("foreign key of {} to {}", table.name, key.parent);
            match self.connection.execute(&statement, ()) {
                Ok(_) => {}
                Err(error) if error.sqlstate() == SqlState::FOREIGN_KEY_VIOLATION => {
                    let why = "rows that are there refer to nothing, so it holds for new ones only (NOT VALID)";
                    match self.connection.execute(&format!("{statement} NOT VALID"), ()) {
                        Ok(_) => self.report.change(&what, why),
                        Err(error) => self.report.leave_out(&what, error.message()),
                    }
                }
                Err(error) => self.report.leave_out(&what, error.message()),
            }
        }
    }

    /// Views may rest on each other in any order: whatever works is made, until nothing more does.
    fn views(&mut self) {
        let mut waiting: Vec<(&String, Translation)> =
            self.source.views.iter().map(|(name, sql)| (name, translate::view(sql, &self.names))).collect();
        loop {
            let before = waiting.len();
            let mut failed = Vec::new();
            waiting.retain(|(name, view)| {
                let statement = format!("CREATE VIEW {} {}", self.names.shown(name), view.text);
                match self.connection.execute(&statement, ()) {
                    Ok(_) => {
                        view.changes.iter().for_each(|change| self.report.change(name, change));
                        false
                    }
                    Err(error) => {
                        failed.push(error.message().to_string());
                        true
                    }
                }
            });
            if waiting.len() == before {
                for ((name, _), why) in waiting.iter().zip(&failed) {
                    self.report.leave_out(&format!("view {name}"), why);
                }
                return;
            }
        }
    }

    fn run(&self, statement: &str) -> Result<(), Failure> {
        self.connection.execute(statement, ()).map(drop).map_err(|error| Failure::sql(error, statement))
    }
}
