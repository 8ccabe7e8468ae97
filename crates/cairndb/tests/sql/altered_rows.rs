//! Columns come and go, and the rows stay as they are: whoever reads or changes them sees the table as it would be if it had
//! been made anew each time.

use crate::common::{Random, connect, fails, rows};
use cairndb::{Connection, Database, Options, Result, Value, salvage};

/// Seeds tried, and steps of each.
const SEEDS: u64 = 16;
const STEPS: usize = 80;

/// Types, with literals of each.
const TYPES: [(&str, [&str; 3]); 10] = [
    ("int", ["7", "-70000", "NULL"]),
    ("bigint", ["5000000000", "1", "NULL"]),
    ("text", ["'some text'", "''", "NULL"]),
    ("varchar(9)", ["'ab'", "'äöü'", "NULL"]),
    ("char(4)", ["'ab'", "'abcd'", "NULL"]),
    ("numeric(8,2)", ["1.50", "-123456.78", "NULL"]),
    ("boolean", ["true", "false", "NULL"]),
    ("double precision", ["0.5", "1e9", "NULL"]),
    ("date", ["'2024-02-29'", "'1999-01-01'", "NULL"]),
    ("text[]", ["'{a,b}'", "'{}'", "NULL"]),
];

struct Column {
    name: String,
    kind: usize,
    default: &'static str,
    indexed: bool,
}

/// `t` as it should be: its key, `n`, which is never dropped, and columns that come and go.
struct Model {
    columns: Vec<Column>,
    made: usize,
    has_key: bool,
}

impl Model {
    fn definitions(&self) -> String {
        let key = if self.has_key { " PRIMARY KEY" } else { " NOT NULL UNIQUE" };
        let mut text = format!("id bigint{key}, n int");
        for Column { name, kind, default, .. } in &self.columns {
            text += &format!(", {name} {} DEFAULT {default}", TYPES[*kind].0);
        }
        text
    }

    fn names(&self) -> String {
        let names = self.columns.iter().map(|column| format!(", {}", column.name));
        format!("id, n{}", names.collect::<String>())
    }

    /// Makes the table again from its own rows; the new column's values are `values`.
    fn made_anew(&self, values: &str) -> String {
        let (names, definitions) = (self.names(), self.definitions());
        let mut script = format!(
            "CREATE TABLE t_new ({definitions}); INSERT INTO t_new SELECT {values} FROM t; DROP TABLE t;
             ALTER TABLE t_new RENAME TO t; CREATE INDEX t_n ON t (n);"
        );
        assert!(values.split(',').count() >= names.split(',').count());
        for column in self.columns.iter().filter(|column| column.indexed) {
            script += &format!("CREATE INDEX ON t ({}, n);", column.name);
        }
        script
    }

    /// A change of the columns, and what makes the same of a table by making it anew.
    fn alter(&mut self, random: &mut Random) -> (String, String) {
        let before = self.names();
        if self.columns.len() > 5 || (!self.columns.is_empty() && random.one_in(2)) {
            let column = self.columns.remove(random.below(self.columns.len()));
            let anew = self.made_anew(&self.names());
            return (format!("ALTER TABLE t DROP COLUMN {}", column.name), anew);
        }
        let kind = random.below(TYPES.len());
        let (data_type, literals) = TYPES[kind];
        let (name, default) = (format!("c{}", self.made), *random.pick(&literals));
        self.made += 1;
        self.columns.push(Column { name: name.clone(), kind, default, indexed: random.one_in(3) });
        let anew = self.made_anew(&format!("{before}, {default}"));
        let not_null = if default != "NULL" && random.one_in(2) { " NOT NULL" } else { "" };
        let mut alter = format!("ALTER TABLE t ADD COLUMN {name} {data_type} DEFAULT {default}{not_null}");
        if !not_null.is_empty() {
            alter += &format!("; ALTER TABLE t ALTER COLUMN {name} DROP NOT NULL");
        }
        if self.columns.last().is_some_and(|column| column.indexed) {
            alter += &format!("; CREATE INDEX ON t ({name}, n)");
        }
        (alter, anew)
    }

