//! Functions that return rows, and are Rust closures.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cairndb::{Connection, DataType, Database, Error, FromValue, FunctionOptions, Result, SqlState, Value};

const INT: DataType = DataType::Integer;
const TEXT: DataType = DataType::Text;

fn all<T: FromValue>(connection: &Connection, sql: &str) -> Result<Vec<T>> {
    connection.query_as(sql, ())?.collect()
}

fn code<T: std::fmt::Debug>(result: Result<T>) -> &'static str {
    result.unwrap_err().sqlstate().0
}

/// How many rows were pulled, and how many iterators there are.
#[derive(Clone, Default)]
struct Counts {
    pulled: Arc<AtomicUsize>,
    there: Arc<AtomicUsize>,
}

impl Counts {
    fn taken(&self) -> usize {
        assert_eq!(self.there.load(Ordering::Relaxed), 0, "what gives rows is dropped with its statement");
        self.pulled.swap(0, Ordering::Relaxed)
    }
}

struct Counting {
    counts: Counts,
    next: i32,
}

impl Iterator for Counting {
    type Item = Result<Vec<Value>>;

    fn next(&mut self) -> Option<Result<Vec<Value>>> {
        self.counts.pulled.fetch_add(1, Ordering::Relaxed);
        self.next += 1;
        Some(Ok(vec![Value::Integer(self.next), Value::text(format!("row {}", self.next))]))
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        self.counts.there.fetch_sub(1, Ordering::Relaxed);
    }
}

/// `endless(after integer)`: rows of `n`, `name` without an end.
fn with_endless() -> Result<(Database, Connection, Counts)> {
    let database = Database::open_in_memory()?;
    let connection = database.connect()?;
    let counts = Counts::default();
    let counted = counts.clone();
    let columns = [("n", INT), ("name", TEXT)];
    connection.create_table_function("endless", &[INT], &columns, FunctionOptions::default(), move |arguments| {
        let next = arguments.get(0)?;
        counted.there.fetch_add(1, Ordering::Relaxed);
        Ok(Counting { counts: counted.clone(), next })
    })?;
    Ok((database, connection, counts))
}

#[test]
fn rows_are_a_table() -> Result<()> {
    let (_database, connection, _) = with_endless()?;
    let plain = FunctionOptions::default();
    connection.create_table_function("upto", &[INT], &[("n", INT)], plain, |arguments| {
        Ok((1..=arguments.get::<i32>(0)?).map(|n| Ok(vec![n.into()])))
    })?;
    connection.execute("CREATE TABLE t (id int PRIMARY KEY, n int)", ())?;
    connection.execute("INSERT INTO t VALUES (1, 2), (2, NULL), (3, 1)", ())?;
    assert_eq!(all::<i32>(&connection, "SELECT n FROM upto(4) WHERE n % 2 = 0")?, [2, 4]);
    let pairs = "SELECT t.id * 10 + u.n FROM t, upto(t.n) AS u ORDER BY 1";
    assert_eq!(all::<i32>(&connection, pairs)?, [11, 12, 31]);
    assert_eq!(all::<i64>(&connection, "SELECT o FROM upto(3) WITH ORDINALITY AS u (n, o) WHERE n = 3")?, [3]);
    assert_eq!(all::<i32>(&connection, "SELECT upto(2) FROM t WHERE id = 1")?, [1, 2]);
    assert_eq!(all::<String>(&connection, "SELECT e.name FROM endless(7) e LIMIT 2")?, ["row 8", "row 9"]);
    assert_eq!(all::<i64>(&connection, "SELECT count(*) FROM upto(5000) JOIN t ON t.id = upto.n")?, [3]);
    assert_eq!(connection.execute("INSERT INTO t SELECT n + 10, n FROM upto(2000)", ())?, 2000);
    assert_eq!(connection.query("SELECT * FROM endless(1)", ())?.columns().len(), 2);
    // A smallint fits; more is said by an overload.
    connection.create_table_function("upto", &[TEXT], &[("text", TEXT)], plain, |arguments| {
        Ok([Ok(vec![Value::text(arguments.get::<String>(0)?)])])
    })?;
    assert_eq!(all::<String>(&connection, "SELECT * FROM upto('x'::text)")?, ["x"]);
    assert_eq!(all::<i32>(&connection, "SELECT max(n) FROM upto(3::smallint)")?, [3]);
    assert!(connection.remove_function("upto", &[INT])?);
    assert_eq!(code(connection.execute("SELECT * FROM upto(1)", ())), "42883");
    Ok(())
}

#[test]
fn no_more_rows_are_pulled_than_are_wanted() -> Result<()> {
    let (database, connection, counts) = with_endless()?;
    for (sql, wanted) in [
        ("SELECT n FROM endless(0) LIMIT 3", 3),
        ("SELECT n FROM endless(0) WHERE n > 10 LIMIT 2", 12),
        ("SELECT EXISTS (SELECT FROM endless(0))", 1),
        ("SELECT (SELECT n FROM endless(0) LIMIT 1)", 1),
        ("SELECT count(*) FROM (SELECT FROM endless(0) LIMIT 700) AS part", 700),
    ] {
        connection.query(sql, ())?.into_iter().count();
        assert_eq!(counts.taken(), wanted, "{sql}");
        let mut prepared = connection.prepare(sql)?;
        for _ in 0..3 {
            prepared.query(())?.into_iter().count();
            assert_eq!(counts.taken(), wanted, "{sql}");
        }
    }
    // Whoever reads gets the first before others are worked out, and stops whenever he likes.
    let mut rows = connection.query("SELECT n FROM endless(0)", ())?;
    assert_eq!(rows.next()?.expect("a row").get::<i32>(0)?, 1);
    assert_eq!(counts.pulled.load(Ordering::Relaxed), 1);
    drop(rows);
    counts.taken();
    connection.set_statement_timeout(Some(Duration::from_millis(50)))?;
    assert_eq!(code(connection.execute("SELECT count(*) FROM endless(0)", ())), "57014");
    assert!(counts.taken() > 0);
    drop((connection, database));
    Ok(())
}

