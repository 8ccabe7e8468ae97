//! Queries that several SQL engines answer, in turn and round by round. Their answers are compared before anything is
//! measured.

use super::analytics::difference;
use super::together::{Connected, steps, with_connections};
use crate::Result;
use crate::engine::{Cell, Datum, SqlKind, SqlSession};
use crate::keys::Keys;
use crate::latency::Latencies;
use crate::report::{Place, Report};
use crate::setup::Setup;
use crate::terminal::progress;

/// A query, and how it is spelled for SQLite where that differs.
pub struct Question {
    pub what: &'static str,
    pub sql: &'static str,
    pub sqlite: Option<&'static str>,
}

impl Question {
    fn spelled(&self, engine: &str) -> &'static str {
        self.sqlite.filter(|_| engine == SqlKind::Sqlite.name()).unwrap_or(self.sql)
    }
}

/// Fills an engine's database; the first argument is the engine's name.
pub type Load<'l> = &'l dyn Fn(&str, &dyn SqlSession) -> Result<()>;

/// Each question once in a round, in milliseconds.
pub fn ask_all(
    workload: &'static str,
    questions: &[Question],
    load: Load<'_>,
    setup: &Setup,
    report: &mut Report,
) -> Result<()> {
    with_loaded(workload, load, setup, report, &mut |place, connected, report| {
        for question in questions {
            agree(question, connected, &[])?;
        }
        for round in 0..setup.args.rounds() {
            progress(place, round, setup.args.rounds());
            for question in questions {
                for &Connected { name, session, .. } in connected {
                    let mut latencies = Latencies::new()?;
                    latencies.time(|| session.prepare(question.spelled(name))?.rows(&[]))?;
                    report.add(place, name, question.what, "ms", latencies.max_us() / 1e3);
                }
            }
        }
        Ok(())
    })
}

/// Each question many times in a round, prepared, with a random number below the first of the two.
pub fn ask_keys(
    workload: &'static str,
    questions: &[Question],
    load: Load<'_>,
    (rows, times): (i64, u64),
    setup: &Setup,
    report: &mut Report,
) -> Result<()> {
    with_loaded(workload, load, setup, report, &mut |place, connected, report| {
        for question in questions {
            agree(question, connected, &[Datum::Int(rows / 2)])?;
        }
        for round in 0..setup.args.rounds() {
            progress(place, round, setup.args.rounds());
            for question in questions {
                for &Connected { name, session, .. } in connected {
                    let (mut statement, mut keys) =
                        (session.prepare(question.spelled(name))?, Keys::new(setup.args.seed));
                    let latencies = steps(times, |_| {
                        let digest = statement.first(&[Datum::Int(keys.below(rows))])?;
                        if digest.rows == 1 { Ok(()) } else { Err("a document was not found".into()) }
                    })?;
                    report.add_latencies(place, name, question.what, &latencies, &[0.5, 0.99])?;
                }
            }
        }
        Ok(())
    })
}

/// What is asked of the engines side by side.
type Work<'w> = &'w mut dyn FnMut(Place, &[Connected<'_>], &mut Report) -> Result<()>;

fn with_loaded(
    workload: &'static str,
    load: Load<'_>,
    setup: &Setup,
    report: &mut Report,
    work: Work<'_>,
) -> Result<()> {
    let medium = setup.fastest();
    let place = Place { workload, medium: medium.name };
    let mut engines = Vec::new();
    for kind in setup.sql_kinds(SqlKind::OF_LOADS) {
        let engine = setup.open_sql(kind, medium, report)?;
        engine.connect(&mut |session| {
            load(kind.name(), session)?;
            session.script("ANALYZE")
        })?;
        engines.push(engine);
    }
    with_connections(&engines, &mut |connected| work(place, connected, report))?;
    engines.into_iter().try_for_each(|engine| engine.close())
}

/// All engines give the same answer. Also the warm-up.
fn agree(question: &Question, connected: &[Connected<'_>], params: &[Datum<'_>]) -> Result<()> {
    let mut first: Option<(&str, Vec<Vec<Cell>>)> = None;
    for &Connected { name, session, .. } in connected {
        let rows = session.prepare(question.spelled(name))?.rows(params)?;
        match &first {
            None => first = Some((name, rows)),
            Some((other, expected)) => {
                if let Some(why) = difference(expected, &rows) {
                    return Err(format!("{}: {other} and {name} answer differently: {why}", question.what).into());
                }
            }
        }
    }
    Ok(())
}
