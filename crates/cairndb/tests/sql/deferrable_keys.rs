//! UNIQUE and PRIMARY KEY that may wait, where PostgreSQL can not be asked: what others do meanwhile, what files keep, and what
//! verify says of them.

use crate::common::{connect, fails, rows};
use cairndb::schema::IndexKind;
use cairndb::{Database, Result};

const TABLE: &str = "CREATE TABLE t (id int PRIMARY KEY DEFERRABLE, n int UNIQUE DEFERRABLE INITIALLY DEFERRED);
     INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)";

#[test]
fn what_is_double_is_told_with_its_key() -> Result<()> {
    let conn = connect(TABLE);
    let error = fails(&conn, "INSERT INTO t VALUES (2, 40)", "23505");
    assert_eq!(error.message(), "duplicate key value violates unique constraint \"t_pkey\"");
    assert_eq!((error.detail(), error.constraint()), (Some("Key (id)=(2) already exists."), Some("t_pkey")));
    conn.execute_script("BEGIN; INSERT INTO t VALUES (4, 20), (5, 20), (6, 30)")?;
    let error = fails(&conn, "COMMIT", "23505");
    assert_eq!((error.detail(), error.constraint()), (Some("Key (n)=(20) already exists."), Some("t_n_key")));
    assert_eq!(rows(&conn, "SELECT * FROM t ORDER BY id"), ["1|10", "2|20", "3|30"]);
    Ok(())
}

#[test]
fn prepared_statements_and_copies_keep_rows_apart() -> Result<()> {
    let conn = connect(TABLE);
    let mut insert = conn.prepare("INSERT INTO t VALUES ($1, $2)")?;
    let mut update = conn.prepare("UPDATE t SET id = $1 WHERE n = $2")?;
    for _ in 0..3 {
        assert_eq!(insert.execute([2, 99]).expect_err("refused").sqlstate().0, "23505");
        assert_eq!(insert.execute([9, 20]).expect_err("refused").sqlstate().0, "23505");
        assert_eq!(update.execute([1, 20]).expect_err("refused").sqlstate().0, "23505");
    }
    insert.execute([4, 40])?;
    update.execute([5, 40])?;
    fails(&conn, "INSERT INTO t SELECT i, i FROM generate_series(100, 3000) i UNION ALL VALUES (2999, 0)", "23505");
    let data = "7\t70\n7\t71\n";
    assert_eq!(conn.copy_in("COPY t FROM STDIN", data.as_bytes()).expect_err("refused").sqlstate().0, "23505");
    assert_eq!(rows(&conn, "SELECT * FROM t ORDER BY id"), ["1|10", "2|20", "3|30", "5|40"]);
    Ok(())
}

#[test]
fn of_two_transactions_with_the_same_key_one_loses() -> Result<()> {
    let conn = connect(TABLE);
    let other = conn.database().connect()?;
    for (conn, id) in [(&conn, 4), (&other, 5)] {
        conn.execute_script(&format!("BEGIN; INSERT INTO t VALUES ({id}, 50)"))?;
    }
    conn.execute_script("COMMIT")?;
    let error = fails(&other, "COMMIT", "40001");
    assert!(!error.message().is_empty());
    assert_eq!(rows(&conn, "SELECT id FROM t WHERE n = 50"), ["4"]);
    Ok(())
}

#[test]
fn keys_pass_through_each_other_over_statements() -> Result<()> {
    let conn = connect(TABLE);
    conn.execute_script(
        "BEGIN; SET CONSTRAINTS ALL DEFERRED; UPDATE t SET id = 7; UPDATE t SET id = n / 10 + 1; UPDATE t SET n = 0;
         UPDATE t SET n = id; COMMIT",
    )?;
    assert_eq!(rows(&conn, "SELECT * FROM t ORDER BY id"), ["2|2", "3|3", "4|4"]);
    conn.execute("UPDATE t SET id = id + 1", ())?;
    assert_eq!(rows(&conn, "SELECT id FROM t ORDER BY id"), ["3", "4", "5"]);
    conn.database().verify().expect("is whole");
    assert_eq!(conn.database().verify_constraints()?, []);
    Ok(())
}

#[test]
fn files_keep_them() -> Result<()> {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("file.cairn");
    let database = Database::open(&path)?;
    database.connect()?.execute_script(TABLE)?;
    database.close()?;
    let database = Database::open(&path)?;
    let conn = database.connect()?;
    fails(&conn, "INSERT INTO t VALUES (2, 40)", "23505");
    conn.execute_script("BEGIN; INSERT INTO t VALUES (4, 20); UPDATE t SET n = 40 WHERE id = 4; COMMIT")?;
    let schema = conn.schema()?;
    let indexes = &schema.table("t").expect("the table").indexes;
    let said: Vec<_> = indexes.iter().map(|of| (of.kind, of.deferrable, of.initially_deferred)).collect();
    assert_eq!(said, [(IndexKind::PrimaryKey, true, false), (IndexKind::UniqueConstraint, true, true)]);
    database.verify().expect("is whole");
    Ok(())
}
