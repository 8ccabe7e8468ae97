//! Constraints that may wait for COMMIT, and unique indexes of expressions and of some rows, met by ON CONFLICT.
//!
//! Left out: UPDATEs of several keys that may not wait, of which PostgreSQL refuses some by the order in which it meets
//! the rows; and ON CONFLICT DO NOTHING beside keys that may wait, which it refuses unless another
//! key is met first; and what a sequence counts for statements that fail.

use super::super::case::Step;
use super::{Block, change, rows};

/// UNIQUE, PRIMARY KEY and FOREIGN KEY that are deferrable: keys that move over each other.
pub(super) fn deferred(b: &mut Block<'_>) -> Option<Vec<Step>> {
    let (a, c) = (format!("a{}", b.number), format!("c{}", b.number));
    let when = |b: &mut Block<'_>| {
        *b.random.pick(&[
            "",
            " DEFERRABLE",
            " DEFERRABLE INITIALLY DEFERRED",
            " NOT DEFERRABLE",
            " DEFERRABLE INITIALLY IMMEDIATE",
        ])
    };
    let (primary, unique, foreign) = (when(b), when(b), when(b));
    // A key that may wait is nothing to refer to.
    let target = if primary.contains(" DEFERRABLE") && !primary.contains("NOT") { "code" } else { "id" };
    let action = *b.random.pick(&[
        "",
        " ON UPDATE CASCADE",
        " ON DELETE SET NULL",
        " ON DELETE CASCADE",
        " ON DELETE SET DEFAULT",
    ]);
    let mut steps = vec![
        change(format!(
            "CREATE TABLE {a} (id integer CONSTRAINT {a}_id PRIMARY KEY{primary}, code integer CONSTRAINT {a}_code UNIQUE, \
             other integer CONSTRAINT {a}_other UNIQUE{unique})"
        )),
        change(format!("INSERT INTO {a} SELECT i, i * 10, 20 - i FROM generate_series(1, 6) i")),
        change(format!(
            "CREATE TABLE {c} (id integer, up integer DEFAULT 1 CONSTRAINT {c}_up REFERENCES {a} ({target}){action}{foreign})"
        )),
        change(format!("INSERT INTO {c} SELECT i, {target} FROM {a} WHERE id % 2 = 0")),
    ];
    let waits = |when: &str| when.contains(" DEFERRABLE") && !when.contains("NOT");
    let movable: Vec<&str> = [("id", primary), ("other", unique)]
        .into_iter()
        .filter(|(_, when)| waits(when))
        .map(|(name, _)| name)
        .collect();
    for _ in 0..2 + b.random.below(2) {
        let in_transaction = b.random.percent(70);
        if in_transaction {
            steps.push(change("BEGIN"));
        }
        for _ in 0..1 + b.random.below(5) {
            steps.push(change(one_deferred(b, &a, &c, target, &movable)));
        }
        if in_transaction {
            steps.push(change(*b.random.pick(&["COMMIT", "COMMIT", "COMMIT", "ROLLBACK"])));
        }
        steps.push(rows(format!("SELECT * FROM {a}")));
        steps.push(rows(format!("SELECT * FROM {c}")));
    }
    steps.push(change(format!("DROP TABLE {a}, {c}")));
    Some(steps)
}

fn one_deferred(b: &mut Block<'_>, a: &str, c: &str, target: &str, movable: &[&str]) -> String {
    let (one, other) = (b.random.between(1, 8), b.random.between(1, 8));
    let names =
        [format!("{a}_id"), format!("{a}_other"), format!("{c}_up"), "ALL".into(), format!("{a}_other, {c}_up")];
    match b.random.below(14) {
        0 | 1 if !movable.is_empty() => {
            let column = *b.random.pick(movable);
            format!("UPDATE {a} SET {column} = {column} + 1")
        }
        2 => format!("UPDATE {a} SET other = {one} WHERE id = {other}"),
        3 => format!("INSERT INTO {a} VALUES ({one}, {one} * 100, {other})"),
        4 if movable.is_empty() => {
            format!("INSERT INTO {a} VALUES ({one}, {one} * 1000, {other}) ON CONFLICT DO NOTHING")
        }
        5 => format!("INSERT INTO {a} VALUES ({one}, {one} * 1000, {other}) ON CONFLICT (other) DO NOTHING"),
        6 => format!("INSERT INTO {c} VALUES ({one}, {other} * 10)"),
        7 => format!("DELETE FROM {a} WHERE id = {one}"),
        8 => format!("UPDATE {a} SET {target} = {target} + 10 WHERE id = {one}"),
        9 => format!("UPDATE {c} SET up = up - {one}"),
        10 if movable.contains(&"id") => format!("UPDATE {a} AS x SET id = y.id FROM {a} AS y WHERE x.id = 7 - y.id"),
        11 => "SAVEPOINT s".into(),
        12 => "ROLLBACK TO SAVEPOINT s".into(),
        _ => format!("SET CONSTRAINTS {} {}", b.random.pick(&names), b.random.pick(&["DEFERRED", "IMMEDIATE"])),
    }
}

