//! When a page's id may be used again.
//!
//! A page lives from the version that it joined to its death, the version that no longer holds it. It is free when no
//! *held* version lies between: neither a reader's, nor a checkpoint's that is durable or in progress. Dead pages that
//! are still held wait in the list of the newest held version that sees them; when that version is let go, they move to
//! the next older one or are free. Lists are linked through the pages' own records, so nothing is allocated.
//!
//! Which versions readers hold is told by their slots, and looking at all of these for every commit would make commits pay
//! for every snapshot. So with many slots in use they are looked at once in many publications. What must hold:
//! - A version counts as held until the slots, looked at after a newer one was published, show that it is not: nobody
//!   registers with any but the newest.
//! - Between two looks the version before the newest counts as held. What died since waits in its list.

use super::apart::KEPT;
use super::cache::{PageInfo, Pages};
use super::frames::{FREED, Frame, WRITING};
use crate::broken::{self, Broken};
use crate::sync::Ordering;
use crate::{Error, Result};

/// Pages looked at per publication in lists that nobody holds any more, if it leaves no more itself: bounds what one commit pays.
const SWEEP: usize = 64;

/// Pages buried under one hold of the lock.
const BURIED_AT_ONCE: usize = 8;

/// Which dead pages wait for whom.
#[derive(Debug, Default)]
pub(crate) struct Reuse {
    /// Of versions that count as held: by version, ascending.
    lists: Vec<DeadList>,
    /// Of versions that nobody holds any more.
    loose: Vec<DeadList>,
    /// Versions that checkpoints hold.
    holds: Vec<u64>,
    /// Versions that readers held when it was last looked, ascending.
    held: Vec<u64>,
    /// No other version before this is held by a reader.
    looked: u64,
    /// The newest published version, and the one before.
    newest: [u64; 2],
    /// Publications since it was last looked.
    since: usize,
    /// Pages that are free now but for being handed over, and their frames.
    freed: (Vec<u32>, Vec<Frame>),
}

#[derive(Clone, Copy, Debug)]
struct DeadList {
    version: u64,
    head: u32,
}

impl Reuse {
    /// The newest version before `version` that counts as held; `version` is not newer than the newest.
    fn held_before(&self, version: u64) -> u64 {
        let below = self.held.partition_point(|&held| held < version);
        let by_readers = if below == 0 { 0 } else { self.held[below - 1] };
        let unknown = if version > self.looked { self.newest[1] } else { 0 };
        let by_checkpoints = self.by_checkpoints().iter().copied().filter(|&held| held < version).max().unwrap_or(0);
        by_readers.max(unknown).max(by_checkpoints)
    }

    #[cfg(any(test, feature = "broken-for-tests"))]
    pub(super) fn freed_frames(&self) -> &[Frame] {
        &self.freed.1
    }

    fn by_checkpoints(&self) -> &[u64] {
        if broken::is(Broken::ReuseTooEarly) { &[] } else { &self.holds }
    }

    fn list(&mut self, version: u64) -> &mut DeadList {
        let at = self.lists.partition_point(|list| list.version < version);
        if self.lists.get(at).is_none_or(|list| list.version != version) {
            self.lists.insert(at, DeadList { version, head: 0 });
        }
        &mut self.lists[at]
    }
}

impl Pages {
    /// Marks pages as part of `version`, before it is published, and gives them to eviction.
    pub(crate) fn join_version(&self, version: u64, created: &[u32]) {
        for &id in created {
            self.info.at(id).joined.store(version, Ordering::Release);
            self.frames.allow_eviction(id);
        }
    }

    /// After `version` was published: frees the pages that died with it, or keeps them for whoever still sees them.
    ///
    /// In steps, between which others get the lock: whoever commits meanwhile needs it for a page and should not wait for
    /// all of a batch's. A reader that registers meanwhile reads this version or a later one.
    pub(crate) fn bury(&self, version: u64, dead: &[u32]) {
        let mut rest = dead;
        loop {
            let (step, others) = rest.split_at(rest.len().min(BURIED_AT_ONCE));
            let mut reuse = self.reuse.lock();
            if reuse.newest[0] != version {
                reuse.newest = [version, reuse.newest[0]];
                self.look_sometimes(&mut reuse);
            }
            let newest = reuse.held_before(version);
            for &id in step {
                let info = self.info.at(id);
                info.death.store(version, Ordering::Release);
                self.place(&mut reuse, (id, info), newest);
            }
            if others.is_empty() {
                // At least what is put there: while somebody follows from version to version, all of it is in a list first.
                self.sweep(&mut reuse, SWEEP.max(2 * dead.len()));
                return self.hand_over(&mut reuse);
            }
            self.hand_over(&mut reuse);
            rest = others;
        }
    }

