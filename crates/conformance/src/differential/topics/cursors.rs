//! Cursors: read in all directions, kept beyond their transaction, opened and handed out by functions.
//!
//! Left out: `pg_cursors` and the type `refcursor` of results, which are not here.

use super::super::case::Step;
use super::{Block, change, rows};

const FORWARD: [&str; 8] = ["NEXT", "FORWARD", "FORWARD 2", "3", "FORWARD ALL", "FORWARD 0", "ALL", ""];
const ANY: [&str; 16] = [
    "PRIOR",
    "BACKWARD",
    "BACKWARD 2",
    "-2",
    "BACKWARD ALL",
    "FIRST",
    "LAST",
    "ABSOLUTE 2",
    "ABSOLUTE -1",
    "ABSOLUTE 0",
    "ABSOLUTE 99",
    "RELATIVE 2",
    "RELATIVE -1",
    "RELATIVE 0",
    "0",
    "ABSOLUTE -3",
];

pub(super) fn block(b: &mut Block<'_>) -> Option<Vec<Step>> {
    if b.random.percent(20) {
        return functions(b);
    }
    let table = b.keyed()?;
    let columns: Vec<&str> =
        table.columns.iter().filter(|column| !column.kind.looks_vary()).map(|column| column.name.as_str()).collect();
    let mut columns: Vec<&str> = columns.into_iter().take(3).collect();
    columns.retain(|name| *name != "k");
    columns.insert(0, "k");
    // Whether a cursor that says neither reads backward is the plan's to say.
    let scroll = b.random.percent(70);
    let hold = b.random.percent(35);
    let kind = if scroll { "SCROLL" } else { "NO SCROLL" };
    let low = b.random.between(-9, 10);
    let order = *b.random.pick(&["", " DESC"]);
    let query = format!("SELECT {} FROM {} WHERE k > {low} ORDER BY k{order}", columns.join(", "), table.name);
    let with = if hold { "WITH HOLD " } else { *b.random.pick(&["", "", "WITHOUT HOLD "]) };
    let mut steps = Vec::new();
    let in_transaction = !hold || b.random.percent(60);
    if in_transaction {
        steps.push(change("BEGIN"));
    }
    let number = b.number;
    steps.push(change(format!("DECLARE q{number} {kind} CURSOR {with}FOR {query}")));
    for _ in 0..3 + b.random.below(6) {
        steps.push(read(b, scroll));
    }
    if in_transaction && b.random.percent(40) {
        // What comes later is not seen by it.
        steps.push(change(format!("DELETE FROM {} WHERE k = {}", table.name, b.random.between(-9, 30))));
        steps.push(read(b, scroll));
    }
    if in_transaction && b.random.percent(30) {
        steps.push(change("SAVEPOINT c"));
        steps.push(read(b, scroll));
        steps.push(change(format!("DECLARE late{number} CURSOR FOR SELECT 1")));
        if b.random.percent(30) {
            steps.push(change(format!("CLOSE q{number}")));
        }
        steps.push(change("ROLLBACK TO c"));
        steps.push(read(b, scroll));
        if b.random.percent(40) {
            steps.push(change(format!("FETCH late{number}")));
            steps.push(change("ROLLBACK TO c"));
        }
    }
    if in_transaction {
        steps.push(change(*b.random.pick(&["COMMIT", "COMMIT", "ROLLBACK"])));
    }
    if hold {
        for _ in 0..b.random.below(4) {
            steps.push(read(b, scroll));
        }
        steps.push(change(format!("CLOSE q{number}")));
    }
    Some(steps)
}

fn read(b: &mut Block<'_>, scroll: bool) -> Step {
    let verb = *b.random.pick(&["FETCH", "FETCH", "FETCH", "MOVE"]);
    // One that reads on only refuses to go back, which fails its transaction.
    let back = if scroll { 65 } else { 6 };
    let direction = if b.random.percent(back) { *b.random.pick(&ANY) } else { *b.random.pick(&FORWARD) };
    let from = if direction.is_empty() { "" } else { *b.random.pick(&[" FROM", " IN", ""]) };
    // The order is the cursor's.
    Step { unordered: false, ..change(format!("{verb} {direction}{from} q{}", b.number)) }
}

/// PL/pgSQL's own: bound ones with arguments, loops, and a name handed out.
fn functions(b: &mut Block<'_>) -> Option<Vec<Step>> {
    let table = b.keyed()?.name;
    let number = b.number;
    let moves = *b.random.pick(&["MOVE NEXT FROM", "MOVE FORWARD 2 FROM", "MOVE LAST FROM", "MOVE ABSOLUTE 2 FROM"]);
    let fetch =
        *b.random.pick(&["FETCH", "FETCH NEXT FROM", "FETCH PRIOR FROM", "FETCH FIRST FROM", "FETCH RELATIVE -1 FROM"]);
    let low = b.random.between(-9, 9);
    let mut steps = vec![
        change(format!(
            "CREATE FUNCTION f_read{number}(low integer) RETURNS integer LANGUAGE plpgsql AS $$ \
             DECLARE c SCROLL CURSOR (least_k integer) FOR SELECT k FROM {table} WHERE k >= least_k ORDER BY k; \
             n integer; total integer := 0; \
             BEGIN \
             OPEN c (low); {moves} c; {fetch} c INTO n; \
             IF FOUND THEN total := n; ELSE total := -100; END IF; \
             CLOSE c; \
             FOR r IN c (least_k := low + 2) LOOP total := total + r.k % 5; EXIT WHEN total > 40; END LOOP; \
             RETURN total; END $$"
        )),
        rows(format!("SELECT f_read{number}(i) FROM generate_series(-9, 27, 9) i")),
        change(format!(
            "CREATE FUNCTION f_open{number}(c refcursor) RETURNS refcursor LANGUAGE plpgsql AS $$ \
             BEGIN OPEN c SCROLL FOR EXECUTE 'SELECT k FROM {table} WHERE k > $1 ORDER BY 1' USING {low}; RETURN c; END $$"
        )),
        change("BEGIN"),
        change(format!("SELECT f_open{number}('q{number}')::text")),
    ];
    steps.extend((0..3).map(|_| read(b, true)));
    steps.push(change("COMMIT"));
    steps.push(change(format!("FETCH q{number}")));
    Some(steps)
}
