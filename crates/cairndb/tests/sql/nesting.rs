//! What may be nested as deeply as the parser takes it runs on a thread with Rust's usual stack.

use cairndb::{Connection, Database, Next, Result, SqlState};

/// The stack of a thread that nobody chose one for.
const STACK_BYTES: usize = 2 << 20;

/// A statement that is nested so many times.
type Nested = fn(usize) -> String;

fn around(open: &str, middle: &str, close: &str, depth: usize) -> String {
    format!("{}{middle}{}", open.repeat(depth), close.repeat(depth))
}

const KINDS: &[Nested] = &[
    |depth| format!("SELECT {}id{} FROM t", "(1 + ".repeat(depth), ")".repeat(depth)),
    |depth| format!("SELECT {}id FROM t", "- ".repeat(depth)),
    |depth| format!("SELECT 1 FROM t WHERE {}(id = 1)", "NOT ".repeat(depth)),
    |depth| format!("SELECT {} FROM t", around("abs(", "id", ")", depth)),
    |depth| format!("SELECT {} FROM t", around("coalesce(id, ", "id", ")", depth)),
    |depth| format!("SELECT {} FROM t", around("CASE WHEN id > 0 THEN ", "id", " END", depth)),
    |depth| format!("SELECT {} FROM t", around("CASE ", "random()", " WHEN 1 THEN 2 ELSE 3 END", depth)),
    |depth| format!("SELECT id{} FROM t", "::text::int".repeat(depth)),
    |depth| format!("SELECT 1 FROM t WHERE {}", around("true IN (", "id > 0", ")", depth)),
    |depth| format!("SELECT 1 FROM t WHERE {}", around("(id = 1 AND (id = 2 OR ", "id = 3", "))", depth)),
    |depth| around("SELECT * FROM (", "SELECT id FROM t", ") x", depth),
    |depth| around("SELECT id FROM (", "SELECT id FROM t", ") x GROUP BY id", depth),
    |depth| around("SELECT (", "SELECT id FROM t LIMIT 1", ")", depth),
    |depth| format!("SELECT 1 FROM t WHERE {}", around("EXISTS (SELECT 1 FROM t WHERE ", "id > 0", ")", depth)),
    |depth| format!("SELECT 1 FROM t WHERE {}", around("id IN (SELECT id FROM t WHERE ", "id > 0", ")", depth)),
    |depth| around("WITH a AS (", "SELECT id FROM t", ") SELECT * FROM a", depth),
    |depth| around("SELECT id FROM t UNION ALL (", "SELECT id FROM t", ")", depth),
    |depth| around("SELECT id FROM t EXCEPT (", "SELECT id FROM t", ")", depth),
    |depth| format!("UPDATE t SET id = {}", around("abs(", "id", ")", depth)),
    |depth| format!("INSERT INTO t VALUES ({})", around("abs(", "9", ")", depth)),
];

fn run(conn: &Connection, text: &str) -> Result<()> {
    let mut rows = conn.query(text, ())?;
    while rows.next()?.is_some() {}
    Ok(())
}

fn is_too_deep(result: Result<()>) -> bool {
    match result {
        Ok(()) => false,
        Err(error) => {
            assert_eq!(error.sqlstate(), SqlState::STATEMENT_TOO_COMPLEX, "{error:?}");
            assert!(error.hint().is_some_and(|hint| hint.contains("400 levels")), "{error:?}");
            true
        }
    }
}

#[test]
fn what_is_nested_to_the_limit_runs_on_a_usual_stack() {
    let work = || {
        let conn = Database::open_in_memory().unwrap().connect().unwrap();
        conn.execute_script("CREATE TABLE t (id int); INSERT INTO t VALUES (1), (2)").unwrap();
        for kind in KINDS {
            // The parser's limit, from below: 25 and more of each kind are taken, 800 are not.
            let (mut taken, mut refused) = (25, 800);
            while refused - taken > 1 {
                let depth = (taken + refused) / 2;
                match is_too_deep(conn.prepare(&kind(depth)).map(|_| ())) {
                    true => refused = depth,
                    false => taken = depth,
                }
            }
            let error = run(&conn, &kind(taken)).err();
            assert!(error.is_none(), "{error:?} for {}", &kind(1));
            let error = run(&conn, &format!("EXPLAIN {}", kind(taken - 4))).err();
            assert!(error.is_none(), "{error:?} for EXPLAIN {}", &kind(1));
            assert!((60..500).contains(&taken), "{taken} of {}", &kind(1));
        }
    };
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(work).unwrap().join().unwrap();
}

