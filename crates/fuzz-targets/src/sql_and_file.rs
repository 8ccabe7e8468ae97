//! SQL text against a database whose file or log was damaged.
//!
//! Promised besides: without forged checksums every query of a fixed list gives the rows of the undamaged database, or
//! a typed error. The one exception is documented: damage that meets the log's last batch may end the log
//! earlier, as a torn write would, and then every answer is that of one earlier state. With forged checksums rows may be anything.
//!
//! And of salvage: it reads a bounded number of pages, whatever refers to what; what it saves is a database that is right, and
//! (without forged checksums) has no row that no state since the last checkpoint had.

use std::path::Path;
use std::sync::LazyLock;

use cairn_storage::Store;
use cairn_storage::io::{CrashStrategy, DiskImage, SimDisk};
use cairndb::salvage::{SalvageProgress, salvage_in};
use cairndb::{Connection, Database, Options};

use crate::damage::Damage;
use crate::machine::{DATABASE, LOG, assert_typed, connect, environment, lines, open_database, store_options};
use crate::sql_text::{SCHEMA, image};

const PAGE_BYTES: usize = 1024;

/// By table, by every index, by key, joined and counted.
const QUERIES: [&str; 9] = [
    "SELECT * FROM t",
    "SELECT a, b FROM t WHERE b = 'text 3'",
    "SELECT a, c, d FROM t WHERE c > 20 ORDER BY c DESC, d",
    "SELECT * FROM t WHERE a = 101",
    "SELECT b FROM t WHERE a = 7",
    "SELECT * FROM u WHERE id BETWEEN 5 AND 9",
    "SELECT t.a, u.x FROM t JOIN u ON u.t_a = t.a WHERE t.b LIKE 'text%'",
    "SELECT count(*), sum(c), min(d) FROM t",
    "SELECT * FROM v",
];
/// The killed database's commits behind its last checkpoint.
const COMMITS: [&str; 4] = [
    "INSERT INTO u SELECT g, 3, g, NULL, NULL FROM generate_series(200, 215) AS g",
    "DELETE FROM t WHERE a = 40",
    "INSERT INTO t SELECT g, 'new', g, NULL, repeat('x', g * 5) FROM generate_series(200, 230) AS g",
    "UPDATE t SET b = 'changed', c = c + 1 WHERE a BETWEEN 3 AND 12",
];

/// A database's files and what its queries answer.
struct Base {
    image: DiskImage,
    /// Newest first: now, before the last commit, and so on.
    states: Vec<Vec<Vec<String>>>,
    /// Where in the log the last commit begins.
    last_batch: usize,
}

static AT_REST: LazyLock<Base> = LazyLock::new(|| {
    let image = image(PAGE_BYTES, SCHEMA);
    let disk = SimDisk::from_image(&image, 1);
    let database = open_database(&disk, PAGE_BYTES).expect("an undamaged database opens");
    let states = vec![answers(&connect(&database).expect("a connection"))];
    Base { image, states, last_batch: usize::MAX }
});

static KILLED: LazyLock<Base> = LazyLock::new(|| {
    let disk = SimDisk::from_image(&image(PAGE_BYTES, SCHEMA), 1);
    let database = open_database(&disk, PAGE_BYTES).expect("an undamaged database opens");
    let connection = connect(&database).expect("a connection");
    let (mut states, mut log_before) = (vec![answers(&connection)], Vec::new());
    for sql in COMMITS {
        log_before = disk.snapshot(Path::new(LOG)).expect("a log");
        connection.execute(sql, ()).expect("changes");
        states.insert(0, answers(&connection));
    }
    let log = disk.snapshot(Path::new(LOG)).expect("a log");
    let last_batch = (0..log.len()).find(|at| log.get(*at) != log_before.get(*at)).expect("a commit changes the log");
    Base { image: disk.crash(CrashStrategy::KeepAll), states, last_batch }
});

fn answers(connection: &Connection) -> Vec<Vec<String>> {
    QUERIES.iter().map(|sql| lines(connection, sql).expect("an undamaged database answers")).collect()
}

/// The target.
pub fn sql_and_file(data: &[u8]) {
    let damage = Damage::parse(data);
    let base: &Base = if damage.killed { &KILLED } else { &AT_REST };
    let mut image = base.image.clone();
    let log_changed = damage.apply(&mut image, PAGE_BYTES);
    let touches_last = log_changed.is_some_and(|range| range.end > base.last_batch);
    let mut states: Vec<&Vec<Vec<String>>> =
        base.states.iter().take(if touches_last { usize::MAX } else { 1 }).collect();

    salvage(&image, base, damage.forged);

    let disk = SimDisk::from_image(&image, 1);
    let database = match open_database(&disk, PAGE_BYTES) {
        Ok(database) => database,
        Err(error) => return assert_typed_damage(&error, "opening", damage.forged),
    };
    let Ok(connection) = connect(&database) else { return };
    for (number, sql) in QUERIES.iter().enumerate() {
        match lines(&connection, sql) {
            Ok(found) if !damage.forged => {
                states.retain(|answers| answers[number] == found);
                assert!(!states.is_empty(), "{sql}: no state of the database answers {found:?}");
            }
            Ok(_) => {}
            Err(error) => assert_typed_damage(&error, sql, damage.forged),
        }
    }
    let _ = database.verify();
    let text = String::from_utf8_lossy(damage.rest);
    if let Err(error) = connection.execute_script(&text) {
        assert_typed_damage(&error, &text, damage.forged);
    }
}

/// Tables whose rows are compared after a salvage, by their place among the queries.
const SALVAGED: [usize; 1] = [0];

fn salvage(image: &DiskImage, base: &Base, forged: bool) {
    let disk = SimDisk::from_image(image, 1);
    let mut pages_read = 0;
    let mut progress = |step: SalvageProgress| {
        if let SalvageProgress::Pages(read, of) = step {
            pages_read = read;
            assert!(read < 64 * (of + 64), "{read} pages read of {of}");
        }
    };
    let (options, env) = (store_options(PAGE_BYTES), environment(&disk));
    let saved = salvage_in(DATABASE, "saved", options.clone(), env.clone(), &mut progress);
    if let Err(error) = saved {
        return assert_typed_damage(&error, "salvaging", forged);
    }
    let store = Store::open_with("saved", options, env).expect("what was saved opens");
    let database = Database::over(store, Options::default()).expect("what was saved has a catalog");
    let verified = database.verify();
    assert!(forged || verified.is_ok(), "what was saved: {verified:?}");
    let connection = connect(&database).expect("a connection");
    for number in SALVAGED {
        // A table whose definition is lost is not there.
        let Ok(rows) = lines(&connection, QUERIES[number]) else { continue };
        for row in rows.iter().filter(|_| !forged) {
            let was_there = base.states.iter().any(|answers| answers[number].contains(row));
            assert!(was_there, "{row}: no state of the database had it");
        }
    }
}

/// Forged bytes may break what the engine wrote and trusts: an internal error says so too.
fn assert_typed_damage(error: &cairndb::Error, what: &str, forged: bool) {
    if !forged {
        assert_typed(error, what);
    }
}