    /// Buries pages of something that was dropped in `version`.
    ///
    /// A checkpoint made since then names what was dropped, and a recovery from it walks there to free these pages: they
    /// keep their bytes until that checkpoint is replaced. That walk takes a page that is free for one whose children
    /// are: so no free map may be made of the middle of this.
    pub(crate) fn bury_dropped(&self, version: u64, ids: &[u32]) {
        let _whole = (!broken::is(Broken::HalfRetired)).then(|| self.burying.lock());
        let mut reuse = self.reuse.lock();
        self.look(&mut reuse);
        let newest_checkpoint = reuse.holds.iter().copied().max().unwrap_or(0);
        let newest = match broken::is(Broken::DroppedUnderSnapshot) {
            false => reuse.held_before(version).max(newest_checkpoint),
            true => 0,
        };
        for &id in ids {
            if self.can_bury(id, version) {
                let info = self.info.at(id);
                info.death.store(version, Ordering::Release);
                self.place(&mut reuse, (id, info), newest);
            }
        }
        self.hand_over(&mut reuse);
    }

    /// Whether the page may belong to something dropped in `version`, and was not buried yet: not by a walk that a crash
    /// cut short, after which the id may have become another page's, or a checkpoint's.
    pub(crate) fn can_bury(&self, id: u32, version: u64) -> bool {
        let Some(info) = self.info.get(id) else { return false };
        let joined = info.joined.load(Ordering::Acquire);
        joined != 0 && joined <= version && info.death.load(Ordering::Acquire) == 0
    }

    /// The oldest version that a reader holds.
    pub(crate) fn oldest_reader(&self, newest: u64) -> u64 {
        let mut held = Vec::new();
        self.slots.versions(&mut held);
        held.into_iter().min().unwrap_or(newest).min(newest)
    }

    /// Keeps the pages of a version that is published now.
    pub(crate) fn hold(&self, version: u64) {
        self.reuse.lock().holds.push(version);
    }

    pub(crate) fn unhold(&self, version: u64) {
        let mut reuse = self.reuse.lock();
        if let Some(at) = reuse.holds.iter().position(|&held| held == version) {
            reuse.holds.swap_remove(at);
        }
    }

    /// Frees what nobody holds any more; returns whether there may be more.
    pub(crate) fn sweep_some(&self, pages: usize) -> bool {
        let mut reuse = self.reuse.lock();
        self.look(&mut reuse);
        let more = self.sweep(&mut reuse, pages);
        self.hand_over(&mut reuse);
        more
    }

    /// For whoever finds no id: what waits for the next look at the slots may be free.
    #[cold]
    pub(super) fn look_for_free_ids(&self) {
        self.sweep_some(usize::MAX);
    }

    /// Frees pages that were never published (an aborted transaction's).
    pub(crate) fn free_private(&self, ids: &[u32]) {
        let mut reuse = self.reuse.lock();
        for &id in ids {
            self.free(&mut reuse, (id, self.info.at(id)));
        }
        self.hand_over(&mut reuse);
    }

    /// After a publication: looks which versions are held, unless that would cost too much.
    fn look_sometimes(&self, reuse: &mut Reuse) {
        reuse.since += 1;
        if reuse.newest[1] == 0
            || self.slots.are_looked_at_after(reuse.since)
            || broken::is(Broken::SlotsLookedAtAlways)
        {
            self.look(reuse);
        }
    }