    /// A change of rows.
    fn change(&self, random: &mut Random) -> String {
        let (id, n) = (random.below(40), random.below(9));
        let column = if self.columns.is_empty() { None } else { Some(random.pick(&self.columns)) };
        let value = |random: &mut Random| column.map(|column| *random.pick(&TYPES[column.kind].1)).unwrap_or("3");
        let name = column.map_or("n", |column| &column.name);
        match random.below(9) {
            0..=1 => format!("INSERT INTO t (id, n) VALUES ({id}, {n}) ON CONFLICT DO NOTHING"),
            2 => format!(
                "INSERT INTO t (id, {name}) VALUES ({id}, {}) ON CONFLICT (id) DO UPDATE SET {name} = excluded.{name}",
                value(random)
            ),
            3 => format!("UPDATE t SET {name} = {} WHERE id = {id}", value(random)),
            4 => format!("UPDATE t SET n = n + 1 WHERE id = {id}"),
            5 => format!("UPDATE t SET {name} = {} WHERE n = {n}", value(random)),
            6 => format!("UPDATE t SET id = id + 40 WHERE id = {id} AND id < 40"),
            7 => format!("DELETE FROM t WHERE id = {id}"),
            _ => format!("DELETE FROM t WHERE n = {n} AND id > 60"),
        }
    }

    /// What is asked of both tables.
    fn queries(&self, random: &mut Random) -> Vec<String> {
        let mut queries = vec![
            "SELECT * FROM t ORDER BY id".to_string(),
            "SELECT count(*), sum(n), min(id) FROM t".to_string(),
            "SELECT * FROM t WHERE n > 2 AND n < 7 ORDER BY id".to_string(),
            "SELECT a.*, b.n FROM t a JOIN t b ON b.id = a.n ORDER BY a.id".to_string(),
            format!("SELECT * FROM t WHERE n = {} ORDER BY id", random.below(9)),
        ];
        queries.extend((0..6).map(|_| format!("SELECT * FROM t WHERE id = {}", random.below(60))));
        for Column { name, kind, .. } in &self.columns {
            let literal = random.pick(&TYPES[*kind].1);
            queries.push(format!("SELECT id, {name} FROM t WHERE {name} = {literal} AND n >= 0 ORDER BY id"));
            queries.push(format!("SELECT id, {name} FROM t WHERE {name} IS NULL ORDER BY id"));
            queries.push(format!("SELECT {name}, count(*) FROM t GROUP BY {name} ORDER BY {name}"));
            queries.push(format!("SELECT {name} FROM t WHERE id = {}", random.below(60)));
        }
        queries
    }
}

fn answer(conn: &Connection, sql: &str) -> std::result::Result<u64, String> {
    conn.execute(sql, ()).map_err(|error| error.sqlstate().0.to_string())
}

fn run_all(conn: &Connection, script: &str) {
    conn.execute_script(script).unwrap_or_else(|error| panic!("{script}: {error:?}"));
}

fn assert_same(altered: &Connection, anew: &Connection, model: &Model, random: &mut Random) {
    for query in model.queries(random) {
        assert_eq!(rows(altered, &query), rows(anew, &query), "{query}");
    }
}

/// Rows of `t` by point reads, the columns that are always there.
fn by_points(conn: &Connection) -> Vec<Option<(i64, Option<i64>)>> {
    let mut statement = conn.prepare("SELECT id, n FROM t WHERE id = $1").unwrap();
    (0..60i64)
        .map(|id| statement.query_point((id,), |row| (row.get_i64(0).unwrap(), row.get_i64(1))).unwrap())
        .collect()
}

#[test]
fn a_table_that_was_altered_is_as_one_made_anew() -> Result<()> {
    for seed in 1..=SEEDS {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("altered.cairn");
        let mut random = Random(seed);
        let mut model = Model { columns: Vec::new(), made: 0, has_key: seed % 3 > 0 };
        let mut database = Database::open(&path)?;
        let mut altered = database.connect()?;
        let anew = Database::open_in_memory()?.connect()?;
        let start = format!("CREATE TABLE t ({}); CREATE INDEX t_n ON t (n);", model.definitions());
        for conn in [&altered, &anew] {
            run_all(conn, &start);
        }
        for step in 0..STEPS {
            match random.below(12) {
                0..=1 => {
                    let (alter, made_anew) = model.alter(&mut random);
                    match random.below(4) {
                        // What is rolled back leaves nothing, rows that were written meanwhile included.
                        0 => {
                            run_all(
                                &altered,
                                "BEGIN; ALTER TABLE t ADD COLUMN no int DEFAULT 1; SAVEPOINT s;
                                INSERT INTO t (id, no) VALUES (1000, 2); UPDATE t SET no = 5 WHERE id < 20;
                                ALTER TABLE t DROP COLUMN n CASCADE; ROLLBACK TO s; UPDATE t SET no = no + 1",
                            );
                            run_all(
                                &altered,
                                if random.one_in(2) { "ROLLBACK" } else { "ALTER TABLE t DROP COLUMN no; COMMIT" },
                            );
                            run_all(&altered, &alter);
                        }
                        1 => run_all(
                            &altered,
                            &format!("BEGIN; UPDATE t SET n = n; {alter}; UPDATE t SET n = n; COMMIT"),
                        ),
                        _ => run_all(&altered, &alter),
                    }
                    run_all(&anew, &made_anew);
                }
                2 if step % 5 == 0 => {
                    drop(altered);
                    database.close()?;
                    database = Database::open(&path)?;
                    altered = database.connect()?;
                }
                _ => {
                    let change = model.change(&mut random);
                    assert_eq!(answer(&altered, &change), answer(&anew, &change), "seed {seed}: {change}");
                }
            }
            if random.one_in(4) {
                assert_same(&altered, &anew, &model, &mut random);
                assert_eq!(by_points(&altered), by_points(&anew), "seed {seed}");
            }
        }
        assert_same(&altered, &anew, &model, &mut random);
        database.verify()?;
        assert!(database.verify_constraints()?.is_empty());
        drop(altered);
        database.close()?;
        let saved = folder.path().join("saved.cairn");
        assert!(salvage(&path, &saved)?.uncertain.is_none());
        assert_same(&Database::open(&saved)?.connect()?, &anew, &model, &mut random);
    }
    Ok(())
}

