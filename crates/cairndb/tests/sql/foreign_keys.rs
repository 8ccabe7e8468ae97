//! FOREIGN KEY: checks, actions, and the order of things within a statement.

use crate::common::{connect, fails, rows};
use cairndb::Result;

const PARENT: &str = "CREATE TABLE p (id int PRIMARY KEY, code text UNIQUE); INSERT INTO p VALUES (1, 'a'), (2, 'b');";

#[test]
fn a_reference_must_exist_and_a_referenced_row_must_stay() -> Result<()> {
    let conn = connect(PARENT);
    conn.execute("CREATE TABLE c (id int PRIMARY KEY, p_id int REFERENCES p)", ())?;
    conn.execute("INSERT INTO c VALUES (1, 1), (2, NULL)", ())?;
    let error = fails(&conn, "INSERT INTO c VALUES (3, 9)", "23503");
    assert_eq!(error.message(), "insert or update on table \"c\" violates foreign key constraint \"c_p_id_fkey\"");
    assert_eq!(error.detail(), Some("Key (p_id)=(9) is not present in table \"p\"."));
    fails(&conn, "UPDATE c SET p_id = 9 WHERE id = 2", "23503");
    let error = fails(&conn, "DELETE FROM p WHERE id = 1", "23503");
    assert_eq!(
        error.message(),
        "update or delete on table \"p\" violates foreign key constraint \"c_p_id_fkey\" on table \"c\""
    );
    assert_eq!(error.detail(), Some("Key (id)=(1) is still referenced from table \"c\"."));
    fails(&conn, "UPDATE p SET id = 5 WHERE id = 1", "23503");
    assert_eq!(conn.execute("DELETE FROM p WHERE id = 2", ())?, 1);
    assert_eq!(conn.execute("UPDATE p SET code = 'z' WHERE id = 1", ())?, 1);
    Ok(())
}

#[test]
fn actions_follow_the_parent() -> Result<()> {
    let conn = connect(PARENT);
    conn.execute_script(
        "INSERT INTO p VALUES (0, 'zero'), (3, 'c');\
         CREATE TABLE cascaded (id int PRIMARY KEY, p int REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE);\
         CREATE TABLE nulled (id int PRIMARY KEY, p int REFERENCES p ON DELETE SET NULL ON UPDATE SET NULL);\
         CREATE TABLE defaulted (id int, p int DEFAULT 0 REFERENCES p ON DELETE SET DEFAULT ON UPDATE SET DEFAULT);\
         CREATE TABLE below (c int REFERENCES cascaded ON DELETE CASCADE);\
         INSERT INTO cascaded VALUES (1, 1), (2, 2), (3, 3);\
         INSERT INTO nulled VALUES (1, 1), (2, 2);\
         INSERT INTO defaulted VALUES (1, 1), (2, 2);\
         INSERT INTO below VALUES (1), (2), (1)",
    )?;
    assert_eq!(conn.execute("DELETE FROM p WHERE id = 1", ())?, 1);
    assert_eq!(conn.execute("UPDATE p SET id = 20 WHERE id = 2", ())?, 1);
    assert_eq!(rows(&conn, "SELECT * FROM cascaded ORDER BY id"), ["2|20", "3|3"]);
    assert_eq!(rows(&conn, "SELECT * FROM nulled ORDER BY id"), ["1|NULL", "2|NULL"]);
    assert_eq!(rows(&conn, "SELECT * FROM defaulted ORDER BY id"), ["1|0", "2|0"]);
    assert_eq!(rows(&conn, "SELECT c FROM below"), ["2"]);
    fails(&conn, "DELETE FROM p WHERE id = 0", "23503");
    Ok(())
}

