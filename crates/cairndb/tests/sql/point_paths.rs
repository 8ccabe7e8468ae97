//! Every kind of point statement does what the general path does: random statements on random data, on two databases,
//! with the same answers, errors and rows.

use crate::common::{Random, connect, connect_general, dump};
use cairndb::{Connection, Result, ToValue, Value};

const SCHEMA: &str = "\
    CREATE TABLE parent (id bigint PRIMARY KEY, code varchar(8) NOT NULL UNIQUE, kind int);\
    CREATE TABLE t (id bigint PRIMARY KEY, a int NOT NULL DEFAULT 7, s text, v varchar(5) UNIQUE, c char(4),\
        n numeric(8,2), d date, ts timestamp, parent int REFERENCES parent, pcode text REFERENCES parent (code),\
        CHECK (a < 50), CONSTRAINT s_short CHECK (length(s) < 12 OR d IS NULL), CHECK (n >= 0 OR n IS NULL));\
    CREATE INDEX t_a ON t (a DESC);\
    CREATE INDEX t_sd ON t (s, d);\
    CREATE TABLE two (x int, y text, z int, w double precision, PRIMARY KEY (y, x), UNIQUE (z, x));\
    CREATE TABLE heap (k int UNIQUE, s text);\
    CREATE TABLE tree (id int PRIMARY KEY, up int REFERENCES tree, name text);\
    CREATE TABLE serial (id serial PRIMARY KEY, big bigint GENERATED ALWAYS AS IDENTITY, s text DEFAULT upper('abc'),\
        n numeric(4,1) DEFAULT 2.25, UNIQUE (s));";

/// Each is a point statement; the letters say what parameters it takes (see [`parameter`]).
const STATEMENTS: [(&str, &str); 44] = [
    ("INSERT INTO parent VALUES ($1, $2, 1)", "kc"),
    ("INSERT INTO parent VALUES ($1, $2, 1) ON CONFLICT DO NOTHING", "kc"),
    ("UPDATE parent SET kind = kind + 1 WHERE id = $1", "k"),
    ("UPDATE parent SET kind = $2 WHERE code = $1", "ci"),
    ("INSERT INTO t VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)", "kisccnddkc"),
    ("INSERT INTO t (id, s, d) VALUES ($1, $2, '2024-02-29')", "ks"),
    ("INSERT INTO t (id, parent) VALUES ($1, $2)", "kk"),
    ("INSERT INTO t (id, a) VALUES ($1, $2 * 2 + 1) RETURNING id, a, a + 1", "ki"),
    ("INSERT INTO t (id, a, s) VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET a = excluded.a, s = t.s", "kis"),
    ("INSERT INTO t (id, a) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET a = t.a + 1", "ki"),
    ("INSERT INTO t (id, a) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET a = t.a + excluded.a WHERE t.a < 30", "ki"),
    ("INSERT INTO t (id, v) VALUES ($1, $2) ON CONFLICT (v) DO UPDATE SET s = excluded.v || '!', d = NULL", "kc"),
    ("INSERT INTO t (id, v) VALUES ($1, $2) ON CONFLICT (v) DO NOTHING", "kc"),
    ("INSERT INTO t (id, v) VALUES ($1, $2) ON CONFLICT DO NOTHING", "kc"),
    (
        "INSERT INTO t (id, parent) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET parent = excluded.parent \
         RETURNING id, parent",
        "kk",
    ),
    ("UPDATE t SET a = $2 WHERE id = $1", "ki"),
    ("UPDATE t SET a = a + $2 WHERE id = $1", "ki"),
    ("UPDATE t SET a = a * 2, s = lower(s), d = $2 WHERE id = $1", "kd"),
    ("UPDATE t SET s = $2, d = $3, n = $4 WHERE id = $1", "ksdn"),
    ("UPDATE t SET v = $2, c = $3 WHERE id = $1", "kcc"),
    ("UPDATE t SET n = n * 2, ts = $2 WHERE id = $1 AND a > 10", "kd"),
    ("UPDATE t SET a = 1 WHERE v = $1 RETURNING id, s, a", "c"),
    ("UPDATE t SET parent = $2 WHERE id = $1", "kk"),
    ("UPDATE t SET pcode = $2 WHERE id = $1", "kc"),
    ("UPDATE t SET s = NULL, v = NULL WHERE id = $1", "k"),
    ("DELETE FROM t WHERE id = $1", "k"),
    ("DELETE FROM t WHERE id = $1 AND a < 20 RETURNING id, a, s, n", "k"),
    ("DELETE FROM t WHERE v = $1", "c"),
    ("INSERT INTO two VALUES ($1, $2, $3, $4)", "isin"),
    ("INSERT INTO two VALUES ($1, $2, $3, 1) ON CONFLICT (y, x) DO UPDATE SET w = two.w + 1, z = excluded.z", "isi"),
    ("INSERT INTO two VALUES ($1, $2, $3, 1) ON CONFLICT (z, x) DO UPDATE SET w = excluded.w * 2", "isi"),
    ("UPDATE two SET z = $3, w = w + 0.5 WHERE y = $1 AND x = $2", "sii"),
    ("DELETE FROM two WHERE y = $1 AND x = $2", "si"),
    ("DELETE FROM two WHERE z = $1 AND x = $2 RETURNING y", "ii"),
    ("INSERT INTO heap VALUES ($1, $2)", "is"),
    ("INSERT INTO heap VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET s = excluded.s RETURNING s", "is"),
    ("UPDATE heap SET s = $2 WHERE k = $1", "is"),
    ("DELETE FROM heap WHERE k = $1", "i"),
    ("INSERT INTO tree VALUES ($1, $2, $3)", "iis"),
    ("UPDATE tree SET up = $2 WHERE id = $1", "ii"),
    ("INSERT INTO serial (s) VALUES ($1) RETURNING id, big, n", "s"),
    ("INSERT INTO serial (id, s) VALUES ($1, $2)", "is"),
    ("INSERT INTO serial DEFAULT VALUES", ""),
    ("INSERT INTO serial (s) VALUES ($1) ON CONFLICT (s) DO UPDATE SET n = serial.n + 1", "s"),
];

