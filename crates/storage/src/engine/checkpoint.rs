//! Checkpoints: the trees of a published version, written to the file while commits go on.
//!
//! Order is everything: the version's pages, its list of trees and its free map are written where nothing durable
//! refers to; they are synced; only then does a meta page name them, and is synced; only then are the pages of the
//! checkpoint before, and the log before this one, free. A failed sync ends the database's writing for good: what it
//! did to the page cache is unknown, so it is never retried.
//!
//! Whoever syncs the file holds the checkpoint's lock until its failure is told: the system tells an open file once of
//! what it lost, whoever wrote that. Two who sync at the same time would share one failure, and the one who is told of
//! success would name pages that are gone, and let go of the log that has them.

use super::copies::{self, CatalogCopy};
use super::lists::{encode_directory, encode_runs, pieces, push_number, write_chain};
use super::meta::{META_BYTES, Meta};
use super::shared::{Dropped, Engine};
use super::stage::{Act, Stage};
use super::trees::TreeList;
use crate::broken::{self, Broken};
use crate::log::Epoch;
use crate::page::layout::Kind;
use crate::page::{Owner, PageRef};
use crate::sync::Ordering;
use crate::{Error, Result};

/// Pages written between two syncs: a large flush would be felt by every commit.
const PIECE: usize = 256;

/// The newest durable checkpoint.
#[derive(Debug)]
pub(crate) struct CheckpointState {
    pub(crate) meta: Meta,
    /// Pages of its list of trees and its free map.
    pub(crate) own_pages: Vec<u32>,
    /// What its list of trees keeps of the catalog.
    pub(crate) catalog: CatalogCopy,
    /// Its trees.
    pub(crate) trees: TreeList,
}

/// Where a checkpoint's lists lie, and what is kept of them elsewhere.
struct Lists {
    directory: PageRef,
    free_map: PageRef,
    /// No page at or beyond this is in use.
    end: u32,
    /// For the meta page.
    copies: Vec<u8>,
}

/// What a checkpoint is of.
pub(super) struct Target {
    pub(super) version: u64,
    position: u64,
    needed_from: u64,
    pub(super) trees: TreeList,
}

impl Engine {
    /// Brings the newest published version to the file. Runs beside commits; one at a time.
    pub(crate) fn run_checkpoint(&self) -> Result<()> {
        let frees = self.freed.load(Ordering::Relaxed) > 0;
        self.checkpoint_if(|target, meta| {
            frees || target.version != meta.version || target.needed_from != meta.needed_from
        })
    }

    /// As `run_checkpoint`, even if nothing was committed since the last.
    pub(crate) fn checkpoint_anyway(&self) -> Result<()> {
        self.checkpoint_if(|_, _| true)
    }

    fn checkpoint_if(&self, needed: impl FnOnce(&Target, &Meta) -> bool) -> Result<()> {
        let mut state = self.checkpoint.lock();
        let is_closed = self.publisher.life.stage() == Stage::Closed;
        if !(is_closed && broken::is(Broken::CheckpointAfterClose)) {
            self.publisher.life.check(Act::Checkpoint)?;
        }
        let began = self.env.host.now();
        self.rounds.begin();
        let made = self.checkpoint_newest(&mut state, needed);
        self.rounds.end(&made.as_ref().map(drop).map_err(Error::clone));
        if made? {
            let took = (self.env.host.now() - began).as_micros() as u64;
            self.counters.checkpoints.add(1);
            self.counters.checkpoint_us.add(took);
            self.counters.checkpoint_us_max.raise(took);
        }
        Ok(())
    }

    /// False: there was no need.
    fn checkpoint_newest(
        &self,
        state: &mut CheckpointState,
        needed: impl FnOnce(&Target, &Meta) -> bool,
    ) -> Result<bool> {
        // Its position may be behind records that changed nothing.
        self.publish_latest(&mut self.lock_writer());
        let target = self.hold_newest()?;
        if !needed(&target, &state.meta) {
            self.pages.unhold(target.version);
            return Ok(false);
        }
        let freed = self.freed.load(Ordering::Relaxed);
        let written = self.write_with_room(state, &target, false);
        match written {
            Ok(()) => drop(self.freed.fetch_sub(freed, Ordering::Relaxed)),
            Err(_) => self.let_go(target.version),
        }
        written.map(|()| true)
    }

