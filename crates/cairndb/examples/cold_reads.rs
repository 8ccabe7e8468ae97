//! Reading what is cold beside what the medium gives, by the same system calls in the same run: scans of tables whose leaves lie in order, and do not, beside
//! direct reads of 1 MiB one after the other, look-ups beside random reads of a page. Before each of them the system's cache is dropped,
//! where this may (on Linux, as root).
//!
//! `cold_reads FILE [MEGABYTES_OF_THE_TABLE [MEGABYTES_OF_THE_CACHE [ROUNDS]]]` makes the file where it is not there, and leaves it.
//! `cold_reads FILE MEGABYTES_OF_THE_CACHE SQL...` times these statements instead.

use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use cairn_storage::io::{AlignedBuf, Create, File, FileSystem, OpenHow, RealFs};
use cairndb::{Connection, Database, Options};

type Done<T = ()> = Result<T, Box<dyn Error>>;

/// Rows of some 250 bytes, of which those of the first table come in the order of their keys, and its leaves lie so in the file; those of
/// the second, a quarter as many, in an order of chance.
const TABLES: &str = "CREATE TABLE wide (id bigint PRIMARY KEY, n bigint NOT NULL, pad text NOT NULL);
    CREATE TABLE scattered (id bigint PRIMARY KEY, n bigint NOT NULL, pad text NOT NULL);
    CREATE TABLE asked (n bigint PRIMARY KEY, id bigint NOT NULL);";
/// Of a new database.
const PAGE: u64 = 4096;
const ROW_BYTES: usize = 256;
const LOOK_UPS: i64 = 100_000;

const STATEMENTS: [(&str, &str); 3] = [
    ("scan of the table", "SELECT sum(n) FROM wide"),
    ("scan of scattered leaves", "SELECT sum(n) FROM scattered"),
    (
        "look-ups by a join",
        "SELECT count(*), sum(wide.n) FROM asked JOIN wide ON wide.id = asked.id WHERE asked.n < 100000",
    ),
];

fn main() -> Done {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual: usize| args.get(at).map_or(Ok(usual), |text| text.parse::<usize>());
    let Some(file) = args.first().map(Path::new) else { return Err("cold_reads FILE [TABLE [CACHE [ROUNDS]]]".into()) };
    if args.len() > 2 && args[2].contains(' ') {
        let cache_bytes = number(1, 64)? << 20;
        return args[2..].iter().try_for_each(|sql| time(file, cache_bytes, sql, sql).map(drop));
    }
    let (table, cache, rounds) = (number(1, 1000)?, number(2, 128)?, number(3, 3)?);
    if !file.exists() {
        make(file, table << 20)?;
    }
    for _ in 0..rounds {
        let one_by_one = sequential(file)?;
        for (what, sql) in STATEMENTS {
            let each = time(file, cache << 20, what, sql)?;
            if what == "scan of the table" {
                println!("    {:.2} x the file's time, byte by byte", each / one_by_one);
            }
        }
        [1, 4, 16, 64].into_iter().try_for_each(|depth| random(file, depth))?;
    }
    Ok(())
}

fn make(file: &Path, bytes: usize) -> Done {
    let mut options = Options::default();
    options.cache_bytes = 1 << 30;
    let database = Database::open_with(file, options)?;
    let conn = database.connect()?;
    conn.execute_script(TABLES)?;
    let rows = (bytes / ROW_BYTES / 5 * 4) as i64;
    for (table, rows, key) in [("wide", rows, "g"), ("scattered", rows / 4, "g * 7368787 % $3")] {
        for from in (0..rows).step_by(50_000) {
            let more = format!(
                "INSERT INTO {table} SELECT {key}, g % 1000 + $3 * 0, repeat(md5(g::text), 7)
                 FROM generate_series($1::bigint, $2) AS s(g)"
            );
            conn.execute(&more, (from, (from + 50_000).min(rows) - 1, rows))?;
        }
    }
    let asked = "INSERT INTO asked SELECT g, g * 7368787 % $2 FROM generate_series(0::bigint, $1) AS s(g)";
    conn.execute(asked, (LOOK_UPS - 1, rows))?;
    conn.execute_script("ANALYZE")?;
    database.checkpoint()?;
    Ok(database.close()?)
}

/// A statement's seconds in a database that was just opened, for each byte of the pages that it read.
fn time(file: &Path, cache_bytes: usize, what: &str, sql: &str) -> Done<f64> {
    drop_caches();
    let mut options = Options::default();
    options.cache_bytes = cache_bytes;
    let database = Database::open_with(file, options)?;
    let conn = database.connect()?;
    let (begun, processor) = (Instant::now(), processor_seconds());
    let rows = rows_of(&conn, sql)?;
    let taken = begun.elapsed().as_secs_f64();
    let busy = processor_seconds() - processor;
    let stats = database.stats();
    println!(
        "{what}: {taken:.3} s ({busy:.2} of the processors'), {rows:?}; {} pages read, {} ahead, {} missed",
        stats.pages_read, stats.pages_read_ahead, stats.page_misses
    );
    Ok(taken / ((stats.pages_read + stats.pages_read_ahead) * PAGE) as f64)
}

fn rows_of(conn: &Connection, sql: &str) -> Done<Vec<String>> {
    conn.query(sql, ())?.into_iter().map(|row| Ok(format!("{:?}", row?))).collect()
}

/// The seconds that reading a byte of the file takes in pieces of 1 MiB.
fn sequential(file: &Path) -> Done<f64> {
    const PIECE: usize = 1 << 20;
    drop_caches();
    let (file, mut buf) = (open(file)?, AlignedBuf::zeroed(PIECE));
    let (begun, pieces) = (Instant::now(), file.len()? / PIECE as u64);
    (0..pieces).try_for_each(|at| file.read_at(&mut buf, at * PIECE as u64))?;
    let taken = begun.elapsed().as_secs_f64();
    println!("file: {pieces} MiB in {taken:.3} s");
    Ok(taken / (pieces * PIECE as u64) as f64)
}

/// How long as many random reads take as look-ups are made, so many at a time.
fn random(file: &Path, depth: usize) -> Done {
    drop_caches();
    let file = open(file)?;
    let (pages, next, begun) = (file.len()? / PAGE, AtomicU64::new(0), Instant::now());
    let read = || -> std::io::Result<()> {
        let mut buf = AlignedBuf::zeroed(PAGE as usize);
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= LOOK_UPS as u64 {
                return Ok(());
            }
            file.read_at(black_box(&mut buf), at.wrapping_mul(0x9E37_79B9_7F4A_7C15) % pages * PAGE)?;
        }
    };
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..depth).map(|_| scope.spawn(read)).collect();
        readers.into_iter().try_for_each(|reader| reader.join().expect("a reader does not panic"))
    })?;
    println!("random reads, {depth} at a time: {:.3} s", begun.elapsed().as_secs_f64());
    Ok(())
}

fn open(file: &Path) -> Done<std::sync::Arc<dyn File>> {
    Ok(RealFs.open(file, OpenHow { create: Create::Never, read_only: true, direct: true })?)
}

fn drop_caches() {
    if std::fs::write("/proc/sys/vm/drop_caches", "3").is_err() {
        println!("(the system's cache could not be dropped)");
    }
}

/// What this process had of the processors so far; 0 where that is not told.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = text
        .rsplit(')')
        .next()
        .map_or(0, |rest| rest.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum());
    ticks as f64 / 100.0
}
