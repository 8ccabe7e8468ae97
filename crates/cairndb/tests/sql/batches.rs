//! Rows by column: taken of results, and inserted.

use cairndb::{
    Batch, Bitmap, ByteStrings, Connection, Data, DataType, Database, Decimals, Error, Result, Value, Vector,
};

fn connection() -> Connection {
    Database::open_in_memory().unwrap().connect().unwrap()
}

fn vector(data_type: DataType, data: Data) -> Vector {
    Vector::from_data(data_type, data, None).unwrap()
}

fn texts(all: &[&str]) -> Vector {
    let ends = all.iter().scan(0, |end, text| {
        *end += text.len();
        Some(*end)
    });
    let strings = ByteStrings::from_parts(ends.collect(), all.concat().into_bytes());
    vector(DataType::Text, Data::Bytes(strings.unwrap()))
}

fn all_of(conn: &Connection, sql: &str) -> Vec<Vec<Value>> {
    conn.query(sql, ()).unwrap().into_iter().map(|row| row.unwrap().into_values()).collect()
}

#[test]
fn each_row_is_given_once_however_it_is_asked_for() {
    let conn = connection();
    let mut rows = conn.query("SELECT n, 'é' || n FROM generate_series(1, 10000) AS n", ()).unwrap();
    let mut seen: Vec<i32> = Vec::new();
    for step in 0.. {
        match step % 3 {
            0 => match rows.next().unwrap() {
                Some(row) => seen.push(row.get(0).unwrap()),
                None => break,
            },
            asked => match rows.next_batch(asked * asked * 700).unwrap() {
                Some(batch) => {
                    let Data::Bytes(strings) = batch.columns()[1].data() else { panic!("text") };
                    assert_eq!(strings.text(0), Some(format!("é{}", seen.len() + 1).as_str()));
                    seen.extend((0..batch.len()).map(|row| batch.value(0, row).as_i64().unwrap() as i32));
                }
                None => break,
            },
        }
    }
    assert_eq!(seen, (1..=10000).collect::<Vec<_>>());
    assert_eq!((rows.count_so_far(), rows.next_batch(1).unwrap().is_none()), (10000, true));
}

#[test]
fn as_many_rows_as_were_asked_for_are_together() {
    let conn = connection();
    let mut rows = conn.query("SELECT n, nullif(n % 3, 0) FROM generate_series(1, 5000) AS n", ()).unwrap();
    let batch = rows.next_batch(4000).unwrap().unwrap();
    assert!((4000..=5000).contains(&batch.len()), "{}", batch.len());
    let validity = batch.columns()[1].validity().unwrap();
    assert!((0..batch.len()).all(|row| validity.get(row) == ((row + 1) % 3 != 0)));
    let rest = rows.next_batch(usize::MAX).unwrap().map_or(0, |batch| batch.len());
    assert_eq!(batch.len() + rest, 5000);
}

#[test]
fn rows_of_every_kind_of_statement_come_by_column() -> Result<()> {
    let conn = connection();
    conn.execute_script("CREATE TABLE t (id int PRIMARY KEY, name text); INSERT INTO t VALUES (1, 'one'), (2, NULL)")?;
    for sql in [
        "SELECT id, name FROM t WHERE id = 1",
        "SELECT id, name FROM t ORDER BY id LIMIT 1",
        "INSERT INTO t VALUES (3, 'one') RETURNING 1, name",
        "UPDATE t SET name = 'one' WHERE id = 2 RETURNING 1, name",
        "SHOW timezone",
        "EXPLAIN SELECT 1",
    ] {
        let mut rows = conn.query(sql, ())?;
        let width = rows.columns().len();
        let batch = rows.next_batch(1)?.expect("there is a row");
        assert_eq!((batch.columns().len(), batch.is_empty()), (width, false), "{sql}");
        if width == 2 {
            assert_eq!(batch.row(0), [Value::Integer(1), Value::text("one")], "{sql}");
            assert!(rows.next_batch(1)?.is_none(), "{sql}");
        }
    }
    assert!(conn.query("SELECT 1 WHERE false", ())?.next_batch(1)?.is_none());
    let error = conn.query("SELECT 1 / (n - 3) FROM generate_series(1, 9) AS n", ())?.next_batch(1).unwrap_err();
    assert_eq!(error.sqlstate().as_str(), "22012");
    conn.execute("BEGIN", ())?;
    let mut rows = conn.query("SELECT n FROM generate_series(1, 5000) AS n", ())?;
    rows.next_batch(1)?;
    conn.execute("COMMIT", ())?;
    assert_eq!(rows.next_batch(1).unwrap_err().sqlstate().as_str(), "34000");
    Ok(())
}

