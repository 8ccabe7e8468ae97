//! Several connections at once, and what a file keeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::{connect, fails, rows};
use cairndb::{Database, Result};

#[test]
fn no_update_is_lost() -> Result<()> {
    let conn = connect("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0), (2, 0)");
    let worker = |way: usize| {
        let conn = conn.database().connect().unwrap();
        std::thread::spawn(move || {
            let mut point = conn.prepare("UPDATE t SET n = n + 1 WHERE id = $1").unwrap();
            for _ in 0..50 {
                match way {
                    0 => point.execute((1,)).unwrap(),
                    1 => conn.execute("UPDATE t SET n = n + 1 WHERE id <= 1", ()).unwrap(),
                    _ => conn
                        .transaction(|tx| {
                            let n = tx.query_row("SELECT n FROM t WHERE id = 1", (), |row| row.get::<i32>(0))?;
                            tx.execute("UPDATE t SET n = $1 WHERE id = 1", (n + 1,))
                        })
                        .unwrap(),
                };
            }
        })
    };
    let workers: Vec<_> = [0, 0, 1, 2].into_iter().map(worker).collect();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    assert_eq!(rows(&conn, "SELECT n FROM t WHERE id = 1"), ["200"]);
    Ok(())
}

/// It lost to one of them each time, and gave up after its hundred tries.
#[test]
fn a_report_on_all_accounts_is_through_after_few_tries_beside_transfers() -> Result<()> {
    let conn = connect(
        "CREATE TABLE account (id int PRIMARY KEY, n int);
         INSERT INTO account SELECT g, 100 FROM generate_series(1, 2000) g;
         CREATE TABLE report (id int PRIMARY KEY, total bigint)",
    );
    let (over, over_too) = (Arc::new(AtomicBool::new(false)), |over: &Arc<AtomicBool>| over.load(Ordering::Relaxed));
    let transfers = |worker: i32| {
        let (conn, over) = (conn.database().connect().unwrap(), over.clone());
        std::thread::spawn(move || {
            for i in (0..).take_while(|_| !over_too(&over)) {
                let [from, to] = [i * 7 + worker, i * 13 + 3 * worker + 1].map(|account| account % 2000 + 1);
                conn.transaction(|tx| {
                    tx.execute("UPDATE account SET n = n - 1 WHERE id = $1", (from,))?;
                    tx.execute("UPDATE account SET n = n + 1 WHERE id = $1", (to,))
                })
                .unwrap();
                // Statements of their own as well.
                conn.execute("UPDATE account SET n = n WHERE id = $1", (from,)).unwrap();
            }
        })
    };
    let workers: Vec<_> = (0..6).map(transfers).collect();
    for report in 1..=5 {
        let mut tries = 0;
        conn.transaction(|tx| {
            tries += 1;
            let total = tx.query_row("SELECT sum(n) FROM account", (), |row| row.get::<i64>(0))?;
            std::thread::sleep(Duration::from_millis(6 * report as u64));
            tx.execute("INSERT INTO report VALUES ($1, $2)", (report, total))
        })?;
        assert!(tries <= 10, "report {report} took {tries} tries");
    }
    over.store(true, Ordering::Relaxed);
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    assert_eq!(rows(&conn, "SELECT count(*), min(total), max(total) FROM report"), ["5|200000|200000"]);
    Ok(())
}

#[test]
fn inserts_without_primary_key_never_collide() -> Result<()> {
    let conn = connect("CREATE TABLE t (a int); CREATE SEQUENCE q");
    let worker = |_| {
        let conn = conn.database().connect().unwrap();
        std::thread::spawn(move || {
            (0..50).for_each(|_| assert_eq!(conn.execute("INSERT INTO t VALUES (nextval('q'))", ()).unwrap(), 1))
        })
    };
    let workers: Vec<_> = (0..4).map(worker).collect();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    assert_eq!(rows(&conn, "SELECT count(*), count(DISTINCT a), min(a), max(a) FROM t"), ["200|200|1|200"]);
    Ok(())
}

#[test]
fn a_schema_change_conflicts_with_those_who_rely_on_the_old_schema() -> Result<()> {
    let conn = connect("CREATE TABLE t (a int)");
    let other = conn.database().connect()?;
    conn.execute_script("BEGIN; INSERT INTO t VALUES (1)")?;
    other.execute("CREATE UNIQUE INDEX i ON t (a)", ())?;
    let error = fails(&conn, "COMMIT", "40001");
    assert_eq!(error.message(), "could not serialize access due to concurrent update");
    assert!(rows(&conn, "SELECT * FROM t").is_empty());
    Ok(())
}

#[test]
fn a_file_keeps_schema_rows_and_sequences() -> Result<()> {
    let folder = std::env::temp_dir().join(format!("cairndb-test-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("kept.cairn");
    let _ = std::fs::remove_file(&path);
    for round in 1..=3 {
        let db = Database::open(&path)?;
        let conn = db.connect()?;
        conn.execute_script(
            "CREATE TABLE IF NOT EXISTS t (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, s text UNIQUE);\
             CREATE TABLE IF NOT EXISTS h (x int)",
        )?;
        conn.execute("INSERT INTO t (s) VALUES ($1)", (format!("round {round}"),))?;
        conn.execute("INSERT INTO h VALUES ($1)", (round,))?;
        let ids: Vec<String> = (1..=round).map(|id| id.to_string()).collect();
        assert_eq!(rows(&conn, "SELECT id FROM t ORDER BY id"), ids);
        assert_eq!(rows(&conn, "SELECT x FROM h ORDER BY x"), ids);
        fails(&conn, "INSERT INTO t (s) VALUES ('round 1')", "23505");
        // The failed insert has used a number: give it back, to see that closing keeps the counter exactly.
        conn.query_row("SELECT setval('t_id_seq', $1)", (i64::from(round),), |_| Ok(()))?;
        drop(conn);
        db.close()?;
    }
    std::fs::remove_dir_all(&folder).unwrap();
    Ok(())
}
