//! Inverted indexes: every operator finds with the index what it finds without, over random documents and arrays that are
//! changed in and out of transactions; and what indexes are promised besides.

use crate::common::Random;
use cairndb::{Connection, Database, Result, Value};

const SEEDS: u64 = 12;
const STEPS: u32 = 60;

const SCHEMA: &str = "
    CREATE TABLE t (id int PRIMARY KEY, doc jsonb, tags text[], numbers int[], n int);
    CREATE INDEX t_doc ON t USING gin (doc);
    CREATE INDEX t_path ON t USING gin (doc jsonb_path_ops);
    CREATE INDEX t_tags ON t USING gin (tags);
    CREATE INDEX t_both ON t USING gin (numbers, (doc -> 'a')) WHERE n > 1;";

fn scalar(random: &mut Random) -> String {
    random.pick(&["null", "true", "false", "1", "1.0", "2", "-3.50", "\"a\"", "\"b\"", "\"x y\"", "\"\""]).to_string()
}

fn key(random: &mut Random) -> String {
    format!("\"{}\"", random.pick(&["a", "b", "c", "d", "x y", ""]))
}

/// A document, of at most so many levels.
fn document(random: &mut Random, levels: u64) -> String {
    let parts = random.below(4);
    match random.below(if levels == 0 { 1 } else { 4 }) {
        0 => scalar(random),
        1 => {
            let parts: Vec<String> = (0..parts).map(|_| document(random, levels - 1)).collect();
            format!("[{}]", parts.join(", "))
        }
        _ => {
            let pair = |random: &mut Random| format!("{}: {}", key(random), document(random, levels - 1));
            let parts: Vec<String> = (0..parts).map(|_| pair(random)).collect();
            format!("{{{}}}", parts.join(", "))
        }
    }
}

fn texts(random: &mut Random, with_nulls: bool) -> String {
    let choices: &[&str] = if with_nulls { &["a", "b", "c", "x y", "NULL"] } else { &["a", "b", "c", "x y"] };
    let parts: Vec<String> = (0..random.below(4))
        .map(|_| match *random.pick(choices) {
            "NULL" => "NULL".to_owned(),
            text => format!("\"{text}\""),
        })
        .collect();
    format!("'{{{}}}'::text[]", parts.join(","))
}

fn numbers(random: &mut Random) -> String {
    let parts: Vec<String> = (0..random.below(4))
        .map(|_| if random.one_in(8) { "NULL".to_owned() } else { random.below(5).to_string() })
        .collect();
    format!("'{{{}}}'::int[]", parts.join(","))
}

fn path(random: &mut Random) -> String {
    let step = |random: &mut Random| -> String {
        match random.below(9) {
            0 => ".*".into(),
            1 => "[*]".into(),
            2 => "[0]".into(),
            3 => ".**".into(),
            4 => ".size()".into(),
            5 => format!(" ? (@ == {})", scalar(random)),
            6 => format!(" ? (@.{} > 0 || exists(@.{}))", key(random), key(random)),
            _ => format!(".{}", key(random)),
        }
    };
    let steps: String = (0..1 + random.below(3)).map(|_| step(random)).collect();
    let mode = if random.one_in(4) { "strict " } else { "" };
    let expr = match random.below(8) {
        0 => format!("${steps}"),
        1 => format!("${steps} == {}", scalar(random)),
        2 => format!("{} == ${steps}", scalar(random)),
        3 => format!("${steps} == {} && $.{} == {}", scalar(random), key(random), scalar(random)),
        4 => format!("${steps} == {} || !($.{} == {})", scalar(random), key(random), scalar(random)),
        5 => format!("${steps} != {}", scalar(random)),
        6 => format!("exists(${steps}) && $ starts with \"a\" || $.a[*] == $.b"),
        _ => format!("${steps} ? (@.{} == {} && @ != 7)", key(random), scalar(random)),
    };
    format!("'{mode}{expr}'::jsonpath")
}

