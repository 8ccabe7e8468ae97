//! What a call costs before any real work, and what is left of the usual calls without that.
//!
//! `SELECT 1` is the floor of reading calls, `UPDATE ... WHERE false` that of writing ones; the work of a call is its
//! percentile less its floor's, in the same round (below zero where a statement by key goes a shorter way than those).
//!
//! Of an asynchronous API CairnDB has tickets (`execute_async`): what handing a statement over costs, and what it costs
//! until it is durable; and futures (`futures.rs`).

use std::time::Instant;

use super::filling::create_rows;
use super::futures;
use super::together::{Connected, steps, with_connections};
use crate::Result;
use crate::engine::{Datum, SqlKind, SqlStatement};
use crate::keys::Keys;
use crate::latency::Latencies;
use crate::report::{Place, Report};
use crate::rows::text;
use crate::setup::{Medium, Setup};
use crate::terminal::progress;

const SHARES: [f64; 3] = [0.5, 0.9, 0.99];
const BATCH: i64 = 100;

pub fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let medium: &Medium = setup.fastest();
    let args = &setup.args;
    let rows = args.rows.unwrap_or(args.size(100_000, 5_000));
    let dispatch = Dispatch { place: Place { workload: "dispatch", medium: medium.name }, rows, seed: args.seed };
    let mut engines = Vec::new();
    for kind in setup.sql_kinds(SqlKind::OF_TRANSACTIONS) {
        let engine = setup.open_sql(kind, medium, report)?;
        engine.connect(&mut |session| create_rows(session, "t", rows, 0))?;
        engines.push(engine);
    }
    let (calls, writes) = (args.size(100_000, 5_000), args.size(5_000, 300));
    with_connections(&engines, &mut |connected| {
        for round in 0..args.rounds() {
            progress(dispatch.place, round, args.rounds());
            for one in connected {
                dispatch.of(one, round, (calls, writes), report)?;
            }
        }
        Ok(())
    })?;
    engines.into_iter().try_for_each(|engine| engine.close())?;
    futures::in_memory(setup, report)?;
    futures::on_disk(setup, report)
}

fn put(insert: &mut dyn SqlStatement, id: i64) -> Result<()> {
    insert.execute(&[Datum::Int(id), Datum::Int(id), Datum::Text(text(id))]).map(drop)
}

struct Dispatch {
    place: Place,
    rows: i64,
    seed: u64,
}

impl Dispatch {
    fn of(
        &self,
        &Connected { name, session, engine }: &Connected<'_>,
        round: usize,
        (calls, writes): (u64, u64),
        report: &mut Report,
    ) -> Result<()> {
        let mut keys = Keys::new(self.seed + round as u64);
        let mut nothing = session.prepare("SELECT 1")?;
        let reading = steps(calls, |_| nothing.first(&[]).map(drop))?;
        self.report(name, "SELECT 1", &reading, None, report)?;
        let mut none = session.prepare("UPDATE t SET n = 0 WHERE false")?;
        let writing = steps(calls, |_| none.execute(&[]).map(drop))?;
        self.report(name, "UPDATE WHERE false", &writing, None, report)?;
        let mut point = session.prepare("SELECT n, v FROM t WHERE id = $1")?;
        let took = steps(calls, |_| point.first(&[Datum::Int(keys.below(self.rows))]).map(drop))?;
        self.report(name, "point query", &took, Some(&reading), report)?;
        // Rows of earlier rounds stay, warm-up and batches have ids of their own.
        let mut next = self.rows + (round as i64) * (1 << 32);
        let mut insert = session.prepare("INSERT INTO t VALUES ($1, $2, $3)")?;
        let took = steps(writes, |_| {
            next += 1;
            put(&mut *insert, next)
        })?;
        self.report(name, "single insert", &took, Some(&writing), report)?;
        let took = steps(writes / 10 + 1, |_| {
            session.script("BEGIN")?;
            for _ in 0..BATCH {
                next += 1;
                put(&mut *insert, next)?;
            }
            session.script("COMMIT")
        })?;
        self.report(name, "batch of 100", &took, Some(&writing), report)?;
        if engine.pipelines() {
            let floor = self.tickets(name, "UPDATE WHERE false", None, (&mut *none, calls), Vec::new, report)?;
            let row = || {
                next += 1;
                vec![Datum::Int(next), Datum::Int(next), Datum::Text(text(next))]
            };
            self.tickets(name, "single insert", Some(&floor), (&mut *insert, writes), row, report)?;
        }
        Ok(())
    }

    /// A statement through its ticket: until the call returns, and until the ticket says that it is durable, one at a
    /// time. The former, to be subtracted from others.
    fn tickets(
        &self,
        name: &str,
        what: &str,
        floor: Option<&Latencies>,
        (statement, times): (&mut dyn SqlStatement, u64),
        mut params: impl FnMut() -> Vec<Datum<'static>>,
        report: &mut Report,
    ) -> Result<Latencies> {
        let (mut handed_over, mut calls) = (Latencies::new()?, 0);
        let durable = steps(times, |_| {
            let params = params();
            let start = Instant::now();
            let ticket = statement.execute_later(&params)?;
            let took = start.elapsed();
            calls += 1;
            // Those that warm up come first.
            if calls > times / 10 {
                handed_over.add(took);
            }
            Ok(ticket.map(|ticket| ticket.wait()).transpose().map(drop)?)
        })?;
        self.report(name, &format!("{what}, async, handed over"), &handed_over, floor, report)?;
        self.report(name, &format!("{what}, async, durable"), &durable, floor, report)?;
        Ok(handed_over)
    }

    fn report(
        &self,
        name: &str,
        what: &str,
        took: &Latencies,
        floor: Option<&Latencies>,
        report: &mut Report,
    ) -> Result<()> {
        report.add_latencies(self.place, name, what, took, &SHARES)?;
        report.add(self.place, name, &format!("{what} max"), "us", took.max_us());
        for share in [0.5, 0.99] {
            if let Some(floor) = floor {
                let work = took.quantile_us(share) - floor.quantile_us(share);
                report.add(self.place, name, &format!("{what}: work p{}", share * 100.0), "us", work);
            }
        }
        Ok(())
    }
}
