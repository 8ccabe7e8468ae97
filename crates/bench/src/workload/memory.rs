//! Data four times the cache: how far memory grows beyond the budget, and what a read costs that mostly has to go to
//! the medium, beside the medium's own random read.
//!
//! Loading and reading each run in a process of their own, whose resident set is read at its start and at its peak. The
//! system's cache is told to forget the file before the reads; it fills again as they go on, for engines that read
//! through it.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::together::steps;
use crate::engine::{Datum, SqlEngine, SqlKind, SqlOptions};
use crate::floor::{ReadFloor, forget_cached};
use crate::keys::Keys;
use crate::latency::Latencies;
use crate::report::{Place, Report};
use crate::rows::{ROW_BYTES, text};
use crate::setup::{LOAD_BATCH, Setup, note};
use crate::terminal::progress;
use crate::{Result, child};

/// A row with its key, as an engine keeps it, roughly.
const BYTES_PER_ROW: u64 = ROW_BYTES as u64 + 20;
const DATA_TO_CACHE: u64 = 4;

pub fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    if setup.args.plain {
        return in_child(setup);
    }
    let place = Place { workload: "memory", medium: "disk" };
    let cache = cache_bytes(setup);
    let rounds = setup.args.rounds.unwrap_or(setup.args.size(3, 1));
    for round in 0..rounds {
        progress(place, round, rounds);
        for kind in setup.sql_kinds(SqlKind::OF_LOADS) {
            once(setup, kind, cache, place, report)?;
        }
    }
    Ok(())
}

fn cache_bytes(setup: &Setup) -> u64 {
    setup.args.cache_mib.unwrap_or(setup.args.size(64, 8)) << 20
}

fn reads(setup: &Setup) -> u64 {
    setup.args.commits.unwrap_or(setup.args.size(50_000, 2_000))
}

fn once(setup: &Setup, kind: SqlKind, cache: u64, place: Place, report: &mut Report) -> Result<()> {
    let dir = setup.disk.folder()?;
    let options = ["--engines", kind.name(), "--cache-mib", &(cache >> 20).to_string(), "--commits"];
    let mut options = options.map(str::to_string).to_vec();
    options.push(reads(setup).to_string());
    // The first process finds an empty folder and loads, the second one reads what it finds.
    for _ in 0..2 {
        for (measure, value) in child::run(setup, "memory", &dir, &options)? {
            let unit = unit_of(&measure);
            report.add(place, kind.name(), &measure, unit, value);
        }
    }
    let mut floor = ReadFloor::over(&file_of(kind, &dir), setup.args.seed)?;
    note("floor", floor.setting(), report);
    let latencies = steps(reads(setup), |_| floor.read())?;
    // One file is as good as another to the medium: the floor stands once, over the first engine's.
    if kind == SqlKind::Cairn {
        add_reads(&latencies, &mut |what, value| report.add(place, "floor", what, unit_of(what), value));
    }
    Ok(std::fs::remove_dir_all(&dir)?)
}

fn unit_of(measure: &str) -> &'static str {
    match measure {
        _ if measure.contains("memory") => "of the budget",
        _ if measure.contains("read") => "us",
        _ => "s",
    }
}

fn add_reads(latencies: &Latencies, add: &mut dyn FnMut(&str, f64)) {
    add("point read p50", latencies.quantile_us(0.5));
    add("point read p99", latencies.quantile_us(0.99));
    add("point read mean", latencies.mean_us());
}

fn file_of(kind: SqlKind, dir: &Path) -> PathBuf {
    dir.join(format!("bench.{}", if kind == SqlKind::Cairn { "cairn" } else { "sqlite" }))
}

/// In the child: loads the table if there is none, reads it otherwise.
fn in_child(setup: &Setup) -> Result<()> {
    let Some(kind) = setup.sql_kinds(SqlKind::OF_LOADS).into_iter().next() else { return Ok(()) };
    let (dir, cache) = (&setup.args.dir, cache_bytes(setup));
    let rows = (cache * DATA_TO_CACHE / BYTES_PER_ROW) as i64;
    let path = file_of(kind, dir);
    let exists = path.exists();
    let before = resident("VmRSS");
    if exists {
        forget_cached(&path)?;
    }
    let engine = kind.open(dir, SqlOptions { cache_bytes: cache as usize, checkpoint_bytes: 0 })?;
    let start = Instant::now();
    let what = if exists {
        read(setup, &*engine, rows)?;
        "while reading"
    } else {
        load(&*engine, rows)?;
        child::tell("load", start.elapsed().as_secs_f64());
        "while loading"
    };
    engine.close()?;
    if let (Some(before), Some(peak)) = (before, resident("VmHWM")) {
        child::tell(&format!("memory growth {what}"), peak.saturating_sub(before) as f64 / cache as f64);
    }
    Ok(())
}

fn load(engine: &dyn SqlEngine, rows: i64) -> Result<()> {
    engine.connect(&mut |session| {
        session.script("CREATE TABLE t (id BIGINT PRIMARY KEY, n BIGINT NOT NULL, v TEXT NOT NULL)")?;
        let mut insert = session.prepare("INSERT INTO t VALUES ($1, $2, $3)")?;
        for from in (0..rows).step_by(LOAD_BATCH as usize) {
            session.script("BEGIN")?;
            for id in from..rows.min(from + LOAD_BATCH) {
                insert.execute(&[Datum::Int(id), Datum::Int(id), Datum::Text(text(id))])?;
            }
            session.script("COMMIT")?;
        }
        Ok(())
    })
}

fn read(setup: &Setup, engine: &dyn SqlEngine, rows: i64) -> Result<()> {
    engine.connect(&mut |session| {
        let mut read = session.prepare("SELECT n, v FROM t WHERE id = $1")?;
        let mut keys = Keys::new(setup.args.seed);
        let latencies = steps(reads(setup), |_| {
            let id = keys.below(rows);
            match read.first(&[Datum::Int(id)])?.rows {
                1 => Ok(()),
                _ => Err(format!("row {id} is not there").into()),
            }
        })?;
        add_reads(&latencies, &mut |what, value| child::tell(what, value));
        let start = Instant::now();
        let found = session.prepare("SELECT count(*), sum(n) FROM t")?.first(&[])?;
        let expected = rows as f64 + rows as f64 * (rows - 1) as f64 / 2.0;
        if found.sum != expected {
            return Err(format!("the scan gave {}, not {expected}", found.sum).into());
        }
        child::tell("scan", start.elapsed().as_secs_f64());
        Ok(())
    })
}

/// Bytes of this process's resident set, now (`VmRSS`) or at its peak (`VmHWM`); Linux only.
fn resident(which: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(which))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn the_resident_set_is_known_and_its_peak_no_smaller() {
        let (now, peak) = (resident("VmRSS").unwrap(), resident("VmHWM").unwrap());
        assert!(now > 0 && peak >= now / 2, "{now} {peak}");
    }
}