/// A table of so many rows of about 100 bytes.
fn filled(rows: usize) -> Result<(Database, Connection)> {
    let database = Database::open_in_memory()?;
    let conn = database.connect()?;
    conn.execute_script(&format!(
        "CREATE TABLE t (id bigint PRIMARY KEY, n int, s text);
         INSERT INTO t SELECT g, g % 100, repeat('x', 90) FROM generate_series(1, {rows}) g;
         CREATE INDEX t_n ON t (n)"
    ))?;
    Ok((database, conn))
}

#[test]
fn altering_a_table_writes_as_much_as_the_catalog_has_of_it() -> Result<()> {
    let (database, conn) = filled(100_000)?;
    let before = database.stats().log_bytes_written;
    for alter in [
        "ALTER TABLE t ADD COLUMN a int DEFAULT 5 NOT NULL CHECK (a > 3)",
        "ALTER TABLE t ADD COLUMN b text, ADD COLUMN c timestamptz DEFAULT now()",
        "ALTER TABLE t DROP COLUMN n",
        "ALTER TABLE t ALTER COLUMN a SET DEFAULT 8, ALTER COLUMN b SET DEFAULT 'x', ALTER COLUMN c DROP DEFAULT",
        "ALTER TABLE t RENAME COLUMN b TO d",
        "ALTER TABLE t RENAME TO u",
    ] {
        conn.execute(alter, ())?;
    }
    let written = database.stats().log_bytes_written - before;
    assert!(written < 20_000, "{written} bytes");
    assert_eq!(rows(&conn, "SELECT count(*), sum(a), count(d), count(DISTINCT c) FROM u"), ["100000|500000|0|1"]);
    assert_eq!(rows(&conn, "INSERT INTO u (id) VALUES (0) RETURNING *"), ["0|NULL|8|x|NULL"]);
    database.verify()?;
    Ok(())
}

#[test]
fn columns_that_come_and_go_for_ever_cost_nothing_for_ever() -> Result<()> {
    let (database, conn) = filled(200)?;
    for round in 0..2_000 {
        conn.execute_script("ALTER TABLE t ADD COLUMN come bigint DEFAULT 77; ALTER TABLE t DROP COLUMN come")?;
        if round % 100 == 0 {
            conn.execute("UPDATE t SET n = n + 1 WHERE id = $1", (round / 100 + 1,))?;
        }
    }
    assert_eq!(rows(&conn, "SELECT count(*), sum(length(s)), sum(n - id) FROM t"), ["200|18000|-10180"]);
    // The entry of the catalog is no longer than one with few columns that went.
    let before = database.stats().log_bytes_written;
    conn.execute("ALTER TABLE t ALTER COLUMN n SET DEFAULT 1", ())?;
    assert!(database.stats().log_bytes_written - before < 1_000);
    database.verify()?;
    Ok(())
}

