//! Sessions that sort at once more than there is room for, in memory that they share with the cache.
//!
//! `cargo run --release -p cairndb --example many_sorts -- DIRECTORY [SESSIONS [ROWS [MIB]]]`
//!
//! Each sorts a table of so many rows by what is random in them, and reads all of the answer.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cairndb::{Database, Memory, Options};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().expect("a directory");
    let mut number = |or| arguments.next().map_or(or, |text| text.parse::<usize>().expect("a number"));
    let (sessions, rows, mib) = (number(32), number(1_000_000), number(512));
    let path = Path::new(&directory).join("many_sorts");
    let memory = Memory::shared(mib << 20);
    let database = Database::open_with(&path, Options::default().memory(memory.clone())).expect("it opens");
    make(&database, rows);

    let (is_over, most) = (AtomicBool::new(false), AtomicUsize::new(0));
    let begun = Instant::now();
    let took: Vec<Duration> = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                most.fetch_max(memory.taken(), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let sort = || {
            let connection = database.connect().expect("it connects");
            let mut statement = connection.prepare("SELECT id, word FROM sorted ORDER BY word, id").expect("it is one");
            let (mut found, mut last) = (0, String::new());
            for row in statement.query(()).expect("it runs") {
                let row = row.expect("it goes on");
                let word: String = row.get(1).expect("it is text");
                assert!(last <= word);
                (found, last) = (found + 1, word);
            }
            assert_eq!(found, rows);
            begun.elapsed()
        };
        let sorting: Vec<_> = (0..sessions).map(|_| scope.spawn(sort)).collect();
        let took = sorting.into_iter().map(|one| one.join().expect("it ends well")).collect();
        is_over.store(true, Ordering::Relaxed);
        took
    });
    let (first, last) = (took.iter().min().expect("some"), took.iter().max().expect("some"));
    println!(
        "{sessions} sessions sorted {rows} rows each, in {:.1} to {:.1} s; of {mib} MiB at most {} were taken; {} resident",
        first.as_secs_f64(),
        last.as_secs_f64(),
        most.into_inner() >> 20,
        resident_at_most(),
    );
    drop(database);
    std::fs::remove_file(path).expect("it is removed");
}

fn make(database: &Database, rows: usize) {
    let connection = database.connect().expect("it connects");
    connection.execute("CREATE TABLE sorted (id bigint PRIMARY KEY, word text NOT NULL)", ()).expect("it is made");
    let rows = rows as i64;
    connection
        .execute("INSERT INTO sorted SELECT n, md5(n::text) FROM generate_series(1, $1) n", (rows,))
        .expect("they go in");
    connection.execute("CHECKPOINT", ()).expect("it ends");
}

/// As the system has counted it, for the whole process since it began.
fn resident_at_most() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.map_or("unknown".to_string(), |kib| format!("at most {} MiB", kib >> 10))
}
