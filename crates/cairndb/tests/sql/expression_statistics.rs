//! What is known of the values that indexes' expressions have, and plans that hang on it.

use crate::common::{connect, rows};
use cairndb::{Connection, Database, Params, Result};

/// The plan of a statement with these parameters.
fn plan(conn: &Connection, sql: &str, params: impl Params) -> String {
    let mut lines = conn.query(&format!("EXPLAIN {sql}"), params).expect(sql);
    let mut plan = String::new();
    while let Some(line) = lines.next().expect(sql) {
        plan.push_str(&line.get::<String>(0).expect(sql));
        plan.push('\n');
    }
    plan
}

/// How many rows the first node of it is expected to give.
fn expected(plan: &str) -> f64 {
    let rows = plan.split("rows=").nth(1).and_then(|rest| rest.split(' ').next());
    rows.and_then(|rows| rows.parse().ok()).expect("a number of rows")
}

fn is_near(expected: f64, right: f64) -> bool {
    expected > right / 1.5 && expected < right * 1.5
}

fn assert_near(expected: f64, right: f64) {
    assert!(is_near(expected, right), "{expected} in place of {right}");
}

/// As a sample of 1,600 of 20,000 rows tells it: few rows within four times what chance has their number differ by (where each is as
/// likely as any other to be in it: so [`DOCS`] spreads equal ages over the table).
fn assert_sampled(expected: f64, right: f64) {
    let (found, likely) = (expected * 0.08, right * 0.08);
    let is_chance = (found - likely).abs() <= 4.0 * likely.sqrt() + 2.0;
    assert!(is_near(expected, right) || is_chance, "{expected} in place of {right}");
}

const DOCS: &str = r#"INSERT INTO d (doc) SELECT jsonb_build_object('age', g * 7919 % 1000, 'name', 'n' || g * 7919 % 1000, 'more', repeat('x', 100))
    FROM generate_series(1, 20000) AS s(g)"#;

const COLLECTION: &str = "CREATE TABLE d () WITH (collection = on); CREATE INDEX by_age ON d ((doc -> 'age'));
    CREATE INDEX by_number ON d (((doc ->> 'age')::int))";

/// A range of an expression is worth its index where few rows lie in it: what ANALYZE found says so, and a sample where nobody analyzed.
#[test]
fn a_range_asks_the_index_where_few_rows_lie_in_it() {
    for analyze in ["", "ANALYZE d"] {
        let conn = connect(&format!("{COLLECTION}; {DOCS}; {analyze}"));
        for (condition, index, right) in [
            ("(doc ->> 'age')::int > 980", Some("by_number"), 380.0),
            ("(doc ->> 'age')::int < 20", Some("by_number"), 400.0),
            ("(doc ->> 'age')::int BETWEEN 400 AND 430", Some("by_number"), 620.0),
            ("(doc ->> 'age')::int > 200", None, 15_980.0),
            ("doc -> 'age' > '980'", Some("by_age"), 380.0),
            ("doc -> 'age' >= '100'", None, 18_000.0),
            ("(doc ->> 'age')::int = 7", Some("by_number"), 20.0),
        ] {
            let sql = format!("SELECT id FROM d WHERE {condition}");
            let plan = plan(&conn, &sql, ());
            match index {
                Some(index) => assert!(plan.contains(&format!("using {index} on d")), "{condition}: {plan}"),
                None => assert!(plan.contains("Seq Scan on d"), "{condition}: {plan}"),
            }
            match analyze {
                "" => assert_sampled(expected(&plan), right),
                _ => assert_near(expected(&plan), right),
            }
            let count = rows(&conn, &format!("SELECT count(*) FROM d WHERE {condition}"));
            assert_near(count[0].parse().expect("a number"), right);
        }
    }
}

/// What a plan of a parameter is made for are the values that it has, in EXPLAIN and when it runs.
#[test]
fn a_parameter_decides_as_the_value_that_it_has() -> Result<()> {
    let conn = connect(&format!(
        "{COLLECTION}; {DOCS}; ANALYZE d; CREATE TABLE n (id int, v int); CREATE INDEX on_v ON n (v);
        INSERT INTO n SELECT g, g FROM generate_series(1, 20000) AS s(g); ANALYZE n"
    ));
    for (sql, index, few, many) in [
        ("SELECT id FROM d WHERE (doc ->> 'age')::int > $1", "by_number", 980, 3),
        ("SELECT id FROM n WHERE v > $1", "on_v", 19_900, 3),
        ("SELECT id FROM n WHERE v BETWEEN $1 AND 19950", "on_v", 19_900, 3),
    ] {
        let (of_few, of_many) = (plan(&conn, sql, (few,)), plan(&conn, sql, (many,)));
        assert!(of_few.contains(&format!("using {index} on ")), "{of_few}");
        assert!(of_many.contains("Seq Scan on "), "{of_many}");
        let unknown = plan(&conn, sql, (None::<i32>,));
        assert!(unknown.contains("Seq Scan on "), "{unknown}");
        // The same statement, run with one and the other by turns.
        let mut statement = conn.prepare(sql)?;
        for value in [few, many, few, 0, 19_999, many] {
            let literal = rows(&conn, &format!("SELECT count(*) FROM ({}) q", sql.replace("$1", &value.to_string())));
            assert_eq!(statement.query((value,))?.into_iter().count().to_string(), literal[0], "{sql}: {value}");
        }
    }
    Ok(())
}