    /// Looks which versions are held; lists of others are loose. (Who reads the newest may register at any moment; nothing
    /// that died waits for it yet.)
    fn look(&self, reuse: &mut Reuse) {
        reuse.since = 0;
        reuse.looked = reuse.newest[0];
        reuse.held.clear();
        if !broken::is(Broken::ReuseUnderSnapshot) {
            self.slots.versions(&mut reuse.held);
        }
        reuse.held.sort_unstable();
        let Reuse { lists, loose, held, holds, .. } = reuse;
        let holds = if broken::is(Broken::ReuseTooEarly) { &[] } else { holds.as_slice() };
        // Both ascend.
        let mut at = 0;
        lists.retain(|&list| {
            at += held[at..].iter().take_while(|&&held| held < list.version).count();
            let is_held = held.get(at) == Some(&list.version) || holds.contains(&list.version);
            if !is_held {
                loose.push(list);
            }
            is_held
        });
    }

    /// `newest`: the newest held version that could see the dead page.
    #[inline]
    fn place(&self, reuse: &mut Reuse, (id, info): (u32, &PageInfo), newest: u64) {
        if newest == 0 || newest < info.joined.load(Ordering::Relaxed) {
            return self.free(reuse, (id, info));
        }
        let list = reuse.list(newest);
        info.next.store(list.head, Ordering::Relaxed);
        list.head = id;
    }

    /// Places so many pages anew that wait for versions that nobody holds; returns whether there are more.
    fn sweep(&self, reuse: &mut Reuse, pages: usize) -> bool {
        let mut left = pages;
        while let Some(&DeadList { version, head }) = reuse.loose.last() {
            if head == 0 {
                reuse.loose.pop();
            } else if left == 0 {
                return true;
            } else {
                left -= 1;
                let info = self.info.at(head);
                let next = info.next.load(Ordering::Relaxed);
                if let Some(list) = reuse.loose.last_mut() {
                    list.head = next;
                }
                let newest = reuse.held_before(version);
                self.place(reuse, (head, info), newest);
            }
        }
        false
    }

    /// The caller hands over soon, under the same hold of the lock.
    #[inline]
    fn free(&self, reuse: &mut Reuse, (id, info): (u32, &PageInfo)) {
        while let Some(place) = self.frames.find(id) {
            // A write in flight under this id must land before anybody else's may begin.
            if place.state.is(WRITING) && !broken::is(Broken::FreedInFlight) {
                if self.frames.change(place, place.state.with(FREED)) {
                    return;
                }
            } else if let Some(frame) = self.frames.take(id, place) {
                if cfg!(feature = "simulated") {
                    self.spoil(&frame);
                }
                reuse.freed.1.push(frame);
                break;
            }
        }
        info.joined.store(0, Ordering::Release);
        info.death.store(0, Ordering::Release);
        reuse.freed.0.push(id);
    }

    /// Gives free frames and ids to whoever makes pages.
    fn hand_over(&self, reuse: &mut Reuse) {
        let (ids, frames) = &mut reuse.freed;
        if !ids.is_empty() {
            let mut supply = self.supply.lock();
            supply.frames.append(frames);
            ids.iter().for_each(|&id| supply.ids.insert(id));
            supply.fill_up();
            ids.clear();
        }
    }

    // What checkpoints and recovery need of the allocation.

    /// Frees pages of a checkpoint that was replaced (or failed).
    pub(crate) fn free_checkpoint_ids(&self, ids: &[u32]) {
        self.free_private(ids);
    }

    /// The ids that are not part of `version` (which is held), and those in `replaced`, as runs of (first, length)
    /// below the returned end.
    pub(crate) fn free_runs(&self, version: u64, replaced: &[u32]) -> (Vec<(u32, u32)>, u32) {
        let _whole = (!broken::is(Broken::HalfRetired)).then(|| self.burying.lock());
        let end = self.supply.lock().end;
        let mut replaced = replaced.to_vec();
        replaced.sort_unstable();
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for id in 2..end {
            if self.info.at(id).lives_in(version) && replaced.binary_search(&id).is_err() {
                continue;
            }
            match runs.last_mut() {
                Some((first, length)) if *first + *length == id => *length += 1,
                _ => runs.push((id, 1)),
            }
        }
        (runs, end)
    }