#[test]
fn statements_prepared_before_a_column_comes_or_goes_see_the_table_of_now() -> Result<()> {
    let (_database, conn) = filled(50)?;
    let mut read = conn.prepare("SELECT n, s FROM t WHERE id = $1")?;
    let mut scan = conn.prepare("SELECT sum(n), min(s) FROM t WHERE n >= $1")?;
    let mut change = conn.prepare("UPDATE t SET n = n + 1000 WHERE id = $1")?;
    let mut insert = conn.prepare("INSERT INTO t (id, n) VALUES ($1, $2)")?;
    let mut upsert = conn.prepare("INSERT INTO t (id, n) VALUES ($1, 0) ON CONFLICT (id) DO UPDATE SET n = t.n + 1")?;
    let mut at = 0i64;
    for alter in [
        "ALTER TABLE t ADD COLUMN a int DEFAULT 1",
        "ALTER TABLE t ADD COLUMN b text DEFAULT 'b'",
        "ALTER TABLE t DROP COLUMN a",
        "ALTER TABLE t ADD COLUMN c bigint NOT NULL DEFAULT 3",
        "ALTER TABLE t DROP COLUMN b",
    ] {
        conn.execute(alter, ())?;
        at += 1;
        change.execute((at,))?;
        upsert.execute((at,))?;
        insert.execute((100 + at, at))?;
        let point = read.query_point((at,), |row| (row.get_i64(0), row.get_str(1).map(str::len)))?;
        assert_eq!(point, Some((Some(1001 + at), Some(90))), "{alter}");
        let untouched = read.query_point((at + 20,), |row| (row.get_i64(0), row.get_str(1).map(str::len)))?;
        assert_eq!(untouched, Some((Some(20 + at), Some(90))), "{alter}");
        let sum: i64 = scan.query_row((0,), |row| row.get(0))?;
        assert_eq!(sum, 1275 + 1001 * at + at * (at + 1) / 2, "{alter}");
    }
    assert_eq!(rows(&conn, "SELECT c, count(*) FROM t GROUP BY c"), ["3|55"]);
    Ok(())
}

#[test]
fn who_reads_an_earlier_state_goes_on_reading_it() -> Result<()> {
    let (database, conn) = filled(3_000)?;
    let other = database.connect()?;
    let mut open = other.query("SELECT * FROM t ORDER BY id", ())?;
    assert_eq!(open.next()?.expect("a row").values().len(), 3);
    let third = database.connect()?;
    third.execute_script("BEGIN")?;
    assert_eq!(rows(&third, "SELECT count(*) FROM t"), ["3000"]);
    conn.execute_script("ALTER TABLE t ADD COLUMN a int DEFAULT 1; ALTER TABLE t DROP COLUMN n; UPDATE t SET a = 2")?;
    let mut seen = 1;
    while let Some(row) = open.next()? {
        seen += 1;
        assert_eq!(row.values()[1], Value::Integer(seen % 100));
    }
    assert_eq!(seen, 3_000);
    assert_eq!(rows(&third, "SELECT * FROM t WHERE id = 7"), [format!("7|7|{}", "x".repeat(90))]);
    third.execute_script("COMMIT")?;
    assert_eq!(rows(&third, "SELECT a, count(*) FROM t GROUP BY a"), ["2|3000"]);
    Ok(())
}

#[test]
fn columns_come_and_go_beside_writers() -> Result<()> {
    let (database, conn) = filled(500)?;
    let done = std::sync::atomic::AtomicBool::new(false);
    let (is_done, store) = (&done, std::sync::atomic::Ordering::SeqCst);
    let counts = std::thread::scope(|scope| -> Result<Vec<i64>> {
        let writers: Vec<_> = (0..3i64)
            .map(|writer| {
                let conn = database.connect();
                scope.spawn(move || -> Result<i64> {
                    let conn = conn?;
                    let mut change = conn.prepare("UPDATE t SET n = n + 1 WHERE id = $1")?;
                    let mut count = 0;
                    while !is_done.load(store) {
                        let id = 1 + (count * 7 + writer) % 500;
                        if count % 5 == 0 {
                            conn.transaction(|tx| tx.execute("UPDATE t SET n = n + 1 WHERE id = $1", (id,)))?;
                        } else {
                            change.execute((id,))?;
                        }
                        count += 1;
                    }
                    Ok(count)
                })
            })
            .collect();
        for round in 0..60 {
            conn.execute_script("ALTER TABLE t ADD COLUMN a int DEFAULT 1")?;
            assert_eq!(rows(&conn, "SELECT sum(a) FROM t"), ["500"], "{round}");
            conn.execute_script("ALTER TABLE t DROP COLUMN a")?;
        }
        done.store(true, store);
        writers.into_iter().map(|writer| writer.join().expect("a writer")).collect()
    })?;
    let sum: i64 = counts.iter().sum();
    let first: i64 = (1..=500).map(|id| id % 100).sum();
    assert_eq!(rows(&conn, "SELECT sum(n) FROM t"), [(first + sum).to_string()]);
    database.verify()?;
    Ok(())
}