#[test]
fn rows_of_one_statement_may_refer_to_each_other() -> Result<()> {
    let conn = connect("CREATE TABLE t (id int PRIMARY KEY, boss int REFERENCES t ON DELETE CASCADE)");
    conn.execute("INSERT INTO t VALUES (3, 1), (1, NULL), (2, 3)", ())?;
    fails(&conn, "INSERT INTO t VALUES (4, 5)", "23503");
    conn.execute("INSERT INTO t SELECT n, n - 1 FROM generate_series(4, 2000) AS s(n)", ())?;
    assert_eq!(conn.execute("DELETE FROM t WHERE id = 1", ())?, 1);
    assert_eq!(rows(&conn, "SELECT count(*) FROM t"), ["0"]);
    Ok(())
}

#[test]
fn no_action_waits_for_the_statements_end_but_restrict_does_not() -> Result<()> {
    let conn = connect(PARENT);
    conn.execute_script(
        "CREATE TABLE c (p int REFERENCES p); INSERT INTO c VALUES (1);\
         CREATE TABLE r (p int REFERENCES p ON UPDATE RESTRICT);",
    )?;
    conn.execute("UPDATE p SET id = 3 - id", ())?;
    conn.execute("INSERT INTO r VALUES (2)", ())?;
    fails(&conn, "UPDATE p SET id = 3 - id", "23503");
    Ok(())
}

#[test]
fn keys_of_several_columns_and_other_types_refer_too() -> Result<()> {
    let conn = connect("CREATE TABLE p (a bigint, b text, PRIMARY KEY (a, b)); INSERT INTO p VALUES (1, 'x')");
    conn.execute_script(
        "CREATE TABLE c (y varchar(5), x smallint, FOREIGN KEY (x, y) REFERENCES p (a, b) ON UPDATE CASCADE);\
         INSERT INTO c VALUES ('x', 1), (NULL, 7), ('q', NULL)",
    )?;
    fails(&conn, "INSERT INTO c VALUES ('x', 2)", "23503");
    conn.execute("UPDATE p SET a = 5, b = 'yy'", ())?;
    assert_eq!(rows(&conn, "SELECT * FROM c WHERE x = 5"), ["yy|5"]);
    fails(&conn, "UPDATE p SET a = 100000", "22003");
    Ok(())
}

#[test]
fn foreign_keys_that_make_no_sense_are_refused() -> Result<()> {
    let conn = connect(PARENT);
    conn.execute("CREATE TABLE nokey (a int)", ())?;
    fails(&conn, "CREATE TABLE c (a int REFERENCES missing)", "42P01");
    fails(&conn, "CREATE TABLE c (a int REFERENCES nokey)", "42704");
    fails(&conn, "CREATE TABLE c (a int REFERENCES nokey (a))", "42830");
    fails(&conn, "CREATE TABLE c (a int REFERENCES p (nothing))", "42703");
    fails(&conn, "CREATE TABLE c (a date REFERENCES p)", "42804");
    fails(&conn, "CREATE TABLE c (a int, b int, FOREIGN KEY (a, b) REFERENCES p (id))", "42830");
    conn.execute("CREATE TABLE c (code text REFERENCES p (code))", ())?;
    Ok(())
}

#[test]
fn adding_a_foreign_key_checks_the_rows_that_are_there() -> Result<()> {
    let conn = connect(PARENT);
    conn.execute_script("CREATE TABLE c (p int); INSERT INTO c VALUES (1), (7), (NULL)")?;
    let add = "ALTER TABLE c ADD CONSTRAINT c_p FOREIGN KEY (p) REFERENCES p";
    let error = fails(&conn, add, "23503");
    assert_eq!(error.detail(), Some("Key (p)=(7) is not present in table \"p\"."));
    conn.execute("DELETE FROM c WHERE p = 7", ())?;
    conn.execute(add, ())?;
    fails(&conn, "DELETE FROM p WHERE id = 1", "23503");
    conn.execute("ALTER TABLE c DROP CONSTRAINT c_p", ())?;
    assert_eq!(conn.execute("DELETE FROM p WHERE id = 1", ())?, 1);
    Ok(())
}
