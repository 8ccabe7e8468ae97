//! A bulk UPDATE of a table with a trigger that writes an audit row for each row, and the same UPDATE without one. The trigger is in
//! PL/pgSQL here; SQLite's is its own.

use super::questions::{Question, ask_all};
use crate::Result;
use crate::engine::{Datum, SqlKind, SqlSession};
use crate::report::Report;
use crate::setup::Setup;
use crate::workload::filling::in_batches;

const QUESTIONS: &[Question] = &[
    Question { what: "rows updated, an audit row each", sql: "UPDATE account SET balance = balance + 1", sqlite: None },
    Question { what: "rows updated without a trigger", sql: "UPDATE plain SET balance = balance + 1", sqlite: None },
];

const TABLES: &str = "CREATE TABLE account (id BIGINT PRIMARY KEY, owner TEXT NOT NULL, balance BIGINT NOT NULL);
    CREATE TABLE plain (id BIGINT PRIMARY KEY, owner TEXT NOT NULL, balance BIGINT NOT NULL);";

const SQLITE: &str = "CREATE TABLE audit (n INTEGER PRIMARY KEY, account BIGINT NOT NULL, old BIGINT, new BIGINT);
    CREATE TRIGGER audited AFTER UPDATE ON account FOR EACH ROW BEGIN
        INSERT INTO audit (account, old, new) VALUES (NEW.id, OLD.balance, NEW.balance);
    END;";

const CAIRN: &str = "CREATE TABLE audit (n BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, account BIGINT NOT NULL,
        old BIGINT, new BIGINT);
    CREATE FUNCTION audited() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO audit (account, old, new) VALUES (NEW.id, OLD.balance, NEW.balance);
        RETURN NULL;
    END $$;
    CREATE TRIGGER audited AFTER UPDATE ON account FOR EACH ROW EXECUTE FUNCTION audited();";

pub fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let rows = setup.args.rows.unwrap_or(setup.args.size(100_000, 10_000));
    let load = |name: &str, session: &dyn SqlSession| load(name == SqlKind::Sqlite.name(), session, rows);
    ask_all("triggers", QUESTIONS, &load, setup, report)
}

fn load(is_sqlite: bool, session: &dyn SqlSession, rows: i64) -> Result<()> {
    session.script(TABLES)?;
    session.script(if is_sqlite { SQLITE } else { CAIRN })?;
    for table in ["account", "plain"] {
        let mut insert = session.prepare(&format!("INSERT INTO {table} VALUES ($1, $2, $3)"))?;
        let row = |id: i64| [Datum::Int(id), Datum::Text("somebody"), Datum::Int(id * 7)];
        in_batches(session, rows, |id| insert.execute(&row(id)))?;
    }
    Ok(())
}
