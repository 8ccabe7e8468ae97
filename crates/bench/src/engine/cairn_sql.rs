//! CairnDB through its public SQL API, any statement.

use std::path::Path;

use cairndb::{
    Connection, DataType, Database, Options, Row, RowRef, SqlState, Statement, Ticket, ToValue, Value, ValueRef,
};

use super::datum::{Cell, Datum, Digest};
use super::sql::{SqlEngine, SqlOptions, SqlSession, SqlStatement};
use crate::Result;

pub struct CairnSql {
    db: Database,
    options: SqlOptions,
}

impl CairnSql {
    pub fn open(dir: &Path, options: SqlOptions) -> Result<CairnSql> {
        let mut chosen = Options::default().cache_bytes(options.cache_bytes);
        if options.checkpoint_bytes > 0 {
            chosen = chosen.checkpoint_log_bytes(options.checkpoint_bytes);
        }
        Ok(CairnSql { db: Database::open_with(dir.join("bench.cairn"), chosen)?, options })
    }
}

impl SqlEngine for CairnSql {
    fn name(&self) -> &'static str {
        "cairndb"
    }

    fn setting(&self) -> String {
        let method = self.db.sync_method().map_or_else(String::new, |method| format!(", {method:?}"));
        format!("durability full (the default), cache {} MiB{method}", self.options.cache_bytes >> 20)
    }

    fn session(&self) -> Result<Box<dyn SqlSession + '_>> {
        Ok(Box::new(CairnConnection { connection: self.db.connect()? }))
    }

    fn pipelines(&self) -> bool {
        true
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let counters = self.db.stats().entries();
        #[cfg(feature = "counters")]
        let counters = counters.into_iter().chain(cairndb::counted()).collect();
        counters
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.db.close()?)
    }
}

struct CairnConnection {
    connection: Connection,
}

impl SqlSession for CairnConnection {
    fn script(&self, sql: &str) -> Result<()> {
        Ok(self.connection.execute_script(sql)?)
    }

    fn prepare<'s>(&'s self, sql: &str) -> Result<Box<dyn SqlStatement + 's>> {
        let statement = self.connection.prepare(sql)?;
        let types = statement.columns().iter().map(|field| field.data_type).collect();
        Ok(Box::new(CairnStatement { statement, types }))
    }

    fn transaction(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        // An error of the database goes through it, which knows whether to try again; any other around it.
        let mut other = None;
        let done = self.connection.transaction(|_| {
            work().map_err(|error| match error.downcast::<cairndb::Error>() {
                Ok(ours) => *ours,
                Err(error) => {
                    other = Some(error);
                    cairndb::Error::new(SqlState::QUERY_CANCELED, "the work in the transaction failed")
                }
            })
        });
        match other {
            Some(error) => Err(error),
            None => Ok(done?),
        }
    }
}

struct CairnStatement<'c> {
    statement: Statement<'c>,
    types: Vec<DataType>,
}

impl ToValue for Datum<'_> {
    fn to_value(&self) -> ValueRef<'_> {
        match self {
            Datum::Int(int) => ValueRef::BigInt(*int),
            Datum::Text(text) => ValueRef::Text(text),
        }
    }
}

impl SqlStatement for CairnStatement<'_> {
    fn execute(&mut self, params: &[Datum<'_>]) -> Result<u64> {
        Ok(self.statement.execute(params)?)
    }

    fn execute_later(&mut self, params: &[Datum<'_>]) -> Result<Option<Ticket>> {
        Ok(Some(self.statement.execute_async(params)?))
    }

    fn query(&mut self, params: &[Datum<'_>]) -> Result<Digest> {
        let mut digest = Digest::default();
        let mut rows = self.statement.query(params)?;
        while let Some(row) = rows.next()? {
            add_row(&mut digest, row);
        }
        Ok(digest)
    }

    fn first(&mut self, params: &[Datum<'_>]) -> Result<Digest> {
        let CairnStatement { statement, types } = self;
        Ok(statement.query_point(params, |row| read_lent(row, types))?.unwrap_or_default())
    }

    fn first_bytes(&mut self, params: &[Datum<'_>]) -> Result<Option<usize>> {
        let bytes = |row: RowRef<'_>| row.get_str(0).map_or(size_of::<i64>(), str::len);
        Ok(self.statement.query_point(params, bytes)?)
    }

    fn rows(&mut self, params: &[Datum<'_>]) -> Result<Vec<Vec<Cell>>> {
        let rows = self.statement.query(params)?;
        let cells = rows.mapped(|row| Ok(row.values().iter().map(cell).collect()));
        Ok(cells.collect::<cairndb::Result<_>>()?)
    }
}

/// Values are lent, not copied.
fn add_row(digest: &mut Digest, row: Row<'_>) {
    digest.rows += 1;
    for at in 0..row.columns().len() {
        match row.value_ref(at) {
            ValueRef::SmallInt(int) => digest.add_int(i64::from(int)),
            ValueRef::Integer(int) => digest.add_int(i64::from(int)),
            ValueRef::BigInt(int) => digest.add_int(int),
            ValueRef::Double(real) => digest.add_real(real),
            ValueRef::Text(text) => digest.add_bytes(text.as_bytes()),
            other => digest.add_real(number(&other.to_value()).unwrap_or_default()),
        }
    }
}

fn read_lent(row: RowRef<'_>, types: &[DataType]) -> Digest {
    let mut digest = Digest { rows: 1, sum: 0.0 };
    for (at, data_type) in types.iter().enumerate() {
        match data_type {
            DataType::BigInt | DataType::Integer => digest.add_int(row.get_i64(at).unwrap_or_default()),
            DataType::Double => digest.add_real(row.get_f64(at).unwrap_or_default()),
            DataType::Text | DataType::Varchar(_) | DataType::Char(_) => {
                digest.add_bytes(row.get_str(at).unwrap_or_default().as_bytes());
            }
            _ => digest.add_real(row.value(at).ok().and_then(|value| number(&value)).unwrap_or_default()),
        }
    }
    digest
}

/// A number of any other type.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Numeric(numeric) => Some(numeric.to_f64()),
        Value::Real(real) => Some(f64::from(*real)),
        _ => None,
    }
}

fn cell(value: &Value) -> Cell {
    match value {
        Value::Null => Cell::Null,
        Value::Double(real) => Cell::Real(*real),
        Value::Text(text) => Cell::Text(text.to_string()),
        other => match (other.as_i64(), number(other)) {
            (Some(int), _) => Cell::Int(int),
            (None, Some(real)) => Cell::Real(real),
            (None, None) => Cell::Text(other.to_string()),
        },
    }
}
