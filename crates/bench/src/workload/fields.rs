//! JSON documents of 1,024 bytes, kept as each engine's binary form: one field of all of them summed, documents looked
//! up by an index of a field, beside looking them up by their key, and one in 10,007 found by what it contains, with and without
//! an inverted index (in SQLite an index of the field).

use super::questions::{Question, ask_all, ask_keys};
use crate::Result;
use crate::engine::{Datum, SqlKind, SqlSession};
use crate::report::Report;
use crate::setup::Setup;
use crate::workload::filling::in_batches;

const DOCUMENT_BYTES: usize = 1024;

const QUESTIONS: &[Question] = &[
    Question {
        what: "one field summed",
        sql: "SELECT count(*), sum((body ->> 'n')::bigint) FROM document",
        sqlite: Some("SELECT count(*), sum(body ->> 'n') FROM document"),
    },
    Question {
        what: "a field within a field counted",
        sql: "SELECT count(*) FROM document WHERE body -> 'address' ->> 'city' = 'city 7'",
        sqlite: None,
    },
];

const CONTAINMENT: &[Question] = &[
    Question {
        what: "one in 10,007 by what it contains, scanned",
        sql: "SELECT count(*), min(id) FROM document WHERE jsonb_contains(body, '{\"n\": 7}')",
        sqlite: Some("SELECT count(*), min(id) FROM document WHERE +(body ->> 'n') = 7"),
    },
    Question {
        what: "one in 10,007 by what it contains, indexed",
        sql: "SELECT count(*), min(id) FROM document WHERE body @> '{\"n\": 7}'",
        sqlite: Some("SELECT count(*), min(id) FROM document WHERE body ->> 'n' = 7"),
    },
];

/// By the document's number.
const LOOKUPS: &[Question] = &[
    Question { what: "lookup by key", sql: "SELECT id FROM document WHERE id = $1", sqlite: None },
    Question {
        what: "lookup by a field's index",
        sql: "SELECT id FROM document WHERE (body ->> 'number')::bigint = $1",
        sqlite: Some("SELECT id FROM document WHERE body ->> 'number' = $1"),
    },
];

pub fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let rows = setup.args.rows.unwrap_or(setup.args.size(1_000_000, 50_000));
    let by_number = |name: &str, session: &dyn SqlSession| load(name == SqlKind::Sqlite.name(), session, rows);
    ask_all("fields", QUESTIONS, &by_number, setup, report)?;
    ask_keys("fields", LOOKUPS, &by_number, (rows, setup.args.size(20_000, 2_000)), setup, report)?;
    let by_contents = |name: &str, session: &dyn SqlSession| {
        let is_sqlite = name == SqlKind::Sqlite.name();
        load(is_sqlite, session, rows.min(200_000))?;
        session.script(match is_sqlite {
            true => "CREATE INDEX document_n ON document (body ->> 'n')",
            false => "CREATE INDEX document_items ON document USING gin (body jsonb_path_ops)",
        })
    };
    ask_all("fields", CONTAINMENT, &by_contents, setup, report)
}

fn load(is_sqlite: bool, session: &dyn SqlSession, rows: i64) -> Result<()> {
    let (table, insert, index) = match is_sqlite {
        true => (
            "CREATE TABLE document (id BIGINT PRIMARY KEY, body BLOB NOT NULL)",
            "INSERT INTO document VALUES ($1, jsonb($2))",
            "CREATE INDEX document_number ON document (body ->> 'number')",
        ),
        false => (
            "CREATE TABLE document (id BIGINT PRIMARY KEY, body jsonb NOT NULL)",
            "INSERT INTO document VALUES ($1, $2::text::jsonb)",
            "CREATE INDEX document_number ON document (((body ->> 'number')::bigint))",
        ),
    };
    session.script(table)?;
    let mut insert = session.prepare(insert)?;
    in_batches(session, rows, |id| insert.execute(&[Datum::Int(id), Datum::Text(&document(id))]))?;
    session.script(index)
}

fn document(id: i64) -> String {
    let (city, n) = (id % 1_000, id * 7 % 10_007);
    let mut text = format!(
        "{{\"number\": {id}, \"name\": \"customer {id}\", \"tags\": [\"a\", \"b\", \"tag {city}\"], \"n\": {n}, \
         \"address\": {{\"street\": \"street {n}\", \"city\": \"city {city}\", \"zip\": \"{n:05}\"}}, \
         \"price\": {}.{:02}, \"active\": {}, \"note\": \"",
        n / 3,
        n % 100,
        id % 2 == 0
    );
    let rest = DOCUMENT_BYTES.saturating_sub(text.len() + 2);
    text.extend("lorem ipsum dolor sit amet ".chars().cycle().take(rest));
    text.push_str("\"}");
    text
}
