//! Who is there beside the usual clients: one who closes the database under them, one who holds snapshots of many versions,
//! one whose sessions do nothing, one who watches what changes.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::Duration;

use cairn_storage::simulated::Scheduler as _;
use cairn_storage::{Changed, Error, KeyRanges, Observer, Result, Snapshot, Step, Store, TreeId};

use crate::clients::World;
use crate::history::Outcome;
use crate::random::Random;
use crate::rows::{Noted, is_expected};
use crate::scheduler;

fn sleep(random: &mut Random, most_us: u64) {
    scheduler::current().sleep(Duration::from_micros(random.below(most_us)));
}

/// Closes the database at some time. What was acknowledged before, in whatever mode, is durable then.
pub(crate) fn close(world: &World, store: Store, seed: u64) {
    sleep(&mut Random::new(seed), 40_000);
    let began = world.history.borrow_mut().now();
    match store.close() {
        Ok(()) if !world.disk.has_crashed() => {
            world.note(|did| did.closings += 1);
            world.history.borrow_mut().closed(began);
        }
        Err(error) if !is_expected(&error) => {
            scheduler::current().fail(format!("closing beside work failed: {error} ({error:?})"))
        }
        _ => {}
    }
}

/// A snapshot, what noted it, and what was there when it was first read.
type Held = (Noted, Snapshot, Option<u64>);

/// Holds snapshots, and looks now and then whether one is still what it was.
pub(crate) fn hold(world: &World, store: &Store, seed: u64) {
    let mut random = Random::new(seed);
    let mut held: Vec<Held> = Vec::new();
    while world.take_turn() {
        sleep(&mut random, 1500);
        let done = match random.below(8) {
            0 => read_one(world, &mut held, &mut random),
            1 if random.one_in(4) => {
                held.truncate(random.below(held.len() as u64 + 1) as usize);
                Ok(())
            }
            _ => take_some(world, store, &mut held, &mut random),
        };
        world.note(|did| did.held = did.held.max(held.len() as u64));
        if done.is_err_and(|error| world.is_over(&error)) {
            return;
        }
    }
}

fn take_some(world: &World, store: &Store, held: &mut Vec<Held>, random: &mut Random) -> Result<()> {
    for _ in 0..1 + random.below(40) {
        let txn = world.history.borrow_mut().begin("held snapshot");
        held.push((Noted { history: world.history.clone(), txn }, store.snapshot()?, None));
        sleep(random, 100);
    }
    Ok(())
}

fn read_one(world: &World, held: &mut Vec<Held>, random: &mut Random) -> Result<()> {
    if held.is_empty() {
        return Ok(());
    }
    let at = random.below(held.len() as u64) as usize;
    let (noted, snapshot, before) = &mut held[at];
    let read = noted.read_all(snapshot.reader(), world.shape.keys, Some(snapshot.trees()));
    if matches!(read, Err(Error::SnapshotTooOld)) {
        held.swap_remove(at);
        return Ok(());
    }
    let now = read?;
    if before.replace(now).is_some_and(|before| before != now) {
        noted.must::<()>(Err("a held snapshot changed".to_owned()));
    }
    world.history.borrow_mut().end(noted.txn, Outcome::Committed { promised: true });
    Ok(())
}

/// Opens as many sessions as there may be, and does nothing with them.
pub(crate) fn idle(world: &World, store: &Store, seed: u64) {
    let mut random = Random::new(seed);
    sleep(&mut random, 4000);
    let mut sessions = Vec::new();
    while world.take_turn() {
        while sessions.len() < 1000 {
            match store.session() {
                Ok(session) => sessions.push(session),
                Err(_) => break,
            }
        }
        world.note(|did| did.idle = did.idle.max(sessions.len() as u64));
        sleep(&mut random, 20_000);
        sessions.truncate(sessions.len() - random.below(3).min(sessions.len() as u64) as usize);
    }
}

/// What stands in some trees.
type Content = BTreeMap<TreeId, BTreeMap<Vec<u8>, Vec<u8>>>;