#[test]
fn what_a_new_column_must_satisfy_is_looked_at() -> Result<()> {
    let conn = connect("CREATE TABLE t (a int); CREATE TABLE peopled (a int); INSERT INTO peopled VALUES (1)");
    for column in ["b int NOT NULL", "b int DEFAULT NULL NOT NULL"] {
        conn.execute_script(&format!("ALTER TABLE t ADD COLUMN {column}; ALTER TABLE t DROP COLUMN b"))?;
        let error = fails(&conn, &format!("ALTER TABLE peopled ADD COLUMN {column}"), "23502");
        assert_eq!(error.message(), "column \"b\" of relation \"peopled\" contains null values");
    }
    conn.execute("ALTER TABLE t ADD COLUMN b int DEFAULT 1 CHECK (b > 1)", ())?;
    fails(&conn, "ALTER TABLE peopled ADD COLUMN b int DEFAULT 1 CHECK (b > 1)", "23514");
    conn.execute("ALTER TABLE peopled ADD COLUMN b int DEFAULT 2 CHECK (b > 1)", ())?;
    fails(&conn, "ALTER TABLE peopled ADD COLUMN c int DEFAULT 2, ADD CHECK (c > a + b)", "23514");
    fails(&conn, "ALTER TABLE peopled ADD COLUMN c int DEFAULT 2 REFERENCES t (a)", "42830");
    conn.execute("INSERT INTO peopled VALUES (5, 6)", ())?;
    fails(&conn, "ALTER TABLE peopled ADD COLUMN c int DEFAULT 2 UNIQUE", "23505");
    conn.execute("ALTER TABLE peopled ADD COLUMN c int UNIQUE", ())?;
    assert_eq!(rows(&conn, "SELECT * FROM peopled ORDER BY a"), ["1|2|NULL", "5|6|NULL"]);
    // A default that is another for each row is computed for each.
    conn.execute("ALTER TABLE peopled ADD COLUMN d serial, ADD COLUMN e double precision DEFAULT random()", ())?;
    assert_eq!(rows(&conn, "SELECT count(DISTINCT d), count(DISTINCT e) FROM peopled"), ["2|2"]);
    Ok(())
}

#[test]
fn a_type_that_only_allows_more_writes_no_row() -> Result<()> {
    let (database, conn) = filled(1_000)?;
    conn.execute_script(
        "ALTER TABLE t ADD COLUMN v varchar(5) DEFAULT 'abcde', ADD COLUMN m numeric(4,2) DEFAULT 1.5;
         CREATE INDEX t_v ON t (v)",
    )?;
    let before = database.stats().log_bytes_written;
    conn.execute_script(
        "ALTER TABLE t ALTER COLUMN v TYPE varchar(6); ALTER TABLE t ALTER COLUMN v TYPE text;
         ALTER TABLE t ALTER COLUMN m TYPE numeric(6,2); ALTER TABLE t ALTER COLUMN m TYPE numeric",
    )?;
    let written = database.stats().log_bytes_written - before;
    assert!(written < 10_000, "{written} bytes");
    conn.execute("UPDATE t SET v = v || 'fghij', m = m * 100000 WHERE id = 5", ())?;
    assert_eq!(
        rows(&conn, "SELECT v, m FROM t WHERE id IN (5, 6) ORDER BY id"),
        ["abcdefghij|150000.00", "abcde|1.50"]
    );
    assert_eq!(rows(&conn, "SELECT id FROM t WHERE v = 'abcdefghij'"), ["5"]);
    // Less than before is looked at.
    fails(&conn, "ALTER TABLE t ALTER COLUMN v TYPE varchar(6)", "22001");
    fails(&conn, "ALTER TABLE t ALTER COLUMN m TYPE numeric(4,2)", "22003");
    database.verify()?;
    Ok(())
}

#[test]
fn a_database_with_earlier_layouts_is_read_by_who_may_not_write() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("altered.cairn");
    let database = Database::open(&path)?;
    database.connect()?.execute_script(
        "CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, 'x'); ALTER TABLE t ADD COLUMN c int DEFAULT 9, DROP COLUMN a",
    )?;
    database.close()?;
    let database = Database::open_with(&path, Options::default().read_only(true))?;
    assert_eq!(rows(&database.connect()?, "SELECT * FROM t"), ["x|9"]);
    Ok(())
}
