//! Trees and long values that left: they leave the newest version at once, and their pages are freed a few at a time, in the
//! background, while everything else goes on.
//!
//! What must hold: a checkpoint names what is still to be freed of what its version dropped, and a recovery from it
//! begins again there. So children are freed before their parents, and pages that are free, or another's, are passed by.

use std::time::Duration;

use super::shared::{Dropped, Engine};
use super::signals::Signal;
use super::turns::GivesUp;
use super::writer::Changes;
use crate::page::{Owner, PAGES_ONLY};
use crate::sync::{MutexGuard, Ordering};
use crate::tree::{Site, Teardown};
use crate::{Error, Result};

/// How often who waits until another has freed what was dropped looks whether he may still wait.
const LOOK: Duration = Duration::from_millis(1);

/// Pages that are freed under one hold of the locks that commits need.
const FREED_AT_ONCE: usize = 64;

/// After so many freed pages a checkpoint is made: the next opening goes on from there, and others can use them.
const FREED_PER_CHECKPOINT: u64 = 8192;

impl Engine {
    /// Notes pages that left the newest version all at once; the background frees them a few at a time.
    pub(crate) fn drop_later(&self, version: u64, changes: &Changes) {
        let mut drops = self.drops.lock();
        drops.extend(changes.drops.iter().map(|&first| Dropped { first, is_tree: true, version }));
        drops.extend(changes.chains.iter().map(|&first| Dropped { first, is_tree: false, version }));
        drop(drops);
        self.signals.raise(Signal::House);
    }

    /// Frees all that was dropped.
    pub(crate) fn work_off_drops(&self) -> Result<()> {
        self.work_off_drops_for(None)
    }

    /// As `work_off_drops`, for who may give up: whoever comes next goes on with what he leaves.
    pub(crate) fn work_off_drops_for(&self, gives_up: GivesUp<'_>) -> Result<()> {
        let mut begun = self.lock_freeing(gives_up)?;
        while self.free_some(&mut begun)? {
            check_patience(gives_up)?;
        }
        Ok(())
    }

    /// Frees what was dropped for about so long; whether there is more.
    pub(crate) fn work_off_drops_within(&self, time: Duration) -> Result<bool> {
        let end = self.env.host.now() + time;
        // Who has the lock may give up before the end.
        let Some(mut begun) = self.freeing.lock_at_once() else { return Ok(true) };
        loop {
            match self.free_some(&mut begun)? {
                false => return Ok(false),
                true if self.env.host.now() >= end || self.signals.stopped() => return Ok(true),
                true => {}
            }
        }
    }