#[test]
fn what_goes_wrong_is_the_statements() -> Result<()> {
    let (_database, connection, _) = with_endless()?;
    let (plain, columns) = (FunctionOptions::default(), [("a", INT), ("b", INT)]);
    connection.create_table_function("wrong", &[TEXT], &columns, plain, |arguments| {
        let how: String = arguments.get(0)?;
        if how == "begin" {
            return Err(Error::new(SqlState("P0002"), "not at all"));
        }
        Ok((0..3).map(move |n| match (n, how.as_str()) {
            (2, "panic") => panic!("two is too much"),
            (2, "fail") => Err(Error::new(SqlState("P0001"), "not today")),
            (2, "narrow") => Ok(vec![Value::Integer(1)]),
            (2, "text") => Ok(vec![Value::Integer(1), Value::text("one")]),
            _ => Ok(vec![Value::Integer(n), Value::Null]),
        }))
    })?;
    connection.execute("CREATE TABLE t (a int, b int)", ())?;
    for (how, expected) in
        [("begin", "P0002"), ("panic", "38000"), ("fail", "P0001"), ("narrow", "42804"), ("text", "42804")]
    {
        assert_eq!(code(connection.execute("SELECT count(*) FROM wrong($1)", (how,))), expected, "{how}");
        assert_eq!(code(connection.execute("INSERT INTO t SELECT * FROM wrong($1)", (how,))), expected, "{how}");
    }
    assert_eq!(all::<i64>(&connection, "SELECT count(*) FROM t")?, [0]);
    assert_eq!(connection.execute("INSERT INTO t SELECT * FROM wrong('')", ())?, 3);

    let make = |name: &str, arguments: &[DataType], columns: &[(&str, DataType)]| {
        connection.create_table_function(name, arguments, columns, plain, |_| Ok([]))
    };
    assert_eq!(code(make("none", &[], &[])), "42P13");
    assert_eq!(code(make("twice", &[], &[("a", INT), ("a", INT)])), "42P13");
    assert_eq!(code(make("unknown", &[], &[("a", DataType::Unknown)])), "42P13");
    assert_eq!(code(make("unnamed", &[], &[("", INT)])), "42P13");
    assert_eq!(code(make("sum", &[INT], &[("a", INT)])), "42723");
    assert_eq!(code(make("generate_series", &[INT, INT], &[("a", INT)])), "42723");
    connection.execute("BEGIN", ())?;
    assert_eq!(code(make("late", &[], &[("a", INT)])), "25001");
    connection.execute("ROLLBACK", ())?;
    // Of the connection, not of the file.
    assert_eq!(code(connection.execute("CREATE VIEW v AS SELECT * FROM endless(1)", ())), "0A000");
    assert_eq!(code(connection.live("SELECT * FROM wrong('')", ()).map(drop)), "0A000");
    Ok(())
}

/// Another connection commits between two rows: a statement that held the commit lock would wait for itself.
#[test]
fn none_is_pulled_under_the_commit_lock() -> Result<()> {
    let (database, connection, _) = with_endless()?;
    connection.execute("CREATE TABLE t (id int PRIMARY KEY, n int)", ())?;
    connection.execute("CREATE TABLE seen (n int)", ())?;
    let other = Arc::new(std::sync::Mutex::new(database.connect()?));
    connection.create_table_function("noted", &[INT], &[("n", INT)], FunctionOptions::default(), move |arguments| {
        let (to, other) = (arguments.get::<i32>(0)?, other.clone());
        Ok((0..to).map(move |n| {
            other.lock().expect("nobody panicked").execute("INSERT INTO seen VALUES ($1)", (n,))?;
            Ok(vec![n.into()])
        }))
    })?;
    let (done, over) = std::sync::mpsc::channel();
    let worker = std::thread::spawn(move || -> Result<()> {
        let mut insert = connection.prepare("INSERT INTO t SELECT n, n FROM noted($1)")?;
        assert_eq!(insert.execute((5,))?, 5);
        let mut update = connection.prepare("UPDATE t SET n = -1 FROM noted(3) AS x WHERE t.id = x.n")?;
        assert_eq!(update.execute(())?, 3);
        assert_eq!(connection.execute("DELETE FROM t WHERE id IN (SELECT n FROM noted(2))", ())?, 2);
        let mut one = connection.prepare("UPDATE t SET n = (SELECT max(n) FROM noted(2)) WHERE id = $1")?;
        assert_eq!(one.execute((4,))?, 1);
        assert_eq!(all::<i64>(&connection, "SELECT count(*) FROM seen")?, [12]);
        done.send(()).expect("somebody waits");
        Ok(())
    });
    over.recv_timeout(Duration::from_secs(60)).expect("no statement waits for itself");
    worker.join().expect("no panic")
}
