//! Temporary tables: the session's own, as full tables as any, and gone without a trace.

use std::fs;

use crate::common::{Random, fails, rows};
use cairndb::{Connection, Database, Memory, Options, Result};

fn database(script: &str) -> Result<Database> {
    let database = Database::open_in_memory()?;
    database.connect()?.execute_script(script)?;
    Ok(database)
}

#[test]
fn sessions_have_temporary_tables_of_their_own() -> Result<()> {
    let db = database("CREATE TABLE t (a int); INSERT INTO t VALUES (0)")?;
    let (one, two) = (db.connect()?, db.connect()?);
    one.execute_script("CREATE TEMP TABLE t (id serial, v text); INSERT INTO t (v) VALUES ('one')")?;
    two.execute_script("CREATE TEMP TABLE t (id serial, v text); INSERT INTO t (v) VALUES ('two'), ('zwei')")?;
    assert_eq!(rows(&one, "SELECT id, v FROM t"), ["1|one"]);
    assert_eq!(rows(&two, "SELECT id, v FROM t ORDER BY id"), ["1|two", "2|zwei"]);
    let three = db.connect()?;
    assert_eq!(rows(&three, "SELECT * FROM t"), ["0"]);
    fails(&three, "SELECT * FROM pg_temp.t", "42P01");
    drop(two);
    one.execute("DROP TABLE t", ())?;
    assert_eq!(rows(&one, "SELECT * FROM t"), ["0"]);
    drop(one);
    db.verify()?;
    Ok(())
}

#[test]
fn statements_notice_that_a_temporary_table_hides_another() -> Result<()> {
    let db = database("CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'permanent')")?;
    let conn = db.connect()?;
    let mut read = conn.prepare("SELECT v FROM t WHERE id = $1")?;
    let mut scan = conn.prepare("SELECT v FROM t WHERE v > $1")?;
    let mut write = conn.prepare("UPDATE t SET v = $2 WHERE id = $1")?;
    let mut all = |expected: &str| -> Result<()> {
        for _ in 0..2 {
            assert_eq!(read.query_row((1,), |row| row.get::<String>(0))?, expected);
            assert_eq!(scan.query_row(("",), |row| row.get::<String>(0))?, expected);
            assert_eq!(write.execute((1, expected))?, 1);
        }
        Ok(())
    };
    all("permanent")?;
    conn.execute_script("CREATE TEMP TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'temporary')")?;
    all("temporary")?;
    conn.execute_script("BEGIN; DROP TABLE t")?;
    all("permanent")?;
    conn.execute_script("ROLLBACK")?;
    all("temporary")?;
    conn.execute_script("BEGIN; SAVEPOINT s; ALTER TABLE t RENAME TO u")?;
    all("permanent")?;
    conn.execute_script("ROLLBACK TO s")?;
    all("temporary")?;
    conn.execute_script("COMMIT; DROP TABLE t")?;
    all("permanent")
}

#[test]
fn nothing_of_them_is_written_anywhere() -> Result<()> {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("db.cairn");
    let db = Database::open(&path)?;
    let conn = db.connect()?;
    conn.execute_script("CREATE TABLE t (a int)")?;
    // An idle log gets an empty batch, once.
    let committed = db.stats().log_bytes_written;
    let begun = std::time::Instant::now();
    while db.stats().log_bytes_written == committed && begun.elapsed().as_secs() < 5 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let before = db.stats();
    conn.execute_script(
        "CREATE TEMP TABLE secret (id serial PRIMARY KEY, v text); CREATE INDEX ON secret (v);
         INSERT INTO secret (v) SELECT 'marker-in-no-file-' || g FROM generate_series(1, 30000) g;
         BEGIN; UPDATE secret SET v = v || 'x' WHERE id % 7 = 0; COMMIT; DELETE FROM secret WHERE id % 3 = 0; ANALYZE secret;
         CREATE TEMP VIEW w AS SELECT count(*) FROM t; TRUNCATE secret",
    )?;
    let after = db.stats();
    assert_eq!((after.log_bytes_written, after.commits), (before.log_bytes_written, before.commits));
    conn.execute("INSERT INTO secret (v) VALUES ('marker-in-no-file')", ())?;
    db.checkpoint()?;
    for entry in fs::read_dir(directory.path()).expect("the directory") {
        let bytes = fs::read(entry.expect("an entry").path()).expect("a file");
        for marker in [&b"marker-in-no-file"[..], b"secret"] {
            assert!(!bytes.windows(marker.len()).any(|window| window == marker));
        }
    }
    // As a crash leaves it.
    let copy = directory.path().join("copy.cairn");
    db.backup_to(&copy)?;
    let reopened = Database::open(&copy)?.connect()?;
    fails(&reopened, "SELECT * FROM secret", "42P01");
    fails(&reopened, "SELECT * FROM w", "42P01");
    Ok(())
}

