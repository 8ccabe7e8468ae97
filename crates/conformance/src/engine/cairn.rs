//! A CairnDB database, in memory or in a file.

use std::path::Path;

use cairndb::{Connection, Database, Outcome};
use cairndb::{DataType, Error, Options, Value};
use cairndb::{EvalContext, to_text};

use super::{Answer, Column, Engine, Failure, Session};

/// A CairnDB database.
pub struct CairnEngine {
    database: Database,
}

impl CairnEngine {
    /// Makes an empty database in memory.
    pub fn create() -> Result<CairnEngine, Failure> {
        Database::open_in_memory().map(|database| CairnEngine { database }).map_err(|error| failure(&error))
    }

    /// Makes an empty database in memory whose connections have these options.
    pub fn create_with(options: Options) -> Result<CairnEngine, Failure> {
        let database = Database::open_in_memory_with(options).map_err(|error| failure(&error))?;
        Ok(CairnEngine { database })
    }

    /// Bytes that queries have written to temporary files.
    pub fn spilled_bytes(&self) -> u64 {
        self.database.stats().spill_bytes_written
    }

    /// Opens or creates the database in this file.
    pub fn open(path: &Path) -> Result<CairnEngine, Failure> {
        Database::open(path).map(|database| CairnEngine { database }).map_err(|error| failure(&error))
    }
}

impl Engine for CairnEngine {
    fn session(&self) -> Result<Box<dyn Session + '_>, Failure> {
        let connection = self.database.connect().map_err(|error| failure(&error))?;
        Ok(Box::new(CairnSession { connection }))
    }
}

struct CairnSession {
    connection: Connection,
}

impl Session for CairnSession {
    fn run(&mut self, sql: &str) -> Result<Answer, Failure> {
        let mut last = Answer::default();
        let connection = &self.connection;
        let ran = connection.run(sql, |outcome| {
            last = answer(outcome, &connection.text_context())?;
            Ok(())
        });
        ran.map(|()| last).map_err(|error| failure(&error))
    }

    fn copy_in(&mut self, sql: &str, data: &[u8]) -> Result<Answer, Failure> {
        let count = self.connection.copy_in(sql, data).map_err(|error| failure(&error))?;
        Ok(Answer { affected: Some(count), ..Answer::default() })
    }

    fn copy_out(&mut self, sql: &str) -> Result<Vec<u8>, Failure> {
        let mut out = Vec::new();
        self.connection.copy_out(sql, &mut out).map_err(|error| failure(&error))?;
        Ok(out)
    }
}

fn answer(outcome: &mut Outcome<'_>, context: &EvalContext) -> cairndb::Result<Answer> {
    let column = |field: &cairndb::Field| Column { name: field.name.clone(), data_type: short_name(field.data_type) };
    let columns: Vec<Column> = outcome.columns().iter().map(column).collect();
    let mut found = Vec::new();
    if let Some(rows) = outcome.rows() {
        while let Some(row) = rows.next()? {
            found.push((0..columns.len()).map(|index| text(row.value(index), context)).collect());
        }
    }
    Ok(Answer { columns, rows: found, affected: Some(outcome.affected()) })
}

fn text(value: &Value, context: &EvalContext) -> Option<String> {
    match value {
        Value::Null => None,
        // A cast to text says `true`; what PostgreSQL sends to a client is `t`.
        Value::Boolean(truth) => Some(if *truth { "t" } else { "f" }.into()),
        other => Some(to_text(other, context)),
    }
}

/// The name in PostgreSQL's `pg_type`.
fn short_name(data_type: DataType) -> String {
    match data_type {
        DataType::Boolean => "bool",
        DataType::SmallInt => "int2",
        DataType::Integer => "int4",
        DataType::BigInt => "int8",
        DataType::Real => "float4",
        DataType::Double => "float8",
        DataType::Numeric(_) => "numeric",
        DataType::Text | DataType::Unknown => "text",
        DataType::Varchar(_) => "varchar",
        DataType::Char(_) => "bpchar",
        DataType::Bytea => "bytea",
        DataType::Date => "date",
        DataType::Time(_) => "time",
        DataType::Timestamp(_) => "timestamp",
        DataType::TimestampTz(_) => "timestamptz",
        DataType::TimeTz(_) => "timetz",
        DataType::Interval(_) => "interval",
        DataType::Uuid => "uuid",
        DataType::Json => "json",
        DataType::Jsonb => "jsonb",
        DataType::JsonPath => "jsonpath",
        DataType::Name => "name",
        DataType::InternalChar => "char",
        DataType::Oid => "oid",
        DataType::Void | DataType::Reg(_) | DataType::RegName(_) => data_type.type_name(),
        // Without the schema.
        DataType::Enum(_) | DataType::Composite(_) => {
            let name = data_type.type_name();
            name.rsplit_once('.').map_or(name, |(_, name)| name)
        }
        DataType::Array(element) => return format!("_{}", short_name(element.data_type())),
    }
    .into()
}

fn failure(error: &Error) -> Failure {
    Failure { sqlstate: error.sqlstate().0.to_owned(), message: error.message().to_owned() }
}
