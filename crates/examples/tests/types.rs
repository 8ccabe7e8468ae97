//! Types of Rust and of other crates, as parameters and as results.

use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use cairndb::{Connection, Database, FromRow, FromValue, Result, Rows, SqlState, ToValue, Value, params};
use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, Utc};
use rust_decimal::Decimal;
use time::macros::{date, datetime, time};
use uuid::Uuid;

fn connection() -> Connection {
    Database::open_in_memory().unwrap().connect().unwrap()
}

/// What comes back of a value that was given for a parameter of the type, and its text.
#[track_caller]
fn round<T: ToValue + FromValue + PartialEq + Debug>(value: T, sql_type: &str, text: &str) {
    let conn = connection();
    let sql = format!("SELECT $1::{sql_type}, $1::{sql_type}::text");
    let (back, shown): (T, String) = conn.query_row_as(&sql, (&value,)).unwrap();
    assert_eq!(back, value);
    assert_eq!(shown, text);
    // By way of a table, and its key.
    if !sql_type.starts_with("json") {
        conn.execute(&format!("CREATE TABLE t (v {sql_type} PRIMARY KEY)"), ()).unwrap();
        assert_eq!(conn.execute("INSERT INTO t VALUES ($1)", (&value,)).unwrap(), 1);
        let stored: T = conn.query_row("SELECT v FROM t WHERE v = $1", (&value,), |row| row.get(0)).unwrap();
        assert_eq!(stored, value);
    }
}

fn read<T: FromValue>(sql: &str) -> Result<T> {
    connection().query_row(sql, (), |row| row.get(0))
}

fn state<T: FromValue + Debug>(sql: &str) -> SqlState {
    read::<T>(sql).unwrap_err().sqlstate()
}

#[test]
fn what_rust_has() {
    round(7u64, "bigint", "7");
    round(u64::MAX, "numeric", "18446744073709551615");
    round(7usize, "bigint", "7");
    round(-7isize, "bigint", "-7");
    round(i128::MIN, "numeric", "-170141183460469231731687303715884105728");
    round('ß', "text", "ß");
    round(Cow::Borrowed("cow"), "text", "cow");
    round(Box::<str>::from("box"), "text", "box");
    round(Arc::<str>::from("arc"), "text", "arc");
    round([1, 2, 3], "int[]", "{1,2,3}");
    assert_eq!(connection().execute("SELECT $1::bigint", (u64::MAX,)).unwrap_err().sqlstate(), SqlState("22003"));
    assert_eq!(state::<[i32; 2]>("SELECT '{1,2,3}'::int[]"), SqlState::DATATYPE_MISMATCH);
    assert_eq!(state::<char>("SELECT 'ab'"), SqlState::DATATYPE_MISMATCH);
    assert_eq!(state::<u64>("SELECT -1::bigint"), SqlState::NUMERIC_VALUE_OUT_OF_RANGE);
}

#[test]
fn sums_and_averages_are_numbers() {
    assert_eq!(read::<i64>("SELECT sum(n) FROM generate_series(1::bigint, 10) g(n)").unwrap(), 55);
    assert_eq!(read::<u8>("SELECT sum(n) FROM generate_series(1::bigint, 10) g(n)").unwrap(), 55);
    assert_eq!(read::<f64>("SELECT avg(n) FROM generate_series(1, 2) g(n)").unwrap(), 1.5);
    assert_eq!(read::<f64>("SELECT 1::numeric / 3").unwrap(), 1.0 / 3.0);
    assert_eq!(read::<i64>("SELECT 5.00").unwrap(), 5);
    assert_eq!(state::<i64>("SELECT 5.5"), SqlState::DATATYPE_MISMATCH);
    assert_eq!(state::<i64>("SELECT 'NaN'::numeric"), SqlState::NUMERIC_VALUE_OUT_OF_RANGE);
    assert_eq!(state::<i64>("SELECT 1e30::numeric"), SqlState::NUMERIC_VALUE_OUT_OF_RANGE);
}

