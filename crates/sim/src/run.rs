//! One run: a database that is opened, used by many at once, killed or closed, and opened again, several times over.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cairn_storage::io::{CrashStrategy, FaultCounts, SimDisk};
use cairn_storage::simulated::Scheduler as _;
use cairn_storage::{Error, Result, Store};

use crate::check::check;
use crate::clients::{self, Kind, World};
use crate::doors::{Doorman, Doors};
use crate::flips::{self, Flips};
use crate::full::{Full, Fulls};
use crate::history::{History, Outcome, Txn};
use crate::lives::Lives;
use crate::machine;
use crate::random::Random;
use crate::rows::{Noted, Shared, is_expected};
use crate::scheduler::{self, Ran};
use crate::shape::Shape;
use crate::told;

/// Where the database is.
pub(crate) const DATABASE: &str = "db";
/// Its log.
pub(crate) const LOG: &str = "db-log";

/// The most steps of a run, for each that it has to do: more means that it does not end. (Reading long values through a cache that
/// they do not fit into took 2,100 in one of 1,500.)
const STEPS_MAX: u64 = 3000;

/// How many milliseconds the background has to come to rest once nobody works any more.
const NAPS: u32 = 500;

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Did {
    /// Times the database was opened.
    pub openings: u64,
    /// Times the machine crashed.
    pub crashes: u64,
    /// Crashes while the database was being opened.
    pub crashes_in_recovery: u64,
    /// Transactions, reading ones included.
    pub transactions: u64,
    /// Commits of writing ones.
    pub commits: u64,
    /// Transactions that lost to another, or failed, or were rolled back.
    pub aborted: u64,
    /// Transactions with unknown outcome.
    pub unknown: u64,
    /// The most that the log's position and the checkpoints' number came to.
    pub log_bytes: u64,
    /// Checkpoints.
    pub checkpoints: u64,
    /// Pages evicted.
    pub evicted: u64,
    /// How often memory of the cache was given back.
    pub released: u64,
    /// Conflicts.
    pub conflicts: u64,
    /// Snapshots that were ended.
    pub ended: u64,
    /// Operations of the disk that failed.
    pub faults: FaultCounts,
    /// Bits that flipped between two lives.
    pub flips: Flips,
    /// Segments that the log has no place for any more.
    pub segments_left_over: u64,
    /// Openings that failed because a thread could not be started.
    pub spawns: u64,
    /// Closings beside work.
    pub closings: u64,
    /// Snapshots of different versions held at once, at most.
    pub held: u64,
    /// Idle sessions.
    pub idle: u64,
    /// Closures that panicked.
    pub panics: u64,
    /// States that who watches was told of.
    pub watched: u64,
    /// What went wrong while the database was opened or closed, and with its files.
    pub doors: Doors,
    /// Openings with other options than the one before, and for reading only.
    pub changed: u64,
    /// Openings for reading only.
    pub read: u64,
    /// Positions of commits that a crash took, each time that they were refused.
    pub refused: u64,
    /// Commits that ended with a value that takes much of the log.
    pub huge: u64,
    /// Those who had to wait, and gave up.
    pub given_up: u64,
    /// Wakers that panic, given away.
    pub wakers: u64,
    /// Backups that two made at once.
    pub twice: u64,
    /// What is full.
    pub fulls: Fulls,
}

impl Did {
    /// Whether the run filled more segments than the log has places (each opening begins one), evicted pages, crashed,
    /// and made checkpoints while at work.
    pub fn is_crossed(&self) -> bool {
        self.segments_left_over > 0 && self.evicted > 0 && self.crashes > 0 && self.checkpoints > self.openings
    }
}

/// Runs a seed, for at least so many steps.
pub fn simulate(seed: u64, steps: u64) -> (Ran, Did) {
    simulate_broken(seed, steps, None)
}

