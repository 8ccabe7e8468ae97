//! Functions and aggregates that are Rust closures.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cairndb::{
    AggregateFunction, Arguments, Connection, DataType, Database, Error, FromValue, FunctionOptions, Result, SqlState,
    Value,
};

const INT: DataType = DataType::Integer;
const TEXT: DataType = DataType::Text;

fn one<T: FromValue>(connection: &Connection, sql: &str) -> Result<T> {
    connection.query_row(sql, (), |row| row.get(0))
}

fn code<T: std::fmt::Debug>(result: Result<T>) -> &'static str {
    result.unwrap_err().sqlstate().0
}

/// `double(integer)`, `double(text)`, and how often they were called.
fn with_double(connection: &Connection, options: FunctionOptions) -> Result<Arc<AtomicUsize>> {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    connection.create_function("double", &[INT], INT, options, move |arguments| {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok(arguments.get::<i32>(0)? * 2)
    })?;
    let twice = |arguments: &Arguments<'_>| Ok(arguments.get::<String>(0)?.repeat(2));
    connection.create_function("double", &[TEXT], TEXT, options, twice)?;
    Ok(calls)
}

fn with_rows() -> Result<(Database, Connection)> {
    let database = Database::open_in_memory()?;
    let connection = database.connect()?;
    connection.execute("CREATE TABLE t (id int PRIMARY KEY, n int, s text)", ())?;
    connection.execute("INSERT INTO t VALUES (1, 10, 'a'), (2, NULL, 'b'), (3, 30, NULL)", ())?;
    Ok((database, connection))
}

#[test]
fn closures_are_called_where_functions_are() -> Result<()> {
    let (_database, connection) = with_rows()?;
    with_double(&connection, FunctionOptions::default())?;
    assert_eq!(one::<i32>(&connection, "SELECT double(21)")?, 42);
    assert_eq!(one::<String>(&connection, "SELECT double('ab'::text)")?, "abab");
    assert_eq!(
        one::<Vec<Option<i32>>>(&connection, "SELECT array_agg(double(n) ORDER BY id) FROM t")?,
        [Some(20), None, Some(60)]
    );
    assert_eq!(one::<i32>(&connection, "SELECT id FROM t WHERE double(n) = 60")?, 3);
    assert_eq!(one::<i64>(&connection, "SELECT count(*) FROM t GROUP BY double(n) IS NULL ORDER BY 1 LIMIT 1")?, 1);
    // A smallint is converted, a numeric is not.
    assert_eq!(one::<i32>(&connection, "SELECT double(2::smallint)")?, 4);
    assert_eq!(code(one::<i32>(&connection, "SELECT double(2.5)")), "42883");
    assert_eq!(code(one::<i32>(&connection, "SELECT double(1, 2)")), "42883");
    assert_eq!(connection.execute("UPDATE t SET n = double(n) WHERE id = 1", ())?, 1);
    assert_eq!(connection.execute("INSERT INTO t VALUES (double(2), double(3), double('x'::text))", ())?, 1);
    assert_eq!(one::<String>(&connection, "SELECT n || s FROM t WHERE id = 4")?, "6xx");
    Ok(())
}

#[test]
fn a_function_is_the_connections_and_may_change() -> Result<()> {
    let (database, connection) = with_rows()?;
    with_double(&connection, FunctionOptions::immutable())?;
    let mut prepared = connection.prepare("SELECT double(n) FROM t WHERE id = $1")?;
    assert_eq!(prepared.query_row((1,), |row| row.get::<i32>(0))?, 20);
    let other = database.connect()?;
    assert_eq!(code(one::<i32>(&other, "SELECT double(1)")), "42883");
    connection.execute("SET search_path TO public", ())?;
    assert_eq!(one::<i32>(&connection, "SELECT double(1)")?, 2);
    connection.execute("RESET search_path", ())?;
    assert_eq!(one::<i32>(&connection, "SELECT double(1)")?, 2);
    connection.create_function("double", &[INT], INT, FunctionOptions::immutable(), |_| Ok(-1))?;
    assert_eq!(one::<i32>(&connection, "SELECT double(1)")?, -1);
    assert_eq!(prepared.query_row((1,), |row| row.get::<i32>(0))?, -1);
    assert!(connection.remove_function("double", &[INT])?);
    assert!(!connection.remove_function("double", &[INT])?);
    assert_eq!(code(prepared.query_row((1,), |row| row.get::<i32>(0))), "42883");
    assert_eq!(one::<String>(&connection, "SELECT double('x'::text)")?, "xx");
    Ok(())
}

