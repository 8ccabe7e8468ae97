//! What `cairn import sqlite` makes of views, defaults and checks means what it meant: made at random, and each compared
//! with SQLite by the values that it gives. What is left out is told, and not compared; how much that is, is printed.
#![cfg(feature = "sqlite")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use cairndb::{Connection, Database};
use rusqlite::types::{Value, ValueRef};

/// A small generator of numbers (splitmix64): a seed is a run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }

    fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

const TABLE: &str =
    "CREATE TABLE t (id INTEGER PRIMARY KEY, i INT, j INT NOT NULL, r REAL, s TEXT, w TEXT, b BOOLEAN, d DATE,
    m DATETIME, x BLOB, \"order\" INT, \"select\" TEXT);
    CREATE TABLE u (id INTEGER PRIMARY KEY, i INT, s TEXT, r REAL);";

const COLUMNS: &[&str] =
    &["id", "i", "j", "r", "s", "w", "b", "d", "m", "x", "\"order\"", "\"select\"", "t.i", "t.s", "[order]", "`w`"];

const CONSTANTS: &[&str] = &[
    "0",
    "1",
    "2",
    "-1",
    "7",
    "2.5",
    "0.5",
    "-3.0",
    "1e2",
    "0x1F",
    "'abc'",
    "'a'",
    "'Ab'",
    "''",
    "'2'",
    "'2024-02-29'",
    "'2024-03-01 10:00:00'",
    "NULL",
    "x'00ff'",
    "TRUE",
    "false",
    "\"no column\"",
    "'a%'",
    "'%b_'",
    "'h\\_l%'",
    "'Ä%'",
];

/// An expression over the columns of `t`, of any sense or none.
fn expression(dice: &mut Dice, depth: usize) -> String {
    if depth == 0 || dice.below(6) == 0 {
        return if dice.below(3) == 0 { dice.of(CONSTANTS).to_string() } else { dice.of(COLUMNS).to_string() };
    }
    let mut inner = || expression(dice, depth - 1);
    let (a, b, c) = (inner(), inner(), inner());
    match dice.below(26) {
        0 => format!("{a} {} {b}", dice.of(&["+", "-", "*", "/", "%", "&", "|", "<<", ">>"])),
        1 | 2 => format!("({a} {} {b})", dice.of(&["+", "-", "*", "/", "%", "||", "+", "/"])),
        3..=5 => format!("({a} {} {b})", dice.of(&["=", "==", "<>", "!=", "<", "<=", ">", ">=", "IS", "IS NOT"])),
        6 => format!("({a} {} {b})", dice.of(&["AND", "OR"])),
        7 => format!("{} ({a})", dice.of(&["NOT", "-", "+", "~"])),
        8 => format!("({a} {} {b} AND {c})", dice.of(&["BETWEEN", "NOT BETWEEN"])),
        9 => format!("({a} {} ({b}, {c}))", dice.of(&["IN", "NOT IN"])),
        10 => format!("({a} {} {b})", dice.of(&["LIKE", "NOT LIKE", "GLOB"])),
        11 => format!("({a} {})", dice.of(&["IS NULL", "IS NOT NULL", "ISNULL", "NOTNULL", "NOT NULL"])),
        12 => format!("CASE WHEN {a} THEN {b} ELSE {c} END"),
        13 => format!("CASE {a} WHEN {b} THEN {c} END"),
        14 | 15 => format!("CAST({a} AS {})", dice.of(&["INTEGER", "TEXT", "REAL", "NUMERIC", "VARCHAR(10)", "BLOB"])),
        16 => {
            format!("{}({a}, {b})", dice.of(&["coalesce", "ifnull", "nullif", "min", "max", "instr", "round", "trim"]))
        }
        17 => format!("iif({a}, {b}, {c})"),
        18..=20 => format!(
            "{}({a})",
            dice.of(&["abs", "length", "lower", "upper", "typeof", "trim", "ltrim", "rtrim", "round", "hex", "sign"])
        ),
        21 => format!("substr({a}, {}, {})", dice.of(&["1", "2", "0", "-2", "-3"]), dice.of(&["1", "2", "3", "9"])),
        22 => format!("substr({a}, {})", dice.of(&["1", "2", "0", "-2", "-30"])),
        23 => format!("replace({a}, {b}, {c})"),
        24 => format!("{}({a})", dice.of(&["date", "datetime", "time", "unixepoch"])),
        _ => format!("strftime('{}', {a})", dice.of(&["%Y-%m", "%d.%m.%Y", "%H:%M", "%s", "%j", "%Yx"])),
    }
}

