//! Rows by equality with what an index is of, few of them or the first: what is read as a point statement is what the general path gives, over
//! generated values, indexes and questions, also within a transaction that has written.

use cairndb::{Collection, Connection, Result, Row, Value};

use crate::common::{Random, connect};

/// A column's type, and values of it that stand for few and many rows.
const TYPES: [(&str, &[&str]); 12] = [
    ("int", &["1", "2", "-3", "2147483647"]),
    ("bigint", &["1", "9223372036854775807", "0"]),
    ("text", &["a", "A", "a ", "", "é", "z\u{1}"]),
    ("varchar(9)", &["a", "a ", "A", ""]),
    ("char(4)", &["a", "ab", "A", ""]),
    ("numeric", &["1", "1.50", "-0.0", "NaN", "12345678901234567890.1"]),
    ("float8", &["1", "-0", "0", "NaN", "Infinity"]),
    ("date", &["2024-02-29", "infinity", "1999-12-31"]),
    ("uuid", &["00000000-0000-0000-0000-000000000001", "ffffffff-ffff-ffff-ffff-ffffffffffff"]),
    ("bool", &["true", "false"]),
    ("bytea", &["\\x00", "\\x", "\\xff00"]),
    ("jsonb", &["1", "1.0", "null", "\"a\"", "{\"b\": [1, 2]}", "[]", "true"]),
];

/// How an index is made over the column `k`; the last are of some rows, and of what is made of the column.
const INDEXES: [&str; 8] = [
    "(k)",
    "(k DESC)",
    "(k NULLS FIRST)",
    "(k, n)",
    "(k, id)",
    "(k) WHERE n > 2",
    "(k DESC, n DESC)",
    "((doc -> 'k'))",
];

const OUTPUTS: [&str; 5] = ["id", "id, k, n", "*", "n + 1, k", "doc"];

const FURTHER: [&str; 7] =
    ["", "", "", " AND n > 2", " AND n > 2 AND id < 500", " AND n IN (1, 3)", " AND k IS NOT NULL"];

const ORDERS: [&str; 3] = ["", "", " ORDER BY id"];

/// Rows of a value: none, one, several, and more than are read as few.
const COUNTS: [usize; 5] = [1, 2, 7, 64, 150];

fn filled(random: &mut Random, data_type: &str, values: &[&str]) -> Connection {
    let conn = connect(&format!("CREATE TABLE t (id bigint PRIMARY KEY, k {data_type}, n int, doc jsonb)"));
    let mut insert = conn
        .prepare(&format!(
            "INSERT INTO t SELECT $1::bigint + 37 * g % 1009, $2::text::{data_type}, g % 5, \
             jsonb_strip_nulls(jsonb_build_object('k', to_jsonb($2::text::{data_type}), 'g', g)) FROM generate_series(1, $3) g"
        ))
        .unwrap();
    for (at, value) in values.iter().map(|value| Some(*value)).chain([None]).enumerate() {
        let count = if at == 0 { 150 } else { *random.pick(&COUNTS) };
        insert.execute((i64::try_from(at * 2_000).unwrap(), value, i64::try_from(count).unwrap())).unwrap();
    }
    // Enough of them that an index is asked.
    let others =
        "INSERT INTO t SELECT 100000 + g, NULL, g % 5, jsonb_build_object('g', g) FROM generate_series(1, 3000) g";
    conn.execute(others, ()).unwrap();
    conn
}

type Answer = std::result::Result<Vec<Vec<Value>>, String>;

