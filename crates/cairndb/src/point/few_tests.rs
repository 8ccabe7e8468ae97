//! Few rows, and aggregates of few rows, are what the general path gives: every aggregate, over every type, NULLs, errors,
//! and groups of no rows, few and many.

use std::ops::ControlFlow;

use super::few::FEW;
use super::{Miss, RowRef};
use crate::api::{Connection, Statement};
use crate::session::point::read;
use crate::{Database, Result, Value};

const SCHEMA: &str = "\
    CREATE TABLE parent (id bigint PRIMARY KEY, name text, code int UNIQUE);\
    CREATE TABLE t (id bigint PRIMARY KEY, parent bigint, small smallint, a int, b bigint, n numeric(8,2), m numeric,\
        f double precision, r real, s text, v varchar(9), c char(5), x bytea, d date, ts timestamp, tz timestamptz,\
        ti time, i interval, u uuid, flag boolean, j jsonb, l int[]);\
    CREATE INDEX t_parent ON t (parent);\
    CREATE INDEX t_low ON t (parent, d) WHERE a < 50;\
    CREATE TABLE wide (id bigint PRIMARY KEY, parent int, a int, s text, b int);\
    CREATE INDEX wide_several ON wide (parent, a DESC, s);\
    CREATE TABLE line (owner bigint, no int, a int, s text, PRIMARY KEY (owner, no));\
    CREATE TABLE heap (owner int, a int);\
    CREATE INDEX heap_owner ON heap (owner);";

/// How many rows the parents have.
const SIZES: [usize; 9] = [0, 1, 2, 10, 40, 50, FEW - 1, FEW, FEW + 1];

fn filled() -> Connection {
    let connection = Database::open_in_memory().expect("opens").connect().expect("connects");
    connection.execute_script(SCHEMA).expect("a schema");
    for (parent, size) in SIZES.iter().enumerate() {
        let fill = format!(
            "INSERT INTO parent VALUES ({parent}, 'name ' || {parent}, {parent} * 3);\
             INSERT INTO line SELECT {parent}, g, nullif(g % 7, 3), 's' || g FROM generate_series(1, {size}) g;\
             INSERT INTO heap SELECT {parent}, nullif(g % 5, 2) FROM generate_series(1, {size}) g;\
             INSERT INTO wide SELECT g * 100 + {parent}, {parent}, nullif(g % 5, 2), nullif('x' || g % 3, 'x1'), g \
                 FROM generate_series(1, {size}) g;\
             INSERT INTO t SELECT g * 100 + {parent}, {parent}, nullif(g % 9, 4), nullif(g * 31 % 97, 5), g * 1000003,\
                 nullif(g % 11, 6) / 4.0, g * 1.000000000000000000001, g / 3.0, g / 7.0, 'text ' || g % 13,\
                 nullif('v' || g % 3, 'v1'), 'c' || g % 4, ('b' || g)::bytea, date '2020-01-01' + g,\
                 timestamp '2020-01-01' + g * interval '1 hour', timestamptz '2020-01-01 00:00+00' + g * interval '1 day',\
                 time '10:00' + g * interval '1 minute', g * interval '1 day 2 hours',\
                 ('00000000-0000-0000-0000-' || lpad(g::text, 12, '0'))::uuid, nullif(g % 3, 1) = 0,\
                 jsonb_build_object('g', g), ARRAY[g, g % 2]\
             FROM generate_series(1, {size}) g"
        );
        connection.execute_script(&fill).expect("rows");
    }
    connection
}

/// What is computed of rows of `t`.
const CALLS: [&str; 58] = [
    "count(*) + sum(small)",
    "count(a)",
    "count(s)",
    "sum(small)",
    "sum(a)",
    "sum(b)",
    "sum(n)",
    "sum(m)",
    "sum(f)",
    "sum(r)",
    "sum(i)",
    "avg(small)",
    "avg(a)",
    "avg(b)",
    "avg(n)",
    "avg(m)",
    "avg(f)",
    "avg(r)",
    "avg(i)",
    "min(a)",
    "max(a)",
    "min(n)",
    "max(m)",
    "min(f)",
    "max(r)",
    "min(s)",
    "max(s)",
    "min(v)",
    "max(c)",
    "min(d)",
    "max(ts)",
    "min(tz)",
    "max(ti)",
    "min(i)",
    "max(l)",
    "bool_and(flag)",
    "bool_or(flag)",
    "every(a > 0)",
    "bit_and(a)",
    "bit_or(b)",
    "bit_xor(small)",
    "stddev(a)",
    "variance(n)",
    "stddev_pop(f)",
    "corr(a, b)",
    "regr_slope(f, a)",
    "string_agg(s, ',')",
    "string_agg(x, '')",
    "array_agg(a)",
    "array_agg(s)",
    "json_agg(j)",
    "jsonb_object_agg(t.id, s)",
    "sum(a * 2 + small)",
    "sum(100 / (a - 5))",
    "min(upper(v))",
    "max(length(s) + a)",
    "sum(a) FILTER (WHERE flag)",
    "count(b) FILTER (WHERE s LIKE '%1%' AND a IS NOT NULL)",
];

