//! Every point of a recording where the machine could have stopped, and what recovery makes of each.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use cairn_storage::io::{CrashPoints, CrashStrategy, DiskImage, SimDisk};
use cairn_storage::{Options, Store, TreeId};

use super::machine::{self, Rng};
use super::workload::{Run, digest_store};

/// How many disks were recovered from.
pub static IMAGES: AtomicU64 = AtomicU64::new(0);

/// How many more were the same as one that had just been recovered from: only whether the crash may leave it was asked.
pub static AGAIN: AtomicU64 = AtomicU64::new(0);

/// Disks that were recovered from, with what was found. What one crash point leaves is often what the one before left,
/// and strategies agree where little was unsynced: then opening, reading and checking the same bytes tells nothing.
#[derive(Debug, Default)]
struct Known(VecDeque<(DiskImage, u64)>);

impl Known {
    /// Two crash points' worth.
    const MOST: usize = 16;

    fn find(&self, image: &DiskImage) -> Option<u64> {
        self.0.iter().find(|(known, _)| known == image).map(|(_, digest)| *digest)
    }

    fn add(&mut self, image: DiskImage, digest: u64) {
        self.0.truncate(Self::MOST - 1);
        self.0.push_front((image, digest));
    }
}

/// Whether a state may be what a crash leaves; an explanation if not.
pub type Admits<'a> = &'a dyn Fn(u64) -> Result<(), String>;

/// Whether positions are right in what was recovered to this state.
pub type Told<'a> = &'a dyn Fn(u64, &Store) -> Result<(), String>;

/// What is right.
#[derive(Clone, Copy)]
pub struct Judge<'a> {
    pub admits: Admits<'a>,
    pub told: Told<'a>,
}

/// How closely to look.
#[derive(Clone, Copy, Debug)]
pub struct Depth {
    /// Random subsets per crash point.
    pub random: u64,
    /// One in so many images is also crashed at every operation of its recovery, and of a commit after that.
    pub nested: usize,
}

/// Recovers from every crash of the run. Returns what is wrong first.
pub fn explore(run: &Run, depth: Depth) -> Result<(), String> {
    let mut points = run.recording.clone().crash_points();
    let (mut rng, mut known) = (Rng(run.seed ^ 0xC4A5), Known::default());
    while let Some(at) = points.advance() {
        let admits = |digest| run.history.admits(at, digest);
        let told = |digest, store: &Store| run.history.judge_positions(at, digest, store);
        let judge = Judge { admits: &admits, told: &told };
        crash_point(&points, &run.options, judge, depth, &mut rng, &mut known).map_err(|what| {
            let operation = points.recording().describe(at);
            if std::env::var_os("CAIRN_CRASH_TRACE").is_some() {
                (0..=at).for_each(|number| println!("{number}: {}", points.recording().describe(number)));
            }
            format!("workload {}, crash at operation {at} ({operation}): {what}", run.seed)
        })?;
    }
    Ok(())
}

fn crash_point(
    points: &CrashPoints,
    options: &Options,
    judge: Judge<'_>,
    depth: Depth,
    rng: &mut Rng,
    known: &mut Known,
) -> Result<(), String> {
    // With nothing to lose all strategies leave the same disk.
    let count = if points.unsynced() == 0 { 1 } else { usize::MAX };
    for strategy in CrashStrategy::family(rng.next(), depth.random).take(count) {
        let image = points.image(strategy);
        let nested = depth.nested > 0 && rng.one_in(depth.nested);
        check_new(image, options, judge, nested, rng.next(), known).map_err(|what| format!("{strategy:?}: {what}"))?;
    }
    Ok(())
}

/// Recovers from one disk, unless that was just done.
fn check_new(
    image: DiskImage,
    options: &Options,
    judge: Judge<'_>,
    nested: bool,
    seed: u64,
    known: &mut Known,
) -> Result<(), String> {
    if !nested && let Some(digest) = known.find(&image) {
        AGAIN.fetch_add(1, Ordering::Relaxed);
        return (judge.admits)(digest);
    }
    let digest = check(&image, options, judge, nested, seed)?;
    known.add(image, digest);
    Ok(())
}