fn condition(random: &mut Random) -> String {
    match random.below(16) {
        0 | 1 => format!("doc @> '{}'", document(random, 2)),
        2 => format!("'{}' <@ doc", document(random, 2)),
        3 => format!("doc ? '{}'", random.pick(&["a", "b", "x y", ""])),
        4 => format!("doc ?| {}", texts(random, true)),
        5 => format!("doc ?& {}", texts(random, true)),
        6 | 7 => format!("doc @? {}", path(random)),
        8 | 9 => format!("doc @@ {}", path(random)),
        10 => format!("tags && {}", texts(random, true)),
        11 => format!("tags @> {}", texts(random, true)),
        12 => format!("tags <@ {}", texts(random, true)),
        13 => format!("tags = {}", texts(random, true)),
        14 => format!("numbers {} {} AND n > 1", random.pick(&["&&", "@>", "<@", "="]), numbers(random)),
        _ => format!("doc -> 'a' @> '{}' AND n > 2", document(random, 1)),
    }
}

/// A condition, or some of which one is enough.
fn conditions(random: &mut Random) -> String {
    let mut one = || condition(random);
    let (first, second, third) = (one(), one(), one());
    match random.below(6) {
        0 | 1 => format!("({first} OR {second})"),
        2 => format!("({first} OR {second} AND {third})"),
        3 => format!("({first} OR n = 3)"),
        _ => first,
    }
}

fn change(random: &mut Random) -> String {
    let id = random.below(60);
    let (doc, tags, numbers, n) = (document(random, 3), texts(random, true), numbers(random), random.below(5));
    let doc = if random.one_in(10) { "NULL".to_owned() } else { format!("'{doc}'") };
    match random.below(12) {
        0..=4 => format!(
            "INSERT INTO t VALUES ({id}, {doc}, {tags}, {numbers}, {n})
             ON CONFLICT (id) DO UPDATE SET doc = excluded.doc, tags = excluded.tags, n = excluded.n"
        ),
        5 => format!("UPDATE t SET doc = {doc} WHERE id = {id}"),
        6 => format!("UPDATE t SET tags = tags || 'b'::text, numbers = {numbers} WHERE n = {n}"),
        7 => {
            format!("UPDATE t SET id = id + 1000 WHERE id = {id} AND NOT EXISTS (SELECT FROM t WHERE id = {id} + 1000)")
        }
        8 => "UPDATE t SET n = n + 1 WHERE n < 3".to_owned(),
        9 => format!("DELETE FROM t WHERE id = {id}"),
        10 => format!("DELETE FROM t WHERE {}", condition(random)),
        _ => format!("UPDATE t SET n = 2 WHERE {}", condition(random)),
    }
}

fn ids(connection: &Connection, sql: &str) -> Result<Vec<Value>> {
    connection.query_map(sql, (), |row| Ok(row.values()[0].clone()))?.collect()
}

/// How many rows both ways find; `None`: an error.
fn agree(connection: &Connection, sql: &str, seed: u64) -> Option<usize> {
    let in_transaction = connection.in_transaction();
    let ask = |setting: &str| {
        if in_transaction {
            connection.execute_script("SAVEPOINT asked").unwrap();
        }
        connection.execute_script(&format!("SET enable_indexscan = {setting}")).unwrap();
        let found = ids(connection, sql).map_err(|error| error.to_string());
        if in_transaction {
            connection.execute_script("ROLLBACK TO asked").unwrap();
        }
        found
    };
    let (without, with) = (ask("off"), ask("on"));
    assert_eq!(with, without, "seed {seed}: {sql}");
    with.ok().map(|found| found.len())
}

