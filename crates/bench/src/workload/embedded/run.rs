//! The measures by which an embedded database is chosen: reading a row, joining two, inserting, committing durably, and
//! the size of the file; beside them ranges, scans, aggregates, and reads from several threads.
//!
//! On every medium: loads, size, inserts and commits. What only reads runs on the fastest medium there is.

use std::time::{Duration, Instant};

use super::data::{self, Sizes};
use super::readings;
use crate::Result;
use crate::engine::{Datum, Digest, SqlEngine, SqlKind, SqlOptions};
use crate::floor::Floor;
use crate::keys::Keys;
use crate::report::{Place, Report};
use crate::setup::{Medium, Setup, bytes_below, note};
use crate::terminal::progress;
use crate::workload::together::{Connected, in_connections, steps, with_connections};

const SHARES: [f64; 3] = [0.5, 0.95, 0.99];
const THREADS: [usize; 3] = [1, 2, 4];
/// The most loads of an engine: at a million rows each takes long enough to be many samples.
const LOADS: usize = 3;

pub fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    setup.media().try_for_each(|medium| Embedded::new(setup, medium).run(report))
}

struct Embedded<'s> {
    setup: &'s Setup,
    medium: &'s Medium,
    place: Place,
    sizes: Sizes,
    rounds: usize,
    quick: bool,
}

