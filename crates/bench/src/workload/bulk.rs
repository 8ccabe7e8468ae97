//! Bulk insert in ascending order, each transaction durable: rows per second, and the size of the closed database.

use std::path::Path;
use std::time::Instant;

use crate::Result;
use crate::engine::Kind;
use crate::report::{Place, Report};
use crate::setup::{Medium, Setup, bytes_below, fill};
use crate::terminal::progress;

const KINDS: [Kind; 4] = [Kind::Cairn, Kind::Sqlite, Kind::Lmdb, Kind::Redb];

pub fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    setup.media().try_for_each(|medium| on(setup, medium, report))
}

fn on(setup: &Setup, medium: &Medium, report: &mut Report) -> Result<()> {
    let place = Place { workload: "bulk", medium: medium.name };
    let args = &setup.args;
    let rows = args.rows.unwrap_or(args.size(1_000_000, 30_000));
    for round in 0..args.rounds() {
        progress(place, round, args.rounds());
        for kind in setup.kinds(&KINDS) {
            let (engine, dir) = setup.open(kind, medium, report)?;
            let name = engine.name();
            let start = Instant::now();
            fill(&*engine, rows)?;
            let inserted = start.elapsed();
            engine.close()?;
            let closed = start.elapsed();
            report.add(place, name, "insert", "rows/s", rows as f64 / inserted.as_secs_f64());
            report.add(place, name, "insert and close", "rows/s", rows as f64 / closed.as_secs_f64());
            report.add(place, name, "size", "MB", megabytes(&dir)?);
            std::fs::remove_dir_all(&dir)?;
        }
    }
    Ok(())
}

fn megabytes(dir: &Path) -> Result<f64> {
    Ok(bytes_below(dir)? as f64 / 1e6)
}
