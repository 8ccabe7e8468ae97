//! Reads of one row by key, alone and joined with others by unique keys, say what the general path says.

use cairndb::{Connection, Database, Result, RowRef, ToValue, Value};

const SCHEMA: &str = "\
    CREATE TABLE region (code text PRIMARY KEY, name varchar(20), tax numeric(4,2));\
    CREATE TABLE customer (id bigint PRIMARY KEY, name text NOT NULL, region text REFERENCES region, vat char(6) UNIQUE,\
        since date);\
    CREATE TABLE orders (id bigint PRIMARY KEY, customer_id int, total double precision, note text, vat text,\
        region varchar(4));\
    CREATE TABLE part (a int, b text, n bigint, PRIMARY KEY (b, a), UNIQUE (n));";

const JOINS: [&str; 14] = [
    "SELECT o.id, o.total, c.name FROM orders o JOIN customer c ON c.id = o.customer_id WHERE o.id = $1",
    "SELECT c.id, c.region, o.note FROM orders o, customer c WHERE o.customer_id = c.id AND o.id = $1",
    "SELECT o.id, c.name, r.code, r.name, r.tax FROM orders o JOIN customer c ON c.id = o.customer_id \
     JOIN region r ON r.code = c.region WHERE o.id = $1",
    "SELECT o.id, c.name, r.code, r.tax FROM orders o LEFT JOIN customer c ON c.id = o.customer_id \
     LEFT JOIN region r ON r.code = c.region WHERE o.id = $1",
    "SELECT o.*, r.name FROM orders o LEFT JOIN region r ON r.code = o.region AND r.tax > 10 WHERE o.id = $1",
    "SELECT o.id, r.* FROM orders o JOIN region r ON r.code = o.region WHERE o.id = $1 AND r.tax < 15.5",
    "SELECT o.total * 2, upper(c.name), coalesce(c.region, '?') FROM orders o JOIN customer c ON c.id = o.customer_id \
     WHERE o.id = $1 AND o.total > c.id",
    "SELECT c.name, r.name FROM customer c JOIN region r ON r.code = c.region WHERE c.id = $1",
    "SELECT c.since, p.n, p.b FROM customer c JOIN part p ON p.n = c.id WHERE c.id = $1",
    "SELECT o.id, p.a FROM orders o JOIN part p ON p.a = o.customer_id AND p.b = o.region WHERE o.id = $1",
    "SELECT o.id, c.id, p.a, r.name FROM orders o JOIN customer c ON c.id = o.customer_id \
     LEFT JOIN part p ON p.n = c.id LEFT JOIN region r ON r.code = p.b WHERE o.id = $1",
    "SELECT a.id, b.id FROM orders a JOIN orders b ON b.id = a.customer_id WHERE a.id = $1",
    "SELECT id, since - date '2024-01-01', name || '!' FROM customer WHERE id = $1 AND since IS NOT NULL",
    "SELECT CASE WHEN total > 5 THEN 'much' ELSE 'little' END, id + 1, note FROM orders WHERE id = $1",
];

fn fill(conn: &Connection, rows: i64) -> Result<()> {
    let digit = |n: i64, every: i64, text: String| if n % every == 0 { Value::Null } else { Value::text(text) };
    for n in 0..rows.min(6) {
        conn.execute("INSERT INTO region VALUES ($1, $2, $3)", (format!("r{n}"), format!("Region {n}"), n * 5))?;
    }
    for n in 0..rows {
        let region = digit(n, 4, format!("r{}", n % rows.min(6)));
        let since = digit(n, 3, format!("2024-02-{:02}", n % 28 + 1));
        conn.execute(
            "INSERT INTO customer VALUES ($1, $2, $3, $4, $5)",
            (n, format!("name {n}"), region.clone(), format!("V{n}"), since),
        )?;
        let customer = if n % 5 == 0 { Value::Null } else { Value::BigInt(n * 7 % (rows + 2)) };
        conn.execute(
            "INSERT INTO orders VALUES ($1, $2, $3, $4, $5, $6)",
            (n, customer, n as f64 * 1.5, digit(n, 7, format!("note {n}")), format!("V{}", n / 2), region),
        )?;
        conn.execute("INSERT INTO part VALUES ($1, $2, $3)", (n, format!("r{}", n % 4), n))?;
    }
    Ok(())
}

fn connect(rows: i64, analyze: bool) -> Result<Connection> {
    let conn = Database::open_in_memory()?.connect()?;
    conn.execute_script(SCHEMA)?;
    fill(&conn, rows)?;
    if analyze {
        conn.execute("ANALYZE", ())?;
    }
    Ok(conn)
}

fn compare(conn: &Connection, sql: &str, param: &dyn ToValue) -> Result<()> {
    let mut statement = conn.prepare(sql)?;
    let width = statement.columns().len();
    let read = |row: RowRef<'_>| {
        for at in 0..width {
            // What is lent is what is copied.
            let value = row.value(at).unwrap();
            assert_eq!(row.is_null(at), value.is_null(), "{sql}, column {at}");
            assert_eq!(row.get_i64(at), value.as_i64(), "{sql}, column {at}");
            assert_eq!(row.get_str(at), value.as_str(), "{sql}, column {at}");
        }
        (0..width).map(|at| row.value(at)).collect::<Result<Vec<_>>>()
    };
    let by_point = statement.query_point([param], read)?.transpose()?;
    let by_general = conn.query_optional(sql, [param], |row| Ok(row.values().to_vec()))?;
    assert_eq!(by_point, by_general, "{sql} {:?}", param.to_value());
    let by_rows = statement.query([param])?.next()?.map(|row| row.values().to_vec());
    assert_eq!(by_rows, by_general, "{sql} {:?}", param.to_value());
    Ok(())
}

