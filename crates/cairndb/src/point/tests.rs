//! Point plans made straight from bound statements are those that the planner would have led to.

use super::PointPlan;
use crate::Database;
use crate::bind::{BoundStatement, ParameterTypes, bind_statement};
use crate::catalog::Catalog;
use crate::plan::{Field, OptimizerOptions};
use crate::prepared::Body;
use crate::sql::parse_one;

const SCHEMA: &str = "\
    CREATE TABLE parent (id bigint PRIMARY KEY, code varchar(8) NOT NULL UNIQUE);\
    CREATE TABLE t (id bigint PRIMARY KEY, a int, s text, v varchar(5) UNIQUE, c char(4), n numeric(8,2), d date,\
        flag boolean, parent bigint REFERENCES parent, CHECK (a < 50));\
    CREATE INDEX t_a ON t (a DESC);\
    CREATE TABLE two (x int, y text, z int, w double precision, PRIMARY KEY (y, x));\
    CREATE UNIQUE INDEX two_zx ON two (z DESC, x);\
    CREATE TABLE heap (k int UNIQUE, s text);\
    CREATE TABLE plain (k int, s text);";

/// A table, conditions over it (the first few give keys), and what may be computed of it.
struct Shape {
    table: &'static str,
    conditions: &'static [&'static str],
    outputs: &'static [&'static str],
    assignments: &'static [&'static str],
}

const SHAPES: [Shape; 4] = [
    Shape {
        table: "t",
        conditions: &[
            "id = $1",
            "id = 7",
            "7 = t.id",
            "id = 3 + 4",
            "id = 7::int",
            "id = '7'",
            "v = 'abc'",
            "v = $2",
            "v = lower('A')",
            "id = 1.0",
            "id = random()",
            "id IN (7)",
            "id IN (1, 2)",
            "id > 3",
            "id IS NOT NULL",
            "a < 5",
            "a = a",
            "s LIKE 'x%'",
            "flag",
            "NOT flag",
            "true",
            "false",
            "NULL",
            "n > 1.5 AND d > '2020-01-01'",
            "a = 1 OR a = 2",
            "a = 1 AND s = 'x' OR a = 1 AND s = 'y'",
            "c = 'ab'",
            "exists (SELECT 1 FROM two)",
            "a = (SELECT max(x) FROM two)",
            "id = parent",
            "now() > d",
            "random() < 0.5",
            "(id, a) = (7, 2)",
            "id BETWEEN 7 AND 7",
        ],
        outputs: &[
            "*",
            "id, s",
            "a + 1 AS b",
            "1",
            "upper(s), v",
            "$3::int",
            "(SELECT 1)",
            "count(*)",
            "id, id AS again",
            "random()",
            "coalesce(a, 2 + 3), c",
            "n, d, flag",
        ],
        assignments: &[
            "a = a + 1",
            "s = $3",
            "s = 'x', n = 2.5",
            "id = 9",
            "v = upper(v)",
            "a = (SELECT 1)",
            "parent = 4",
            "c = c || 'x'",
            "d = DEFAULT",
            "a = random()::int",
        ],
    },
    Shape {
        table: "two",
        conditions: &[
            "x = 1",
            "y = 'b'",
            "z = $1",
            "x = $2",
            "w > 0.5",
            "y = y",
            "z = 3 AND x = 4",
            "x = 1 AND y = $3",
        ],
        outputs: &["*", "w * 2", "x, y"],
        assignments: &["w = w + 1", "z = 5", "y = 'c'"],
    },
    Shape {
        table: "heap",
        conditions: &["k = 1", "k = $1", "s = 'a'"],
        outputs: &["*", "s"],
        assignments: &["s = 'b'", "k = 2"],
    },
    Shape { table: "plain", conditions: &["k = 1", "s = 'a'"], outputs: &["*"], assignments: &["s = 'b'"] },
];

const BEHIND: [&str; 5] = ["", "", "", " LIMIT 1", " ORDER BY 1"];

/// Numbers without a pattern, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn one<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.below(of.len())]
    }
}

