//! CREATE INDEX beside others who write: it finds all that they wrote, they hardly wait for it, and it does not lose to them.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use crate::common::{Random, fails, rows};
use cairndb::{Connection, Database, Result};

fn fill(conn: &Connection, count: i64) -> Result<()> {
    conn.execute_script(&format!(
        "CREATE TABLE t (id bigint PRIMARY KEY, n int, u bigint, s text);
         INSERT INTO t SELECT g, g % 1000, g, 'row ' || g % 77 FROM generate_series(1, {count}) g"
    ))
}

/// Changes rows until it is told to stop; how often it did.
fn write(conn: &Connection, count: i64, seed: u64, stop: &AtomicBool, longest: &AtomicU64) -> Result<u64> {
    let mut random = Random(seed);
    let mut change = conn.prepare("UPDATE t SET n = $2, s = s || '!' WHERE id = $1")?;
    let mut upsert =
        conn.prepare("INSERT INTO t VALUES ($1, 1, NULL, 'new') ON CONFLICT (id) DO UPDATE SET n = t.n + 1")?;
    let mut delete = conn.prepare("DELETE FROM t WHERE id = $1")?;
    let mut done = 0;
    while !stop.load(SeqCst) {
        let (id, began) = (1 + random.below(count + count / 4), Instant::now());
        match random.below(8) {
            0 => delete.execute((id,))?,
            1..=2 => upsert.execute((id,))?,
            // Values that are unique at every commit change their rows.
            3 => conn.transaction(|tx| {
                let other = 1 + (id * 7) % count;
                let u = "SELECT u FROM t WHERE id = $1";
                let (a, b) = (
                    tx.query_optional(u, (id,), |row| row.get::<Option<i64>>(0))?,
                    tx.query_optional(u, (other,), |row| row.get::<Option<i64>>(0))?,
                );
                if let (Some(Some(a)), Some(Some(b))) = (a, b) {
                    tx.execute("UPDATE t SET u = NULL WHERE id = $1", (id,))?;
                    tx.execute("UPDATE t SET u = $2 WHERE id = $1", (other, a))?;
                    tx.execute("UPDATE t SET u = $2 WHERE id = $1", (id, b))?;
                }
                Ok(0)
            })?,
            _ => change.execute((id, random.below(1000)))?,
        };
        longest.fetch_max(began.elapsed().as_micros() as u64, SeqCst);
        done += 1;
    }
    Ok(done)
}

/// Runs `work` beside writers; how much they did, and the longest that one of them waited, in microseconds.
fn beside(database: &Database, count: i64, work: impl FnOnce() -> Result<()>) -> Result<(u64, u64)> {
    let (stop, longest) = (AtomicBool::new(false), AtomicU64::new(0));
    let (stop, longest) = (&stop, &longest);
    let done = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|seed| scope.spawn(move || write(&database.connect()?, count, seed + 1, stop, longest)))
            .collect();
        let worked = work();
        stop.store(true, SeqCst);
        let done = writers.into_iter().map(|writer| writer.join().expect("a writer")).sum::<Result<u64>>();
        worked.and(done)
    })?;
    Ok((done, longest.load(SeqCst)))
}

#[test]
fn an_index_built_beside_writers_has_what_they_wrote() -> Result<()> {
    let database = Database::open_in_memory()?;
    let conn = database.connect()?;
    fill(&conn, 4_000)?;
    let (conflicts, mut built) = (database.stats().conflicts, 0);
    let (done, _) = beside(&database, 4_000, || {
        for round in 0..12 {
            let index =
                ["UNIQUE INDEX i ON t (u)", "INDEX i ON t (s DESC, n)", "INDEX i ON t USING gin ((ARRAY[n, u]))"];
            conn.execute(&format!("CREATE {}", index[round % 3]), ())?;
            built += 1;
            assert!(database.verify()?.indexes == 1);
            conn.execute("DROP INDEX i", ())?;
        }
        Ok(())
    })?;
    assert!(done > 100 && built == 12, "{done} changes, {built} indexes; {conflicts}");
    conn.execute_script(
        "CREATE UNIQUE INDEX u ON t (u); CREATE INDEX n ON t (n); CREATE INDEX g ON t USING gin ((ARRAY[n]))",
    )?;
    database.verify()?;
    Ok(())
}

