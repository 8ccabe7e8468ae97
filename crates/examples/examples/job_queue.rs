//! A queue of jobs in a table: workers take them, each exactly once, also when one of them dies over it.
//!
//! `cargo run -p cairndb-examples --example job_queue`

use cairndb::{Connection, Database, FromRow, Result};

const JOBS: i64 = 200;

#[derive(FromRow)]
struct Job {
    id: i64,
    payload: String,
}

/// Takes the next job and does it in one transaction: when `work` fails, or the process ends, somebody else takes it again.
fn take(conn: &Connection, work: impl Fn(&Job) -> Result<()>) -> Result<bool> {
    conn.transaction(|tx| {
        let next = "DELETE FROM job WHERE id = (SELECT min(id) FROM job) RETURNING id, payload";
        let Some(job) = tx.query_optional_as::<Job>(next, ())? else { return Ok(false) };
        work(&job)?;
        tx.execute("INSERT INTO done (id, by) VALUES ($1, $2)", (job.id, std::process::id()))?;
        Ok(true)
    })
}

fn main() -> Result<()> {
    let database = Database::open_in_memory()?;
    let conn = database.connect()?;
    conn.execute_script(
        "CREATE TABLE job (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text NOT NULL);
         CREATE TABLE done (id bigint PRIMARY KEY, by bigint, at timestamptz DEFAULT now());",
    )?;
    conn.append("job", &["payload"], (0..JOBS).map(|n| (format!("job {n}"),)))?;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let database = &database;
            scope.spawn(move || -> Result<()> {
                let conn = database.connect()?;
                while take(&conn, |job| {
                    assert!(job.payload.starts_with("job "));
                    Ok(())
                })? {}
                Ok(())
            });
        }
    });
    let (done, left): (i64, i64) =
        conn.query_row_as("SELECT (SELECT count(*) FROM done), (SELECT count(*) FROM job)", ())?;
    println!("{done} jobs done, {left} left");
    assert_eq!((done, left), (JOBS, 0));
    Ok(())
}