#[test]
fn every_operator_finds_with_the_index_what_it_finds_without() {
    let mut found = vec![];
    for seed in 0..SEEDS {
        let mut random = Random(seed);
        let database = Database::open_in_memory().unwrap();
        let connection = database.connect().unwrap();
        let late = random.one_in(2);
        let (table, indexes) = SCHEMA.split_once(';').unwrap();
        connection.execute_script(table).unwrap();
        if !late {
            connection.execute_script(indexes).unwrap();
        }
        for _ in 0..40 {
            let _ = connection.execute_script(&change(&mut random));
        }
        if late {
            connection.execute_script(indexes).unwrap();
        }
        for _ in 0..STEPS {
            let in_transaction = random.one_in(3);
            if in_transaction {
                connection.execute_script("BEGIN").unwrap();
            }
            for _ in 0..1 + random.below(4) {
                let is_saved = in_transaction && random.one_in(3);
                if is_saved {
                    connection.execute_script("SAVEPOINT s").unwrap();
                }
                if connection.execute_script(&change(&mut random)).is_err() && in_transaction {
                    connection.execute_script(if is_saved { "ROLLBACK TO s" } else { "ROLLBACK; BEGIN" }).unwrap();
                }
                if is_saved && random.one_in(2) {
                    connection.execute_script("ROLLBACK TO s").unwrap();
                }
                let sql = format!("SELECT id FROM t WHERE {} ORDER BY id", conditions(&mut random));
                found.push(agree(&connection, &sql, seed));
            }
            if in_transaction {
                connection.execute_script(if random.one_in(3) { "ROLLBACK" } else { "COMMIT" }).unwrap();
            }
            if random.one_in(5) {
                connection.execute_script("VACUUM t").unwrap();
            }
            for _ in 0..4 {
                let sql = format!(
                    "SELECT id FROM t WHERE {}{} ORDER BY id",
                    conditions(&mut random),
                    random.pick(&["", " AND n = 2", " AND id < 1000"])
                );
                found.push(agree(&connection, &sql, seed));
            }
            database.verify().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        }
    }
    let count = |is_it: fn(&Option<usize>) -> bool| found.iter().filter(|found| is_it(found)).count();
    let (answers, rows) = (count(Option::is_some), count(|found| found.is_some_and(|rows| rows > 0)));
    assert!(answers * 10 > found.len() * 9, "{answers} of {} are answers", found.len());
    assert!(rows * 3 > found.len(), "{rows} of {} find rows", found.len());
}

fn plan(connection: &Connection, sql: &str) -> String {
    crate::common::rows(connection, &format!("EXPLAIN (COSTS OFF) {sql}")).join("\n")
}

#[test]
fn the_planner_asks_the_index_for_each_of_its_operators() {
    let database = Database::open_in_memory().unwrap();
    let connection = database.connect().unwrap();
    connection.execute_script(SCHEMA).unwrap();
    connection.execute_script("DROP INDEX t_path").unwrap();
    for condition in [
        "doc @> '{\"a\": 1}'",
        "'{\"a\": 1}' <@ doc",
        "doc ? 'a'",
        "doc ?| '{a}'",
        "doc ?& '{a, b}'",
        "doc @? '$.a'",
        "doc @@ '$.a == 1'",
        "tags && '{a}'",
        "tags @> '{a}'",
        "tags <@ '{a}'",
        "tags = '{a}'",
        "numbers @> '{1}' AND n > 1",
        "doc -> 'a' @> '1' AND n > 2",
        "doc ? 'a' OR doc @> '{\"b\": 1}'",
        "doc ? 'a' OR (doc ? 'b' AND n = 3)",
        "(doc ? 'a' OR doc ? 'b') AND (doc ? 'c' OR doc ? 'd')",
    ] {
        let plan = plan(&connection, &format!("SELECT * FROM t WHERE {condition}"));
        assert!(plan.contains("Index Cond"), "{condition}\n{plan}");
    }
    let shown = plan(&connection, "SELECT * FROM t WHERE doc ? 'a' OR (doc ? 'b' AND n = 3)");
    assert!(shown.contains("Index Cond: ((doc ? 'a'::text) OR (doc ? 'b'::text))"), "{shown}");
    for condition in ["doc ? 'a' OR n = 3", "doc ? 'a' OR doc @> '{}'"] {
        let plan = plan(&connection, &format!("SELECT * FROM t WHERE {condition}"));
        assert!(!plan.contains("Index Cond"), "{condition}\n{plan}");
    }
    for condition in ["doc @> '{}'", "doc @? '$.*'", "doc <@ '{}'", "numbers @> '{1}'", "doc -> 'b' @> '1' AND n > 2"] {
        let plan = plan(&connection, &format!("SELECT * FROM t WHERE {condition}"));
        assert!(!plan.contains("Index Cond"), "{condition}\n{plan}");
    }
    connection.execute_script("DROP INDEX t_doc; CREATE INDEX ON t USING gin (doc jsonb_path_ops)").unwrap();
    for (condition, is_asked) in [
        ("doc @> '{\"a\": 1}'", true),
        ("doc @? '$.a ? (@ == 1)'", true),
        ("doc @@ '$.a[*].b == \"x\"'", true),
        ("doc @? '$.a'", false),
        ("doc ? 'a'", false),
        ("doc @> '{\"a\": {}}'", false),
    ] {
        let plan = plan(&connection, &format!("SELECT * FROM t WHERE {condition}"));
        assert_eq!(plan.contains("Index Cond"), is_asked, "{condition}\n{plan}");
    }
}

