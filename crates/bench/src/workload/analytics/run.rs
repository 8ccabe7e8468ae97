//! The 22 queries of TPC-H at a given scale, each against the other SQL engines. Before anything is measured, the
//! engines' answers are compared: numbers within one part in a million, for some engines keep decimals as binary
//! floating point.

use super::answer::difference;
use super::{data, queries};
use crate::Result;
use crate::engine::{Cell, SqlKind, SqlSession};
use crate::latency::Latencies;
use crate::report::{Place, Report};
use crate::setup::{Medium, Setup};
use crate::terminal::{progress, say};
use crate::workload::together::{Connected, with_connections};

pub fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let medium: &Medium = setup.fastest();
    let place = Place { workload: "analytics", medium: medium.name };
    let scale = setup.args.scale.unwrap_or(setup.args.size(0.1, 0.01));
    say(format!("scale {scale}; the same indexes and ANALYZE in every engine"));
    let mut engines = Vec::new();
    for kind in setup.sql_kinds(SqlKind::OF_QUERIES) {
        let engine = setup.open_sql(kind, medium, report)?;
        engine.connect(&mut |session| data::load(session, scale))?;
        engines.push(engine);
    }
    let queries = queries::all();
    with_connections(&engines, &mut |connected| {
        for one in connected.iter().filter(|one| one.name == SqlKind::Sqlite.name()) {
            one.session.script("PRAGMA case_sensitive_like = ON")?;
        }
        compare(&queries, connected)?;
        for round in 0..setup.args.rounds() {
            progress(place, round, setup.args.rounds());
            for (number, sql) in (1..).zip(&queries) {
                for &Connected { name, session, .. } in connected {
                    let mut latencies = Latencies::new()?;
                    latencies.time(|| ask(name, session, sql))?;
                    report.add(place, name, &format!("Q{number:02}"), "ms", latencies.max_us() / 1e3);
                }
            }
        }
        Ok(())
    })?;
    engines.into_iter().try_for_each(|engine| engine.close())
}

/// Also the warm-up.
fn compare(queries: &[String], connected: &[Connected<'_>]) -> Result<()> {
    for (number, sql) in (1..).zip(queries) {
        let mut first: Option<(&str, Vec<Vec<Cell>>)> = None;
        for &Connected { name, session, .. } in connected {
            let rows = ask(name, session, sql)?;
            match &first {
                None => first = Some((name, rows)),
                Some((other, expected)) => {
                    if let Some(why) = difference(expected, &rows) {
                        return Err(format!("Q{number}: {other} and {name} answer differently: {why}").into());
                    }
                }
            }
        }
    }
    Ok(())
}

fn ask(name: &str, session: &dyn SqlSession, sql: &str) -> Result<Vec<Vec<Cell>>> {
    let spelled = if name == SqlKind::Sqlite.name() { queries::for_sqlite(sql) } else { sql.to_string() };
    session.prepare(&spelled)?.rows(&[])
}
