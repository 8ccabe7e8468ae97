//! One engine held against itself: questions that must have the same answer.
//!
//! - Two ways to ask the same: see `partition`.
//! - *Indexes*: the same query answers the same before and after indexes are made and statistics taken.

use super::case::Step;
use super::change::Changes;
use super::partition::{Question, question};
use super::schema::{TableSpec, schema};
use super::{Dialect, Random};
use crate::engine::{Answer, Engine, Failure, Session};

/// What a seed's checks gave.
#[derive(Default)]
pub struct Consistency {
    /// Questions whose two answers were compared.
    pub compared: usize,
    /// Questions that failed with a data exception.
    pub failed: usize,
    /// Questions with two answers.
    pub violations: Vec<String>,
}

const QUESTIONS: usize = 60;
const INSERTS_PER_TABLE: usize = 12;

/// Fills a database from a seed and asks it.
pub fn check_consistency(seed: u64, engine: &dyn Engine) -> Result<Consistency, Failure> {
    let mut random = Random::new(seed ^ 0x5EED);
    let (tables, statements) = schema(&mut random, Dialect::Postgres);
    let mut session = engine.session()?;
    for sql in statements {
        session.run(&sql)?;
    }
    for table in &tables {
        fill(&mut random, &tables, table, session.as_mut());
    }
    let questions: Vec<Question> = (0..QUESTIONS).map(|_| question(&mut random, &tables)).collect();
    let mut report = Consistency::default();
    let before: Vec<_> = questions.iter().map(|question| ask(session.as_mut(), question, &mut report)).collect();
    make_indexes(session.as_mut(), &tables)?;
    for (question, before) in questions.iter().zip(before) {
        let after = ask(session.as_mut(), question, &mut report);
        compare(&mut report, &format!("{} -- before and after indexes", question.whole), before, after);
    }
    Ok(report)
}

/// Rows for a table.
pub(super) fn fill(random: &mut Random, tables: &[TableSpec], table: &TableSpec, session: &mut dyn Session) {
    for _ in 0..INSERTS_PER_TABLE {
        let Step { sql, .. } = Changes { random, dialect: Dialect::Postgres, tables }.insert(table);
        // A row that a constraint refuses is as good as none.
        let _ = session.run(&sql);
    }
}

/// An index on every column, and statistics.
pub(super) fn make_indexes(session: &mut dyn Session, tables: &[TableSpec]) -> Result<(), Failure> {
    for table in tables {
        for (number, column) in table.columns.iter().enumerate().filter(|(_, column)| column.kind.is_key()) {
            session.run(&format!("CREATE INDEX late_{}_{number} ON {} ({})", table.name, table.name, column.name))?;
        }
    }
    session.run("ANALYZE").map(|_| ())
}

type Rows = Option<Vec<Vec<Option<String>>>>;

/// The rows of the whole, after comparing them with those of the parts.
fn ask(session: &mut dyn Session, question: &Question, report: &mut Consistency) -> Rows {
    let whole = rows(session, &question.whole, report);
    let parts: Vec<Rows> = question.parts.iter().map(|part| rows(session, part, report)).collect();
    let together = parts.into_iter().collect::<Option<Vec<_>>>().map(|parts| {
        let mut rows: Vec<_> = parts.into_iter().flatten().collect();
        rows.sort();
        rows
    });
    compare(report, &question.parts.join("\n"), whole.clone(), together);
    whole
}

fn rows(session: &mut dyn Session, sql: &str, report: &mut Consistency) -> Rows {
    match session.run(sql) {
        Ok(Answer { mut rows, .. }) => {
            rows.sort();
            Some(rows)
        }
        Err(failure) if failure.sqlstate.starts_with("22") => {
            report.failed += 1;
            None
        }
        Err(failure) => {
            report.violations.push(format!("{sql}\n{failure}"));
            None
        }
    }
}

fn compare(report: &mut Consistency, what: &str, one: Rows, other: Rows) {
    let (Some(one), Some(other)) = (one, other) else { return };
    report.compared += 1;
    if one != other {
        report.violations.push(format!("{what}\n{} rows against {}", one.len(), other.len()));
    }
}
