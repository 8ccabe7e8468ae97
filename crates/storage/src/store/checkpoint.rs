//! Checkpoints: the trees of a published version, written to the file while commits go on.
//!
//! Order is everything: the version's pages, its list of trees and its free map are written where nothing durable
//! refers to; they are synced; only then does a meta page name them, and is synced; only then are the pages of the
//! checkpoint before, and the log before this one, free. A failed sync ends the database's writing for good: what it
//! did to the page cache is unknown, so it is never retried.

use super::engine::{Dropped, Engine};
use super::meta::{META_BYTES, Meta};
use super::writer::Changes;
use crate::broken::{self, Broken};
use crate::io::AlignedBuf;
use crate::log::Epoch;
use crate::log::format::{read_varint, varint_into};
use crate::page::layout::{self, HEADER, Kind, get_u16, put_u16};
use crate::page::{PageRef, Pages};
use crate::sync::Ordering;
use crate::txn::{TreeId, Trees};
use crate::{Error, Result};

/// Pages written between two syncs: a large flush would be felt by every commit.
const PIECE: usize = 256;

/// The newest durable checkpoint.
#[derive(Debug)]
pub(crate) struct CheckpointState {
    pub(crate) meta: Meta,
    /// Pages of its list of trees and its free map.
    pub(crate) own_pages: Vec<u32>,
}

/// What a checkpoint is of.
struct Target {
    version: u64,
    position: u64,
    needed_from: u64,
    trees: Trees,
}

impl Engine {
    /// Brings the newest published version to the file. Runs beside commits; one at a time.
    pub(crate) fn run_checkpoint(&self) -> Result<()> {
        self.checkpoint_if(|target, meta| target.version != meta.version || target.needed_from != meta.needed_from)
    }

    /// As `run_checkpoint`, even if nothing was committed since the last.
    pub(crate) fn checkpoint_anyway(&self) -> Result<()> {
        self.checkpoint_if(|_, _| true)
    }

    fn checkpoint_if(&self, needed: impl FnOnce(&Target, &Meta) -> bool) -> Result<()> {
        let mut state = self.checkpoint.lock();
        self.check_writable()?;
        let began = self.env.host.now();
        self.publish_position();
        let target = self.hold_newest()?;
        let result = match needed(&target, &state.meta) {
            true => self.write_checkpoint(&mut state, &target, false),
            false => {
                self.pages.unhold(target.version);
                return Ok(());
            }
        };
        if let Err(error) = result {
            self.let_go(target.version);
            return Err(error);
        }
        let took = (self.env.host.now() - began).as_micros() as u64;
        self.counters.checkpoints.add(1);
        self.counters.checkpoint_us.add(took);
        self.counters.checkpoint_us_max.raise(took);
        Ok(())
    }

    /// After a failed checkpoint. Not if the failure left unknown which checkpoint a recovery will find: then the pages of
    /// both stay as they are for good.
    fn let_go(&self, version: u64) {
        if !self.poisoned.load(Ordering::Acquire) {
            self.pages.unhold(version);
        }
    }

    /// Publishes the newest state again if the log has grown by records that changed nothing, such as the parts of a
    /// transaction that then failed: a checkpoint of the version before would keep them in the log for ever.
    fn publish_position(&self) {
        let mut writer = self.writer.lock();
        let settled = !writer.changed && !writer.flushing && writer.batch.is_empty();
        if !settled || self.durable.load(Ordering::Acquire) < writer.appended {
            return;
        }
        // SAFETY: only who holds the commit lock, or leads, replaces the published version; nobody leads.
        let position = unsafe { (*self.published.load(Ordering::Acquire)).position };
        if position < writer.appended {
            let cut = writer.cut(self.stamp());
            let (old, changes) = self.publish(cut);
            writer.recycle(old, changes, &self.pages);
        }
    }

    /// Gives the file's tail back to the file system, down to the last page in use.
    pub(crate) fn truncate_file(&self) -> Result<()> {
        let state = self.checkpoint.lock();
        // The durable checkpoint may still count more pages; those it lists beyond the end are free in it.
        self.pages.truncate()?;
        drop(state);
        self.sync_file()
    }

    /// The last checkpoint: marked clean, in both meta pages.
    pub(crate) fn checkpoint_clean(&self) -> Result<()> {
        let mut state = self.checkpoint.lock();
        self.check_writable()?;
        let target = self.hold_newest()?;
        self.write_checkpoint(&mut state, &target, true)?;
        state.meta.sequence += 1;
        self.write_meta(&state.meta)
    }

