//! Point reads of a database whose cache has grown, while a neighbour takes memory in the same control group: does the system kill
//! somebody, how soon is memory given back, and what do reads feel? Run within a group of 1 GB (docs/benchmarks.md has the commands):
//!
//! `short_of_memory FOLDER [MEGABYTES_OF_THE_CACHE [MEGABYTES_OF_THE_NEIGHBOUR]]`

use std::error::Error;
use std::hint::black_box;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cairndb::{Connection, Database, Options};

const ROWS: i64 = 1_200_000;
/// A second each.
const ROUNDS: usize = 12;
/// In which of them the neighbour comes.
const COMES: usize = 4;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let megabytes = |at: usize, usual: usize| args.get(at).map_or(Ok(usual), |text| text.parse::<usize>());
    match args.first().map(String::as_str) {
        Some("--neighbour") => {
            take(megabytes(1, 500)? << 20);
            Ok(())
        }
        Some(folder) => measure(folder, megabytes(1, 600)? << 20, megabytes(2, 500)?),
        None => Err("short_of_memory FOLDER [MEGABYTES OF THE CACHE [MEGABYTES OF THE NEIGHBOUR]]".into()),
    }
}

/// Takes memory, and has it until it is killed.
fn take(bytes: usize) {
    let mut memory = vec![0_u8; bytes];
    memory.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
    black_box(&memory);
    std::thread::sleep(Duration::from_secs(3600));
}

fn measure(folder: &str, cache_bytes: usize, neighbour: usize) -> Result<(), Box<dyn Error>> {
    let mut options = Options::default();
    options.cache_bytes = cache_bytes;
    let database = Database::open_with(format!("{folder}/short.cairn"), options)?;
    let conn = database.connect()?;
    fill(&conn)?;
    // All of it is read once.
    conn.query("SELECT sum(length(b)) FROM t", ())?.into_iter().try_for_each(|row| row.map(drop))?;
    let mut read = conn.prepare("SELECT b FROM t WHERE id = $1")?;
    let (mut key, mut child) = (1_i64, None::<Child>);
    println!("second  reads     p50 us  p99 us  p99.9 us  resident MB  given back MB");
    for second in 0..ROUNDS {
        if second == COMES {
            let itself = std::env::current_exe()?;
            let command = [String::from("--neighbour"), neighbour.to_string()];
            child = Some(Command::new(itself).args(command).stdout(Stdio::null()).spawn()?);
        }
        let mut times = Vec::with_capacity(1 << 20);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(1) {
            key = key.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let started = Instant::now();
            black_box(read.query(((key >> 16).rem_euclid(ROWS),))?);
            times.push(started.elapsed());
        }
        times.sort_unstable();
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e6;
        println!(
            "{second:6}  {:8}  {:6.1}  {:6.1}  {:8.1}  {:11}  {:13}",
            times.len(),
            at(0.5),
            at(0.99),
            at(0.999),
            resident()? >> 20,
            database.stats().cache_bytes_released >> 20,
        );
    }
    let mut child = child.ok_or("no neighbour came")?;
    let is_there = child.try_wait()?.is_none();
    child.kill()?;
    child.wait()?;
    println!("the neighbour {}", if is_there { "lived to the end" } else { "was killed" });
    Ok(())
}

/// Some 600 MB.
fn fill(conn: &Connection) -> Result<(), Box<dyn Error>> {
    if conn.query("SELECT 1 FROM pg_tables WHERE tablename = 't'", ())?.into_iter().next().is_some() {
        return Ok(());
    }
    conn.execute("CREATE TABLE t (id bigint PRIMARY KEY, b text)", ())?;
    for from in (0..ROWS).step_by(100_000) {
        let rows = "INSERT INTO t SELECT g, repeat(md5(g::text), 13) FROM generate_series($1::bigint, $2) AS s(g)";
        conn.execute(rows, (from, from + 99_999))?;
    }
    Ok(conn.execute("CHECKPOINT", ()).map(drop)?)
}

/// Of this process.
fn resident() -> Result<u64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? << 10)
}
