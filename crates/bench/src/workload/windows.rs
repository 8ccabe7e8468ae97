//! Window functions over a table of many partitions: the running total and the rank of each row.

use super::questions::{Question, ask_all};
use crate::Result;
use crate::engine::{Datum, SqlSession};
use crate::keys::Keys;
use crate::report::Report;
use crate::setup::Setup;
use crate::workload::filling::in_batches;

/// Rows of a partition, on average.
const ROWS_EACH: i64 = 100;

const QUESTIONS: &[Question] = &[
    Question {
        what: "running total",
        sql: "SELECT count(*), sum(total) FROM \
              (SELECT sum(amount) OVER (PARTITION BY part ORDER BY id) AS total FROM payment) q",
        sqlite: None,
    },
    Question {
        what: "rank",
        sql: "SELECT count(*), sum(place) FROM \
              (SELECT rank() OVER (PARTITION BY part ORDER BY amount) AS place FROM payment) q",
        sqlite: None,
    },
    Question {
        what: "running total and rank",
        sql: "SELECT count(*), sum(total), sum(place) FROM (SELECT \
              sum(amount) OVER (PARTITION BY part ORDER BY id) AS total, \
              rank() OVER (PARTITION BY part ORDER BY amount) AS place FROM payment) q",
        sqlite: None,
    },
];

pub fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let rows = setup.args.rows.unwrap_or(setup.args.size(1_000_000, 100_000));
    ask_all("windows", QUESTIONS, &|_, session| load(session, rows), setup, report)
}

fn load(session: &dyn SqlSession, rows: i64) -> Result<()> {
    session.script("CREATE TABLE payment (id BIGINT PRIMARY KEY, part BIGINT NOT NULL, amount BIGINT NOT NULL)")?;
    let mut insert = session.prepare("INSERT INTO payment VALUES ($1, $2, $3)")?;
    let mut random = Keys::new(7);
    in_batches(session, rows, |id| {
        let (part, amount) = (random.below(rows / ROWS_EACH), random.below(100_000));
        insert.execute(&[Datum::Int(id), Datum::Int(part), Datum::Int(amount)])
    })
}
