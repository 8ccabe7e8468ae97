//! Several connections at once, and what a file keeps.

mod common;

use cairndb::{Database, Result};
use common::{connect, fails, rows};

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