#[test]
fn options_say_when_it_is_called() -> Result<()> {
    let (_database, connection) = with_rows()?;
    let calls = with_double(&connection, FunctionOptions::immutable())?;
    let called = |sql: &str| -> Result<usize> {
        calls.store(0, Ordering::Relaxed);
        connection.execute(sql, ())?;
        Ok(calls.load(Ordering::Relaxed))
    };
    assert_eq!(called("SELECT double(5) FROM generate_series(1, 100)")?, 1);
    // Not with NULL.
    assert_eq!(called("SELECT double(n) FROM t")?, 2);
    let calls = with_double(&connection, FunctionOptions::default())?;
    connection.execute("SELECT double(5) FROM generate_series(1, 100)", ())?;
    assert_eq!(calls.load(Ordering::Relaxed), 100);
    let options = FunctionOptions::stable().called_on_null();
    connection.create_function("or_zero", &[INT], INT, options, |arguments| {
        Ok(arguments.get::<Option<i32>>(0)?.unwrap_or(0))
    })?;
    assert_eq!(one::<Vec<i32>>(&connection, "SELECT array_agg(or_zero(n) ORDER BY id) FROM t")?, [10, 0, 30]);
    Ok(())
}

#[test]
fn a_panic_an_error_and_a_wrong_type_are_the_statements() -> Result<()> {
    let (_database, connection) = with_rows()?;
    let plain = FunctionOptions::default();
    connection.create_function("panics", &[INT], INT, plain, |arguments| -> Result<i32> {
        if arguments.get::<i32>(0)? == 30 { panic!("thirty is too much") } else { Ok(1) }
    })?;
    connection.create_function("lies", &[INT], INT, plain, |_| Ok("text"))?;
    connection.create_function("narrows", &[INT], INT, plain, |_| Ok(7i64))?;
    connection.create_function("fails", &[INT], INT, plain, |_| -> Result<i32> {
        Err(Error::new(SqlState("P0001"), "not today"))
    })?;
    let error = connection.execute("SELECT panics(n) FROM t", ()).unwrap_err();
    assert_eq!((error.sqlstate().0, error.message()), ("38000", "function panics panicked: thirty is too much"));
    let error = connection.execute("SELECT lies(1)", ()).unwrap_err();
    let told = "function lies returned text, but it is declared to return integer";
    assert_eq!((error.sqlstate().0, error.message()), ("42804", told));
    assert_eq!(one::<i32>(&connection, "SELECT narrows(1)")?, 7);
    assert_eq!(code(connection.execute("SELECT fails(1)", ())), "P0001");
    // A statement that fails half way leaves nothing, and the connection goes on.
    assert_eq!(code(connection.execute("UPDATE t SET n = panics(n)", ())), "38000");
    assert_eq!(one::<i64>(&connection, "SELECT sum(n) FROM t")?, 40);
    for sql in ["UPDATE t SET n = panics(n) WHERE id = $1", "DELETE FROM t WHERE id = $1 AND panics(n) = 1"] {
        let mut prepared = connection.prepare(sql)?;
        for _ in 0..3 {
            assert_eq!(code(prepared.execute((3,))), "38000", "{sql}");
        }
    }
    connection.execute("UPDATE t SET n = 31 WHERE id = 3", ())?;
    assert_eq!(one::<i64>(&connection, "SELECT sum(panics(n)) FROM t")?, 2);
    Ok(())
}

/// The longest text of a group, or what `misbehaves` asks for.
struct Longest {
    best: Option<String>,
    misbehaves: &'static str,
}