    /// Sets the allocation to what a checkpoint recorded: every page below `end` that is in no run lives in `version`.
    pub(crate) fn restore(&self, version: u64, end: u32, runs: &[(u32, u32)]) -> Result<()> {
        let mut supply = self.supply.lock();
        if end > self.max_pages() {
            return Err(Error::BadOption("max_pages is below the database's size"));
        }
        supply.end = end.max(supply.end);
        self.reach(&mut supply, KEPT.end)?;
        supply.keep_apart(end, self.max_pages());
        let mut next = 2;
        for &(first, length) in runs {
            let after = first.checked_add(length).filter(|&after| first >= next && after <= end);
            let after = after.ok_or_else(|| Error::corrupt("the free map is out of order"))?;
            (next..first).for_each(|id| self.info.at(id).joined.store(version, Ordering::Relaxed));
            (first..after).for_each(|id| supply.ids.insert(id));
            next = after;
        }
        (next..end).for_each(|id| self.info.at(id).joined.store(version, Ordering::Relaxed));
        supply.fill_up();
        Ok(())
    }

    /// (pages below the end, free ones among them).
    pub(crate) fn page_counts(&self) -> (u32, u32) {
        let supply = self.supply.lock();
        (supply.end, supply.ids.count() + supply.reserve.len() as u32)
    }

    /// Whether `id` is free, for `verify`.
    pub(crate) fn is_free(&self, id: u32) -> bool {
        let supply = self.supply.lock();
        id >= supply.end || supply.ids.contains(id) || supply.reserve.contains(&id)
    }

