//! A transaction that read a million rows and changes one, beside a thousand commits a second to the same table: what its
//! commit takes, and how long the others wait meanwhile.
//!
//! The others change rows that it did not read (the table's last tenth), so that it has no reason to fail; they are an open
//! loop, each charged from when it was due, with and without such transactions beside them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::filling::create_rows;
use super::together::in_connections;
use crate::Result;
use crate::engine::{Datum, SqlEngine, SqlKind, SqlSession, is_conflict};
use crate::keys::Keys;
use crate::latency::Latencies;
use crate::report::{Place, Report};
use crate::schedule::{Schedule, wait_until};
use crate::setup::{Medium, Setup};
use crate::terminal::progress;

const RATE: f64 = 1_000.0;
/// Transactions in a round, at least.
const FEWEST: u64 = 3;

pub fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let medium: &Medium = setup.fastest();
    let args = &setup.args;
    let load = Load {
        place: Place { workload: "validation", medium: medium.name },
        read: args.rows.unwrap_or(args.size(1_000_000, 20_000)).max(10),
        time: Duration::from_secs_f64(args.seconds.unwrap_or(args.size(3.0, 0.25))),
        seed: args.seed,
    };
    let mut engines = Vec::new();
    for kind in setup.sql_kinds(SqlKind::OF_LOADS) {
        let engine = setup.open_sql(kind, medium, report)?;
        engine.connect(&mut |session| {
            create_rows(session, "t", load.read + load.others(), 0)?;
            create_rows(session, "mark", 1, 0)
        })?;
        engines.push(engine);
    }
    for round in 0..args.rounds() {
        progress(load.place, round, args.rounds());
        for engine in &engines {
            load.of(&**engine, report)?;
        }
    }
    engines.into_iter().try_for_each(|engine| engine.close())
}

struct Load {
    place: Place,
    /// Rows that the transaction reads.
    read: i64,
    time: Duration,
    seed: u64,
}

/// What one of the two threads saw.
struct Seen {
    /// Commits of the transactions, or of the others.
    commits: Latencies,
    /// Transactions that failed because others got in the way, though none did.
    failed: f64,
}

impl Load {
    fn others(&self) -> i64 {
        (self.read / 10).max(1)
    }

    fn of(&self, engine: &dyn SqlEngine, report: &mut Report) -> Result<()> {
        let (place, name) = (self.place, engine.name());
        let alone = self.side_by_side(engine, |_| Ok(Seen { commits: Latencies::new()?, failed: 0.0 }))?;
        let both = self.side_by_side(engine, |session| self.transactions(session))?;
        let [reader, others] = &both[..] else { return Ok(()) };
        report.add_latencies(place, name, "commit after the scan", &reader.commits, &[0.5])?;
        report.add(place, name, "commit after the scan max", "us", reader.commits.max_us());
        report.add(
            place,
            name,
            "failed after the scan",
            "of 100",
            100.0 * reader.failed / reader.commits.count() as f64,
        );
        for (what, seen) in [("others alone", alone.last()), ("others beside it", Some(others))] {
            let Some(seen) = seen else { continue };
            report.add_latencies(place, name, what, &seen.commits, &[0.5, 0.99])?;
            report.add(place, name, &format!("{what} max"), "us", seen.commits.max_us());
        }
        Ok(())
    }

    /// `reader` in one session, the others' commits in another for as long as it takes, at least the round's time.
    fn side_by_side(
        &self,
        engine: &dyn SqlEngine,
        reader: impl Fn(&dyn SqlSession) -> Result<Seen> + Sync,
    ) -> Result<Vec<Seen>> {
        let over = AtomicBool::new(false);
        in_connections(engine, 2, |thread, session, start| {
            if thread == 0 {
                start.wait();
                let seen = reader(session);
                over.store(true, Ordering::Relaxed);
                return seen;
            }
            let mut update = session.prepare("UPDATE t SET n = n + 1 WHERE id = $1")?;
            let (mut keys, mut commits) = (Keys::new(self.seed), Latencies::new()?);
            start.wait();
            let schedule = Schedule::new(RATE, self.time.max(Duration::from_secs(600)));
            for request in 0..schedule.requests {
                if over.load(Ordering::Relaxed) && schedule.elapsed() >= self.time {
                    break;
                }
                wait_until(schedule.due(request), false);
                update.execute(&[Datum::Int(self.read + keys.below(self.others()))])?;
                commits.add(schedule.due(request).elapsed());
            }
            Ok(Seen { commits, failed: 0.0 })
        })
    }

    fn transactions(&self, session: &dyn SqlSession) -> Result<Seen> {
        let mut scan = session.prepare("SELECT count(*), sum(n) FROM t WHERE id < $1")?;
        let mut mark = session.prepare("UPDATE mark SET n = n + 1 WHERE id = 0")?;
        let mut seen = Seen { commits: Latencies::new()?, failed: 0.0 };
        let start = Instant::now();
        while start.elapsed() < self.time || seen.commits.count() < FEWEST {
            session.script("BEGIN")?;
            let found = scan.first(&[Datum::Int(self.read)])?.sum;
            if found != self.read as f64 {
                return Err(format!("the scan found {found}, not {}", self.read).into());
            }
            mark.execute(&[])?;
            let begun = Instant::now();
            let done = session.script("COMMIT");
            seen.commits.add(begun.elapsed());
            match done {
                Ok(()) => {}
                Err(error) if is_conflict(&error) => seen.failed += 1.0,
                Err(error) => return Err(error),
            }
        }
        Ok(seen)
    }
}