/// A query of `t`, sometimes with `u`.
fn query(dice: &mut Dice) -> String {
    let list = |dice: &mut Dice| {
        let terms: Vec<String> = (0..1 + dice.below(3)).map(|_| expression(dice, 2)).collect();
        terms.join(", ")
    };
    match dice.below(10) {
        0..=4 => format!("SELECT id, {} FROM t", list(dice)),
        5 => format!("SELECT id, {} FROM t WHERE {}", list(dice), expression(dice, 2)),
        6 => format!(
            "SELECT {column}, count(*), {}({}) FROM t GROUP BY {column}",
            dice.of(&["sum", "avg", "min", "max", "total", "count"]),
            dice.of(COLUMNS),
            column = dice.of(&["i", "j", "b", "s"])
        ),
        7 => format!(
            "SELECT id, s, r FROM t ORDER BY {}, id LIMIT 3",
            dice.of(&["s", "r DESC", "i", "b", "d", "w desc", "2"])
        ),
        8 => format!(
            "SELECT t.id, u.s, (SELECT {} FROM u AS v WHERE v.i = t.i) FROM t {} u ON t.i = u.i",
            dice.of(&["max(r)", "count(*)", "min(s)"]),
            dice.of(&["JOIN", "LEFT JOIN"])
        ),
        _ => format!(
            "SELECT i, s FROM t {} SELECT {} FROM u {} SELECT j, w FROM t",
            dice.of(&["UNION", "UNION ALL", "EXCEPT"]),
            dice.of(&["i, s", "id, s", "i, i"]),
            dice.of(&["INTERSECT", "UNION", "EXCEPT"])
        ),
    }
}

/// Rows of `t` and `u`.
fn rows(dice: &mut Dice) -> String {
    let mut script = String::new();
    for id in 1..=12 {
        let null =
            |dice: &mut Dice, value: &str| if dice.below(5) == 0 { "NULL".to_string() } else { value.to_string() };
        let text = |dice: &mut Dice| {
            dice.of(&["'abc'", "'Ab'", "''", "'a b '", "'Äpfel'", "'2'", "'h_llo'", "'10'"]).to_string()
        };
        let values = [
            {
                let i = dice.of(&["0", "1", "2", "-7", "40"]);
                null(dice, i)
            },
            dice.of(&["0", "1", "3", "-2"]).to_string(),
            {
                let r = dice.of(&["0.0", "2.5", "-2.5", "0.1", "3.7", "1e6"]);
                null(dice, r)
            },
            {
                let s = text(dice);
                null(dice, &s)
            },
            {
                let w = text(dice);
                null(dice, &w)
            },
            {
                let b = dice.of(&["0", "1"]);
                null(dice, b)
            },
            {
                let d = dice.of(&["'2024-02-29'", "'1999-12-31'", "'2024-03-01'"]);
                null(dice, d)
            },
            {
                let m = dice.of(&["'2024-02-29 10:11:12'", "'2024-03-01 10:00:00'"]);
                null(dice, m)
            },
            {
                let x = dice.of(&["x'00ff'", "x''", "x'616263'"]);
                null(dice, x)
            },
            {
                let o = dice.of(&["1", "2"]);
                null(dice, o)
            },
            {
                let s = text(dice);
                null(dice, &s)
            },
        ];
        script.push_str(&format!("INSERT INTO t VALUES ({id}, {});", values.join(", ")));
    }
    for id in 1..=5 {
        script.push_str(&format!(
            "INSERT INTO u VALUES ({id}, {}, {}, {});",
            dice.below(3),
            dice.of(&["'abc'", "'z'", "NULL"]),
            dice.of(&["0.5", "2.5"])
        ));
    }
    script
}

