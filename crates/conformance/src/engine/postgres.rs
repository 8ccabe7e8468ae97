//! A database of a private PostgreSQL server.

use std::cell::Cell;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use postgres::{Client, Config, NoTls, SimpleQueryMessage};

use super::{Answer, Column, Engine, Failure, PostgresServer, Session};

static NEXT_DATABASE: AtomicU64 = AtomicU64::new(0);

/// An empty database in a private server; gone when dropped.
pub struct PostgresEngine<'a> {
    server: &'a PostgresServer,
    name: String,
    /// Column types cost a second round trip per statement: only on request.
    types: Cell<bool>,
}

impl<'a> PostgresEngine<'a> {
    /// Makes an empty database.
    pub fn create(server: &'a PostgresServer) -> Result<PostgresEngine<'a>, Failure> {
        let name = format!("cairn{}", NEXT_DATABASE.fetch_add(1, Ordering::Relaxed));
        let mut client = connect(server.socket_folder(), "postgres").map_err(failure)?;
        client.batch_execute(&format!("CREATE DATABASE {name}")).map_err(failure)?;
        Ok(PostgresEngine { server, name, types: Cell::new(false) })
    }

    /// What the server calls the database.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes an empty database whose answers carry column types.
    pub fn create_with_types(server: &'a PostgresServer) -> Result<PostgresEngine<'a>, Failure> {
        let engine = PostgresEngine::create(server)?;
        engine.types.set(true);
        Ok(engine)
    }
}

impl Drop for PostgresEngine<'_> {
    fn drop(&mut self) {
        if let Ok(mut client) = connect(self.server.socket_folder(), "postgres") {
            // Left to the server's folder, which is removed as a whole, should this fail.
            let _ = client.batch_execute(&format!("DROP DATABASE {} WITH (FORCE)", self.name));
        }
    }
}

impl Engine for PostgresEngine<'_> {
    fn session(&self) -> Result<Box<dyn Session + '_>, Failure> {
        let client = connect(self.server.socket_folder(), &self.name).map_err(failure)?;
        Ok(Box::new(PostgresSession { client, types: self.types.get() }))
    }
}

struct PostgresSession {
    client: Client,
    types: bool,
}

impl Session for PostgresSession {
    fn run(&mut self, sql: &str) -> Result<Answer, Failure> {
        let mut answer = self.client.simple_query(sql).map(answer).map_err(failure)?;
        if self.types && !answer.columns.is_empty() {
            let statement = self.client.prepare(sql).map_err(failure)?;
            for (column, described) in answer.columns.iter_mut().zip(statement.columns()) {
                column.data_type = described.type_().name().to_owned();
            }
        }
        Ok(answer)
    }

    fn copy_in(&mut self, sql: &str, data: &[u8]) -> Result<Answer, Failure> {
        let mut writer = self.client.copy_in(sql).map_err(failure)?;
        // What the server says against the data is said when it is over.
        let _ = writer.write_all(data);
        let count = writer.finish().map_err(failure)?;
        Ok(Answer { affected: Some(count), ..Answer::default() })
    }

    fn copy_out(&mut self, sql: &str) -> Result<Vec<u8>, Failure> {
        let mut out = Vec::new();
        let mut reader = self.client.copy_out(sql).map_err(failure)?;
        reader.read_to_end(&mut out).map_err(|error| {
            let inner = error.into_inner().and_then(|inner| inner.downcast::<postgres::Error>().ok());
            inner.map_or_else(
                || Failure { sqlstate: "08006".into(), message: "no data".into() },
                |inner| failure(*inner),
            )
        })?;
        Ok(out)
    }
}

/// Connects to a database by the server's socket.
pub(super) fn connect(socket_folder: &Path, database: &str) -> Result<Client, postgres::Error> {
    Config::new().host_path(socket_folder).user("cairn").dbname(database).connect(NoTls)
}

fn answer(messages: Vec<SimpleQueryMessage>) -> Answer {
    let mut answer = Answer::default();
    for message in messages {
        match message {
            SimpleQueryMessage::RowDescription(columns) => {
                let column = |name: &str| Column { name: name.to_owned(), data_type: String::new() };
                answer.columns = columns.iter().map(|described| column(described.name())).collect();
            }
            SimpleQueryMessage::Row(row) => {
                answer.rows.push((0..row.len()).map(|index| row.get(index).map(str::to_owned)).collect());
            }
            SimpleQueryMessage::CommandComplete(count) => answer.affected = Some(count),
            _ => {}
        }
    }
    answer
}

fn failure(error: postgres::Error) -> Failure {
    match error.as_db_error() {
        Some(db) => Failure { sqlstate: db.code().code().to_owned(), message: db.message().to_owned() },
        None => Failure { sqlstate: "08006".into(), message: error.to_string() },
    }
}