#[test]
fn what_is_too_much_is_refused_and_can_be_made_room_for() -> Result<()> {
    let db = Database::open_in_memory_with(Options::default().temp_table_limit(4 << 20))?;
    let conn = db.connect()?;
    conn.execute_script("CREATE TEMP TABLE t (id int PRIMARY KEY, v text); CREATE TABLE p (a int)")?;
    let fill = "INSERT INTO t SELECT g, repeat('x', 100) FROM generate_series(1, 100000) g";
    let error = fails(&conn, fill, "53100");
    assert!(error.message().contains("temp_table_limit"), "{error:?}");
    assert_eq!(rows(&conn, "SELECT count(*) FROM t"), ["0"]);
    for _ in 0..5 {
        conn.execute("INSERT INTO t SELECT g, repeat('x', 100) FROM generate_series(1, 10000) g", ())?;
        conn.execute("TRUNCATE t", ())?;
        conn.execute("INSERT INTO t SELECT g, repeat('x', 100) FROM generate_series(1, 10000) g", ())?;
        conn.execute("DELETE FROM t", ())?;
    }
    // What the database's transaction wrote goes back with it.
    conn.execute_script("BEGIN; INSERT INTO p VALUES (1)")?;
    fails(&conn, fill, "53100");
    conn.execute_script("ROLLBACK")?;
    assert_eq!(rows(&conn, "SELECT count(*) FROM p"), ["0"]);
    // Another session has its own room.
    let other = db.connect()?;
    other.execute_script("SET temp_table_limit = '64MB'; CREATE TEMP TABLE t (id int PRIMARY KEY, v text)")?;
    assert_eq!(other.execute(fill, ())?, 100_000);
    Ok(())
}

#[test]
fn temporary_tables_take_of_the_memory_that_is_shared() -> Result<()> {
    let memory = Memory::shared(128 << 20);
    let db = Database::open_in_memory_with(Options::default().memory(memory.clone()))?;
    let conn = db.connect()?;
    conn.execute("CREATE TEMP TABLE t (id int PRIMARY KEY, v text)", ())?;
    let of_one_that_is_empty = memory.reserved();
    assert!(of_one_that_is_empty < 3 << 20, "{of_one_that_is_empty}");
    let fill = |rows| format!("INSERT INTO t SELECT g, repeat('x', 1000) FROM generate_series(1, {rows}) g");
    assert_eq!(conn.execute(fill(20_000).as_str(), ())?, 20_000);
    assert!(memory.reserved() >= 20 << 20, "{}", memory.reserved());
    // There is none for so many; the statement fails, and what was there stays.
    let mut others = memory.reserve();
    assert!(others.grow_to((94 << 20) - memory.reserved()));
    let more = "INSERT INTO t SELECT g, repeat('x', 1000) FROM generate_series(20001, 100000) g";
    fails(&conn, more, "53200");
    assert_eq!(rows(&conn, "SELECT count(*) FROM t"), ["20000"]);
    drop(others);
    // Others have some meanwhile.
    let other = db.connect()?;
    other.execute("CREATE TEMP TABLE t (id int PRIMARY KEY, v text)", ())?;
    other.execute(fill(10).as_str(), ())?;
    // It comes back with the rows, and with the session.
    conn.execute("DELETE FROM t", ())?;
    conn.execute("DROP TABLE t", ())?;
    conn.execute("CREATE TEMP TABLE t (id int PRIMARY KEY, v text)", ())?;
    assert_eq!(conn.execute(fill(10_000).as_str(), ())?, 10_000);
    drop((conn, other));
    assert_eq!(memory.reserved(), 0);
    Ok(())
}