/// As `simulate`, with the engine broken on purpose.
pub fn simulate_broken(seed: u64, steps: u64, broken: Option<cairn_storage::broken::Broken>) -> (Ran, Did) {
    let did = Arc::new(Mutex::new(Did::default()));
    let told = did.clone();
    let ran = scheduler::run(seed, steps * STEPS_MAX, move || {
        cairn_storage::broken::choose(broken);
        let mut director = Director::new(seed, told);
        director.run(steps);
    });
    let did = *did.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    (ran, did)
}

/// By then the background has done what an opening leaves to it.
const SETTLED: Duration = Duration::from_millis(100);

struct Director {
    /// As the database was made, and as this life is.
    first: Shape,
    shape: Shape,
    lives: Lives,
    /// What was there for who only read, before this life.
    read: Option<u64>,
    random: Random,
    doorman: Doorman,
    full: Full,
    history: Shared,
    disk: SimDisk,
    sync_failed: machine::SyncFailed,
    did: Arc<Mutex<Did>>,
}

fn fail(what: String) -> ! {
    scheduler::current().fail(what)
}

/// Reads everything, and notes it as what the recovery found; returns its number and a digest.
pub(crate) fn look(history: &Shared, store: &Store, keys: u32) -> Result<(Txn, u64)> {
    let txn = history.borrow_mut().begin("recovery");
    history.borrow_mut().txns[txn].recovery = true;
    let noted = Noted { history: history.clone(), txn };
    let read = store.snapshot().and_then(|of| noted.read_all(of.reader(), keys, Some(of.trees())));
    // Who was cut short has not read everything.
    history.borrow_mut().txns[txn].recovery = read.is_ok();
    let digest = read?;
    history.borrow_mut().end(txn, Outcome::Committed { promised: true });
    Ok((txn, digest))
}

/// A call failed while the database was opened, and that told nobody: whether it was one of the background's, which has made the
/// database read-only, or is about to.
fn is_failed_behind(store: &Store) -> bool {
    scheduler::current().sleep(SETTLED);
    matches!(store.checkpoint(), Err(Error::Poisoned { .. }))
}

impl Director {
    fn new(seed: u64, did: Arc<Mutex<Did>>) -> Director {
        let shape = Shape::of(seed);
        let disk = SimDisk::new(seed);
        disk.set_best_sync_method(shape.method);
        let history = Rc::new(RefCell::new(History::new()));
        history.borrow_mut().key_bytes = shape.sizes.key_bytes;
        let sync_failed = machine::SyncFailed::default();
        let (random, doorman, lives) = (Random::new(!seed), Doorman::of(seed), Lives::of(seed));
        let full = Full::of(seed);
        Director { first: shape, shape, lives, full, read: None, random, doorman, history, disk, sync_failed, did }
    }