#[test]
fn columns_go_in_as_they_are_and_as_the_table_has_them() -> Result<()> {
    let conn = connection();
    conn.execute_script(
        "CREATE TYPE mood AS ENUM ('sad', 'happy');
         CREATE TABLE t (a bigint, b int, c varchar(5), d numeric(5,2), e date, f mood, g float8, h jsonb,
             id int GENERATED ALWAYS AS IDENTITY, doubled int GENERATED ALWAYS AS (b * 2) STORED)",
    )?;
    let count = 3000;
    let repeated = |text: &'static str| texts(&vec![text; count]);
    let mut validity = Bitmap::filled(count, true);
    validity.clear(1500);
    let batch = Batch::of(vec![
        vector(DataType::Integer, Data::I32((0..count as i32).collect())),
        Vector::from_data(DataType::BigInt, Data::I64((0..count as i64).collect()), Some(validity))?,
        repeated("short"),
        vector(DataType::Numeric(None), Data::Decimal(Decimals::from_mantissas(vec![12345; count], 2)?)),
        repeated("2000-02-29"),
        repeated("happy"),
        vector(DataType::Real, Data::F32(vec![1.5; count])),
        repeated("{\"a\": [1]}"),
    ])?;
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    assert_eq!(conn.append_batches("t", &names, [Ok(batch.clone()), Ok(batch)])?, 6000);
    let shown = "SELECT count(*), count(b), sum(a), min(d)::text, max(e)::text, min(f)::text, sum(g), max(h::text), max(id), max(doubled) FROM t";
    let row: Vec<String> =
        all_of(&conn, shown)[0].iter().map(|value| cairndb::to_text(value, &Default::default())).collect();
    assert_eq!(
        row,
        ["6000", "5998", "8997000", "123.45", "2000-02-29", "happy", "9000", "{\"a\": [1]}", "6000", "5998"]
    );
    Ok(())
}

#[test]
fn what_does_not_fit_is_told_with_its_row_and_nothing_stays() -> Result<()> {
    let conn = connection();
    conn.execute_script("CREATE TABLE t (a smallint UNIQUE, b varchar(3) NOT NULL)")?;
    let appended = |a: Vec<i64>, b: Vector| -> Error {
        let batch = Batch::of(vec![vector(DataType::BigInt, Data::I64(a)), b]).unwrap();
        conn.append_batches("t", &["a", "b"], [Ok(batch)]).unwrap_err()
    };
    let told = |error: Error| (error.sqlstate().as_str().to_owned(), error.context().unwrap_or_default().to_owned());
    let mut numbers: Vec<i64> = (0..2000).collect();
    numbers[1999] = 40_000;
    let error = told(appended(numbers.clone(), texts(&vec!["abc"; 2000])));
    assert_eq!(error, ("22003".to_owned(), "appending to t, row 2000, column a".to_owned()));
    numbers[1999] = 5;
    let error = told(appended(numbers, texts(&vec!["abc"; 2000])));
    assert_eq!(error, ("23505".to_owned(), "appending to t, row 2000".to_owned()));
    assert_eq!(told(appended(vec![1, 2], texts(&["abc", "abcd"]))).0, "22001");
    let nulls = Vector::of_values(DataType::Text, &[Value::text("x"), Value::Null])?;
    assert_eq!(told(appended(vec![1, 2], nulls)).0, "23502");
    let narrow = Batch::of(vec![texts(&["x"])])?;
    assert_eq!(told(conn.append_batches("t", &["a", "b"], [Ok(narrow)]).unwrap_err()).0, "22P04");
    let gone = conn.append_batches("t", &[], [Err(Error::new(cairndb::SqlState::IO_ERROR, "gone"))]).unwrap_err();
    assert_eq!(gone.message(), "gone");
    assert_eq!(conn.append_batches("t", &[], [])?, 0);
    assert_eq!(all_of(&conn, "SELECT count(*) FROM t"), [[Value::BigInt(0)]]);
    Ok(())
}

#[test]
fn what_one_result_gives_another_table_takes() -> Result<()> {
    let conn = connection();
    conn.execute_script(
        "CREATE TABLE a (n int, t char(4), d timestamptz, x int[], j json);
         INSERT INTO a SELECT n, n::text, now(), ARRAY[n, NULL], to_json(n) FROM generate_series(1, 3000) AS n;
         CREATE TABLE b (n int, t char(4), d timestamptz, x int[], j json)",
    )?;
    let mut rows = conn.query("SELECT * FROM a", ())?;
    let mut batches = Vec::new();
    while let Some(batch) = rows.next_batch(1)? {
        batches.push(Ok(batch));
    }
    assert_eq!(conn.append_batches("b", &[], batches)?, 3000);
    let differing = "SELECT count(*) FROM a FULL JOIN b ON (a.n, a.t, a.d, a.x, a.j::text) = (b.n, b.t, b.d, b.x, b.j::text) WHERE a.n IS NULL OR b.n IS NULL";
    assert_eq!(all_of(&conn, differing), [[Value::BigInt(0)]]);
    Ok(())
}