/// Texts there may hold any bytes.
fn owned(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Text(bytes) => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
    }
}

/// What a query gives there, row by row; the error, if there is one.
fn there(sqlite: &rusqlite::Connection, sql: &str) -> Result<Vec<Vec<Value>>, String> {
    let run = || -> rusqlite::Result<Vec<Vec<Value>>> {
        let mut statement = sqlite.prepare(sql)?;
        let width = statement.column_count();
        let rows = statement.query_map((), |row| (0..width).map(|at| row.get_ref(at).map(owned)).collect())?;
        rows.collect()
    };
    run().map_err(|error| error.to_string())
}

/// The same here, as texts.
fn here(conn: &Connection, view: &str) -> Result<Vec<Vec<Option<String>>>, String> {
    let run = || -> cairndb::Result<Vec<Vec<Option<String>>>> {
        let width = conn.query(&format!("SELECT * FROM {view}"), ())?.columns().len();
        let list: Vec<String> = (0..width).map(|at| format!("c{at}::text")).collect();
        let names: Vec<String> = (0..width).map(|at| format!("c{at}")).collect();
        let sql = format!("SELECT {} FROM {view} AS v ({})", list.join(", "), names.join(", "));
        let mut rows = conn.query(&sql, ())?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push((0..width).map(|at| row.get::<Option<String>>(at)).collect::<cairndb::Result<_>>()?);
        }
        Ok(found)
    };
    run().map_err(|error| error.to_string())
}

/// Whether a value here is the one there.
fn is_same(there: &Value, here: Option<&str>) -> bool {
    let number = |text: &str| match text {
        "true" => Some(1.0),
        "false" => Some(0.0),
        text => text.parse::<f64>().ok(),
    };
    match (there, here) {
        (Value::Null, here) => here.is_none(),
        (_, None) => false,
        (Value::Integer(there), Some(here)) => here.parse() == Ok(*there) || number(here) == Some(*there as f64),
        (Value::Real(there), Some(here)) => {
            number(here).is_some_and(|here| here == *there || (here - there).abs() <= 1e-12 * there.abs())
        }
        // A day alone is its midnight in a column of timestamps.
        (Value::Text(there), Some(here)) => there == here || here.strip_suffix(" 00:00:00") == Some(there),
        (Value::Blob(there), Some(here)) => here
            .strip_prefix("\\x")
            .is_some_and(|here| here == there.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
    }
}

/// Each row there has one here, in any order.
fn are_same(there: &[Vec<Value>], here: &[Vec<Option<String>>]) -> bool {
    let mut left: Vec<&Vec<Option<String>>> = here.iter().collect();
    let is_row = |there: &[Value], here: &[Option<String>]| {
        there.len() == here.len() && there.iter().zip(here).all(|(there, here)| is_same(there, here.as_deref()))
    };
    there.len() == here.len()
        && there.iter().all(|row| {
            let found = left.iter().position(|other| is_row(row, other));
            found.map(|at| left.swap_remove(at)).is_some()
        })
}

fn import(folder: &Path) -> String {
    let _ = std::fs::remove_file(folder.join("a.cairn"));
    let output = Command::new(env!("CARGO_BIN_EXE_cairn"))
        .args(["import", "sqlite", "a.sqlite", "a.cairn"])
        .current_dir(folder)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 4)), "{told}");
    told
}

/// What is told of a name differs, so its values may.
fn is_told(told: &str, name: &str) -> bool {
    told.lines().any(|line| line.trim_start().starts_with(&format!("{name}:")))
}

#[derive(Default, Debug)]
struct Counts {
    made: usize,
    compared: usize,
    told: usize,
    left_out: usize,
    loud: usize,
    why: BTreeMap<String, usize>,
}