/// Copy on write takes pages before it gives any back: nothing could be deleted, nor dropped.
#[test]
fn what_is_full_is_emptied_in_any_way() -> Result<()> {
    let ways = [
        "DELETE FROM t WHERE id = 1",
        "DELETE FROM t WHERE id % 200 = 7",
        "DELETE FROM t WHERE id % 10 = 3",
        "DELETE FROM t",
        "TRUNCATE t",
        "DROP TABLE t",
    ];
    for (at, way) in ways.into_iter().enumerate() {
        let db = Database::open_in_memory_with(Options::default().temp_table_limit(1 << 20))?;
        let conn = db.connect()?;
        conn.execute_script("CREATE TEMP TABLE t (id int PRIMARY KEY, v text)")?;
        let mut insert = conn.prepare("INSERT INTO t VALUES ($1, repeat('x', 200))")?;
        let full = (1..100_000).find_map(|id| insert.execute((id,)).err()).expect("it is full at some time");
        assert_eq!(full.sqlstate().0, "53100");
        // Whatever came before.
        for way in &ways[..at] {
            if way.contains("WHERE") {
                conn.execute(way, ())?;
            }
        }
        conn.execute(way, ())?;
        if !way.contains("WHERE") {
            conn.execute_script("CREATE TEMP TABLE u (n int); INSERT INTO u SELECT generate_series(1, 1000)")?;
            assert_eq!(rows(&conn, "SELECT count(*) FROM u"), ["1000"]);
        }
    }
    Ok(())
}

#[test]
fn rows_that_are_being_read_stay_as_they_were() -> Result<()> {
    let db = database("")?;
    let conn = db.connect()?;
    conn.execute_script("CREATE TEMP TABLE t (a int); INSERT INTO t SELECT generate_series(1, 5000)")?;
    let mut reading = conn.query("SELECT a FROM t", ())?;
    reading.next()?;
    conn.execute_script("DELETE FROM t; DROP TABLE t")?;
    let mut count = 1;
    while reading.next()?.is_some() {
        count += 1;
    }
    assert_eq!(count, 5000);
    drop(conn);
    Ok(())
}

#[test]
fn they_stand_in_nobodys_way() -> Result<()> {
    let db = database("CREATE TABLE t (a int PRIMARY KEY)")?;
    let (conn, other) = (db.connect()?, db.connect()?);
    conn.execute_script("BEGIN; INSERT INTO t VALUES (1); CREATE TEMP TABLE mine (a int)")?;
    conn.execute_script("INSERT INTO mine SELECT a FROM t; CREATE INDEX ON mine (a); DROP TABLE mine")?;
    other.execute_script("CREATE TABLE more (a int); CREATE TEMP TABLE mine (a int); INSERT INTO mine VALUES (1)")?;
    conn.execute_script("COMMIT")?;
    assert_eq!(rows(&other, "SELECT * FROM t"), ["1"]);
    // What loses is taken back with all that is temporary.
    conn.execute_script(
        "CREATE TEMP TABLE log (a int); BEGIN; INSERT INTO log SELECT count(*) FROM t; INSERT INTO t VALUES (2)",
    )?;
    other.execute_script("INSERT INTO t VALUES (3)")?;
    fails(&conn, "COMMIT", "40001");
    assert_eq!(rows(&conn, "SELECT count(*) FROM log"), ["0"]);
    conn.transaction(|tx| tx.execute("INSERT INTO log SELECT count(*) FROM t", ()))?;
    assert_eq!(rows(&conn, "SELECT a FROM log"), ["2"]);
    Ok(())
}