fn shared() -> (Database, Connection, Connection) {
    let database = Database::open_in_memory().unwrap();
    let (one, two) = (database.connect().unwrap(), database.connect().unwrap());
    one.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, doc jsonb);
         INSERT INTO t SELECT g, jsonb_build_object('common', 1, 'own', g) FROM generate_series(1, 500) g;
         CREATE INDEX i ON t USING gin (doc);",
    )
    .unwrap();
    (database, one, two)
}

#[test]
fn who_changes_other_rows_of_the_same_items_is_in_nobodys_way() {
    let (database, one, two) = shared();
    for (mine, yours) in [
        ("INSERT INTO t VALUES (1001, '{\"common\": 1}')", "INSERT INTO t VALUES (1002, '{\"common\": 1}')"),
        ("DELETE FROM t WHERE id = 10", "DELETE FROM t WHERE id = 11"),
        ("UPDATE t SET doc = '{\"common\": 1}' WHERE id = 20", "UPDATE t SET doc = doc - 'common' WHERE id = 21"),
        ("DELETE FROM t WHERE id = 22", "UPDATE t SET doc = '[]' WHERE id = 23"),
    ] {
        one.execute_script("BEGIN").unwrap();
        two.execute_script("BEGIN").unwrap();
        one.execute_script(mine).unwrap();
        two.execute_script(yours).unwrap();
        // Notes go into lists meanwhile.
        database.connect().unwrap().execute_script("VACUUM t").unwrap();
        one.execute_script("COMMIT").unwrap();
        two.execute_script("COMMIT").unwrap();
        database.verify().unwrap();
    }
    let found = crate::common::rows(&one, "SELECT count(*) FROM t WHERE doc @> '{\"common\": 1}'");
    assert_eq!(found, ["497"]);
}

#[test]
fn who_has_seen_an_item_loses_to_a_row_that_gets_it() {
    let (_database, one, two) = shared();
    one.execute_script("CREATE TABLE found (n int); BEGIN;").unwrap();
    let count = "INSERT INTO found SELECT count(*) FROM t WHERE doc @> '{\"common\": 1, \"own\": 7}'";
    one.execute_script(count).unwrap();
    two.execute_script("INSERT INTO t VALUES (1001, '{\"common\": 1, \"own\": 8}')").unwrap();
    crate::common::fails(&one, "COMMIT", "40001");
}

/// They come in the order of their keys, and not backward: what asks for that is sorted.
#[test]
fn rows_that_it_finds_come_in_one_order_only() -> Result<()> {
    let conn = Database::open_in_memory()?.connect()?;
    conn.execute_script(
        "CREATE TABLE t (k int PRIMARY KEY, tags text[]); CREATE INDEX ON t USING gin (tags);
         INSERT INTO t SELECT g, CASE WHEN g % 3 = 0 THEN ARRAY['a', 'b'] ELSE ARRAY['c', g::text] END FROM generate_series(-3000, 3000) g;
         ANALYZE",
    )?;
    for condition in ["tags @> ARRAY['a']", "tags = ARRAY['a', 'b']", "tags @> ARRAY['5'] OR tags @> ARRAY['a']"] {
        for (order, expected) in [("k DESC", "3000,2997,2994"), ("k", "-3000,-2997,-2994")] {
            let sql = format!(
                "SELECT string_agg(k::text, ',') FROM (SELECT k FROM t WHERE {condition} ORDER BY {order} LIMIT 3) s"
            );
            assert_eq!(conn.query_row_as::<String>(&sql, ())?, expected, "{condition} {order}");
        }
    }
    Ok(())
}
