//! What differs between the lives of one database: the options that it is opened with, and openings for reading only in between.
//!
//! What must hold: whatever it was opened with before, everything is there; a page size that is asked for makes no difference to a
//! file that has one. Who only reads finds the same as who recovers, and leaves the files byte for byte as they were.

use std::io::ErrorKind;
use std::path::Path;

use cairn_storage::io::{DiskImage, SimDisk};
use cairn_storage::{Error, Store, SyncMethod};

use crate::flips::{self, Copy};
use crate::machine::{self, SyncFailed};
use crate::random::Random;
use crate::rows::Shared;
use crate::run::DATABASE;
use crate::scheduler;
use crate::shape::{Shape, is_tried};

/// See the module.
#[derive(Debug)]
pub(crate) struct Lives {
    random: Random,
    changes: bool,
    reads: bool,
}

impl Lives {
    /// A stream of its own: what is drawn for the rest does not depend on it.
    pub(crate) fn of(seed: u64) -> Lives {
        let mut random = Random::new(seed ^ 0x11fe_0000);
        let (changes, reads) = (random.one_in(3) && is_tried("options"), random.one_in(3) && is_tried("readonly"));
        Lives { random, changes, reads }
    }

    /// What the next life is opened with. `first`: as the database was made; whether it is another.
    pub(crate) fn next(&mut self, first: &Shape, now: &mut Shape) -> bool {
        if !self.changes || self.random.one_in(3) {
            return false;
        }
        let (random, methods) = (&mut self.random, [SyncMethod::DirectDsync, SyncMethod::Dsync, SyncMethod::WriteSync]);
        now.asked_page_size = random.pick(&[512, 1024, 4096, first.page_size]);
        now.frames = random.pick(&[64, 64, 96, 200, first.frames]);
        now.method = random.pick(&methods);
        now.separate_blocks = random.one_in(3);
        now.sizes.segment = random.pick(&[16 << 10, 16 << 10, 32 << 10, 64 << 10, 256 << 10]);
        now.sizes.segments = random.pick(&[4, 4, 5, 8]);
        true
    }

    /// Opens the database for reading only, now and then: what it holds, or `None`.
    pub(crate) fn read(&mut self, disk: &SimDisk, shape: &Shape, history: &Shared) -> Option<u64> {
        if !self.reads || !self.random.one_in(2) || disk.snapshot(Path::new(DATABASE)).is_none() {
            return None;
        }
        let before = flips::image_of(disk);
        let digest = read_only(disk, shape, history);
        if !is_same(&before, disk) {
            fail("who only read has changed something".to_owned());
        }
        digest
    }
}

fn fail(what: String) -> ! {
    scheduler::current().fail(what)
}

fn read_only(disk: &SimDisk, shape: &Shape, history: &Shared) -> Option<u64> {
    let mut options = shape.options();
    options.read_only = true;
    let store = match Store::open_with(Path::new(DATABASE), options, machine::environment(disk, &SyncFailed::default()))
    {
        Ok(store) => store,
        Err(error) if is_too_much(&error) => return None,
        Err(error) => fail(format!("the database does not open for reading: {error} ({error:?})")),
    };
    for refused in [store.begin().and_then(|changed| changed.create_tree()).map(drop), store.checkpoint()] {
        if !matches!(refused, Err(Error::ReadOnly)) {
            fail(format!("of a database that is only read something is changed: {refused:?}"));
        }
    }
    match Copy::in_store(store, shape, history) {
        Ok(copy) => Some(copy.digest),
        Err(error) if is_too_much(&error) => None,
        Err(error) => fail(format!("a database that is only read: {error} ({error:?})")),
    }
}

/// Recovered in memory, it takes more of that than there may be.
fn is_too_much(error: &Error) -> bool {
    matches!(error, Error::Io { error, .. } if error.kind() == ErrorKind::OutOfMemory)
}

fn is_same(before: &DiskImage, disk: &SimDisk) -> bool {
    disk.paths().iter().all(|path| before.bytes(path) == disk.snapshot(path))
}