#[test]
fn a_string_reads_every_type_but_bytea() {
    for (sql, text) in [
        ("SELECT 1", "1"),
        ("SELECT true", "t"),
        ("SELECT 1.50", "1.50"),
        ("SELECT date '2024-02-29'", "2024-02-29"),
        ("SELECT timestamptz '2024-02-29 12:00+02'", "2024-02-29 10:00:00+00"),
        ("SELECT interval '1 day'", "1 day"),
        ("SELECT '{\"a\": 1}'::jsonb", "{\"a\": 1}"),
        ("SELECT ARRAY[1, NULL]", "{1,NULL}"),
        ("SELECT ROW(1, 'a b')", "(1,\"a b\")"),
    ] {
        assert_eq!(read::<String>(sql).unwrap(), text, "{sql}");
    }
    assert_eq!(state::<String>("SELECT '\\x00'::bytea"), SqlState::DATATYPE_MISMATCH);
    assert_eq!(state::<String>("SELECT NULL::text"), SqlState::DATATYPE_MISMATCH);
}

#[test]
fn moments_of_the_system() {
    round(UNIX_EPOCH, "timestamptz", "1970-01-01 00:00:00+00");
    round(UNIX_EPOCH - Duration::from_micros(1), "timestamptz", "1969-12-31 23:59:59.999999+00");
    round(UNIX_EPOCH + Duration::from_micros(1_709_208_000_500_000), "timestamptz", "2024-02-29 12:00:00.5+00");
    assert_eq!(state::<SystemTime>("SELECT 'infinity'::timestamptz"), SqlState::DATETIME_FIELD_OVERFLOW);
    assert_eq!(state::<SystemTime>("SELECT now()::timestamp"), SqlState::DATATYPE_MISMATCH);
}

#[test]
fn those_of_chrono() {
    let day = |y, m, d| NaiveDate::from_ymd_opt(y, m, d).unwrap();
    round(day(2024, 2, 29), "date", "2024-02-29");
    round(day(-43, 3, 15), "date", "0044-03-15 BC");
    let noon = NaiveTime::from_hms_micro_opt(12, 34, 56, 789_000).unwrap();
    round(noon, "time", "12:34:56.789");
    round(day(1969, 7, 20).and_time(noon), "timestamp", "1969-07-20 12:34:56.789");
    let at: DateTime<FixedOffset> = "2024-02-29T12:00:00.25+02:00".parse().unwrap();
    round(at.with_timezone(&Utc), "timestamptz", "2024-02-29 10:00:00.25+00");
    assert_eq!(read::<DateTime<FixedOffset>>("SELECT timestamptz '2024-02-29 10:00:00.25+00'").unwrap(), at);
    assert_eq!(state::<NaiveTime>("SELECT time '24:00'"), SqlState::DATETIME_FIELD_OVERFLOW);
    assert_eq!(state::<NaiveDate>("SELECT 'infinity'::date"), SqlState::DATETIME_FIELD_OVERFLOW);
    assert_eq!(state::<NaiveDateTime>("SELECT '-infinity'::timestamp"), SqlState::DATETIME_FIELD_OVERFLOW);
    // What SQL does not reach.
    let error = connection().execute("SELECT $1::date", (NaiveDate::MIN,)).unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::DATETIME_FIELD_OVERFLOW);
    let error = connection().execute("SELECT $1::timestamptz", (DateTime::<Utc>::MIN_UTC,)).unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::DATETIME_FIELD_OVERFLOW);
}

#[test]
fn those_of_jiff() {
    let at: jiff::civil::DateTime = "2024-02-29T12:34:56.000001".parse().unwrap();
    round(at.date(), "date", "2024-02-29");
    round(at.time(), "time", "12:34:56.000001");
    round(at, "timestamp", "2024-02-29 12:34:56.000001");
    round(jiff::civil::date(-4000, 1, 1), "date", "4001-01-01 BC");
    round("1899-12-31T23:59:59.5Z".parse::<jiff::Timestamp>().unwrap(), "timestamptz", "1899-12-31 23:59:59.5+00");
    assert_eq!(state::<jiff::civil::Date>("SELECT date '20000-01-01'"), SqlState::DATETIME_FIELD_OVERFLOW);
    assert_eq!(state::<jiff::civil::Time>("SELECT time '24:00'"), SqlState::DATETIME_FIELD_OVERFLOW);
    let error = connection().execute("SELECT $1::date", (jiff::civil::Date::MIN,)).unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::DATETIME_FIELD_OVERFLOW);
}

