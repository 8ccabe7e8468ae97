//! The latest state, which the holder of the commit lock builds on: trees ahead of what readers see, and the batch that
//! will make them durable.

use super::publisher::Queue;
use super::trees::{DeadNodes, LatestTrees, Marked};
use super::version::VersionPtr;
use crate::TreeId;
use crate::broken::{self, Broken};
use crate::log::OpenBatch;
use crate::page::{Created, PageRef};
use crate::tree::{Scratch, TreeEdit};

/// The part of the cache that one owner's unsealed pages may take: one in so many frames.
pub(crate) const SPILL: usize = 8;

/// Pages that came and went between two versions.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) created: Created,
    pub(crate) dead: Vec<u32>,
    /// First pages of long values that went.
    pub(crate) chains: Vec<PageRef>,
    /// Roots of trees that were dropped.
    pub(crate) drops: Vec<PageRef>,
}

impl Changes {
    pub(crate) fn clear(&mut self) {
        self.created.clear();
        self.dead.clear();
        self.chains.clear();
        self.drops.clear();
    }
}

/// A state of the writer to go back to.
#[derive(Debug)]
pub(crate) struct Mark {
    trees: Marked,
    /// Of the lists of changes.
    lengths: [usize; 4],
}

/// A version taken to be published, with what came and went.
#[derive(Debug)]
pub(crate) struct Cut {
    pub(crate) version: VersionPtr,
    pub(crate) changes: Changes,
}

/// Guarded by the commit lock.
#[derive(Debug)]
pub(crate) struct Writer {
    /// Number of the version being built, and birth stamp of its unsealed pages.
    pub(crate) stamp: u64,
    pub(crate) trees: LatestTrees,
    pub(crate) changes: Changes,
    /// Pages born before this are part of a version that was cut, or of a marked state.
    pub(crate) seen_before: u64,
    /// Whether the trees differ from the version cut last.
    pub(crate) changed: bool,
    pub(crate) batch: OpenBatch,
    /// Position behind the last record.
    pub(crate) appended: u64,
    /// The open batch has commits that appended.
    pub(crate) has_appends: bool,
    pub(crate) queue: Queue,
    /// Transactions that have parts in the log.
    pub(crate) open_parts: Vec<OpenParts>,
    pub(crate) scratch: Scratch,
    pub(crate) spare: Spares,
}

/// Objects used again from one version to the next, so that a commit allocates nothing.
#[derive(Debug, Default)]
pub(crate) struct Spares {
    versions: Vec<VersionPtr>,
    /// No longer published; perhaps still read. Ascending.
    retired: Vec<Retired>,
    changes: Vec<Changes>,
    held: Vec<u64>,
    /// How many are to be retired before it is looked which of them are still read: as many again as were then.
    look_at: usize,
}

/// A version that is no longer published.
#[derive(Debug)]
struct Retired {
    version: VersionPtr,
    /// Nodes of its list of trees that no newer one has, unless it is one that nobody holds.
    nodes: DeadNodes,
}

impl Retired {
    fn number(&self) -> u64 {
        // SAFETY: retired versions are freed only with the writer.
        unsafe { self.version.number() }
    }
}

/// A transaction that has parts in the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenParts {
    pub(crate) transaction: u64,
    /// The position of the first.
    pub(crate) first: u64,
    /// It has a copy in memory, and can do without.
    pub(crate) is_copied: bool,
}

/// How many segments of the log may follow the first of parts that are copied, before these are given up: few transactions
/// last as long.
const COPIED: u64 = 2;

impl Writer {
    /// Takes the current state as a version; what is built next has another stamp, which seals every page of this.
    pub(crate) fn cut(&mut self, next_stamp: u64) -> Cut {
        let version = self.spare.versions.pop().unwrap_or_else(VersionPtr::allocate);
        let kept_from = self.appended.saturating_sub(COPIED * self.batch.segment_bytes());
        self.open_parts.retain(|parts| !parts.is_copied || parts.first >= kept_from);
        let parts = self.open_parts.iter().filter(|_| !broken::is(Broken::PartsReleased));
        let oldest_part = parts.map(|parts| parts.first).min();
        // A recovery can only begin where a batch does. The open one may hold commits behind this version.
        let behind = if self.batch.is_empty() { self.appended } else { self.batch.position() };
        let needed_from = oldest_part.unwrap_or(behind).min(behind);
        let changes = std::mem::replace(&mut self.changes, self.spare.changes.pop().unwrap_or_default());
        // SAFETY: spare versions are neither published nor held; this one's trees are read by who registers with it.
        unsafe {
            version.fill(self.stamp, self.appended, needed_from, self.trees.cut(next_stamp));
        }
        self.stamp = next_stamp;
        self.seen_before = next_stamp;
        self.changed = false;
        Cut { version, changes }
    }

    /// A transaction's parts belong to a commit now, or to nobody.
    pub(crate) fn end_parts(&mut self, engine: &super::shared::Engine, transaction: u64) {
        let Some(at) = self.open_parts.iter().position(|open| open.transaction == transaction) else { return };
        if !self.open_parts.swap_remove(at).is_copied
            && let Some(segments) = &engine.segments
        {
            segments.end_parts();
        }
    }

