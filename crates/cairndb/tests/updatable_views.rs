//! Views through which rows are changed, where PostgreSQL can not be asked: what is refused here, and statements that are run again.

mod common;

use cairndb::Result;
use common::{connect, fails, rows};

const SCHEMA: &str = "CREATE TABLE t (id int PRIMARY KEY, a text, b int DEFAULT 7);
     INSERT INTO t VALUES (1, 'one', 1), (2, 'two', 2), (3, 'three', 30);
     CREATE VIEW v AS SELECT a AS name, id FROM t WHERE b < 10;
     CREATE VIEW whole AS SELECT id, a, b, b + 1 AS more FROM t";

#[test]
fn what_has_no_row_of_a_table_behind_it_says_why() {
    let conn = connect(SCHEMA);
    conn.execute_script("CREATE VIEW g AS SELECT b FROM t GROUP BY b; CREATE VIEW h AS SELECT b FROM g")
        .expect("views");
    let error = fails(&conn, "UPDATE g SET b = 1", "55000");
    assert_eq!(error.message(), "cannot update view \"g\"");
    assert_eq!(error.detail(), Some("Views containing GROUP BY are not automatically updatable."));
    assert_eq!(fails(&conn, "DELETE FROM h", "55000").message(), "cannot delete from view \"g\"");
    let error = fails(&conn, "INSERT INTO whole VALUES (4, 'x', 1, 2)", "0A000");
    assert_eq!(error.message(), "cannot insert into column \"more\" of view \"whole\"");
    let error = fails(&conn, "UPDATE whole SET more = 2", "0A000");
    assert_eq!(error.message(), "cannot update column \"more\" of view \"whole\"");
    fails(&conn, "INSERT INTO v VALUES ('x', 4) ON CONFLICT DO NOTHING", "0A000");
    fails(&conn, "CREATE VIEW c AS SELECT id FROM t WITH CHECK OPTION", "0A000");
    fails(&conn, "UPDATE v SET b = 1", "42703");
}

#[test]
fn statements_are_prepared_and_follow_the_view() -> Result<()> {
    let conn = connect(SCHEMA);
    let mut update = conn.prepare("UPDATE v SET name = $2 WHERE id = $1 RETURNING name, id")?;
    let mut whole = conn.prepare("UPDATE whole SET b = b + 1 WHERE id = $1 RETURNING more")?;
    let mut insert = conn.prepare("INSERT INTO v (id, name) VALUES ($1, $2)")?;
    let mut delete = conn.prepare("DELETE FROM v WHERE id = $1")?;
    for _ in 0..2 {
        assert_eq!(update.query_row((1, "uno"), |row| row.get::<String>(0))?, "uno");
        assert!(update.query_row((3, "tres"), |row| row.get::<String>(0)).is_err());
    }
    assert_eq!(whole.query_row([3], |row| row.get::<i32>(0))?, 32);
    assert_eq!((insert.execute((4, "four"))?, delete.execute([3])?, delete.execute([2])?), (1, 0, 1));
    assert_eq!(rows(&conn, "SELECT * FROM t ORDER BY id"), ["1|uno|1", "3|three|31", "4|four|7"]);
    conn.execute_script("CREATE OR REPLACE VIEW v AS SELECT a AS name, id FROM t WHERE b > 10")?;
    assert_eq!((delete.execute([1])?, delete.execute([3])?), (0, 1));
    conn.execute_script("ALTER TABLE t DROP COLUMN b CASCADE")?;
    fails(&conn, "DELETE FROM v", "42P01");
    assert_eq!(delete.execute([1]).expect_err("gone").sqlstate().0, "42P01");
    Ok(())
}

#[test]
fn old_and_new_are_the_rows_of_the_view() -> Result<()> {
    let conn = connect(SCHEMA);
    let both = "UPDATE v SET name = upper(name) WHERE id = 2 RETURNING old.name, new.name, new.*";
    assert_eq!(rows(&conn, both), ["two|TWO|TWO|2"]);
    fails(&conn, "UPDATE v SET name = '' RETURNING old.b", "42703");
    assert_eq!(rows(&conn, "DELETE FROM whole WHERE more = 2 RETURNING old.more, more"), ["2|2"]);
    Ok(())
}
