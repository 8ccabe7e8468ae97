//! One thread that begins the next update before the last one is durable, with a bounded number outstanding.

use std::time::Instant;

use super::together::with_sessions;
use crate::Result;
use crate::engine::Kind;
use crate::keys::Keys;
use crate::report::{Place, Report};
use crate::setup::{Medium, Setup, close_all};
use crate::terminal::progress;

/// Engines that can.
const KINDS: [Kind; 1] = [Kind::Cairn];

pub fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    setup.media().try_for_each(|medium| on(setup, medium, report))
}

fn on(setup: &Setup, medium: &Medium, report: &mut Report) -> Result<()> {
    let place = Place { workload: "pipelined", medium: medium.name };
    let args = &setup.args;
    let rows = args.rows.unwrap_or(args.size(100_000, 5_000));
    let commits = args.commits.unwrap_or(args.size(1_000_000, 50_000));
    let writes = args.size(4_000, 300);
    let engines = setup.open_filled(&KINDS, medium, rows, report)?;
    let mut floors = medium.floors()?;
    with_sessions(&engines, &mut |sessions| {
        for round in 0..args.rounds() {
            progress(place, round, args.rounds());
            for named in sessions.iter_mut() {
                let mut random = Keys::new(args.seed + round as u64);
                let mut keys = (0..commits).map(|_| random.below(rows));
                let start = Instant::now();
                let done = named.session.pipeline(&mut keys, args.window).unwrap_or(Err("cannot pipeline".into()));
                done.map_err(|error| format!("{}: {error}", named.name))?;
                report.add(place, named.name, "commits", "commits/s", commits as f64 / start.elapsed().as_secs_f64());
            }
            for (name, floor) in &mut floors {
                let start = Instant::now();
                (0..writes).try_for_each(|_| floor.write())?;
                report.add(place, name, "commits", "commits/s", writes as f64 / start.elapsed().as_secs_f64());
            }
        }
        Ok(())
    })?;
    close_all(engines)
}
