//! The questions, from one row by key to all rows joined and grouped.

use super::data::{SMALL, Sizes};
use crate::Result;
use crate::engine::{Datum, Digest, SqlSession};
use crate::keys::Keys;
use crate::latency::Latencies;
use crate::workload::together::steps;

/// Rows of a range.
const RANGE: i64 = 1_000;

/// A question that is asked again and again.
pub struct Reading {
    pub what: &'static str,
    sql: &'static str,
    /// Times in a round, in full and in quick size.
    times: (u64, u64),
    /// The parameters of the next time, and how many of the two there are.
    params: fn(&mut Keys, Sizes) -> ([i64; 2], usize),
    /// Whether it gives one row at most.
    one: bool,
}

/// All of them.
pub const ALL: &[Reading] = &[
    Reading {
        what: "read",
        sql: "SELECT customer_id, amount, note FROM orders WHERE id = $1",
        times: (200_000, 10_000),
        params: |keys, sizes| ([keys.below(sizes.orders), 0], 1),
        one: true,
    },
    Reading {
        what: "join",
        sql: "SELECT o.amount, c.name FROM orders o JOIN customer c ON c.id = o.customer_id WHERE o.id = $1",
        times: (100_000, 5_000),
        params: |keys, sizes| ([keys.below(sizes.orders), 0], 1),
        one: true,
    },
    Reading {
        what: "small read",
        sql: "SELECT customer_id, amount, note FROM small_orders WHERE id = $1",
        times: (200_000, 10_000),
        params: |keys, _| ([keys.below(SMALL.orders), 0], 1),
        one: true,
    },
    Reading {
        what: "small join",
        sql: "SELECT o.amount, c.name FROM small_orders o JOIN small_customer c ON c.id = o.customer_id \
              WHERE o.id = $1",
        times: (100_000, 5_000),
        params: |keys, _| ([keys.below(SMALL.orders), 0], 1),
        one: true,
    },
    Reading {
        what: "keyed aggregate",
        sql: "SELECT count(*), sum(amount) FROM orders WHERE customer_id = $1",
        times: (20_000, 1_000),
        params: |keys, sizes| ([keys.below(sizes.customers), 0], 1),
        one: true,
    },
    Reading {
        what: "keyed join",
        sql: "SELECT count(*), sum(o.amount), min(c.name) FROM customer c JOIN orders o ON o.customer_id = c.id \
              WHERE c.id = $1",
        times: (20_000, 1_000),
        params: |keys, sizes| ([keys.below(sizes.customers), 0], 1),
        one: true,
    },
    Reading {
        what: "range of 1000",
        sql: "SELECT id, amount, note FROM orders WHERE id >= $1 AND id < $2",
        times: (2_000, 200),
        params: |keys, sizes| {
            let from = keys.below(sizes.orders - RANGE);
            ([from, from + RANGE], 2)
        },
        one: false,
    },
    Reading {
        what: "scan and sum",
        sql: "SELECT count(*), sum(amount) FROM orders",
        times: (10, 10),
        params: |_, _| ([0, 0], 0),
        one: false,
    },
    Reading {
        what: "group over join",
        sql: "SELECT c.city, count(*), sum(o.amount) FROM orders o JOIN customer c ON c.id = o.customer_id \
              GROUP BY c.city",
        times: (3, 3),
        params: |_, _| ([0, 0], 0),
        one: false,
    },
];

impl Reading {
    /// The percentiles that so many times can tell.
    pub fn shares(&self, quick: bool) -> &'static [f64] {
        if self.times(quick) >= 100 { &[0.5, 0.95, 0.99] } else { &[0.5] }
    }

    fn times(&self, quick: bool) -> u64 {
        if quick { self.times.1 } else { self.times.0 }
    }

    /// Asks one engine; what all answers came to, so that engines can be compared.
    pub fn ask(&self, session: &dyn SqlSession, sizes: Sizes, seed: u64, quick: bool) -> Result<(Latencies, Digest)> {
        let mut statement = session.prepare(self.sql)?;
        let (mut keys, mut all) = (Keys::new(seed), Digest::default());
        let latencies = steps(self.times(quick), |_| {
            let (values, count) = (self.params)(&mut keys, sizes);
            let params = values.map(Datum::Int);
            let params = &params[..count];
            let digest = if self.one { statement.first(params)? } else { statement.query(params)? };
            all.rows += digest.rows;
            all.sum += digest.sum;
            Ok(())
        })?;
        Ok((latencies, all))
    }
}
