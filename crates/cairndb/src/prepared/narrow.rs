//! The plan that a query has for narrow ranges, beside the one for any values ([`GuessedRanges`]).

use std::sync::{Arc, OnceLock};

use super::statement::{Body, Prepared};
use crate::Result;
use crate::bind::{BoundStatement, ParameterTypes, bind_statement};
use crate::plan::{GuessedRanges, PhysicalPlan, assume};
use crate::types::Value;

/// Empty until the statement runs; then nothing, where there is nothing to choose.
#[derive(Debug, Default)]
pub(super) struct NarrowPlan(OnceLock<Option<Box<Narrow>>>);

#[derive(Debug)]
struct Narrow {
    ranges: GuessedRanges,
    /// Made when they first are narrow, for the values that they then have.
    plan: OnceLock<Arc<PhysicalPlan>>,
}

impl Prepared {
    /// What a query runs with these parameters, where `plan` is its plan for any.
    pub(crate) fn plan_for(&self, plan: &Arc<PhysicalPlan>, parameters: &[Value]) -> Result<Arc<PhysicalPlan>> {
        let ranges = || GuessedRanges::of(plan).filter(|_| !parameters.is_empty() && self.variables.is_none());
        let made = || ranges().map(|ranges| Box::new(Narrow { ranges, plan: OnceLock::new() }));
        let narrow = self.narrow.0.get_or_init(made).as_deref();
        let Some(narrow) = narrow.filter(|narrow| narrow.ranges.are_narrow(parameters)) else {
            return Ok(plan.clone());
        };
        if let Some(known) = narrow.plan.get() {
            return Ok(known.clone());
        }
        let mut types = ParameterTypes::default();
        types.declare(&self.parameters);
        let mut bound = bind_statement(&self.parsed, &self.catalog, &mut types)?;
        assume_in(&mut bound, parameters);
        match Body::plan(bound, &self.options)? {
            Body::Plan(made) => Ok(narrow.plan.get_or_init(|| made).clone()),
            Body::Explain(_) | Body::Utility => Ok(plan.clone()),
        }
    }

    /// Has a query planned as it runs with these parameters, for who tells of it.
    pub(super) fn assume(&self, statement: &mut BoundStatement, parameters: &[Value]) -> Result<()> {
        if let (Some(plan), BoundStatement::Query(_)) = (self.plan()?, &*statement)
            && !Arc::ptr_eq(&self.plan_for(plan, parameters)?, plan)
        {
            assume_in(statement, parameters);
        }
        Ok(())
    }
}

fn assume_in(statement: &mut BoundStatement, parameters: &[Value]) {
    if let BoundStatement::Query(plan) = statement {
        assume(plan, parameters);
    }
}

#[cfg(test)]
mod tests {
    use crate::{Connection, Database};

    const JOIN: &str = "SELECT i.id, p.name FROM item i JOIN parent p ON p.id = i.parent
         WHERE i.id >= $1 AND i.id < $2 ORDER BY i.id";

    fn connection() -> Connection {
        let conn = Database::open_in_memory().expect("opens").connect().expect("connects");
        conn.execute_script(
            "CREATE TABLE parent (id int PRIMARY KEY, name text);
             CREATE TABLE item (id bigint PRIMARY KEY, parent int, made timestamptz);
             INSERT INTO parent SELECT g, 'parent ' || g FROM generate_series(0, 999) AS s(g);
             INSERT INTO item SELECT g, g % 1000, timestamptz '2026-01-01 00:00Z' + g * interval '1 minute'
                 FROM generate_series(0, 39999) AS s(g);
             CREATE INDEX ON item (made)",
        )
        .expect("a script");
        conn
    }

    fn told(conn: &Connection, execute: &str) -> String {
        let rows = conn.query(&format!("EXPLAIN (COSTS off) EXECUTE {execute}"), ()).expect(execute);
        rows.into_iter().map(|row| row.expect(execute).get::<String>(0).expect("text")).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn narrow_ranges_are_looked_up_and_wide_ones_hashed() {
        let conn = connection();
        conn.execute_script(&format!("PREPARE by_id AS {JOIN}")).expect("prepares");
        conn.execute_script(&format!(
            "PREPARE by_time AS {}",
            JOIN.replace("i.id >", "i.made >").replace("i.id < ", "i.made < ")
        ))
        .expect("prepares");
        for (narrow, wide) in [
            ("by_id(500, 510)", "by_id(0, 30000)"),
            ("by_time('2026-01-02 00:00Z', '2026-01-02 00:10Z')", "by_time('2026-01-01 00:00Z', '2026-01-20 00:10Z')"),
        ] {
            for _ in 0..2 {
                assert!(told(&conn, narrow).contains("Nested Loop"), "{narrow}: {}", told(&conn, narrow));
                assert!(!told(&conn, wide).contains("Nested Loop"), "{wide}: {}", told(&conn, wide));
            }
        }
    }

    #[test]
    fn either_plan_answers_the_same_whatever_it_was_made_for() {
        let conn = connection();
        let mut statement = conn.prepare(JOIN).expect("prepares");
        for (from, to) in [(0, 10), (0, 40_000), (39_995, 50_000), (10, 0), (7, 7), (100, 30_000), (500, 600), (-5, 3)]
        {
            let rows = statement.query((i64::from(from), i64::from(to))).expect("runs");
            let found: Vec<(i64, String)> = rows
                .into_iter()
                .map(|row| row.and_then(|row| Ok((row.get(0)?, row.get(1)?))).expect("a row"))
                .collect();
            let expected: Vec<(i64, String)> =
                (from.max(0)..to.clamp(0, 40_000)).map(|id| (i64::from(id), format!("parent {}", id % 1000))).collect();
            assert!(found == expected, "{from} to {to}: {} rows", found.len());
        }
        let nothing: (Option<i64>, i64) = (None, 5);
        assert_eq!(statement.query(nothing).expect("runs").into_iter().count(), 0);
    }

    #[test]
    fn a_declared_type_stays_in_either_plan() {
        let conn = connection();
        conn.execute_script(&format!("PREPARE declared (smallint, numeric) AS {JOIN}")).expect("prepares");
        for (values, count) in [("3, 5.5", 3), ("3, 39999.5", 39_997), ("3, 8", 5)] {
            let rows = conn.query(&format!("EXECUTE declared({values})"), ()).expect(values);
            assert_eq!(rows.into_iter().count(), count, "{values}");
        }
    }
}