#[test]
fn a_database_that_is_only_read_may_have_them() -> Result<()> {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("db.cairn");
    let db = Database::open(&path)?;
    db.connect()?.execute_script("CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2)")?;
    db.close()?;
    let conn = Database::open_with(&path, Options::default().read_only(true))?.connect()?;
    conn.execute_script("CREATE TEMP TABLE copied (id serial, a int); INSERT INTO copied (a) SELECT a * 10 FROM t")?;
    conn.execute_script("BEGIN; UPDATE copied SET a = a + 1; COMMIT")?;
    assert_eq!(rows(&conn, "SELECT id, a FROM copied ORDER BY id"), ["1|11", "2|21"]);
    fails(&conn, "INSERT INTO t SELECT a FROM copied", "25006");
    Ok(())
}

#[test]
fn what_is_permanent_rests_on_nothing_temporary() -> Result<()> {
    let db = database("CREATE TABLE p (a int PRIMARY KEY)")?;
    let conn = db.connect()?;
    conn.execute_script("CREATE TEMP SEQUENCE s; CREATE TEMP TABLE t (a int PRIMARY KEY)")?;
    fails(&conn, "CREATE TABLE q (a int DEFAULT nextval('s'))", "42P16");
    fails(&conn, "ALTER TABLE p ALTER COLUMN a SET DEFAULT nextval('pg_temp.s')", "42P16");
    fails(&conn, "ALTER TABLE p ADD FOREIGN KEY (a) REFERENCES t", "42P16");
    fails(&conn, "ALTER TABLE t ADD FOREIGN KEY (a) REFERENCES p", "42P16");
    fails(&conn, "CREATE VIEW public.v AS SELECT a FROM t", "42P16");
    conn.take_notices();
    conn.execute("CREATE VIEW v AS SELECT a FROM t", ())?;
    assert_eq!(conn.take_notices()[0].message, "view \"v\" will be a temporary view");
    let other = db.connect()?;
    fails(&other, "SELECT * FROM v", "42P01");
    // Another session does not know what rests on its table here, and may drop it.
    conn.execute("CREATE TEMP VIEW over AS SELECT a FROM p", ())?;
    other.execute("DROP TABLE p", ())?;
    fails(&conn, "SELECT * FROM over", "42P01");
    conn.execute("DROP VIEW over", ())?;
    Ok(())
}

