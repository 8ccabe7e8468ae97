//! Arrays through the library: parameters, results, statements prepared and not, files opened again.

use cairndb::{Array, Connection, DataType, Database, Dimension, FromValue, Params, Result, SqlState, Value};

fn open() -> (tempfile::TempDir, Database) {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(directory.path().join("arrays.cairn")).unwrap();
    (directory, database)
}

/// The first column of the one row.
fn one<T: FromValue>(connection: &Connection, sql: &str, params: impl Params) -> Result<T> {
    connection.query_row(sql, params, |row| row.get(0))
}

#[test]
fn lists_are_parameters_and_results() -> Result<()> {
    let (_directory, database) = open();
    let connection = database.connect()?;
    connection.execute("CREATE TABLE t (id int PRIMARY KEY, n bigint[], s text[], d double precision[])", ())?;
    connection.execute("INSERT INTO t VALUES (1, $1, $2, $3)", (vec![1i64, -2], vec!["a", "b c"], vec![1.5f64]))?;
    connection.execute(
        "INSERT INTO t VALUES (2, $1, $2, $3)",
        (vec![Some(7i32), None], None::<Vec<String>>, Vec::<f64>::new()),
    )?;
    let text = |column: &str, id: i32| format!("SELECT {column} FROM t WHERE id = {id}");
    assert_eq!(one::<Vec<i64>>(&connection, &text("n", 1), ())?, [1, -2]);
    assert_eq!(one::<Vec<String>>(&connection, &text("s", 1), ())?, ["a", "b c"]);
    assert_eq!(one::<Vec<f64>>(&connection, &text("d", 1), ())?, [1.5]);
    assert_eq!(one::<Vec<Option<i32>>>(&connection, &text("n", 2), ())?, [Some(7), None]);
    assert_eq!(one::<Option<Vec<String>>>(&connection, &text("s", 2), ())?, None);
    assert_eq!(one::<Vec<f64>>(&connection, &text("d", 2), ())?, [0.0; 0]);
    let refused = one::<Vec<i64>>(&connection, &text("n", 2), ()).unwrap_err();
    assert_eq!(refused.sqlstate(), SqlState::DATATYPE_MISMATCH);
    let ids = "SELECT array_agg(id ORDER BY id) FROM t WHERE id = ANY ($1)";
    assert_eq!(one::<Vec<i32>>(&connection, ids, (vec![1, 2, 9],))?, [1, 2]);
    assert_eq!(one::<i32>(&connection, "SELECT id FROM t WHERE n = $1", ("{1,-2}",))?, 1);
    Ok(())
}

#[test]
fn arrays_of_several_dimensions_are_values() -> Result<()> {
    let (_directory, database) = open();
    let connection = database.connect()?;
    let dimensions = [Dimension { lower: 0, length: 2 }, Dimension { lower: 1, length: 2 }];
    let values = (1..=4).map(Value::Integer).collect();
    let array = Array::with_dimensions(DataType::Integer, &dimensions, values)?;
    let same: Value = one(&connection, "SELECT $1::int[]", (array.clone(),))?;
    assert_eq!(same.to_string(), "[0:1][1:2]={{1,2},{3,4}}");
    assert_eq!(same, Value::from(array.clone()));
    assert_eq!(one::<i32>(&connection, "SELECT ($1::int[])[1][2]", (array.clone(),))?, 4);
    let refused = one::<Vec<i32>>(&connection, "SELECT $1::int[]", (array,)).unwrap_err();
    assert_eq!(refused.sqlstate(), SqlState::DATATYPE_MISMATCH);
    Ok(())
}

