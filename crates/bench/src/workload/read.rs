//! Prepared point SELECT by key in random order over a table in memory.
//!
//! Each read sees a new snapshot; LMDB and redb are also measured with one snapshot held, the barest `get` they have.
//! Ranges of 1,000 rows are read in the order of their keys, each value looked at. Two threads are compared with one, beside loads of random words from memory, which show what the machine gives.

use std::hint::black_box;
use std::time::Instant;

use super::together::{in_threads, with_sessions};
use crate::Result;
use crate::engine::{Engine, Kind, Session};
use crate::keys::Keys;
use crate::latency::Latencies;
use crate::report::{Place, Report};
use crate::rows::{RANGE, digest, text};
use crate::setup::{Medium, Setup, close_all};
use crate::terminal::{progress, say};

const SHARES: [f64; 2] = [0.5, 0.95];
const KINDS: [Kind; 4] = [Kind::Cairn, Kind::Sqlite, Kind::Lmdb, Kind::Redb];
/// Every engine has at least one row of every so many in each page that holds rows.
const WARM_UP_STRIDE: usize = 20;

pub fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let medium: &Medium = setup.fastest();
    let place = Place { workload: "read", medium: medium.name };
    let args = &setup.args;
    let rows = args.rows.unwrap_or(args.size(1_000_000, 50_000));
    let reads = args.commits.unwrap_or(args.size(300_000, 20_000));
    let engines = setup.open_filled(&KINDS, medium, rows, report)?;
    say(format!("reading the clock takes {:.0} ns, which the percentiles contain and the means do not", clock_nanos()));
    let measured = Measured { place, rows, reads, seed: args.seed, rounds: args.rounds() };
    measured.one_thread(&engines, report)?;
    measured.two_threads(&engines, report)?;
    close_all(engines)
}

struct Measured {
    place: Place,
    rows: i64,
    reads: u64,
    seed: u64,
    rounds: usize,
}

impl Measured {
    fn one_thread(&self, engines: &[Box<dyn Engine>], report: &mut Report) -> Result<()> {
        with_sessions(engines, &mut |sessions| {
            sessions.iter_mut().try_for_each(|named| warm_up(named.session, self.rows))?;
            for round in 0..self.rounds {
                progress(self.place, round, self.rounds);
                for named in sessions.iter_mut() {
                    self.measure(round, named.name, &mut |key| named.session.read(key), report)?;
                    self.measure_ranges(round, named.name, named.session, report)?;
                    if let Some(label) = label_of_snapshot(named.name) {
                        let absent = || Err("no snapshot".into());
                        let mut get = |key| named.session.read_in_snapshot(key).unwrap_or_else(absent);
                        self.measure(round, label, &mut get, report)?;
                    }
                }
            }
            Ok(())
        })
    }

    /// One pass that times every read, one that times them all together.
    fn measure(
        &self,
        round: usize,
        engine: &'static str,
        read: &mut dyn FnMut(i64) -> Result<Option<u64>>,
        report: &mut Report,
    ) -> Result<()> {
        let mut keys = Keys::new(self.seed + round as u64);
        let mut latencies = Latencies::new()?;
        for _ in 0..self.reads {
            let key = keys.below(self.rows);
            found(latencies.time(|| read(key))?)?;
        }
        let start = Instant::now();
        for _ in 0..self.reads {
            found(read(keys.below(self.rows))?)?;
        }
        let mean = start.elapsed().as_secs_f64() * 1e6 / self.reads as f64;
        report.add_latencies(self.place, engine, "read", &latencies, &SHARES)?;
        report.add(self.place, engine, "read mean", "us", mean);
        Ok(())
    }

    /// As many rows as `measure` reads, a range at a time.
    fn measure_ranges(
        &self,
        round: usize,
        engine: &'static str,
        session: &mut dyn Session,
        report: &mut Report,
    ) -> Result<()> {
        let mut keys = Keys::new(self.seed + round as u64);
        let mut latencies = Latencies::new()?;
        for _ in 0..(self.reads / RANGE as u64).max(20) {
            let key = keys.below(self.rows - RANGE);
            let Some(sum) = latencies.time(|| session.read_range(key).transpose())? else { return Ok(()) };
            if sum != sum_of_range(key) {
                return Err(format!("{engine} read a range wrongly").into());
            }
        }
        report.add_latencies(self.place, engine, "range of 1,000 rows", &latencies, &SHARES)
    }