    /// Registers the newest version as held by the checkpoint, once the log is durable up to it.
    fn hold_newest(&self) -> Result<Target> {
        let slot = self.pages.slots.claim()?;
        let version = self.enter(slot);
        let number = version.number.load(Ordering::Acquire);
        let target = Target {
            version: number,
            position: version.position,
            needed_from: version.needed_from,
            trees: version.trees.clone(),
        };
        self.pages.hold(number);
        self.pages.slots.release(slot);
        // In the weaker modes a version is visible before it is durable.
        if broken::is(Broken::CheckpointUndurable) {
            return Ok(target);
        }
        let durable = self.wait_durable(self.writer.lock(), target.position);
        if durable.is_err() {
            self.pages.unhold(number);
        }
        durable.map(|()| target)
    }

    fn write_checkpoint(&self, state: &mut CheckpointState, target: &Target, clean: bool) -> Result<()> {
        self.write_dirty(target.version)?;
        let mut own_pages = Vec::new();
        let replaced = &state.own_pages;
        let result = self.write_lists(target, replaced, &mut own_pages).and_then(|(directory, free_map, end)| {
            if !broken::is(Broken::MetaBeforePages) {
                self.sync_file()?;
            }
            // A clean database needs no log: what transactions without a commit wrote there goes with it.
            let needed_from = if clean { target.position } else { target.needed_from };
            let mut epochs = live_epochs(&state.meta.epochs, needed_from);
            if let Some(last) = epochs.last_mut().filter(|_| clean) {
                last.end = target.position;
            }
            let meta = Meta {
                clean,
                sequence: state.meta.sequence + 1,
                checkpoint: state.meta.checkpoint + 1,
                version: target.version,
                position: target.position,
                needed_from,
                next_stamp: self.next_stamp.load(Ordering::Relaxed),
                next_tree: self.next_tree.load(Ordering::Relaxed),
                end,
                directory,
                free_map,
                epochs,
                log_places: self.segments.as_ref().map_or(0, |segments| segments.places()),
                ..state.meta.clone()
            };
            self.write_meta(&meta).map(|()| meta)
        });
        match result {
            Ok(meta) => self.finish(state, meta, own_pages),
            Err(error) => {
                if !self.poisoned.load(Ordering::Acquire) {
                    self.pages.free_checkpoint_ids(&own_pages);
                }
                return Err(error);
            }
        }
        Ok(())
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
                true => self.durable.load(Ordering::Acquire),
            });
        }
        self.set_pressure();
        *state = CheckpointState { meta, own_pages };
    }

    fn write_dirty(&self, version: u64) -> Result<()> {
        loop {
            let ids = self.pages.dirty_in(version);
            if ids.is_empty() {
                return Ok(());
            }
            for piece in ids.chunks(PIECE) {
                self.pages.write_out(&mut piece.to_vec())?;
                if !broken::is(Broken::MetaBeforePages) {
                    self.sync_file()?;
                }
            }
            // What is still dirty is being written by somebody else right now.
            self.env.host.sleep(std::time::Duration::from_micros(100));
        }
    }

    pub(crate) fn sync_file(&self) -> Result<()> {
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

    /// Writes the list of trees and the free map; returns where they begin, and the end of pages.
    ///
    /// `replaced`: the lists of the checkpoint before, which are free as soon as this one is durable.
    fn write_lists(
        &self,
        target: &Target,
        replaced: &[u32],
        own_pages: &mut Vec<u32>,
    ) -> Result<(PageRef, PageRef, u32)> {
        // What was dropped after the version is still part of it; recovery finds the drop in the log.
        let mut drops = self.drops.lock().clone();
        drops.retain(|dropped| dropped.version <= target.version && !broken::is(Broken::DropsUnlisted));
        let birth = self.stamp();
        let directory = encode_directory(&target.trees, &drops);
        let directory_pages = pieces(directory.len(), self.pages.page_size());
        let ids = self.pages.take_checkpoint_ids(target.version, directory_pages)?;
        own_pages.extend_from_slice(&ids);
        let directory = write_chain(&self.pages, Kind::Directory, birth, &ids, &directory)?;
        // The free map has to know the pages that it takes itself: as many as suffice, a page more at a time.
        let first = own_pages.len();
        let mut count = 1;
        loop {
            let more = self.pages.take_checkpoint_ids(target.version, count)?;
            own_pages.extend_from_slice(&more);
            let (runs, end) = self.pages.free_runs(target.version, replaced);
            let free_map = encode_runs(&runs);
            let needed = pieces(free_map.len(), self.pages.page_size());
            if needed <= own_pages.len() - first {
                let free_map = write_chain(&self.pages, Kind::FreeMap, birth, &own_pages[first..], &free_map)?;
                return Ok((directory, free_map, end));
            }
            count = needed - (own_pages.len() - first);
        }
    }

    /// Writes a meta page in its turn, and syncs it.
    pub(crate) fn write_meta(&self, meta: &Meta) -> Result<()> {
        let mut page = AlignedBuf::zeroed(self.pages.page_size());
        meta.encode(&mut page[..META_BYTES]);
        let turn = if broken::is(Broken::MetaInPlace) { 0 } else { meta.sequence % 2 };
        let at = turn * self.pages.page_size() as u64;
        // Part of a failed write may be on its way to the disk.
        let written = self.pages.file().write_at(&page, at).map_err(Error::io("write the meta page"));
        written.inspect_err(|error| self.poison(error))?;
        self.sync_file()
    }

    // Trees and long values that left.

    /// Notes pages that left the newest version all at once; the background frees them one by one.
    pub(crate) fn drop_later(&self, version: u64, changes: &Changes) {
        let mut drops = self.drops.lock();
        drops.extend(changes.drops.iter().map(|&first| Dropped { first, is_tree: true, version }));
        drops.extend(changes.chains.iter().map(|&first| Dropped { first, is_tree: false, version }));
        drop(drops);
        self.signals.raise(super::background::Signal::House);
    }

    /// Retires the pages of what was dropped: children first, so that after a crash in between a second walk from the
    /// same root finds all that the first did not get to.
    pub(crate) fn work_off_drops(&self) -> Result<()> {
        let _one = self.freeing.lock();
        loop {
            let Some(dropped) = self.drops.lock().first().copied() else { return Ok(()) };
            let slot = self.pages.slots.claim()?;
            let mut ids = Vec::new();
            let result = self.walk_dropped(slot, dropped, &mut ids);
            self.pages.slots.release(slot);
            result?;
            self.pages.retire_dropped(dropped.version, &ids);
            self.drops.lock().remove(0);
        }
    }

    fn walk_dropped(&self, slot: crate::page::SlotId, dropped: Dropped, ids: &mut Vec<u32>) -> Result<()> {
        let mut visit = |visit: crate::tree::Visit<'_>| {
            ids.push(visit.page.id);
            if ids.len() >= 1024 {
                self.pages.retire_dropped(dropped.version, ids);
                ids.clear();
            }
            Ok(true)
        };
        // What a walk before a crash freed is passed by, with all below it. A damaged page stays allocated, which harms
        // nobody; one that cannot be read now may be readable later.
        let enter = |page: PageRef| self.pages.is_retirable(page.id, dropped.version);
        let mut broken = |_, error| match error {
            Error::Corrupt { .. } => Ok(()),
            error => Err(error),
        };
        match dropped.is_tree {
            true => crate::tree::walk(&self.pages, slot, dropped.first, &enter, &mut visit, &mut broken),
            false => crate::tree::chain(&self.pages, slot, u64::MAX, dropped.first, &enter, &mut visit, &mut broken),
        }
        .map(drop)
    }
}

