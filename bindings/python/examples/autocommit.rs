//! What `speed.py --library` measures beside the package: the same statements through the library, without Python.
//!
//! `autocommit FILE ROWS` fills a table, says so by a line, and then answers each line `update N` or `insert N` with the seconds that it took.

use std::io::{BufRead, stdin};
use std::time::Instant;

use cairndb::{Connection, Database, Result};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_else(|| ":memory:".to_owned());
    let rows: i64 = arguments.next().and_then(|rows| rows.parse().ok()).unwrap_or(1000);
    let database = Database::open(&path)?;
    let connection = database.connect()?;
    fill(&connection, rows)?;
    println!("ready");
    let mut next = 0;
    for line in stdin().lock().lines().map_while(|line| line.ok()) {
        let Some((what, count)) = line.split_once(' ') else { continue };
        let count: i64 = count.parse().unwrap_or(0);
        let begun = Instant::now();
        match what {
            "update" => update(&connection, count, rows)?,
            _ => next = insert(&connection, next, count)?,
        }
        println!("{}", begun.elapsed().as_secs_f64());
    }
    drop(connection);
    database.close()
}

fn fill(connection: &Connection, rows: i64) -> Result<()> {
    connection.execute_script(
        "CREATE TABLE item (id integer PRIMARY KEY, parent integer NOT NULL, name text NOT NULL, amount double precision NOT NULL);
         CREATE TABLE log (id integer PRIMARY KEY, name text NOT NULL)",
    )?;
    let items = (0..rows).map(|n| (n, n % 1000, format!("item {n:07}"), n as f64 * 0.5));
    connection.append("item", &["id", "parent", "name", "amount"], items).map(drop)
}

fn update(connection: &Connection, count: i64, rows: i64) -> Result<()> {
    let mut update = connection.prepare("UPDATE item SET amount = $1 WHERE id = $2")?;
    (0..count).try_for_each(|n| update.execute((n as f64 * 1.5, (n * 7919) % rows)).map(drop))
}

/// The number behind the last.
fn insert(connection: &Connection, next: i64, count: i64) -> Result<i64> {
    let mut insert = connection.prepare("INSERT INTO log VALUES ($1, $2)")?;
    (next..next + count).try_for_each(|n| insert.execute((n, "a line of a log")).map(drop))?;
    Ok(next + count)
}