fn copied(rows: Result<cairndb::Rows>) -> Answer {
    let all = rows.and_then(|rows| rows.mapped(|row: Row<'_>| Ok(row.values().to_vec())).collect());
    all.map_err(|error| error.sqlstate().0.to_string())
}

/// What the general path answers.
fn general(conn: &Connection, sql: &str, params: &[Value]) -> Answer {
    conn.execute("SET enable_point_statements = off", ()).unwrap();
    let answer = copied(conn.query(sql, params));
    conn.execute("SET enable_point_statements = on", ()).unwrap();
    answer
}

fn question(
    conn: &Connection,
    random: &mut Random,
    index: &str,
    (data_type, values): (&str, &[&str]),
) -> (String, Vec<Value>) {
    let (at, value) = match index.contains("doc") {
        true => ("(doc -> 'k')", format!("to_jsonb($1::text::{data_type})")),
        false => ("k", format!("$1::text::{data_type}")),
    };
    let text = if random.one_in(15) { None } else { Some(*random.pick(values)) };
    let value = conn.query_row(&format!("SELECT {value}"), (text,), |row| Ok(row.value(0).clone()));
    let mut params = vec![value.unwrap_or_else(|error| panic!("{data_type} {text:?}: {error:?}"))];
    let limit = match random.below(6) {
        0 => "",
        1 => " LIMIT 1",
        2 => " LIMIT NULL",
        _ => {
            params.push(match random.below(9) {
                0 => Value::Null,
                1 => Value::BigInt(-1),
                2 => Value::Integer(3),
                at => Value::BigInt([0, 1, 2, 10, 64, 65][at - 3]),
            });
            " LIMIT $2"
        }
    };
    let (outputs, further, order) = (random.pick(&OUTPUTS), random.pick(&FURTHER), random.pick(&ORDERS));
    (format!("SELECT {outputs} FROM t WHERE {at} = $1{further}{order}{limit}"), params)
}

/// Asks as a point statement and the general way; whether the first answered.
fn compare(conn: &Connection, sql: &str, params: &[Value]) -> bool {
    let general = general(conn, sql, params);
    let mut statement = conn.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    let at_once = statement.query_at_once(params);
    let is_point = at_once.is_some();
    if let Some(rows) = at_once {
        assert_eq!(copied(Ok(rows)), general, "{sql} with {params:?}");
    }
    assert_eq!(copied(statement.query(params)), general, "{sql} with {params:?}");
    assert_eq!(copied(conn.query(sql, params)), general, "{sql} with {params:?}");
    is_point
}

#[test]
fn rows_equal_to_a_value_are_what_the_general_path_gives() {
    let mut random = Random(36);
    let mut by_index = [0; INDEXES.len()];
    for (data_type, values) in TYPES {
        let conn = filled(&mut random, data_type, values);
        for (at, index) in INDEXES.into_iter().enumerate() {
            conn.execute_script(&format!("CREATE INDEX i ON t {index}; ANALYZE t")).unwrap();
            for _ in 0..14 {
                let (sql, params) = question(&conn, &mut random, index, (data_type, values));
                by_index[at] += usize::from(compare(&conn, &sql, &params));
            }
            conn.execute("DROP INDEX i", ()).unwrap();
        }
    }
    // (What is of some rows is asked where the question says that it is about these.)
    assert!(by_index.iter().all(|points| *points > 20), "{by_index:?}");
}

#[test]
fn one_row_by_a_unique_index_and_a_limit() {
    let conn = connect(
        "CREATE TABLE t (id int PRIMARY KEY, k int UNIQUE, s text);
         INSERT INTO t SELECT g, nullif(g * 2, 10), 's' || g FROM generate_series(1, 3000) g;
         CREATE UNIQUE INDEX ON t (upper(s)); CREATE UNIQUE INDEX ON t (s) WHERE id > 5; ANALYZE t",
    );
    for (of, values) in [
        ("id = $1", [Value::Integer(7), Value::Integer(-1), Value::Null]),
        ("k = $1", [Value::Integer(8), Value::Integer(10), Value::Null]),
        ("upper(s) = $1", [Value::text("S9"), Value::text("s9"), Value::Null]),
        ("s = $1 AND id > 5", [Value::text("s9"), Value::text("s5"), Value::Null]),
    ] {
        for value in values {
            for limit in [Value::BigInt(0), Value::BigInt(1), Value::Integer(5), Value::Null] {
                let params = [value.clone(), limit];
                let sql = format!("SELECT id, s FROM t WHERE {of} LIMIT $2");
                assert!(compare(&conn, &sql, &params), "{sql} with {params:?} is no point statement");
            }
            assert!(!compare(&conn, &format!("SELECT id, s FROM t WHERE {of} LIMIT $2"), &[value, Value::BigInt(-1)]));
        }
    }
}

#[test]
fn what_stands_above_a_limit_is_no_part_of_it() {
    let conn = connect(
        "CREATE TABLE t (id int PRIMARY KEY, k int, n int); CREATE TABLE p (id int PRIMARY KEY, s text);
         INSERT INTO t SELECT g, g / 10, g % 7 FROM generate_series(1, 3000) g; CREATE INDEX ON t (k); ANALYZE t;
         INSERT INTO p SELECT g, 's' || g FROM generate_series(0, 3) g",
    );
    for sql in [
        "SELECT * FROM (SELECT * FROM t WHERE k = $1 LIMIT 3) AS few WHERE n > 3",
        "SELECT few.id, p.s FROM (SELECT * FROM t WHERE k = $1 LIMIT 3) AS few JOIN p ON p.id = few.n",
        "SELECT few.id, p.s FROM (SELECT * FROM t WHERE k = $1 LIMIT 3) AS few LEFT JOIN p ON p.id = few.n",
        "SELECT count(*), sum(n) FROM (SELECT * FROM t WHERE k = $1 LIMIT 3) AS few",
        "SELECT n + 1 FROM (SELECT * FROM (SELECT * FROM t WHERE k = $1 LIMIT 3) AS few LIMIT 2) AS fewer",
        "SELECT id FROM t WHERE k = $1 ORDER BY n LIMIT 3",
        "SELECT id FROM t WHERE k = $1 LIMIT 3 OFFSET 2",
        "SELECT id FROM t WHERE k = $1 ORDER BY k FETCH FIRST 2 ROWS WITH TIES",
        "SELECT t.id, p.s FROM t JOIN p ON p.id = t.n WHERE t.k = $1 LIMIT 2",
        "SELECT t.id, p.s FROM t LEFT JOIN p ON p.id = t.n WHERE t.k = $1 AND t.n > 1 LIMIT 2",
    ] {
        for k in [0, 1, 17, 400] {
            compare(&conn, sql, &[Value::Integer(k)]);
        }
    }
}

#[test]
fn a_transactions_own_rows_are_among_them() {
    let mut random = Random(37);
    let conn = filled(&mut random, "int", TYPES[0].1);
    conn.execute_script("CREATE INDEX ON t (k); CREATE INDEX ON t ((doc -> 'k')); ANALYZE t").unwrap();
    for round in 0..20 {
        conn.execute("BEGIN", ()).unwrap();
        for _ in 0..5 {
            let id = random.below(1_500i64);
            match random.below(3) {
                0 => conn.execute("DELETE FROM t WHERE id = $1", (id,)),
                1 => conn.execute("UPDATE t SET k = 2, doc = '{\"k\": 2}' WHERE id = $1", (id,)),
                _ => conn.execute(
                    "INSERT INTO t VALUES ($1, 1, 3, '{\"k\": 1}') ON CONFLICT (id) DO UPDATE SET n = 4",
                    (id,),
                ),
            }
            .unwrap();
            let index = *random.pick(&["(k)", "((doc -> 'k'))"]);
            let (sql, params) = question(&conn, &mut random, index, TYPES[0]);
            // (What fails ends the transaction.)
            if params.get(1) != Some(&Value::BigInt(-1)) {
                compare(&conn, &sql, &params);
            }
        }
        conn.execute(if round % 2 == 0 { "COMMIT" } else { "ROLLBACK" }, ()).unwrap();
    }
}

fn found(of: &Collection<'_>, filter: &str) -> Vec<(String, i64, String)> {
    let told = |found: cairndb::Document| (found.id_text(), found.version, found.doc.to_string());
    let all: Vec<_> = of.find(filter).all().unwrap().into_iter().map(told).collect();
    let one = of.find(filter).one().unwrap().map(told);
    assert_eq!(one.as_ref(), all.first(), "{filter}");
    let page = of.find(filter).limit(3).page().unwrap();
    assert_eq!(page.next.is_some(), all.len() > 3, "{filter}");
    let page: Vec<_> = page.documents.into_iter().map(told).collect();
    assert_eq!(page, all[..all.len().min(3)], "{filter}");
    let each: Vec<_> = of.find(filter).iter().unwrap().map(|each| told(each.unwrap())).collect();
    assert_eq!(each, all, "{filter}");
    all
}

#[test]
fn documents_by_an_indexed_path_are_those_that_are_found_without_it() {
    let conn = connect("");
    let (with, without) = (conn.create_collection("with").unwrap(), conn.create_collection("without").unwrap());
    let values = ["1", "1.0", "2", "null", "\"a\"", "\"it's\"", "{\"x\": 1}", "[1]", "true"];
    let mut random = Random(38);
    for n in 0..1_500 {
        let doc = match random.below(20) {
            0 => format!("{{\"a\": {}, \"b\": {{\"c\": {n}}}}}", random.pick(&values)),
            _ => format!("{{\"a\": {}, \"b\": {{\"c\": {n}}}}}", 100 + n),
        };
        with.put(format!("d{n}"), doc.as_str()).unwrap();
        without.put(format!("d{n}"), doc.as_str()).unwrap();
    }
    with.create_index("a").unwrap();
    with.create_unique_index("b.c").unwrap();
    conn.execute("ANALYZE", ()).unwrap();
    let (mut asked, mut all) = (0, 0);
    for value in values.into_iter().chain(["100", "-1", "101.0", "\"\"", "\"\\u0061\""]) {
        for further in ["", ", \"b.c\": 7", ", \"b.c\": {\"$gt\": 700}", ", \"$id\": \"d700\""] {
            let filter = format!("{{\"a\": {value}{further}}}");
            assert_eq!(found(&with, &filter), found(&without, &filter), "{filter}");
            asked += 1;
            all += found(&with, &filter).len();
        }
    }
    for n in [0, 7, 1_499, 1_500] {
        let filter = format!("{{\"b.c\": {n}}}");
        assert_eq!(found(&with, &filter), found(&without, &filter), "{filter}");
    }
    assert!(asked > 50 && all > 40, "{all} documents of {asked} questions");
    let (sql, params) = with.find(r#"{"a": 1}"#).limit(5).sql().unwrap();
    let mut statement = conn.prepare(&sql).unwrap();
    assert!(statement.query_at_once(params).is_some(), "{sql} is no point statement");
}
