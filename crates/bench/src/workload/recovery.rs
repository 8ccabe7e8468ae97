//! Time to reopen after a kill, against the size of the log.
//!
//! A process of its own writes rows in random order, a hundred to a transaction, until so much log has not been written back
//! (checkpoints are set not to come before), and is killed. What is timed is opening and the first count of one row; all
//! rows that were acknowledged must be there.

use std::path::Path;
use std::time::Instant;

use crate::engine::{Datum, SqlEngine, SqlKind, SqlOptions};
use crate::keys::Keys;
use crate::report::{Axes, Place, Report};
use crate::rows::text;
use crate::setup::{Setup, note};
use crate::terminal::progress;
use crate::{Result, child};

const ROWS_PER_TRANSACTION: u64 = 100;

pub fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    if setup.args.plain {
        return write(setup);
    }
    let place = Place { workload: "recovery", medium: "disk" };
    let usual = setup.args.size(&[4, 16, 64, 128][..], &[2, 8][..]);
    let sizes = setup.args.log_mib.map_or(usual.to_vec(), |size| vec![size]);
    let rounds = setup.args.rounds.unwrap_or(setup.args.size(3, 2));
    for round in 0..rounds {
        progress(place, round, rounds);
        for &mib in &sizes {
            for kind in setup.sql_kinds(SqlKind::OF_LOADS) {
                once(setup, kind, mib, place, report)?;
            }
        }
    }
    Ok(())
}

fn once(setup: &Setup, kind: SqlKind, mib: u64, place: Place, report: &mut Report) -> Result<()> {
    let dir = setup.disk.folder()?;
    let options = ["--engines", kind.name(), "--log-mib", &mib.to_string()].map(str::to_string);
    let told = child::kill_when_ready(setup, "recovery", &dir, &options)?;
    let rows = told.iter().find(|(name, _)| name == "rows").map_or(0.0, |(_, rows)| *rows);
    let log = log_bytes(&dir)? as f64 / f64::from(1 << 20);
    let start = Instant::now();
    let engine = kind.open(&dir, SqlOptions::default())?;
    let opened = start.elapsed();
    engine.connect(&mut |session| {
        session.prepare("SELECT count(*) FROM t WHERE id = $1")?.first(&[Datum::Int(0)]).map(drop)
    })?;
    let answered = start.elapsed();
    check(&*engine, rows)?;
    note(kind.name(), engine.setting(), report);
    engine.close()?;
    std::fs::remove_dir_all(&dir)?;
    let (opened, answered) = (opened.as_secs_f64() * 1e3, answered.as_secs_f64() * 1e3);
    report.add(place, kind.name(), &format!("open, {mib} MiB of log"), "ms", opened);
    report.add(place, kind.name(), &format!("open and read, {mib} MiB of log"), "ms", answered);
    // Engines log different amounts for the same rows.
    let each = answered * 1e3 / (rows / 1e3).max(1.0);
    report.add(place, kind.name(), &format!("the same per 1000 rows, {mib} MiB of log"), "us", each);
    report.add_point(place, kind.name(), "open and read", Axes { x: "MiB of log", y: "ms" }, (log, answered));
    Ok(())
}

/// The log's file, which may be larger than what is live in it.
fn log_bytes(dir: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with("-log") || name.ends_with("-wal") {
            bytes += entry.metadata()?.len();
        }
    }
    Ok(bytes)
}

fn check(engine: &dyn SqlEngine, rows: f64) -> Result<()> {
    engine.connect(&mut |session| {
        let found = session.prepare("SELECT count(*) FROM t")?.first(&[])?.sum;
        if found < rows {
            return Err(format!("{}: {rows} rows were acknowledged, {found} are there", engine.name()).into());
        }
        Ok(())
    })
}

/// In the child: writes until there is so much log.
fn write(setup: &Setup) -> Result<()> {
    let wanted = setup.args.log_mib.unwrap_or(8) << 20;
    let Some(kind) = setup.sql_kinds(SqlKind::OF_LOADS).into_iter().next() else { return Ok(()) };
    let dir = &setup.args.dir;
    let options = SqlOptions { checkpoint_bytes: 4 * wanted, ..SqlOptions::default() };
    let engine = kind.open(dir, options)?;
    engine.connect(&mut |session| {
        session.script("CREATE TABLE t (id BIGINT PRIMARY KEY, n BIGINT NOT NULL, v TEXT NOT NULL)")?;
        let mut insert = session.prepare("INSERT INTO t VALUES ($1, $2, $3)")?;
        let (mut keys, mut rows) = (Keys::new(setup.args.seed), 0);
        while live_log(&*engine, dir)? < wanted {
            session.script("BEGIN")?;
            for _ in 0..ROWS_PER_TRANSACTION {
                let id = (keys.draw() >> 1) as i64;
                insert.execute(&[Datum::Int(id), Datum::Int(rows as i64), Datum::Text(text(rows as i64))])?;
                rows += 1;
            }
            session.script("COMMIT")?;
        }
        child::tell("rows", rows as f64);
        child::wait_for_kill();
        Ok(())
    })
}

fn live_log(engine: &dyn SqlEngine, dir: &Path) -> Result<u64> {
    match engine.counters().iter().find(|(name, _)| *name == "log_bytes_live") {
        Some((_, bytes)) => Ok(*bytes),
        None => log_bytes(dir),
    }
}
