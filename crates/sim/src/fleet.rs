//! Many seeds, on several threads of the system.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use cairn_storage::broken::Broken;

use crate::run::{Did, simulate_broken};
use crate::scheduler::Ran;
use crate::shape::Shape;

/// Which seeds, and how.
#[derive(Clone, Copy, Debug)]
pub struct Fleet {
    /// The first seed; the others follow it.
    pub first: u64,
    /// Steps of each run, at least.
    pub steps: u64,
    /// Threads of the system.
    pub threads: u64,
    /// What is broken on purpose.
    pub broken: Option<Broken>,
    /// Seeds whose runs lean otherwise are passed over, and count.
    pub only: fn(&Shape) -> bool,
}

/// Every run.
pub fn any(_: &Shape) -> bool {
    true
}

/// What all runs did together.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Runs.
    pub seeds: u64,
    /// Scheduling steps.
    pub steps: u64,
    /// The fewest of one run.
    pub steps_min: u64,
    /// Sums over the runs.
    pub did: Did,
    /// Runs that filled more segments than the log has places, evicted pages, crashed, and made checkpoints while at
    /// work. (Each opening begins a segment.)
    pub crossed: u64,
    /// Real time.
    pub took: Duration,
    /// Simulated time.
    pub simulated: Duration,
    /// Seeds with what went wrong, in order of seeds.
    pub failures: Vec<(u64, String)>,
}

impl Fleet {
    /// Runs seed after seed while `more` says so, which hears how many runs were begun and how many failed.
    pub fn run(&self, more: impl Fn(u64, u64) -> bool + Sync) -> Tally {
        let (next, began) = (AtomicU64::new(0), Instant::now());
        let tally = Mutex::new(Tally { steps_min: u64::MAX, ..Tally::default() });
        let lock = || tally.lock().unwrap_or_else(PoisonError::into_inner);
        std::thread::scope(|scope| {
            for _ in 0..self.threads {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if !more(number, lock().failures.len() as u64) {
                            return;
                        }
                        if !(self.only)(&Shape::of(self.first + number)) {
                            lock().seeds += 1;
                            continue;
                        }
                        let (ran, did) = simulate_broken(self.first + number, self.steps, self.broken);
                        lock().add(self.first + number, ran, did);
                    }
                });
            }
        });
        let mut tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
        tally.took = began.elapsed();
        tally.failures.sort();
        tally
    }
}

impl Tally {
    fn add(&mut self, seed: u64, ran: Ran, did: Did) {
        self.seeds += 1;
        self.steps += ran.steps;
        self.steps_min = self.steps_min.min(ran.steps);
        self.simulated += ran.time;
        self.crossed += u64::from(did.is_crossed());
        self.failures.extend(ran.failure.map(|failure| (seed, failure)));
        let sum = &mut self.did;
        sum.openings += did.openings;
        sum.crashes += did.crashes;
        sum.crashes_in_recovery += did.crashes_in_recovery;
        sum.transactions += did.transactions;
        sum.commits += did.commits;
        sum.aborted += did.aborted;
        sum.unknown += did.unknown;
        sum.log_bytes += did.log_bytes;
        sum.checkpoints += did.checkpoints;
        sum.evicted += did.evicted;
        sum.released += did.released;
        sum.conflicts += did.conflicts;
        sum.ended += did.ended;
        sum.faults.reads += did.faults.reads;
        sum.faults.writes += did.faults.writes;
        sum.faults.syncs += did.faults.syncs;
        sum.faults.full += did.faults.full;
        sum.flips += did.flips;
        sum.faults.writebacks += did.faults.writebacks;
        sum.faults.names += did.faults.names;
        sum.doors += did.doors;
        sum.spawns += did.spawns;
        sum.closings += did.closings;
        sum.held = sum.held.max(did.held);
        sum.idle = sum.idle.max(did.idle);
        sum.panics += did.panics;
        sum.watched += did.watched;
        sum.changed += did.changed;
        sum.read += did.read;
        sum.refused += did.refused;
        sum.huge += did.huge;
        sum.given_up += did.given_up;
        sum.wakers += did.wakers;
        sum.twice += did.twice;
        sum.fulls.openings += did.fulls.openings;
        sum.fulls.asked += did.fulls.asked;
        sum.fulls.dropped += did.fulls.dropped;
        sum.fulls.again += did.fulls.again;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.took.as_secs_f64().max(1e-9);
        let did = &self.did;
        writeln!(
            f,
            "{} seeds, {} steps (at least {} each) in {:.1} s: {:.0} seeds/s, {:.0} steps/s; {:?} simulated",
            self.seeds,
            self.steps,
            self.steps_min,
            seconds,
            self.seeds as f64 / seconds,
            self.steps as f64 / seconds,
            self.simulated,
        )?;
        writeln!(
            f,
            "{} openings, {} crashes ({} while opening), {} checkpoints, {} log bytes, {} pages evicted, memory given back {} times",
            did.openings,
            did.crashes,
            did.crashes_in_recovery,
            did.checkpoints,
            did.log_bytes,
            did.evicted,
            did.released
        )?;
        let (faults, flips) = (did.faults, did.flips);
        writeln!(
            f,
            "faults: {} reads, {} writes, {} syncs, {} writebacks, {} calls that name files failed, {} writes without space; {} \
             bits flipped at rest: {} harmless, {} named as damage ({} put right again), {} took the last batch",
            faults.reads,
            faults.writes,
            faults.syncs,
            faults.writebacks,
            faults.names,
            faults.full,
            flips.tried,
            flips.harmless,
            flips.named,
            flips.put_right,
            flips.torn
        )?;
        let doors = did.doors;
        writeln!(
            f,
            "a call failed during {} openings ({} refused) and {} closings; {} others tried to open what was open, {} databases \
             were moved while they were open",
            doors.openings, doors.refused, doors.closings, doors.others, doors.moved
        )?;
        writeln!(
            f,
            "{} openings without all threads, {} closings beside work, {} closures that panicked; up to {} snapshots held, {} \
             idle sessions, {} watched states",
            did.spawns, did.closings, did.panics, did.held, did.idle, did.watched
        )?;
        writeln!(
            f,
            "{} openings with other options, {} for reading only; {} commits of values that take much of the log, {} gave up \
             waiting, {} wakers that panic, {} backups by two at once; positions of commits that a crash took: {} refused",
            did.changed, did.read, did.huge, did.given_up, did.wakers, did.twice, did.refused
        )?;
        let fulls = did.fulls;
        writeln!(
            f,
            "{} openings on a full disk, {} of which asked for room; {} tables dropped where there may be few pages, {} at another try",
            fulls.openings, fulls.asked, fulls.dropped, fulls.again
        )?;
        write!(
            f,
            "{} transactions: {} commits, {} aborted ({} conflicts), {} unknown; {} snapshots ended; {} runs passed every limit; {} violations",
            did.transactions,
            did.commits,
            did.aborted,
            did.conflicts,
            did.unknown,
            did.ended,
            self.crossed,
            self.failures.len()
        )
    }
}