/// Recovers from one disk; returns the digest of what is there.
pub fn check(image: &DiskImage, options: &Options, judge: Judge<'_>, nested: bool, seed: u64) -> Result<u64, String> {
    IMAGES.fetch_add(1, Ordering::Relaxed);
    let disk = SimDisk::from_image(image, seed);
    if nested {
        disk.start_recording();
    }
    let store = machine::open(&disk, options, seed).map_err(|error| format!("opening: {error}"))?;
    let digest = digest_store(&store).map_err(|error| format!("reading: {error}"))?;
    (judge.admits)(digest)?;
    (judge.told)(digest, &store)?;
    if nested {
        return check_onward(&disk, store, options, judge.told, digest, seed).map(|()| digest);
    }
    verify(&store)?;
    // What is left is thrown away, so the machine need not be shut down in order.
    disk.crash(CrashStrategy::KeepNone);
    Ok(digest)
}

fn verify(store: &Store) -> Result<(), String> {
    let found = store.verify().map_err(|error| format!("verifying: {error}"))?;
    match found.leaked_pages {
        0 => Ok(()),
        _ => Err(format!("pages belong to nothing: {found:?}")),
    }
}

/// Commits once more, and crashes at every operation since the machine was switched on.
fn check_onward(
    disk: &SimDisk,
    store: Store,
    options: &Options,
    told: Told<'_>,
    before: u64,
    seed: u64,
) -> Result<(), String> {
    let begun = disk.operation_count();
    let after = commit_after(&store, seed).map_err(|error| format!("a commit after recovery: {error}"))?;
    let durable = disk.operation_count();
    verify(&store)?;
    let recording = disk.take_recording();
    disk.crash(CrashStrategy::KeepNone);
    drop(store);
    let (mut points, mut known) = (recording.crash_points(), Known::default());
    while let Some(at) = points.advance() {
        let admits = |found| match found {
            _ if found == after && at >= begun => Ok(()),
            _ if found == before && at < durable => Ok(()),
            _ => Err(format!("neither the state before nor that after the commit ({begun}..{durable})")),
        };
        // What was lost before stays so, whatever stands behind it now.
        let told = |_, store: &Store| told(before, store);
        let judge = Judge { admits: &admits, told: &told };
        let seed = seed ^ at << 20;
        let count = if points.unsynced() == 0 { 1 } else { 5 };
        for strategy in CrashStrategy::family(seed, 2).take(count) {
            check_new(points.image(strategy), options, judge, false, seed, &mut known)
                .map_err(|what| format!("after recovery, crash at {at}, {strategy:?}: {what}"))?;
        }
    }
    Ok(())
}

fn commit_after(store: &Store, seed: u64) -> cairn_storage::Result<u64> {
    let transaction = store.begin()?;
    let new = transaction.create_tree()?;
    for i in 0..8u64 {
        transaction.put(TreeId::CATALOG, &(seed ^ i).to_le_bytes(), &[i as u8; 90])?;
    }
    transaction.put(new, b"after", &[7; 1500])?;
    transaction.commit(None)?;
    digest_store(store)
}

/// Explores many runs on two threads; panics with what is wrong in any.
pub fn explore_all(runs: impl Iterator<Item = Run> + Send, depth: Depth) {
    let runs = Mutex::new(runs);
    let failure = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let next = runs.lock().expect("runs").next();
                    let Some(run) = next else { return };
                    if let Err(what) = explore(&run, depth) {
                        failure.lock().expect("failure").get_or_insert(what);
                    }
                    if failure.lock().expect("failure").is_some() {
                        return;
                    }
                }
            });
        }
    });
    let failure = failure.into_inner().expect("failure");
    assert!(failure.is_none(), "{}", failure.unwrap_or_default());
}