/// Watches all trees that there are, and keeps by what it is told what stands in them: that must be what is there, in each state
/// that it is told of, and no crash takes such a state back.
pub(crate) fn watch(world: &World, store: &Store, seed: u64) {
    let mut random = Random::new(seed);
    while world.take_turn() {
        if watch_for_a_while(world, store, &mut random).is_err_and(|error| world.is_over(&error)) {
            return;
        }
    }
}

fn watch_for_a_while(world: &World, store: &Store, random: &mut Random) -> Result<()> {
    sleep(random, 3000);
    let Some((mut observer, interest)) = store.observe()? else { return Ok(()) };
    // First what it is interested in, then the state that it begins with.
    let trees = store.snapshot()?.trees();
    interest.set(1, KeyRanges::of_trees(trees.iter().copied()));
    let mut known = {
        let first = store.durable_snapshot()?;
        (first.position(), content_of(&first, &trees)?)
    };
    for _ in 0..random.below(40) {
        if !world.take_turn() {
            return Ok(());
        }
        // Before the state is taken: nothing that was acknowledged by now is missing there.
        let txn = world.history.borrow_mut().begin("watched state");
        world.history.borrow_mut().txns[txn].rested = true;
        let noted = Noted { history: world.history.clone(), txn };
        match observer.next(Some(Duration::from_micros(random.below(3000))))? {
            Some(step) => take_step(world, &noted, &step, &trees, &mut known)?,
            None => {
                look_back(&noted, &observer, &trees, &known.1)?;
                world.history.borrow_mut().end(txn, Outcome::Aborted);
            }
        }
    }
    Ok(())
}

fn take_step(world: &World, noted: &Noted, step: &Step, trees: &[TreeId], known: &mut (u64, Content)) -> Result<()> {
    let (begun, known) = known;
    // Told are differences from the older state.
    let mut is_anything = step.older().is_some_and(|older| older.position() < *begun);
    step.each(&mut || true, &mut |changed| match changed {
        Changed::Entry(tree, key, _, is) => {
            let entries = known.entry(tree).or_default();
            match is {
                Some(value) => drop(entries.insert(key.to_vec(), value.to_vec())),
                None => drop(entries.remove(key)),
            }
        }
        Changed::Dropped(tree) => drop(known.remove(&tree)),
        Changed::Anything => is_anything = true,
    })?;
    world.note(|did| did.watched += 1);
    if is_anything {
        *known = content_of(step.newer(), trees)?;
    }
    compare(noted, step.newer(), trees, known)?;
    // It is durable, whoever wrote it.
    noted.read_all(step.newer().reader(), world.shape.keys, Some(step.newer().trees()))?;
    world.history.borrow_mut().end(noted.txn, Outcome::Committed { promised: true });
    Ok(())
}

/// Nothing was told: nothing is another.
fn look_back(noted: &Noted, observer: &Observer, trees: &[TreeId], known: &Content) -> Result<()> {
    observer.state().map_or(Ok(()), |state| compare(noted, state, trees, known))
}

fn compare(noted: &Noted, state: &Snapshot, trees: &[TreeId], known: &Content) -> Result<()> {
    let (found, mut known) = (content_of(state, trees)?, known.clone());
    known.retain(|_, entries| !entries.is_empty());
    if found != known {
        let keys = |content: &Content| content.values().map(BTreeMap::len).sum::<usize>();
        let what = format!("what was told comes to {} entries, {} are there, or others", keys(&known), keys(&found));
        noted.must::<()>(Err(what));
    }
    Ok(())
}

/// Of those trees that are there.
fn content_of(state: &Snapshot, trees: &[TreeId]) -> Result<Content> {
    let mut content = Content::new();
    let there = state.trees();
    for &tree in trees.iter().filter(|tree| there.contains(tree)) {
        let mut cursor = state.reader().cursor(tree, Bound::Unbounded, Bound::Unbounded)?;
        while let Some((key, value)) = cursor.next()? {
            content.entry(tree).or_default().insert(key.to_vec(), value.to_vec());
        }
    }
    Ok(content)
}