#[test]
fn those_of_time() {
    round(date!(1999 - 12 - 31), "date", "1999-12-31");
    round(time!(23:59:59.000_001), "time", "23:59:59.000001");
    round(datetime!(2024-02-29 12:00), "timestamp", "2024-02-29 12:00:00");
    round(datetime!(1950-01-01 12:00:00.5 UTC), "timestamptz", "1950-01-01 12:00:00.5+00");
    assert_eq!(state::<::time::Date>("SELECT 'infinity'::date"), SqlState::DATETIME_FIELD_OVERFLOW);
}

#[test]
fn uuids_decimals_documents_and_bytes() {
    round(Uuid::from_u128(0x00112233_4455_6677_8899_aabbccddeeff), "uuid", "00112233-4455-6677-8899-aabbccddeeff");
    round(Bytes::from_static(b"\0\xff"), "bytea", "\\x00ff");
    round("-12.3400".parse::<Decimal>().unwrap(), "numeric", "-12.3400");
    round(Decimal::MAX, "numeric", "79228162514264337593543950335");
    assert_eq!(state::<Decimal>("SELECT 1e40::numeric"), SqlState::NUMERIC_VALUE_OUT_OF_RANGE);
    assert_eq!(state::<Decimal>("SELECT 'NaN'::numeric"), SqlState::NUMERIC_VALUE_OUT_OF_RANGE);
    let document = serde_json::json!({ "a": [1, 2.5, null, true], "b": "x\u{1f600}\"" });
    round(document.clone(), "jsonb", "{\"a\": [1, 2.5, null, true], \"b\": \"x😀\\\"\"}");
    round(document, "json", "{\"a\":[1,2.5,null,true],\"b\":\"x😀\\\"\"}");
    round(serde_json::Value::Null, "jsonb", "null");
    let none: Option<serde_json::Value> = read("SELECT NULL::jsonb").unwrap();
    assert_eq!(none, None);
}

#[test]
fn the_ends_of_ranges() {
    let last = Duration::from_nanos(999);
    round(NaiveDate::MAX, "date", "262142-12-31");
    round(NaiveDate::from_ymd_opt(-4713, 11, 24).unwrap(), "date", "4714-11-24 BC");
    round(NaiveDateTime::MAX - last, "timestamp", "262142-12-31 23:59:59.999999");
    round(DateTime::<Utc>::MAX_UTC - last, "timestamptz", "262142-12-31 23:59:59.999999+00");
    round(jiff::civil::Date::MAX, "date", "9999-12-31");
    round(jiff::Timestamp::MAX - last, "timestamptz", "9999-12-30 22:00:00.999999+00");
    round(
        time::OffsetDateTime::new_utc(time::Date::MAX, time::Time::MAX) - last,
        "timestamptz",
        "9999-12-31 23:59:59.999999+00",
    );
    round(Decimal::MIN, "numeric", "-79228162514264337593543950335");
    round(Decimal::new(1, 28), "numeric", "0.0000000000000000000000000001");
    round(serde_json::json!(u64::MAX), "jsonb", "18446744073709551615");
    round(Uuid::max(), "uuid", "ffffffff-ffff-ffff-ffff-ffffffffffff");
    round(Value::Date(i32::MAX), "date", "infinity");
    round(Value::TimestampTz(i64::MIN), "timestamptz", "-infinity");
    round(Value::Time(86_400_000_000), "time", "24:00:00");
    let zoned = cairndb::TimeTz::new(86_400_000_000, -57_599).expect("it is a time");
    round(Value::TimeTz(zoned.packed()), "timetz", "24:00:00-15:59:59");
}

