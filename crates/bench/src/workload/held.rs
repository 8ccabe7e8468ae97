//! Commits beside sessions that do nothing: some hold a snapshot each, all of different versions; others are only open.
//!
//! In every round the same commits are timed beside each number of them, so that their ratio to none is of one weather. What
//! held snapshots read must be the same before and after the commits.

use super::filling::create_rows;
use super::together::steps;
use crate::Result;
use crate::engine::{Datum, SqlEngine, SqlKind, SqlSession};
use crate::keys::Keys;
use crate::latency::Latencies;
use crate::report::{Place, Report};
use crate::setup::{Medium, Setup};
use crate::terminal::{progress, say};

const SHARES: [f64; 2] = [0.5, 0.99];
/// Where a version's number stands.
const MARKED: i64 = 0;
const UPDATE: &str = "UPDATE t SET n = $1 WHERE id = $2";
const READ: &str = "SELECT n FROM t WHERE id = $1";

pub fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let medium: &Medium = setup.fastest();
    let args = &setup.args;
    let held = Held {
        place: Place { workload: "held", medium: medium.name },
        rows: args.rows.unwrap_or(args.size(100_000, 5_000)).max(2),
        commits: args.commits.unwrap_or(args.size(5_000, 500)),
        seed: args.seed,
    };
    let (snapshots, idle) = args.size(([100, 1_000], [1, 10_000]), ([10, 50], [1, 200]));
    let mut engines = Vec::new();
    for kind in setup.sql_kinds(SqlKind::OF_LOADS) {
        let engine = setup.open_sql(kind, medium, report)?;
        engine.connect(&mut |session| create_rows(session, "t", held.rows, 0))?;
        engines.push(engine);
    }
    for round in 0..args.rounds() {
        progress(held.place, round, args.rounds());
        for engine in &engines {
            held.beside_snapshots(&**engine, &snapshots, round, report)?;
            held.beside_idle(&**engine, &idle, round, report)?;
        }
    }
    engines.into_iter().try_for_each(|engine| engine.close())
}

struct Held {
    place: Place,
    rows: i64,
    commits: u64,
    seed: u64,
}

/// A session in a transaction that reads a version of its own, in which the marked row has this number.
struct Snapshot<'e> {
    session: Box<dyn SqlSession + 'e>,
    number: f64,
}

impl<'e> Snapshot<'e> {
    fn take(engine: &'e dyn SqlEngine) -> Result<Snapshot<'e>> {
        let session = engine.session()?;
        session.script("BEGIN READ ONLY")?;
        let number = marked(&*session)?;
        Ok(Snapshot { session, number })
    }

    fn end(self) -> Result<()> {
        let number = marked(&*self.session)?;
        self.session.script("COMMIT")?;
        if number == self.number {
            return Ok(());
        }
        Err(format!("a snapshot read {}, and later {number}", self.number).into())
    }
}

fn marked(session: &dyn SqlSession) -> Result<f64> {
    Ok(session.prepare(READ)?.first(&[Datum::Int(MARKED)])?.sum)
}

impl Held {
    fn beside_snapshots(
        &self,
        engine: &dyn SqlEngine,
        numbers: &[usize],
        round: usize,
        report: &mut Report,
    ) -> Result<()> {
        // Once before: the rows get their new widths, as they have when the same commits come again.
        self.commits(engine, round)?;
        let alone = self.commits(engine, round)?;
        report.add_latencies(self.place, engine.name(), "commit beside 0 snapshots", &alone, &SHARES)?;
        let mut snapshots = Vec::new();
        for &number in numbers {
            engine.connect(&mut |session| {
                let mut update = session.prepare(UPDATE)?;
                while snapshots.len() < number {
                    // Each of a version of its own.
                    let next = (round * 1_000_000 + snapshots.len() + 1) as i64;
                    update.execute(&[Datum::Int(next), Datum::Int(MARKED)])?;
                    snapshots.push(Snapshot::take(engine)?);
                }
                Ok(())
            })?;
            let latencies = self.commits(engine, round)?;
            let what = format!("commit beside {number} snapshots");
            self.report(engine, &what, &latencies, (&alone, "times that of none"), report)?;
        }
        snapshots.into_iter().try_for_each(Snapshot::end)
    }

    fn beside_idle(&self, engine: &dyn SqlEngine, numbers: &[usize], round: usize, report: &mut Report) -> Result<()> {
        let (mut idle, mut first) = (Vec::new(), None);
        for &number in numbers {
            while idle.len() < number {
                // It was at work once.
                match engine.session().and_then(|session| marked(&*session).map(|_| session)) {
                    Ok(session) => idle.push(session),
                    Err(error) => {
                        say(format!("{}: no more than {} idle sessions here: {error}", engine.name(), idle.len()));
                        return Ok(());
                    }
                }
            }
            let latencies = self.commits(engine, round)?;
            let what = format!("commit beside {number} idle");
            match &first {
                Some(first) => self.report(engine, &what, &latencies, (first, "times that of one"), report)?,
                None => report.add_latencies(self.place, engine.name(), &what, &latencies, &SHARES)?,
            }
            first.get_or_insert(latencies);
        }
        Ok(())
    }

    fn commits(&self, engine: &dyn SqlEngine, round: usize) -> Result<Latencies> {
        let mut latencies = None;
        engine.connect(&mut |session| {
            let (mut update, mut keys) = (session.prepare(UPDATE)?, Keys::new(self.seed + round as u64));
            latencies = Some(steps(self.commits, |at| {
                let key = 1 + keys.below(self.rows - 1);
                // Never the number that the row has: an engine may leave out a write that changes nothing.
                let number = Datum::Int(keys.draw() as i64 >> 1 | at as i64);
                update.execute(&[number, Datum::Int(key)]).map(drop)
            })?);
            Ok(())
        })?;
        latencies.ok_or_else(|| "the engine gave no session".into())
    }

    fn report(
        &self,
        engine: &dyn SqlEngine,
        what: &str,
        latencies: &Latencies,
        (alone, unit): (&Latencies, &str),
        report: &mut Report,
    ) -> Result<()> {
        report.add_latencies(self.place, engine.name(), what, latencies, &SHARES)?;
        let ratio = latencies.quantile_us(0.5) / alone.quantile_us(0.5).max(0.001);
        report.add(self.place, engine.name(), &format!("{what}, p50"), unit, ratio);
        Ok(())
    }
}
