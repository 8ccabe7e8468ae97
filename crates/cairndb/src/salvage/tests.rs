//! Rows that break the rules of their table, and definitions that can not be read.

use cairn_storage::{Environment, Store, TreeId};

use super::*;
use crate::catalog::TableLayout;
use crate::{Connection, Database, Options};
use crate::{Result, Value};

fn open(name: &str, env: &Environment) -> (Store, Database) {
    let store = Store::open_with(name, cairn_storage::Options::default(), env.clone()).unwrap();
    (store.clone(), Database::over(store, Options::default()).unwrap())
}

fn close(store: Store, connection: Connection, database: Database) {
    drop((store, connection));
    database.close().unwrap();
}

fn run(env: &Environment) -> Salvaged {
    salvage_in("damaged", "saved", cairn_storage::Options::default(), env.clone(), &mut |_| ()).unwrap()
}

fn texts(connection: &Connection, sql: &str) -> Vec<String> {
    connection.query_map(sql, (), |row| row.get(0)).unwrap().collect::<Result<_>>().unwrap()
}

#[test]
fn rows_that_can_not_be_right_are_taken_out_with_the_reason() {
    let env = Environment::in_memory();
    let (store, database) = open("damaged", &env);
    let connection = database.connect().unwrap();
    connection
        .execute_script(
            "CREATE TABLE t (a int PRIMARY KEY, b int NOT NULL UNIQUE, c int CHECK (c > 0));
             INSERT INTO t SELECT g, g, g FROM generate_series(1, 10) g",
        )
        .unwrap();
    let table = connection.catalog().unwrap().table("t").unwrap().clone();
    let layout = TableLayout::new(&table);
    let transaction = store.begin().unwrap();
    let put = |a: i32, b: Value, c: i32| {
        let row = [Value::Integer(a), b, Value::Integer(c)];
        let (mut key, mut value) = (Vec::new(), Vec::new());
        layout.encode_key(&row, &mut key);
        layout.encode_row(&row, &mut value);
        transaction.put(table.tree, &key, &value).unwrap();
    };
    put(20, Value::Null, 5);
    put(21, Value::Integer(7), 5);
    put(22, Value::Integer(22), -5);
    transaction.put(table.tree, b"no key", b"no row").unwrap();
    transaction.commit(None).unwrap();
    close(store, connection, database);

    let saved = run(&env);
    assert_eq!((saved.tables[0].rows, saved.tables[0].indexes.len()), (10, 1));
    let uncertain = saved.uncertain.unwrap();
    assert_eq!(uncertain.tables, [("salvage_unknown".to_string(), 1), ("t".to_string(), 3)]);
    let (store, database) = open("saved-uncertain", &env);
    let connection = database.connect().unwrap();
    let reasons = texts(&connection, "SELECT a || ': ' || salvage_why FROM t ORDER BY a");
    let expected = [
        "20: null value in column \"b\" of relation \"t\" violates not-null constraint",
        "21: another row has the same values in a unique index",
        "22: new row for relation \"t\" violates check constraint \"t_c_check\"",
    ];
    assert_eq!(reasons, expected);
    close(store, connection, database);
    let (store, database) = open("saved", &env);
    database.verify().unwrap();
    let connection = database.connect().unwrap();
    assert_eq!(texts(&connection, "SELECT sum(a)::text FROM t WHERE b > 0 AND c > 0"), ["55"]);
    close(store, connection, database);
}

#[test]
fn a_definition_that_can_not_be_read_costs_its_table_and_no_other() {
    let env = Environment::in_memory();
    let (store, database) = open("damaged", &env);
    let connection = database.connect().unwrap();
    connection
        .execute_script(
            "CREATE TABLE p (a int PRIMARY KEY); INSERT INTO p VALUES (1), (2), (3);
             CREATE TABLE c (a int PRIMARY KEY, b int REFERENCES p); INSERT INTO c VALUES (1, 1), (2, 3)",
        )
        .unwrap();
    let id = connection.catalog().unwrap().table("p").unwrap().id;
    let transaction = store.begin().unwrap();
    let key = [&[1], &id.0.to_be_bytes()[..]].concat();
    assert!(transaction.delete(TreeId::CATALOG, &key).unwrap());
    transaction.put(TreeId::CATALOG, &key, &[2, 1, 200]).unwrap();
    transaction.commit(None).unwrap();
    close(store, connection, database);

    let saved = run(&env);
    let names: Vec<&str> = saved.tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(names, ["c"]);
    assert!(saved.notes.iter().any(|note| note.starts_with("a definition that can not be read")), "{saved:?}");
    assert!(saved.notes.iter().any(|note| note.starts_with("c: foreign keys")), "{saved:?}");
    // The definition, and the rows that it described.
    assert_eq!(saved.uncertain.unwrap().tables, [("salvage_unknown".to_string(), 4)]);
    let (store, database) = open("saved", &env);
    let connection = database.connect().unwrap();
    connection.execute("INSERT INTO c VALUES (3, 77)", ()).unwrap();
    close(store, connection, database);
}