/// By statements of every kind: what reads or writes one row by its key looks at its parameters for itself.
#[test]
fn moments_beyond_the_ends_are_refused() {
    fn refused<T: ToValue>(value: T, sql_type: &str) {
        let conn = connection();
        conn.execute(&format!("CREATE TABLE t (id int PRIMARY KEY, v {sql_type} UNIQUE)"), ()).unwrap();
        for sql in [
            &format!("SELECT $1::{sql_type}"),
            "INSERT INTO t VALUES (1, $1)",
            "INSERT INTO t SELECT 1, $1 FROM generate_series(1, 2)",
            "UPDATE t SET v = $1 WHERE id = 1",
            "SELECT id FROM t WHERE v = $1",
        ] {
            for error in [
                conn.execute(sql, (&value,)).expect_err(sql),
                conn.prepare(sql).unwrap().execute((&value,)).expect_err(sql),
            ] {
                assert_eq!(error.sqlstate(), SqlState::DATETIME_FIELD_OVERFLOW, "{sql}: {error}");
            }
        }
        let error = conn.append("t", &["id", "v"], [params![1, value]]).unwrap_err();
        assert_eq!(error.sqlstate(), SqlState::DATETIME_FIELD_OVERFLOW);
    }
    refused(Value::Date(i32::MAX - 1), "date");
    refused(Value::Timestamp(i64::MAX - 1), "timestamp");
    refused(Value::TimestampTz(i64::MIN + 1), "timestamptz");
    refused(Value::Time(-1), "time");
    refused(Value::TimeTz(-1), "timetz");
    refused(NaiveDate::MIN, "date");
    refused(jiff::Timestamp::MIN, "timestamptz");
    refused(time::PrimitiveDateTime::MIN, "timestamp");
    refused(UNIX_EPOCH - Duration::from_secs(1 << 50), "timestamptz");
    refused(vec![NaiveDate::MIN], "date[]");
    refused(Value::from(cairndb::Array::new(cairndb::DataType::Date, vec![Value::Date(i32::MIN + 1)])), "date[]");
}

/// In arrays, too: a dump with them could not be loaded.
#[test]
fn texts_that_are_none_are_refused() {
    let conn = connection();
    conn.execute("CREATE TABLE t (id int PRIMARY KEY, t text, l text[], j json)", ()).unwrap();
    let json = || Value::Json("{nonsense".into());
    let states = [
        conn.execute("INSERT INTO t (id, t) VALUES (1, $1)", ("a\0b",)),
        conn.prepare("INSERT INTO t (id, t) VALUES (1, $1)").unwrap().execute(("a\0b",)),
        conn.append("t", &["id", "t"], [(1, "a\0b")]),
        conn.prepare("INSERT INTO t (id, l) VALUES (1, $1)").unwrap().execute((vec!["a\0b"],)),
        conn.execute("INSERT INTO t (id, j) VALUES (1, $1)", (json(),)),
        conn.prepare("INSERT INTO t (id, j) VALUES (1, $1)").unwrap().execute((json(),)),
        conn.append("t", &["id", "j"], [params![1, json()]]),
    ]
    .map(|done| done.map_or_else(|error| error.sqlstate().0, |_| "done"));
    assert_eq!(states, ["22021", "22021", "22021", "22021", "22P02", "22P02", "22P02"]);
}

#[test]
fn lists_of_them_are_arrays() {
    round(vec![NaiveDate::MAX], "date[]", "{262142-12-31}");
    round(
        vec![Some("2024-02-29T12:00:00Z".parse::<jiff::Timestamp>().unwrap()), None],
        "timestamptz[]",
        "{\"2024-02-29 12:00:00+00\",NULL}",
    );
    round(vec![date!(1999 - 12 - 31)], "date[]", "{1999-12-31}");
    round(vec![Uuid::nil()], "uuid[]", "{00000000-0000-0000-0000-000000000000}");
    round(vec![Decimal::ONE], "numeric[]", "{1}");
    round(vec![serde_json::json!({ "a": 1 })], "jsonb[]", "{\"{\\\"a\\\": 1}\"}");
    round(vec![Bytes::from_static(b"x")], "bytea[]", "{\"\\\\x78\"}");
    round(vec![1u64, u64::MAX], "numeric[]", "{1,18446744073709551615}");
    round(vec![7usize], "bigint[]", "{7}");
    round(vec!['a'], "text[]", "{a}");
    round(vec![Cow::Borrowed("cow")], "text[]", "{cow}");
    let conn = connection();
    conn.execute("CREATE TABLE t (id uuid PRIMARY KEY)", ()).unwrap();
    conn.append("t", &[], [(Uuid::nil(),), (Uuid::max(),)]).unwrap();
    let found = conn.query_row_as::<i64>("SELECT count(*) FROM t WHERE id = ANY ($1)", (vec![Uuid::max()],)).unwrap();
    assert_eq!(found, 1);
}

/// The bounds are the fields' own.
#[derive(Debug, PartialEq, FromRow)]
struct Pair<A, B> {
    a: A,
    b: Option<B>,
}

