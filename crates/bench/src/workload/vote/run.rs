//! Durable votes: how many a second, and what each waits as the rate rises.
//!
//! Loads are open loops (see [`crate::schedule`]). *Capacity* is what gets done of far more than can be done; the curves
//! raise the rate step by step until less than 95 % of it is reached. After every load the counts of random articles
//! are read back, and at the end all votes counted: each acknowledged one must be there, once.
//!
//! Each engine that can is measured twice: raw, and with a count for each article that is kept (`kept_counts`).

use std::time::Duration;

use super::store::{Mode, Outcome, Votes, kept_counts};
use crate::Result;
use crate::engine::SqlKind;
use crate::report::{Place, Report};
use crate::setup::{Medium, Setup};
use crate::terminal::{progress, say};

const RATES_SYNC: &[f64] = &[1e3, 2e3, 4e3, 8e3, 16e3, 32e3, 64e3, 128e3];
const RATES_PIPELINED: &[f64] = &[25e3, 50e3, 100e3, 200e3, 300e3, 400e3, 500e3, 600e3, 700e3, 800e3];
/// More than any engine does.
const TOO_MUCH: f64 = 4e6;
const ENOUGH: f64 = 0.95;
const SHARES: [f64; 3] = [0.5, 0.99, 0.999];

pub fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let medium: &Medium = &setup.disk;
    let args = &setup.args;
    let mut stores = Vec::new();
    for kind in setup.sql_kinds(SqlKind::OF_LOADS) {
        let engine = setup.open_sql(kind, medium, report)?;
        stores.push(Votes::create(engine, args.size(10_000, 1_000), None)?);
        if let Some(script) = kept_counts(kind) {
            let engine = setup.open_sql(kind, medium, report)?;
            stores.push(Votes::create(engine, args.size(10_000, 1_000), Some(script))?);
        }
    }
    let vote = Vote {
        place: Place { workload: "vote", medium: medium.name },
        time: Duration::from_secs_f64(args.seconds.unwrap_or(args.size(3.0, 0.25))),
        reads: args.size(2_000, 100),
        window: args.window,
        seed: args.seed,
        writers: args.size(&[1, 4, 16, 64], &[1, 16]),
        rates_each: args.size(1, 3),
    };
    for round in 0..args.rounds() {
        progress(vote.place, round, args.rounds());
        vote.capacity(&stores, report)?;
    }
    vote.curves(&stores, report)?;
    stores.into_iter().try_for_each(|votes| {
        let (cast, found) = votes.totals()?;
        if cast != found {
            return Err(format!("{}: {cast} votes were cast, {found} are there", votes.engine.name()).into());
        }
        votes.engine.close()
    })
}

struct Vote {
    place: Place,
    time: Duration,
    /// Counts read back after a load.
    reads: u64,
    window: usize,
    seed: u64,
    writers: &'static [usize],
    /// Every so many of the rates.
    rates_each: usize,
}

impl Vote {
    /// How a measurement is called.
    fn called(votes: &Votes, what: &str) -> String {
        if votes.counts { format!("{what}, counts kept") } else { what.to_string() }
    }

    /// The modes of an engine and how each is called, with its rates.
    fn modes(&self, votes: &Votes) -> Vec<(Mode, usize, String, &'static [f64])> {
        let sync = |&writers: &usize| (Mode::Sync, writers, Vote::called(votes, &counted(writers)), RATES_SYNC);
        let mut modes: Vec<_> = self.writers.iter().map(sync).collect();
        if votes.engine.pipelines() {
            for writers in [1, 2] {
                let mode = Mode::Pipelined { window: self.window };
                let what = Vote::called(votes, &format!("{}, pipelined", counted(writers)));
                modes.push((mode, writers, what, RATES_PIPELINED));
            }
        }
        modes
    }

    fn capacity(&self, stores: &[Votes], report: &mut Report) -> Result<()> {
        for votes in stores {
            let name = votes.engine.name();
            for (mode, writers, what, _) in self.modes(votes) {
                let outcome = votes.cast(mode, writers, TOO_MUCH, self.time / 2, self.seed)?;
                report.add(self.place, name, &what, "votes/s", outcome.rate);
            }
            let counts = votes.count(self.reads, self.seed)?;
            let what = Vote::called(votes, "count of an article");
            report.add_latencies(self.place, name, &what, &counts, &[0.5, 0.99])?;
        }
        Ok(())
    }

    fn curves(&self, stores: &[Votes], report: &mut Report) -> Result<()> {
        for votes in stores {
            for (mode, writers, what, rates) in self.modes(votes) {
                let mut kept = 0.0;
                for &rate in rates.iter().step_by(self.rates_each) {
                    let outcome = votes.cast(mode, writers, rate, self.time, self.seed)?;
                    votes.count(self.reads / 10 + 1, self.seed)?;
                    self.report(votes.engine.name(), &what, rate, &outcome, report)?;
                    if outcome.rate < ENOUGH * rate {
                        break;
                    }
                    kept = rate;
                }
                report.add(self.place, votes.engine.name(), &format!("{what}: highest rate kept"), "votes/s", kept);
            }
        }
        Ok(())
    }

    fn report(&self, name: &str, what: &str, asked: f64, outcome: &Outcome, report: &mut Report) -> Result<()> {
        report.add_load(self.place, name, what, (outcome.rate, "votes/s"), &outcome.sojourn);
        let shown = SHARES.map(|share| format!("{:.0}", outcome.sojourn.quantile_us(share))).join(" / ");
        say(format!("{name}, {what}: {:.0} of {asked:.0} votes/s, p50 / p99 / p99.9 {shown} us", outcome.rate));
        report.add_histogram(self.place, name, &format!("{what}, {asked:.0} votes/s asked for"), &outcome.sojourn)
    }
}

fn counted(writers: usize) -> String {
    if writers == 1 { "1 writer".to_string() } else { format!("{writers} writers") }
}
