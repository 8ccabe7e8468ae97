//! Files made by earlier libraries open and are the same.
//!
//! Each file of `fixtures` lies beside the statements that it was made from, by the last library that wrote its format.

use crate::common::{fails, rows};
use cairndb::{Connection, Database, Options, Result};

/// The file of this name, copied to where it may be written.
fn copied(name: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join(name);
    let fixture = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sql/fixtures").join(name);
    std::fs::copy(fixture, &copy).expect("copied");
    (folder, copy)
}

fn assert_same(conn: &Connection) {
    let customers = ["1|Ada|1815-12-10|12.50", "2|Bob|NULL|-3.00", "3|Cleo|2001-02-03|-99.99"];
    assert_eq!(rows(conn, "SELECT * FROM customer ORDER BY id"), customers);
    let orders = ["1|1|100|f|first", "2|1|105|f|NULL", "3|2|110|f|third"];
    assert_eq!(rows(conn, "SELECT * FROM orders ORDER BY id"), orders);
    assert_eq!(rows(conn, "SELECT id FROM orders WHERE customer = 1 ORDER BY id"), ["1", "2"]);
    assert_eq!(rows(conn, "SELECT * FROM part ORDER BY place"), ["1|1|something", "1|2|something", "1|3|something"]);
    assert_eq!(rows(conn, "SELECT * FROM without_key ORDER BY a"), ["1|x", "NULL|NULL"]);
    assert_eq!(rows(conn, "SELECT id FROM debtor ORDER BY id"), ["2", "3"]);
    assert_eq!(rows(conn, "SELECT * FROM bill ORDER BY who"), ["Ada|2|105", "Bob|1|110"]);
    assert_eq!(rows(conn, "SELECT * FROM of_both ORDER BY name"), ["Bob|1", "Cleo|NULL"]);
}

#[test]
fn a_file_of_format_2_opens_and_goes_on() -> Result<()> {
    let (_folder, path) = copied("format_2.cairn");
    let database = Database::open(&path)?;
    let conn = database.connect()?;
    assert_same(&conn);
    let inserted = "INSERT INTO customer (name) VALUES ('Dora') RETURNING id, balance";
    assert_eq!(rows(&conn, inserted), ["4|0.00"]);
    let ordered = "INSERT INTO orders (customer) VALUES (4) RETURNING id, number, paid";
    assert_eq!(rows(&conn, ordered), ["4|115|f"]);
    assert_eq!(rows(&conn, "SELECT n FROM drawn"), ["120"]);
    let position = conn.position().expect("a commit");
    assert!(conn.wait_for(position, std::time::Duration::ZERO)?, "the file knew of no openings");
    assert_eq!(fails(&conn, "INSERT INTO customer (name) VALUES ('')", "23514").constraint(), Some("named"));
    assert_eq!(fails(&conn, "UPDATE customer SET balance = -2000", "23514").constraint(), Some("sane"));
    fails(&conn, "INSERT INTO customer (name, \"Born\") VALUES ('Ada', '1815-12-10')", "23505");
    fails(&conn, "INSERT INTO orders (customer, note) VALUES (1, 'first')", "23505");
    fails(&conn, "INSERT INTO part VALUES (77, 1)", "23503");
    conn.execute("DELETE FROM orders WHERE id = 4", ())?;
    conn.execute("DELETE FROM customer WHERE id = 4", ())?;
    database.verify()?;
    assert_eq!(database.verify_constraints()?.len(), 0);
    drop(conn);
    database.close()?;
    let database = Database::open(&path)?;
    assert_same(&database.connect()?);
    assert!(database.connect()?.wait_for(position, std::time::Duration::ZERO)?, "a clean end begins no opening");
    Ok(())
}

#[test]
fn a_file_of_format_2_can_be_read_by_who_may_not_write() -> Result<()> {
    let (_folder, path) = copied("format_2.cairn");
    let database = Database::open_with(&path, Options::default().read_only(true))?;
    assert_same(&database.connect()?);
    Ok(())
}