    fn note(&self, note: impl FnOnce(&mut Did)) {
        note(&mut self.did.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    }

    fn run(&mut self, steps: u64) {
        let mut is_new = true;
        while self.is_to_go_on(steps) {
            let store = self.open();
            self.look(&store);
            if is_new {
                match clients::set_up(&self.history, &store) {
                    Ok(()) => is_new = false,
                    Err(error) => fail(format!("the first commit failed: {error}")),
                }
            }
            let store = self.live(store);
            self.end_life(store);
        }
        self.full.has_room();
        let store = self.open();
        self.look(&store);
        self.verify(&store);
        self.check_frames(&store);
        if let Err(error) = store.close() {
            fail(format!("the last closing failed: {error}"));
        }
        self.judge();
    }

    /// Until enough was done, and every limit passed, unless the disk's faults keep the database from that.
    fn is_to_go_on(&self, steps: u64) -> bool {
        let life = self.history.borrow().life;
        let is_crossed = self.did.lock().unwrap_or_else(std::sync::PoisonError::into_inner).is_crossed();
        let is_least = self.shape.sizes.is_least;
        scheduler::current().steps() < steps || life < 3 || (is_least && !is_crossed && life < 10)
    }

    /// Opens the database, through crashes on the way.
    fn open(&mut self) -> Store {
        self.history.borrow_mut().life += 1;
        self.note(|did| did.openings += 1);
        if self.shape.faults.flips && self.random.one_in(3) {
            let flips = flips::try_some(&self.disk, &self.shape, &self.history, &mut self.random);
            self.note(|did| did.flips += flips);
        }
        let is_changed = self.lives.next(&self.first, &mut self.shape);
        self.disk.set_best_sync_method(self.shape.method);
        let read = self.lives.read(&self.disk, &self.shape, &self.history);
        self.note(|did| {
            did.changed += u64::from(is_changed);
            did.read += u64::from(read.is_some());
        });
        self.read = read;
        for attempt in 0.. {
            self.history.borrow_mut().openings += 1;
            if self.disk.snapshot(Path::new(DATABASE)).is_none() {
                self.shape.asked_page_size = self.first.page_size;
            }
            if attempt < 3 && self.random.one_in(3) {
                self.disk.crash_at(self.disk.operation_count() + self.random.below(25));
            }
            self.sync_failed = machine::SyncFailed::default();
            let spawns_fail = attempt < 3 && self.shape.company.spawns_fail && self.random.one_in(2);
            let spawns = if spawns_fail { self.random.below(3) } else { u64::MAX };
            // Without the first there would be none; what others were to do is done by those that are there.
            let is_told = spawns == 0;
            let env = machine::environment_with(&self.disk, &self.sync_failed, spawns);
            let (mut doors, before) = (Doors::default(), self.disk.fault_counts().calls);
            let is_full = self.full.arm(&self.disk);
            let is_armed = attempt < 3 && !spawns_fail && !is_full;
            let before = if is_armed { self.doorman.arm(&self.disk) } else { before };
            let opened = Store::open_with(Path::new(DATABASE), self.shape.options(), env);
            let has_failed = self.doorman.opened(&self.disk, before, &opened, &mut doors);
            self.note(|did| did.doors += doors);
            self.note(|did| did.fulls.openings += u64::from(is_full));
            match opened {
                Err(error @ Error::DiskFull { .. }) if is_full && !self.disk.has_crashed() => {
                    self.disk.crash_at(u64::MAX);
                    self.full.refused(&self.disk, &error);
                    self.note(|did| did.fulls.asked += 1);
                    continue;
                }
                Err(_) if has_failed && !self.disk.has_crashed() => {
                    self.disk.crash_at(u64::MAX);
                    continue;
                }
                Err(Error::Io { .. }) if is_told && !self.disk.has_crashed() => {
                    self.disk.crash_at(u64::MAX);
                    self.note(|did| did.spawns += 1);
                    continue;
                }
                Ok(_) if is_told && !self.disk.has_crashed() => {
                    fail("there is no thread, and nobody was told".to_owned())
                }
                Ok(store) if !self.disk.has_crashed() => {
                    self.disk.crash_at(u64::MAX);
                    if !(has_failed && is_failed_behind(&store)) {
                        return store;
                    }
                    self.note(|did| did.doors.behind += 1);
                    continue;
                }
                Err(error) if !self.disk.has_crashed() => fail(format!("the database does not open: {error}")),
                opened => drop(opened),
            }
            self.note(|did| did.crashes_in_recovery += 1);
            self.crash();
        }
        unreachable!("the last attempts do not crash")
    }

    /// The machine loses power, and has it again.
    fn crash(&mut self) {
        // What lay in the system's cache may be gone.
        self.read = None;
        let seed = self.random.number();
        let strategy = match self.random.below(6) {
            0 => CrashStrategy::KeepNone,
            1 => CrashStrategy::KeepAll,
            2 => CrashStrategy::Prefix { seed },
            _ => CrashStrategy::Random { seed },
        };
        let image = self.disk.crash(strategy);
        self.disk = SimDisk::from_image(&image, seed);
        self.disk.set_best_sync_method(self.shape.method);
        self.note(|did| did.crashes += 1);
    }

    fn look(&self, store: &Store) {
        let mut looked = look(&self.history, store, self.shape.keys);
        // A checkpoint behind the opening may publish a version of the same content: what was held before is old then, and ended
        // where that is soon. Nothing comes behind it.
        for _ in 0..2 {
            if matches!(looked, Err(Error::SnapshotTooOld)) && self.shape.max_snapshot_age.is_some() {
                looked = look(&self.history, store, self.shape.keys);
            }
        }
        match looked {
            Ok((_, digest)) if self.read.is_some_and(|read| read != digest) => {
                fail("who only read found something else than who recovered".to_owned())
            }
            Ok((recovery, _)) => {
                let refused = told::ask(&self.history, recovery, store);
                self.note(|did| did.refused += refused);
            }
            Err(error) => fail(format!("the recovered database can not be read: {error}")),
        }
    }

    fn verify(&self, store: &Store) {
        match store.verify() {
            Ok(found) if found.leaked_pages == 0 => {}
            Ok(found) => fail(format!("{} pages are lost", found.leaked_pages)),
            Err(error) => fail(format!("verify: {error}")),
        }
    }

    /// Looks whether each frame of the cache is in one place; when nobody works, and the background has come to its end, also
    /// whether none is lost and every unsealed page is in memory.
    fn check_frames(&self, store: &Store) {
        let broken = store.broken_frames(false);
        if !broken.is_empty() {
            fail(format!("frames: {broken:?}"));
        }
        for nap in 1.. {
            match store.broken_frames(true) {
                broken if broken.is_empty() || self.disk.has_crashed() => return,
                broken if nap > NAPS => fail(format!("frames, at rest: {broken:?}")),
                _ => scheduler::current().sleep(Duration::from_millis(1)),
            }
        }
    }

    /// Lets clients work until their time is over, or the database's. `None`: it was dropped meanwhile.
    fn live(&mut self, store: Store) -> Option<Store> {
        if self.random.one_in(4) {
            self.verify(&store);
        }
        let before = self.disk.fault_counts();
        let names_ppm = self.doorman.names_ppm();
        let is_full = self.arm(names_ppm);
        let left = 20 + self.random.below(200) as u32;
        let world = Rc::new(World {
            history: self.history.clone(),
            shape: self.shape,
            disk: self.disk.clone(),
            sync_failed: self.sync_failed.clone(),
            left: Cell::new(left),
            is_full,
            names_fail: names_ppm > 0,
            did: self.did.clone(),
        });
        let company = self.shape.company;
        let kinds = std::iter::repeat_n(Kind::Writer, self.shape.writers as usize)
            .chain(std::iter::repeat_n(Kind::Reader, self.shape.readers as usize))
            .chain([Kind::Keeper])
            .chain((company.closes && self.random.one_in(2)).then_some(Kind::Closer))
            .chain(company.holds.then_some(Kind::Holder))
            .chain(company.idles.then_some(Kind::Idler))
            .chain(company.watches.then_some(Kind::Watcher))
            .chain(company.listens.then_some(Kind::Listener));
        let mut clients = Vec::new();
        for kind in kinds {
            let (world, store, seed) = (world.clone(), store.clone(), self.random.number());
            let work = move || clients::run(kind, world, store, seed);
            clients.push(scheduler::current().spawn(&format!("{kind:?}"), Box::new(work)));
        }
        let mut store = Some(store);
        if company.drops && self.random.one_in(2) {
            scheduler::current().sleep(Duration::from_micros(self.random.below(20_000)));
            store = None;
        }
        clients.into_iter().for_each(|client| scheduler::current().join(client));
        self.disk.clear_faults();
        let after = self.disk.fault_counts();
        self.note(|did| {
            did.faults.reads += after.reads - before.reads;
            did.faults.writes += after.writes - before.writes;
            did.faults.syncs += after.syncs - before.syncs;
            did.faults.full += after.full - before.full;
            did.faults.writebacks += after.writebacks - before.writebacks;
            did.faults.names += after.names - before.names;
        });
        if let Some(store) = &store {
            self.take_stats(store);
            if store.passed_in_line() > 0 {
                fail("who needs much of the log went before who waits longer for little".to_owned());
            }
            if self.random.one_in(2) {
                self.check_frames(store);
            }
        }
        store
    }

    fn take_stats(&self, store: &Store) {
        let (stats, sizes, first) = (store.stats(), self.shape.sizes, self.first.sizes);
        self.note(|did| {
            did.log_bytes += stats.log_bytes_written;
            // Of the least size, and the most of them, that it may have had.
            did.segments_left_over = (did.openings + did.log_bytes / sizes.segment.max(first.segment) as u64)
                .saturating_sub(sizes.segments.max(first.segments));
            did.checkpoints += stats.checkpoints;
            did.evicted += stats.pages_evicted;
            did.conflicts += stats.conflicts;
            did.ended += stats.snapshots_ended;
        });
    }

    /// Prepares what will go wrong in this life. Whether the disk is full from its begin on.
    fn arm(&mut self, names_ppm: u32) -> bool {
        if !self.random.one_in(3) {
            self.disk.crash_at(self.disk.operation_count() + self.random.below(300));
        }
        let faults = self.shape.faults;
        if faults.reads_ppm + faults.writes_ppm > 0 {
            self.disk.fail_randomly(faults.reads_ppm, faults.writes_ppm);
        }
        self.disk.fail_writeback_randomly(faults.writebacks_ppm);
        self.disk.fail_names_randomly(names_ppm);
        if faults.writes_ppm > 0 && self.random.one_in(2) {
            self.disk.fail_sync(1 + self.random.below(60));
        }
        let is_limited = faults.full && self.random.one_in(2);
        let is_full = is_limited && self.random.one_in(2);
        if is_limited {
            let (least, room) = if is_full { (self.disk.space_used(), 32) } else { (100 << 10, 200) };
            self.disk.set_capacity(Some(least + (self.random.below(room) << 10)));
        }
        if faults.ranges && self.random.one_in(2) {
            let (path, start) = (self.random.pick(&["db", "db-log"]), self.random.below(64) << 10);
            match self.random.one_in(2) {
                true => self.disk.fail_reads(Path::new(path), start..start + 2048),
                false => self.disk.fail_writes(Path::new(path), start..start + 2048),
            }
        }
        is_full
    }

    /// Kills the database, or closes it, cleanly or not.
    fn end_life(&mut self, store: Option<Store>) {
        let began = self.history.borrow_mut().now();
        let mut doors = Doors::default();
        let store = store.and_then(|store| self.doorman.beside(&self.disk, &self.shape, store, &mut doors));
        self.full.draw(&self.disk);
        let before = self.doorman.arm(&self.disk);
        let result: Result<()> = match (self.random.below(3), store) {
            (0, Some(store)) => {
                let closed = store.close();
                if closed.is_ok() && !self.disk.has_crashed() {
                    self.history.borrow_mut().closed(began);
                }
                closed
            }
            (1, store) => {
                self.disk.crash(CrashStrategy::KeepNone);
                drop(store);
                Ok(())
            }
            (_, store) => {
                drop(store);
                Ok(())
            }
        };
        doors.closings += u64::from(self.doorman.ended(&self.disk, before));
        self.note(|did| did.doors += doors);
        match result {
            Err(error) if !is_expected(&error) => fail(format!("closing failed: {error}")),
            _ => {}
        }
        if self.disk.has_crashed() {
            self.crash();
        } else {
            self.disk.crash_at(u64::MAX);
        }
    }

    fn judge(&self) {
        let history = self.history.borrow();
        self.note(|did| {
            for txn in &history.txns {
                did.transactions += 1;
                match txn.outcome {
                    Outcome::Committed { .. } => did.commits += u64::from(!txn.writes.is_empty()),
                    Outcome::Aborted => did.aborted += 1,
                    Outcome::Unknown => did.unknown += 1,
                }
            }
        });
        for txn in &history.txns {
            scheduler::current().trace(txn.end ^ (txn.reads.len() as u64) << 32);
        }
        if let Err(what) = check(&history) {
            fail(what);
        }
    }
}
