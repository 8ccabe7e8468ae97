//! `cairn import sqlite`: a new database of a SQLite file, and a report of what is not as it was, and why.
//!
//! The SQLite file is read in one state of it. What cannot be taken over (a view in another dialect, a trigger) is left out and told.

mod kinds;
mod load;
mod meaning;
mod names;
mod schema;
mod texts;
mod translate;

use std::path::Path;
use std::process::ExitCode;

use cairndb::{Connection, SqlState};
use indicatif::ProgressBar;
use kinds::Kind;
use rusqlite::{OpenFlags, Transaction};

use super::report::Report;
use super::target;
use crate::progress;
use crate::report::Failure;
use names::Names;
use schema::{Index, Source, Table, View};
use translate::Translation;
use turso_parser::ast::Expr;

/// Imports the file `from` into the new database `into`.
pub fn sqlite(from: &Path, into: &Path, keep_case: bool) -> Result<ExitCode, Failure> {
    target::refuse_existing(into)?;
    let wrong = |error: rusqlite::Error| Failure::Message(format!("{}: {error}", from.display()));
    from.metadata().map_err(|error| Failure::file(from, &error))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut sqlite = rusqlite::Connection::open_with_flags(from, flags).map_err(wrong)?;
    // What a file's schema says is not to be trusted with more than to be read.
    sqlite.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;").map_err(wrong)?;
    let state = sqlite.transaction().map_err(wrong)?;
    let source = schema::read(&state).map_err(wrong)?;
    target::make(from, into, |connection| import(&state, &source, connection, from, keep_case))
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
    /// What is there already, for what rests on it.
    relations: Vec<meaning::Relation>,
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
    let mut import = Import { sqlite, source, connection, names, report, relations: Vec::new() };
    for table in &source.tables {
        let told =
            |error: rusqlite::Error| Failure::Message(format!("{}: table {}: {error}", from.display(), table.name));
        import.table(table, &told)?;
    }
    for table in &source.tables {
        import.indexes_and_checks(table);
    }
    // When every table has its keys.
    source.tables.iter().for_each(|table| import.foreign_keys(table));
    import.views();
    for (name, why) in &source.left_out {
        import.report.leave_out(name, why);
    }
    if source.user_version != 0 {
        let why = format!("is {}; nothing here keeps it, so put it where your migrations look", source.user_version);
        import.report.change("PRAGMA user_version", &why);
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
        let relation = translate::relation(table, &kinds);
        let loaded = self.fill_generated(table, (&kinds, &relation), unique_only, &bar);
        self.relations.push(relation);
        bar.finish_and_clear();
        self.report.rows(&table.name, loaded?);
        table.columns.iter().zip(&kinds).for_each(|(column, kind)| self.default(table, column, &kind.data_type));
        self.sequence(table)
    }

    /// Makes the table, with the generated columns whose expressions give here what they gave in SQLite.
    fn fill_generated(
        &mut self,
        table: &Table,
        (kinds, relation): (&[Kind], &meaning::Relation),
        unique_only: bool,
        bar: &ProgressBar,
    ) -> Result<u64, Failure> {
        let mut expressions = vec![None; table.columns.len()];
        let loaded = self.fill(table, kinds, &expressions, unique_only, bar)?;
        for (at, column) in table.columns.iter().enumerate() {
            let Some(generated) = &column.generated else { continue };
            let place = format!("{}.{}", table.name, column.name);
            let why = || table.not_understood.clone().unwrap_or_else(|| "its expression is not found".to_string());
            let found = generated.expression.as_ref().ok_or_else(why);
            match found.and_then(|expression| self.same(table, (kinds, relation), at, expression)) {
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
    fn same(
        &self,
        table: &Table,
        (kinds, relation): (&[Kind], &meaning::Relation),
        at: usize,
        expression: &Expr,
    ) -> Result<Translation, String> {
        let text = expression.to_string();
        let others =
            table.columns.iter().enumerate().filter(|(other, column)| *other != at && column.generated.is_some());
        if let Some((_, other)) = others.into_iter().find(|(_, other)| texts::mentions(&text, &other.name)) {
            return Err(format!("it is made of {}, which is generated too", other.name));
        }
        let found = translate::generated(relation, &self.names, expression, &kinds[at].data_type)?;
        match self.differing(table, kinds, at, &found.text)? {
            0 => Ok(found),
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
        let made = translate::default(default, data_type, &self.names).and_then(|found| {
            let Some(Translation { text, changes }) = found else { return Ok(Vec::new()) };
            let (on, column) = (self.names.shown(&table.name), self.names.shown(&column.name));
            self.make(&format!("ALTER TABLE {on} ALTER COLUMN {column} SET DEFAULT {text}"))?;
            Ok(changes)
        });
        match made {
            Ok(changes) => changes.iter().for_each(|change| self.report.change(&format!("{place}, default"), change)),
            Err(why) => self.report.leave_out(&format!("default {default} of {place}"), &why),
        }
    }

    fn indexes_and_checks(&mut self, table: &Table) {
        let Some(relation) = self.relations.iter().find(|relation| relation.name == table.name).cloned() else {
            return;
        };
        table.indexes.iter().for_each(|index| self.index(table, &relation, index));
        self.checks(table, &relation);
    }

    fn index(&mut self, table: &Table, relation: &meaning::Relation, index: &Index) {
        let made = translate::index(table, relation, index, &self.names)
            .and_then(|Translation { text, changes }| self.make(&text).map(|()| changes));
        match made {
            Ok(changes) => changes.iter().for_each(|change| self.report.change(&index.name, change)),
            Err(why) => self.report.leave_out(&format!("index {} of {}", index.name, table.name), &why),
        }
    }

    fn checks(&mut self, table: &Table, relation: &meaning::Relation) {
        if let Some(why) = &table.not_understood {
            self.report.leave_out(&format!("the CHECKs of {}, if it has any", table.name), why);
        }
        for (check, written) in &table.checks {
            let what = format!("CHECK ({written}) of {}", table.name);
            match translate::check(relation, &self.names, check) {
                Ok(found) => {
                    found.changes.iter().for_each(|change| self.report.change(&what, change));
                    let statement = format!("ALTER TABLE {} ADD CHECK ({})", self.names.shown(&table.name), found.text);
                    self.constraint(&what, &statement, SqlState::CHECK_VIOLATION, "some rows do not keep it");
                }
                Err(why) => self.report.leave_out(&what, &why),
            }
        }
    }

    /// Makes a constraint: for new rows only, where some of those that are there break it.
    fn constraint(&mut self, what: &str, statement: &str, broken: SqlState, why: &str) {
        let made = self.connection.execute(statement, ()).map(drop).or_else(|error| match error.sqlstate() == broken {
            true => {
                self.connection.execute(&format!("{statement} NOT VALID"), ())?;
                self.report.change(what, &format!("{why}, so it holds for new ones only (NOT VALID)"));
                Ok(())
            }
            false => Err(error),
        });
        if let Err(error) = made {
            self.report.leave_out(what, error.message());
        }
    }

    fn foreign_keys(&mut self, table: &Table) {
        for key in &table.foreign_keys {
            let statement = translate::foreign_key(table, key, self.source, &self.names);
            let what = format!("foreign key of {} to {}", table.name, key.parent);
            let why = "rows that are there refer to nothing";
            self.constraint(&what, &statement, SqlState::FOREIGN_KEY_VIOLATION, why);
        }
    }

    /// Views may rest on each other in any order: whatever works is made, until nothing more does.
    fn views(&mut self) {
        let mut waiting: Vec<&View> = self.source.views.iter().collect();
        loop {
            let before = waiting.len();
            let mut failed = Vec::new();
            waiting.retain(|view| match self.view(view) {
                Ok(()) => false,
                Err(why) => {
                    failed.push(why);
                    true
                }
            });
            if waiting.len() == before {
                for (view, why) in waiting.iter().zip(&failed) {
                    self.report.leave_out(&format!("view {}", view.name), why);
                }
                return;
            }
        }
    }

    fn view(&mut self, view: &View) -> Result<(), String> {
        let (Translation { text, changes }, relation) = translate::view(view, &self.relations, &self.names)?;
        self.make(&text)?;
        changes.iter().for_each(|change| self.report.change(&view.name, change));
        self.relations.push(relation);
        Ok(())
    }

    /// Runs what may be refused: then it is left out.
    fn make(&self, statement: &str) -> Result<(), String> {
        self.connection.execute(statement, ()).map(drop).map_err(|error| error.message().to_string())
    }

    fn run(&self, statement: &str) -> Result<(), Failure> {
        self.connection.execute(statement, ()).map(drop).map_err(|error| Failure::sql(error, statement))
    }
}