#[test]
fn generic_structs_and_single_values_are_read() {
    let conn = connection();
    let pair: Pair<i32, String> = conn.query_row_as("SELECT 1 AS a, NULL::text AS b", ()).unwrap();
    assert_eq!(pair, Pair { a: 1, b: None });
    assert_eq!(conn.query_row_as::<String>("SELECT 'x'", ()).unwrap(), "x");
    assert_eq!(conn.query_optional_as::<Option<i32>>("SELECT NULL::int", ()).unwrap(), Some(None));
    let all = conn.query_as::<i32>("VALUES (1), (2)", ()).unwrap().collect::<Result<Vec<_>>>().unwrap();
    assert_eq!(all, [1, 2]);
    let error = conn.query_row_as::<i32>("SELECT 1, 2", ()).unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::DATATYPE_MISMATCH);
    let named = conn.append("nothing", &[], [params! { a: 1 }]).unwrap_err();
    assert_eq!(named.sqlstate(), SqlState::UNDEFINED_TABLE);
    conn.execute("CREATE TABLE t (b int, a int)", ()).unwrap();
    let named = conn.append("t", &[], [params! { a: 1, b: 2 }]).unwrap_err();
    assert_eq!(named.sqlstate(), SqlState::FEATURE_NOT_SUPPORTED, "names would mean something else there");
}

#[derive(Debug, PartialEq, FromRow)]
struct Item<T: FromValue> {
    id: i32,
    #[cairndb(rename = "Wert")]
    value: T,
    r#type: Option<String>,
}