#[test]
fn what_depends_on_what_is_known_of_a_file_of_format_2() -> Result<()> {
    let (_folder, path) = copied("format_2.cairn");
    let conn = Database::open(&path)?.connect()?;
    fails(&conn, "DROP TABLE customer", "2BP01");
    fails(&conn, "DROP VIEW debtor", "2BP01");
    fails(&conn, "DROP SEQUENCE customer_id_seq", "2BP01");
    fails(&conn, "DROP INDEX customer_pkey", "2BP01");
    fails(&conn, "ALTER TABLE customer DROP CONSTRAINT customer_pkey", "2BP01");
    fails(&conn, "ALTER TABLE customer DROP COLUMN balance", "2BP01");
    conn.execute("DROP TABLE customer CASCADE", ())?;
    fails(&conn, "SELECT * FROM bill", "42P01");
    fails(&conn, "SELECT * FROM of_both", "42P01");
    assert_eq!(rows(&conn, "SELECT * FROM orders ORDER BY id").len(), 3);
    Ok(())
}

#[test]
fn a_file_whose_rows_have_one_layout_opens_as_it_is_and_its_columns_come_and_go() -> Result<()> {
    let (_folder, path) = copied("format_4.cairn");
    let database = Database::open(&path)?;
    let conn = database.connect()?;
    let customers = ["1|Ada|1815-12-10|12.50|{a,b}", "2|Bob|NULL|-3.00|NULL", "3|Cleo|2001-02-03|-99.99|{}"];
    assert_eq!(rows(&conn, "SELECT * FROM customer ORDER BY id"), customers);
    let visits = "SELECT customer, seen, note, gone FROM visit ORDER BY note";
    assert_eq!(rows(&conn, visits), ["1|t|first|x", "3|f|third|z", "1|NULL|NULL|NULL"]);
    assert_eq!(rows(&conn, "SELECT * FROM altered ORDER BY d, a"), ["1|10|7", "NULL|NULL|7", "2|20|8"]);
    conn.execute_script(
        "ALTER TABLE visit DROP COLUMN gone, ADD COLUMN stars smallint DEFAULT 3, ADD COLUMN more text;
         ALTER TABLE customer ADD COLUMN since date NOT NULL DEFAULT '2020-02-02' CHECK (since < '2100-01-01');
         ALTER TABLE altered ADD COLUMN e numeric DEFAULT 1.5; ALTER TABLE altered DROP COLUMN c;
         UPDATE visit SET stars = 5 WHERE note = 'third'; UPDATE customer SET name = 'Bo' WHERE id = 2",
    )?;
    let visits = "SELECT customer, seen, note, stars, more FROM visit ORDER BY note";
    assert_eq!(rows(&conn, visits), ["1|t|first|3|NULL", "3|f|third|5|NULL", "1|NULL|NULL|3|NULL"]);
    let customer = "SELECT c.*, stars FROM customer c JOIN visit ON customer = id ORDER BY id, note";
    let joined = [
        "1|Ada|1815-12-10|12.50|{a,b}|2020-02-02|3",
        "1|Ada|1815-12-10|12.50|{a,b}|2020-02-02|3",
        "3|Cleo|2001-02-03|-99.99|{}|2020-02-02|5",
    ];
    assert_eq!(rows(&conn, customer), joined);
    assert_eq!(rows(&conn, "SELECT * FROM debtor ORDER BY name"), ["Bo|-3.00", "Cleo|-99.99"]);
    drop(conn);
    database.close()?;
    let database = Database::open(&path)?;
    database.verify()?;
    assert!(database.verify_constraints()?.is_empty());
    let conn = database.connect()?;
    assert_eq!(rows(&conn, customer), joined);
    assert_eq!(rows(&conn, "SELECT * FROM altered ORDER BY d, a"), ["1|7|1.5", "NULL|7|1.5", "2|8|1.5"]);
    Ok(())
}
