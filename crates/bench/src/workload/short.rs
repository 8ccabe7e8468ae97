//! Short transactions: four prepared statements by key (UPDATE, SELECT, UPDATE, INSERT) move an amount from one account
//! to another and note it. By one thread and by several; beside them, in the same rounds, single upserts by as many.
//!
//! A transaction that lost to another runs again; *tries* says how often. At the end no amount may have been made or
//! lost, and as many notes must be there as transfers were acknowledged.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::bank::{self, Transfers};
use super::filling::create_rows;
use super::together::in_connections;
use crate::Result;
use crate::engine::{Datum, SqlEngine, SqlKind};
use crate::keys::Keys;
use crate::latency::Latencies;
use crate::report::{Place, Report};
use crate::rows::text;
use crate::setup::{Medium, Setup};
use crate::terminal::progress;

const THREADS_DISK: &[usize] = &[1, 32];
const THREADS_TMPFS: &[usize] = &[1, 2, 8];

pub fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    setup.media().try_for_each(|medium| on(setup, medium, report))
}

fn on(setup: &Setup, medium: &Medium, report: &mut Report) -> Result<()> {
    let args = &setup.args;
    let load = Load {
        place: Place { workload: "short", medium: medium.name },
        rows: args.rows.unwrap_or(args.size(100_000, 5_000)).max(2),
        time: Duration::from_secs_f64(args.seconds.unwrap_or(args.size(2.0, 0.25))),
        seed: args.seed,
        threads: match args.threads {
            Some(threads) => vec![threads],
            None if medium.name == "disk" => THREADS_DISK.to_vec(),
            None => THREADS_TMPFS.to_vec(),
        },
    };
    let mut banks = Vec::new();
    for kind in setup.sql_kinds(SqlKind::OF_LOADS) {
        banks.push(Bank::create(setup.open_sql(kind, medium, report)?, load.rows)?);
    }
    for round in 0..args.rounds() {
        progress(load.place, round, args.rounds());
        for &threads in &load.threads {
            for bank in &banks {
                load.transfers(bank, threads, report)?;
            }
            for bank in &banks {
                load.upserts(bank, threads, report)?;
            }
        }
    }
    banks.into_iter().try_for_each(|bank| {
        bank.check()?;
        bank.engine.close()
    })
}

/// The bank, and the rows of upserts (so that accounts keep their sum).
struct Bank {
    engine: Box<dyn SqlEngine>,
    rows: i64,
    /// The next note's.
    number: AtomicI64,
    acknowledged: AtomicU64,
}

impl Bank {
    fn create(engine: Box<dyn SqlEngine>, rows: i64) -> Result<Bank> {
        engine.connect(&mut |session| {
            bank::create(session, rows)?;
            create_rows(session, "single", rows, 0)
        })?;
        Ok(Bank { engine, rows, number: AtomicI64::new(0), acknowledged: AtomicU64::new(0) })
    }

    fn check(&self) -> Result<()> {
        let acknowledged = self.acknowledged.load(Ordering::Relaxed);
        let checked = self.engine.connect(&mut |session| bank::check(session, self.rows, acknowledged));
        checked.map_err(|error| format!("{}: {error}", self.engine.name()).into())
    }
}

struct Load {
    place: Place,
    rows: i64,
    time: Duration,
    seed: u64,
    threads: Vec<usize>,
}

/// What a thread got done before the time was over, and the latencies of that and of the last one.
struct Done {
    in_time: u64,
    tries: u64,
    latencies: Latencies,
}

impl Load {
    fn transfers(&self, bank: &Bank, threads: usize, report: &mut Report) -> Result<()> {
        let done = in_connections(&*bank.engine, threads, |thread, session, start| {
            let mut transfers = Transfers::new(session, self.rows, self.seed + thread as u64)?;
            start.wait();
            self.repeat(|| {
                let tries = transfers.run(bank.number.fetch_add(1, Ordering::Relaxed))?;
                bank.acknowledged.fetch_add(1, Ordering::Relaxed);
                Ok(tries)
            })
        })?;
        let what = format!("transactions, {}", counted(threads));
        let tries: u64 = done.iter().map(|done| done.tries).sum();
        let all = self.report(bank, &what, &done, report)?;
        report.add(self.place, bank.engine.name(), &format!("{what}, each"), "tries", tries as f64 / all as f64);
        Ok(())
    }

    fn upserts(&self, bank: &Bank, threads: usize, report: &mut Report) -> Result<()> {
        let done = in_connections(&*bank.engine, threads, |thread, session, start| {
            let mut upsert = session.prepare(
                "INSERT INTO single VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET n = excluded.n, v = excluded.v",
            )?;
            let mut keys = Keys::new(self.seed + thread as u64);
            start.wait();
            self.repeat(|| {
                let id = keys.below(self.rows);
                // Never the number that the row has: an engine may leave out a write that changes nothing.
                let number = bank.number.fetch_add(1, Ordering::Relaxed);
                upsert.execute(&[Datum::Int(id), Datum::Int(number), Datum::Text(text(id))])
            })
        })?;
        self.report(bank, &format!("upserts, {}", counted(threads)), &done, report).map(drop)
    }

    /// Repeats a step that says how many tries it took.
    fn repeat(&self, mut step: impl FnMut() -> Result<u64>) -> Result<Done> {
        let mut done = Done { in_time: 0, tries: 0, latencies: Latencies::new()? };
        let start = Instant::now();
        loop {
            done.tries += done.latencies.time(&mut step)?;
            if start.elapsed() >= self.time {
                return Ok(done);
            }
            done.in_time += 1;
        }
    }

    /// How many there were.
    fn report(&self, bank: &Bank, what: &str, threads: &[Done], report: &mut Report) -> Result<u64> {
        let (name, mut all) = (bank.engine.name(), Latencies::new()?);
        threads.iter().try_for_each(|done| all.merge(&done.latencies))?;
        let in_time: u64 = threads.iter().map(|done| done.in_time).sum();
        report.add(self.place, name, what, "commits/s", in_time as f64 / self.time.as_secs_f64());
        report.add_latencies(self.place, name, what, &all, &[0.5, 0.99])?;
        Ok(all.count())
    }
}

fn counted(threads: usize) -> String {
    if threads == 1 { "1 thread".to_string() } else { format!("{threads} threads") }
}