const SOURCES: [&str; 9] = [
    "t WHERE parent = $1",
    "t WHERE parent = $1 AND a > 20",
    "t WHERE parent = $1 AND s LIKE '%2' OR false",
    "t WHERE parent = $1 AND a = 31",
    "t WHERE parent = $1 AND a < 50",
    "parent JOIN t ON t.parent = parent.id WHERE parent.id = $1",
    "parent JOIN t ON t.parent = parent.id WHERE parent.code = $1",
    "t JOIN parent p ON p.id = t.parent WHERE t.parent = $1 AND p.name <> 'name 4'",
    "t LEFT JOIN parent p ON p.code = t.a WHERE t.parent = $1",
];

const ABOVE: [&str; 5] = ["", "", "", " HAVING count(*) > 1", " HAVING sum(a) % 2 = 0"];

/// The statement's rows for the parent as a point statement; `None`: it leaves them to the general path.
fn answered(connection: &Connection, statement: &Statement<'_>, parent: i64) -> Option<Vec<Vec<Value>>> {
    let prepared = statement.plan().expect("a plan");
    let plan = prepared.point().filter(|plan| !plan.is_of_one_row())?;
    let width = statement.columns().len();
    let mut all = vec![];
    let copy = |row: RowRef<'_>| {
        all.push((0..width).map(|at| row.value(at)).collect::<Result<Vec<_>>>().expect("whole rows"));
        ControlFlow::<()>::Continue(())
    };
    let state = connection.session.state.borrow();
    let mut buffers = connection.session.point_buffers().expect("free buffers");
    match read(&connection.session, &state, (prepared, plan), &(parent,), &mut buffers, copy) {
        Ok(_) => Some(all),
        Err(Miss::General | Miss::Unfit) => None,
        Err(Miss::Error(error)) => panic!("{error}"),
    }
}

/// What the general path answers.
fn general(connection: &Connection, sql: &str, parent: i64) -> std::result::Result<Vec<Vec<Value>>, String> {
    connection.execute("BEGIN", ()).expect("begins");
    let all = || {
        let mut rows = connection.query(sql, (parent,))?;
        let mut all = vec![];
        while let Some(row) = rows.next()? {
            all.push(row.values().to_vec());
        }
        Ok(all)
    };
    let answer = all().map_err(|error: crate::Error| format!("{error:?}"));
    connection.execute("ROLLBACK", ()).expect("rolls back");
    answer
}

/// How often the point statement answered.
fn compare(connection: &Connection, sql: &str) -> usize {
    let statement = connection.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let mut direct = 0;
    for parent in 0..=SIZES.len() {
        let parent = i64::try_from(parent).expect("few");
        // Those that pause do not answer.
        let point = answered(connection, &statement, parent);
        let general = general(connection, sql, parent);
        if let Some(point) = point {
            direct += 1;
            assert_eq!(Ok(point), general, "{sql} with {parent}");
        }
    }
    direct
}

#[test]
fn every_aggregate_of_few_rows_is_what_the_general_path_gives() {
    let connection = filled();
    for call in CALLS {
        let sql = format!("SELECT {call} FROM t WHERE parent = $1");
        let direct = compare(&connection, &sql);
        // One has a row that divides by zero.
        assert!(direct >= 3, "{sql}: {direct}");
    }
}

#[test]
fn aggregates_over_joins_filters_and_having_are_what_the_general_path_gives() {
    let connection = filled();
    for (with, source) in SOURCES.iter().enumerate() {
        let mut direct = 0;
        for (at, call) in CALLS.iter().enumerate() {
            let call = call.replace("(a", "(t.a").replace("(s)", "(t.s)");
            let above = ABOVE[(at + with) % ABOVE.len()];
            direct += compare(&connection, &format!("SELECT {call}, count(*) + $1, min(t.id) FROM {source}{above}"));
        }
        assert!(direct > 150, "{source}: {direct}");
    }
}

/// What a row of `t` gives.
const ROWS: [&str; 8] = [
    "t.id",
    "t.id, t.parent",
    "t.*",
    "t.s, t.l, t.j, t.d, t.n, t.v, t.c, t.x",
    "t.a + t.small, upper(t.v), $1 + t.id",
    "t.j ->> 'g', t.l[1], t.f / 2",
    "100 / (t.a - 5)",
    "count(*) OVER ()",
];

#[test]
fn few_rows_are_what_the_general_path_gives() {
    let connection = filled();
    for source in SOURCES {
        let mut direct = 0;
        for row in ROWS {
            direct += compare(&connection, &format!("SELECT {row} FROM {source}"));
        }
        // The general path computes windows; one row divides by zero.
        assert!(direct > 30, "{source}: {direct}");
    }
    assert_eq!(compare(&connection, "SELECT count(*) OVER () FROM t WHERE parent = $1"), 0);
}

