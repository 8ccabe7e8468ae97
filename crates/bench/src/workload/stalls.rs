//! Sustained durable inserts, then random updates, as fast as one thread can: would a checkpoint be felt?
//!
//! One engine is open at a time, so that none feels another's background work. The medium's floor is measured for a
//! while before and after each engine's run, with nothing else going on.

use std::time::{Duration, Instant};

use crate::Result;
use crate::engine::{Engine, Kind, Session};
use crate::floor::Floor;
use crate::keys::Keys;
use crate::latency::Latencies;
use crate::report::{Place, Report};
use crate::setup::{Medium, Setup, fill};
use crate::terminal::{progress, say};

const KINDS: [Kind; 2] = [Kind::Cairn, Kind::Sqlite];
const SHARES: [f64; 3] = [0.5, 0.99, 0.999];

pub fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let medium: &Medium = &setup.disk;
    let args = &setup.args;
    let seconds = args.seconds.unwrap_or(args.size(60.0, 2.0));
    let stalls = Stalls {
        place: Place { workload: "stalls", medium: medium.name },
        rows: args.rows.unwrap_or(args.size(1_000_000, 20_000)),
        time: Duration::from_secs_f64(seconds),
        floor_time: Duration::from_secs_f64(seconds / 6.0),
        seed: args.seed,
    };
    // A run of a minute is itself many samples: one round, unless more are asked for.
    let rounds = args.rounds.unwrap_or(1);
    let kinds = if args.engines.is_some() { setup.kinds(&Kind::ALL) } else { setup.kinds(&KINDS) };
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
    time: Duration,
    floor_time: Duration,
    seed: u64,
}

/// One load's latencies, all together and second by second.
struct Course {
    all: Latencies,
    slowest_us_by_second: Vec<f64>,
}

impl Stalls {
    fn of(&self, setup: &Setup, kind: Kind, medium: &Medium, report: &mut Report) -> Result<()> {
        let (engine, dir) = setup.open(kind, medium, report)?;
        fill(&*engine, self.rows)?;
        let Some((_, mut floor)) = medium.floors()?.into_iter().next() else { return Ok(()) };
        let mut floors = self.floor(&mut floor)?;
        let (inserts, updates) = self.loads(&*engine)?;
        let name = engine.name();
        engine.close()?;
        floors.merge(&self.floor(&mut floor)?)?;
        std::fs::remove_dir_all(dir)?;
        for (what, course) in [("insert", &inserts), ("update", &updates)] {
            self.report(name, what, &course.all, report)?;
            // One floor per engine's run: it stands beside both loads.
            if kind == Kind::Cairn || kind == Kind::Sqlite {
                let label = if kind == Kind::Cairn { "floor" } else { "floor beside sqlite" };
                self.report(label, what, &floors, report)?;
            }
            let name_of = |detail: &str| format!("{what} {detail}");
            report.add_detail(self.place, name, &name_of("worst ten us"), course.all.worst_us());
            report.add_detail(self.place, name, &name_of("slowest us by second"), course.slowest_us_by_second.clone());
            say(format!("{name} {what}: {} commits; worst ten ms: {}", course.all.count(), worst(&course.all)));
        }
        Ok(())
    }

    fn loads(&self, engine: &dyn Engine) -> Result<(Course, Course)> {
        let mut courses = Vec::new();
        engine.with_session(&mut |session: &mut dyn Session| {
            let mut next = self.rows;
            courses.push(self.course(self.time, || {
                next += 1;
                session.insert(next - 1)
            })?);
            let mut keys = Keys::new(self.seed);
            courses.push(self.course(self.time, || {
                // Never the number that the row has: an engine may leave out a write that changes nothing.
                next += 1;
                session.update(keys.below(self.rows), next)
            })?);
            Ok(())
        })?;
        match (courses.pop(), courses.pop()) {
            (Some(updates), Some(inserts)) => Ok((inserts, updates)),
            _ => Err("the engine did not run its loads".into()),
        }
    }

    fn floor(&self, floor: &mut Floor) -> Result<Latencies> {
        Ok(self.course(self.floor_time, || floor.write())?.all)
    }

    fn course(&self, time: Duration, mut step: impl FnMut() -> Result<()>) -> Result<Course> {
        let mut course = Course { all: Latencies::new()?, slowest_us_by_second: Vec::new() };
        let start = Instant::now();
        loop {
            let before = Instant::now();
            step()?;
            let took = before.elapsed();
            course.all.add(took);
            let second = before.duration_since(start).as_secs() as usize;
            course.slowest_us_by_second.resize(course.slowest_us_by_second.len().max(second + 1), 0.0);
            if let Some(slowest) = course.slowest_us_by_second.get_mut(second) {
                *slowest = slowest.max(took.as_nanos() as f64 / 1e3);
            }
            if start.elapsed() >= time {
                return Ok(course);
            }
        }
    }

    fn report(&self, engine: &'static str, what: &str, latencies: &Latencies, report: &mut Report) -> Result<()> {
        report.add_latencies(self.place, engine, what, latencies, &SHARES)?;
        report.add(self.place, engine, &format!("{what} max"), "us", latencies.max_us());
        Ok(())
    }
}

fn worst(latencies: &Latencies) -> String {
    latencies.worst_us().iter().map(|us| format!("{:.2}", us / 1e3)).collect::<Vec<_>>().join(" ")
}
