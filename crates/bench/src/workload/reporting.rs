//! A transaction that reads much and writes little beside many that write: six threads move amounts between 2,000
//! accounts, and one sums all balances, thinks for up to 30 ms, and inserts a row with the sum.
//!
//! It runs again by itself as long as the engine's interface tries; *tries* and *failures* say how it went. Each sum must be
//! that of the amounts there were at first: a report of a state that never was is worth nothing.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::bank::{self, BALANCE, Transfers};
use super::together::in_connections;
use crate::Result;
use crate::engine::{Datum, SqlEngine, SqlKind, SqlSession, is_conflict};
use crate::keys::Keys;
use crate::latency::Latencies;
use crate::report::{Place, Report};
use crate::setup::{Medium, Setup};
use crate::statistics::median;
use crate::terminal::progress;

const WRITERS: usize = 6;
/// Reports in a round, at least.
const FEWEST: usize = 3;
const LONGEST_THOUGHT_US: i64 = 30_000;

pub fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let medium: &Medium = setup.fastest();
    let args = &setup.args;
    let place = Place { workload: "reporting", medium: medium.name };
    let time = Duration::from_secs_f64(args.seconds.unwrap_or(args.size(3.0, 0.25)));
    let mut banks = Vec::new();
    for kind in setup.sql_kinds(SqlKind::OF_LOADS) {
        banks.push(Bank::create(setup.open_sql(kind, medium, report)?, args.rows.unwrap_or(2_000).max(2))?);
    }
    for round in 0..args.rounds() {
        progress(place, round, args.rounds());
        for bank in &banks {
            let alone = bank.transfers_beside(|_| wait(time), args.seed)?;
            let beside =
                bank.transfers_beside(|session| bank.reports(session, time, args.seed + round as u64), args.seed)?;
            bank.tell(place, &alone, &beside, report)?;
        }
    }
    banks.into_iter().try_for_each(|bank| {
        bank.check()?;
        bank.engine.close()
    })
}

fn wait(time: Duration) -> Result<Option<Reports>> {
    std::thread::sleep(time);
    Ok(None)
}

struct Bank {
    engine: Box<dyn SqlEngine>,
    accounts: i64,
    number: AtomicI64,
    acknowledged: AtomicU64,
    reports: AtomicI64,
}

/// What became of the reports.
struct Reports {
    tries: Vec<f64>,
    failures: u64,
    latencies: Latencies,
}

/// Transfers a second, and the reports beside them.
struct Outcome {
    rate: f64,
    reports: Option<Reports>,
}

impl Bank {
    fn create(engine: Box<dyn SqlEngine>, accounts: i64) -> Result<Bank> {
        engine.connect(&mut |session| {
            bank::create(session, accounts)?;
            session.script("CREATE TABLE report (id BIGINT PRIMARY KEY, total BIGINT NOT NULL)")
        })?;
        let (number, reports) = (AtomicI64::new(0), AtomicI64::new(0));
        Ok(Bank { engine, accounts, number, acknowledged: AtomicU64::new(0), reports })
    }

    /// Has the writers at work for as long as `work` takes, in a session of its own.
    fn transfers_beside(
        &self,
        work: impl Fn(&dyn SqlSession) -> Result<Option<Reports>> + Sync,
        seed: u64,
    ) -> Result<Outcome> {
        let over = AtomicBool::new(false);
        let outcomes = in_connections(&*self.engine, WRITERS + 1, |thread, session, start| {
            let mut transfers = Transfers::new(session, self.accounts, seed + thread as u64)?;
            start.wait();
            let begun = Instant::now();
            if thread == WRITERS {
                let reports = work(session);
                over.store(true, Ordering::Relaxed);
                return Ok(Outcome { rate: 0.0, reports: reports? });
            }
            let mut done = 0.0;
            while !over.load(Ordering::Relaxed) {
                transfers.run(self.number.fetch_add(1, Ordering::Relaxed))?;
                self.acknowledged.fetch_add(1, Ordering::Relaxed);
                done += 1.0;
            }
            Ok(Outcome { rate: done / begun.elapsed().as_secs_f64(), reports: None })
        })?;
        let rate = outcomes.iter().map(|outcome| outcome.rate).sum();
        Ok(Outcome { rate, reports: outcomes.into_iter().find_map(|outcome| outcome.reports) })
    }

    fn reports(&self, session: &dyn SqlSession, time: Duration, seed: u64) -> Result<Option<Reports>> {
        let mut sum = session.prepare("SELECT sum(n) FROM account")?;
        let mut insert = session.prepare("INSERT INTO report VALUES ($1, $2)")?;
        let mut keys = Keys::new(seed);
        let mut reports = Reports { tries: Vec::new(), failures: 0, latencies: Latencies::new()? };
        let start = Instant::now();
        while start.elapsed() < time || reports.tries.len() < FEWEST {
            let id = self.reports.fetch_add(1, Ordering::Relaxed);
            let thought = Duration::from_micros(keys.below(LONGEST_THOUGHT_US) as u64);
            let mut tries = 0.0;
            let begun = Instant::now();
            let done = session.transaction(&mut || {
                tries += 1.0;
                let total = sum.first(&[])?.sum as i64;
                std::thread::sleep(thought);
                insert.execute(&[Datum::Int(id), Datum::Int(total)]).map(drop)
            });
            reports.latencies.add(begun.elapsed());
            reports.tries.push(tries);
            match done {
                Ok(()) => {}
                // It gave up.
                Err(error) if is_conflict(&error) => reports.failures += 1,
                Err(error) => return Err(error),
            }
        }
        Ok(Some(reports))
    }

    fn tell(&self, place: Place, alone: &Outcome, beside: &Outcome, report: &mut Report) -> Result<()> {
        let name = self.engine.name();
        report.add(place, name, "transfers alone", "commits/s", alone.rate);
        report.add(place, name, "transfers beside reports", "commits/s", beside.rate);
        report.add(place, name, "transfers beside reports to alone", "x", beside.rate / alone.rate.max(1.0));
        let Some(reports) = &beside.reports else { return Ok(()) };
        report.add(place, name, "tries of a report, median", "tries", median(&reports.tries));
        report.add(place, name, "tries of a report, most", "tries", reports.tries.iter().copied().fold(0.0, f64::max));
        report.add(
            place,
            name,
            "reports given up",
            "of 100",
            100.0 * reports.failures as f64 / reports.tries.len() as f64,
        );
        report.add_latencies(place, name, "report", &reports.latencies, &[0.5])?;
        report.add(place, name, "report max", "us", reports.latencies.max_us());
        Ok(())
    }

    fn check(&self) -> Result<()> {
        let name = self.engine.name();
        let (acknowledged, total) = (self.acknowledged.load(Ordering::Relaxed), self.accounts * BALANCE);
        self.engine.connect(&mut |session| {
            bank::check(session, self.accounts, acknowledged).map_err(|error| format!("{name}: {error}"))?;
            let wrong =
                session.prepare("SELECT count(*) FROM report WHERE total <> $1")?.first(&[Datum::Int(total)])?.sum;
            if wrong == 0.0 {
                Ok(())
            } else {
                Err(format!("{name}: {wrong} reports have another sum than {total}").into())
            }
        })
    }
}