#[test]
fn few_rows_of_several_tables_and_by_all_kinds_of_keys() {
    let connection = filled();
    connection
        .execute_script(
            "CREATE INDEX t_json ON t (((j ->> 'g')::bigint));\
             CREATE INDEX wide_s ON wide (upper(s) DESC NULLS LAST, a);",
        )
        .expect("indexes");
    for (sql, least) in [
        ("SELECT no, s FROM line WHERE owner = $1", SIZES.len() - 2),
        ("SELECT no FROM line WHERE owner = $1", SIZES.len() - 2),
        ("SELECT a FROM heap WHERE owner = $1", SIZES.len() - 2),
        ("SELECT b, s, a FROM wide WHERE parent = $1 AND a = 3", SIZES.len() - 2),
        ("SELECT p.name, t.id, t.s FROM parent p JOIN t ON t.parent = p.id WHERE p.id = $1", SIZES.len() - 2),
        ("SELECT p.name, t.id FROM t JOIN parent p ON p.id = t.parent WHERE t.parent = $1", SIZES.len() - 2),
        ("SELECT l.no, p.name FROM line l LEFT JOIN parent p ON p.id = l.a WHERE l.owner = $1", SIZES.len() - 2),
        ("SELECT id FROM t WHERE (j ->> 'g')::bigint = $1", SIZES.len()),
        ("SELECT id, s, j FROM t WHERE (j ->> 'g')::bigint = $1 AND a > 3", SIZES.len()),
        ("SELECT id, a FROM wide WHERE upper(s) = 'X2' AND a = $1", SIZES.len() / 2),
    ] {
        let direct = compare(&connection, sql);
        assert!(direct >= least, "{sql}: {direct}");
    }
}

#[test]
fn who_wants_the_first_row_gets_no_more() {
    let connection = filled();
    let mut statement = connection.prepare("SELECT id, 100 / (id - 202) FROM t WHERE parent = $1").expect("prepares");
    // The second row of this parent divides by zero.
    assert_eq!(statement.query_point((2i64,), |row| row.get_i64(0)).expect("a row"), Some(Some(102)));
    assert!(statement.query((2i64,)).and_then(|mut rows| rows.exhaust()).is_err());
    assert_eq!(statement.query_point((99i64,), |row| row.get_i64(0)).expect("no row"), None);
}

#[test]
fn rows_by_a_part_of_the_primary_key_and_of_tables_without_one() {
    let connection = filled();
    for sql in [
        "SELECT count(*), sum(a), min(s), max(no), min(owner) FROM line WHERE owner = $1",
        "SELECT max(p.name), count(p.name) FILTER (WHERE l.a > 2), array_agg(p.code) FROM line l \
         JOIN parent p ON p.id = l.owner WHERE l.owner = $1",
        "SELECT count(*), sum(l.a), max(p.name) FROM line l JOIN parent p ON p.id = l.owner WHERE l.owner = $1",
        "SELECT count(*), sum(a) FROM heap WHERE owner = $1",
        "SELECT array_agg(b), string_agg(s, ',') FROM wide WHERE parent = $1",
        "SELECT array_agg(b), string_agg(s, ',') FROM wide WHERE parent = $1 AND a = 3",
    ] {
        assert!(compare(&connection, sql) >= SIZES.len() - 2, "{sql}");
    }
}

#[test]
fn who_met_many_rows_pauses_and_tries_again() {
    let connection = filled();
    let statement = connection.prepare("SELECT sum(a) FROM t WHERE parent = $1").expect("prepares");
    let many = i64::try_from(SIZES.len() - 1).expect("few");
    assert!(answered(&connection, &statement, 3).is_some());
    assert!(answered(&connection, &statement, many).is_none());
    let tries = (0..1000).take_while(|_| answered(&connection, &statement, 3).is_none()).count();
    assert!((1..1000).contains(&tries), "{tries}");
}

#[test]
fn what_changed_is_seen_at_once_and_a_change_of_the_schema_too() {
    let connection = filled();
    let mut statement = connection.prepare("SELECT count(*), sum(a) FROM heap WHERE owner = $1").expect("prepares");
    let mut ask =
        || statement.query_row((1i64,), |row| Ok((row.get::<i64>(0)?, row.get::<Option<i64>>(1)?))).expect("a row");
    assert_eq!(ask(), (1, Some(1)));
    connection.execute("INSERT INTO heap VALUES (1, 40)", ()).expect("inserts");
    assert_eq!(ask(), (2, Some(41)));
    connection.execute("ALTER TABLE heap ALTER COLUMN a SET DEFAULT 7", ()).expect("alters");
    connection.execute("INSERT INTO heap VALUES (1)", ()).expect("inserts");
    assert_eq!(ask(), (3, Some(48)));
    connection.execute("DROP INDEX heap_owner", ()).expect("drops");
    connection.execute("DELETE FROM heap WHERE a = 40", ()).expect("deletes");
    assert_eq!(ask(), (2, Some(8)));
}
