//! A disk that is full while the database is killed or closed, opened and used again; and databases that grow to as many pages as they
//! may have (`max_pages`).
//!
//! What must hold: an opening that finds no room says how much it needs, and has not made the log longer by what there was; with as
//! much as it asked for, a few times over at the most, the database opens. Whatever is full, who drops a table is not refused for
//! want of pages for long.

use std::path::Path;
use std::time::Duration;

use cairn_storage::io::SimDisk;
use cairn_storage::simulated::Scheduler as _;
use cairn_storage::{Error, Result, Transaction};

use crate::clients::Client;
use crate::random::Random;
use crate::rows::{Noted, TABLES};
use crate::run::LOG;
use crate::scheduler;
use crate::shape::{Faults, is_tried};

/// So often an opening may ask for room.
const ASKS: u32 = 6;
/// A log that has no place yet.
const EMPTY_LOG: usize = 4096;
/// So often a transaction that drops a table is tried.
const TRIES: u32 = 12;

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fulls {
    /// Openings on a disk that was full, and those of them that asked for room.
    pub openings: u64,
    /// See above.
    pub asked: u64,
    /// Tables dropped in databases that may not grow, and how often it took another try.
    pub dropped: u64,
    /// See above.
    pub again: u64,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Full {
    random: Random,
    is_tried: bool,
    capacity: Option<u64>,
    asked: u32,
    log: usize,
}

impl Full {
    /// A stream of its own: what is drawn for the rest does not depend on it.
    pub(crate) fn of(seed: u64) -> Full {
        let mut random = Random::new(seed ^ 0xf011_0000);
        let is_tried = random.one_in(3) && is_tried("full openings");
        Full { random, is_tried, capacity: None, asked: 0, log: 0 }
    }

    /// Behind a life: the disk is full from now on, until the next one ends.
    pub(crate) fn draw(&mut self, disk: &SimDisk) {
        self.asked = 0;
        let is_full = self.is_tried && self.random.one_in(2);
        self.capacity = is_full.then(|| disk.space_used() + (self.random.below(48) << 10));
        self.arm(disk);
    }

    /// Before an opening; whether the disk is full.
    pub(crate) fn arm(&mut self, disk: &SimDisk) -> bool {
        if self.capacity.is_some() {
            disk.set_capacity(self.capacity);
            self.log = disk.snapshot(Path::new(LOG)).map_or(0, |log| log.len());
        }
        self.capacity.is_some()
    }

    pub(crate) fn has_room(&mut self) {
        self.capacity = None;
    }

    /// The opening said that it needs so much.
    pub(crate) fn refused(&mut self, disk: &SimDisk, error: &Error) {
        let Error::DiskFull { needed, .. } = error else { return };
        let fail = |what: &str| -> ! { scheduler::current().fail(format!("{what}: {error} ({error:?})")) };
        let log = disk.snapshot(Path::new(LOG)).map_or(0, |log| log.len());
        if log > self.log.max(EMPTY_LOG) {
            fail("the disk is full, and the log has grown by what there was");
        }
        self.asked += 1;
        if *needed == 0 || self.asked > ASKS {
            fail("the disk is full, and what is said to be needed is not what does");
        }
        self.capacity = self.capacity.map(|capacity| capacity.max(disk.space_used()) + needed.next_multiple_of(4096));
    }
}

impl Client {
    /// Drops a table, in a database that may be as large as it may be.
    pub(crate) fn drop_when_full(&mut self) -> Result<()> {
        let number = self.random.below(TABLES.into()) as u32;
        for tried in 0.. {
            let noted = self.begin("drop", true);
            let mut transaction = self.ask(self.store.begin())?;
            let outcome = drop_table(&noted, &mut transaction, number);
            let is_dropped = matches!(outcome, Ok(true));
            let (result, is_refused) = match outcome {
                Err(error @ Error::DiskFull { .. }) => (self.commit(&noted, transaction, Err(error)), true),
                outcome => (self.commit(&noted, transaction, outcome.map(drop)), false),
            };
            let world = &self.world;
            if !is_refused {
                world.note(|did| {
                    did.fulls.dropped += u64::from(is_dropped);
                    did.fulls.again += u64::from(tried > 0);
                });
                return result;
            }
            let is_alone = world.shape.faults == Faults::default() && !world.shape.company.holds;
            if tried >= TRIES && is_alone && !world.disk.has_crashed() {
                scheduler::current().fail(format!("what is full can not be emptied: {result:?}"));
            }
            if tried >= TRIES || world.disk.has_crashed() {
                return result;
            }
            scheduler::current().sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

/// Whether there is such a table, which is dropped then.
fn drop_table(noted: &Noted, transaction: &mut Transaction, number: u32) -> Result<bool> {
    let (table, entry) = noted.table(transaction, number)?;
    let Some(table) = table else { return Ok(false) };
    transaction.free_pages(true)?;
    let all = [Some(table.rows), table.index, table.sums];
    all.into_iter().flatten().try_for_each(|tree| transaction.drop_tree(tree))?;
    noted.set_table(transaction, number, entry.as_ref(), [0; 3])?;
    transaction.free_pages(false)?;
    Ok(true)
}