/// What is flat as text, of so many parts.
const LONG: &[Nested] = &[
    |count| format!("SELECT id{} FROM t", " + 1".repeat(count)),
    |count| format!("SELECT 1{}", " + 1".repeat(count)),
    |count| format!("SELECT sum(id){} FROM t GROUP BY id % 2", " + count(*)".repeat(count)),
    |count| format!("SELECT id % 2{0} FROM t GROUP BY id % 2{0}", " + 1".repeat(count)),
    |count| format!("SELECT id::text{} FROM t", " || id".repeat(count)),
    |count| format!("SELECT '{{}}'::jsonb{}", " -> 'a'".repeat(count)),
    |count| format!("SELECT 1 FROM t WHERE id{} > 0 ORDER BY id{0}", " + 1".repeat(count / 4)),
    |count| format!("SELECT 1 FROM t WHERE id > 0{}", " AND id > 0".repeat(count)),
    |count| format!("SELECT 1 FROM t WHERE id > 0{}", " OR id > 0".repeat(count)),
    |count| format!("SELECT CASE{} END FROM t", " WHEN id = 7 THEN 8".repeat(count)),
    |count| format!("SELECT id FROM t{}", " UNION ALL SELECT id FROM t".repeat(count / 4)),
    |count| format!("SELECT id FROM t{}", " UNION SELECT 7".repeat(count / 4)),
    |count| format!("SELECT id FROM t{}", " INTERSECT SELECT id FROM t".repeat(count / 16)),
    |count| format!("SELECT id FROM t{}", " EXCEPT SELECT 7".repeat(count / 4)),
    |count| format!("SELECT id FROM t{}", " EXCEPT ALL SELECT 7".repeat(count / 4)),
    |count| format!("SELECT id FROM t{}", " UNION ALL SELECT 7 EXCEPT SELECT 8".repeat(count / 10)),
    |count| {
        format!("SELECT id FROM t{}", " INTERSECT ALL SELECT 1 UNION SELECT 7 EXCEPT ALL SELECT 8".repeat(count / 15))
    },
    |count| format!("SELECT id FROM t{}", " UNION ALL SELECT 7 UNION SELECT id FROM t".repeat(count / 4)),
    |count| format!("SELECT 1 FROM t WHERE {}id = 1{}", "(".repeat(count), " OR id = 2)".repeat(count)),
    |count| format!("SELECT 1 FROM t WHERE {}id = 1{}", "id > 0 AND (".repeat(count), ")".repeat(count)),
    |count| format!("SELECT ({0}) <= ({0}) FROM t", vec!["id"; count / 6].join(", ")),
    |count| format!("UPDATE t SET id = id{}", " + 0".repeat(count)),
    |count| format!("INSERT INTO t VALUES (1{})", " + 0".repeat(count)),
];

/// Flat text is no depth, on the stack of a usual thread: run, prepared again, explained, in views and watched.
#[test]
fn what_is_long_runs_on_a_usual_stack_and_what_is_longer_is_refused() {
    let work = || {
        let db = Database::open_in_memory().unwrap();
        let conn = db.connect().unwrap();
        conn.execute_script("CREATE TABLE t (id int); INSERT INTO t VALUES (1), (2)").unwrap();
        for kind in LONG {
            let text = kind(2000);
            let error = run(&conn, &text).and_then(|()| run(&conn, &format!("EXPLAIN {text}"))).err();
            assert!(error.is_none(), "{error:?} for {}", &kind(1));
            if let Err(error) = run(&conn, &kind(20_000)) {
                assert_eq!(error.sqlstate(), SqlState::STATEMENT_TOO_COMPLEX, "{error:?}");
            }
        }
        let sum = format!("SELECT id{} AS n FROM t", " + 1".repeat(7000));
        let union = format!("SELECT id AS n FROM t{}", " UNION ALL SELECT id FROM t".repeat(300));
        let mixed = format!("SELECT id AS n FROM t{}", " UNION ALL SELECT 7 EXCEPT SELECT 8".repeat(200));
        for text in [sum, union, mixed] {
            conn.execute_script(&format!("CREATE OR REPLACE VIEW v AS {text}")).unwrap();
            run(&conn, "SELECT * FROM v").unwrap();
            let mut live = conn.live(&text, ()).unwrap();
            conn.execute("INSERT INTO t VALUES (9)", ()).unwrap();
            let told = live.next_change_within(std::time::Duration::from_secs(60)).unwrap();
            assert!(matches!(told, Next::Item(_)), "{told:?}");
        }
        let sum = format!("id{}", " + 1".repeat(1000));
        conn.execute(
            &format!("CREATE TABLE c (id int CHECK ({sum} > 0), n int DEFAULT (1{}))", " + 1".repeat(1000)),
            (),
        )
        .unwrap();
        conn.execute(&format!("CREATE INDEX ON c (({sum}))"), ()).unwrap();
        run(&conn, "INSERT INTO c VALUES (1), (2)").unwrap();
    };
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(work).unwrap().join().unwrap();
}

fn assert_too_complex(conn: &Connection, text: &str) {
    let error = run(conn, text).unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::STATEMENT_TOO_COMPLEX, "{error:?}");
}