    fn two_threads(&self, engines: &[Box<dyn Engine>], report: &mut Report) -> Result<()> {
        let memory = Memory::new(self.rows);
        for round in 0..self.rounds {
            progress(self.place, round, self.rounds);
            for engine in engines {
                let rates = [self.reads_per_second(&**engine, 1)?, self.reads_per_second(&**engine, 2)?];
                self.add_scaling(engine.name(), rates, report);
            }
            let rates = [memory.loads_per_second(1, self.reads), memory.loads_per_second(2, self.reads)];
            self.add_scaling("memory", rates, report);
        }
        Ok(())
    }

    fn add_scaling(&self, engine: &'static str, [one, two]: [f64; 2], report: &mut Report) {
        report.add(self.place, engine, "1 thread", "reads/s", one);
        report.add(self.place, engine, "2 threads", "reads/s", two);
        report.add(self.place, engine, "2 threads to 1", "x", two / one);
    }

    fn reads_per_second(&self, engine: &dyn Engine, threads: usize) -> Result<f64> {
        let seconds = in_threads(
            engine,
            threads,
            |session| warm_up(session, self.rows),
            |number, session| {
                let mut keys = Keys::new(self.seed + 1000 + number as u64);
                let start = Instant::now();
                for _ in 0..self.reads {
                    found(session.read(keys.below(self.rows))?)?;
                }
                Ok(start.elapsed().as_secs_f64())
            },
        )?;
        Ok(seconds.iter().map(|seconds| self.reads as f64 / seconds).sum())
    }
}

fn label_of_snapshot(engine: &str) -> Option<&'static str> {
    match engine {
        "lmdb" => Some("lmdb, one snapshot"),
        "redb" => Some("redb, one snapshot"),
        _ => None,
    }
}

/// What [`Session::read_range`] gives: the rows' numbers are their keys.
fn sum_of_range(key: i64) -> u64 {
    (key..key + RANGE).map(|key| key as u64 + digest(key, text(key).len())).sum()
}

/// Reads every page of the table.
fn warm_up(session: &mut dyn Session, rows: i64) -> Result<()> {
    (0..rows).step_by(WARM_UP_STRIDE).try_for_each(|key| found(session.read(key)?))
}

fn found(row: Option<u64>) -> Result<()> {
    black_box(row).map(drop).ok_or_else(|| "a row that was inserted is not there".into())
}

/// What two readings of the clock in a row are apart.
fn clock_nanos() -> f64 {
    let start = Instant::now();
    let readings = 100_000;
    for _ in 0..readings {
        black_box(Instant::now());
    }
    start.elapsed().as_nanos() as f64 / f64::from(readings)
}

/// As many bytes as the table has, to load words from, each load waiting for the one before.
struct Memory {
    words: Vec<u64>,
}

impl Memory {
    fn new(rows: i64) -> Memory {
        let mut keys = Keys::new(7);
        let words = (rows.unsigned_abs() as usize * 128 / 8).next_power_of_two();
        Memory { words: (0..words).map(|_| keys.draw()).collect() }
    }

    fn loads_per_second(&self, threads: u64, loads: u64) -> f64 {
        let loads = loads * 10;
        let one = |number: u64| {
            let mask = self.words.len() - 1;
            // The sum brings in what the processor's caches hold.
            let mut at =
                Keys::new(loads ^ (threads << 8) ^ number).draw() ^ self.words.iter().fold(0, |sum, word| sum ^ word);
            let start = Instant::now();
            for load in 0..loads {
                at = self.words[at as usize & mask].wrapping_add(load);
            }
            black_box(at);
            loads as f64 / start.elapsed().as_secs_f64()
        };
        std::thread::scope(|scope| {
            let one = &one;
            let handles: Vec<_> = (0..threads).map(|number| scope.spawn(move || one(number))).collect();
            handles.into_iter().map(|handle| handle.join().unwrap_or(f64::NAN)).sum()
        })
    }
}
