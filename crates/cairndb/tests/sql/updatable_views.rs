//! Views through which rows are changed, where PostgreSQL can not be asked: what is refused here, and statements that are run again.

use crate::common::{connect, fails, rows};
use cairndb::Result;

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

#[test]
fn a_view_with_check_option_asks_what_it_is_made_of_now() {
    let conn = connect(SCHEMA);
    let reads = "SELECT id, b FROM t WHERE EXISTS (SELECT FROM t u WHERE u.id = t.id - 1)";
    conn.execute_script(&format!("CREATE VIEW c AS {reads} WITH CHECK OPTION")).expect("a view");
    fails(&conn, "INSERT INTO c VALUES (100, 1)", "44000");
    // A view that is made of it asks for it later.
    conn.execute_script(
        "CREATE VIEW inner_one AS SELECT id, b FROM t WHERE b < 50;
         CREATE VIEW outer_one AS SELECT id, b FROM inner_one WITH CHECK OPTION;
         INSERT INTO outer_one VALUES (8, 8)",
    )
    .expect("views");
    conn.execute_script(&format!("CREATE OR REPLACE VIEW inner_one AS {reads}")).expect("replaced");
    fails(&conn, "INSERT INTO outer_one VALUES (11, 9)", "44000");
    assert_eq!(conn.execute("INSERT INTO outer_one VALUES (9, 9)", ()).expect("inserted"), 1);
    assert_eq!(conn.execute("DELETE FROM outer_one WHERE id = 2", ()).expect("deleted"), 1);
    fails(&conn, "ALTER VIEW c SET (security_invoker = true)", "0A000");
}

/// Rows that a trigger of a view was given are none of the table's.
#[test]
fn what_a_trigger_was_given_is_looked_at_without_queries() {
    let conn = connect(SCHEMA);
    conn.execute_script(
        "CREATE VIEW below AS SELECT id, b FROM t;
         CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
         CREATE TRIGGER n INSTEAD OF INSERT ON below FOR EACH ROW EXECUTE FUNCTION nothing();
         CREATE VIEW above AS SELECT id, b FROM below WHERE id > (SELECT min(id) FROM t) WITH CHECK OPTION",
    )
    .expect("views");
    let error = fails(&conn, "INSERT INTO above VALUES (11, 9)", "0A000");
    assert_eq!(error.message(), "a subquery in the condition of the view \"above\" WITH CHECK OPTION is not supported");
}

#[test]
fn triggers_and_check_options_outlive_the_process() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("views.cairn");
    {
        let database = cairndb::Database::open(&path)?;
        let conn = database.connect()?;
        conn.execute_script(SCHEMA)?;
        conn.execute_script(
            "CREATE VIEW checked AS SELECT id, b FROM t WHERE b < 10 WITH LOCAL CHECK OPTION;
             CREATE VIEW summed AS SELECT sum(b) AS total FROM t;
             CREATE FUNCTION spread() RETURNS trigger LANGUAGE plpgsql AS
               $$ BEGIN UPDATE t SET b = NEW.total; RETURN NEW; END $$;
             CREATE TRIGGER spreads INSTEAD OF UPDATE ON summed FOR EACH ROW EXECUTE FUNCTION spread()",
        )?;
    }
    let database = cairndb::Database::open(&path)?;
    let conn = database.connect()?;
    let error = fails(&conn, "INSERT INTO checked VALUES (4, 40)", "44000");
    assert_eq!(error.detail(), Some("Failing row contains (4, null, 40)."));
    assert_eq!(rows(&conn, "UPDATE summed SET total = 6 RETURNING *"), ["6"]);
    assert_eq!(rows(&conn, "SELECT sum(b) FROM t"), ["18"]);
    Ok(())
}

#[test]
fn what_triggers_do_is_refused_where_nothing_is_written() -> Result<()> {
    let conn = connect(SCHEMA);
    conn.execute_script(
        "CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
         CREATE TRIGGER nothing INSTEAD OF INSERT ON whole FOR EACH ROW EXECUTE FUNCTION nothing();
         BEGIN READ ONLY",
    )?;
    fails(&conn, "INSERT INTO whole VALUES (9)", "25006");
    conn.execute_script("ROLLBACK")?;
    assert_eq!(conn.execute("INSERT INTO whole VALUES (9, 'x', 1, 2), (10, 'y', 1, 2)", ())?, 2);
    assert_eq!(rows(&conn, "SELECT count(*) FROM t"), ["3"]);
    let plan = rows(&conn, "EXPLAIN INSERT INTO whole SELECT * FROM whole").join("\n");
    assert!(plan.starts_with("Insert on whole"), "{plan}");
    Ok(())
}

#[test]
fn rows_are_copied_to_the_triggers_of_a_view() -> Result<()> {
    let conn = connect(SCHEMA);
    let refused = conn.copy_in("COPY whole (id, a) FROM STDIN", &b"7\tx\n"[..]).expect_err("no trigger");
    assert_eq!((refused.sqlstate().0, refused.message()), ("42809", "cannot copy to view \"whole\""));
    assert_eq!(refused.hint(), Some("To enable copying to a view, provide an INSTEAD OF INSERT trigger."));
    conn.execute_script(
        "CREATE FUNCTION adds() RETURNS trigger LANGUAGE plpgsql AS
           $$ BEGIN IF NEW.id > 100 THEN RETURN NULL; END IF;
              INSERT INTO t VALUES (NEW.id, upper(NEW.a), NEW.more); RETURN NEW; END $$;
         CREATE TRIGGER adds INSTEAD OF INSERT ON whole FOR EACH ROW EXECUTE FUNCTION adds()",
    )?;
    let lines = b"10,ten,5\n11,eleven,\n101,none,1\n";
    assert_eq!(conn.copy_in("COPY whole (id, a, more) FROM STDIN CSV", &lines[..])?, 2);
    assert_eq!(rows(&conn, "SELECT * FROM t WHERE id > 9 ORDER BY id"), ["10|TEN|5", "11|ELEVEN|NULL"]);
    let failed = conn.copy_in("COPY whole (id, a) FROM STDIN CSV", &b"12,twelve\n10,again\n"[..]).expect_err("twice");
    assert_eq!(failed.sqlstate().0, "23505");
    assert_eq!(rows(&conn, "SELECT count(*) FROM t WHERE id = 12"), ["0"]);
    Ok(())
}
