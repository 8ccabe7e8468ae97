//! A database of several tables that is damaged at every page, one at a time. What must be saved each time: everything
//! but the rows of the damaged page, which are named as a range of keys.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use cairndb::salvage::{LostRows, LostWhat, Salvaged};
use cairndb::{Connection, Database, Options, salvage};

const PAGE: usize = 4096;

const MAKE: &str = "
    CREATE TABLE gone (a int PRIMARY KEY, b text);
    INSERT INTO gone SELECT g, repeat('gone', 20) FROM generate_series(1, 500) g;
    CREATE TABLE parent (id int PRIMARY KEY, name text NOT NULL UNIQUE);
    CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES parent, body text);
    CREATE INDEX child_parent ON child (parent);
    CREATE INDEX child_item ON child USING gin ((ARRAY[parent, length(body)]));
    CREATE TABLE journal (a int, b text);
    CREATE TABLE item (id serial PRIMARY KEY, v int CHECK (v >= 0));
    INSERT INTO parent SELECT g, repeat('parent ', 10) || g FROM generate_series(1, 400) g;
    INSERT INTO child SELECT g, g % 300 + 1, repeat('c', CASE WHEN g % 100 = 0 THEN 9000 ELSE 60 END)
      FROM generate_series(1, 500) g;
    INSERT INTO journal SELECT g, repeat('j', 50) || g FROM generate_series(1, 300) g;
    CREATE INDEX journal_item ON journal USING gin ((ARRAY[a % 10]));
    INSERT INTO item (v) SELECT g FROM generate_series(1, 200) g;
    UPDATE child SET body = 'updated ' || id WHERE id % 7 = 0;
    DELETE FROM journal WHERE a % 10 = 3;
    DROP TABLE gone;
    ANALYZE";

const TABLES: [&str; 4] = ["parent", "child", "journal", "item"];

/// Rows by their first column.
type Rows = BTreeMap<i32, String>;

fn rows(connection: &Connection, table: &str) -> Rows {
    let mut rows = Rows::new();
    let columns = match table {
        "parent" => "id, name",
        "child" => "id, body",
        "journal" => "a, b",
        _ => "id, v",
    };
    let mut found = connection.query(&format!("SELECT {columns} FROM {table}"), ()).unwrap();
    while let Some(row) = found.next().unwrap() {
        rows.insert(row.get(0).unwrap(), row.get::<cairndb::Value>(1).unwrap().to_string());
    }
    rows
}

fn contents(path: &Path) -> BTreeMap<&'static str, Rows> {
    let database = Database::open_with(path, Options::default().read_only(true)).unwrap();
    let connection = database.connect().unwrap();
    TABLES.into_iter().map(|table| (table, rows(&connection, table))).collect()
}

fn make(path: &Path) -> Vec<u8> {
    let database = Database::open(path).unwrap();
    database.connect().unwrap().execute_script(MAKE).unwrap();
    database.close().unwrap();
    fs::read(path).unwrap()
}

struct Outcome {
    saved: Salvaged,
    contents: BTreeMap<&'static str, Rows>,
}

fn run(folder: &Path, bytes: &[u8]) -> Outcome {
    let (from, to) = (folder.join("damaged"), folder.join("saved"));
    fs::write(&from, bytes).unwrap();
    let saved = salvage(&from, &to).unwrap();
    let database = Database::open(&to).unwrap();
    database.verify().unwrap();
    database.close().unwrap();
    let contents = contents(&to);
    if let Some(uncertain) = &saved.uncertain {
        fs::remove_file(&uncertain.path).unwrap();
    }
    fs::remove_file(&to).unwrap();
    assert_eq!(fs::read_dir(folder).unwrap().count(), 2, "only the example and the damaged copy are left");
    Outcome { saved, contents }
}

/// Whether the loss names the row of this key.
fn names(lost: &LostRows, table: &str, key: i32, numbers: &BTreeMap<i32, i32>) -> bool {
    // Rows without primary key are named by their number.
    let key = if table == "journal" { numbers[&key] } else { key };
    let number = |values: &Option<Vec<String>>, otherwise: i32| match values {
        Some(values) => values[0].parse().unwrap(),
        None => otherwise,
    };
    lost.table == table
        && match &lost.what {
            LostWhat::Between(after, before) => (number(after, i32::MIN)..number(before, i32::MAX)).contains(&key),
            LostWhat::SomeBetween(..) => false,
            LostWhat::Row(values) => values[0].parse() == Ok(key),
        }
}

