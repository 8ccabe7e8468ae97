//! The operations, each through prepared statements on CairnDB's public API, in a database that all of them begin with.

use std::path::Path;

use crate::Result;
use crate::engine::{Datum, SqlEngine, SqlKind, SqlOptions, SqlSession};
use crate::keys::Keys;
use crate::rows::text;
use crate::workload::bank::{self, Transfers};
use crate::workload::filling::create_rows;

const ROWS: i64 = 20_000;
const ACCOUNTS: i64 = 5_000;
const RANGE: i64 = 1_000;
const BATCH: i64 = 1_000;

type Step<'s> = Box<dyn FnMut(i64) -> Result<()> + 's>;

/// Something of which a count is kept.
pub struct Operation {
    pub name: &'static str,
    /// Times that it is done, and once more.
    pub times: i64,
    /// Rows (or operations) in one time.
    pub each: i64,
    step: for<'s> fn(&'s dyn SqlSession) -> Result<Step<'s>>,
}

/// All of them.
pub const ALL: &[Operation] = &[
    Operation {
        name: "point SELECT",
        times: 4_000,
        each: 1,
        step: |session| {
            let mut select = session.prepare("SELECT n, v FROM t WHERE id = $1")?;
            let mut keys = Keys::new(1);
            Ok(Box::new(move |_| select.first(&[Datum::Int(keys.below(ROWS))]).map(drop)))
        },
    },
    Operation {
        name: "UPDATE by key",
        times: 2_000,
        each: 1,
        step: |session| {
            let mut update = session.prepare("UPDATE t SET n = $1 WHERE id = $2")?;
            let mut keys = Keys::new(1);
            Ok(Box::new(move |at| update.execute(&[Datum::Int(ROWS + at), Datum::Int(keys.below(ROWS))]).map(drop)))
        },
    },
    Operation {
        name: "INSERT, each on its own",
        times: 2_000,
        each: 1,
        step: |session| {
            let mut insert = session.prepare(INSERT)?;
            Ok(Box::new(move |at| insert.execute(&row(ROWS + at, at)).map(drop)))
        },
    },
    Operation {
        name: "INSERT, 1,000 in a transaction",
        times: 5,
        each: BATCH,
        step: |session| {
            let mut insert = session.prepare(INSERT)?;
            Ok(Box::new(move |at| {
                // Beyond what others insert.
                let from = 10 * ROWS + at * BATCH;
                session
                    .transaction(&mut || (from..from + BATCH).try_for_each(|id| insert.execute(&row(id, id)).map(drop)))
            }))
        },
    },
    Operation {
        name: "upsert",
        times: 2_000,
        each: 1,
        step: |session| {
            let mut upsert = session.prepare(
                "INSERT INTO t VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET n = excluded.n, v = excluded.v",
            )?;
            let mut keys = Keys::new(1);
            // One in two is there.
            Ok(Box::new(move |at| upsert.execute(&row(keys.below(2 * ROWS), ROWS + at)).map(drop)))
        },
    },
    Operation {
        name: "DELETE by key",
        times: 2_000,
        each: 1,
        step: |session| {
            let mut delete = session.prepare("DELETE FROM t WHERE id = $1")?;
            // Every row once, scattered: the factor has no divisor in common with their number.
            Ok(Box::new(move |at| delete.execute(&[Datum::Int(at * 7_919 % ROWS)]).map(drop)))
        },
    },
    Operation {
        name: "short transaction",
        times: 1_000,
        each: 1,
        step: |session| {
            let mut transfers = Transfers::new(session, ACCOUNTS, 1)?;
            Ok(Box::new(move |at| transfers.run(at).map(drop)))
        },
    },
    Operation {
        name: "range of 1,000",
        times: 20,
        each: 1,
        step: |session| {
            let mut range = session.prepare("SELECT id, n, v FROM t WHERE id >= $1 AND id < $2")?;
            let mut keys = Keys::new(1);
            Ok(Box::new(move |_| {
                let from = keys.below(ROWS - RANGE);
                range.query(&[Datum::Int(from), Datum::Int(from + RANGE)]).map(drop)
            }))
        },
    },
    Operation {
        name: "join of a row with its parent",
        times: 2_000,
        each: 1,
        step: |session| {
            let mut join = session.prepare("SELECT t.n, a.v FROM t JOIN account a ON a.id = t.id WHERE t.id = $1")?;
            let mut keys = Keys::new(1);
            Ok(Box::new(move |_| join.first(&[Datum::Int(keys.below(ACCOUNTS))]).map(drop)))
        },
    },
    Operation {
        name: "ten rows by an index, counted and summed",
        times: 1_000,
        each: 1,
        step: |session| of_a_parent(session, "SELECT count(*), sum(n) FROM child WHERE parent = $1"),
    },
    Operation {
        name: "the same joined with their parent",
        times: 1_000,
        each: 1,
        step: |session| {
            let join = "SELECT a.v, count(*), sum(c.n) FROM account a JOIN child c ON c.parent = a.id WHERE a.id = $1 \
                        GROUP BY a.v";
            of_a_parent(session, join)
        },
    },
    Operation {
        name: "the first of ten rows by an index",
        times: 1_000,
        each: 1,
        step: |session| of_a_parent(session, "SELECT id, n FROM child WHERE parent = $1 ORDER BY id LIMIT 1"),
    },
    Operation {
        name: "scan and sum, a row",
        times: 5,
        each: ROWS,
        step: |session| {
            let mut scan = session.prepare("SELECT count(*), sum(n) FROM t")?;
            Ok(Box::new(move |_| scan.query(&[]).map(drop)))
        },
    },
    Operation { name: "filtered scan, a row", times: 5, each: ROWS, step: |session| filtered(session, "t") },
    Operation {
        name: "filtered scan with NULLs, a row",
        times: 5,
        each: ROWS,
        step: |session| {
            session.script(&format!(
                "CREATE TABLE u (id BIGINT PRIMARY KEY, n BIGINT, v TEXT, x BIGINT); \
                 INSERT INTO u SELECT id, n, v, NULL FROM t WHERE id < {ROWS}"
            ))?;
            filtered(session, "u")
        },
    },
    // What follows comes as text that was never seen before: a comment that counts makes each another.
    Operation {
        name: "SELECT of a key as text",
        times: 1_000,
        each: 1,
        step: |session| {
            let mut keys = Keys::new(1);
            Ok(Box::new(move |at| {
                let text = format!("SELECT n, v FROM t WHERE id = {} -- {at}", keys.below(ROWS));
                session.prepare(&text)?.first(&[]).map(drop)
            }))
        },
    },
    Operation {
        name: "UPDATE of a key as text",
        times: 500,
        each: 1,
        step: |session| {
            let mut keys = Keys::new(1);
            Ok(Box::new(move |at| {
                let text = format!("UPDATE t SET n = {at} WHERE id = {} -- {at}", keys.below(ROWS));
                session.prepare(&text)?.execute(&[]).map(drop)
            }))
        },
    },
    Operation {
        name: "script of INSERTs, a statement",
        times: 500,
        each: 1,
        step: |session| {
            session.script("BEGIN")?;
            Ok(Box::new(move |at| {
                session.script(&format!("INSERT INTO t VALUES ({}, {at}, '{}')", 100 * ROWS + at, text(at)))
            }))
        },
    },
];