#[test]
fn views_give_what_they_gave() {
    let seeds = std::env::var("CAIRN_IMPORT_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(5);
    let first = std::env::var("CAIRN_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1_u64);
    let mut counts = Counts::default();
    for seed in first..first + seeds {
        let mut dice = Dice(seed);
        let folder = tempfile::tempdir().unwrap();
        let sqlite = rusqlite::Connection::open(folder.path().join("a.sqlite")).unwrap();
        sqlite.execute_batch(&format!("BEGIN; {TABLE} {} COMMIT", rows(&mut dice))).unwrap();
        let mut views = Vec::new();
        while views.len() < 60 {
            let (name, body) = (format!("v{}", views.len()), query(&mut dice));
            // What SQLite itself refuses, or fails to run over these rows, asks nothing.
            if sqlite.execute_batch(&format!("CREATE VIEW {name} AS {body}")).is_ok() {
                match there(&sqlite, &format!("SELECT * FROM {name}")) {
                    Ok(_) => views.push((name, body)),
                    Err(_) => sqlite.execute_batch(&format!("DROP VIEW {name}")).unwrap(),
                }
            }
        }
        let told = import(folder.path());
        let conn = Database::open(folder.path().join("a.cairn")).unwrap().connect().unwrap();
        for (name, body) in views {
            counts.made += 1;
            if let Some(line) = told.lines().find(|line| line.trim_start().starts_with(&format!("view {name}: "))) {
                counts.left_out += 1;
                *counts.why.entry(line.trim_start().split_once(": ").unwrap().1.to_string()).or_default() += 1;
                continue;
            }
            if is_told(&told, &name) {
                counts.told += 1;
                continue;
            }
            match here(&conn, &name) {
                // A number that overflows, a text too long: it fails, and gives nothing wrong.
                Err(_) => counts.loud += 1,
                Ok(here) => {
                    let there = there(&sqlite, &format!("SELECT * FROM {name}")).unwrap();
                    let made =
                        conn.query_row_as::<String>(&format!("SELECT pg_get_viewdef('{name}'::regclass)"), ()).unwrap();
                    assert!(
                        are_same(&there, &here),
                        "seed {seed}, {name}: {body}\nhere: {made}\nthere: {there:?}\nhere: {here:?}"
                    );
                    counts.compared += 1;
                }
            }
        }
    }
    let mut why: Vec<_> = std::mem::take(&mut counts.why).into_iter().collect();
    why.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
    println!("{counts:?}; left out, most met first: {:?}", &why[..why.len().min(12)]);
    assert!(counts.compared * 4 >= counts.made, "too few are compared: {counts:?}");
    assert!(counts.loud * 20 <= counts.made, "too many fail: {counts:?}");
}

#[test]
fn defaults_and_checks_do_what_they_did() {
    let mut dice = Dice(7);
    let (mut defaults, mut checks, mut refused) = (0, 0, 0);
    for _ in 0..9 {
        let folder = tempfile::tempdir().unwrap();
        let sqlite = rusqlite::Connection::open(folder.path().join("a.sqlite")).unwrap();
        let constants = [
            "5",
            "-1",
            "2.5",
            "'x'",
            "x",
            "NULL",
            "(1 + 1)",
            "(7 / 2)",
            "(1 / 0)",
            "(date('now'))",
            "(datetime('now'))",
            "CURRENT_TIMESTAMP",
            "CURRENT_DATE",
            "(length('abc'))",
            "(upper('é'))",
            "TRUE",
            "0",
            "'2024-02-29'",
            "(strftime('%Y', 'now'))",
            "x'0a'",
            "\"q\"",
            "(typeof(1))",
            "(substr('hello', -3))",
            "(cast(2.7 as integer))",
            "(abs(-3))",
        ];
        let columns: Vec<String> = (0..25)
            .map(|at| {
                let kind = dice.of(&["INT", "TEXT", "REAL", "BOOLEAN", "DATE", "DATETIME", "NUMERIC", "BLOB"]);
                format!("c{at} {kind} DEFAULT {}", dice.of(&constants))
            })
            .collect();
        let mut made = Vec::new();
        while made.len() < 12 {
            let check = expression(&mut dice, 2).replace("t.", "");
            if sqlite.execute_batch(&format!("CREATE TABLE try (id, i, j, r, s, w, b, d, m, x, \"order\", \"select\", CHECK ({check})); DROP TABLE try")).is_ok() {
                made.push(check);
            }
        }
        let tables: Vec<String> = made
            .iter()
            .enumerate()
            .map(|(at, check)| {
                format!(
                    "CREATE TABLE k{at} (id INTEGER PRIMARY KEY, i INT, j INT, r REAL, s TEXT, w TEXT, b BOOLEAN, d DATE, m DATETIME, x BLOB,
                     \"order\" INT, \"select\" TEXT, CHECK ({check}));"
                )
            })
            .collect();
        sqlite
            .execute_batch(&format!(
                "CREATE TABLE def (id INTEGER PRIMARY KEY, {}); {}",
                columns.join(", "),
                tables.join("")
            ))
            .unwrap();
        let told = import(folder.path());
        let conn = Database::open(folder.path().join("a.cairn")).unwrap().connect().unwrap();
        sqlite.execute("INSERT INTO def (id) VALUES (1)", ()).unwrap();
        conn.execute("INSERT INTO def (id) VALUES (1)", ()).unwrap();
        // A second may have gone by in between.
        sqlite.execute("INSERT INTO def (id) VALUES (2)", ()).unwrap();
        for (at, column) in columns.iter().enumerate() {
            let is_left_out =
                told.contains(&format!(" of def.c{at}: ")) || is_told(&told, &format!("def.c{at}, default"));
            if is_left_out {
                continue;
            }
            let sql = format!("SELECT c{at} FROM def");
            let there = there(&sqlite, &sql).unwrap();
            let here = conn.query_row_as::<Option<String>>(&format!("SELECT c{at}::text FROM def"), ()).unwrap();
            let is_one = there.iter().any(|row| is_same(&row[0], here.as_deref()));
            assert!(is_one, "{column}: {there:?} there, {here:?} here");
            defaults += 1;
        }
        let rows = rows(&mut dice);
        for (at, check) in made.iter().enumerate() {
            let name = "CHECK (";
            let is_left_out = !conn
                .query_row_as::<bool>(
                    &format!(
                        "SELECT count(*) > 0 FROM pg_constraint WHERE conrelid = 'k{at}'::regclass AND contype = 'c'"
                    ),
                    (),
                )
                .unwrap()
                || told
                    .lines()
                    .any(|line| line.trim_start().starts_with(name) && line.contains(&format!(" of k{at}: ")));
            if is_left_out {
                continue;
            }
            for insert in rows.split(';').filter(|insert| insert.contains("INTO t ")) {
                let insert = insert.replace("INTO t ", &format!("INTO k{at} "));
                let there = sqlite.execute(&insert, ());
                let typed = insert.replace(", x'", ", '\\x");
                let here = conn.execute(&typed.replace(", 0, '", ", false, '").replace(", 1, '", ", true, '"), ());
                let Ok(there) = there
                    .map(|_| true)
                    .or_else(|error| if error.to_string().contains("CHECK") { Ok(false) } else { Err(error) })
                else {
                    continue;
                };
                match here {
                    Ok(_) => assert!(there, "CHECK ({check}) takes {insert} here only"),
                    Err(error) if error.sqlstate() == cairndb::SqlState::CHECK_VIOLATION => {
                        assert!(!there, "CHECK ({check}) refuses {insert} here only")
                    }
                    Err(_) => continue,
                }
                refused += usize::from(!there);
                checks += 1;
            }
        }
    }
    println!("{defaults} defaults and {checks} rows under checks compared, {refused} of them refused by both");
    assert!(defaults > 60 && checks > 100 && refused > 5);
}
