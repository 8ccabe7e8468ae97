//! Filling tables in SQL.

use crate::Result;
use crate::engine::{Datum, SqlSession};
use crate::rows::text;
use crate::setup::LOAD_BATCH;

/// Makes a table of rows as in [`crate::rows`], with the ids below `rows` in ascending order; each one's number is `n`.
pub fn create_rows(session: &dyn SqlSession, table: &str, rows: i64, n: i64) -> Result<()> {
    session.script(&format!("CREATE TABLE {table} (id BIGINT PRIMARY KEY, n BIGINT NOT NULL, v TEXT NOT NULL)"))?;
    let mut insert = session.prepare(&format!("INSERT INTO {table} VALUES ($1, $2, $3)"))?;
    in_batches(session, rows, |id| insert.execute(&[Datum::Int(id), Datum::Int(n), Datum::Text(text(id))]))
}

/// Calls `insert` for every id, a thousand in a transaction.
pub fn in_batches(session: &dyn SqlSession, rows: i64, mut insert: impl FnMut(i64) -> Result<u64>) -> Result<()> {
    for from in (0..rows).step_by(LOAD_BATCH as usize) {
        session.script("BEGIN")?;
        for id in from..rows.min(from + LOAD_BATCH) {
            insert(id)?;
        }
        session.script("COMMIT")?;
    }
    Ok(())
}
