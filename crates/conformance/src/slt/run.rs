//! Runs a script on an engine and compares.

use std::collections::{BTreeMap, HashSet};

use super::render;
use super::{Dialect, Expected, ParseError, Record, RecordKind, Sort, parse};
use crate::engine::{Answer, Engine, Failure, Session};

/// Which records of a script run.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Lines of records known to fail on the reference engine too.
    pub known_failures: HashSet<usize>,
    /// Of the queries, only every n-th runs; 0 and 1: all.
    pub every: usize,
}

/// A record whose outcome was not the expected one.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// 1-based line of the record.
    pub line: usize,
    /// The statement.
    pub sql: String,
    /// What the script says.
    pub expected: String,
    /// What came.
    pub actual: String,
    /// SQLSTATE and message without its quoted parts, or a word: similar failures share it.
    pub category: String,
}

/// What became of a script.
#[derive(Clone, Debug, Default)]
pub struct FileReport {
    /// Records run and as expected.
    pub passed: usize,
    /// Records for other engines, known failures, and those not sampled.
    pub skipped: usize,
    /// The others.
    pub failures: Vec<Mismatch>,
}

/// Runs a script from an empty database.
pub fn run_script(
    text: &str,
    label: &str,
    dialect: Dialect,
    selection: &Selection,
    engine: &dyn Engine,
) -> Result<FileReport, ParseError> {
    let records = parse(text, label)?;
    // PostgreSQL's own messages change between its versions; ours stay.
    let messages = label != "postgresql";
    let mut runner = Runner { engine, dialect, messages, sessions: BTreeMap::new() };
    let mut report = FileReport::default();
    let mut queries = 0_usize;
    for record in records {
        if record.kind == RecordKind::Halt {
            if record.applies {
                break;
            }
            continue;
        }
        let is_query = matches!(record.kind, RecordKind::Query { .. });
        queries += usize::from(is_query);
        let sampled = !is_query || selection.every <= 1 || queries.is_multiple_of(selection.every);
        if !record.applies || !sampled || selection.known_failures.contains(&record.line) {
            report.skipped += 1;
            continue;
        }
        match runner.run(&record) {
            Ok(()) => report.passed += 1,
            Err(mismatch) => report.failures.push(*mismatch),
        }
    }
    Ok(report)
}

struct Runner<'a> {
    engine: &'a dyn Engine,
    dialect: Dialect,
    messages: bool,
    sessions: BTreeMap<String, Box<dyn Session + 'a>>,
}

impl Runner<'_> {
    fn run(&mut self, record: &Record<'_>) -> Result<(), Box<Mismatch>> {
        let outcome = self.outcome(record);
        let verdict = match &record.kind {
            RecordKind::Ok(count) => statement_verdict(*count, outcome),
            RecordKind::Error { code, message } => error_verdict(*code, message.filter(|_| self.messages), outcome),
            RecordKind::Query { letters, sort, expected } => self.query_verdict(letters, *sort, expected, outcome),
            RecordKind::Halt => Ok(()),
        };
        verdict.map_err(|Difference { expected, actual, category }| {
            Box::new(Mismatch { line: record.line, sql: record.sql.clone(), expected, actual, category })
        })
    }

    fn outcome(&mut self, record: &Record<'_>) -> Result<Answer, Failure> {
        if !self.sessions.contains_key(record.connection) {
            self.sessions.insert(record.connection.to_owned(), self.engine.session()?);
        }
        match self.sessions.get_mut(record.connection) {
            Some(session) => session.run(&record.sql),
            None => Err(Failure { sqlstate: "08003".into(), message: "no such connection".into() }),
        }
    }

    fn query_verdict(
        &self,
        letters: &str,
        sort: Sort,
        expected: &Expected<'_>,
        outcome: Result<Answer, Failure>,
    ) -> Result<(), Difference> {
        let answer = outcome.map_err(|failure| Difference::failed("rows", &failure))?;
        if answer.columns.len() != letters.len() {
            let actual = format!("{} columns", answer.columns.len());
            return Err(Difference::new(format!("{} columns", letters.len()), actual, "column count"));
        }
        let lines = render::lines(&answer, letters, sort, self.dialect);
        match expected {
            Expected::Lines(wanted) if lines.iter().eq(wanted) => Ok(()),
            Expected::Lines(wanted) => Err(Difference::new(wanted.join("\n"), lines.join("\n"), "wrong rows")),
            Expected::Hash { values, md5 } => {
                let hash = render::hash(&lines);
                if lines.len() == *values && hash == *md5 {
                    return Ok(());
                }
                let shown = lines.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
                let actual = format!("{} values hashing to {hash}, beginning\n{shown}", lines.len());
                Err(Difference::new(format!("{values} values hashing to {md5}"), actual, "wrong rows"))
            }
        }
    }
}

struct Difference {
    expected: String,
    actual: String,
    category: String,
}

impl Difference {
    fn new(expected: impl Into<String>, actual: impl Into<String>, category: impl Into<String>) -> Difference {
        Difference { expected: expected.into(), actual: actual.into(), category: category.into() }
    }

    fn failed(expected: impl Into<String>, failure: &Failure) -> Difference {
        let category = format!("{} {}", failure.sqlstate, without_quoted(&failure.message));
        Difference::new(expected, format!("error {failure}"), category)
    }
}

/// `column "a" does not exist` and `column "b" does not exist` are one category.
fn without_quoted(message: &str) -> String {
    let parts = message.split('"').enumerate();
    parts.map(|(index, part)| if index % 2 == 0 { part } else { "\"\"" }).collect()
}

fn statement_verdict(count: Option<u64>, outcome: Result<Answer, Failure>) -> Result<(), Difference> {
    let answer = outcome.map_err(|failure| Difference::failed("success", &failure))?;
    match count {
        Some(wanted) if answer.affected != Some(wanted) => {
            let actual = format!("{:?} rows changed", answer.affected);
            Err(Difference::new(format!("{wanted} rows changed"), actual, "wrong count"))
        }
        _ => Ok(()),
    }
}

fn error_verdict(
    code: Option<&str>,
    message: Option<&str>,
    outcome: Result<Answer, Failure>,
) -> Result<(), Difference> {
    match (code, outcome) {
        (code, Ok(_)) => Err(Difference::new(format!("error {}", code.unwrap_or("")), "success", "missing error")),
        (Some(code), Err(failure)) if failure.sqlstate != code => {
            Err(Difference::failed(format!("error {code}"), &failure))
        }
        (_, Err(failure)) if message.is_some_and(|wanted| failure.message.trim() != wanted) => {
            let category = "another message than PostgreSQL's";
            Err(Difference::new(message.unwrap_or(""), failure.message, category))
        }
        (_, Err(_)) => Ok(()),
    }
}