#[test]
fn joined_rows_agree_with_the_general_path() -> Result<()> {
    for (rows, analyze) in [(0, false), (1, true), (3, true), (40, false), (40, true), (300, true)] {
        let conn = connect(rows, analyze)?;
        for sql in JOINS {
            assert!(conn.prepare(sql)?.is_point(), "{rows} rows, analyzed: {analyze}: {sql}");
            for id in 0..(rows + 2).min(60) {
                compare(&conn, sql, &id)?;
            }
            compare(&conn, sql, &None::<i64>)?;
            compare(&conn, sql, &"2")?;
        }
    }
    Ok(())
}

#[test]
fn other_joins_are_left_to_the_general_path() -> Result<()> {
    let conn = connect(40, true)?;
    let general = [
        "SELECT o.id FROM customer c JOIN orders o ON o.customer_id = c.id WHERE c.id = $1",
        "SELECT o.id FROM orders o JOIN customer c ON c.id = o.customer_id WHERE o.id > $1",
        "SELECT o.id FROM orders o WHERE o.id = $1 AND EXISTS (SELECT 1 FROM part p WHERE p.a = o.id)",
        "SELECT count(*) FROM orders WHERE id = $1",
    ];
    for sql in general {
        assert!(!conn.prepare(sql)?.is_point(), "{sql}");
    }
    Ok(())
}

#[test]
fn a_row_and_its_partners_are_read_in_one_state() -> Result<()> {
    let conn = connect(40, false)?;
    let mut select = conn.prepare(JOINS[0])?;
    let before = select.query_point((3i64,), |row| row.get::<String>(2))?.transpose()?;
    assert_eq!(before.as_deref(), Some("name 21"));
    conn.execute("UPDATE customer SET name = 'other' WHERE id = 21", ())?;
    let after = select.query_point((3i64,), |row| row.get_str(2).map(String::from))?;
    assert_eq!(after, Some(Some("other".into())));
    conn.execute("ALTER TABLE customer DROP COLUMN name CASCADE", ())?;
    assert_eq!(select.query_point((3i64,), |_| ()).unwrap_err().sqlstate().0, "42703");
    Ok(())
}

#[test]
fn reads_in_a_transaction_see_its_own_writes() -> Result<()> {
    let conn = connect(40, false)?;
    let tx = conn.begin()?;
    tx.execute("UPDATE customer SET name = 'mine', region = 'r1' WHERE id = 21", ())?;
    tx.execute("INSERT INTO orders VALUES (100, 21, 7, NULL, NULL, 'r2')", ())?;
    for sql in JOINS {
        for id in [3i64, 7, 100, 101] {
            compare(&conn, sql, &id)?;
        }
    }
    let mut select = conn.prepare(JOINS[0])?;
    assert_eq!(select.query_point((100i64,), |row| row.get_str(2).map(String::from))?, Some(Some("mine".into())));
    tx.rollback()?;
    assert_eq!(select.query_point((100i64,), |_| ())?, None);
    Ok(())
}

/// What another transaction changed after it was read by key is a conflict, as with the general path.
#[test]
fn reads_in_a_transaction_are_validated_at_commit() -> Result<()> {
    let conn = connect(40, false)?;
    let other = conn.database().connect()?;
    let mut join = conn.prepare(JOINS[0])?;
    let tx = conn.begin()?;
    assert!(join.query_point((3i64,), |_| ())?.is_some());
    tx.execute("UPDATE orders SET total = 0 WHERE id = 4", ())?;
    other.execute("UPDATE customer SET name = 'changed' WHERE id = 21", ())?;
    assert_eq!(tx.commit().unwrap_err().sqlstate().0, "40001");
    Ok(())
}

#[test]
fn statements_without_a_row_to_find_take_the_short_way() -> Result<()> {
    let conn = connect(3, false)?;
    for sql in ["SELECT 1", "SELECT 1 + 2 AS three, 'x' || 'y'", "SELECT $1::int + 1"] {
        let mut statement = conn.prepare(sql)?;
        assert!(statement.is_point(), "{sql}");
        let params = [Value::Integer(41)];
        let params = &params[..statement.parameter_types().len()];
        let by_point = statement.query_row(params, |row| Ok(row.values().to_vec()))?;
        assert_eq!(by_point, conn.query_row(sql, params, |row| Ok(row.values().to_vec()))?, "{sql}");
    }
    for sql in [
        "UPDATE orders SET total = 1 WHERE false",
        "DELETE FROM orders WHERE 1 > 2",
        "INSERT INTO part SELECT 1, 'x', 2 WHERE false",
    ] {
        let mut statement = conn.prepare(sql)?;
        assert!(statement.is_point(), "{sql}");
        assert_eq!(statement.execute(())?, 0);
        conn.execute("BEGIN READ ONLY", ())?;
        assert_eq!(statement.execute(()).unwrap_err().sqlstate().0, "25006", "{sql}");
        conn.execute("ROLLBACK", ())?;
    }
    let mut update = conn.prepare("UPDATE orders SET total = 1 WHERE false")?;
    conn.execute("DROP TABLE orders", ())?;
    assert_eq!(update.execute(()).unwrap_err().sqlstate().0, "42P01");
    Ok(())
}