/// A view is bound where it is used, whatever the depth of what uses it.
#[test]
fn views_of_nested_queries_run_and_are_too_deep_upon_each_other() {
    let work = || {
        let conn = Database::open_in_memory().unwrap().connect().unwrap();
        conn.execute_script(
            "CREATE TABLE t (id int); INSERT INTO t VALUES (1), (2); CREATE VIEW v0 AS SELECT id FROM t",
        )
        .unwrap();
        for view in 1..8 {
            let below = format!("SELECT id FROM v{}", view - 1);
            let nested = around("SELECT id FROM (", &below, ") x WHERE id > 0", 120);
            conn.execute(&format!("CREATE VIEW v{view} AS {nested}"), ()).unwrap();
        }
        run(&conn, "SELECT * FROM v1").unwrap();
        assert_too_complex(&conn, "SELECT * FROM v7");
        // Where subqueries become one, an expression of each comes into the next.
        let sums = format!("(SELECT {}id{} AS id FROM ", "abs(".repeat(200), ")".repeat(200));
        assert_too_complex(&conn, &format!("SELECT id FROM {}", around(&sums, "t", ") x", 60)));
    };
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(work).unwrap().join().unwrap();
}

#[test]
fn views_lie_in_each_other_up_to_a_depth_and_what_lies_deeper_is_no_circle() -> Result<()> {
    let conn = Database::open_in_memory()?.connect()?;
    conn.execute("CREATE VIEW v0 AS SELECT 1 AS a", ())?;
    for depth in 1..=32 {
        conn.execute(&format!("CREATE VIEW v{depth} AS SELECT a FROM v{}", depth - 1), ())?;
    }
    let error = conn.execute("CREATE VIEW v33 AS SELECT a FROM v32", ()).unwrap_err();
    assert_eq!(error.sqlstate(), SqlState("54001"), "{error}");
    assert_eq!(conn.query_row("SELECT a FROM v31", (), |row| row.get::<i32>(0))?, 1);
    Ok(())
}

/// Set operations are done one after the other as they are written, INTERSECT before the others.
#[test]
fn set_operations_of_several_kinds_are_as_they_would_be_one_by_one() -> Result<()> {
    let conn = Database::open_in_memory()?.connect()?;
    let (mut text, mut wanted) = ("SELECT 0 AS a".to_owned(), vec![0]);
    for (number, kind) in (1..400).zip(["UNION ALL", "UNION", "EXCEPT ALL", "UNION ALL", "EXCEPT"].iter().cycle()) {
        let value = number * 7 % 11;
        text += &format!(" {kind} SELECT {value}");
        match *kind {
            "EXCEPT ALL" => drop(wanted.iter().position(|of| *of == value).map(|at| wanted.swap_remove(at))),
            "EXCEPT" => wanted.retain(|of| *of != value),
            _ => wanted.push(value),
        }
        if ["UNION", "EXCEPT"].contains(kind) {
            wanted.sort_unstable();
            wanted.dedup();
        }
        if number % 57 == 0 || number == 399 {
            wanted.sort_unstable();
            let mut rows = conn.query(&format!("{text} ORDER BY a"), ())?;
            let mut found = vec![];
            while let Some(row) = rows.next()? {
                found.push(row.get::<i32>(0)?);
            }
            assert_eq!(found, wanted, "{number} operations");
        }
    }
    Ok(())
}

#[test]
fn rows_are_compared_however_many_columns_they_have() -> Result<()> {
    let conn = Database::open_in_memory()?.connect()?;
    let columns = |kind: &str| (0..300).map(|at| format!("c{at}{kind}")).collect::<Vec<_>>().join(", ");
    conn.execute(&format!("CREATE TABLE t ({})", columns(" int")), ())?;
    conn.execute(&format!("INSERT INTO t VALUES ({})", vec!["0"; 300].join(", ")), ())?;
    let compared = |symbol: &str, other: &[&str]| {
        let text = format!("SELECT ({}) {symbol} ({}) FROM t", columns(""), other.join(", "));
        conn.query_row(&text, (), |row| row.get::<Option<bool>>(0))
    };
    // The first column that differs, or is not known, decides.
    for place in [0, 1, 149, 150, 299] {
        for (value, less) in [("1", Some(true)), ("-1", Some(false)), ("NULL", None)] {
            let mut other = vec!["0"; 300];
            other[place] = value;
            if let Some(next) = other.get_mut(place + 1) {
                *next = if value == "1" { "-1" } else { "1" };
            }
            assert_eq!(compared("<", &other)?, less, "{value} at {place}");
            assert_eq!(compared(">=", &other)?, less.map(|less| !less), "{value} at {place}");
        }
    }
    assert_eq!(compared("<", &["0"; 300])?, Some(false));
    assert_eq!(compared("<=", &["0"; 300])?, Some(true));
    Ok(())
}