/// A filter says its values as parameters.
#[test]
fn a_filter_of_a_range_asks_the_index_where_few_documents_lie_in_it() -> Result<()> {
    let conn = connect(&format!("{COLLECTION}; {DOCS}"));
    let collection = conn.collection("d")?;
    for (filter, few) in [(r#"{"age": {"$gt": 989}}"#, true), (r#"{"age": {"$gte": 200}}"#, false)] {
        let (sql, params) = collection.find(filter).sql()?;
        let plan = plan(&conn, &sql, params);
        assert_eq!(plan.contains("using by_age on d"), few, "{plan}");
        assert_eq!(collection.find(filter).count()?, if few { 200 } else { 16_000 });
    }
    Ok(())
}

/// An index of some rows: what is known of its expression is of those, and told where the query asks for no others.
#[test]
fn of_a_partial_index_only_its_rows_count() {
    let conn = connect(
        "CREATE TABLE t (id int PRIMARY KEY, n int, kept bool);
         INSERT INTO t SELECT g, g, g % 10 = 0 FROM generate_series(1, 20000) AS s(g);
         CREATE INDEX half ON t ((100000 / (n % 10 + 1))) WHERE kept;
         CREATE INDEX other ON t ((100000 / (n - 3))) WHERE n > 10000; ANALYZE t",
    );
    // All that are kept have 100000 there; of the others nothing is asked.
    assert_near(expected(&plan(&conn, "SELECT id FROM t WHERE kept AND 100000 / (n % 10 + 1) > 90000", ())), 2000.0);
    // It is not evaluated for rows that have no entry: for n = 3 it would fail.
    assert_eq!(rows(&conn, "SELECT count(*) FROM pg_stats WHERE tablename = 'other'"), ["1"]);
}

/// Statistics of an index that is gone, or has become another, are none.
#[test]
fn they_go_with_the_index_and_come_back_with_the_file() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.cairn");
    let database = Database::open(&path)?;
    let conn = database.connect()?;
    conn.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t SELECT g, g FROM generate_series(1, 2000) AS s(g);
         ANALYZE t; CREATE INDEX twice ON t ((n * 2))",
    )?;
    let known = "SELECT attname, null_frac, n_distinct FROM pg_stats WHERE tablename = 'twice'";
    // As in a file of a library that kept none: nothing is known of it.
    let asked = "SELECT id FROM t WHERE n * 2 > 3980";
    assert!(rows(&conn, known).is_empty());
    assert_near(expected(&plan(&conn, asked, ())), 667.0);
    conn.execute("ANALYZE t", ())?;
    assert_eq!(rows(&conn, known), ["expr|0|-1"]);
    assert!(expected(&plan(&conn, asked, ())) < 30.0);
    drop(conn);
    database.close()?;
    let database = Database::open(&path)?;
    let conn = database.connect()?;
    assert!(expected(&plan(&conn, asked, ())) < 30.0);
    // Columns come and go beside them.
    conn.execute_script("ALTER TABLE t ADD COLUMN more int DEFAULT 7; ALTER TABLE t DROP COLUMN more")?;
    assert!(expected(&plan(&conn, asked, ())) < 30.0);
    // Another index takes its place in the table, of another type.
    conn.execute_script("DROP INDEX twice; CREATE INDEX twice ON t ((n || 'x'))")?;
    assert!(rows(&conn, known).is_empty());
    assert!(expected(&plan(&conn, "SELECT id FROM t WHERE n || 'x' > '9'", ())) > 200.0);
    conn.execute_script("DROP INDEX twice; CREATE INDEX twice ON t ((n * 2)); ALTER TABLE t ALTER n TYPE bigint")?;
    assert!(rows(&conn, known).is_empty());
    database.verify()?;
    Ok(())
}

/// Functions that users made are called by ANALYZE, and by nobody who plans a statement.
#[test]
fn functions_of_users_are_called_by_analyze_alone() {
    let conn = connect(
        "CREATE FUNCTION bucket(n int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT n / 100';
         CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t SELECT g, g FROM generate_series(1, 20000) AS s(g);
         CREATE INDEX by_bucket ON t (bucket(n))",
    );
    let asked = "SELECT id FROM t WHERE bucket(n) > 198";
    assert!(plan(&conn, asked, ()).contains("Seq Scan on t"));
    conn.execute("ANALYZE t", ()).expect("analyzes");
    let found = plan(&conn, asked, ());
    assert!(found.contains("using by_bucket on t"), "{found}");
}
