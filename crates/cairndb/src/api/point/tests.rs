//! Point plans made straight from bound statements are those that the planner would have led to.

use super::PointPlan;
use crate::Database;
use crate::api::prepared::Body;
use crate::bind::{BoundStatement, ParameterTypes, bind_statement};
use crate::catalog::Catalog;
use crate::plan::{Field, OptimizerOptions};
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
    let direct = PointPlan::of_bound(&mut bound.clone(), catalog, &options).expect(text);
    let fields = match &bound {
        BoundStatement::Query(plan) => plan.fields(),
        BoundStatement::Update(update) => update.returning.clone().map_or(vec![], |returning| returning.fields),
        BoundStatement::Delete(delete) => delete.returning.clone().map_or(vec![], |returning| returning.fields),
        _ => vec![],
    };
    let body = Body::plan(bound, catalog, &options).expect(text);
    let planned = PointPlan::of(&body, parameters.types().len(), catalog).map(|point| (point, fields));
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