#[test]
fn what_becomes_a_duplicate_while_the_index_is_built_is_found() -> Result<()> {
    let database = Database::open_in_memory()?;
    let conn = database.connect()?;
    fill(&conn, 3_000)?;
    let (stop, mut refused, mut made) = (AtomicBool::new(false), 0, 0);
    let stop = &stop;
    std::thread::scope(|scope| -> Result<()> {
        let other = database.connect()?;
        let writer = scope.spawn(move || -> Result<()> {
            let (mut insert, mut delete) = (
                other.prepare("INSERT INTO t VALUES ($1, 1, $2, 'twice')")?,
                other.prepare("DELETE FROM t WHERE id = $1")?,
            );
            let mut random = Random(5);
            while !stop.load(SeqCst) {
                match insert.execute((5_000, 1 + random.below(3_000))) {
                    Err(error) if error.sqlstate().0 == "23505" => {}
                    done => drop(done?),
                }
                std::thread::sleep(Duration::from_millis(random.below(8)));
                delete.execute((5_000,))?;
                std::thread::sleep(Duration::from_millis(random.below(40)));
            }
            Ok(())
        });
        for _ in 0..40 {
            match conn.execute("CREATE UNIQUE INDEX i ON t (u)", ()) {
                Ok(_) => {
                    made += 1;
                    assert_eq!(rows(&conn, "SELECT count(*) - count(DISTINCT u) FROM t"), ["0"]);
                    database.verify()?;
                    conn.execute("DROP INDEX i", ())?;
                }
                Err(error) => {
                    refused += 1;
                    assert_eq!(error.sqlstate().0, "23505", "{error:?}");
                    assert_eq!(error.constraint(), Some("i"));
                    assert_eq!(database.verify()?.indexes, 0);
                }
            }
        }
        stop.store(true, SeqCst);
        writer.join().expect("a writer")
    })?;
    assert!(made > 0 && made + refused == 40, "{made} made, {refused} refused");
    Ok(())
}

#[test]
fn an_index_that_is_interrupted_leaves_nothing() -> Result<()> {
    let database = Database::open_in_memory()?;
    let conn = database.connect()?;
    fill(&conn, 20_000)?;
    let trees = database.verify()?.trees;
    let began = Instant::now();
    conn.execute_script("CREATE INDEX whole ON t (s, n); DROP INDEX whole")?;
    let whole = began.elapsed().as_millis() as u64;
    for part in [1, 3, 10] {
        let mut limit = (whole / (2 * part)).max(1);
        // On a machine that had more to do just before, it may be done by then.
        loop {
            conn.execute(&format!("SET statement_timeout = {limit}"), ())?;
            match conn.execute("CREATE INDEX i ON t (s, n)", ()) {
                Err(error) => break assert_eq!(error.sqlstate().0, "57014", "{error:?}"),
                Ok(_) => conn.execute_script("SET statement_timeout = 0; DROP INDEX i")?,
            }
            assert!(limit > 1, "it was never interrupted");
            limit = (limit / 2).max(1);
        }
    }
    conn.execute_script("SET statement_timeout = 0")?;
    // Who takes part in a table that is altered again and again begins again, and ends.
    assert_eq!(database.verify()?.trees, trees);
    conn.execute_script("CREATE INDEX i ON t (s, n)")?;
    assert_eq!(database.verify()?.indexes, 1);
    Ok(())
}

#[test]
fn an_index_beside_who_alters_the_table_is_one_of_the_table_of_now() -> Result<()> {
    let database = Database::open_in_memory()?;
    let conn = database.connect()?;
    fill(&conn, 2_000)?;
    let stop = AtomicBool::new(false);
    let stop = &stop;
    std::thread::scope(|scope| -> Result<()> {
        let other = database.connect()?;
        let alters = scope.spawn(move || -> Result<()> {
            while !stop.load(SeqCst) {
                other.execute("ALTER TABLE t ADD COLUMN x int DEFAULT 3", ())?;
                other.execute("CREATE TABLE beside (a int)", ())?;
                other.execute("ALTER TABLE t DROP COLUMN x", ())?;
                other.execute("DROP TABLE beside", ())?;
                std::thread::sleep(Duration::from_millis(150));
            }
            Ok(())
        });
        for _ in 0..8 {
            conn.execute("CREATE INDEX i ON t (s, n)", ())?;
            fails(&conn, "CREATE INDEX i ON t (s)", "42P07");
            conn.execute("CREATE INDEX IF NOT EXISTS i ON t (s)", ())?;
            conn.execute("DROP INDEX i", ())?;
        }
        stop.store(true, SeqCst);
        alters.join().expect("who alters")
    })?;
    database.verify()?;
    Ok(())
}

