//! A dashboard on the terminal that stays current while a writer runs: orders per state, and the newest of them.
//!
//! `cargo run --release -p cairndb --example dashboard [SECONDS]`

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cairndb::{Database, LiveChange, Result};

const SCHEMA: &str = "
    CREATE TABLE orders (
        id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
        customer text NOT NULL,
        state text NOT NULL DEFAULT 'open',
        cents bigint NOT NULL
    );
    CREATE INDEX ON orders (state);";

fn main() -> Result<()> {
    let seconds = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(10);
    let database = Database::open_in_memory()?;
    let connection = database.connect()?;
    connection.execute_script(SCHEMA)?;
    let mut states =
        connection.live("SELECT state, count(*), sum(cents) FROM orders GROUP BY state ORDER BY state", ())?;
    let mut newest = connection.live("SELECT id, customer, state FROM orders ORDER BY id DESC LIMIT 5", ())?;

    let stop = Arc::new(AtomicBool::new(false));
    let writer = thread::spawn({
        let (database, stop) = (database.clone(), stop.clone());
        move || write(&database, &stop)
    });
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut frames = 0;
    while Instant::now() < until {
        // Whatever came meanwhile is one change: who looks rarely misses nothing, and nobody waits for it.
        let change = states.next_change_within(Duration::from_millis(100))?.item();
        let newer = newest.next_change_within(Duration::ZERO)?.item();
        if change.is_some() || newer.is_some() {
            frames += 1;
            draw(&connection, changed(change.as_ref()), changed(newer.as_ref()))?;
        }
        thread::sleep(Duration::from_millis(50));
    }
    stop.store(true, Ordering::Relaxed);
    let orders = writer.join().expect("the writer does not panic")?;
    println!("{orders} orders were written; the dashboard was drawn {frames} times");
    Ok(())
}

/// Takes orders and ships some, each in a transaction.
fn write(database: &Database, stop: &AtomicBool) -> Result<u64> {
    let connection = database.connect()?;
    let mut taken = 0;
    while !stop.load(Ordering::Relaxed) {
        taken += 1;
        let customer = ["Ada", "Grace", "Barbara", "Frances"][taken as usize % 4];
        let cents = (taken * 7919 % 100_000) as i64;
        connection.execute("INSERT INTO orders (customer, cents) VALUES ($1, $2)", (customer, cents))?;
        if taken % 3 == 0 {
            connection.execute("UPDATE orders SET state = 'shipped' WHERE id = $1", (taken as i64 - 2,))?;
        }
        thread::sleep(Duration::from_millis(2));
    }
    Ok(taken)
}

fn changed(change: Option<&LiveChange>) -> usize {
    change.map_or(0, |change| change.added().count() + change.updated().count())
}

/// The results as they are now, where they stood before.
fn draw(connection: &cairndb::Connection, states: usize, newest: usize) -> Result<()> {
    print!("\x1b[2J\x1b[H");
    println!("orders by state ({states} rows changed)\n");
    let by_state = "SELECT state, count(*), sum(cents)::bigint FROM orders GROUP BY state ORDER BY state";
    let mut rows = connection.query(by_state, ())?;
    while let Some(row) = rows.next()? {
        println!("  {:10} {:8} {:14.2}", row.get::<String>(0)?, row.get::<i64>(1)?, row.get::<i64>(2)? as f64 / 100.0);
    }
    println!("\nthe newest ({newest} rows changed)\n");
    let mut rows = connection.query("SELECT id, customer, state FROM orders ORDER BY id DESC LIMIT 5", ())?;
    while let Some(row) = rows.next()? {
        println!("  {:8} {:10} {}", row.get::<i64>(0)?, row.get::<String>(1)?, row.get::<String>(2)?);
    }
    Ok(())
}
