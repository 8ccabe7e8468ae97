//! One engine held against itself: questions that must have the same answer.
//!
//! - *Ternary logic*: every row of a table or join satisfies exactly one of `p`, `NOT p` and `p IS NULL`.
//! - *Unoptimised count*: `count(*) WHERE p` is the number of rows for which `p`, as a value, is true.
//! - *Indexes*: the same query answers the same before and after indexes are made and statistics taken.

use super::case::Step;
use super::change::Changes;
use super::expression::{Expressions, visible_columns};
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

const PREDICATES: usize = 30;
const INSERTS_PER_TABLE: usize = 12;

/// A question: its texts must give the same rows, whatever their order.
struct Question {
    whole: String,
    parts: Vec<String>,
}

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
    let questions: Vec<Question> = (0..PREDICATES).map(|_| question(&mut random, &tables)).collect();
    let mut report = Consistency::default();
    let before: Vec<_> = questions.iter().map(|question| ask(session.as_mut(), question, &mut report)).collect();
    make_indexes(session.as_mut(), &tables)?;
    for (question, before) in questions.iter().zip(before) {
        let after = ask(session.as_mut(), question, &mut report);
        compare(&mut report, &format!("{} -- before and after indexes", question.whole), before, after);
    }
    Ok(report)
}

fn fill(random: &mut Random, tables: &[TableSpec], table: &TableSpec, session: &mut dyn Session) {
    for _ in 0..INSERTS_PER_TABLE {
        let Step { sql, .. } = Changes { random, dialect: Dialect::Postgres, tables }.insert(table);
        // A row that a constraint refuses is as good as none.
        let _ = session.run(&sql);
    }
}

fn make_indexes(session: &mut dyn Session, tables: &[TableSpec]) -> Result<(), Failure> {
    for table in tables {
        for (number, column) in table.columns.iter().enumerate() {
            session.run(&format!("CREATE INDEX late_{}_{number} ON {} ({})", table.name, table.name, column.name))?;
        }
    }
    session.run("ANALYZE").map(|_| ())
}

fn question(random: &mut Random, tables: &[TableSpec]) -> Question {
    let mut g = Expressions { random, dialect: Dialect::Postgres, tables, visible: Vec::new(), aliases: 0 };
    let from = source(&mut g, tables);
    let columns: Vec<String> = g.visible.iter().map(|column| column.text.clone()).collect();
    let predicate = g.condition(3);
    let select = format!("SELECT {} FROM {from}", columns.join(", "));
    if g.random.percent(30) {
        let counted = format!("SELECT count(*) FROM {from} WHERE {predicate}");
        let valued = format!("SELECT count(CASE WHEN {predicate} THEN 1 END) FROM {from}");
        return Question { whole: counted, parts: vec![valued] };
    }
    let parts = [predicate.clone(), format!("NOT {predicate}"), format!("{predicate} IS NULL")];
    let parts = parts.iter().map(|part| format!("{select} WHERE {part}")).collect();
    Question { whole: select, parts }
}

fn source(g: &mut Expressions<'_>, tables: &[TableSpec]) -> String {
    let first = g.random.pick(tables).clone();
    g.visible = visible_columns(&first, "a");
    if g.random.percent(60) {
        return format!("{} AS a", first.name);
    }
    let second = g.random.pick(tables).clone();
    g.visible.extend(visible_columns(&second, "b"));
    let join = *g.random.pick(&["INNER JOIN", "LEFT JOIN", "RIGHT JOIN"]);
    let operator = *g.random.pick(&["=", "=", "<"]);
    format!("{} AS a {join} {} AS b ON a.k {operator} b.k", first.name, second.name)
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
