//! The same query under every setting that may change how it runs and never what it answers: each optimizer rule off in
//! turn, all off, batches of 1, 2, 3 and 1024 rows, everything that can spill on disk; with and without statistics.

use super::compare::{Outcome, same_answer};
use super::consistency::{Consistency, fill, make_indexes};
use super::expression::Expressions;
use super::query::query;
use super::schema::{TableSpec, schema};
use super::{Dialect, Random, Rules, Step};
use crate::engine::{Engine, Failure, Session};

/// The optimizer's switches, as `SET` knows them.
const SWITCHES: [&str; 8] = [
    "enable_rewrites",
    "enable_decorrelation",
    "enable_join_reorder",
    "enable_indexscan",
    "enable_hashjoin",
    "enable_mergejoin",
    "enable_indexjoin",
    "enable_ordering",
];
const BATCH_ROWS: [usize; 4] = [1, 2, 3, 1024];
const QUERIES: usize = 40;

/// Runs the queries of a seed under every setting and compares with the plain one: everything off. `spilling` is an empty
/// database too, whose sorts, hash tables and results go to disk from their first bytes on.
pub fn check_forced(seed: u64, engine: &dyn Engine, spilling: &dyn Engine) -> Result<Consistency, Failure> {
    let (mut session, queries) = load(seed, engine)?;
    let mut report = Consistency::default();
    let plain = run_all(session.as_mut(), &plain_settings(), &queries)?;
    for settings in variants() {
        let found = run_all(session.as_mut(), &settings, &queries)?;
        compare_all(&mut report, &settings.join("; "), &queries, &plain, &found);
    }
    let (mut session, _) = load(seed, spilling)?;
    for settings in [vec!["SET batch_rows = 0".into()], vec!["SET batch_rows = 2".to_owned()]] {
        let found = run_all(session.as_mut(), &settings, &queries)?;
        compare_all(&mut report, &format!("spilling; {}", settings.join("; ")), &queries, &plain, &found);
    }
    Ok(report)
}

/// The database of a seed, the same in every engine, and what it is asked.
fn load(seed: u64, engine: &dyn Engine) -> Result<(Box<dyn Session + '_>, Vec<Step>), Failure> {
    let mut random = Random::new(seed ^ 0xF0_4CED);
    let (tables, statements) = schema(&mut random, Dialect::Postgres);
    let mut session = engine.session()?;
    for sql in statements {
        session.run(&sql)?;
    }
    tables.iter().for_each(|table| fill(&mut random, &tables, table, session.as_mut()));
    if seed.is_multiple_of(2) {
        make_indexes(session.as_mut(), &tables)?;
    }
    let queries = queries(&mut random, &tables);
    Ok((session, queries))
}

fn queries(random: &mut Random, tables: &[TableSpec]) -> Vec<Step> {
    let mut g = Expressions { random, dialect: Dialect::Postgres, tables, visible: Vec::new(), aliases: 0 };
    (0..QUERIES).map(|_| query(&mut g)).collect()
}

fn switch(name: &str, on: bool) -> String {
    format!("SET {name} = {}", if on { "on" } else { "off" })
}

fn plain_settings() -> Vec<String> {
    SWITCHES.iter().map(|name| switch(name, false)).chain(["SET batch_rows = 0".into()]).collect()
}

/// Settings, each beginning where the one before it does not matter.
fn variants() -> Vec<Vec<String>> {
    let with = |change: String| {
        let defaults = SWITCHES.iter().map(|name| switch(name, true)).chain(["SET batch_rows = 0".into()]);
        defaults.chain([change]).collect::<Vec<_>>()
    };
    let batches = |rows: &usize| format!("SET batch_rows = {rows}");
    let mut all = vec![with("SET batch_rows = 0".into())];
    all.extend(SWITCHES.iter().map(|name| with(switch(name, false))));
    all.extend(BATCH_ROWS.iter().map(|rows| with(batches(rows))));
    all.extend(BATCH_ROWS.iter().take(2).map(|rows| plain_settings().into_iter().chain([batches(rows)]).collect()));
    all
}

fn run_all(session: &mut dyn Session, settings: &[String], queries: &[Step]) -> Result<Vec<Outcome>, Failure> {
    for sql in settings {
        session.run(sql)?;
    }
    Ok(queries.iter().map(|step| session.run(&step.sql)).collect())
}

fn compare_all(report: &mut Consistency, settings: &str, queries: &[Step], plain: &[Outcome], found: &[Outcome]) {
    for ((step, plain), found) in queries.iter().zip(plain).zip(found) {
        compare(report, settings, step, plain, found);
    }
}

fn compare(report: &mut Consistency, settings: &str, step: &Step, plain: &Outcome, found: &Outcome) {
    match same_answer(step, Rules { details: true }, plain, found) {
        Some(true) => report.compared += 1,
        None => report.failed += 1,
        Some(false) => {
            report.compared += 1;
            let sql = &step.sql;
            report.violations.push(format!("{settings};\n{sql};\n-- everything off: {plain:?}\n-- so: {found:?}"));
        }
    }
}