/// The epochs that recovery from `needed_from` still reads, and the last: who knows that knows a log of later epochs
/// for what it is.
fn live_epochs(epochs: &[Epoch], needed_from: u64) -> Vec<Epoch> {
    let ended = epochs.iter().take_while(|epoch| epoch.end <= needed_from).count();
    epochs[ended.min(epochs.len().saturating_sub(1))..].to_vec()
}

// The lists' bytes: numbers in LEB128, in chains of pages laid out like long values.

const NEXT: usize = HEADER;
const LENGTH: usize = NEXT + PageRef::BYTES;
const DATA: usize = LENGTH + 4;

fn pieces(bytes: usize, page_size: usize) -> usize {
    bytes.div_ceil(page_size - DATA).max(1)
}

fn push_number(out: &mut Vec<u8>, n: u64) {
    let mut bytes = [0; 10];
    let length = varint_into(&mut bytes, n);
    out.extend_from_slice(&bytes[..length]);
}

fn encode_directory(trees: &Trees, drops: &[Dropped]) -> Vec<u8> {
    let mut out = Vec::new();
    push_number(&mut out, trees.entries().len() as u64);
    for entry in trees.entries() {
        [entry.id.0 as u64, entry.root.id as u64, entry.root.birth].iter().for_each(|&n| push_number(&mut out, n));
    }
    push_number(&mut out, drops.len() as u64);
    for dropped in drops {
        let numbers = [dropped.is_tree as u64, dropped.first.id as u64, dropped.first.birth];
        numbers.iter().for_each(|&n| push_number(&mut out, n));
    }
    out
}