    /// Whether the page belongs to `version`, which must be held.
    pub(crate) fn lives_in(&self, id: u32, version: u64) -> bool {
        self.info.get(id).is_some_and(|info| info.lives_in(version))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::io::{Create, FileSystem, MemFs, OpenHow};
    use crate::stats::Counters;

    /// The ids taken before the one that there was no room for were never given back.
    #[test]
    fn a_checkpoint_that_finds_too_few_free_pages_takes_none() {
        let how = OpenHow { create: Create::New, read_only: false, direct: false };
        let file = MemFs::default().open(Path::new("pages"), how).unwrap();
        let options = crate::Options { page_size: 512, cache_bytes: 64 * 512, max_pages: 100, ..Default::default() };
        let pages = Pages::new(file, &options, 512, Arc::new(Counters::default()), |_| true, 0).unwrap();
        pages.restore(1, 90, &[(50, 5)]).unwrap();
        for _ in 0..3 {
            assert!(matches!(pages.take_checkpoint_ids(1, 80, &[]), Err(Error::DiskFull { .. })));
        }
        // Five, ten below `max_pages`, and the reserve.
        assert_eq!(pages.take_checkpoint_ids(1, 79, &[]).unwrap().len(), 79);
    }

    /// What is freed of a dropped tree is freed beside checkpoints. One of the version that a recovery began with took, for its
    /// lists, an id that the tree's page had been freed under before: until the list was written the bytes there were the page's.
    #[test]
    fn a_checkpoints_own_page_is_none_of_what_was_dropped() {
        let how = OpenHow { create: Create::New, read_only: false, direct: false };
        let file = MemFs::default().open(Path::new("pages"), how).unwrap();
        let options = crate::Options { page_size: 512, cache_bytes: 64 * 512, max_pages: 100, ..Default::default() };
        let pages = Pages::new(file, &options, 512, Arc::new(Counters::default()), |_| true, 0).unwrap();
        pages.restore(1, 90, &[(50, 5)]).unwrap();
        pages.hold(1);
        let own = pages.take_checkpoint_ids(1, 4, &[]).unwrap();
        assert!(own.iter().all(|id| (50..55).contains(id)));
        assert!(pages.can_bury(49, 1) && !own.iter().any(|&id| pages.can_bury(id, 1)));
        pages.bury_dropped(1, &own);
        assert!(own.iter().all(|&id| pages.lives_in(id, 1) && !pages.is_free(id)));
        pages.free_checkpoint_ids(&own);
        assert!(own.iter().all(|&id| !pages.lives_in(id, 1) && pages.is_free(id)));
    }

    #[test]
    fn a_checkpoints_own_page_that_is_taken_for_a_dropped_one_is_noticed() {
        crate::broken::must_be_caught(Broken::ListsUnmarked, a_checkpoints_own_page_is_none_of_what_was_dropped);
    }

    #[test]
    fn ids_that_a_checkpoint_loses_are_noticed() {
        crate::broken::must_be_caught(Broken::CheckpointIdsLeak, a_checkpoint_that_finds_too_few_free_pages_takes_none);
    }

    /// Every commit looked at the slots of all snapshots, and for each list of dead pages at all that they hold.
    #[test]
    fn commits_beside_many_held_snapshots_look_at_few_slots() {
        const HELD: u64 = 1000;
        let options = crate::Options { cache_bytes: 16 << 20, ..Default::default() };
        // Nobody works beside it: what is counted is what commits look at.
        let files = std::sync::Arc::new(crate::io::SimDisk::new(1));
        let host = std::sync::Arc::new(crate::QuietHost::default());
        let env = crate::Environment { files, host };
        let store = crate::Store::open_with(std::path::Path::new("held"), options, env).unwrap();
        let mut session = store.session().unwrap();
        let mut put = |key: u64| {
            let key = (key % 500).to_be_bytes();
            let done = session.write::<_, ()>(crate::Acknowledge::Now(None), |writer| {
                Ok(writer.put(crate::TreeId::CATALOG, &key, &[1; 200])?)
            });
            assert!(done.is_ok());
        };
        let pages = &store.engine().pages;
        let few_are_looked_at = |put: &mut dyn FnMut(u64)| {
            let before = pages.slots.looks.load(Ordering::Relaxed);
            (0..4 * HELD).for_each(put);
            let looks = pages.slots.looks.load(Ordering::Relaxed) - before;
            assert!(looks as u64 <= 4 * HELD * 64, "{looks} slots looked at");
        };
        // All of one state; and each of its own.
        let of_one: Vec<_> = (0..HELD).map(|_| store.snapshot().unwrap()).collect();
        few_are_looked_at(&mut put);
        drop(of_one);
        let hold = |key| {
            put(key);
            store.snapshot().unwrap()
        };
        let held: Vec<_> = (0..HELD).map(hold).collect();
        few_are_looked_at(&mut put);
        // What they keep is free soon after them.
        let in_use = || {
            let (end, free) = pages.page_counts();
            end - free
        };
        assert!(in_use() > HELD as u32);
        drop(held);
        (0..HELD).for_each(put);
        while pages.sweep_some(64) {}
        assert!(in_use() < 400, "{} pages in use", in_use());
    }

    #[test]
    fn commits_that_look_at_all_slots_are_noticed() {
        crate::broken::must_be_caught(
            Broken::SlotsLookedAtAlways,
            commits_beside_many_held_snapshots_look_at_few_slots,
        );
    }

    /// Pages that waited for the next look at the slots were missed where there were no others: the disk was full.
    #[test]
    fn pages_that_nobody_holds_are_found_when_there_are_no_others() {
        let options = crate::Options { max_pages: 64, ..Default::default() };
        let store = crate::Store::open_in_memory(options).unwrap();
        drop((0..4000).map(|_| store.snapshot().unwrap()).collect::<Vec<_>>());
        let mut session = store.session().unwrap();
        for key in 0..1000u64 {
            let done = session.write::<_, ()>(crate::Acknowledge::Now(None), |writer| {
                Ok(writer.put(crate::TreeId::CATALOG, &(key % 50).to_be_bytes(), &[key as u8; 200])?)
            });
            assert!(done.is_ok(), "{key}: {done:?}");
        }
    }

    /// A free map that was made while the pages of a dropped tree were buried had parents among the free ones whose
    /// children were not: a recovery, which enters no free page, lost the children for ever.
    #[test]
    fn a_free_map_has_all_of_what_is_buried_at_once_or_nothing() {
        const END: u32 = 20_000;
        let how = OpenHow { create: Create::New, read_only: false, direct: false };
        let file = MemFs::default().open(Path::new("pages"), how).unwrap();
        let options = crate::Options { page_size: 512, cache_bytes: 64 * 512, max_pages: END, ..Default::default() };
        let children_first: Vec<u32> = (2..END).collect();
        for _ in 0..10 {
            let pages = Pages::new(file.clone(), &options, 512, Arc::new(Counters::default()), |_| true, 0).unwrap();
            pages.restore(1, END, &[]).unwrap();
            pages.hold(1);
            std::thread::scope(|scope| {
                scope.spawn(|| pages.bury_dropped(1, &children_first));
                let mut runs = Vec::new();
                while runs.is_empty() {
                    runs = pages.free_runs(1, &[]).0;
                }
                assert_eq!(runs, [(2, END - 2)]);
            });
        }
    }
}