/// Unique indexes in all forms, and INSERTs that meet them.
pub(super) fn conflicts(b: &mut Block<'_>) -> Option<Vec<Step>> {
    let name = format!("u{}", b.number);
    let keys =
        ["(n)", "(lower(word))", "(n, word)", "((n % 5))", "(word)", "((word || 'x'), n)", "(abs(n)) INCLUDE (word)"];
    let predicates = ["", "", "n > 0", "word IS NOT NULL", "done"];
    let mut steps =
        vec![change(format!("CREATE TABLE {name} (id serial, n integer, word text, done boolean DEFAULT true)"))];
    let mut targets = Vec::new();
    for _ in 0..1 + b.random.below(2) {
        let (key, predicate) = (*b.random.pick(&keys), *b.random.pick(&predicates));
        let nulls = *b.random.pick(&["", " NULLS NOT DISTINCT", " NULLS DISTINCT"]);
        let condition = if predicate.is_empty() { String::new() } else { format!(" WHERE {predicate}") };
        steps.push(change(format!("CREATE UNIQUE INDEX ON {name} {key}{nulls}{condition}")));
        let key = key.split(" INCLUDE").next().unwrap_or_default();
        targets.push(format!("{key}{condition}"));
    }
    // One that implies what none asks for, and one that no index has.
    targets.push("(n) WHERE n > 5".into());
    targets.push("(lower(word))".into());
    for _ in 0..6 + b.random.below(6) {
        let values: Vec<String> = (0..1 + b.random.below(2)).map(|_| conflicting(b)).collect();
        let target = b.random.pick(&targets).clone();
        let action = match b.random.below(6) {
            0 => String::new(),
            1 => " ON CONFLICT DO NOTHING".into(),
            2 => format!(" ON CONFLICT {target} DO NOTHING"),
            3 => format!(" ON CONFLICT {target} DO UPDATE SET n = excluded.n + {name}.n"),
            4 => format!(" ON CONFLICT {target} DO UPDATE SET (word, done) = ROW(excluded.word, false)"),
            _ => format!(" ON CONFLICT {target} DO UPDATE SET word = excluded.word WHERE {name}.n < excluded.n"),
        };
        let returning = *b.random.pick(&["", " RETURNING n, word, done"]);
        steps.push(change(match b.random.below(8) {
            0 => format!("UPDATE {name} SET n = n + 1 WHERE n = {}", b.random.between(-3, 9)),
            1 => format!("UPDATE {name} SET done = NOT done WHERE n < {}", b.random.between(-3, 9)),
            _ => format!("INSERT INTO {name} (n, word) VALUES {}{action}{returning}", values.join(", ")),
        }));
    }
    steps.push(rows(format!("SELECT n, word, done FROM {name}")));
    let condition = *b.random.pick(&[
        "lower(word) = 'a'",
        "n % 5 = 1",
        "n > 0 AND n < 6",
        "word IS NOT NULL AND word > 'a'",
        "done AND n = 2",
    ]);
    steps.push(rows(format!("SELECT n, word, done FROM {name} WHERE {condition}")));
    steps.push(change(format!("DROP TABLE {name}")));
    Some(steps)
}

fn conflicting(b: &mut Block<'_>) -> String {
    let n = if b.random.percent(20) { "NULL".into() } else { b.random.between(-2, 9).to_string() };
    format!("({n}, {})", b.random.pick(&["'a'", "'A'", "'b'", "NULL", "''", "'c'"]))
}
