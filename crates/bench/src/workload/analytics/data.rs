//! The tables of TPC-H, from a generator that makes what `dbgen` makes.

use std::fmt::Display;

use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};

use crate::Result;
use crate::engine::{Datum, SqlSession};

const SCHEMA: &str = include_str!("../../../tpch/schema.sql");
const ROWS_PER_TRANSACTION: usize = 10_000;

/// What every engine is given besides the primary keys, so that none has to scan for each row of another table.
const INDEXES: &str = "
    CREATE INDEX l_part ON lineitem (l_partkey, l_suppkey);
    CREATE INDEX l_ship ON lineitem (l_shipdate);
    CREATE INDEX o_cust ON orders (o_custkey);
    CREATE INDEX o_date ON orders (o_orderdate);
    CREATE INDEX ps_supp ON partsupp (ps_suppkey);
    CREATE INDEX c_nation ON customer (c_nationkey);
    CREATE INDEX s_nation ON supplier (s_nationkey);";

/// Creates and fills the tables at this scale (1 is about a gigabyte), with indexes and statistics.
pub fn load(session: &dyn SqlSession, scale: f64) -> Result<()> {
    session.script(SCHEMA)?;
    table(session, "region", 3, RegionGenerator::new(scale, 1, 1).iter())?;
    table(session, "nation", 4, NationGenerator::new(scale, 1, 1).iter())?;
    table(session, "part", 9, PartGenerator::new(scale, 1, 1).iter())?;
    table(session, "supplier", 7, SupplierGenerator::new(scale, 1, 1).iter())?;
    table(session, "partsupp", 5, PartSuppGenerator::new(scale, 1, 1).iter())?;
    table(session, "customer", 8, CustomerGenerator::new(scale, 1, 1).iter())?;
    table(session, "orders", 9, OrderGenerator::new(scale, 1, 1).iter())?;
    table(session, "lineitem", 16, LineItemGenerator::new(scale, 1, 1).iter())?;
    session.script(INDEXES)?;
    session.script("ANALYZE")
}

/// Rows show themselves as lines of `dbgen`: `a|b|c|`. Every engine turns the texts into its columns' types.
fn table(session: &dyn SqlSession, name: &str, columns: usize, rows: impl Iterator<Item = impl Display>) -> Result<()> {
    let values = |line: String| line.split('|').take(columns).map(str::to_string).collect();
    let mut rows = rows.map(|row| values(row.to_string()));
    match session.append(name, &mut rows) {
        Some(appended) => appended,
        None => insert(session, name, columns, rows),
    }
}

fn insert(session: &dyn SqlSession, name: &str, columns: usize, rows: impl Iterator<Item = Vec<String>>) -> Result<()> {
    let places = (1..=columns).map(|at| format!("${at}")).collect::<Vec<_>>().join(", ");
    let mut insert = session.prepare(&format!("INSERT INTO {name} VALUES ({places})"))?;
    session.script("BEGIN")?;
    for (number, row) in rows.enumerate() {
        if number % ROWS_PER_TRANSACTION == ROWS_PER_TRANSACTION - 1 {
            session.script("COMMIT")?;
            session.script("BEGIN")?;
        }
        let values: Vec<Datum<'_>> = row.iter().map(|value| Datum::Text(value)).collect();
        insert.execute(&values)?;
    }
    session.script("COMMIT")
}
