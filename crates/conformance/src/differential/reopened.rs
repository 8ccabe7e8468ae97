//! The same queries inside the transaction that made everything, after its commit, and after closing and opening again.

use super::change::Changes;
use super::compare::{Outcome, same_answer};
use super::consistency::Consistency;
use super::expression::Expressions;
use super::query::query;
use super::schema::schema;
use super::{Dialect, Random, Rules, Step};
use crate::engine::{Engine, Failure, Session};

const INSERTS_PER_TABLE: usize = 8;
const CHANGES: usize = 12;
const QUERIES: usize = 50;

/// Asks the queries of a seed in three places. `open` opens the same database each time it is called; what it gave before
/// has been closed by then.
pub fn check_reopened<E: Engine>(seed: u64, open: impl Fn() -> Result<E, Failure>) -> Result<Consistency, Failure> {
    let mut random = Random::new(seed ^ 0x0_9E4);
    let (tables, schema) = schema(&mut random, Dialect::Postgres);
    let mut changes: Vec<Step> = schema.into_iter().map(Step::change).collect();
    // What a deferred key does not find at COMMIT would undo all of it.
    changes.push(Step::change("SET CONSTRAINTS ALL IMMEDIATE".into()));
    let mut make = Changes { random: &mut random, dialect: Dialect::Postgres, tables: &tables };
    for table in &tables {
        changes.extend((0..INSERTS_PER_TABLE).map(|_| make.insert(table)));
    }
    for _ in 0..CHANGES {
        let table = make.random.pick(&tables).clone();
        changes.push(if make.random.percent(70) { make.update(&table) } else { make.delete(&table) });
    }
    let mut queries: Vec<Step> = tables.iter().map(Changes::contents).collect();
    let visible = Vec::new();
    let mut g = Expressions { random: &mut random, dialect: Dialect::Postgres, tables: &tables, visible, aliases: 0 };
    queries.extend((0..QUERIES).map(|_| query(&mut g)));

    let mut report = Consistency::default();
    let before = {
        let engine = open()?;
        let mut session = engine.session()?;
        session.run("BEGIN")?;
        changes.iter().for_each(|step| drop(guarded(session.as_mut(), step)));
        let inside: Vec<Outcome> = queries.iter().map(|step| guarded(session.as_mut(), step)).collect();
        session.run("COMMIT")?;
        compare(&mut report, "after COMMIT", session.as_mut(), &queries, &inside);
        inside
    };
    let engine = open()?;
    compare(&mut report, "after reopening", engine.session()?.as_mut(), &queries, &before);
    Ok(report)
}

/// A statement whose failure does not fail its transaction.
fn guarded(session: &mut dyn Session, step: &Step) -> Outcome {
    session.run("SAVEPOINT guard")?;
    let outcome = session.run(&step.sql);
    if outcome.is_err() {
        session.run("ROLLBACK TO SAVEPOINT guard")?;
    }
    session.run("RELEASE SAVEPOINT guard")?;
    outcome
}

fn compare(report: &mut Consistency, when: &str, session: &mut dyn Session, queries: &[Step], inside: &[Outcome]) {
    for (step, inside) in queries.iter().zip(inside) {
        let found = session.run(&step.sql);
        match same_answer(step, Rules { details: true }, inside, &found) {
            Some(true) => report.compared += 1,
            None => report.failed += 1,
            Some(false) => {
                report.compared += 1;
                let sql = &step.sql;
                report.violations.push(format!("{sql};\n-- in the transaction: {inside:?}\n-- {when}: {found:?}"));
            }
        }
    }
}
