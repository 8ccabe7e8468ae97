//! DuckDB, for queries over many rows. Its log is synced at every commit, and its threads are as many as the machine has.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use duckdb::types::{ToSqlOutput, ValueRef};
use duckdb::{Connection, Row, Statement, ToSql, appender_params_from_iter, params_from_iter};

use super::datum::{Cell, Datum, Digest};
use super::sql::{SqlEngine, SqlOptions, SqlSession, SqlStatement};
use crate::Result;

pub struct Duckdb {
    kept: Mutex<Connection>,
    setting: String,
}

impl Duckdb {
    pub fn open(dir: &Path, options: SqlOptions) -> Result<Duckdb> {
        let kept = Connection::open(dir.join("bench.duckdb"))?;
        let cache = options.cache_bytes >> 20;
        let ask = |sql: &str| kept.query_row(sql, [], |row| row.get::<_, String>(0));
        let (version, threads) = (ask("SELECT version()")?, ask("SELECT current_setting('threads')::VARCHAR")?);
        let memory = ask("SELECT current_setting('memory_limit')")?;
        let setting = format!(
            "{version}, {threads} threads, memory limit {memory} (its defaults; the others' cache is {cache} MiB)"
        );
        Ok(Duckdb { kept: Mutex::new(kept), setting })
    }
}

impl SqlEngine for Duckdb {
    fn name(&self) -> &'static str {
        "duckdb"
    }

    fn setting(&self) -> String {
        self.setting.clone()
    }

    fn session(&self) -> Result<Box<dyn SqlSession + '_>> {
        let connection = self.kept.lock().unwrap_or_else(PoisonError::into_inner).try_clone()?;
        Ok(Box::new(DuckdbConnection { connection }))
    }

    fn close(self: Box<Self>) -> Result<()> {
        let connection = self.kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        connection.close().map_err(|(_, error)| error.into())
    }
}

struct DuckdbConnection {
    connection: Connection,
}

impl DuckdbConnection {
    fn append_all(&self, table: &str, rows: &mut dyn Iterator<Item = Vec<String>>) -> Result<()> {
        let mut appender = self.connection.appender(table)?;
        for row in rows {
            appender.append_row(appender_params_from_iter(row))?;
        }
        Ok(appender.flush()?)
    }
}

impl SqlSession for DuckdbConnection {
    fn script(&self, sql: &str) -> Result<()> {
        Ok(self.connection.execute_batch(sql)?)
    }

    fn prepare<'s>(&'s self, sql: &str) -> Result<Box<dyn SqlStatement + 's>> {
        Ok(Box::new(DuckdbStatement { statement: self.connection.prepare(sql)? }))
    }

    /// Row by row it would take longer to fill than to measure.
    fn append(&self, table: &str, rows: &mut dyn Iterator<Item = Vec<String>>) -> Option<Result<()>> {
        Some(self.append_all(table, rows))
    }
}

struct DuckdbStatement<'c> {
    statement: Statement<'c>,
}

impl ToSql for Datum<'_> {
    fn to_sql(&self) -> duckdb::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Datum::Int(int) => ValueRef::BigInt(*int),
            Datum::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

impl DuckdbStatement<'_> {
    /// The cells of all rows, or of the first.
    fn cells(&mut self, params: &[Datum<'_>], most: usize) -> Result<Vec<Vec<Cell>>> {
        let mut rows = self.statement.query(params_from_iter(params))?;
        let mut found = Vec::new();
        while found.len() < most
            && let Some(row) = rows.next()?
        {
            found.push(cells(row)?);
        }
        Ok(found)
    }

    fn digest(&mut self, params: &[Datum<'_>], most: usize) -> Result<Digest> {
        let mut digest = Digest::default();
        for row in self.cells(params, most)? {
            digest.rows += 1;
            for cell in row {
                match cell {
                    Cell::Null => {}
                    Cell::Int(int) => digest.add_int(int),
                    Cell::Real(real) => digest.add_real(real),
                    Cell::Text(text) => digest.add_bytes(text.as_bytes()),
                }
            }
        }
        Ok(digest)
    }
}

impl SqlStatement for DuckdbStatement<'_> {
    fn execute(&mut self, params: &[Datum<'_>]) -> Result<u64> {
        Ok(self.statement.execute(params_from_iter(params))? as u64)
    }

    fn query(&mut self, params: &[Datum<'_>]) -> Result<Digest> {
        self.digest(params, usize::MAX)
    }

    fn first(&mut self, params: &[Datum<'_>]) -> Result<Digest> {
        self.digest(params, 1)
    }

    fn first_bytes(&mut self, params: &[Datum<'_>]) -> Result<Option<usize>> {
        let first = self.cells(params, 1)?.into_iter().next().and_then(|row| row.into_iter().next());
        Ok(first.map(|cell| if let Cell::Text(text) = cell { text.len() } else { size_of::<i64>() }))
    }

    fn rows(&mut self, params: &[Datum<'_>]) -> Result<Vec<Vec<Cell>>> {
        self.cells(params, usize::MAX)
    }
}

fn cells(row: &Row<'_>) -> Result<Vec<Cell>> {
    (0..row.as_ref().column_count()).map(|at| cell(row.get_ref(at)?)).collect()
}

fn cell(value: ValueRef<'_>) -> Result<Cell> {
    Ok(match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Boolean(bool) => Cell::Int(i64::from(bool)),
        ValueRef::SmallInt(int) => Cell::Int(i64::from(int)),
        ValueRef::Int(int) => Cell::Int(i64::from(int)),
        ValueRef::BigInt(int) => Cell::Int(int),
        ValueRef::HugeInt(int) => i64::try_from(int).map_or(Cell::Real(int as f64), Cell::Int),
        ValueRef::Double(real) => Cell::Real(real),
        ValueRef::Decimal(decimal) => Cell::Real(decimal.value() as f64 / 10f64.powi(i32::from(decimal.scale()))),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Cell::Text(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Date32(days) => Cell::Text(date(days)),
        other => return Err(format!("a value of DuckDB that no workload has: {other:?}").into()),
    })
}

/// `YYYY-MM-DD` of a day after 1970-01-01.
fn date(days: i32) -> String {
    // In years that begin in March, a leap day is the last; eras of 400 years are alike.
    let days = i64::from(days) + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", era * 400 + year + later)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        let dates = [(0, "1970-01-01"), (-1, "1969-12-31"), (11_016, "2000-02-29"), (10_471, "1998-09-02")];
        assert!(dates.iter().all(|(days, text)| date(*days) == *text), "{}", date(11_016));
    }
}
