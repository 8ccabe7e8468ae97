//! Rows from a Rust iterator, as fast as the engine takes them, and what the same costs one statement at a time.
//!
//! `cargo run --release -p cairndb-examples --example load`

use std::time::Instant;

use cairndb::{Database, Result};

const ROWS: i64 = 200_000;

fn reading(n: i64) -> (i64, String, f64, Option<i32>) {
    (n, format!("sensor {}", n % 97), n as f64 / 8.0, (n % 3 == 0).then_some(n as i32))
}

fn main() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let database = Database::open(folder.path().join("readings.cairn"))?;
    let conn = database.connect()?;
    let table = "(id bigint PRIMARY KEY, sensor text, value float8, flags int, at timestamptz DEFAULT now())";
    conn.execute_script(&format!("CREATE TABLE appended {table}; CREATE TABLE inserted {table}"))?;
    let columns = ["id", "sensor", "value", "flags"];

    let begun = Instant::now();
    let appended = conn.append("appended", &columns, (0..ROWS).map(reading))?;
    let by_append = begun.elapsed();

    let begun = Instant::now();
    conn.transaction(|tx| {
        let mut insert = tx.prepare("INSERT INTO inserted (id, sensor, value, flags) VALUES ($1, $2, $3, $4)")?;
        (0..ROWS).try_for_each(|n| insert.execute(reading(n)).map(drop))
    })?;
    let by_statements = begun.elapsed();

    println!(
        "{appended} rows appended in {by_append:.0?}; by {ROWS} statements of one transaction in {by_statements:.0?}"
    );
    let columns = columns.join(", ");
    let other = format!("SELECT count(*) FROM (SELECT {columns} FROM appended EXCEPT SELECT {columns} FROM inserted)");
    assert_eq!(conn.query_row_as::<(i64,)>(&other, ())?, (0,));
    // Nothing stays of a load that fails.
    let twice = [0, ROWS + 1, 0].map(reading);
    let error = conn.append("appended", &["id", "sensor", "value", "flags"], twice).unwrap_err();
    println!("{error}");
    assert_eq!(conn.query_row_as::<(i64,)>("SELECT count(*) FROM appended", ())?, (ROWS,));
    Ok(())
}
