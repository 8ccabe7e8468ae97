//! What commits append to one tree, and who takes it from there.
//!
//! Each entry counts as a write to a place of its own. What must hold: they stand in the order of their commits, each at the
//! place where it was first seen, whatever crashed meanwhile; a transaction does not see its own; and whoever listens takes only
//! what is durable, and misses nothing before what he took last.

use std::time::Duration;

use cairn_storage::simulated::Scheduler as _;
use cairn_storage::{AppendListener, Error, Reader, Result, Store};

use crate::clients::World;
use crate::history::Outcome;
use crate::random::{Random, mix};
use crate::rows::{Noted, Put};
use crate::scheduler;
use crate::value::{Op, Register};
use crate::wakers::Given;

/// One in so many times that something was taken, the machine loses power at once.
const CUT: u64 = 6;

/// Behind all that a reader may have taken before.
const BEGIN: (u64, u32) = (0, u32::MAX);

impl Noted {
    /// Appends an entry.
    pub(crate) fn append(&self, to: &mut impl Put) -> Result<()> {
        let feed = self.history.borrow().feed;
        let Some(feed) = feed else { return Ok(()) };
        let number = self.history.borrow_mut().appended(self.txn);
        to.append(feed, &number.to_le_bytes())
    }

    /// Reads what was appended behind a place, up to a position, and notes what is there; the entries' numbers and places.
    fn read_behind(&self, from: &Reader, after: (u64, u32), until: u64) -> Result<Vec<(u32, (u64, u32))>> {
        let feed = self.history.borrow().feed;
        let (Some(feed), mut found) = (feed, Vec::new()) else { return Ok(Vec::new()) };
        let mut entries = match from.appended(feed, after) {
            // The first commit is not there, which made everything.
            Err(Error::NoSuchTree(_)) => return Ok(found),
            entries => entries?,
        };
        let mut last = after;
        while let Some((position, ordinal, value)) = entries.next()? {
            if position > until {
                break;
            }
            let at = (position, ordinal);
            let number = value.try_into().map_or(u32::MAX, u32::from_le_bytes);
            let placed = self.history.borrow_mut().placed(number, at);
            let op = self
                .must(placed.and_then(|op| if at > last { Ok(op) } else { Err(format!("{at:?} behind {last:?}")) }));
            self.saw_appended(number, op, op);
            last = at;
            found.push((number, at));
        }
        Ok(found)
    }

    fn saw_appended(&self, number: u32, op: Op, seen: Op) {
        let mut history = self.history.borrow_mut();
        let place = Register { tree: history.feed.map_or(0, |feed| feed.0), key: number };
        let saw = match history.writes[op as usize].txn == self.txn {
            true if seen == op => Err(format!("a transaction saw what it appended: {number}")),
            true => Ok(()),
            false => history.saw_write(self.txn, place, seen),
        };
        drop(history);
        self.must(saw);
    }

    /// Reads all that was appended; returns a digest.
    pub(crate) fn read_feed(&self, from: &Reader) -> Result<u64> {
        let found = self.read_behind(from, BEGIN, u64::MAX)?;
        let all = self.history.borrow().all_appended().to_vec();
        let mut is_there = vec![false; all.len()];
        found.iter().for_each(|(number, _)| is_there[*number as usize] = true);
        let missing = (0..).zip(&all).filter(|(number, _)| !is_there[*number as usize]);
        missing.for_each(|(number, &op)| self.saw_appended(number, op, 0));
        Ok(found.iter().fold(0, |digest, (number, _)| mix(digest ^ u64::from(*number))))
    }
}

/// Takes what is appended as it becomes durable.
pub(crate) fn listen(world: &World, store: &Store, seed: u64) {
    let (mut random, mut listener) = (Random::new(seed), store.listen_to_appends());
    let (mut taken, mut given, mut waits) = (Vec::new(), Given::default(), false);
    while world.take_turn() {
        let (before, waited) = (taken.len(), std::mem::take(&mut waits));
        listener.note();
        let took = take(world, store, &listener, &mut taken);
        if world.shape.company.cuts && world.shape.weak && taken.len() > before && random.one_in(CUT) {
            world.disk.crash_at(world.disk.operation_count());
        }
        match took {
            Err(error) if world.is_over(&error) => return,
            _ if waited && taken.len() > before => given.is_called(world),
            _ if world.shape.company.wakers && random.one_in(2) => {
                waits = given.wait(world, &mut listener, &mut random);
                if random.one_in(3) {
                    (listener, waits) = (store.listen_to_appends(), false);
                    given.are_gone(world);
                }
            }
            _ if random.one_in(2) => scheduler::current().sleep(Duration::from_micros(random.below(400))),
            _ => listener.wait(Some(Duration::from_micros(random.below(3000)))),
        }
    }
}

fn take(world: &World, store: &Store, listener: &AppendListener, taken: &mut Vec<(u32, (u64, u32))>) -> Result<()> {
    let txn = world.history.borrow_mut().begin("listener");
    // Nobody takes back what it was told.
    world.history.borrow_mut().txns[txn].rested = true;
    let noted = Noted { history: world.history.clone(), txn };
    let (snapshot, durable) = (store.snapshot()?, listener.durable());
    let after = taken.last().map_or(BEGIN, |(_, at)| *at);
    taken.extend(noted.read_behind(snapshot.reader(), after, durable)?);
    let last = taken.last().map_or(0, |(_, at)| at.0);
    let all = noted.read_behind(snapshot.reader(), BEGIN, last)?;
    if all != *taken {
        noted.must::<()>(Err(format!(
            "{} entries were taken one after the other, of {} that are there",
            taken.len(),
            all.len()
        )));
    }
    world.history.borrow_mut().end(txn, Outcome::Committed { promised: true });
    Ok(())
}