#[test]
fn prepared_statements_by_key_read_and_write_arrays() -> Result<()> {
    let (directory, database) = open();
    {
        let connection = database.connect()?;
        connection.execute("CREATE TABLE t (k text[] PRIMARY KEY, a int[], c varchar(3)[], m int)", ())?;
        connection.execute("CREATE INDEX t_a ON t (a)", ())?;
        let mut insert = connection.prepare("INSERT INTO t VALUES ($1, $2, $3, 0)")?;
        for number in 0..50i32 {
            insert.execute((vec![format!("k{number}"), "x".to_owned()], vec![number, number % 7], vec!["abc"]))?;
        }
        let too_long = insert.execute((vec!["z"], vec![1], vec!["abcd"])).unwrap_err();
        assert_eq!(too_long.sqlstate(), SqlState::STRING_DATA_RIGHT_TRUNCATION);
        let twice = insert.execute((vec!["k7", "x"], vec![1], Vec::<String>::new())).unwrap_err();
        assert_eq!(twice.sqlstate(), SqlState::UNIQUE_VIOLATION);
        drop(insert);
        let mut update = connection.prepare("UPDATE t SET a = $2, m = m + 1 WHERE k = $1")?;
        assert_eq!(update.execute((vec!["k7", "x"], vec![70, 71, 72]))?, 1);
        drop(update);
        let mut element = connection.prepare("UPDATE t SET a[2] = $2 WHERE k = $1")?;
        assert_eq!(element.execute((vec!["k8", "x"], 800))?, 1);
        drop(element);
        let mut returned = connection.prepare("UPDATE t SET a = a || m WHERE k = $1 RETURNING a")?;
        let appended: Vec<i32> = returned.query_row((vec!["k9", "x"],), |row| row.get(0))?;
        assert_eq!(appended, [9, 2, 0]);
    }
    drop(database);
    let database = Database::open(directory.path().join("arrays.cairn"))?;
    database.verify()?;
    let connection = database.connect()?;
    let mut select = connection.prepare("SELECT a FROM t WHERE k = $1")?;
    let mut read = |key: &str| select.query_row((vec![key, "x"],), |row| row.get::<Vec<i32>>(0));
    assert_eq!(read("k7")?, [70, 71, 72]);
    assert_eq!(read("k8")?, [8, 800]);
    assert_eq!(read("k20")?, [20, 6]);
    assert_eq!(one::<String>(&connection, "SELECT k[1] FROM t WHERE a = $1", (vec![20, 6],))?, "k20");
    Ok(())
}