/// What is asked of ten rows that belong together and lie far from each other.
fn of_a_parent<'s>(session: &'s dyn SqlSession, sql: &str) -> Result<Step<'s>> {
    let children = format!("SELECT i, i % {ACCOUNTS}, i FROM generate_series(0, {}) AS s(i)", 10 * ACCOUNTS - 1);
    session.script(&format!(
        "CREATE TABLE child (id bigint PRIMARY KEY, parent bigint NOT NULL, n bigint NOT NULL);
         INSERT INTO child {children}; CREATE INDEX ON child (parent); ANALYZE child"
    ))?;
    let mut statement = session.prepare(sql)?;
    let mut keys = Keys::new(1);
    Ok(Box::new(move |_| statement.query(&[Datum::Int(keys.below(ACCOUNTS))]).map(drop)))
}

/// A scan of which half the rows are wanted; their texts are looked at.
fn filtered<'s>(session: &'s dyn SqlSession, table: &str) -> Result<Step<'s>> {
    let mut scan = session.prepare(&format!("SELECT max(v) FROM {table} WHERE n < {}", ROWS / 2))?;
    Ok(Box::new(move |_| scan.query(&[]).map(drop)))
}

const INSERT: &str = "INSERT INTO t VALUES ($1, $2, $3)";

fn row(id: i64, n: i64) -> [Datum<'static>; 3] {
    [Datum::Int(id), Datum::Int(n), Datum::Text(text(id))]
}

/// The operations whose names hold one of these words; all, where there is none.
pub fn names(only: &[String]) -> impl Iterator<Item = &'static Operation> {
    ALL.iter().filter(move |operation| only.is_empty() || only.iter().any(|word| operation.name.contains(word)))
}

/// What every operation finds.
fn create(session: &dyn SqlSession) -> Result<()> {
    create_rows(session, "t", ROWS, 0)?;
    bank::create(session, ACCOUNTS)
}

impl Operation {
    /// In the process that is counted: makes the database and does the operation this many times.
    pub fn perform(&self, dir: &Path, times: i64) -> Result<()> {
        let engine: Box<dyn SqlEngine> = SqlKind::Cairn.open(dir, SqlOptions::default())?;
        engine.connect(&mut |session| {
            create(session)?;
            self.repeat(session, times)
        })?;
        engine.close()
    }

    fn repeat(&self, session: &dyn SqlSession, times: i64) -> Result<()> {
        let mut step = (self.step)(session)?;
        (0..times).try_for_each(&mut *step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_runs_and_is_found_by_its_name_alone() {
        for operation in ALL {
            assert_eq!(names(&[operation.name.to_string()]).count(), 1, "{}", operation.name);
            // A database of its own, as when it is counted.
            let dir = tempfile::tempdir().unwrap();
            operation.perform(dir.path(), 2).unwrap_or_else(|error| panic!("{}: {error}", operation.name));
        }
    }
}