#[test]
fn writers_wait_for_the_end_of_it_only() -> Result<()> {
    let database = Database::open_in_memory()?;
    let conn = database.connect()?;
    fill(&conn, 40_000)?;
    let mut tries = vec![];
    // A writer may have waited for a processor: that it never waits longer is not so, that it need not is.
    for _ in 0..4 {
        let began = Instant::now();
        conn.execute("CREATE INDEX alone ON t (s, n)", ())?;
        let alone = began.elapsed().as_micros() as u64;
        conn.execute("DROP INDEX alone", ())?;
        let (done, longest) = beside(&database, 40_000, || conn.execute("CREATE INDEX i ON t (s, n)", ()).map(drop))?;
        if done > 100 && longest < alone / 2 {
            return Ok(());
        }
        conn.execute("DROP INDEX i", ())?;
        tries.push((done, longest, alone));
    }
    panic!("(changes, the longest, the index alone; in us): {tries:?}")
}

/// The process that is killed: builds indexes beside writers until then.
#[test]
#[ignore = "the child of the test below"]
fn builds_until_it_is_killed() -> Result<()> {
    let Some(path) = std::env::var_os("CAIRN_INDEX_BESIDE") else { return Ok(()) };
    let database = Database::open(Path::new(&path))?;
    let conn = database.connect()?;
    beside(&database, 3_000, || {
        loop {
            conn.execute("CREATE INDEX i ON t (s, n)", ())?;
            conn.execute("DROP INDEX i", ())?;
        }
    })?;
    Ok(())
}

#[test]
fn a_crash_while_an_index_is_built_leaves_nothing() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("killed.cairn");
    let database = Database::open(&path)?;
    fill(&database.connect()?, 3_000)?;
    let trees = database.verify()?.trees;
    database.close()?;
    for round in 0..6 {
        let mut child = std::process::Command::new(std::env::current_exe().expect("this test"))
            .args(["index_beside::builds_until_it_is_killed", "--exact", "--ignored"])
            .env("CAIRN_INDEX_BESIDE", &path)
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("a child");
        std::thread::sleep(Duration::from_millis(400 + 90 * round));
        child.kill().expect("killed");
        child.wait().expect("gone");
        let database = Database::open(&path)?;
        let conn = database.connect()?;
        let found = database.verify()?;
        assert_eq!(found.trees, trees + found.indexes, "{found:?}");
        conn.execute("DROP INDEX IF EXISTS i", ())?;
        drop(conn);
        database.close()?;
    }
    Ok(())
}

/// Prints how long writers wait at most while an index is built, beside the same without. Not a test: times depend on the machine.
#[test]
#[ignore = "measures"]
fn how_long_writers_wait() -> Result<()> {
    let count = std::env::var("CAIRN_INDEX_ROWS").ok().and_then(|rows| rows.parse().ok()).unwrap_or(100_000);
    let database = Database::open_in_memory()?;
    let conn = database.connect()?;
    fill(&conn, count)?;
    for _ in 0..3 {
        let began = Instant::now();
        let build = || conn.execute("CREATE INDEX i ON t (s, n)", ()).map(drop);
        let (done, longest) = beside(&database, count, build)?;
        let took = began.elapsed();
        println!("with: {took:?}, {done} changes, the longest {longest} us; {:?}", database.stats().conflicts);
        conn.execute("DROP INDEX i", ())?;
        let (done, longest) = beside(&database, count, || {
            std::thread::sleep(took);
            Ok(())
        })?;
        println!("without: {done} changes, the longest {longest} us");
    }
    Ok(())
}