    fn lock_freeing(&self, gives_up: GivesUp<'_>) -> Result<MutexGuard<'_, Option<Teardown>>> {
        if gives_up.is_none() {
            return Ok(self.freeing.lock());
        }
        loop {
            match self.freeing.lock_at_once() {
                Some(begun) => return Ok(begun),
                None => check_patience(gives_up)?,
            }
            self.env.host.sleep(LOOK);
        }
    }

    /// Frees a few pages of what was dropped first; whether there is more. `begun`: how far that was taken apart.
    fn free_some(&self, begun: &mut Option<Teardown>) -> Result<bool> {
        let Some(dropped) = self.drops.lock().front().copied() else { return Ok(false) };
        let slot = self.pages.slots.claim(Owner::Engine, PAGES_ONLY)?;
        let stands = |id| self.pages.can_bury(id, dropped.version);
        let site = Site { pages: &self.pages, slot, stands: &stands };
        let teardown = begun.get_or_insert_with(|| Teardown::of(dropped.first, dropped.is_tree));
        let mut freed = Vec::new();
        let mut steps = (0..FREED_AT_ONCE).map(|_| teardown.advance(&site, &mut freed));
        let went_on = steps.find(|step| !matches!(step, Ok(true)));
        self.pages.slots.release(slot);
        self.bury(dropped, &freed);
        match went_on {
            Some(Ok(_)) => {
                *begun = None;
                let mut drops = self.drops.lock();
                drops.pop_front();
                Ok(!drops.is_empty())
            }
            Some(Err(error)) => Err(error),
            None => Ok(true),
        }
    }

    fn bury(&self, dropped: Dropped, ids: &[u32]) {
        ids.chunks(FREED_AT_ONCE).for_each(|ids| self.pages.bury_dropped(dropped.version, ids));
        let count = ids.len() as u64;
        self.counters.dropped_pages_freed.add(count);
        let before = self.freed.fetch_add(count, Ordering::Relaxed);
        if (before + count) / FREED_PER_CHECKPOINT > before / FREED_PER_CHECKPOINT {
            self.signals.raise(Signal::Checkpoint);
        }
    }
}

fn check_patience(gives_up: GivesUp<'_>) -> Result<()> {
    match gives_up.is_some_and(|gives_up| gives_up()) {
        true => Err(Error::GivenUp),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use crate::broken::{Broken, must_be_caught};
    use crate::io::{CrashStrategy, SimDisk};
    use crate::{Environment, Options, QuietHost, Result, Store, TreeId};

    const ROWS: u64 = 6000;

    /// Without threads: what is freed is freed where the test says so.
    fn open_on(disk: &SimDisk) -> Result<Store> {
        let options =
            Options { page_size: 512, cache_bytes: 128 * 512, log_segment_bytes: 64 << 10, ..Options::default() };
        let env = Environment { files: Arc::new(disk.clone()), host: Arc::new(QuietHost::default()) };
        Store::open_with(Path::new("drops"), options, env)
    }

    fn put_all(store: &Store, tree: TreeId, rows: impl Iterator<Item = u64>) {
        let rows: Vec<u64> = rows.collect();
        for piece in rows.chunks(200) {
            let transaction = store.begin().unwrap();
            for &row in piece {
                let length = if row % 100 == 7 { 2500 } else { 40 };
                let key = row.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
                transaction.put(tree, &key, &vec![row as u8; length]).unwrap();
            }
            transaction.commit(None).unwrap();
        }
    }

    /// Opens what a kill leaves now, in a copy.
    fn killed(disk: &SimDisk, store: Store) -> (SimDisk, Store) {
        let image = disk.crash(CrashStrategy::KeepAll);
        std::mem::forget(store);
        let disk = SimDisk::from_image(&image, 3);
        let store = open_on(&disk).unwrap();
        (disk, store)
    }

    fn is_whole(disk: &SimDisk, rows: u64) {
        let mut image = crate::io::DiskImage::new();
        for path in disk.paths() {
            image.insert(&path, &disk.snapshot(&path).unwrap());
        }
        let store = open_on(&SimDisk::from_image(&image, 4)).unwrap();
        let verified = store.verify().unwrap();
        assert_eq!((verified.entries, verified.leaked_pages), (rows, 0));
    }

    /// Some pages are freed, others use them, and everything is killed, again and again: what was freed once is passed by, and
    /// what others have by now stays theirs.
    #[test]
    fn a_tree_that_is_freed_in_pieces_between_kills_leaves_nothing_and_takes_nothing() {
        let disk = SimDisk::new(1);
        let store = open_on(&disk).unwrap();
        let transaction = store.begin().unwrap();
        let tree = transaction.create_tree().unwrap();
        transaction.commit(None).unwrap();
        put_all(&store, tree, 0..ROWS);
        let transaction = store.begin().unwrap();
        transaction.drop_tree(tree).unwrap();
        transaction.commit(None).unwrap();
        store.checkpoint().unwrap();
        let (mut disk, mut store) = killed(&disk, store);
        let (mut kept, mut freed, mut rounds) = (0, 0, 0);
        let is_left = |store: &Store| !store.engine().drops.lock().is_empty();
        while is_left(&store) {
            let engine = store.engine();
            for _ in 0..3 {
                engine.free_some(&mut engine.freeing.lock()).unwrap();
            }
            // A round of them is freed after the last checkpoint that knows of it.
            if rounds % 3 > 0 {
                store.checkpoint().unwrap();
            }
            put_all(&store, TreeId::CATALOG, kept..kept + 100);
            kept += 100;
            if rounds % 3 > 1 {
                store.checkpoint().unwrap();
                put_all(&store, TreeId::CATALOG, kept..kept + 300);
                kept += 300;
            }
            freed += store.stats().dropped_pages_freed;
            (disk, store) = killed(&disk, store);
            is_whole(&disk, kept);
            rounds += 1;
        }
        assert!(rounds > 10 && freed > 800, "{freed} pages in {rounds} rounds");
        store.checkpoint().unwrap();
        is_whole(&disk, kept);
    }

    #[test]
    fn a_page_that_is_anothers_and_is_freed_is_noticed() {
        must_be_caught(
            Broken::UsedAgainEntered,
            a_tree_that_is_freed_in_pieces_between_kills_leaves_nothing_and_takes_nothing,
        );
    }
}
