//! Parameters by name, of statements that run once and of those that are prepared.

use cairndb::{Connection, Database, Result, SqlState, params};

fn with_rows() -> Result<Connection> {
    let connection = Database::open_in_memory()?.connect()?;
    connection.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, name text, list int[]);
         INSERT INTO t VALUES (1, 'one', '{1,2,3}'), (2, 'two', '{4,5,6}')",
    )?;
    Ok(connection)
}

#[test]
fn a_prepared_statement_takes_them_in_any_order() -> Result<()> {
    let connection = with_rows()?;
    let mut insert = connection.prepare("INSERT INTO t (id, name) VALUES (:id, :name)")?;
    assert!(insert.is_point());
    insert.execute(params! { name: "three", id: 3 })?;
    insert.execute_async(params! { id: 4, name: "four" })?.wait()?;
    let mut point = connection.prepare("SELECT name FROM t WHERE id = :id")?;
    let name = point.query_point(params! { id: 3 }, |row| row.get_str(0).map(str::to_owned))?;
    assert_eq!(name.flatten().as_deref(), Some("three"));
    assert_eq!(point.query_row(params! { id: 4 }, |row| row.get::<String>(0))?, "four");
    let mut range =
        connection.prepare("SELECT id FROM t WHERE id BETWEEN :low AND :high AND id <> :low ORDER BY id")?;
    assert_eq!(range.parameter_types().len(), 2, "a name that is there twice is one parameter");
    let ids = range.query_as::<i32>(params! { high: 3, low: 1 })?.collect::<Result<Vec<_>>>()?;
    assert_eq!(ids, [2, 3]);
    let ids = range.query_as::<i32>((2, 4))?.collect::<Result<Vec<_>>>()?;
    assert_eq!(ids, [3, 4], "without names: in the order in which the text has them");
    Ok(())
}

#[test]
fn what_reads_as_a_slice_is_one() -> Result<()> {
    let connection = with_rows()?;
    let mut slice = connection.prepare("SELECT list[1:id] FROM t WHERE id = $1")?;
    assert_eq!(slice.query_row((2,), |row| row.get::<Vec<i32>>(0))?, [4, 5]);
    let mut both = connection.prepare("SELECT list[1: id], ':no', name::text FROM t WHERE id = :id -- :neither")?;
    assert_eq!(both.query_row(params! { id: 2 }, |row| row.get::<Vec<i32>>(0))?, [4, 5]);
    Ok(())
}

#[test]
fn names_that_do_not_match_are_told() -> Result<()> {
    let connection = with_rows()?;
    let mut named = connection.prepare("SELECT name FROM t WHERE id = :id")?;
    for error in [
        named.query(params! { number: 1 }).map(drop).expect_err("another name"),
        named.query(params! { id: 1, more: 2 }).map(drop).expect_err("a name too many"),
        connection.prepare("SELECT 1 + $1")?.query(params! { id: 1 }).map(drop).expect_err("a statement without names"),
        connection.query("SELECT :id::int", params! { number: 1 }).map(drop).expect_err("another name"),
    ] {
        assert_eq!(error.sqlstate(), SqlState::UNDEFINED_PARAMETER, "{error}");
    }
    assert_eq!(named.query_row(params! { ID: 1 }, |row| row.get::<String>(0))?, "one", "names are folded");
    let error = connection.prepare("SELECT FROM WHERE :id").map(drop).expect_err("no statement");
    assert_eq!((error.sqlstate(), error.position()), (SqlState::SYNTAX_ERROR, Some(13)));
    // A transaction in which it went wrong is over, as after any other error.
    connection.execute("BEGIN", ())?;
    named.execute(params! { number: 1 }).expect_err("another name");
    assert_eq!(connection.execute("SELECT 1", ()).expect_err("it failed").sqlstate(), SqlState("25P02"));
    connection.execute("ROLLBACK", ())?;
    Ok(())
}