#[test]
fn rows_are_structs_and_tuples() {
    let conn = connection();
    let select = "SELECT 'other' AS more, NULL::text AS type, 2.5::float8 AS \"Wert\", 7 AS id";
    let item: Item<f64> = conn.query_row_as(select, ()).unwrap();
    assert_eq!(item, Item { id: 7, value: 2.5, r#type: None });
    let error = conn.query_row_as::<Item<i32>>(select, ()).unwrap_err();
    assert_eq!((error.sqlstate(), error.detail()), (SqlState::DATATYPE_MISMATCH, Some("Column \"Wert\".")));
    let missing = conn.query_row_as::<Item<i32>>("SELECT 1 AS id", ()).unwrap_err();
    assert_eq!(missing.sqlstate(), SqlState::UNDEFINED_COLUMN);
    let error = conn.query_row_as::<(i32, i32)>("SELECT 1", ()).unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::DATATYPE_MISMATCH);
    let all: Vec<(i32, String)> =
        conn.prepare("VALUES (1, 'a'), (2, 'b')").unwrap().query_as(()).unwrap().collect::<Result<_>>().unwrap();
    assert_eq!(all, [(1, "a".to_owned()), (2, "b".to_owned())]);
    assert_eq!(conn.query_optional_as::<(i32,)>("SELECT 1 WHERE false", ()).unwrap(), None);
}

#[test]
fn rows_are_iterated_over_and_sent() {
    fn is_send<T: Send>(_: &T) {}
    let conn = connection();
    let rows: Rows = conn.query("SELECT n, 'x' AS t FROM generate_series(1, 5000) g(n)", ()).unwrap();
    is_send(&rows);
    let counted = std::thread::spawn(move || {
        let rows: Vec<_> = rows.into_iter().collect::<Result<_>>().unwrap();
        assert_eq!(rows[4999].get::<i32>("n").unwrap(), 5000);
        assert_eq!(format!("{:?}", rows[0]), "{\"n\": Integer(1), \"t\": Text(\"x\")}");
        rows.len()
    });
    assert_eq!(counted.join().unwrap(), 5000);
    let failing = conn.query("SELECT 1 / (3 - n) FROM generate_series(1, 5) g(n)", ()).unwrap();
    let states: Vec<_> = failing.into_iter().map(|row| row.map(drop).map_err(|error| error.sqlstate())).collect();
    assert_eq!(states.last(), Some(&Err(SqlState::DIVISION_BY_ZERO)));
}

#[test]
fn more_than_twelve_parameters() {
    let conn = connection();
    let numbers: Vec<_> = (1..=12).map(|n| format!("${n}::bigint")).collect();
    let sum = &format!("SELECT {} + length($13) + $14::int", numbers.join(" + "));
    let many = params![1, 1i64, 1i16, 1, 1, 1, 1, 1, 1, 1, 1, 1, "four", None::<i32>.or(Some(2))];
    assert_eq!(conn.query_row(sum, many, |row| row.get::<i64>(0)).unwrap(), 18);
    assert_eq!(conn.query_row("SELECT 1", params![], |row| row.get::<i32>(0)).unwrap(), 1);
}

#[test]
fn parameters_have_names() {
    let conn = connection();
    conn.execute("CREATE TABLE person (id int PRIMARY KEY, name text, tags text[])", ()).unwrap();
    let insert = "INSERT INTO person VALUES (:id, :name, ARRAY[:name, ':id', :name]) -- :nobody";
    assert_eq!(conn.execute(insert, params! { name: "Ada", id: 1 }).unwrap(), 1);
    let select = "SELECT id, tags[1: n] FROM person, (SELECT :n::int) AS of (n) WHERE name = :NAME AND id::int = :id";
    let found: (i32, Vec<String>) = conn.query_row_as(select, params! { id: 1, n: 2, name: "Ada" }).unwrap();
    assert_eq!(found, (1, vec!["Ada".to_owned(), ":id".to_owned()]));
    let state = |error: cairndb::Error| (error.sqlstate().0, error.position());
    let failed = |sql: &str| state(conn.execute(sql, params! { id: 1 }).unwrap_err());
    assert_eq!(failed("SELECT 'ä', :idd"), ("42P02", Some(13)));
    assert_eq!(failed("SELECT $1"), ("42P02", None));
    assert_eq!(failed("SELECT :id, $2"), ("08P01", None));
    assert_eq!(failed("SELECT :id::int +"), ("42601", Some(18)));
    assert_eq!(failed("SELECT ':id"), ("42P02", None));
    assert_eq!(state(conn.execute("SELECT :id", (1,)).unwrap_err()).0, "42601");
    let mut prepared = conn.prepare("SELECT $1::int").unwrap();
    assert_eq!(state(prepared.execute(params! { id: 1 }).unwrap_err()).0, "42P02");
    assert_eq!(state(prepared.query_point(params! { id: 1 }, |_| ()).unwrap_err()).0, "42P02");
    // In a transaction a wrong name fails it, as any error does.
    let tx = conn.begin().unwrap();
    tx.execute("SELECT :a", params! { b: 1 }).unwrap_err();
    assert!(tx.transaction_failed());
    drop(tx);
    let mut live = conn.live("SELECT name FROM person WHERE id = :id", params! { id: 1 }).unwrap();
    assert_eq!(
        live.next_change_within(Duration::from_secs(20)).unwrap().item().expect("the result").added().count(),
        1
    );
}

#[test]
fn rows_are_appended() {
    let conn = connection();
    conn.execute_script(
        "CREATE SCHEMA s; CREATE TABLE s.\"T\" (id int PRIMARY KEY, name varchar(3), n numeric(5,2) DEFAULT 7,
            twice int GENERATED ALWAYS AS (id * 2) STORED, at timestamptz);
         CREATE TABLE log (id int); CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN INSERT INTO log VALUES (NEW.id); RETURN NEW; END $$;
         CREATE TRIGGER note BEFORE INSERT ON s.\"T\" FOR EACH ROW EXECUTE FUNCTION note()",
    )
    .unwrap();
    assert_eq!(conn.append("s.T", &["name", "id"], [("a", 1), ("bcd", 2)]).unwrap(), 2);
    assert_eq!(conn.append("s.T", &[], [params![3, 'c', 1.239, UNIX_EPOCH]]).unwrap(), 1);
    assert_eq!(conn.append("s.T", &["id"], std::iter::empty::<(i32,)>()).unwrap(), 0);
    let rows: Vec<(i32, Option<String>, Decimal, i32)> = conn
        .query_as("SELECT id, name, n, twice FROM s.\"T\" ORDER BY id", ())
        .unwrap()
        .collect::<Result<_>>()
        .unwrap();
    let decimal = |text: &str| text.parse::<Decimal>().unwrap();
    let expected = [(1, "a", "7.00", 2), (2, "bcd", "7.00", 4), (3, "c", "1.24", 6)];
    assert_eq!(rows, expected.map(|(id, name, n, twice)| (id, Some(name.to_owned()), decimal(n), twice)));
    assert_eq!(conn.query_row_as::<(i64,)>("SELECT count(*) FROM log", ()).unwrap(), (3,));
    let refused = |columns: &[&str], row: &[&dyn ToValue]| {
        let rows = [&[&100 as &dyn ToValue][..], row].into_iter().map(|row| row.to_vec());
        let rows = if columns == ["id"] { rows.collect() } else { vec![row.to_vec()] };
        let error = conn.append("s.T", columns, rows).unwrap_err();
        (error.sqlstate().0, error.context().unwrap_or_default().to_owned())
    };
    let place = |row: u32| format!("appending to T, row {row}");
    assert_eq!(refused(&["id"], &[&1]), ("23505", place(2)));
    assert_eq!(refused(&["id", "name"], &[&9, &"long"]), ("22001", place(1) + ", column name"));
    assert_eq!(refused(&["id", "n"], &[&9, &12345]), ("22003", place(1) + ", column n"));
    assert_eq!(refused(&["id", "n"], &[&9, &"x"]), ("22P02", place(1) + ", column n"));
    assert_eq!(refused(&["id"], &[&1, &2]), ("22P04", place(2)));
    assert_eq!(refused(&["twice"], &[&1]).0, "42P10");
    assert_eq!(refused(&["nothing"], &[&1]).0, "42703");
    assert_eq!(conn.append("t\" (a) FROM STDIN --", &[], [(1,)]).unwrap_err().sqlstate(), SqlState::UNDEFINED_TABLE);
    assert_eq!(conn.query_row_as::<(i64,)>("SELECT count(*) FROM s.\"T\"", ()).unwrap(), (3,));
    // The iterator has not the connection.
    let nested = (10..12).map(|id| {
        let inner = conn.execute("INSERT INTO log VALUES (0)", ());
        (id, inner.is_err())
    });
    let nested = nested.map(|(id, was_refused)| (id, if was_refused { "no" } else { "yes" }));
    let _ = conn.append("s.T", &["id", "name"], nested);
    // In a transaction it is part of it.
    let tx = conn.begin().unwrap();
    tx.append("log", &["id"], (0..10).map(|id| (id,))).unwrap();
    tx.rollback().unwrap();
    assert_eq!(conn.query_row_as::<(i64,)>("SELECT count(*) FROM log WHERE id BETWEEN 4 AND 9", ()).unwrap(), (0,));
}

