//! Statements that come as text and were never seen before: a point SELECT to its row, an INSERT of many constants, and a
//! script of INSERTs as a dump has them.
//!
//! Every text has constants of its own, so that no cache of statements helps. The texts are made before the clock runs.

use std::fmt::Write;
use std::time::Instant;

use super::filling::create_rows;
use super::together::{Connected, steps, with_connections};
use crate::Result;
use crate::engine::{Digest, SqlKind};
use crate::keys::Keys;
use crate::latency::Latencies;
use crate::report::{Place, Report};
use crate::rows::text;
use crate::setup::{Medium, Setup};
use crate::terminal::progress;

const SHARES: [f64; 3] = [0.5, 0.95, 0.99];
/// Rows of an INSERT.
const ROWS: i64 = 1_000;
const TABLE: &str = "CREATE TABLE many (id BIGINT PRIMARY KEY, a BIGINT, b BIGINT, c BIGINT, d BIGINT, e BIGINT, \
    v TEXT, w TEXT, x TEXT, y TEXT)";

pub fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let medium: &Medium = setup.fastest();
    let args = &setup.args;
    let rows = args.rows.unwrap_or(args.size(100_000, 5_000));
    let texts = Texts { place: Place { workload: "text", medium: medium.name }, rows, seed: args.seed };
    let mut engines = Vec::new();
    for kind in setup.sql_kinds(SqlKind::OF_TRANSACTIONS) {
        let engine = setup.open_sql(kind, medium, report)?;
        engine.connect(&mut |session| create_rows(session, "t", rows, 0).and_then(|()| session.script(TABLE)))?;
        engines.push(engine);
    }
    let (selects, inserts) = (args.size(100_000, 3_000), args.size(200, 10));
    let script_bytes = args.size(100 << 20, 1 << 20);
    with_connections(&engines, &mut |connected| {
        for round in 0..args.rounds() {
            progress(texts.place, round, args.rounds());
            for one in connected {
                texts.of(one, round, (selects, inserts, script_bytes), report)?;
            }
        }
        Ok(())
    })?;
    engines.into_iter().try_for_each(|engine| engine.close())
}

struct Texts {
    place: Place,
    rows: i64,
    seed: u64,
}

impl Texts {
    fn of(
        &self,
        &Connected { name, session, .. }: &Connected<'_>,
        round: usize,
        (selects, inserts, script_bytes): (u64, u64, usize),
        report: &mut Report,
    ) -> Result<()> {
        let mut keys = Keys::new(self.seed + round as u64);
        let mut select = String::new();
        let (mut latencies, mut read) = (Latencies::new()?, Digest::default());
        // A comment that counts makes each text another.
        for at in 0..selects + selects / 10 {
            select.clear();
            write!(select, "SELECT n, v FROM t WHERE id = {} -- {at}", keys.below(self.rows))?;
            let start = Instant::now();
            read = session.prepare(&select)?.first(&[])?;
            if at >= selects / 10 {
                latencies.add(start.elapsed());
            }
        }
        if read.rows != 1 {
            return Err(format!("{name} found {} rows of one", read.rows).into());
        }
        report.add_latencies(self.place, name, "point SELECT", &latencies, &SHARES)?;

        session.script("DELETE FROM many")?;
        let mut next = 0;
        let statements: Vec<String> = (0..inserts + inserts / 10).map(|_| many_rows(&mut next)).collect();
        let mut statements = statements.iter();
        let took = steps(inserts, |_| statements.next().map_or(Ok(()), |statement| session.script(statement)))?;
        report.add(self.place, name, "INSERT of 1,000 rows, a row", "us", took.quantile_us(0.5) / ROWS as f64);

        session.script("DELETE FROM many")?;
        let script = dump(script_bytes);
        let bytes: usize = script.iter().map(String::len).sum();
        let start = Instant::now();
        // One by one, as a shell reads them: SQLite copies all that it is given for each statement of it.
        script.iter().try_for_each(|statement| session.script(statement))?;
        let rate = bytes as f64 / start.elapsed().as_secs_f64() / 1e6;
        report.add(self.place, name, "script of INSERTs", "MB/s", rate);
        Ok(())
    }
}

/// `(constants of a row)`
fn row(into: &mut String, id: i64) -> Result<()> {
    let (v, number) = (text(id), id.wrapping_mul(0x9E37_79B9) % 1_000_003);
    let (w, x, y) = (text(number), &v[..v.len().min(12)], &v[..v.len().min(20)]);
    Ok(write!(into, "({id}, {number}, {}, -{}, {}, 7, '{v}', '{w}', '{x}', '{y}')", id % 100, id % 7, id * 3)?)
}

/// An INSERT of [`ROWS`] rows.
fn many_rows(next: &mut i64) -> String {
    let mut statement = "INSERT INTO many VALUES ".to_owned();
    for at in 0..ROWS {
        statement.push_str(if at == 0 { "" } else { ", " });
        // Writing to a string does not fail.
        let _ = row(&mut statement, *next);
        *next += 1;
    }
    statement
}

/// One transaction of INSERTs of a row each.
fn dump(bytes: usize) -> Vec<String> {
    let mut statements = vec!["BEGIN".to_owned()];
    let mut made = 0;
    while made < bytes {
        let mut statement = "INSERT INTO many VALUES ".to_owned();
        let _ = row(&mut statement, statements.len() as i64);
        made += statement.len();
        statements.push(statement);
    }
    statements.push("COMMIT".to_owned());
    statements
}