    /// Gives the pages made since the last version to eviction, sealed, when they take too much of the cache.
    pub(crate) fn spill(&mut self, engine: &super::shared::Engine) {
        if self.changes.created.kept() * SPILL >= engine.pages.frame_count() {
            self.stamp = engine.stamp();
            self.changes.created.allow_eviction(&engine.pages);
        }
    }

    /// Notes the latest state, so that what follows can be undone; seals its pages.
    pub(crate) fn mark(&mut self, next_stamp: u64) -> Mark {
        self.stamp = next_stamp;
        self.seen_before = next_stamp;
        let Changes { created, dead, chains, drops } = &self.changes;
        let lengths = [created.len(), dead.len(), chains.len(), drops.len()];
        Mark { trees: self.trees.mark(next_stamp), lengths }
    }

    /// Goes back to a marked state; no version was cut since.
    pub(crate) fn undo(&mut self, mark: Mark, pages: &crate::page::Pages) {
        let [created, dead, chains, drops] = mark.lengths;
        self.trees.undo(mark.trees);
        self.changes.created.free_from(pages, created);
        self.changes.dead.truncate(dead);
        self.changes.chains.truncate(chains);
        self.changes.drops.truncate(drops);
        // It may remember a page that is free now.
        self.scratch = Scratch::default();
    }

    /// Opens a tree of the latest state for changes.
    pub(crate) fn edit<'a>(
        &'a mut self,
        pages: &'a crate::page::Pages,
        pin: &'a crate::page::Pin<'a>,
        tree: TreeId,
        root: &'a mut PageRef,
    ) -> TreeEdit<'a> {
        TreeEdit {
            pages,
            pin,
            tree: tree.0,
            stamp: self.stamp,
            root,
            seen_before: self.seen_before,
            created: &mut self.changes.created,
            dead: &mut self.changes.dead,
            chains: &mut self.changes.chains,
            scratch: &mut self.scratch,
        }
    }

    /// Keeps a version that was never published, for later use.
    pub(crate) fn keep(&mut self, cut: Cut) {
        self.trees.take_back();
        self.spare.versions.push(cut.version);
    }

    /// Keeps a version that is no longer published, and the lists of its successor, for later use.
    pub(crate) fn recycle(&mut self, old: VersionPtr, mut changes: Changes, pages: &crate::page::Pages) {
        let mut old = Retired { version: old, nodes: DeadNodes::default() };
        // SAFETY: the version was published until its successor was; those before it have what they need.
        unsafe { self.trees.bury(old.number(), &mut old.nodes) };
        changes.clear();
        self.spare.changes.push(changes);
        self.spare.retired.push(old);
        let retired = self.spare.retired.len();
        if retired < self.spare.look_at.max(4) || !pages.slots.are_looked_at_after(retired) {
            return;
        }
        self.spare.held.clear();
        pages.slots.named_versions(&mut self.spare.held);
        self.spare.held.sort_unstable();
        self.let_go();
        self.spare.look_at = 2 * self.spare.retired.len();
    }

    /// Lets go of retired versions that nobody holds; each one's nodes go to the next older one that somebody does.
    fn let_go(&mut self) {
        let Spares { versions, retired, held, .. } = &mut self.spare;
        let mut kept = 0;
        for at in 0..retired.len() {
            if held.binary_search(&retired[at].number()).is_ok() {
                retired.swap(kept, at);
                kept += 1;
                continue;
            }
            let nodes = std::mem::take(&mut retired[at].nodes);
            versions.push(retired[at].version);
            let older = retired[..kept].last_mut().map(|older| (older.number(), &mut older.nodes));
            // SAFETY: nobody holds this version, nor one between it and that one.
            unsafe { self.trees.let_go(nodes, older) };
        }
        retired.truncate(kept);
    }
}

impl Drop for Spares {
    fn drop(&mut self) {
        let retired = self.retired.drain(..).map(|retired| retired.version);
        for version in self.versions.drain(..).chain(retired) {
            // SAFETY: the engine goes with its last handle, and every reader has one: nobody is left.
            unsafe { version.free() };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use crate::io::SimDisk;
    use crate::{Environment, Error, Options, QuietHost, Store, TreeId};

    /// AddressSanitizer found that it was lost: nobody published it, so nobody gave it back.
    #[test]
    fn a_version_whose_log_write_failed_is_kept_for_use_again() {
        let disk = SimDisk::new(1);
        // Without background threads the sync that fails is the commit's.
        let env = Environment { files: Arc::new(disk.clone()), host: Arc::new(QuietHost::default()) };
        let store = Store::open_with(Path::new("kept"), Options::default(), env).unwrap();
        let put = |key: &[u8]| {
            let transaction = store.begin().unwrap();
            transaction.put(TreeId::CATALOG, key, b"value").unwrap();
            transaction.commit(None)
        };
        put(b"first").unwrap();
        let objects = || {
            let writer = store.engine().writer.lock();
            (writer.spare.versions.len(), writer.spare.retired.len())
        };
        let (spare, retired) = objects();
        disk.fail_sync(1);
        assert!(matches!(put(b"second"), Err(Error::OutcomeUnknown { .. })));
        // Where there was no spare one, one was made; it is spare now.
        assert_eq!(objects(), (spare.max(1), retired));
    }
}