const TABLES: [&str; 6] = ["parent", "t", "two", "heap", "tree", "serial"];

/// A key, an integer, a string, a short string, a number, a date: mostly of the type that fits, sometimes another.
fn parameter(kind: char, random: &mut Random) -> Value {
    if random.below(12) == 0 {
        return Value::Null;
    }
    match (kind, random.below(6)) {
        ('k', 0) => Value::text(random.below(12).to_string()),
        ('k', 1) => Value::Integer(random.below(12)),
        ('k', _) => Value::BigInt(random.below(12)),
        ('i', 0) => Value::text(random.below(60).to_string()),
        ('i', 1) => Value::BigInt(random.below(9) * 1_000_000_000),
        ('i', _) => Value::Integer(random.below(12)),
        ('s', 0) => Value::text("a longer string than most of them"),
        ('s', _) => Value::text(format!("s{}", random.below(9))),
        ('c', 0) => Value::text("toolong"),
        ('c', _) => Value::text(format!("c{}", random.below(7))),
        ('n', 0) => Value::text("12.345"),
        ('n', 1) => Value::Double(1e9),
        ('n', 2) => Value::Double(-1.5),
        ('n', _) => Value::Integer(random.below(100)),
        ('d', 0) => Value::text("not a date"),
        ('d', 1) => Value::text("2024-01-31 10:11:12"),
        _ => Value::text(format!("2024-03-{:02}", 1 + random.below(28))),
    }
}

/// The rows of a statement with RETURNING, or the number of affected rows.
#[derive(Debug, PartialEq)]
enum Answer {
    Rows(Vec<Vec<Value>>),
    Affected(u64),
    Error(String),
}

fn rows(mut rows: cairndb::Rows) -> Result<Vec<Vec<Value>>> {
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(row.values().to_vec());
    }
    Ok(all)
}

fn answer(result: Result<Answer>) -> Answer {
    result.unwrap_or_else(|error| Answer::Error(format!("{error:?}")))
}

fn run_point(conn: &Connection, sql: &str, params: &[&dyn ToValue]) -> Answer {
    let mut statement = conn.prepare(sql).unwrap();
    assert!(statement.is_point(), "{sql}");
    answer(match statement.columns().is_empty() {
        true => statement.execute(params).map(Answer::Affected),
        false => statement.query(params).and_then(rows).map(Answer::Rows),
    })
}

fn run_general(conn: &Connection, sql: &str, params: &[&dyn ToValue]) -> Answer {
    assert!(!conn.prepare(sql).unwrap().is_point(), "{sql}");
    let returns = sql.contains("RETURNING");
    answer(match returns {
        false => conn.execute(sql, params).map(Answer::Affected),
        true => conn.query(sql, params).and_then(rows).map(Answer::Rows),
    })
}

fn step(point: &Connection, general: &Connection, random: &mut Random) -> bool {
    let (sql, kinds) = *random.pick(&STATEMENTS);
    let values: Vec<Value> = kinds.chars().map(|kind| parameter(kind, random)).collect();
    let params: Vec<&dyn ToValue> = values.iter().map(|value| value as &dyn ToValue).collect();
    let (a, b) = (run_point(point, sql, &params), run_general(general, sql, &params));
    assert_eq!(a, b, "{sql} {values:?}");
    !matches!(a, Answer::Error(_))
}

fn compare_tables(point: &Connection, general: &Connection) {
    for table in TABLES {
        assert_eq!(dump(point, table), dump(general, table), "{table}");
    }
    // Index entries too: by an index that answers the whole query.
    for sql in ["SELECT a FROM t WHERE a >= 0 ORDER BY a DESC", "SELECT s, d FROM t WHERE s >= '' ORDER BY s, d"] {
        let read = |conn: &Connection| rows(conn.query(sql, ()).unwrap()).unwrap();
        assert_eq!(read(point), read(general), "{sql}");
    }
}

#[test]
fn random_statements_of_their_own_agree_with_the_general_path() {
    let (point, general, mut random) = (connect(SCHEMA), connect_general(SCHEMA), Random(1));
    for round in 0..60 {
        let fine = (0..100).filter(|_| step(&point, &general, &mut random)).count();
        assert!(fine > 20, "round {round}: {fine} of 100 succeed");
        compare_tables(&point, &general);
    }
    point.database().verify().unwrap();
}

#[test]
fn random_transactions_agree_with_the_general_path() {
    let (point, general, mut random) = (connect(SCHEMA), connect_general(SCHEMA), Random(2));
    for _ in 0..400 {
        point.execute("BEGIN", ()).unwrap();
        general.execute("BEGIN", ()).unwrap();
        let fine = (0..1 + random.below(8)).all(|_| step(&point, &general, &mut random));
        compare_after_error(&point, &general, fine);
        let end = if fine && random.below(5) > 0 { "COMMIT" } else { "ROLLBACK" };
        point.execute(end, ()).unwrap();
        general.execute(end, ()).unwrap();
    }
    compare_tables(&point, &general);
    point.database().verify().unwrap();
}

/// Both have failed, or neither.
fn compare_after_error(point: &Connection, general: &Connection, fine: bool) {
    assert_eq!(point.transaction_failed(), !fine);
    assert_eq!(general.transaction_failed(), !fine);
}