    /// After a failed checkpoint. Not if the failure left unknown which checkpoint a recovery will find: then the pages of
    /// both stay as they are for good.
    fn let_go(&self, version: u64) {
        if self.publisher.life.stage() != Stage::Failed {
            self.pages.unhold(version);
        }
    }

    /// Gives the file's tail back to the file system, down to the last page in use.
    pub(crate) fn truncate_file(&self) -> Result<()> {
        let state = self.checkpoint.lock();
        self.publisher.life.check(Act::Checkpoint)?;
        // The durable checkpoint may still count more pages; those it lists beyond the end are free in it.
        self.pages.truncate()?;
        if broken::is(Broken::CutUnheard) {
            drop(state);
            return self.sync_unguarded();
        }
        self.sync_file(&state)
    }

    /// The last checkpoint: marked clean, in both meta pages. The database is closed from here on.
    pub(crate) fn checkpoint_clean(&self) -> Result<()> {
        let mut state = self.checkpoint.lock();
        self.publisher.life.check(Act::LastCheckpoint)?;
        let target = self.hold_newest()?;
        self.write_with_room(&mut state, &target, true).inspect_err(|_| self.let_go(target.version))?;
        state.meta.sequence += 1;
        self.write_meta(&state, &state.meta)?;
        // While no other checkpoint can be made.
        self.publisher.life.end_closing()
    }

    /// Registers the newest version as held by the checkpoint, once the log is durable up to it.
    fn hold_newest(&self) -> Result<Target> {
        let (slot, version) = self.enter_newest(Owner::Engine)?;
        let number = version.number.load(Ordering::Acquire);
        let target = Target {
            version: number,
            position: version.position,
            needed_from: version.needed_from,
            trees: version.trees.list(),
        };
        self.pages.hold(number);
        self.pages.slots.release(slot);
        // In the weaker modes a version is visible before it is durable.
        if broken::is(Broken::CheckpointUndurable) {
            return Ok(target);
        }
        let durable = self.wait_durable(self.lock_writer(), target.position);
        if durable.is_err() {
            self.pages.unhold(number);
        }
        durable.map(|()| target)
    }