#[test]
fn every_type_has_arrays_that_are_stored_and_indexed() -> Result<()> {
    let (_directory, database) = open();
    let connection = database.connect()?;
    let elements = [
        ("boolean", "f", "t"),
        ("smallint", "-3", "7"),
        ("integer", "-70000", "5"),
        ("bigint", "-9223372036854775808", "1"),
        ("real", "-1.5", "NaN"),
        ("double precision", "0", "Infinity"),
        ("numeric", "1.50", "1e30"),
        ("numeric(8,3)", "1.500", "20.125"),
        ("text", "a b", "b"),
        ("varchar(5)", "\"\"", "abc"),
        ("char(4)", "a", "b"),
        ("bytea", "\"\\\\x00ff\"", "\"\\\\x01\""),
        ("date", "2024-02-29", "infinity"),
        ("time", "10:00", "23:59:59.5"),
        ("timestamp", "\"2024-02-29 10:00\"", "infinity"),
        ("timestamptz", "\"2024-02-29 10:00+00\"", "infinity"),
        ("interval", "\"1 day\"", "\"2 mons\""),
        ("uuid", "00000000-0000-0000-0000-000000000000", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ];
    for (number, (name, low, high)) in elements.into_iter().enumerate() {
        let table = format!("t{number}");
        connection.execute(&format!("CREATE TABLE {table} (a {name}[] PRIMARY KEY, b {name}[], n int)"), ())?;
        connection.execute(&format!("CREATE INDEX ON {table} (b DESC)"), ())?;
        let arrays = ["{}".to_owned(), format!("{{{low}}}"), format!("{{{low},NULL}}"), format!("{{{high},{low}}}")];
        for (n, array) in (0i32..).zip(&arrays) {
            connection.execute(&format!("INSERT INTO {table} VALUES ('{array}', '{array}', {n})"), ())?;
        }
        for order in ["a", "b", "a || b"] {
            let query = format!("SELECT array_agg(n ORDER BY {order}) FROM {table}");
            let sorted: Vec<i32> = one(&connection, &query, ())?;
            assert_eq!(sorted, [0, 1, 2, 3], "{name} by {order}");
        }
        for (n, array) in (0i32..).zip(&arrays) {
            let query = format!("SELECT n FROM {table} WHERE b = '{array}' AND a = b");
            assert_eq!(one::<i32>(&connection, &query, ())?, n, "{name}");
        }
    }
    database.verify()?;
    Ok(())
}

#[test]
fn a_list_of_keys_is_looked_up_in_the_index() -> Result<()> {
    let (_directory, database) = open();
    let connection = database.connect()?;
    connection.execute("CREATE TABLE t (id int PRIMARY KEY, kind text, n bigint)", ())?;
    connection.execute("INSERT INTO t SELECT g, 'k' || g % 100, g FROM generate_series(1, 10000) g", ())?;
    connection.execute("CREATE INDEX t_kind ON t (kind, n)", ())?;
    connection.execute("ANALYZE", ())?;
    let plan = |sql: &str| -> Result<String> {
        let lines = connection.query_map(&format!("EXPLAIN (COSTS OFF) {sql}"), (), |row| row.get::<String>(0))?;
        Ok(lines.collect::<Result<Vec<_>>>()?.join("; "))
    };
    let by_key = plan("SELECT n FROM t WHERE id = ANY (ARRAY(SELECT 5))")?;
    assert!(by_key.contains("Index Cond: (id = ANY ("), "{by_key}");
    let by_index = plan("SELECT id FROM t WHERE kind = ANY (ARRAY(SELECT 'k1' UNION SELECT 'k2'))")?;
    assert!(by_index.contains("Index Cond: (kind = ANY ("), "{by_index}");
    let mut prepared = connection.prepare("SELECT array_agg(id ORDER BY id) FROM t WHERE id = ANY ($1)")?;
    let mut found = |ids: Vec<Option<i32>>| prepared.query_row((ids,), |row| row.get::<Option<Vec<i32>>>(0));
    assert_eq!(found(vec![Some(7), None, Some(3), Some(7), Some(-1)])?, Some(vec![3, 7]));
    assert_eq!(found(vec![])?, None);
    assert_eq!(found((0..3000).map(Some).collect())?.map(|ids| ids.len()), Some(2999));
    // In key order, whatever the array's; beside other conditions; backwards.
    let ids: Vec<i32> = connection
        .query_map("SELECT id FROM t WHERE id = ANY ($1) ORDER BY id DESC LIMIT 2", (vec![5, 9, 1],), |row| row.get(0))?
        .collect::<Result<_>>()?;
    assert_eq!(ids, [9, 5]);
    let kinds = "SELECT count(*) FROM t WHERE kind = ANY ($1) AND n <= 1000";
    assert_eq!(connection.query_row(kinds, (vec!["k1", "k2", "none"],), |row| row.get::<i64>(0))?, 20);
    // Elements of another width.
    let narrow = "SELECT count(*) FROM t WHERE n = ANY ($1::smallint[]) AND kind = ANY ('{k1,k2}')";
    assert_eq!(connection.query_row(narrow, (vec![1i16, 2, 3],), |row| row.get::<i64>(0))?, 2);
    let mut update = connection.prepare("UPDATE t SET n = 0 WHERE id = ANY ($1)")?;
    assert_eq!(update.execute((vec![1, 2, 99_999],))?, 2);
    assert_eq!(connection.execute("DELETE FROM t WHERE kind = ANY ($1)", (vec!["k1"],))?, 100);
    database.verify()?;
    Ok(())
}