impl<'s> Embedded<'s> {
    fn new(setup: &'s Setup, medium: &'s Medium) -> Embedded<'s> {
        let orders = setup.args.rows.unwrap_or(setup.args.size(1_000_000, 30_000)).max(2_000);
        Embedded {
            setup,
            medium,
            place: Place { workload: "embedded", medium: medium.name },
            sizes: Sizes { orders, customers: (orders / 10).max(1) },
            rounds: setup.args.rounds(),
            quick: setup.args.quick,
        }
    }

    fn run(&self, report: &mut Report) -> Result<()> {
        let engines = self.load_all(report)?;
        let mut floors = self.medium.floors()?;
        for (name, floor) in &floors {
            note(name, floor.setting(), report);
        }
        with_connections(&engines, &mut |connected| {
            for round in 0..self.rounds {
                progress(self.place, round, self.rounds);
                self.write(round, connected, &mut floors, report)?;
                if std::ptr::eq(self.medium, self.setup.fastest()) {
                    self.read(round, connected, report)?;
                    self.read_in_threads(round, connected, report)?;
                }
            }
            Ok(())
        })?;
        engines.into_iter().try_for_each(|engine| engine.close())
    }

    /// Loads each engine a few times, in turn; those of the last time stay.
    fn load_all(&self, report: &mut Report) -> Result<Vec<Box<dyn SqlEngine>>> {
        let mut engines = Vec::new();
        let rounds = self.rounds.min(LOADS);
        for round in 0..rounds {
            progress(Place { workload: "embedded (loading)", ..self.place }, round, rounds);
            for kind in self.setup.sql_kinds(SqlKind::OF_TRANSACTIONS) {
                let dir = self.medium.folder()?;
                self.load(kind, &dir, report)?;
                if round + 1 < rounds {
                    std::fs::remove_dir_all(&dir)?;
                } else {
                    engines.push(self.setup.open_sql_in(kind, &dir, report)?);
                }
            }
        }
        Ok(engines)
    }

    fn load(&self, kind: SqlKind, dir: &std::path::Path, report: &mut Report) -> Result<()> {
        let engine = kind.open(dir, SqlOptions::default())?;
        let mut took = Duration::ZERO;
        engine.connect(&mut |session| {
            data::create(session, self.sizes)?;
            let start = Instant::now();
            data::fill_orders(session, "orders", self.sizes)?;
            took = start.elapsed();
            Ok(())
        })?;
        engine.close()?;
        let rate = self.sizes.orders as f64 / took.as_secs_f64();
        report.add(self.place, kind.name(), "load with an index", "rows/s", rate);
        report.add(self.place, kind.name(), "size", "MB", bytes_below(dir)? as f64 / 1e6);
        Ok(())
    }

    fn write(
        &self,
        round: usize,
        connected: &[Connected<'_>],
        floors: &mut [(&'static str, Floor)],
        report: &mut Report,
    ) -> Result<()> {
        for &Connected { name, session, .. } in connected {
            session.script("CREATE TABLE plain (id BIGINT PRIMARY KEY, n BIGINT NOT NULL, v TEXT NOT NULL)")?;
            let start = Instant::now();
            data::fill_plain(session, self.sizes.customers)?;
            let rate = self.sizes.customers as f64 / start.elapsed().as_secs_f64();
            report.add(self.place, name, "insert", "rows/s", rate);
            session.script("DROP TABLE plain")?;
        }
        let usual = if self.medium.name == "disk" { (4_000, 300) } else { (50_000, 3_000) };
        let commits = self.setup.args.commits.unwrap_or(self.setup.args.size(usual.0, usual.1));
        for &Connected { name, session, .. } in connected {
            let mut update = session.prepare("UPDATE orders SET amount = $1 WHERE id = $2")?;
            let mut keys = Keys::new(self.setup.args.seed + round as u64);
            let latencies = steps(commits, |at| {
                // Never the amount that the order has: an engine may leave out a write that changes nothing.
                let amount = Datum::Int(1_000_000 * (round as i64 + 1) + at as i64);
                update.execute(&[amount, Datum::Int(keys.below(self.sizes.orders))]).map(drop)
            })?;
            report.add_latencies(self.place, name, "commit", &latencies, &SHARES)?;
        }
        for (name, floor) in floors {
            let latencies = steps(commits, |_| floor.write())?;
            report.add_latencies(self.place, name, "commit", &latencies, &SHARES)?;
        }
        Ok(())
    }

    fn read(&self, round: usize, connected: &[Connected<'_>], report: &mut Report) -> Result<()> {
        for reading in readings::ALL {
            let mut answers: Vec<(&str, Digest)> = Vec::new();
            for &Connected { name, session, .. } in connected {
                let seed = self.setup.args.seed + round as u64;
                let (latencies, digest) = reading.ask(session, self.sizes, seed, self.quick)?;
                report.add_latencies(self.place, name, reading.what, &latencies, reading.shares(self.quick))?;
                answers.push((name, digest));
            }
            agree(reading.what, &answers)?;
        }
        Ok(())
    }

    fn read_in_threads(&self, round: usize, connected: &[Connected<'_>], report: &mut Report) -> Result<()> {
        for threads in THREADS {
            for &Connected { name, engine, .. } in connected {
                let rate = self.reads_per_second(engine, threads, round)?;
                report.add(
                    self.place,
                    name,
                    &format!("reads from {threads} thread{}", if threads == 1 { "" } else { "s" }),
                    "reads/s",
                    rate,
                );
            }
        }
        Ok(())
    }

    fn reads_per_second(&self, engine: &dyn SqlEngine, threads: usize, round: usize) -> Result<f64> {
        let reads = self.setup.args.size(100_000, 5_000);
        let rates = in_connections(engine, threads, |number, session, start| {
            let mut read = session.prepare("SELECT customer_id, amount, note FROM orders WHERE id = $1")?;
            let mut keys = Keys::new(self.setup.args.seed + (round * 100 + number) as u64);
            start.wait();
            let begun = Instant::now();
            for _ in 0..reads {
                read.first(&[Datum::Int(keys.below(self.sizes.orders))])?;
            }
            Ok(reads as f64 / begun.elapsed().as_secs_f64())
        })?;
        Ok(rates.iter().sum())
    }
}

/// A faster wrong answer is none.
fn agree(what: &str, answers: &[(&str, Digest)]) -> Result<()> {
    let Some(((first, expected), rest)) = answers.split_first() else { return Ok(()) };
    match rest.iter().find(|(_, digest)| !digest.agrees(expected)) {
        None => Ok(()),
        Some((other, digest)) => Err(format!("{what}: {first} says {expected:?}, {other} says {digest:?}").into()),
    }
}
