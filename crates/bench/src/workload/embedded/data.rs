//! Customers and their orders.
//!
//! Orders come in the order of their ids; their customers are random, so the index on the customer is filled in random
//! order. The small tables have the same columns and rows, few enough for the processor's cache.

use crate::Result;
use crate::engine::{Datum, SqlSession};
use crate::keys::Keys;
use crate::rows::text;
use crate::workload::filling::in_batches;

/// Rows of the tables.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    pub orders: i64,
    pub customers: i64,
}

/// Of the small tables.
pub const SMALL: Sizes = Sizes { orders: 1_000, customers: 100 };

const CITIES: i64 = 100;
const NOTE_BYTES: usize = 40;

const TABLES: &str = "
    CREATE TABLE {}customer (id BIGINT PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL);
    CREATE TABLE {}orders (
        id BIGINT PRIMARY KEY, customer_id BIGINT NOT NULL, amount BIGINT NOT NULL, note TEXT NOT NULL
    );
    CREATE INDEX {}orders_by_customer ON {}orders (customer_id)";

/// Makes the tables and fills all but the orders.
pub fn create(session: &dyn SqlSession, sizes: Sizes) -> Result<()> {
    for prefix in ["", "small_"] {
        session.script(&TABLES.replace("{}", prefix))?;
    }
    fill_customers(session, "customer", sizes)?;
    fill_customers(session, "small_customer", SMALL)?;
    fill_orders(session, "small_orders", SMALL)
}

fn fill_customers(session: &dyn SqlSession, table: &str, sizes: Sizes) -> Result<()> {
    let mut insert = session.prepare(&format!("INSERT INTO {table} VALUES ($1, $2, $3)"))?;
    in_batches(session, sizes.customers, |id| {
        let (name, city) = (format!("customer {id}"), format!("city {}", id % CITIES));
        insert.execute(&[Datum::Int(id), Datum::Text(&name), Datum::Text(&city)])
    })
}

/// Fills the table of orders, or the small one.
pub fn fill_orders(session: &dyn SqlSession, table: &str, sizes: Sizes) -> Result<()> {
    let mut insert = session.prepare(&format!("INSERT INTO {table} VALUES ($1, $2, $3, $4)"))?;
    let mut random = Keys::new(11);
    in_batches(session, sizes.orders, |id| {
        let (customer, amount) = (random.below(sizes.customers), random.below(100_000));
        let note = &text(id)[..NOTE_BYTES];
        insert.execute(&[Datum::Int(id), Datum::Int(customer), Datum::Int(amount), Datum::Text(note)])
    })
}

/// Fills a table without other indexes than its key.
pub fn fill_plain(session: &dyn SqlSession, rows: i64) -> Result<()> {
    let mut insert = session.prepare("INSERT INTO plain VALUES ($1, $2, $3)")?;
    in_batches(session, rows, |id| insert.execute(&[Datum::Int(id), Datum::Int(id), Datum::Text(text(id))]))
}