    pub(super) fn write_checkpoint(&self, state: &mut CheckpointState, target: &Target, clean: bool) -> Result<()> {
        self.write_dirty(state, target.version)?;
        let mut own_pages = Vec::new();
        let catalog = self.copy_catalog(&target.trees, &state.catalog);
        let result = self.write_lists(target, state, clean, &catalog, &mut own_pages).and_then(|lists| {
            if !broken::is(Broken::MetaBeforePages) {
                self.sync_file(state)?;
            }
            let mut meta = self.describe(&state.meta, target, clean);
            Lists { directory: meta.directory, free_map: meta.free_map, end: meta.end, copies: meta.lists } = lists;
            self.write_meta(state, &meta).map(|()| meta)
        });
        state.catalog = catalog;
        match result {
            Ok(meta) => {
                state.trees.clone_from(&target.trees);
                self.finish(state, meta, own_pages);
            }
            Err(error) => {
                if self.publisher.life.stage() != Stage::Failed {
                    self.pages.free_checkpoint_ids(&own_pages);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// The meta page of a checkpoint whose lists are not written yet.
    pub(super) fn describe(&self, before: &Meta, target: &Target, clean: bool) -> Meta {
        // A clean database needs no log: what transactions without a commit wrote there goes with it.
        let needed_from = if clean { target.position } else { target.needed_from };
        let mut epochs = live_epochs(&before.epochs, needed_from);
        if let Some(last) = epochs.last_mut().filter(|_| clean) {
            last.end = target.position;
        }
        Meta {
            clean,
            sequence: before.sequence + 1,
            checkpoint: before.checkpoint + 1,
            version: target.version,
            position: target.position,
            needed_from,
            next_stamp: self.next_stamp.load(Ordering::Relaxed),
            next_tree: self.next_tree.load(Ordering::Relaxed),
            directory: PageRef::NONE,
            free_map: PageRef::NONE,
            epochs,
            log_places: self.segments.as_ref().map_or(0, |segments| segments.places()),
            lists: Vec::new(),
            ..before.clone()
        }
    }

    /// The new checkpoint is durable: lets go of the one before.
    fn finish(&self, state: &mut CheckpointState, meta: Meta, own_pages: Vec<u32>) {
        self.pages.unhold(state.meta.version);
        self.pages.free_checkpoint_ids(&state.own_pages);
        while self.pages.sweep_some(1024) {}
        self.checkpoint_number.store(meta.checkpoint, Ordering::Release);
        self.checkpoint_position.store(meta.position, Ordering::Release);
        if let Some(segments) = &self.segments {
            segments.release_before(match broken::is(Broken::LogReset) {
                false => meta.needed_from,
                true => self.publisher.durable(),
            });
        }
        self.set_pressure();
        (state.meta, state.own_pages) = (meta, own_pages);
    }

    fn write_dirty(&self, held: &CheckpointState, version: u64) -> Result<()> {
        loop {
            let ids = self.pages.dirty_in(version);
            if ids.is_empty() {
                return Ok(());
            }
            for piece in ids.chunks(PIECE) {
                self.pages.write_out(&mut piece.to_vec())?;
                if !broken::is(Broken::MetaBeforePages) {
                    self.sync_file(held)?;
                }
            }
            // What is still dirty is being written by somebody else right now.
            self.env.host.sleep(std::time::Duration::from_micros(100));
        }
    }

    /// `_held`: by whoever has the lock.
    fn sync_file(&self, _held: &CheckpointState) -> Result<()> {
        self.sync_unguarded()
    }

    fn sync_unguarded(&self) -> Result<()> {
        if broken::is(Broken::SyncErrors) {
            let _ = self.pages.file().sync();
            return Ok(());
        }
        if broken::is(Broken::SyncRetried) && self.pages.file().sync().is_err() {
            return self.pages.file().sync().map_err(Error::io("sync the database file"));
        }
        self.pages.file().sync().map_err(|error| {
            let error = Error::io("sync the database file")(error);
            self.poison(&error);
            error
        })
    }

    /// Writes the list of trees and the free map.
    fn write_lists(
        &self,
        target: &Target,
        before: &CheckpointState,
        clean: bool,
        catalog: &CatalogCopy,
        own_pages: &mut Vec<u32>,
    ) -> Result<Lists> {
        // What was dropped after the version is still part of it; recovery finds the drop in the log.
        let is_listed = |dropped: &&Dropped| dropped.version <= target.version && !broken::is(Broken::DropsUnlisted);
        let drops: Vec<Dropped> = self.drops.lock().iter().filter(is_listed).copied().collect();
        let birth = self.stamp();
        let mut directory = encode_directory(&target.trees, &drops);
        let listed = directory.len();
        copies::append_to_directory(&mut directory, &self.describe(&before.meta, target, clean), catalog);
        let directory_pages = pieces(directory.len(), self.pages.page_size());
        let ids = self.pages.take_checkpoint_ids(target.version, directory_pages, catalog.pages())?;
        own_pages.extend_from_slice(&ids);
        let first = write_chain(&self.pages, Kind::Directory, birth, &ids, &directory)?;
        directory.truncate(listed);
        let (free_map, map, end) =
            self.write_free_map(target.version, catalog.pages(), &before.own_pages, birth, own_pages)?;
        let number = before.meta.checkpoint + 1;
        let copies = copies::encode_lists(number, &directory, &map, self.pages.page_size() - META_BYTES);
        Ok(Lists { directory: first, free_map, end, copies })
    }

    /// Writes the free map; returns where it begins, its bytes, and the end of pages.
    ///
    /// `replaced`: the lists of the checkpoint before, which are free as soon as this one is durable.
    fn write_free_map(
        &self,
        version: u64,
        catalog: &[u32],
        replaced: &[u32],
        birth: u64,
        own_pages: &mut Vec<u32>,
    ) -> Result<(PageRef, Vec<u8>, u32)> {
        // The free map has to know the pages that it takes itself: as many as suffice, a page more at a time.
        let first = own_pages.len();
        let mut count = 1;
        loop {
            let more = self.pages.take_checkpoint_ids(version, count, catalog)?;
            own_pages.extend_from_slice(&more);
            let (runs, end) = self.pages.free_runs(version, replaced);
            let mut free_map = encode_runs(&runs);
            // For salvage, which may have to do without the meta page.
            push_number(&mut free_map, end.into());
            let needed = pieces(free_map.len(), self.pages.page_size());
            if needed <= own_pages.len() - first {
                let at = write_chain(&self.pages, Kind::FreeMap, birth, &own_pages[first..], &free_map)?;
                return Ok((at, free_map, end));
            }
            count = needed - (own_pages.len() - first);
        }
    }

    /// Has the meta page say that the log may have such operations, before the first. Not under the commit lock.
    pub(crate) fn allow(&self, operations: u32) -> Result<()> {
        match self.allows(operations) {
            true => Ok(()),
            false => self.say(operations),
        }
    }

    /// Whether the meta page says that the log may have such operations.
    #[inline]
    pub(crate) fn allows(&self, operations: u32) -> bool {
        self.features.load(Ordering::Acquire) & operations != 0
    }

    #[cold]
    fn say(&self, operations: u32) -> Result<()> {
        let mut state = self.checkpoint.lock();
        self.publisher.life.check(Act::Change)?;
        if self.allows(operations) {
            return Ok(());
        }
        let incompatible = state.meta.incompatible | operations;
        let meta = Meta { incompatible, sequence: state.meta.sequence + 1, ..state.meta.clone() };
        self.write_meta(&state, &meta)?;
        state.meta = meta;
        self.features.store(incompatible, Ordering::Release);
        Ok(())
    }

    /// Writes a meta page in its turn, and syncs it.
    pub(crate) fn write_meta(&self, held: &CheckpointState, meta: &Meta) -> Result<()> {
        let (page, at) = meta.page();
        // Part of a failed write may be on its way to the disk.
        let written = self.pages.file().write_at(&page, at).map_err(Error::io("write the meta page"));
        written.inspect_err(|error| self.poison(error))?;
        self.sync_file(held)
    }
}

/// The epochs that recovery from `needed_from` still reads, and the last: who knows that knows a log of later epochs
/// for what it is.
fn live_epochs(epochs: &[Epoch], needed_from: u64) -> Vec<Epoch> {
    let ended = epochs.iter().take_while(|epoch| epoch.end <= needed_from).count();
    epochs[ended.min(epochs.len().saturating_sub(1))..].to_vec()
}

#[cfg(test)]
mod tests {
    use crate::{Error, Options, Store};

    /// `compact` made one between the last checkpoint and the log's removal: the database did not open again.
    #[test]
    fn no_checkpoint_is_made_beside_or_behind_the_last() {
        let store = Store::open_in_memory(Options::default()).unwrap();
        let engine = store.engine();
        engine.accept_no_more().unwrap();
        let refused = || {
            assert!(matches!(engine.checkpoint_anyway(), Err(Error::Closed)));
            assert!(matches!(engine.truncate_file(), Err(Error::Closed)));
            assert!(matches!(store.compact(), Err(Error::Closed)));
        };
        refused();
        engine.checkpoint_clean().unwrap();
        refused();
        assert!(matches!(engine.checkpoint_clean(), Err(Error::Closed)));
    }
}
