//! Single-row UPDATE by key, autocommit, durable: what one commit costs.
//!
//! Key-value engines put the whole row, without reading it first.

use super::together::{Named, steps, with_sessions};
use crate::Result;
use crate::engine::Kind;
use crate::keys::Keys;
use crate::latency::Latencies;
use crate::report::{Place, Report};
use crate::setup::{Medium, Setup, close_all};
use crate::terminal::{progress, say};

const SHARES: [f64; 3] = [0.5, 0.95, 0.99];

pub fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    setup.media().try_for_each(|medium| on(setup, medium, report))
}

fn on(setup: &Setup, medium: &Medium, report: &mut Report) -> Result<()> {
    let place = Place { workload: "commit", medium: medium.name };
    let args = &setup.args;
    let rows = args.rows.unwrap_or(args.size(100_000, 5_000));
    let usual = if medium.name == "disk" { args.size(4_000, 300) } else { args.size(50_000, 3_000) };
    let commits = args.commits.unwrap_or(usual);
    let engines = setup.open_filled(Kind::ALL, medium, rows, report)?;
    let mut floors = medium.floors()?;
    for (name, floor) in &floors {
        report.setting(name, floor.setting());
        say(format!("{name:<8} {}", floor.setting()));
    }
    with_sessions(&engines, &mut |sessions| {
        for round in 0..args.rounds() {
            progress(place, round, args.rounds());
            let seed = args.seed + round as u64;
            for named in sessions.iter_mut() {
                let latencies = updates(named, Keys::new(seed), rows, commits)?;
                report.add_latencies(place, named.name, "commit", &latencies, &SHARES)?;
            }
            for (name, floor) in &mut floors {
                let latencies = steps(commits, |_| floor.write())?;
                report.add_latencies(place, name, "commit", &latencies, &SHARES)?;
            }
        }
        Ok(())
    })?;
    close_all(engines)
}

fn updates(named: &mut Named<'_>, mut keys: Keys, rows: i64, commits: u64) -> Result<Latencies> {
    steps(commits, |at| named.session.update(keys.below(rows), at as i64))
}