/// A statement about tables `a` and `b`, which `create` says how to make.
fn statement(random: &mut Random, create: &str) -> String {
    let table = if random.below(3) == 0 { "b" } else { "a" };
    let (key, n, text) = (random.below(30), random.below(9), random.below(5));
    match random.below(40) {
        0..4 => format!("INSERT INTO {table} VALUES ({key}, {n}, 't{text}')"),
        4 | 5 => format!("INSERT INTO {table} (n, v) VALUES ({n}, 't{text}'), (NULL, 'u') RETURNING id > 0, n"),
        6 | 7 => format!(
            "INSERT INTO {table} VALUES ({key}, {n}, 't{text}') ON CONFLICT (id) DO UPDATE SET n = {table}.n + 1"
        ),
        8 => format!(
            "INSERT INTO {table} SELECT g, g % 7, 'g' FROM generate_series({key}, {key} + 40) g ON CONFLICT DO NOTHING"
        ),
        9 => format!("INSERT INTO a SELECT id + 100, n, v FROM shared WHERE n > {n} ON CONFLICT DO NOTHING"),
        10 => format!("INSERT INTO shared SELECT id + {key}, n, v FROM {table} ON CONFLICT (id) DO NOTHING"),
        11..14 => format!("UPDATE {table} SET n = n + {n} WHERE id = {key} RETURNING id, n, v"),
        14 | 15 => format!("UPDATE {table} SET v = v || '{text}', id = id + 1 WHERE n = {n}"),
        16 => format!("UPDATE shared SET n = {table}.n FROM {table} WHERE {table}.id = shared.id"),
        17..20 => format!("DELETE FROM {table} WHERE id = {key}"),
        20 => format!("DELETE FROM {table} WHERE n > {n} RETURNING id"),
        21 => {
            format!("WITH d AS (DELETE FROM a WHERE id < {key} RETURNING *) INSERT INTO b SELECT id + 50, n, v FROM d")
        }
        22 => format!("SELECT x.id, y.v FROM {table} x JOIN shared y ON x.n = y.n WHERE y.id < {key}"),
        23 => format!("SELECT count(*), sum(n), min(v) FROM {table} WHERE n < {n}"),
        24 => format!("SELECT id, v FROM {table} WHERE v = 't{text}' ORDER BY n, id"),
        25 => "TRUNCATE b".to_owned(),
        26 => format!("CREATE {create}TABLE b (id int PRIMARY KEY DEFAULT 7, n int CHECK (n < 12), v text)"),
        27 => "DROP TABLE b".to_owned(),
        28 => "ALTER TABLE a ADD COLUMN extra int DEFAULT 3".to_owned(),
        29 => "ALTER TABLE a DROP COLUMN IF EXISTS extra".to_owned(),
        30 => "CREATE UNIQUE INDEX b_unique ON b (v, n)".to_owned(),
        31 => "DROP INDEX b_unique".to_owned(),
        32 | 33 => "BEGIN".to_owned(),
        34 => format!("SAVEPOINT s{}", random.below(3)),
        35 => format!("ROLLBACK TO s{}", random.below(3)),
        36 => format!("RELEASE s{}", random.below(3)),
        37 => "COMMIT".to_owned(),
        38 => "ROLLBACK".to_owned(),
        _ => "ALTER TABLE b RENAME COLUMN v TO v".to_owned(),
    }
}

/// What a statement answers: its rows in order, or how many it changed, or its error.
fn answer(conn: &Connection, sql: &str) -> String {
    let mut rows = match conn.query(sql, ()) {
        Ok(rows) => rows,
        Err(error) => return format!("{:?}", (error.sqlstate(), error.message(), error.detail())),
    };
    let mut lines = Vec::new();
    loop {
        match rows.next() {
            Ok(Some(row)) => lines.push(format!("{:?}", row.values())),
            Ok(None) => break,
            Err(error) => return format!("{:?}", (error.sqlstate(), error.message())),
        }
    }
    lines.sort();
    lines.join("\n")
}

#[test]
fn they_answer_as_permanent_tables_do() -> Result<()> {
    for seed in 0..40 {
        let shared = "CREATE TABLE shared (id int PRIMARY KEY, n int, v text);
             INSERT INTO shared SELECT g, g % 9, 't' || g % 5 FROM generate_series(1, 20) g";
        let (temporary, permanent) = (database(shared)?, database(shared)?);
        let (ours, theirs) = (temporary.connect()?, permanent.connect()?);
        let tables = |create: &str| {
            format!(
                "CREATE {create}TABLE a (id int PRIMARY KEY DEFAULT 5, n int, v text);
                 CREATE {create}TABLE b (id int PRIMARY KEY DEFAULT 7, n int CHECK (n < 12), v text);
                 CREATE INDEX ON a (n); CREATE INDEX ON b (v)"
            )
        };
        ours.execute_script(&tables("TEMP "))?;
        theirs.execute_script(&tables(""))?;
        let mut random = Random(seed);
        for _ in 0..120 {
            let at = random.0;
            let sql = statement(&mut random, "TEMP ");
            let same = statement(&mut Random(at), "");
            assert_eq!(answer(&ours, &sql), answer(&theirs, &same), "seed {seed}: {sql}");
            assert_eq!(ours.in_transaction(), theirs.in_transaction());
        }
        for end in ["ROLLBACK", "SELECT * FROM a", "SELECT * FROM b", "SELECT * FROM shared"] {
            assert_eq!(answer(&ours, end), answer(&theirs, end), "seed {seed}: {end}");
        }
        temporary.verify()?;
    }
    Ok(())
}
