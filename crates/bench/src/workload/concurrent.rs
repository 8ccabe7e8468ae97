//! Many threads, each committing one row at a time, durably, for a while: throughput, the slowest wait, and whether
//! some threads are starved.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use super::together::in_threads;
use crate::Result;
use crate::engine::{Engine, Kind, Session};
use crate::keys::Keys;
use crate::latency::Latencies;
use crate::report::{Place, Report};
use crate::setup::{Medium, Setup, close_all};
use crate::terminal::progress;

/// More than a thread can write in one run.
const NUMBERS_PER_RUN: i64 = 1 << 32;

type Operation = fn(&mut dyn Session, i64, i64) -> Result<()>;

const THREADS: usize = 32;

const OPERATIONS: [(&str, Operation); 2] = [
    ("upsert", |session, key, number| session.upsert(key, number)),
    ("update", |session, key, number| session.update(key, number)),
];

pub fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let medium: &Medium = &setup.disk;
    let place = Place { workload: "concurrent", medium: medium.name };
    let args = &setup.args;
    let rows = args.rows.unwrap_or(args.size(100_000, 5_000));
    let run = Run {
        rows,
        threads: args.threads.unwrap_or(THREADS),
        time: Duration::from_secs_f64(args.seconds.unwrap_or(args.size(3.0, 0.5))),
        seed: args.seed,
        numbers: AtomicI64::new(0),
    };
    let engines = setup.open_filled(Kind::OF_MANY_WRITERS, medium, rows, report)?;
    for round in 0..args.rounds() {
        progress(place, round, args.rounds());
        for (what, operation) in OPERATIONS {
            for engine in &engines {
                let threads = run.threads_of(&**engine, operation)?;
                run.report(place, engine.name(), what, &threads, report)?;
            }
        }
    }
    close_all(engines)
}

struct Run {
    rows: i64,
    threads: usize,
    time: Duration,
    seed: u64,
    /// Where the next thread's numbers begin, downwards.
    numbers: AtomicI64,
}

/// What one thread got done.
struct Done {
    /// Before the time was over.
    in_time: u64,
    /// Of all, the last one too.
    latencies: Latencies,
}

impl Run {
    fn threads_of(&self, engine: &dyn Engine, operation: Operation) -> Result<Vec<Done>> {
        let warm = |session: &mut dyn Session| operation(session, 0, 0);
        in_threads(engine, self.threads, warm, |thread, session| {
            let mut keys = Keys::new(self.seed + thread as u64);
            let mut number = self.numbers.fetch_sub(NUMBERS_PER_RUN, Ordering::Relaxed);
            let mut done = Done { in_time: 0, latencies: Latencies::new()? };
            let start = Instant::now();
            loop {
                let key = keys.below(self.rows);
                // Never the number that the row has: an engine may leave out a write that changes nothing.
                number -= 1;
                done.latencies.time(|| operation(session, key, number))?;
                if start.elapsed() >= self.time {
                    return Ok(done);
                }
                done.in_time += 1;
            }
        })
    }

    fn report(
        &self,
        place: Place,
        engine: &'static str,
        what: &str,
        threads: &[Done],
        report: &mut Report,
    ) -> Result<()> {
        let mut all = Latencies::new()?;
        threads.iter().try_for_each(|done| all.merge(&done.latencies))?;
        let total: u64 = threads.iter().map(|done| done.in_time).sum();
        let fewest = threads.iter().map(|done| done.in_time).min().unwrap_or(0);
        let mean = total as f64 / threads.len() as f64;
        report.add(place, engine, &format!("{what}s"), "commits/s", total as f64 / self.time.as_secs_f64());
        report.add_latencies(place, engine, what, &all, &[0.5, 0.99])?;
        report.add(place, engine, &format!("{what} slowest"), "ms", all.max_us() / 1e3);
        // 1: all threads got the same done; 0: one got nothing.
        report.add(place, engine, &format!("{what} least thread to mean"), "x", fewest as f64 / mean.max(1.0));
        Ok(())
    }
}
