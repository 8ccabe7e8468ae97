//! Autocommit INSERT of one row into a table with two secondary indexes, an integer's and a text's, each durable.

use super::filling::in_batches;
use super::together::{steps, with_connections};
use crate::Result;
use crate::engine::{Datum, SqlKind, SqlSession};
use crate::keys::Keys;
use crate::report::{Place, Report};
use crate::rows::text;
use crate::setup::{Medium, Setup};
use crate::terminal::progress;

const SHARES: [f64; 3] = [0.5, 0.95, 0.99];
const OWNERS: i64 = 10_000;

const TABLE: &str = "CREATE TABLE entry (id BIGINT PRIMARY KEY, owner BIGINT NOT NULL, note TEXT NOT NULL)";
const INSERT: &str = "INSERT INTO entry VALUES ($1, $2, $3)";

pub fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    setup.media().try_for_each(|medium| on(setup, medium, report))
}

fn on(setup: &Setup, medium: &Medium, report: &mut Report) -> Result<()> {
    let place = Place { workload: "indexed", medium: medium.name };
    let args = &setup.args;
    let rows = args.rows.unwrap_or(args.size(100_000, 10_000));
    let usual = if medium.name == "disk" { args.size(4_000, 300) } else { args.size(50_000, 3_000) };
    let commits = args.commits.unwrap_or(usual);
    let mut engines = Vec::new();
    for kind in setup.sql_kinds(SqlKind::OF_LOADS) {
        let engine = setup.open_sql(kind, medium, report)?;
        engine.connect(&mut |session| fill(session, rows))?;
        engines.push(engine);
    }
    with_connections(&engines, &mut |connected| {
        // As many in each engine.
        let mut next = rows;
        for round in 0..args.rounds() {
            progress(place, round, args.rounds());
            let first = next;
            for engine in connected {
                let mut insert = engine.session.prepare(INSERT)?;
                let mut keys = Keys::new(args.seed + round as u64);
                next = first;
                let latencies = steps(commits, |_| {
                    let (owner, note) = (keys.below(OWNERS), text(keys.below(i64::MAX)));
                    insert.execute(&[Datum::Int(next), Datum::Int(owner), Datum::Text(note)])?;
                    next += 1;
                    Ok(())
                })?;
                report.add_latencies(place, engine.name, "insert into two indexes", &latencies, &SHARES)?;
            }
        }
        connected.iter().try_for_each(|engine| {
            let counted = engine.session.prepare("SELECT count(*) FROM entry")?.first(&[])?;
            if counted.sum == next as f64 { Ok(()) } else { Err(format!("{}: rows are missing", engine.name).into()) }
        })
    })?;
    engines.into_iter().try_for_each(|engine| engine.close())
}

fn fill(session: &dyn SqlSession, rows: i64) -> Result<()> {
    session.script(TABLE)?;
    session.script("CREATE INDEX entry_owner ON entry (owner)")?;
    session.script("CREATE INDEX entry_note ON entry (note)")?;
    let (mut insert, mut keys) = (session.prepare(INSERT)?, Keys::new(7));
    in_batches(session, rows, |id| {
        let (owner, note) = (keys.below(OWNERS), text(keys.below(i64::MAX)));
        insert.execute(&[Datum::Int(id), Datum::Int(owner), Datum::Text(note)])
    })
}
