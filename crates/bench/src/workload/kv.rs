//! Integers under integers: reads, inserts in random order, or both by turns, with the engine's own counters beside.
//!
//! Writes are grouped, `--commit-every` in a transaction. Under `--tx-mode commit` reads are of their own, from what is
//! committed; under `read-with-write` they go through the open transaction.

use std::time::Instant;

use crate::Result;
use crate::engine::{Datum, Entries, EntrySession, Kind, Operations, Shape};
use crate::keys::Keys;
use crate::report::{Place, Report};
use crate::setup::{Medium, Setup};
use crate::terminal::{progress, say};

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Mode {
    ReadsOnly,
    InsertsOnly,
    /// An insert and a read by turns.
    Mixed,
}

/// Where reads are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum TxMode {
    Commit,
    ReadWithWrite,
}

const MODES: [(Mode, &str); 3] =
    [(Mode::InsertsOnly, "inserts-only"), (Mode::ReadsOnly, "reads-only"), (Mode::Mixed, "mixed")];

/// Counters that say how things are now, not how often something happened.
const GAUGES: [&str; 8] = [
    "batch_commits_max",
    "sync_us_max",
    "log_bytes_live",
    "dirty_bytes",
    "pages_total",
    "pages_free",
    "checkpoint_us_max",
    "snapshot_age_versions",
];

pub fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    setup.media().try_for_each(|medium| on(setup, medium, report))
}

fn on(setup: &Setup, medium: &Medium, report: &mut Report) -> Result<()> {
    let args = &setup.args;
    let kv = Kv {
        place: Place { workload: "kv", medium: medium.name },
        docs: args.docs.unwrap_or(args.size(200_000, 5_000)),
        commit_every: args.commit_every,
        tx_mode: args.tx_mode,
        seed: args.seed,
    };
    say(format!("{} entries, {} in a transaction, reads: {:?}", kv.docs, kv.commit_every, kv.tx_mode));
    for round in 0..args.rounds() {
        progress(kv.place, round, args.rounds());
        for kind in setup.kinds(Kind::ALL) {
            let store = setup.open_entries(kind, medium, Shape::Numbers, report)?;
            for (mode, what) in MODES {
                // Reads need what was inserted, so the inserts are always done.
                if mode == Mode::InsertsOnly || args.mode.is_none_or(|wanted| wanted == mode) {
                    kv.measure(&*store, mode, what, report)?;
                }
            }
            store.close()?;
        }
    }
    say(if cfg!(feature = "counters") {
        "this build counts key comparisons and times every search: its speed is not CairnDB's"
    } else {
        "key comparisons and the time within the trees are counted by a build with `--features counters`"
    });
    Ok(())
}

struct Kv {
    place: Place,
    docs: u64,
    commit_every: u64,
    tx_mode: TxMode,
    seed: u64,
}

impl Kv {
    fn measure(&self, store: &dyn Entries, mode: Mode, what: &str, report: &mut Report) -> Result<()> {
        let before = store.counters();
        let start = Instant::now();
        match self.tx_mode {
            TxMode::ReadWithWrite => store.with_entries(&mut |session| self.together(mode, session))?,
            TxMode::Commit => {
                store.with_entries(&mut |writer| store.with_entries(&mut |reader| self.apart(mode, writer, reader)))?
            }
        }
        let took = start.elapsed();
        report.add(self.place, store.name(), what, "ops/s", self.operations(mode) as f64 / took.as_secs_f64());
        let counted = difference(&before, &store.counters());
        if !counted.is_empty() {
            show(store.name(), what, &counted);
            report.add_counters(self.place, store.name(), what, counted);
        }
        Ok(())
    }

    fn operations(&self, mode: Mode) -> u64 {
        if mode == Mode::Mixed { 2 * self.docs } else { self.docs }
    }

    /// Reads through the transactions that write.
    fn together(&self, mode: Mode, session: &mut dyn EntrySession) -> Result<()> {
        let mut random = Keys::new(self.seed);
        for from in (0..self.docs).step_by(self.commit_every as usize) {
            session.transaction(&mut |inside| {
                for at in from..self.docs.min(from + self.commit_every) {
                    self.insert(mode, at, inside)?;
                    self.read(mode, &mut random, inside)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Reads beside the transactions that write.
    fn apart(&self, mode: Mode, writer: &mut dyn EntrySession, reader: &mut dyn EntrySession) -> Result<()> {
        let mut random = Keys::new(self.seed);
        if mode == Mode::ReadsOnly {
            return (0..self.docs).try_for_each(|_| self.read(mode, &mut random, reader));
        }
        for from in (0..self.docs).step_by(self.commit_every as usize) {
            writer.transaction(&mut |inside| {
                for at in from..self.docs.min(from + self.commit_every) {
                    self.insert(mode, at, inside)?;
                    self.read(mode, &mut random, reader)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn insert(&self, mode: Mode, at: u64, into: &mut dyn Operations) -> Result<()> {
        match mode {
            Mode::ReadsOnly => Ok(()),
            Mode::InsertsOnly => into.insert(Datum::Int(key(at)), Datum::Int(at as i64)),
            Mode::Mixed => into.insert(Datum::Int(key(self.docs + at)), Datum::Int(at as i64)),
        }
    }

    /// Reads an entry that `inserts-only` has left.
    fn read(&self, mode: Mode, random: &mut Keys, from: &mut (impl Operations + ?Sized)) -> Result<()> {
        if mode == Mode::InsertsOnly {
            return Ok(());
        }
        let at = random.draw() % self.docs;
        match from.read(Datum::Int(key(at)))? {
            Some(8) => Ok(()),
            other => Err(format!("entry {at}: {other:?} bytes").into()),
        }
    }
}

/// The key of the `at`-th entry: each another, in random order, never negative.
fn key(at: u64) -> i64 {
    // The generator's output is a permutation of its state; the bit lost makes two keys equal once in a great while,
    // and never in runs of these sizes with this seed, or the insert would fail.
    (Keys::new(at.wrapping_mul(0x9e37_79b9_7f4a_7c15)).draw() >> 1) as i64
}

/// What was counted between two readings.
fn difference(before: &[(&'static str, u64)], after: &[(&'static str, u64)]) -> Vec<(&'static str, f64)> {
    let of = |name: &str| before.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count);
    let less = |&(name, count): &(&'static str, u64)| {
        (name, if GAUGES.contains(&name) { count } else { count.saturating_sub(of(name)) } as f64)
    };
    after.iter().map(less).collect()
}

fn show(engine: &str, what: &str, counted: &[(&str, f64)]) {
    let shown = counted.iter().filter(|(_, count)| *count > 0.0).map(|(name, count)| format!("{name} {count}"));
    say(format!("{engine}, {what}: {}", shown.collect::<Vec<_>>().join(", ")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_different_and_never_negative() {
        let keys: std::collections::BTreeSet<i64> = (0..100_000).map(key).collect();
        assert_eq!(keys.len(), 100_000);
        assert!(keys.first().is_some_and(|least| *least >= 0));
    }

    #[test]
    fn gauges_are_not_subtracted() {
        let (before, after) = ([("commits", 5), ("dirty_bytes", 100)], [("commits", 7), ("dirty_bytes", 50)]);
        assert_eq!(difference(&before, &after), [("commits", 2.0), ("dirty_bytes", 50.0)]);
    }
}
