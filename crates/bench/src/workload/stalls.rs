//! Sustained durable inserts, then random updates, as fast as one thread can: would a checkpoint be felt?
//!
//! One engine is open at a time, so that none feels another's background work. The medium's floor is measured by the
//! same thread in turns with the load (a twelfth of the load, then a fifth as long of the floor), so that both meet the
//! same minute; what the engine does in the background goes on meanwhile. The *quiet floor* is measured before the
//! engine is opened.

use std::time::{Duration, Instant};

use crate::Result;
use crate::engine::{Engine, Kind, Session};
use crate::floor::Floor;
use crate::keys::Keys;
use crate::latency::{Course, Latencies};
use crate::report::{Place, Report};
use crate::setup::{Medium, Setup, fill};
use crate::terminal::{progress, say};

const KINDS: [Kind; 2] = [Kind::Cairn, Kind::Sqlite];
const SHARES: [f64; 4] = [0.5, 0.99, 0.999, 0.9999];
/// Turns of load and floor.
const TURNS: u32 = 12;
/// The load's share of a turn to the floor's.
const LOAD_TO_FLOOR: u32 = 5;
/// Steps of the picture of latency over time.
const STEP: Duration = Duration::from_millis(100);

pub fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let medium: &Medium = &setup.disk;
    let args = &setup.args;
    let seconds = args.seconds.unwrap_or(args.size(60.0, 1.0));
    let stalls = Stalls {
        place: Place { workload: "stalls", medium: medium.name },
        rows: args.rows.unwrap_or(args.size(1_000_000, 20_000)),
        time: Duration::from_secs_f64(seconds),
        seed: args.seed,
    };
    // A run of a minute is itself many samples: one round, unless more are asked for.
    let rounds = args.rounds.unwrap_or(1);
    let kinds = if args.engines.is_some() { setup.kinds(Kind::ALL) } else { setup.kinds(&KINDS) };
    for round in 0..rounds {
        progress(stalls.place, round, rounds);
        for &kind in &kinds {
            stalls.of(setup, kind, medium, report)?;
        }
    }
    Ok(())
}

struct Stalls {
    place: Place,
    rows: i64,
    /// Of each load, without the floor's turns.
    time: Duration,
    seed: u64,
}

/// The latencies of a load or of its floor: all together, and over time.
struct Timed {
    start: Instant,
    all: Latencies,
    course: Course,
}

impl Timed {
    fn new(start: Instant) -> Result<Timed> {
        Ok(Timed { start, all: Latencies::new()?, course: Course::new(STEP) })
    }

    /// Repeats `step` for this long.
    fn run(&mut self, time: Duration, step: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let until = Instant::now() + time;
        loop {
            let before = Instant::now();
            step()?;
            let after = Instant::now();
            self.all.add(after - before);
            self.course.add(before - self.start, after - before);
            if after >= until {
                return Ok(());
            }
        }
    }
}

impl Stalls {
    fn of(&self, setup: &Setup, kind: Kind, medium: &Medium, report: &mut Report) -> Result<()> {
        let Some((_, mut floor)) = medium.floors()?.into_iter().next() else { return Ok(()) };
        let mut quiet = Timed::new(Instant::now())?;
        quiet.run(self.time / LOAD_TO_FLOOR, &mut || floor.write())?;
        let (engine, dir) = setup.open(kind, medium, report)?;
        fill(&*engine, self.rows)?;
        let loads = self.loads(&*engine, &mut floor)?;
        let name = engine.name();
        engine.close()?;
        std::fs::remove_dir_all(dir)?;
        for (what, load, floor) in &loads {
            self.report(name, what, load, report)?;
            let beside =
                |floor: &str| if kind == Kind::Cairn { floor.to_string() } else { format!("{floor} beside {name}") };
            self.report(&beside("floor"), what, floor, report)?;
            self.report(&beside("quiet floor"), what, &quiet, report)?;
            say(format!("{name} {what}: {} commits; worst ten ms: {}", load.all.count(), worst(&load.all)));
            say(format!("{:width$} floor: worst ten ms: {}", "", worst(&floor.all), width = name.len()));
        }
        Ok(())
    }

    /// Each load with its floor.
    fn loads(&self, engine: &dyn Engine, floor: &mut Floor) -> Result<Vec<(&'static str, Timed, Timed)>> {
        let mut loads = Vec::new();
        engine.with_session(&mut |session: &mut dyn Session| {
            let mut next = self.rows;
            let (load, beside) = self.in_turns(floor, &mut || {
                next += 1;
                session.insert(next - 1)
            })?;
            loads.push(("insert", load, beside));
            let mut keys = Keys::new(self.seed);
            let (load, beside) = self.in_turns(floor, &mut || {
                // Never the number that the row has: an engine may leave out a write that changes nothing.
                next += 1;
                session.update(keys.below(self.rows), next)
            })?;
            loads.push(("update", load, beside));
            Ok(())
        })?;
        Ok(loads)
    }

    fn in_turns(&self, floor: &mut Floor, step: &mut dyn FnMut() -> Result<()>) -> Result<(Timed, Timed)> {
        let start = Instant::now();
        let (mut load, mut beside) = (Timed::new(start)?, Timed::new(start)?);
        for _ in 0..TURNS {
            load.run(self.time / TURNS, step)?;
            beside.run(self.time / TURNS / LOAD_TO_FLOOR, &mut || floor.write())?;
        }
        Ok((load, beside))
    }

    fn report(&self, engine: &str, what: &str, timed: &Timed, report: &mut Report) -> Result<()> {
        report.add_latencies(self.place, engine, what, &timed.all, &SHARES)?;
        report.add(self.place, engine, &format!("{what} max"), "us", timed.all.max_us());
        report.add_course(self.place, engine, what, &timed.course);
        Ok(())
    }
}

fn worst(latencies: &Latencies) -> String {
    latencies.worst_us().iter().map(|us| format!("{:.2}", us / 1e3)).collect::<Vec<_>>().join(" ")
}