#[test]
fn each_damaged_page_costs_its_own_rows_and_names_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("example");
    let bytes = make(&path);
    let before = contents(&path);
    let numbers = before["journal"].keys().map(|&a| (a, a)).collect();
    let mut lost_rows: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut dangling, mut whole) = (0, 0);
    for page in 0..bytes.len() / PAGE {
        let mut damaged = bytes.clone();
        damaged[page * PAGE + 200..][..4].iter_mut().for_each(|byte| *byte ^= 0x5A);
        let Outcome { saved, contents } = run(folder.path(), &damaged);
        let header = &bytes[page * PAGE..][..64];
        let held = if header[4] == 1 { usize::from(u16::from_le_bytes([header[6], header[7]])) } else { 0 };
        let mut missing = 0;
        for table in TABLES {
            let is_missing = |(key, _): &(&i32, &String)| !contents[table].contains_key(key);
            let gone: Vec<i32> = before[table].iter().filter(is_missing).map(|(key, _)| *key).collect();
            for (key, row) in &contents[table] {
                assert_eq!(before[table].get(key), Some(row), "page {page}: row {key} of {table}");
            }
            for &key in &gone {
                let is_named = saved.lost.iter().any(|lost| names(lost, table, key, &numbers));
                assert!(is_named, "page {page}: row {key} of {table} in {:?}", saved.lost);
            }
            missing += gone.len();
            *lost_rows.entry(table).or_default() += gone.len();
        }
        // A leaf costs what it held; a page of a long value, kind 3, its row.
        match header[4] {
            1 => assert!([0, held].contains(&missing), "page {page}: {missing} of {held} rows"),
            3 => assert!(missing <= 1, "page {page}"),
            _ => assert_eq!(missing, 0, "page {page}"),
        }
        assert_eq!(saved.lost.is_empty(), missing == 0, "page {page}: {:?}", saved.lost);
        assert!(saved.uncertain.is_none(), "page {page}");
        dangling += saved.dangling.iter().map(|dangling| dangling.rows as usize).sum::<usize>();
        whole += usize::from(saved.is_complete());
    }
    // Each row lies in one leaf, so each is lost once; rows with long values also with each of their three pages.
    let long = before["child"].values().filter(|body| body.len() == 9000).count();
    assert_eq!(lost_rows["child"], before["child"].len() + 3 * long);
    for table in ["parent", "journal", "item"] {
        assert_eq!(lost_rows[table], before[table].len(), "{table}");
    }
    // Each child refers to a parent that is lost once.
    assert_eq!(dangling, before["child"].len());
    assert!(whole > 10, "damage to indexes, inner pages, the catalog, lists and meta pages costs nothing");
}

#[test]
fn without_both_meta_pages_or_the_last_byte_every_row_of_whole_pages_is_saved() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("example");
    let bytes = make(&path);
    let before = contents(&path);
    let mut damaged = bytes.clone();
    damaged[..2 * PAGE].fill(0);
    let outcome = run(folder.path(), &damaged);
    assert_eq!(outcome.contents, before);
    assert!(outcome.saved.lost.is_empty() && outcome.saved.uncertain.is_none());
    let outcome = run(folder.path(), &bytes[..bytes.len() - 1]);
    let missing = |table| before[table].len() - outcome.contents[table].len();
    let missing: usize = TABLES.into_iter().map(missing).sum();
    assert!(missing <= 150, "{missing} rows: more than the last page held");
}

/// The values that a lost sequence would give out again are those of rows.
#[test]
fn a_sequence_whose_value_is_lost_goes_on_behind_its_column() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("example");
    let bytes = make(&path);
    let mut seen = 0;
    for page in 2..bytes.len() / PAGE {
        let mut damaged = bytes.clone();
        damaged[page * PAGE + 200] ^= 1;
        let (from, to) = (folder.path().join("damaged"), folder.path().join("saved"));
        fs::write(&from, damaged).unwrap();
        let saved = salvage(&from, &to).unwrap();
        if saved.notes.iter().any(|note| note.contains("sequence item_id_seq")) {
            seen += 1;
            let connection = Database::open(&to).unwrap().connect().unwrap();
            connection.execute("INSERT INTO item (v) VALUES (1)", ()).unwrap();
            let last: i32 = connection.query_row("SELECT max(id) FROM item", (), |row| row.get(0)).unwrap();
            assert_eq!(last, 201);
        }
        fs::remove_file(&to).unwrap();
    }
    assert_eq!(seen, 1);
}

/// Rows that break a rule of their table can only come from damage that salvage could not see.
#[test]
fn uncertain_rows_are_in_a_database_of_their_own_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("example");
    let mut bytes = make(&path);
    let before = contents(&path);
    // No free map in any form, and no inner pages.
    for meta in 0..2 {
        bytes[meta * PAGE + 512..(meta + 1) * PAGE].fill(0);
    }
    for page in bytes.chunks_mut(PAGE).skip(2) {
        if [2, 5].contains(&page[4]) {
            page[100] ^= 1;
        }
    }
    let (from, to) = (folder.path().join("damaged"), folder.path().join("saved"));
    fs::write(&from, bytes).unwrap();
    let saved = salvage(&from, &to).unwrap();
    assert!(contents(&to)["child"].is_empty(), "nothing comes back silently");
    let uncertain = saved.uncertain.as_ref().unwrap();
    assert_eq!(uncertain.path, folder.path().join("saved-uncertain"));
    let connection = Database::open(&uncertain.path).unwrap().connect().unwrap();
    for table in ["parent", "child", "journal"] {
        let apart = rows(&connection, table);
        assert!(before[table].keys().all(|key| apart.contains_key(key)), "{table}");
        let query =
            format!("SELECT count(*) FROM {table} WHERE salvage_why LIKE 'found in a page%' AND salvage_page > 1");
        let count: u64 = connection.query_row(&query, (), |row| row.get(0)).unwrap();
        assert!(uncertain.tables.contains(&(table.to_string(), count)), "{table}: {count} rows");
    }
}
