//! Entries as the rows of a SQL table, one prepared statement per operation.

use super::datum::Datum;
use super::entries::{Entries, EntrySession, EntryWork, InTransaction, Operations, Shape};
use super::sql::{SqlEngine, SqlSession, SqlStatement};
use crate::Result;

pub struct SqlEntries {
    engine: Box<dyn SqlEngine>,
}

impl SqlEntries {
    pub fn open(engine: Box<dyn SqlEngine>, shape: Shape) -> Result<SqlEntries> {
        let columns = match shape {
            Shape::Numbers => "id BIGINT PRIMARY KEY, body BIGINT NOT NULL",
            Shape::Documents => "id TEXT PRIMARY KEY, body TEXT NOT NULL",
        };
        engine.connect(&mut |session| session.script(&format!("CREATE TABLE entry ({columns})")))?;
        Ok(SqlEntries { engine })
    }
}

impl Entries for SqlEntries {
    fn name(&self) -> &'static str {
        self.engine.name()
    }

    fn setting(&self) -> String {
        self.engine.setting()
    }

    fn with_entries(&self, work: EntryWork<'_>) -> Result<()> {
        self.engine.connect(&mut |session| work(&mut SqlEntrySession::new(session)?))
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.engine.counters()
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.engine.close()
    }
}

struct SqlEntrySession<'s> {
    session: &'s dyn SqlSession,
    read: Box<dyn SqlStatement + 's>,
    insert: Box<dyn SqlStatement + 's>,
    update: Box<dyn SqlStatement + 's>,
    delete: Box<dyn SqlStatement + 's>,
}

impl<'s> SqlEntrySession<'s> {
    fn new(session: &'s dyn SqlSession) -> Result<SqlEntrySession<'s>> {
        Ok(SqlEntrySession {
            session,
            read: session.prepare("SELECT body FROM entry WHERE id = $1")?,
            insert: session.prepare("INSERT INTO entry VALUES ($1, $2)")?,
            update: session.prepare("UPDATE entry SET body = $1 WHERE id = $2")?,
            delete: session.prepare("DELETE FROM entry WHERE id = $1")?,
        })
    }
}

/// Each of these statements is about one row.
fn one(changed: u64) -> Result<()> {
    if changed == 1 { Ok(()) } else { Err(format!("{changed} rows changed, not one").into()) }
}

impl Operations for SqlEntrySession<'_> {
    fn read(&mut self, key: Datum<'_>) -> Result<Option<usize>> {
        self.read.first_bytes(&[key])
    }

    fn insert(&mut self, key: Datum<'_>, value: Datum<'_>) -> Result<()> {
        one(self.insert.execute(&[key, value])?)
    }

    fn update(&mut self, key: Datum<'_>, value: Datum<'_>) -> Result<()> {
        one(self.update.execute(&[value, key])?)
    }

    fn delete(&mut self, key: Datum<'_>) -> Result<()> {
        one(self.delete.execute(&[key])?)
    }
}

impl EntrySession for SqlEntrySession<'_> {
    fn transaction(&mut self, work: InTransaction<'_>) -> Result<()> {
        let session = self.session;
        session.transaction(&mut || work(self))
    }
}
