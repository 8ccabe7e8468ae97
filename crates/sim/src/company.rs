//! Who is there beside the usual clients: one who closes the database under them, one who holds snapshots of many versions,
//! one whose sessions do nothing.

use std::time::Duration;

use cairn_storage::simulated::Scheduler as _;
use cairn_storage::{Error, Result, Snapshot, Store};

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