fn encode_runs(runs: &[(u32, u32)]) -> Vec<u8> {
    let mut out = Vec::new();
    push_number(&mut out, runs.len() as u64);
    let mut behind = 0;
    for &(first, length) in runs {
        push_number(&mut out, (first - behind) as u64);
        push_number(&mut out, length as u64);
        behind = first + length;
    }
    out
}

/// Writes bytes over the pages given, all of which become part of the chain.
fn write_chain(pages: &Pages, kind: Kind, birth: u64, ids: &[u32], bytes: &[u8]) -> Result<PageRef> {
    let size = pages.page_size();
    let mut page = AlignedBuf::zeroed(size);
    let mut next = PageRef::NONE;
    for (i, &id) in ids.iter().enumerate().rev() {
        let from = (i * (size - DATA)).min(bytes.len());
        let piece = &bytes[from..(from + size - DATA).min(bytes.len())];
        let this = PageRef { id, birth };
        page.fill(0);
        layout::format(&mut page, kind, 0, 0, this);
        page[NEXT..LENGTH].copy_from_slice(&next.to_bytes());
        put_u16(&mut page, LENGTH, piece.len() as u16);
        page[DATA..DATA + piece.len()].copy_from_slice(piece);
        layout::seal_checksum(&mut page);
        pages.file().write_at(&page, id as u64 * size as u64).map_err(Error::io("write a checkpoint's list"))?;
        next = this;
    }
    pages.counters.pages_written.add(ids.len() as u64);
    Ok(next)
}

/// Reads a chain: its bytes, and its pages.
pub(crate) fn read_chain(pages: &Pages, kind: Kind, first: PageRef) -> Result<(Vec<u8>, Vec<u32>)> {
    let (mut bytes, mut ids) = (Vec::new(), Vec::new());
    let mut page = AlignedBuf::zeroed(pages.page_size());
    let mut at = first;
    // A chain that comes back to a page of its own has no end: it meets the page noted last, which is moved on each time
    // the chain turns out to be twice as long.
    let mut noted = PageRef::NONE;
    while !at.is_none() {
        pages.read(at, &mut page)?;
        let end = DATA + get_u16(&page, LENGTH) as usize;
        if Kind::of(&page) != Some(kind) || end > page.len() || at == noted {
            return Err(Error::corrupt(format!("page {} is not part of the checkpoint's lists", at.id)));
        }
        bytes.extend_from_slice(&page[DATA..end]);
        ids.push(at.id);
        if ids.len().is_power_of_two() {
            noted = at;
        }
        at = PageRef::read(&page[NEXT..]);
    }
    Ok((bytes, ids))
}

fn next_u32(bytes: &mut &[u8]) -> Option<u32> {
    u32::try_from(read_varint(bytes)?).ok()
}

fn next_page(bytes: &mut &[u8]) -> Option<PageRef> {
    Some(PageRef { id: next_u32(bytes)?, birth: read_varint(bytes)? })
}

/// Reads a list of trees, and what was dropped but not yet freed.
pub(crate) fn decode_directory(mut bytes: &[u8], version: u64) -> Option<(Trees, Vec<Dropped>)> {
    let bytes = &mut bytes;
    let mut trees = Trees::default();
    for _ in 0..read_varint(bytes)? {
        trees.set(TreeId(next_u32(bytes)?), next_page(bytes)?);
    }
    let mut drops = Vec::new();
    for _ in 0..read_varint(bytes)? {
        let is_tree = read_varint(bytes)? == 1;
        drops.push(Dropped { first: next_page(bytes)?, is_tree, version });
    }
    Some((trees, drops))
}

/// Reads a free map: runs of (first page, length).
pub(crate) fn decode_runs(mut bytes: &[u8]) -> Option<Vec<(u32, u32)>> {
    let bytes = &mut bytes;
    let mut behind = 0u32;
    let mut runs = Vec::new();
    for _ in 0..read_varint(bytes)? {
        let first = behind.checked_add(next_u32(bytes)?)?;
        let length = next_u32(bytes)?;
        behind = first.checked_add(length)?;
        runs.push((first, length));
    }
    Some(runs)
}
