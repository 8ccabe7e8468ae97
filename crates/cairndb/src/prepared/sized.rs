//! A statement's plans by how large the ranges are that it asks for with parameters.

use std::sync::Arc;

use crate::plan::{AskedRange, PhysicalPlan};
use crate::sync::Mutex;
use crate::{Result, Value};

/// Plans that are kept; behind them comes the one that is oldest.
const PLANS: usize = 8;

/// See the module.
#[derive(Debug)]
pub(super) struct Sized {
    ranges: Vec<AskedRange>,
    plans: Mutex<Vec<(Vec<u8>, Arc<PhysicalPlan>)>>,
}

impl Sized {
    pub(super) fn of(ranges: Vec<AskedRange>) -> Sized {
        Sized { ranges, plans: Mutex::default() }
    }

    /// The plan for ranges of the size that these parameters make; made where there is none yet. `otherwise`: where there are no ranges.
    pub(super) fn plan_for(
        &self,
        otherwise: &Arc<PhysicalPlan>,
        parameters: &[Value],
        make: impl FnOnce(&[AskedRange]) -> Result<Arc<PhysicalPlan>>,
    ) -> Result<Arc<PhysicalPlan>> {
        if self.ranges.is_empty() {
            return Ok(otherwise.clone());
        }
        let sizes: Vec<u8> = self.ranges.iter().map(|range| range.size(parameters)).collect();
        if let Some((_, plan)) = self.plans.lock().iter().find(|(known, _)| *known == sizes) {
            return Ok(plan.clone());
        }
        let plan = make(&self.ranges)?;
        let mut plans = self.plans.lock();
        if plans.len() >= PLANS {
            plans.remove(0);
        }
        plans.push((sizes, plan.clone()));
        Ok(plan)
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

    /// Its sizes would be looked up at each execution, for nothing.
    #[test]
    fn a_range_that_nothing_hangs_on_has_one_plan() {
        let conn = connection();
        for (sql, count) in [
            ("SELECT parent FROM item WHERE id >= $1 AND id < $2", 0),
            ("SELECT count(*) FROM item WHERE id > $1", 0),
            ("SELECT parent FROM item WHERE made >= $1", 1),
            ("SELECT parent FROM item WHERE id > $1 ORDER BY made", 1),
            ("SELECT name FROM item i JOIN parent p ON p.id = i.parent WHERE i.id > $1", 1),
            ("SELECT parent FROM item WHERE id > $1 AND EXISTS (SELECT FROM parent WHERE name = made::text)", 1),
        ] {
            let statement = conn.prepare(sql).expect(sql);
            let prepared = statement.plan().expect(sql);
            assert_eq!(prepared.sized.ranges.len(), count, "{sql}");
        }
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

    /// A sample of the values can not tell ten rows of so many from two hundred; how many numbers lie in the range does.
    #[test]
    fn a_few_numbers_of_a_large_table_are_few_rows() {
        let conn = connection();
        conn.execute_script(&format!(
            "DELETE FROM parent WHERE id >= 200;
             INSERT INTO item SELECT g, g % 200, now() FROM generate_series(40000, 399999) AS s(g);
             ANALYZE;
             PREPARE by_id AS {JOIN}"
        ))
        .expect("a script");
        for (few, many) in [("by_id(500, 510)", "by_id(0, 1000)"), ("by_id(200010, 200020)", "by_id(300000, 500000)")] {
            assert!(told(&conn, few).contains("Nested Loop"), "{few}: {}", told(&conn, few));
            assert!(!told(&conn, many).contains("Nested Loop"), "{many}: {}", told(&conn, many));
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