impl AggregateFunction for Longest {
    fn step(&mut self, arguments: &Arguments<'_>) -> Result<()> {
        assert_ne!(self.misbehaves, "step", "a bad step");
        let Some(text) = arguments.get::<Option<String>>(0)? else { return Ok(()) };
        if self.best.as_ref().is_none_or(|best| best.len() < text.len()) {
            self.best = Some(text);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Value> {
        match self.misbehaves {
            "finish" => panic!("a bad end"),
            "type" => Ok(Value::Integer(1)),
            _ => Ok(self.best.take().into()),
        }
    }
}

#[test]
fn aggregates_are_folded_by_group() -> Result<()> {
    let (_database, connection) = with_rows()?;
    connection.create_aggregate("longest", &[TEXT], TEXT, || Longest { best: None, misbehaves: "" })?;
    connection.execute("INSERT INTO t VALUES (4, 10, 'aaaa'), (5, 10, 'bbbb'), (6, NULL, 'cc')", ())?;
    assert_eq!(one::<String>(&connection, "SELECT longest(s ORDER BY s DESC) FROM t")?, "bbbb");
    let grouped = "SELECT array_agg(l ORDER BY n) FROM (SELECT n, longest(s ORDER BY id) AS l FROM t GROUP BY n) x";
    let expected = [Some("aaaa".to_owned()), None, Some("cc".to_owned())];
    assert_eq!(one::<Vec<Option<String>>>(&connection, grouped)?, expected);
    assert_eq!(one::<Option<String>>(&connection, "SELECT longest(s) FILTER (WHERE id > 9) FROM t")?, None);
    assert_eq!(one::<String>(&connection, "SELECT longest(DISTINCT s) FROM t WHERE id < 3")?.len(), 1);
    for (name, expected) in [("step", "38000"), ("finish", "38000"), ("type", "42804")] {
        connection.create_aggregate(name, &[TEXT], TEXT, move || Longest { best: None, misbehaves: name })?;
        assert_eq!(code(connection.execute(&format!("SELECT {name}(s) FROM t"), ())), expected);
    }
    connection.create_aggregate("start", &[TEXT], TEXT, || -> Longest { panic!("a bad start") })?;
    assert_eq!(code(connection.execute("SELECT start(s) FROM t GROUP BY n", ())), "38000");
    assert_eq!(code(connection.execute("SELECT start(s) FROM t", ())), "38000");
    Ok(())
}

#[test]
fn what_is_stored_for_everyone_cannot_have_one() -> Result<()> {
    let (_database, connection) = with_rows()?;
    with_double(&connection, FunctionOptions::immutable())?;
    connection.create_aggregate("longest", &[TEXT], TEXT, || Longest { best: None, misbehaves: "" })?;
    for sql in [
        "CREATE VIEW v AS SELECT double(n) FROM t",
        "CREATE VIEW v AS SELECT longest(s) FROM t",
        "CREATE TABLE u (a int CHECK (double(a) > 1))",
        "CREATE TABLE u (a int DEFAULT double(1))",
        "ALTER TABLE t ADD COLUMN c int DEFAULT double(1)",
        "ALTER TABLE t ALTER COLUMN n SET DEFAULT double(1)",
        "ALTER TABLE t ADD CHECK (double(n) > 1)",
    ] {
        let error = connection.execute(sql, ()).expect_err(sql);
        assert_eq!(error.sqlstate(), SqlState::FEATURE_NOT_SUPPORTED, "{sql}: {error}");
        assert!(error.detail().is_some_and(|detail| detail.contains("connection")), "{sql}: {error:?}");
    }
    connection.execute("CREATE TABLE copy AS SELECT double(n) AS d FROM t", ())?;
    assert_eq!(one::<i64>(&connection, "SELECT sum(d) FROM copy")?, 80);
    Ok(())
}

#[test]
fn names_that_are_taken_are_refused() -> Result<()> {
    let (_database, connection) = with_rows()?;
    let plain = FunctionOptions::default();
    let make = |name: &str, arguments: &[DataType], returns| {
        connection.create_function(name, arguments, returns, plain, |_| Ok(Value::Null))
    };
    assert_eq!(code(make("lower", &[TEXT], TEXT)), "42723");
    assert_eq!(code(make("sum", &[INT], INT)), "42723");
    assert_eq!(code(make("nextval", &[TEXT], INT)), "42P13");
    assert_eq!(code(make("", &[], INT)), "42P13");
    assert_eq!(code(make("f", &[DataType::Unknown], INT)), "42P13");
    // Another overload of a built-in one is fine.
    make("lower", &[INT], INT)?;
    assert_eq!(one::<String>(&connection, "SELECT lower('ABC')")?, "abc");
    connection.execute("BEGIN", ())?;
    assert_eq!(code(make("f", &[], INT)), "25001");
    connection.execute("ROLLBACK", ())?;
    let array = INT.array().expect("arrays of integers");
    connection.create_function("count_of", &[array], DataType::BigInt, plain, |arguments| {
        Ok(arguments.get::<Vec<Option<i32>>>(0)?.len() as i64)
    })?;
    assert_eq!(one::<i64>(&connection, "SELECT count_of('{1,NULL,3}')")?, 3);
    Ok(())
}

/// Another connection commits while the function runs: a statement that held the commit lock would wait for itself.
#[test]
fn none_is_called_under_the_commit_lock() -> Result<()> {
    let (database, connection) = with_rows()?;
    connection.execute("CREATE TABLE seen (n int)", ())?;
    let other = std::sync::Mutex::new(database.connect()?);
    connection.create_function("note", &[INT], INT, FunctionOptions::default(), move |arguments| {
        let n: i32 = arguments.get(0)?;
        let other = other.lock().expect("nobody panicked");
        other.execute("INSERT INTO seen VALUES ($1)", (n,))?;
        Ok(n + 1)
    })?;
    let (done, over) = std::sync::mpsc::channel();
    let worker = std::thread::spawn(move || -> Result<()> {
        let mut update = connection.prepare("UPDATE t SET n = note(n) WHERE id = $1")?;
        let mut insert = connection.prepare("INSERT INTO t VALUES ($1, note($1))")?;
        let mut select = connection.prepare("SELECT note(n) FROM t WHERE id = $1")?;
        for id in 10..13 {
            insert.execute((id,))?;
            update.execute((id,))?;
            assert_eq!(select.query_row((id,), |row| row.get::<i32>(0))?, id + 3);
        }
        assert_eq!(one::<i64>(&connection, "SELECT count(*) FROM seen")?, 9);
        done.send(()).expect("somebody waits");
        Ok(())
    });
    over.recv_timeout(std::time::Duration::from_secs(60)).expect("no statement waits for itself");
    worker.join().expect("no panic")
}
