//! PL/pgSQL made of pieces: loops, conditions, exceptions, EXECUTE, rows, arrays.

use super::super::case::Step;
use super::{Block, change, rows};

/// A function of one number, called for a few of them; and what it wrote.
pub(super) fn block(b: &mut Block<'_>) -> Option<Vec<Step>> {
    let number = b.number;
    let table = b.table().name;
    let body = statements(b, &table, 2);
    let returns_set = b.random.percent(30);
    let (returns, end) = if returns_set {
        (
            "SETOF integer",
            "RETURN NEXT x; RETURN QUERY SELECT k FROM audit_rows WHERE k % 2 = 0; RETURN NEXT cardinality(xs);",
        )
    } else {
        ("text", "RETURN concat_ws('|', x, word, xs::text, r, FOUND);")
    };
    let end = end.replace("audit_rows", &table);
    let mut steps = vec![change(format!(
        "CREATE FUNCTION f_made{number}(n integer) RETURNS {returns} LANGUAGE plpgsql AS $$ \
         <<outer_block>> DECLARE x integer := n; word text := 'w'; xs integer[] := '{{}}'; r record; p pair; \
         state text; said text; i0 integer; i1 integer; \
         BEGIN SELECT n AS k, 'r' AS t INTO r; {body} {end} END $$"
    ))];
    for _ in 0..3 {
        steps.push(change(format!("SELECT f_made{number}({})", b.random.between(-2, 7))));
    }
    if b.random.percent(40) {
        let body = statements(b, &table, 1);
        steps.push(change(format!(
            "DO $$ DECLARE x integer := 1; n integer := 3; word text := ''; xs integer[]; r record; p pair; state text; \
             said text; i0 integer; i1 integer; BEGIN SELECT 1 AS k, 'r' AS t INTO r; {body} \
             INSERT INTO audit VALUES (word, said, x, cardinality(xs)); END $$"
        )));
    }
    steps.push(rows("SELECT * FROM audit"));
    steps.push(change(format!("DROP FUNCTION f_made{number}")));
    Some(steps)
}

fn statements(b: &mut Block<'_>, table: &str, depth: usize) -> String {
    let count = 1 + b.random.below(if depth == 2 { 5 } else { 3 });
    (0..count).map(|_| statement(b, table, depth)).collect::<Vec<_>>().join(" ")
}

fn statement(b: &mut Block<'_>, table: &str, depth: usize) -> String {
    if depth > 0 && b.random.percent(55) {
        return compound(b, table, depth - 1);
    }
    let number = b.random.between(-2, 6);
    match b.random.below(24) {
        0 => format!("x := x + {number};"),
        1 => "xs := xs || x;".into(),
        2 => format!("xs[{number}] := x;"),
        3 => "word := word || x;".into(),
        4 => format!("SELECT k INTO x FROM {table} WHERE k > {number} ORDER BY k LIMIT 1;"),
        5 => format!("SELECT k INTO STRICT x FROM {table} WHERE k = {number};"),
        6 => format!("PERFORM 1 FROM {table} WHERE k = {number}; word := word || FOUND;"),
        7 => format!("EXECUTE 'SELECT $1 + ' || {number} INTO x USING n;"),
        8 => format!("EXECUTE format('SELECT count(*) FROM %I WHERE k > %L', '{table}', {number}) INTO x;"),
        9 => "INSERT INTO audit VALUES ('made', word, x, n);".into(),
        10 => format!("UPDATE audit SET after = after + 1 WHERE before = {number}; GET DIAGNOSTICS x = ROW_COUNT;"),
        11 => format!("INSERT INTO audit VALUES ('returned', NULL, {number}, n) RETURNING before INTO x;"),
        12 => format!("x := 10 / (n - {number});"),
        13 => format!(
            "IF n = {number} THEN RAISE EXCEPTION 'no % of %', n, word USING ERRCODE = 'P00{}'; END IF;",
            number.abs()
        ),
        14 => "RAISE NOTICE 'x is %', x;".into(),
        15 => format!("ASSERT n <> {number}, 'asserted';"),
        16 => format!("p := ROW({number}, word); p.a := p.a + x; word := p.b || p.a;"),
        17 => "r.k := r.k + 1; word := r.t;".into(),
        18 => format!("x := (SELECT max(k) FROM {table} WHERE k < n);"),
        19 => format!("CASE x WHEN 1, 2 THEN word := 'one'; WHEN {number} THEN word := 'n'; ELSE NULL; END CASE;"),
        20 => format!("CASE WHEN x > {number} THEN word := 'more'; END CASE;"),
        21 => "xs := ARRAY(SELECT generate_series(1, greatest(0, least(n, 4))));".into(),
        22 => format!("x := 'abc'::integer + {number};"),
        _ => format!("x := coalesce(x, {number});"),
    }
}

fn compound(b: &mut Block<'_>, table: &str, depth: usize) -> String {
    let inner = statements(b, table, depth);
    let (low, high) = (b.random.between(-1, 3), b.random.between(1, 5));
    let leave = *b.random.pick(&["", "", " EXIT WHEN x > 6;", " CONTINUE WHEN x % 2 = 0;", " EXIT;"]);
    match b.random.below(12) {
        0 => format!("IF x > {low} THEN {inner} ELSIF n IS NULL THEN word := 'null'; ELSE x := x + 1; END IF;"),
        1 => format!("FOR i IN {low} .. {high} LOOP {inner}{leave} END LOOP;"),
        2 => format!("FOR i IN REVERSE {high} .. {low} BY 2 LOOP{leave} {inner} END LOOP;"),
        3 => format!("i{depth} := 0; WHILE i{depth} < {high} LOOP i{depth} := i{depth} + 1;{leave} {inner} END LOOP;"),
        4 => format!(
            "i{depth} := 0; <<around>> LOOP i{depth} := i{depth} + 1; EXIT around WHEN i{depth} > {high}; {inner} END LOOP;"
        ),
        5 => format!(
            "FOR r IN SELECT k, 't' AS t FROM {table} WHERE k > {low} ORDER BY k LIMIT 3 LOOP x := r.k; {inner}{leave} END LOOP;"
        ),
        6 => format!(
            "FOR r IN EXECUTE 'SELECT k, ''e'' AS t FROM {table} WHERE k < $1 ORDER BY k LIMIT 2' USING n LOOP {inner} END LOOP;"
        ),
        7 => format!(
            "FOREACH i{depth} IN ARRAY ARRAY[1, {low}, {high}] LOOP x := x + i{depth}; {inner}{leave} END LOOP;"
        ),
        8 => format!(
            "BEGIN {inner} EXCEPTION WHEN division_by_zero THEN x := -1; WHEN no_data_found OR too_many_rows THEN word := 'rows'; END;"
        ),
        9 => format!(
            "BEGIN {inner} EXCEPTION WHEN OTHERS THEN GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE; word := SQLSTATE || state; \
             said := left(SQLERRM, 12); END;"
        ),
        10 => {
            format!("BEGIN {inner} EXCEPTION WHEN SQLSTATE 'P0002' THEN x := 2; WHEN case_not_found THEN x := 20; END;")
        }
        _ => format!("DECLARE x integer := {low}; BEGIN {inner} word := word || x; END;"),
    }
}