fn statement(numbers: &mut Numbers) -> String {
    let shape = &SHAPES[numbers.below(8).saturating_sub(4)];
    let conditions: Vec<&str> = (0..1 + numbers.below(3)).map(|_| numbers.one(shape.conditions)).collect();
    let (table, filter) = (shape.table, conditions.join(" AND "));
    let returning = match numbers.below(4) {
        0 => format!(" RETURNING {}", numbers.one(shape.outputs)),
        _ => String::new(),
    };
    match numbers.below(4) {
        0 => format!("UPDATE {table} SET {} WHERE {filter}{returning}", numbers.one(shape.assignments)),
        1 => format!("DELETE FROM {table} WHERE {filter}{returning}"),
        _ => format!("SELECT {} FROM {table} WHERE {filter}{}", numbers.one(shape.outputs), numbers.one(&BEHIND)),
    }
}

type Made = Option<(PointPlan, Vec<Field>)>;

/// The point plans by the direct way and by the planner's; none where the statement can not be bound.
fn both_ways(text: &str, catalog: &Catalog) -> Option<(Made, Made)> {
    let parsed = parse_one(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    let options = OptimizerOptions::default();
    let mut parameters = ParameterTypes::default();
    let bound = bind_statement(&parsed, catalog, &mut parameters).ok()?;
    let direct = PointPlan::of_bound(&mut bound.clone(), (parameters.types().len(), catalog), &options).expect(text);
    let fields = match &bound {
        BoundStatement::Query(plan) => plan.fields(),
        BoundStatement::Update(update) => update.returning.clone().map_or(vec![], |returning| returning.fields),
        BoundStatement::Delete(delete) => delete.returning.clone().map_or(vec![], |returning| returning.fields),
        _ => vec![],
    };
    let (Body::Plan(plan), _) = Body::plan(bound, &options).expect(text) else { panic!("{text}: no plan") };
    let planned = PointPlan::of(&plan, parameters.types().len(), catalog).map(|point| (point, fields));
    Some((direct, planned))
}

#[test]
fn what_is_found_in_bound_statements_is_what_the_planner_finds() {
    let connection = Database::open_in_memory().expect("opens").connect().expect("connects");
    connection.execute_script(SCHEMA).expect("a schema");
    let catalog = connection.catalog().expect("a catalog");
    let mut numbers = Numbers(11);
    let (mut direct_plans, mut planned_only) = (0, 0);
    for _ in 0..8_000 {
        let text = statement(&mut numbers);
        let Some((direct, planned)) = both_ways(&text, &catalog) else { continue };
        match direct {
            Some(direct) => {
                assert_eq!(format!("{direct:?}"), format!("{:?}", planned.expect(&text)), "{text}");
                direct_plans += 1;
            }
            None => planned_only += usize::from(planned.is_some()),
        }
    }
    assert!(direct_plans > 800, "{direct_plans} direct, {planned_only} by the planner only");
}

fn direct_is_some(text: &str, catalog: &Catalog) -> bool {
    both_ways(text, catalog).is_some_and(|(direct, _)| direct.is_some())
}

#[test]
fn statements_of_one_row_by_key_are_not_planned() {
    let connection = Database::open_in_memory().expect("opens").connect().expect("connects");
    connection.execute_script(SCHEMA).expect("a schema");
    let catalog = connection.catalog().expect("a catalog");
    for text in [
        "SELECT a, s FROM t WHERE id = 5",
        "SELECT upper(s) FROM t WHERE v = $1 AND a > 3",
        "SELECT * FROM two WHERE x = 1 AND y = 'b'",
        "UPDATE t SET a = a + 1 WHERE id = $1",
        "DELETE FROM t WHERE id = 4 RETURNING *",
        "DELETE FROM two WHERE z = 1 AND x = 2",
    ] {
        assert!(direct_is_some(text, &catalog), "{text}");
    }
}

fn point_is_some(text: &str, catalog: &Catalog) -> bool {
    both_ways(text, catalog).is_some_and(|(direct, planned)| direct.is_some() || planned.is_some())
}

/// They run under the commit lock, for which everybody waits, or on the thread of whoever asked for them.
#[test]
fn what_may_take_long_is_no_statement_of_one_row() {
    let connection = Database::open_in_memory().expect("opens").connect().expect("connects");
    connection.execute_script(SCHEMA).expect("a schema");
    connection
        .execute_script(
            "CREATE FUNCTION routine(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN $1; END $$;
             CREATE DOMAIN padded AS text CHECK (length(lpad(VALUE, 9)) = 9); CREATE DOMAIN small AS text CHECK (VALUE <> '');
             CREATE TABLE costly_check (id int PRIMARY KEY, s text CHECK (s !~ '^(a|b)*c$'));
             CREATE TABLE costly_column (id int PRIMARY KEY, n int, s text GENERATED ALWAYS AS (repeat('x', n)) STORED);
             CREATE TABLE costly_index (id int PRIMARY KEY, s text); CREATE INDEX ON costly_index (lpad(s, 99));
             CREATE TABLE costly_predicate (id int PRIMARY KEY, s text); CREATE INDEX ON costly_predicate (id) WHERE s ~ '(a|b)*c';
             CREATE TABLE costly_product (id int PRIMARY KEY, n numeric, m numeric(12, 2));
             CREATE TABLE counted (id int PRIMARY KEY, s text);
             CREATE MATERIALIZED VIEW counts WITH (maintained = commit) AS SELECT replace(s, 'a', 'b') AS g, count(*) FROM counted GROUP BY 1;
             CREATE TABLE cheap (id int PRIMARY KEY, s text CHECK (length(s) < 9), n int, t text GENERATED ALWAYS AS (s || 'x') STORED);
             CREATE UNIQUE INDEX ON cheap (lower(s)) WHERE n > 0",
        )
        .expect("a schema");
    let catalog = connection.catalog().expect("a catalog");
    for text in [
        "UPDATE t SET a = length(md5(repeat('a', $1))) WHERE id = 1",
        "UPDATE t SET s = lpad(s, $1) WHERE id = 1",
        "UPDATE t SET s = routine(s) WHERE id = 1",
        "UPDATE t SET s = s::padded WHERE id = 1",
        "UPDATE t SET s = 'x' WHERE id = 1 AND s ~ '(a|b)*c'",
        "UPDATE t SET s = 'x' WHERE id = 1 RETURNING replace(s, 'a', s)",
        "UPDATE t SET s = CASE WHEN a > 1 THEN array_to_string(array_fill(1, ARRAY[a]), ',') ELSE '' END WHERE id = 1",
        "DELETE FROM t WHERE id = 1 AND regexp_replace(s, 'a*', '') = ''",
        "INSERT INTO heap VALUES (1, repeat('a', $1))",
        "INSERT INTO heap VALUES (1, 'a') ON CONFLICT (k) DO UPDATE SET s = rpad(excluded.s, $1)",
        "SELECT repeat(s, $1) FROM t WHERE id = 1",
        "SELECT string_agg(repeat(s, 9), '') FROM t WHERE a = 1",
        "UPDATE costly_check SET s = 'x' WHERE id = 1",
        "INSERT INTO costly_check VALUES (1, 'x')",
        "UPDATE costly_column SET n = 1 WHERE id = 1",
        "UPDATE costly_index SET s = 'x' WHERE id = 1",
        "INSERT INTO costly_index VALUES (1, 'x')",
        "DELETE FROM costly_index WHERE id = 1",
        "DELETE FROM costly_predicate WHERE id = 1",
        "UPDATE t SET s = 'x' WHERE id = 1 AND s LIKE s",
        "UPDATE t SET s = 'x' WHERE id = 1 AND s NOT LIKE $1",
        "UPDATE costly_product SET n = n * n WHERE id = 1",
        "UPDATE costly_product SET n = n * $1 WHERE id = 1",
        "UPDATE costly_product SET n = 1 / n WHERE id = 1",
        "UPDATE costly_product SET n = mod(m, n) WHERE id = 1",
        "INSERT INTO counted VALUES (1, 'x')",
        "DELETE FROM counted WHERE id = 1",
    ] {
        assert!(!point_is_some(text, &catalog), "{text}");
    }
    for text in [
        "UPDATE t SET a = a * 2 + $1, s = coalesce(lower(s), 'none') || '!', n = round(n * 1.1, 2), d = current_date WHERE id = 1",
        "UPDATE t SET s = s::small WHERE id = 1 AND a IN (1, 2, 3) AND left(s, 3) = 'abc' AND length(md5(s)) = 32",
        "SELECT upper(s), date_trunc('month', d), now(), a BETWEEN 1 AND 2 FROM t WHERE id = 1",
        "INSERT INTO heap VALUES (1, md5($1))",
        "UPDATE t SET s = 'x' WHERE id = 1 AND s LIKE 'a%b%'",
        "UPDATE costly_product SET n = m * $1 * m, m = n * 1.1 + n / 3 - m % 7 WHERE id = 1",
        "UPDATE cheap SET s = 'x' WHERE id = 1",
        "DELETE FROM cheap WHERE id = 1",
    ] {
        assert!(point_is_some(text, &catalog), "{text}");
    }
}