#[test]
fn a_pool_lends_so_many_and_cleans_up() {
    let pool = Database::open_in_memory().unwrap().pool(2);
    pool.get().unwrap().execute("CREATE TABLE t (id int PRIMARY KEY)", ()).unwrap();
    let (first, second) = (pool.get().unwrap(), pool.get().unwrap());
    let error = pool.get_within(Duration::from_millis(20)).err().expect("none is left");
    assert_eq!(error.sqlstate(), SqlState("53300"));
    let other = pool.clone();
    let waits = std::thread::spawn(move || other.get().unwrap().execute("INSERT INTO t VALUES (1)", ()).unwrap());
    first
        .execute_script("BEGIN; INSERT INTO t VALUES (2); SET work_mem = '1MB'; CREATE TEMP TABLE mine (a int)")
        .unwrap();
    drop(first);
    assert_eq!(waits.join().unwrap(), 1);
    let next = pool.get().unwrap();
    assert!(!next.in_transaction());
    assert_ne!(next.query_row_as::<(String,)>("SHOW work_mem", ()).unwrap().0, "1MB");
    assert_eq!(next.execute("SELECT * FROM mine", ()).unwrap_err().sqlstate(), SqlState::UNDEFINED_TABLE);
    assert_eq!(next.query_as::<(i32,)>("SELECT id FROM t", ()).unwrap().collect::<Result<Vec<_>>>().unwrap(), [(1,)]);
    drop((next, second));
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let pool = &pool;
            scope.spawn(move || {
                for n in 0..50 {
                    pool.get().unwrap().execute("INSERT INTO t VALUES ($1)", (100 + thread * 100 + n,)).unwrap();
                }
            });
        }
    });
    assert_eq!(pool.get().unwrap().query_row_as::<(i64,)>("SELECT count(*) FROM t", ()).unwrap(), (401,));
    assert_eq!(format!("{pool:?}"), "Pool { size: 2, idle: 2, lent: 0 }");
}

#[test]
fn states_are_matched_by_name() {
    let error = connection().execute("SELECT 1 / 0", ()).unwrap_err();
    let name = match error.sqlstate() {
        SqlState::DIVISION_BY_ZERO => "division by zero",
        _ => "another",
    };
    assert_eq!(
        (name, error.sqlstate().to_string().as_str(), error.sqlstate().as_str()),
        ("division by zero", "22012", "22012")
    );
    assert!(matches!(Value::Integer(1).clone(), Value::Integer(1)));
}
