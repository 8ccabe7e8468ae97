//! The rows of [`crate::rows`] in any SQL engine, one prepared statement per operation.

use std::ops::Range;

use super::datum::Datum;
use super::sql::{SqlEngine, SqlSession, SqlStatement};
use super::{Engine, Session, Work};
use crate::Result;
use crate::rows::{digest, text};

pub struct SqlRows {
    engine: Box<dyn SqlEngine>,
}

impl SqlRows {
    pub fn open(engine: Box<dyn SqlEngine>) -> Result<SqlRows> {
        let table = "CREATE TABLE t (id BIGINT PRIMARY KEY, n BIGINT NOT NULL, v TEXT NOT NULL)";
        engine.connect(&mut |session| session.script(table))?;
        Ok(SqlRows { engine })
    }
}

impl Engine for SqlRows {
    fn name(&self) -> &'static str {
        self.engine.name()
    }

    fn setting(&self) -> String {
        self.engine.setting()
    }

    fn with_session(&self, work: Work<'_>) -> Result<()> {
        self.engine.connect(&mut |session| work(&mut SqlRowSession::new(session)?))
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.engine.close()
    }
}

struct SqlRowSession<'s> {
    session: &'s dyn SqlSession,
    insert: Box<dyn SqlStatement + 's>,
    update: Box<dyn SqlStatement + 's>,
    upsert: Box<dyn SqlStatement + 's>,
    read: Box<dyn SqlStatement + 's>,
}

impl<'s> SqlRowSession<'s> {
    fn new(session: &'s dyn SqlSession) -> Result<SqlRowSession<'s>> {
        let upsert = "INSERT INTO t VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET n = excluded.n, v = excluded.v";
        Ok(SqlRowSession {
            session,
            insert: session.prepare("INSERT INTO t VALUES ($1, $2, $3)")?,
            update: session.prepare("UPDATE t SET n = $1 WHERE id = $2")?,
            upsert: session.prepare(upsert)?,
            read: session.prepare("SELECT n, v FROM t WHERE id = $1")?,
        })
    }
}

fn row(key: i64, number: i64) -> [Datum<'static>; 3] {
    [Datum::Int(key), Datum::Int(number), Datum::Text(text(key))]
}

impl Session for SqlRowSession<'_> {
    fn load(&mut self, mut keys: Range<i64>) -> Result<()> {
        self.session.script("BEGIN")?;
        keys.try_for_each(|key| self.insert.execute(&row(key, key)).map(drop))?;
        self.session.script("COMMIT")
    }

    fn insert(&mut self, key: i64) -> Result<()> {
        self.insert.execute(&row(key, key)).map(drop)
    }

    fn update(&mut self, key: i64, number: i64) -> Result<()> {
        self.update.execute(&[Datum::Int(number), Datum::Int(key)]).map(drop)
    }

    fn upsert(&mut self, key: i64, number: i64) -> Result<()> {
        self.upsert.execute(&row(key, number)).map(drop)
    }

    fn read(&mut self, key: i64) -> Result<Option<u64>> {
        // The sum of a row's values is its number and its text's length.
        let found = self.read.first(&[Datum::Int(key)])?;
        Ok((found.rows == 1).then(|| digest(found.sum as i64, 0)))
    }
}
